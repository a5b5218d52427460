"""The command that compiles before the first start: it names its parts, and what it has compiled is found."""

from hexapod_dynamics.compiled import cache_directory
from hexapod_dynamics.tools.compile_model import PARTS, main


def test_all_parts_are_compiled_once_and_then_found(capsys):
    assert main([]) == 0
    capsys.readouterr()
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == list(PARTS)
    assert all(" 0 functions" in line for line in lines[:-1]), lines
    assert lines[-1] == f"kept in {cache_directory()}"


def test_a_robot_that_is_not_there_is_named(capsys):
    assert main(["--robot", "/nowhere.yaml"]) == 1
    assert "/nowhere.yaml" in capsys.readouterr().err
