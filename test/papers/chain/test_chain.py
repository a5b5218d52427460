"""Chains: poses, files and refusals; their inverse dynamics and its derivatives against Pinocchio and the paper."""

import numpy as np
import pinocchio as pin
import pytest
from support.jethexa import ROBOT, WHOLE
from support.pinocchio_chain import pinocchio_model, random_chain, random_state

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.arms import closed_form, tip_load, two_link_arm
from hexapod_dynamics.papers.chain.chain import Chain, DenavitHartenbergRow
from hexapod_dynamics.papers.chain.sensitivities import (
    ExternalLoad,
    inverse_dynamics,
    point_sensitivity,
    sensitivities,
)
from hexapod_dynamics.papers.sensitivities_closed_loop import ClosedLoop, CutJoint
from hexapod_dynamics.se3 import Ad

URDF = """<robot name="tree"><link name="base"/>
<link name="one"><inertial><origin xyz="0 0.1 0.2" rpy="0.1 0.2 0.3"/><mass value="2"/>
  <inertia ixx="0.03" ixy="0.001" ixz="0" iyy="0.04" iyz="0.002" izz="0.05"/></inertial></link>
<link name="bolted"><inertial><mass value="0.5"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<link name="two"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
  <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<link name="three"><inertial><mass value="1"/>
  <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
<joint name="a" type="revolute"><parent link="base"/><child link="one"/><origin xyz="0 0 1" rpy="0.3 0 0"/>
  <axis xyz="0 1 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="weld" type="fixed"><parent link="one"/><child link="bolted"/><origin xyz="0.1 0 0" rpy="0 0.2 0"/></joint>
<joint name="b" type="prismatic"><parent link="bolted"/><child link="two"/><origin xyz="0 0.3 0"/>
  <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="c" type="continuous"><parent link="one"/><child link="three"/><origin xyz="0 -0.3 0"/>
  <axis xyz="0 0 1"/></joint>{more}</robot>"""
LOOP = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>'


@pytest.mark.parametrize("tree", [False, True])
def test_poses_equal_pinocchio(tree):
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 9):
        chain = random_chain(rng, n, tree=tree)
        q, qdot, qddot = random_state(rng, n)
        model = pinocchio_model(chain)
        data = model.createData()
        pin.forwardKinematics(model, data, q)
        pin.crba(model, data, q)
        for i, pose in enumerate(chain.poses(q)):
            theirs = data.oMi[i + 1].homogeneous
            offset = np.cross(chain.screws[i, 3:], chain.screws[i, :3])
            assert np.allclose(pose[:3, :3], theirs[:3, :3], atol=1e-13)
            assert np.allclose(pose[:3, :3] @ offset + pose[:3, 3], theirs[:3, 3], atol=1e-12)


def test_denavit_hartenberg_rows_give_the_printed_matrices():
    theta, d, a, alpha, q = row = *DenavitHartenbergRow(0.3, 0.2, 0.5, -0.7)[:4], 0.9
    c, s, ca, sa = np.cos(theta + q), np.sin(theta + q), np.cos(alpha), np.sin(alpha)
    printed = {
        "standard": [[c, -ca * s, sa * s, a * c], [s, ca * c, -sa * c, a * s], [0, sa, ca, d]],  # Xiang eq. (1)
        "modified": [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca]],  # Craig
    }
    for convention, rows in printed.items():
        chain = Chain.from_denavit_hartenberg([row[:4]], [1], [[0, 0, 0]], [np.eye(3)], convention=convention)
        assert np.allclose(chain.transforms([q])[0], [*rows, [0, 0, 0, 1]], atol=1e-15)
    slide = Chain.from_denavit_hartenberg([(theta, d, a, alpha, "prismatic")], [1], [[0, 0, 0]], [np.eye(3)])
    assert np.allclose(slide.transforms([q])[0][:3, 3], [a * np.cos(theta), a * np.sin(theta), d + q], atol=1e-15)


