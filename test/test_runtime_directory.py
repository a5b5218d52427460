"""A directory in which another user could have put something is refused, with what is wrong and what helps."""

import os
import stat

import pytest

from hexapod_dynamics import runtime_directory
from hexapod_dynamics.errors import UnsafePathError
from hexapod_dynamics.runtime_directory import device_directory


@pytest.fixture
def base(tmp_path, monkeypatch):
    path = tmp_path / "runtime"
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(path))
    monkeypatch.setenv("ROS_DOMAIN_ID", " 7 ")
    return path


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_is_closed_to_others_whatever_the_umask(tmp_path, monkeypatch):
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(base := tmp_path / "above" / "runtime"))
    before = os.umask(0)
    try:
        made = runtime_directory.private_directory("a", "b")
    finally:
        os.umask(before)
    assert made == base / "a" / "b"
    assert [mode(path) for path in (base.parent, base, base / "a", made)] == [0o755, 0o700, 0o700, 0o700]


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
        device_directory()
    assert str(path) in str(refusal.value)
    assert not os.listdir(elsewhere)


def test_another_users_directory_is_refused(base, monkeypatch):
    base.mkdir(mode=0o700)
    somebody_else = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody_else)  # to become somebody else takes root, this does not
    with pytest.raises(UnsafePathError, match=f"runs as user {somebody_else}"):
        device_directory()


def test_each_user_has_a_directory_of_their_own(monkeypatch):
    monkeypatch.delenv("HEXAPOD_DYNAMICS_RUNTIME", raising=False)
    monkeypatch.setenv("TMPDIR", "/elsewhere")  # two terminals of one user may differ in it
    assert runtime_directory.runtime_path() == f"/tmp/hexapod_dynamics-{os.geteuid()}"


def test_two_robots_have_two_directories(base):
    assert device_directory("/left") == base / "7.left"
    assert device_directory("/") == base / "7"


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
    assert (runtime_directory.find_distrust_reason(status) == "") == trusted


@pytest.mark.parametrize("domain", ["../../etc", "233", "-1", "1.5", "1e3", "\u0661", "9" * 5000])
def test_a_domain_that_is_no_number_of_one_is_refused_before_anything_is_made(base, monkeypatch, domain):
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    with pytest.raises(UnsafePathError, match="ROS_DOMAIN_ID is .*a whole number from 0 to 232") as refusal:
        device_directory()
    assert not base.exists() and len(str(refusal.value)) < 200


@pytest.mark.parametrize("name", ["..", "a/b", "", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(base, name):
    with pytest.raises(UnsafePathError, match="cannot be the name of a directory"):
        runtime_directory.private_directory("a", name)


@pytest.mark.parametrize("mode_, trusted", [(0o777, False), (0o1777, True), (0o755, True), (0o775, False)])
def test_a_directory_below_one_that_others_may_write_to_is_refused_unless_they_cannot_replace_it(
    tmp_path, monkeypatch, mode_, trusted
):
    parent = tmp_path / "shared"
    (parent / "between").mkdir(parents=True)
    parent.chmod(mode_)
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(parent / "between" / "run"))
    if trusted:
        assert runtime_directory.private_directory("a") == parent / "between" / "run" / "a"
    else:
        with pytest.raises(UnsafePathError, match="above it") as refusal:
            runtime_directory.private_directory("a")
        assert str(parent) in str(refusal.value) and not (parent / "between" / "run").exists()


def test_a_link_on_the_way_is_followed_to_what_it_leads_to(tmp_path, monkeypatch):
    open_to_all = tmp_path / "open"
    (open_to_all / "inner").mkdir(parents=True)
    open_to_all.chmod(0o777)
    (tmp_path / "link").symlink_to(open_to_all / "inner")
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(tmp_path / "link" / "run"))
    with pytest.raises(UnsafePathError, match="above it"):
        runtime_directory.private_directory()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_a_directory_below_one_of_another_user_is_refused(tmp_path, monkeypatch):
    parent = tmp_path / "theirs"
    parent.mkdir(mode=0o755)
    (parent / "run").mkdir(mode=0o700)
    os.chown(parent, 4321, 4321)
    monkeypatch.setenv("HEXAPOD_DYNAMICS_RUNTIME", str(parent / "run"))
    with pytest.raises(UnsafePathError, match="user 4321"):
        runtime_directory.private_directory()


@pytest.mark.parametrize("session", ["..", ".a", "a/b", "a b", "$(id)", "x" * 65, "a\n", "a\nb", ""])
def test_a_session_that_is_no_name_is_refused(session):
    with pytest.raises(UnsafePathError, match="letters, digits"):
        runtime_directory.check_session(session)
