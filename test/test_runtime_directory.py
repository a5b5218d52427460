"""A directory in which another user could have put something is refused, with what is wrong and what helps."""

import os
import stat

import pytest

from hexapod_dynamics import runtime_directory
from hexapod_dynamics.drivers.device_paths import device_directory
from hexapod_dynamics.errors import UnsafePathError


@pytest.fixture
def base(tmp_path, monkeypatch):
    path = tmp_path / "runtime"
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(path))
    return path


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_is_closed_to_others_whatever_the_umask(base):
    before = os.umask(0)
    try:
        made = runtime_directory.private_directory("a", "b")
    finally:
        os.umask(before)
    assert made == base / "a" / "b"
    assert [mode(path) for path in (base, base / "a", made)] == [0o700] * 3


def test_what_others_could_only_read_is_closed(base):
    base.mkdir(mode=0o755)
    assert mode(runtime_directory.private_directory()) == 0o700


@pytest.mark.parametrize("level", [".", "7"])
@pytest.mark.parametrize("planted", ["open to all", "link", "file"])
def test_what_another_user_could_have_made_is_refused(base, tmp_path, level, planted):
    path, elsewhere = base / level, tmp_path / "elsewhere"
    elsewhere.mkdir()
    if level != ".":
        base.mkdir(mode=0o700)
    if planted == "link":
        path.symlink_to(elsewhere)
    elif planted == "file":
        path.write_text("")
    else:
        path.mkdir()
        path.chmod(0o777)
    with pytest.raises(UnsafePathError, match="HEXAPOD_DYNAMICS_RUNTIME") as refusal:
        device_directory("/", 7)
    assert str(path) in str(refusal.value)
    assert not os.listdir(elsewhere)


def test_another_users_directory_is_refused(base, monkeypatch):
    base.mkdir(mode=0o700)
    somebody_else = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody_else)  # to become somebody else takes root, this does not
    with pytest.raises(UnsafePathError, match=f"runs as user {somebody_else}"):
        device_directory("/", 7)


def test_each_user_has_a_directory_of_their_own(monkeypatch):
    monkeypatch.delenv("HEXAPOD_DYNAMICS_RUNTIME", raising=False)
    monkeypatch.setenv("TMPDIR", "/elsewhere")  # two terminals of one user may differ in it
    assert str(runtime_directory.runtime_directory()) == f"/tmp/hexapod_dynamics-{os.geteuid()}"


def test_two_robots_have_two_directories(base):
    assert device_directory("/left", 3) == base / "3.left"
    assert device_directory("/", 3) == base / "3"


@pytest.mark.parametrize(
    ("bits", "owner", "trusted"),
    [
        (stat.S_IFREG | 0o644, 0, True),
        (stat.S_IFREG | 0o664, 0, False),
        (stat.S_IFREG | 0o600, 4321, False),
        (stat.S_IFDIR | 0o1777, 0, True),
        (stat.S_IFDIR | 0o777, 0, False),
        (stat.S_IFREG | 0o1666, 0, False),
    ],
)
def test_what_is_trusted(bits, owner, trusted):
    status = os.stat_result((bits, 0, 0, 1, owner, 0, 0, 0, 0, 0))
    assert (runtime_directory.reason_for_distrust(status) == "") == trusted