def test_screws_rebuild_the_chain_they_were_read_from():
    rng = np.random.default_rng(3)
    chain = random_chain(rng, 5, tree=True)
    zero = chain.poses(np.zeros(5))
    screws = [Ad(pose) @ screw for pose, screw in zip(zero, chain.screws, strict=True)]
    again = Chain.from_screws(screws, zero, chain.masses, chain.coms, chain.inertias, parents=chain.parents)
    q = rng.normal(size=5)
    assert np.allclose(again.poses(q), chain.poses(q), atol=1e-12)


def test_urdf_equals_pinocchios_own_reading():
    text = URDF.replace("{more}", "")
    chain = Chain.from_urdf(text)
    model = pin.buildModelFromXML(text)
    order = [list(model.names)[1:].index(name) for name in chain.names]
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, qdot, qddot = random_state(rng, 3)
        theirs = pinocchio_model(chain)
        ours = pin.rnea(theirs, theirs.createData(), q, qdot, qddot)
        place = np.empty(3, int)
        place[order] = np.arange(3)
        full = np.concatenate(
            [[np.cos(v), np.sin(v)] if model.joints[i + 1].nq == 2 else [v] for i, v in enumerate(q[place])]
        )
        native = pin.rnea(model, model.createData(), full, qdot[place], qddot[place])
        assert np.allclose(ours, native[order], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "text, needle",
    [
        (URDF.replace("{more}", LOOP.format("again", "two", "three")), "three: two joints carry it, c and again"),
        (URDF.replace("{more}", LOOP.format("lost", "two", "four")), "'four'"),
        (URDF.replace("{more}", LOOP.format("back", "two", "base")), "loop"),
        ('<robot name="x"><link', "no URDF"),
        ('<robot name="x"><link name="only"/></robot>', "at least one joint"),
    ],
)
def test_a_urdf_that_is_no_tree_is_refused_by_name(text, needle):
    with pytest.raises(DynamicsError, match=needle):
        Chain.from_urdf(text)


ARGUMENTS = vars(random_chain(np.random.default_rng(5), 3, prismatic=0))


@pytest.mark.parametrize(
    "field, value, needle",
    [
        ("parents", (), "at least one joint"),
        ("parents", (-1, 2, 1), "loop"),
        ("parents", (-1, 1, 1), "loop"),
        ("parents", (-2, 0, 1), "allowed"),
        ("masses", (1, float("nan"), 1), "not finite"),
        ("masses", (1, -0.5, 1), "-0.5 kg"),
        ("masses", (1, 1), r"\(2,\) given, \(3,\) needed"),
        ("gravity", (0, 0), "gravity: shape"),
        ("inertias", [np.diag([1, 1, 3.0])] * 3, "triangle"),
        ("screws", np.zeros((3, 6)), "unit axis"),
        ("screws", [[0, 0, 0.1, 0, 0, 1]] * 3, "pitch"),
        ("placements", [np.diag([1, 1, -1, 1])] * 3, "rigid motion"),
    ],
)
def test_what_makes_no_chain_is_refused_by_name(field, value, needle):
    with pytest.raises(DynamicsError, match=needle):
        Chain(**{**ARGUMENTS, "names": (), field: value})


def test_a_state_that_does_not_fit_is_refused():
    chain = Chain(**ARGUMENTS)
    with pytest.raises(DynamicsError, match="qdot has shape"):
        chain.check_state(np.zeros(3), np.zeros(2))
    with pytest.raises(DynamicsError, match="q is not finite"):
        chain.check_state([0, np.inf, 0])


def test_a_leg_of_the_robot_hangs_where_the_robot_has_it():
    chain = Chain.from_leg(ROBOT, "RF")
    assert chain.names == ("coxa_joint_RF", "femur_joint_RF", "tibia_joint_RF")
    outward = np.array([1, -1, 0]) / np.sqrt(2)
    hip = np.array([0.093, -0.051, 0])
    coxa, femur, tibia = chain.poses(np.zeros(3))[:, :3, 3]  # centres of mass: mid-link
    assert np.allclose(coxa, hip + 0.0225 * outward, atol=1e-12)
    assert np.allclose(femur, hip + (0.045 + 0.0385) * outward, atol=1e-12)
    assert np.allclose(tibia, hip + (0.045 + 0.077) * outward - [0, 0, 0.0615], atol=1e-12)
    lifted = chain.poses([0, 0.5, 0])[2, :3, 3]
    assert lifted[2] > tibia[2]  # positive femur angle lifts


