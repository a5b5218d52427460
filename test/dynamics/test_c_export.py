"""The model as C for others: builds without warnings in every form, and computes what Python computes."""

import ctypes
import re
import shutil

import numpy as np
import pytest
from support import programs
from support.random_robots import random_robot, rotation

from hexapod_dynamics.dynamics import WholeBodyModel
from hexapod_dynamics.dynamics.c_export import write_model
from hexapod_dynamics.robot import Morphology, Robot
from hexapod_dynamics.tools.compile_model import main

WARNINGS = ("-Wall", "-Wextra", "-Werror")
# Without vectors: plain C99, for any compiler; else lanes of the vector extension. Eight lanes, the JetHexa's, has the
# library that is written; others are those of test/core/test_core.py.
C99 = ("-std=c99", "-pedantic", "-DHD_LANES=1")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    assert main(["--out", str(directory)]) == 0
    return directory


def run(*command, cwd):
    done = programs.run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pointer(array):
    return None if array is None else array.ctypes.data_as(ctypes.c_void_p)


class Foreign:
    """The library, called as C calls it."""

    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.hd_init.restype = ctypes.c_void_p
        self.memory = ctypes.create_string_buffer(1 << 20)
        self.model = ctypes.c_void_p(self.c.hd_init(self.memory))

    def take(self, morphology):
        remaining, moving, locked, driven = (np.ascontiguousarray(row) for row in morphology.table)
        state = np.where(driven > 0, 0, np.where(moving > 0, 2, 1)).astype(np.int32)
        return self.c.hd_set_morphology(self.model, pointer(remaining), pointer(state), pointer(locked))

    def call(self, name, *given, shape):
        out = np.zeros(shape)
        numbers = [pointer(each) if isinstance(each, np.ndarray) else ctypes.c_int64(each) for each in given]
        return out if getattr(self.c, name)(self.model, *numbers, pointer(out)) else None


