"""Damage in every combination: what hangs on a lost part is lost, and what cannot be is refused, nothing changed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.jethexa import ROBOT, WHOLE

from hexapod_dynamics.damage import LOCKED, list_losses
from hexapod_dynamics.errors import MorphologyError
from hexapod_dynamics.robot import Morphology

LINKS = [f"{leg.name}.{link}" for leg in ROBOT.legs for link in leg.link_names]


@st.composite
def morphologies(draw):
    morphology = WHOLE
    for name in draw(st.lists(st.sampled_from(LINKS), max_size=6)):
        if not morphology.has_link(*name.split(".")):
            continue
        kind = draw(st.sampled_from(["leg", "link", "lock", "limp", "break"]))
        if kind == "leg":
            morphology = morphology.without(name.split(".")[0])
        elif kind == "link":
            morphology = morphology.without(name)
        elif kind == "lock":
            if not morphology.is_limp(*name.split(".")):
                morphology = morphology.locked(name, draw(st.floats(-2, 2)))
        elif kind == "limp":
            if morphology.locked_angle(*name.split(".")) is None:
                morphology = morphology.limp(name)
        else:
            morphology = morphology.broken(name, draw(st.just(0.0) | st.floats(1e-6, 1)))
    return morphology


def test_what_hangs_on_a_broken_off_link_is_lost_and_the_stump_stays():
    hurt = WHOLE.broken("LM.femur", remaining=0.25)
    assert hurt.remaining("LM", "femur") == 0.25
    assert not hurt.has_link("LM", "tibia")
    stump = hurt.links("LM")[-1]
    assert stump.length == pytest.approx(0.25 * 0.077)
    assert stump.mass == pytest.approx(0.25 * 0.07)
    assert stump.com[0] == pytest.approx(0.25 * 0.077 / 2)
    assert stump.inertia[0, 0] == pytest.approx(0.25 * 0.23e-5)
    across = 0.25**3 * (3.07e-5 - 0.23e-5 / 2) + 0.25 * 0.23e-5 / 2
    assert stump.inertia[1, 1] == pytest.approx(across)


@pytest.mark.parametrize("remaining", [0.9, 0.2, 0.05, 1e-3])
def test_a_stump_is_a_possible_body(remaining):
    """The rod law r^3 alone breaks the triangle inequality: of a coxa below 0.24, of a tibia below 0.105."""
    for link in LINKS:
        stump = WHOLE.broken(link, remaining).links(link.partition(".")[0])[-1]
        small, middle, large = np.linalg.eigvalsh(stump.inertia)
        assert 0 < small and large <= (small + middle) * (1 + 1e-9)


def test_a_locked_joint_keeps_its_link_but_does_not_move():
    hurt = WHOLE.locked("RF.tibia", angle=0.4)
    assert hurt.locked_angle("RF", "tibia") == 0.4
    assert hurt.existing_mask.all()
    assert hurt.moving_mask.sum() == 17
    assert hurt.locked_positions[17] == 0.4


@given(morphologies())
@settings(max_examples=60, deadline=None)
def test_named_values_say_all_of_a_morphology(morphology):
    again = Morphology.from_parameters(ROBOT, morphology.parameters())
    assert again == morphology
    assert hash(again) == hash(morphology)


@given(morphologies())
@settings(max_examples=60, deadline=None)
def test_the_table_has_the_links_that_exist(morphology):
    assert morphology.table.shape == (4, 18)
    np.testing.assert_array_equal(morphology.existing_mask, [morphology.has_link(*name.split(".")) for name in LINKS])


@given(morphologies())
@settings(max_examples=60, deadline=None)
def test_everything_can_be_restored(morphology):
    for leg in ROBOT.leg_names:
        morphology = morphology.restored(leg)
    assert morphology == WHOLE
    assert morphology.is_intact


@given(morphologies())
@settings(max_examples=60, deadline=None)
def test_no_link_exists_beyond_a_missing_or_broken_one(morphology):
    for leg in ROBOT.legs:
        remaining = [morphology.remaining(leg.name, link) for link in leg.link_names]
        for inner, outer in zip(remaining, remaining[1:], strict=False):
            assert outer == 0 or inner == 1


@pytest.mark.parametrize(
    ("values", "named"),
    [
        (None, ("named values: None", "a dict")),
        ({1: False}, ("1: unknown", "legs., links.")),
        ({"links.LM.tibia": True}, ("links.LM.tibia", "LM.femur is missing", "restore")),
        ({"legs.XX": True}, ("XX", "LF, LM, LR, RR, RM, RF")),
        ({"links.LF.toe": False}, ("toe", "coxa, femur, tibia")),
        ({"wheels.LF": True}, ("wheels.LF", "legs., links., locked., locked_at., limp. or remaining.")),
        ({"legs.LF.coxa": True}, ("legs.LF.coxa", "legs.LF")),
        ({"links.LF": True}, ("links.LF", "links.LF.coxa")),
        ({"legs.LF": 0}, ("legs.LF", "0", "true or false")),
        ({"remaining.LF.tibia": "half"}, ("remaining.LF.tibia", "half", "number")),
        ({"remaining.LF.tibia": 1.5}, ("remaining.LF.tibia", "1.5", "0..1")),
        ({"remaining.LF.tibia": 1e-9}, ("remaining.LF.tibia", "1e-09", "at least 1e-06")),
        ({"remaining.LM.tibia": 0.5}, ("remaining.LM.tibia", "missing")),
        ({"locked.LM.tibia": True}, ("locked.LM.tibia", "missing")),
        ({"locked.LF.tibia": True}, ("locked.LF.tibia", "tibia_joint_LF", "not known", "locked_at.LF.tibia")),
        ({"locked_at.LF.tibia": 0.4}, ("locked_at.LF.tibia", "not locked", "locked.LF.tibia: true")),
        ({"locked.LF.tibia": True, "locked_at.LF.tibia": 1e300}, ("locked_at.LF.tibia", "6.283 rad")),
        ({"limp.LM.tibia": True}, ("limp.LM.tibia", "missing", "restore LM.tibia")),
        ({"limp.RR.tibia": True}, ("limp.RR.tibia", "locked", "locked.RR.tibia")),
        ({"limp.LF.tibia": True, "locked.LF.tibia": True}, ("limp.LF.tibia", "locked.LF.tibia")),
        ({"locked.RR.femur": True, "locked_at.RR.femur": 0.1}, ("locked.RR.femur", "limp", "limp.RR.femur")),
        ({"legs.LF": False, "limp.LF.coxa": True}, ("limp.LF.coxa", "legs.LF")),
        ({"legs.LF": False, "links.LF.coxa": True}, ("links.LF.coxa", "legs.LF")),
        ({"links.LF.tibia": True, "remaining.LF.tibia": 0.0}, ("remaining.LF.tibia", "links.LF.tibia")),
    ],
)
def test_a_refused_change_says_why(values, named):
    hurt = WHOLE.without("LM.femur").locked("RR.tibia", 0.3).limp("RR.femur")
    with pytest.raises(MorphologyError) as refusal:
        hurt.updated(values)
    for part in named:
        assert part in str(refusal.value)
    assert hurt == WHOLE.without("LM.femur").locked("RR.tibia", 0.3).limp("RR.femur")


def test_a_limp_joint_moves_without_torque():
    tired = WHOLE.limp("LR.femur")
    joint = ROBOT.joint_names.index("femur_joint_LR")
    assert tired.is_limp("LR", "femur") and tired.moving_mask.all()
    assert np.flatnonzero(~tired.driven_mask).tolist() == [joint]
    assert tired != WHOLE and not tired.is_intact
    assert tired.describe() == "LR.femur limp"
    assert tired.parameters()["limp.LR.femur"] is True
    assert tired.updated({"limp.LR.femur": False}) == tired.restored("LR.femur") == tired.restored("LR") == WHOLE


def test_what_is_missing_is_not_limp_and_comes_back_driven():
    tired = WHOLE.limp("LR.femur").without("LR.femur")
    assert tired == WHOLE.without("LR.femur")
    assert tired.restored("LR") == WHOLE
    assert WHOLE.limp("LR.femur").broken("LR.coxa", 0.5) == WHOLE.broken("LR.coxa", 0.5)


def test_a_change_is_made_from_the_body_outward_whatever_its_order():
    hurt = WHOLE.without("LM.femur")
    assert hurt.updated({"links.LM.tibia": True, "links.LM.femur": True}) == WHOLE
    assert hurt.updated({"links.LM.tibia": False, "legs.LM": True}) == hurt
    stuck = hurt.updated({"locked.RF.tibia": True}, {"tibia_joint_RF": 0.25})
    assert stuck.locked_angle("RF", "tibia") == 0.25
    assert stuck.updated({"locked.RF.tibia": True}, {"RF.tibia": 0.7}) == stuck
    assert stuck.updated({"locked.RF.tibia": False}) == hurt


def test_a_lock_stands_where_the_request_says_before_where_it_was_measured():
    given = {"locked.RF.tibia": True, "locked_at.RF.tibia": 0.4}
    stuck = WHOLE.updated(given, {"tibia_joint_RF": 0.25})
    assert stuck == WHOLE.locked("RF.tibia", 0.4)
    assert stuck.parameters()["locked_at.RF.tibia"] == 0.4
    assert stuck.updated({"locked_at.RF.tibia": 0.3}) == WHOLE.locked("RF.tibia", 0.3)
    assert stuck.updated({"locked.RF.tibia": False}).parameters()["locked_at.RF.tibia"] == 0.0


@pytest.mark.parametrize(("angle", "meant"), [(90, "1.571"), (-45.0, "-0.785"), (180, "3.142"), (6.3, "0.110")])
def test_an_angle_in_degrees_is_refused_with_what_it_is_in_radians(angle, meant):
    with pytest.raises(MorphologyError) as refusal:
        WHOLE.locked("RM.tibia", angle)
    for part in ("locked.RM.tibia", repr(angle), "6.283 rad", "radians", f"did you mean {meant}?"):
        assert part in str(refusal.value)


def test_a_word_of_the_command_has_a_number_without_underscores():
    assert LOCKED.parse_word("RM.tibia=0.4") == {"locked.RM.tibia": True, "locked_at.RM.tibia": 0.4}
    with pytest.raises(MorphologyError, match="--locked RM.tibia=0_4: a number .* is needed"):
        LOCKED.parse_word("RM.tibia=0_4")


def test_a_broken_link_does_not_grow_when_it_breaks_again():
    half = WHOLE.broken("LF.tibia", 0.5)
    assert half.broken("LF.tibia", 0.8) == half == half.broken("LF.tibia", 1.0)
    assert half.broken("LF.tibia", 0.2) == WHOLE.broken("LF.tibia", 0.2)
    # only who declares the morphology, or repairs the link, changes it to more
    assert half.updated({"remaining.LF.tibia": 0.8}) == WHOLE.broken("LF.tibia", 0.8)
    assert half.updated({"remaining.LF.tibia": 1.0}) == WHOLE == half.restored("LF.tibia")


def test_it_says_what_is_wrong():
    hurt = WHOLE.without("RM").without("LM.femur").locked("RF.tibia", 0.4).broken("LF.tibia", 0.5)
    assert hurt.describe() == "LF.tibia broken, 50% left, LM.femur missing, RM missing, RF.tibia locked at 0.400"
    assert WHOLE.describe() == "whole"


# ---- the damage as the status line lists it --------------------------------------------------------------------------


def test_each_part_is_named_once_kind_by_kind():
    """Of a broken femur its stump is named, not the tibia that is lost with it."""
    damaged = WHOLE.broken("LF.tibia", 0.5).limp("LF.coxa").locked("RF.tibia", 0.4).without("RM", "LM.femur")
    assert list_losses(damaged.parameters()) == [
        "RM",
        "LM.femur",
        "RF.tibia locked at 0.40",
        "LF.coxa limp",
        "LF.tibia 50% left",
    ]
    assert list_losses(WHOLE.broken("LM.femur", 0.25).parameters()) == ["LM.femur 25% left"]
    assert list_losses({"legs.RF": True, "links.RF.coxa": True, "locked.RF.coxa": True}) == ["RF.coxa locked"]


def test_a_leg_that_comes_back_comes_back_whole():
    assert WHOLE.without("RM").updated({"legs.RM": True}) == WHOLE
    assert WHOLE.broken("RM.tibia", 0.5).updated({"legs.RM": True}) == WHOLE.broken("RM.tibia", 0.5)