def test_a_welded_joint_leaves_the_dynamics_of_the_others():
    rng = np.random.default_rng(7)
    chain = random_chain(rng, 6, tree=True)
    for joint in range(6):
        q, qdot, qddot = random_state(rng, 6)
        qdot[joint] = qddot[joint] = 0
        rest = np.delete(np.arange(6), joint)
        ours = inverse_dynamics(chain.weld(joint, q[joint]), q[rest], qdot[rest], qddot[rest])
        assert np.allclose(ours, inverse_dynamics(chain, q, qdot, qddot)[rest], rtol=1e-10, atol=1e-10)
    with pytest.raises(DynamicsError, match="only joint"):
        random_chain(rng, 1).weld(0, 0.1)
    with pytest.raises(DynamicsError, match="no joint 6"):
        chain.weld(6, 0.1)


def test_a_damaged_legs_chain_has_what_is_left():
    hurt = WHOLE.locked("RF.femur", 0.3).broken("RF.tibia", 0.5)
    chain = Chain.from_leg(ROBOT, "RF", morphology=hurt)
    assert chain.names == ("coxa_joint_RF", "tibia_joint_RF")
    whole = Chain.from_leg(ROBOT, "RF")
    assert np.isclose(chain.masses.sum(), whole.masses.sum() - 0.055)


TOLERANCE = 1e-9  # observed 3e-15


def near(ours, theirs, scale):
    return np.abs(ours - theirs).max() < TOLERANCE * scale


