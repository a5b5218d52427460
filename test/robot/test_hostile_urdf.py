"""URDF that nobody wrote for a robot is refused in one line, by the reader of robots and by that of the view."""

import pytest

from hexapod_dynamics.errors import HexapodError
from hexapod_dynamics.robot import Robot
from hexapod_dynamics.view.scene import read_description

ORIGIN = "<link name='a'/><link name='b'/><joint name='j' type='revolute'><origin xyz='{}'/><parent link='a'/>"
ORIGIN += "<child link='b'/></joint>"
LINK = "<link name='l{0}'/><joint name='j{0}' type='fixed'><parent link='l{1}'/><child link='l{0}'/></joint>"
ENTITIES = "".join(f"<!ENTITY a{k} '{f'&a{k - 1};' * 10}'>" for k in range(1, 9))
HOSTILE = {
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
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
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
    deep = f"<robot name='a'>{link * 50_000}{'</link>' * 50_000}</robot>"
    with pytest.raises(HexapodError):
        Robot.from_urdf(deep)
    assert read_description(deep)[1].name == "x"
    chain = f"<robot name='a'><link name='l0'/>{''.join(LINK.format(k, k - 1) for k in range(1, 1500))}</robot>"
    with pytest.raises(HexapodError):
        Robot.from_urdf(chain)
    assert len(read_description(chain)[1].below()) == 1500
