"""Robot files that nobody wrote by mistake: each is refused in one line that names the file and the place, soon."""

import contextlib
import copy
import resource
import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_dynamics.errors import HexapodError, RobotError
from hexapod_dynamics.gait.planning.library import PlanLibrary
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.robot.robot_file import jethexa_path, robot_fields
from hexapod_dynamics.robot.yaml_text import LONGEST_NUMBER, MOST_BYTES
from hexapod_dynamics.tools import check_robot
from hexapod_dynamics.view.scene import read_description

JETHEXA = yaml.safe_load(jethexa_path().read_text())
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 12))
HOSTILE = {
    "nested 3000 deep": ("name: " + "[" * 3000 + "]" * 3000, "line 1: nested more than 50 deep"),
    "blocks nested 1000 deep": ("".join(" " * k + "a:\n" for k in range(1000)), "line 50: nested"),
    "an integer of 20,000 digits": ("name: x\ngravity: " + "9" * 20_000, "line 2: a number of 20000 digits"),
    "a float of 20,000 digits": ("name: x\ngravity: " + "9" * 20_000 + ".0", "gravity: inf is not finite"),
    "an octal of 20,000 digits": ("name: x\ngravity: 0" + "7" * 20_000, "line 2: a number of 20001 digits"),
    "an integer with underscores": ("name: x\ngravity: 1_000", "gravity: '1_000' given, a number needed"),
    "a number to the base of 60": ("name: x\ngravity: 1:30", "gravity: '1:30' given, a number needed"),
    "nan": ("name: x\ngravity: .nan", "gravity: nan is not finite"),
    "a key twice": ("name: x\nname: y", "line 2: name is given more than once"),
    "a billion laughs": (LAUGHS + "name: *a11", "values, aliases counted in full"),
    "a merged billion laughs": (
        "a0: &a0 {x: 1}\n" + "".join(f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 9)}]}}\n" for k in range(1, 9)),
        "values, aliases counted in full",
    ),
    "an alias of itself": ("name: &a [*a]", "line 1: an alias of a node that contains it"),
    "a date that is none": ("name: 2026-99-99", "not YAML: month must be in 1..12"),
    "an open bracket": ("body: {mass: ", "not YAML"),
    "a list as key": ("? [a]\n: 1", "not YAML: while constructing a mapping"),
    "a Python object": ("name: !!python/object/apply:os.system [true]", "not YAML: could not determine a constructor"),
    "no UTF-8": (b"name: \xff", "cannot be read"),
    "a control character": ("name: \x00", "not YAML"),
    "a long text": ("name: x\ngravity: " + "y" * 100_000, "a number needed"),
    "a huge file": ("# " + "x" * MOST_BYTES, "cannot be read: it has more than 4 MiB"),
    "a leg with a long name": (
        jethexa_path().read_text().replace("leg_order: [", f"leg_order: [{'L' * 100_000}, "),
        "legs.LLL",
    ),
    "many keys": ("name: x\n" + "".join(f"k{k}: 1\n" for k in range(8000)), "body: missing"),
}


def is_refused(read, path, what):
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(HexapodError) as refused:
        read(path)
    text = str(refused.value)
    assert str(path) in text and what in text, text[:500]
    assert "\n" not in text and len(text) < 1500
    assert time.process_time() - began < 20.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 512 << 20


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_robot_file_is_refused_in_one_line(tmp_path, name):
    content, what = HOSTILE[name]
    path = tmp_path / "hostile.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    is_refused(Robot.load, path, what)


@pytest.mark.parametrize("name", ["nested 3000 deep", "an integer of 20,000 digits", "a billion laughs", "a huge file"])
def test_gait_plans_and_hardware_files_are_refused_likewise(tmp_path, name):
    content, what = HOSTILE[name]
    path = tmp_path / "hostile.yaml"
    path.write_text(content)
    is_refused(lambda file: PlanLibrary.load(Robot.jethexa(), file), path, what)

    class Given:
        hardware, port, direction, bus = str(path), "", "", ""

    is_refused(lambda _: check_robot.read_device_parameters(Given, Robot.jethexa()), path, what)


