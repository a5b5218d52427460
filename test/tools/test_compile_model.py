"""The command that compiles a robot's model before the first start: what it has compiled is found."""

from pathlib import Path

from hexapod_dynamics.tools.compile_model import main

OTHER_ROBOT = Path(__file__).parents[1] / "robots" / "octopod.yaml"


def compiled(cache):
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.so")}


def test_another_robots_model_is_compiled_once_and_then_found(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path))
    assert main(["--robot", str(OTHER_ROBOT)]) == 0
    lines = capfd.readouterr().out.splitlines()
    kinds = [line.split()[0] for line in lines[:-1]]
    assert kinds[0] == "model" and set(kinds) == {"model", "legs", "coriolis", "derivatives", "batch"}
    before = compiled(tmp_path)
    assert len(before) == len(kinds)
    assert main(["--robot", str(OTHER_ROBOT)]) == 0
    assert compiled(tmp_path) == before
    assert capfd.readouterr().out.splitlines()[-1].startswith(f"kept in {tmp_path}")


def test_jethexas_model_was_compiled_with_the_package(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path))
    assert main([]) == 0
    assert not compiled(tmp_path)


def test_without_a_compiler_the_package_to_install_is_named(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert main(["--robot", str(OTHER_ROBOT)]) == 1
    assert "sudo apt install gcc" in capfd.readouterr().err


def test_a_robot_that_is_not_there_is_named(capfd):
    assert main(["--robot", "/nowhere.yaml"]) == 1
    assert "/nowhere.yaml" in capfd.readouterr().err