def pinocchio_loads(chain, model, q, loads):
    """The same loads as Pinocchio wants them: wrenches in the joint frames."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    wrenches = [pin.Force.Zero() for _ in range(model.njoints)]
    poses = chain.poses(q)
    for load in loads:
        joint = data.oMi[load.body + 1]
        at = poses[load.body] @ [*load.point, 1]
        moment = np.array(load.moment) + np.cross(at[:3] - joint.translation, load.force)
        wrenches[load.body + 1] += pin.Force(joint.rotation.T @ np.array(load.force), joint.rotation.T @ moment)
    return wrenches


def random_loads(rng, n, count):
    return tuple(
        ExternalLoad(int(rng.integers(n)), *(tuple(5 * rng.normal(size=3)) for _ in range(3))) for _ in range(count)
    )


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_derivatives_equal_pinocchios(n, tree):
    rng = np.random.default_rng(n)
    chain = random_chain(rng, n, tree=tree)
    q, qdot, qddot = random_state(rng, n)
    model = pinocchio_model(chain)
    data = model.createData()
    pin.computeRNEADerivatives(model, data, q, qdot, qddot)
    mass_matrix = np.triu(data.M) + np.triu(data.M, 1).T
    ours = sensitivities(chain, q, qdot, qddot)
    scale = np.abs(data.dtau_dq).max() + np.abs(mass_matrix).max() + np.abs(data.tau).max()
    assert near(ours.torques, pin.rnea(model, model.createData(), q, qdot, qddot), scale)
    assert near(inverse_dynamics(chain, q, qdot, qddot), ours.torques, scale)
    assert near(ours.by_q, data.dtau_dq, scale)
    assert near(ours.by_qdot, data.dtau_dv, scale)
    assert near(ours.by_qddot, mass_matrix, scale)


@pytest.mark.parametrize("tree", [False, True])
def test_loads_equal_pinocchios_external_wrenches(tree):
    rng = np.random.default_rng(7)
    for n in (1, 4, 7):
        chain = random_chain(rng, n, tree=tree)
        q, qdot, qddot = random_state(rng, n)
        loads = random_loads(rng, n, 3)
        model = pinocchio_model(chain)

        def torques(q, *rates, chain=chain, model=model, loads=loads):
            return pin.rnea(model, model.createData(), q, *rates, pinocchio_loads(chain, model, q, loads))

        ours = sensitivities(chain, q, qdot, qddot, loads)
        scale = 1 + np.abs(ours.by_q).max()
        assert near(ours.torques, torques(q, qdot, qddot), scale)
        h = 1e-5
        for k in range(n):  # loads fixed in the base axes: Pinocchio's derivatives hold them in the joint's
            e = h * np.eye(n)[k]
            # fourth-order difference: h^4 and rounding / h leave 1e-10
            numeric = (
                8 * (torques(q + e, qdot, qddot) - torques(q - e, qdot, qddot))
                - torques(q + 2 * e, qdot, qddot)
                + torques(q - 2 * e, qdot, qddot)
            ) / (12 * h)
            assert near(ours.by_q[:, k], numeric, scale)


def test_a_batch_of_samples_is_each_sample():
    rng = np.random.default_rng(1)
    chain = random_chain(rng, 4, tree=True)
    q, qdot, qddot = rng.normal(size=(3, 2, 5, 4))
    loads = random_loads(np.random.default_rng(2), 4, 2)
    batch = sensitivities(chain, q, qdot, qddot, loads)
    for index in np.ndindex(2, 5):
        for whole, one in zip(batch, sensitivities(chain, q[index], qdot[index], qddot[index], loads), strict=True):
            assert np.allclose(whole[index], one, rtol=1e-12, atol=1e-12)


def test_two_link_arm_equals_the_appendix():
    rng = np.random.default_rng(3)
    for _ in range(20):
        state, (gravity, force) = rng.normal(size=(3, 2)) * 3, rng.uniform(0, 20, 2)
        ours = sensitivities(two_link_arm(gravity), *state, (tip_load(force),))
        for a, b in zip(ours, closed_form(*state, gravity, force), strict=True):
            assert np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE)


def test_a_points_sensitivity_is_its_jacobian():
    rng = np.random.default_rng(4)
    chain = random_chain(rng, 6, tree=True)
    q, point, h = rng.normal(size=6), rng.normal(size=3), 1e-6
    for body in range(6):
        position, jacobian = point_sensitivity(chain, q, body, point)
        assert np.allclose(position, (chain.poses(q)[body] @ [*point, 1])[:3], atol=1e-12)
        for k in range(6):
            e = h * np.eye(6)[k]
            there, back = (point_sensitivity(chain, q + step, body, point)[0] for step in (e, -e))
            assert np.allclose(jacobian[:, k], (there - back) / (2 * h), atol=1e-8)


def four_bar():
    """A planar four-bar, cut at the rocker's foot: crank 0.2, coupler 0.5, rocker 0.4, ground 0.5 m."""
    lengths = (0.2, 0.5, 0.4)
    chain = Chain.from_denavit_hartenberg(
        [(0, 0, length, 0) for length in lengths],
        [0.3, 0.7, 0.5],
        [[-length / 2, 0, 0] for length in lengths],
        [np.diag([1e-3, 0.01, 0.01])] * 3,
        gravity=(0, -9.81, 0),
    )
    return ClosedLoop(chain, (CutJoint(2, (0, 0, 0), other_point=(0.5, 0, 0)),), passive=(1, 2))


def test_a_four_bars_crank_does_the_work_of_its_whole_tree():
    """Cut forces do no work, and passive joints have no torque."""
    loop = four_bar()
    q = loop.close_posture([0.9, 0.8, -2.2], held=(0,))
    _, jacobian = loop.constraint(q)

    def passive(of_crank, bias):
        """Rates or accelerations of all joints that keep the loop closed."""
        rest = np.linalg.lstsq(jacobian[:, 1:], -jacobian[:, 0] * of_crank - bias, rcond=1e-9)[0]
        return np.array([of_crank, *rest])

    qdot = passive(3.0, 0.0)
    qddot = passive(7.0, loop.acceleration_bias(q, qdot))
    torques, forces = loop.inverse_dynamics(q, qdot, qddot)
    assert torques[0] * qdot[0] == pytest.approx(qdot @ inverse_dynamics(loop.tree, q, qdot, qddot), rel=1e-9)
    assert torques[1] == torques[2] == 0 and np.abs(forces[0, :2]).max() > 1