def test_the_bound_of_a_number_is_far_beyond_any_use(tmp_path):
    path = tmp_path / "robot.yaml"
    path.write_text(jethexa_path().read_text().replace("gravity: 9.81", "gravity: 0009.8100"))
    assert Robot.load(path).gravity == 9.81
    path.write_text(jethexa_path().read_text().replace("gravity: 9.81", "gravity: 010"))
    assert Robot.load(path).gravity == 10.0  # it was 8, an octal number
    path.write_text("name: x\ngravity: " + "1" * LONGEST_NUMBER)
    with pytest.raises(RobotError, match="body: missing"):
        Robot.load(path)


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), float("nan"), float("inf"), 1e308, -1e308, 5e-324, 0, -1]),
    st.floats(),
    st.text(max_size=5),
    st.just("x" * 10_000),
    st.just([]),
    st.just({}),
    st.lists(st.one_of(st.integers(), st.none(), st.text(max_size=2)), max_size=7),
    st.dictionaries(st.one_of(st.text(max_size=3), st.integers()), st.integers(), max_size=3),
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([path for path in places(JETHEXA) if path]), ODD)
def test_any_value_in_any_place_is_read_or_refused(path, odd):
    data = copy.deepcopy(JETHEXA)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    with contextlib.suppress(RobotError):
        Robot(**robot_fields(data))


# ---- URDF: the reader of robots and that of the view -----------------------------------------------------------------

ORIGIN = "<link name='a'/><link name='b'/><joint name='j' type='revolute'><origin xyz='{}'/><parent link='a'/>"
ORIGIN += "<child link='b'/></joint>"
LINK = "<link name='l{0}'/><joint name='j{0}' type='fixed'><parent link='l{1}'/><child link='l{0}'/></joint>"
ENTITIES = "".join(f"<!ENTITY a{k} '{f'&a{k - 1};' * 10}'>" for k in range(1, 9))
HOSTILE_URDF = {
    "no text": "<\ud800>",
    "a zero": "<robot name='\0'/>",
    "entities": f"<!DOCTYPE r [<!ENTITY a0 '{'x' * 1000}'>{ENTITIES}]><robot name='&a8;'/>",
    "no number": f"<robot name='a'>{ORIGIN.format('1 x 2')}</robot>",
    "two numbers": f"<robot name='a'>{ORIGIN.format('1 2')}</robot>",
    "a loop": f"<robot name='a'>{LINK.format(0, 1)}{LINK.format(1, 0)}</robot>",
    "no root": "<robot name='a'/>",
    "another root": "<" * 100_000,
}


@pytest.mark.parametrize("read", [Robot.from_urdf, read_description], ids=["robot", "view"])
@pytest.mark.parametrize("text", HOSTILE_URDF.values(), ids=HOSTILE_URDF)
def test_a_hostile_urdf_is_refused_in_one_line(read, text):
    with pytest.raises(HexapodError) as error:
        read(text)
    assert "\n" not in str(error.value) and len(str(error.value)) < 1000


@pytest.mark.parametrize("path", ["", "\0", "x" * 100_000, "\ud800"])
def test_a_path_that_is_none_is_refused_in_one_line(path):
    with pytest.raises(HexapodError, match="cannot be read") as error:
        Robot.from_urdf(path)
    assert len(str(error.value)) < 1000


def test_a_deep_tree_and_a_long_chain_of_links_end_neither_reader():
    link = "<link name='x'>"
    deep = f"<robot name='a'>{link * 5_000}{'</link>' * 5_000}</robot>"
    with pytest.raises(HexapodError):
        Robot.from_urdf(deep)
    assert read_description(deep)[1].name == "x"
    chain = f"<robot name='a'><link name='l0'/>{''.join(LINK.format(k, k - 1) for k in range(1, 1100))}</robot>"
    with pytest.raises(HexapodError):
        Robot.from_urdf(chain)
    assert len(read_description(chain)[1].list_subtree()) == 1100
