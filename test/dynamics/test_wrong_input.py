"""Every public call of the model refuses wrong input by name: shapes, values, links, legs, morphologies.

The table of calls is held against the class: a new public call without an entry here fails.
"""

import inspect
import warnings

import numpy as np
import pytest
from support.jethexa import ROBOT, WHOLE
from support.random_robots import random_robot

from hexapod_dynamics.array_checks import as_array
from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.robot import Morphology

HURT = WHOLE.without("RM")
MODEL = WholeBodyModel(ROBOT)
OTHER = Morphology.whole(random_robot(np.random.default_rng(0), 0, 4))
EYE, ZERO3, Q, NU, TAU = np.eye(3), np.zeros(3), np.zeros(18), np.zeros(24), np.zeros(18)
MANY = {"rotation": np.tile(EYE, (4, 1, 1)), "q": np.zeros((4, 18)), "nu": np.zeros((4, 24))}
STATE = {"rotation": EYE, "q": Q, "nu": NU}
# Good arguments of every call, in order, but for the morphology.
CALLS = {
    "forward_dynamics": STATE | {"tau": TAU},
    "inverse_dynamics": STATE | {"nudot": NU},
    "mass_matrix": {"q": Q},
    "coriolis_matrix": {"q": Q, "nu": NU},
    "gravity_force": {"rotation": EYE, "q": Q},
    "tip_jacobian": {"leg": "LF", "q": Q},
    "inverse_dynamics_derivatives": STATE | {"nudot": NU},
    "forward_dynamics_derivatives": STATE | {"tau": TAU},
    "forward_dynamics_batch": MANY | {"tau": np.zeros((4, 18))},
    "inverse_dynamics_batch": MANY | {"nudot": np.zeros((4, 24))},
    "constrained_forward_dynamics": STATE | {"tau": TAU, "stance": ["LF", "RR"]},
    "casadi_function": {"name": "tip_positions"},
    "symbolic": {"leg": "LF"},
    "link_poses": {"rotation": EYE, "position": ZERO3, "q": Q},
    "point_jacobian": {"link": "LF.tibia", "point": ZERO3, "q": Q},
    "point_acceleration_bias": {"link": "LF.tibia", "point": ZERO3, "q": Q, "nu": NU},
    "total_mass": {},
    "center_of_mass": {"rotation": EYE, "position": ZERO3, "q": Q},
    "centroidal_momentum": STATE,
    "kinetic_energy": {"q": Q, "nu": NU},
    "potential_energy": {"rotation": EYE, "position": ZERO3, "q": Q},
    "joint_names": {},
    "inverse_dynamics_regressor": STATE | {"nudot": NU},
    "momentum_regressor": {"q": Q, "nu": NU},
    "energy_regressor": {"rotation": EYE, "position": ZERO3, "q": Q, "nu": NU},
    "base_parameters": {},
    "inertial_parameters": {},
    "regressor_links": {},
    "regressor_parameters": {},
}
SHOWN = {"rotation": "R", "position": "p"}  # names in messages, as in the equations


def call(name, /, **changed):
    return getattr(MODEL, name)(**(CALLS[name] | changed))


def refused(name, /, *named, **changed):
    """The call is refused with a message that has all these words, and is right again afterwards."""
    with pytest.raises(DynamicsError) as refusal:
        call(name, **changed)
    for word in named:
        assert word in str(refusal.value), (name, str(refusal.value))
    call(name)


def arrays(name):
    return [key for key, value in CALLS[name].items() if isinstance(value, np.ndarray)]


def test_the_table_has_every_public_call():
    public = {name for name, _ in inspect.getmembers(WholeBodyModel, callable) if not name.startswith("_")}
    assert public == set(CALLS)
    for name, given in CALLS.items():
        parameters = list(inspect.signature(getattr(MODEL, name)).parameters)
        assert parameters[: len(given)] == list(given) and "morphology" in parameters[len(given) :]


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in CALLS for key in arrays(name)])
def test_arrays_of_another_shape_or_with_values_that_are_none(name, key):
    good, shown = CALLS[name][key], SHOWN.get(key, key)
    refused(name, shown, **{key: good[:-1]})
    refused(name, f"{shown}:", str(good[..., :-1].shape), **{key: good[..., :-1]})
    refused(name, shown, **{key: good[None]})
    for stranger in ("abc", None, 7):
        refused(name, shown, **{key: stranger})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy's, that a conversion discards imaginary parts
        refused(name, shown, "real numbers", **{key: good.astype(complex) + 1j})
    for value in (np.nan, np.inf):
        bad = good.copy()
        bad.flat[-1] = value
        refused(name, shown, **{key: bad})


@pytest.mark.parametrize("name", [name for name in CALLS if "q" in CALLS[name]])
@pytest.mark.parametrize("far", [1.1e6, -1e9, 1e16, -1e300])
def test_positions_so_far_away_that_sines_are_wrong(name, far):
    bad = CALLS[name]["q"].copy()
    bad[..., 1] = far
    refused(name, "q:", "femur_joint_LF", "1e+06", "one turn", q=bad)


@pytest.mark.parametrize("far", [12.0, 1e3, 0.99e6])
def test_positions_within_the_limit_are_those_of_the_reduced_angle(far):
    """numpy reduces angles exactly."""
    q = far * np.random.default_rng(0).uniform(-1, 1, 18)
    reduced = np.arctan2(np.sin(q), np.cos(q))
    np.testing.assert_allclose(MODEL.mass_matrix(q), MODEL.mass_matrix(reduced), rtol=0, atol=1e-15)
    many = np.tile(EYE, (1, 1, 1)), q[None], NU[None] + 1, NU[None] + 1
    given, expected = (MODEL.inverse_dynamics_batch(many[0], a[None], *many[2:]) for a in (q, reduced))
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-13)