def test_cut_forces_enter_as_minus_the_constraints_jacobian():
    loop = four_bar()
    rng = np.random.default_rng(5)
    q, qdot, qddot = random_state(rng, 3)
    force = rng.normal(size=(1, 3))
    with_force, by_force = loop.sensitivities(q, qdot, qddot, force)
    without, _ = loop.sensitivities(q, qdot, qddot, 0 * force)
    assert np.allclose(with_force.torques - without.torques, by_force @ force.ravel(), atol=1e-12)


def test_a_cut_between_two_bodies_pulls_on_both():
    rng = np.random.default_rng(6)
    chain = random_chain(rng, 5, tree=True)
    loop = ClosedLoop(chain, (CutJoint(4, (0.1, 0, 0), 1, (0, 0.2, 0)),))
    q, qdot, qddot = random_state(rng, 5)
    force, h = rng.normal(size=(1, 3)), 1e-6
    ours, by_force = loop.sensitivities(q, qdot, qddot, force)
    assert np.allclose(ours.torques, inverse_dynamics(chain, q, qdot, qddot) + by_force @ force.ravel(), atol=1e-10)
    gap = [loop.constraint(q + step * np.eye(5)[0])[0] for step in (-h, h)]
    assert np.allclose(loop.constraint(q)[1][:, 0], (gap[1] - gap[0]) / (2 * h), atol=1e-8)


def test_wrong_input_is_refused_by_name():
    chain = two_link_arm()
    still = np.zeros(2)
    with pytest.raises(DynamicsError, match="body 2"):
        sensitivities(chain, still, still, still, (ExternalLoad(2),))
    with pytest.raises(DynamicsError, match="load on body 0 is not finite"):
        inverse_dynamics(chain, still, still, still, (ExternalLoad(0, force=(0, np.nan, 0)),))
    with pytest.raises(DynamicsError, match="qddot has shape"):
        sensitivities(chain, still, still, np.zeros(3))
    with pytest.raises(DynamicsError, match="no two different bodies"):
        ClosedLoop(chain, (CutJoint(1, (0, 0, 0), 1),))
    with pytest.raises(DynamicsError, match="at least one cut"):
        ClosedLoop(chain, ())
    loop = four_bar()
    with pytest.raises(DynamicsError, match="open by"):
        loop.inverse_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))
    with pytest.raises(DynamicsError, match="tear the loop"):
        loop.inverse_dynamics(loop.close_posture([0.9, 0.8, -2.2], held=(0,)), np.ones(3), np.zeros(3))
    with pytest.raises(DynamicsError, match="stay open"):
        ClosedLoop(loop.tree, (CutJoint(2, (0, 0, 0), other_point=(5, 0, 0)),)).close_posture(np.zeros(3))
    closed = loop.close_posture([0.9, 0.8, -2.2], held=(0,))
    with pytest.raises(DynamicsError, match="accelerations tear the loop open at"):
        loop.inverse_dynamics(closed, np.zeros(3), np.ones(3))


def test_a_loops_acceleration_bias_is_how_its_jacobian_changes():
    rng = np.random.default_rng(8)
    loop = ClosedLoop(
        random_chain(rng, 5, tree=True), (CutJoint(4, (0.1, 0, 0), 1, (0, 0.2, 0)), CutJoint(3, (0, 0.1, 0)))
    )
    q, qdot, _ = random_state(rng, 5)
    h = 1e-6
    change = (loop.constraint(q + h * qdot)[1] - loop.constraint(q - h * qdot)[1]) / (2 * h)
    assert np.allclose(loop.acceleration_bias(q, qdot), change @ qdot, atol=1e-7)
