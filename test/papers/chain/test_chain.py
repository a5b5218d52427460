import numpy as np
import pinocchio as pin
import pytest
from support.pinocchio_chain import pinocchio_model, random_chain, random_state

from hexapod_dynamics.errors import DynamicsError
from hexapod_dynamics.papers.chain.chain import Chain, DenavitHartenbergRow
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


def test_denavit_hartenberg_rows_give_the_printed_matrix():
    theta, d, a, alpha, q = 0.3, 0.2, 0.5, -0.7, 0.9
    chain = Chain.from_denavit_hartenberg([DenavitHartenbergRow(theta, d, a, alpha)], [1], [[0, 0, 0]], [np.eye(3)])
    c, s, ca, sa = np.cos(theta + q), np.sin(theta + q), np.cos(alpha), np.sin(alpha)
    printed = [[c, -ca * s, sa * s, a * c], [s, ca * c, -sa * c, a * s], [0, sa, ca, d], [0, 0, 0, 1]]  # Xiang eq. (1)
    assert np.allclose(chain.transforms([q])[0], printed, atol=1e-15)
    slide = Chain.from_denavit_hartenberg([(theta, d, a, alpha, "prismatic")], [1], [[0, 0, 0]], [np.eye(3)])
    assert np.allclose(slide.transforms([q])[0][:3, 3], [a * np.cos(theta), a * np.sin(theta), d + q], atol=1e-15)


def test_modified_rows_give_craigs_matrix():
    theta, d, a, alpha, q = 0.3, 0.2, 0.5, -0.7, 0.9
    chain = Chain.from_denavit_hartenberg([(theta, d, a, alpha)], [1], [[0, 0, 0]], [np.eye(3)], convention="modified")
    c, s, ca, sa = np.cos(theta + q), np.sin(theta + q), np.cos(alpha), np.sin(alpha)
    craig = [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
    assert np.allclose(chain.transforms([q])[0], craig, atol=1e-15)


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
    "more, needle",
    [
        (LOOP.format("again", "two", "three"), "three: two joints carry it, c and again"),
        (LOOP.format("lost", "two", "four"), "'four'"),
        (LOOP.format("back", "two", "base"), "loop"),
    ],
)
def test_a_urdf_that_is_no_tree_is_refused_by_name(more, needle):
    with pytest.raises(DynamicsError, match=needle):
        Chain.from_urdf(URDF.replace("{more}", more))


def test_text_that_is_no_urdf_is_refused():
    with pytest.raises(DynamicsError, match="no URDF"):
        Chain.from_urdf('<robot name="x"><link')
    with pytest.raises(DynamicsError, match="at least one joint"):
        Chain.from_urdf('<robot name="x"><link name="only"/></robot>')


def arguments():
    chain = random_chain(np.random.default_rng(5), 3, prismatic=0)
    return {
        field: getattr(chain, field)
        for field in ("parents", "placements", "screws", "masses", "coms", "inertias", "gravity")
    }


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
        Chain(**{**arguments(), field: value})


def test_a_state_that_does_not_fit_is_refused():
    chain = Chain(**arguments())
    with pytest.raises(DynamicsError, match="qdot has shape"):
        chain.check_state(np.zeros(3), np.zeros(2))
    with pytest.raises(DynamicsError, match="q is not finite"):
        chain.check_state([0, np.inf, 0])


def test_a_leg_of_the_robot_hangs_where_the_robot_has_it():
    from hexapod_dynamics.robot import Robot

    robot = Robot.jethexa()
    chain = Chain.from_leg(robot, "RF")
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
    from hexapod_dynamics.papers.chain.sensitivities import inverse_dynamics

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
    from hexapod_dynamics.robot import Morphology, Robot

    robot = Robot.jethexa()
    hurt = Morphology.whole(robot).locked("RF.femur", 0.3).broken("RF.tibia", 0.5)
    chain = Chain.from_leg(robot, "RF", morphology=hurt)
    assert chain.names == ("coxa_joint_RF", "tibia_joint_RF")
    whole = Chain.from_leg(robot, "RF")
    assert np.isclose(chain.masses.sum(), whole.masses.sum() - 0.055)
