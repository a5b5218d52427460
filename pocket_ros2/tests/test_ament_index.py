"""The resource index: prefixes in their order, packages and their folders."""

import pytest

from ament_index_python import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
    get_package_share_path,
    get_packages_with_prefixes,
    get_resource,
    get_resources,
    get_search_paths,
    has_resource,
)


@pytest.fixture
def prefixes(tmp_path, monkeypatch):
    for prefix, package in (("over", "gait_lab"), ("under", "gait_lab"), ("under", "legs")):
        index = tmp_path / prefix / "share/ament_index/resource_index/packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / package).write_text(f"{package} in {prefix}")
    (tmp_path / "over/share/gait_lab").mkdir()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'over'}:{tmp_path / 'nowhere'}:{tmp_path / 'under'}")
    return tmp_path


def test_first_prefix_counts_and_what_is_missing_is_named(prefixes):
    assert get_search_paths() == [str(prefixes / "over"), str(prefixes / "under")]
    assert get_package_prefix("gait_lab") == str(prefixes / "over")
    assert get_packages_with_prefixes() == {"gait_lab": str(prefixes / "over"), "legs": str(prefixes / "under")}
    assert get_resource("packages", "gait_lab") == ("gait_lab in over", str(prefixes / "over"))
    assert get_resources("plugins") == {}
    assert get_package_share_directory("gait_lab") == str(prefixes / "over/share/gait_lab")
    with pytest.warns(UserWarning, match="does not exist"):
        assert get_package_share_path("legs") == prefixes / "under/share/legs"
    with pytest.raises(PackageNotFoundError, match="package 'arms' not found, searching"):
        get_package_prefix("arms")
    for refused in (lambda: get_package_prefix("../legs"), lambda: get_resource("packages", "a/b")):
        with pytest.raises(ValueError, match="valid"):
            refused()
    assert has_resource("packages", "arms") is False


def test_nothing_sourced_is_an_error(monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    with pytest.raises(OSError, match="AMENT_PREFIX_PATH"):
        get_search_paths()