def test_far_positions_of_joints_that_do_not_move_and_torques_of_limp_ones_are_ignored():
    far = Q.copy()
    far[ROBOT.leg_joints("RM")] = 1e300
    rates, torques = np.zeros((4, 21)), np.zeros((4, 15))
    np.testing.assert_array_equal(MODEL.mass_matrix(far, HURT), MODEL.mass_matrix(Q, HURT))
    given, expected = (
        MODEL.forward_dynamics_batch(MANY["rotation"], np.tile(q, (4, 1)), rates, torques, HURT) for q in (far, Q)
    )
    np.testing.assert_array_equal(given, expected)
    limp, torques = WHOLE.limp("LF.femur"), [0.0, np.nan, *[0.0] * 16]
    expected = MODEL.forward_dynamics(EYE, Q, NU, TAU, limp)
    for tau in (torques, np.array(torques)):
        np.testing.assert_array_equal(MODEL.forward_dynamics(EYE, Q, NU, tau, limp), expected)


@pytest.mark.parametrize("name", [name for name in CALLS if "rotation" in CALLS[name]])
def test_a_matrix_that_is_no_rotation(name):
    refused(name, "R", "rotation", rotation=2.0 * CALLS[name]["rotation"])
    refused(name, "R", "rotation", rotation=-CALLS[name]["rotation"])


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_morphology_of_this_robot(name):
    refused(name, "morphology", "'whole'", morphology="whole")
    refused(name, "morphology", "jethexa", morphology=OTHER)


GONE = {"morphology": HURT, "nu": np.zeros(21), "tau": np.zeros(15)}  # RM is missing
HELD, TORQUES = "constrained_forward_dynamics", "forward_dynamics"
NAMED = [
    ("tip_jacobian", ("'XX'", "LF, LM"), {"leg": "XX"}),
    ("tip_jacobian", ("7", "LF, LM"), {"leg": 7}),
    ("tip_jacobian", ("RM", "missing"), {"leg": "RM", "morphology": HURT}),
    ("symbolic", ("'XX'", "LF, LM"), {"leg": "XX"}),
    ("symbolic", ("RM", "missing"), {"leg": "RM", "morphology": HURT}),
    ("point_jacobian", ("'LF.toe'", "LF.coxa"), {"link": "LF.toe"}),
    ("point_jacobian", ("3", "LF.coxa"), {"link": 3}),
    ("point_jacobian", ("RM.tibia", "missing"), {"link": "RM.tibia", "morphology": HURT}),
    ("point_acceleration_bias", ("'LF.toe'", "LF.coxa"), {"link": "LF.toe"}),
    ("inverse_dynamics", ("tip_forces", "dict"), {"tip_forces": [1.0, 2.0]}),
    (TORQUES, ("tip_forces", "dict"), {"tip_forces": np.zeros((6, 3))}),
    (TORQUES, ("'XX'", "LF, LM"), {"tip_forces": {"XX": ZERO3}}),
    (TORQUES, ("tip_forces['LF']", "(2,)"), {"tip_forces": {"LF": [0.0, 1.0]}}),
    (TORQUES, ("tip_forces['LF']", "not finite"), {"tip_forces": {"LF": [0.0, np.nan, 1.0]}}),
    (TORQUES, ("RM", "missing"), GONE | {"tip_forces": {"RM": ZERO3}}),
    (HELD, ("'XX'", "LF, LM"), {"stance": ["LF", "XX"]}),
    (HELD, ("stance", "twice"), {"stance": ["LF", "LF"]}),
    (HELD, ("RM", "missing"), GONE | {"stance": ["RM"]}),
    (HELD, ("stance",), {"stance": 5}),
    ("casadi_function", ("'torque'", "forward_dynamics"), {"name": "torque"}),
]


@pytest.mark.parametrize(("name", "words", "changed"), NAMED)
def test_names_and_forces_that_are_none(name, words, changed):
    refused(name, *words, **changed)


@pytest.mark.parametrize(("name", "named"), [("forward_dynamics", ""), ("forward_dynamics_batch", "state 0")])
def test_torques_that_no_number_can_hold_the_accelerations_of(name, named):
    refused(name, "too large", named, tau=np.full_like(CALLS[name]["tau"], 1e308))


def test_batches_of_different_lengths_name_the_array_and_bad_states_their_number():
    for name in ("forward_dynamics_batch", "inverse_dynamics_batch"):
        refused(name, "nu", "(3, 24)", nu=np.zeros((3, 24)))
        refused(name, "morphology", morphology=[WHOLE] * 3)
        bad = np.zeros((4, 18))
        bad[2, 5] = np.nan
        refused(name, "2", "q", q=bad)
        for value in (None, 5, WHOLE.robot, "RM"):
            refused(name, "morphology[2]", repr(value), "Morphology", morphology=[WHOLE, WHOLE, value, WHOLE])
        bad[2, 5] = 1e16
        refused(name, "state 2", "q:", "tibia_joint_LM", q=bad)
        refused(name, "state 2", "q:", "tibia_joint_LM", q=bad, morphology=[WHOLE, HURT, WHOLE, HURT])


def test_a_good_input_is_not_written_out():
    """The text for the error takes longer than most calls."""

    class Input(np.ndarray):
        def __repr__(self):
            raise AssertionError("written out")

    assert as_array("q", np.zeros(18).view(Input), (18,)).tolist() == [0.0] * 18
