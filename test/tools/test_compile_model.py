"""The command that compiles before the first start: it names its parts, and what it has compiled is found."""

from hexapod_dynamics import shared_library
from hexapod_dynamics.code_cache import cache_directory
from hexapod_dynamics.tools.compile_model import LIBRARY, main
from hexapod_dynamics.tools.compile_parts import PARTS


def test_all_parts_are_compiled_once_and_then_found(capfd):
    assert main([]) == 0
    capfd.readouterr()
    assert main([]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [*PARTS, LIBRARY]
    assert all(" 0 functions" in line for line in lines[:-1]), lines
    assert lines[-1] == f"kept in {cache_directory()}"


def test_without_a_linker_the_compiler_is_named_and_nothing_fails(monkeypatch, capfd):
    monkeypatch.setenv("PATH", "/nowhere")
    assert shared_library.linker() is None
    assert main([]) == 0
    assert "there is no linker (sudo apt install binutils)" in capfd.readouterr().out


def test_a_robot_that_is_not_there_is_named(capfd):
    assert main(["--robot", "/nowhere.yaml"]) == 1
    assert "/nowhere.yaml" in capfd.readouterr().err
