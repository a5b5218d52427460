"""The damage as the status line lists it."""

from hexapod_dynamics.damage import list_losses
from hexapod_dynamics.robot import Morphology, Robot

WHOLE = Morphology.whole(Robot.jethexa())


def test_limp_joints_and_stumps_are_named():
    """A limp joint is damage, too; of a broken femur its stump is named, not the tibia that is lost with it."""
    assert list_losses(WHOLE.limp("LR.femur").parameters()) == ["LR.femur limp"]
    assert list_losses(WHOLE.broken("LM.femur", 0.25).parameters()) == ["LM.femur 25% left"]


def test_each_part_is_named_once_kind_by_kind():
    damaged = WHOLE.broken("LF.tibia", 0.5).limp("LF.coxa").locked("RF.tibia", 0.4).without("RM", "LM.femur")
    assert list_losses(damaged.parameters()) == [
        "RM",
        "LM.femur",
        "RF.tibia locked at 0.40",
        "LF.coxa limp",
        "LF.tibia 50% left",
    ]


def test_a_lock_without_its_position_is_named():
    assert list_losses({"legs.RF": True, "links.RF.coxa": True, "locked.RF.coxa": True}) == ["RF.coxa locked"]