def compare(robot, foreign, seed):
    """Every function for several morphologies."""
    rng, model, whole = np.random.default_rng(seed), WholeBodyModel(robot), Morphology.whole(robot)
    first, second = robot.legs[0], robot.legs[-1]
    outer = f"{second.name}.{second.link_names[-1]}"
    cases = [whole, whole.without(first.name), whole.locked(outer, angle=0.3), whole.limp(outer), whole]
    cases.insert(2, whole.without(first.name).broken(outer, remaining=0.4))
    for morphology in cases:
        n = len(model.joint_names(morphology))
        assert foreign.take(morphology) == n
        for _ in range(5):
            R, q, nu, tau = rotation(rng), rng.normal(size=robot.joint_count), *rng.normal(size=(2, 6 + n))
            calls = {"forward_dynamics": (R, q, nu, tau[:n].copy()), "inverse_dynamics": (R, q, nu, nu)}
            pairs = []
            for name, given in (calls | {"mass_matrix": (q,), "gravity_force": (R, q)}).items():
                expected = getattr(model, name)(*given, morphology)
                pairs.append((foreign.call(f"hd_{name}", *given, shape=expected.shape), expected))
            for index, leg in enumerate(robot.leg_names):
                J = foreign.call("hd_tip_jacobian", q, index, shape=(6, 6 + n))
                if morphology.has_leg(leg):
                    pairs.append((J, model.tip_jacobian(leg, q, morphology)))
                else:
                    assert J is None
            for given, expected in pairs:
                np.testing.assert_allclose(given, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def assert_example_agrees(printed):
    """Assert that example.cpp, which prints what it computes for the JetHexa, whole and without RF, is right."""
    lines = np.array([line.split() for line in printed.splitlines()], float)
    robot = Robot.jethexa()
    model, whole = WholeBodyModel(robot), Morphology.whole(robot)
    q = 0.1 * (np.arange(18) % 3)
    expected = []
    for morphology, n in ((whole, 18), (whole.without("RF"), 15)):
        tau = np.zeros(n)
        tau[0] = 0.5
        expected.append(model.forward_dynamics(np.eye(3), q, np.zeros(6 + n), tau, morphology))
        np.testing.assert_allclose(lines[:, 1][24 * len(expected) - 24 :][: 6 + n][6:], tau, atol=1e-12)
    np.testing.assert_allclose(lines[:, 0], np.concatenate(expected), atol=1e-12)


def test_in_plain_c99_without_a_heap_or_a_library_it_computes_what_python_computes(written, tmp_path):
    command = ("gcc", "-O0", *C99, *WARNINGS, "-ffreestanding", "-fPIC", f"-I{written}", "-c")
    run(*command, str(written / "hexapod_model.c"), str(written / "main.c"), cwd=tmp_path)
    symbols = run("nm", "-u", "hexapod_model.o", "main.o", cwd=tmp_path)
    needed = set(re.findall(r" U (?!hd_)(\w+)", symbols))
    assert needed <= {"memset", "memcpy", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
    run("gcc", "-shared", "hexapod_model.o", "-o", "model.so", cwd=tmp_path)
    compare(Robot.jethexa(), Foreign(tmp_path / "model.so"), 1)


def test_the_library_that_is_written_is_used_as_it_is(written):
    compare(Robot.jethexa(), Foreign(written / "hexapod_model.so"), 2)


def test_a_robot_with_legs_of_several_types(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", programs.quick_compiler(tmp_path))
    robot = random_robot(np.random.default_rng(1), 1, 4)
    write_model(robot, tmp_path)
    compare(robot, Foreign(tmp_path / "hexapod_model.so"), 3)


def test_an_impossible_morphology_is_refused_and_nothing_changes(written):
    foreign, robot = Foreign(written / "hexapod_model.so"), Robot.jethexa()
    q = np.zeros(18)
    before = foreign.call("hd_mass_matrix", q, shape=(24, 24))
    for joint, remaining in ((0, -0.1), (0, 1.1), (0, np.nan), (0, 0.0)):  # the last: the femur hangs on the coxa
        links = np.ones(robot.joint_count)
        links[joint] = remaining
        assert foreign.c.hd_set_morphology(foreign.model, pointer(links), None, None) == -1
    state = np.full(robot.joint_count, 3, np.int32)
    assert foreign.c.hd_set_morphology(foreign.model, None, pointer(state), None) == -1
    state[:] = 1  # HD_LOCKED, farther from zero than the sines are exact
    assert foreign.c.hd_set_morphology(foreign.model, None, pointer(state), pointer(np.full(18, 1.1e6))) == -1
    np.testing.assert_array_equal(foreign.call("hd_mass_matrix", q, shape=(24, 24)), before)
    assert foreign.call("hd_gravity_force", np.ones((3, 3)), q, shape=24) is None
    assert foreign.call("hd_mass_matrix", np.full(18, np.nan), shape=(24, 24)) is None


def test_the_examples_are_built_by_cmake_and_agree_with_python(written, tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    flags = " ".join(("-DHD_LANES=2", *WARNINGS))  # eight lanes without registers for them take gcc 7 s
    settings = (f"-DCMAKE_C_COMPILER={programs.quick_compiler(tmp_path)}", f"-DCMAKE_C_FLAGS={flags}")
    run("cmake", "-S", str(written), "-B", str(tmp_path), *settings, cwd=tmp_path)
    run("cmake", "--build", str(tmp_path), cwd=tmp_path)
    run(str(tmp_path / "bare"), cwd=tmp_path)
    compare(Robot.jethexa(), Foreign(tmp_path / "libhexapod_model.so"), 1)
    assert_example_agrees(run(str(tmp_path / "example"), cwd=tmp_path))


def test_a_robot_that_is_none_is_told_in_one_line(tmp_path, capsys):
    (tmp_path / "robot.yaml").write_text("name: none\n")
    assert main(["--robot", str(tmp_path / "robot.yaml"), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("compile: ")


@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_the_model_on_arm64_under_emulation(written, tmp_path, lanes):
    compiler, emulator = "aarch64-linux-gnu-g++", shutil.which("qemu-aarch64")
    if shutil.which(compiler) is None or emulator is None:
        pytest.skip("sudo apt install g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user")
    # Optimised are the lanes that its registers have; eight take gcc 20 s, and the values are the same.
    options = ("-O2" if lanes == 2 else "-O0", f"-DHD_LANES={lanes}", f"-I{written}", *WARNINGS)
    run("aarch64-linux-gnu-gcc", *options, "-std=gnu99", "-c", str(written / "hexapod_model.c"), cwd=tmp_path)
    run(compiler, *options, "-static", str(written / "example.cpp"), "hexapod_model.o", "-o", "example", cwd=tmp_path)
    assert_example_agrees(run(emulator, "./example", cwd=tmp_path))
