"""Parameter files and arguments, as rcl reads them."""

import pytest

from pocket_ros2 import arguments, names
from pocket_ros2.parameter_files import ParameterFileError, load_parameter_file, overrides_for, pattern_matches

FILE = """
/**:
  ros__parameters:
    everywhere: 1
    nested: {deep: {value: 2.5}}
gait:
  ros__parameters: {period: 1.3}
/robot/*/gait:
  ros__parameters: {period: 2.0}
robot:
  gait:
    ros__parameters: {names: [a, b], empty: []}
"""


@pytest.fixture
def entries(tmp_path):
    path = tmp_path / "parameters.yaml"
    path.write_text(FILE)
    return load_parameter_file(str(path))


@pytest.mark.parametrize(
    ("full_name", "expected"),
    [
        ("/other", {}),
        ("/gait", {"period": 1.3}),
        ("/robot/left/gait", {"period": 2.0}),
        ("/robot/gait", {"names": ["a", "b"], "empty": None}),
    ],
)
def test_a_node_gets_what_is_meant_for_it(entries, full_name, expected):
    assert overrides_for(full_name, entries) == {"everywhere": 1, "nested.deep.value": 2.5, **expected}


def test_precedence_is_that_of_rcl(tmp_path):
    """Entries of one pattern stand where it came first; a node may have a name that YAML takes for a truth value."""
    path = tmp_path / "parameters.yaml"
    path.write_text("n: {ros__parameters: {a: 1, b: 1}}\n/**: {ros__parameters: {b: 2, c: 2}}")
    file = load_parameter_file(str(path))
    assert overrides_for("/n", file) == {"a": 1, "b": 2, "c": 2}
    assert overrides_for("/n", [*file, ("/**", "a", 9)]) == {"a": 9, "b": 2, "c": 2}
    assert overrides_for("/n", [("/**", "a", 9), *file]) == {"a": 1, "b": 1, "c": 2}


def test_a_name_that_comes_twice_is_merged_as_in_rcl(tmp_path):
    """Found with Humble's rclpy: all entries of a node stand where it came first, the later value wins."""
    path = tmp_path / "parameters.yaml"
    path.write_text("""
/**:
  ros__parameters: {a: 1, b: 1, deep: {x: 1, y: 1}}
n:
  ros__parameters: {c: 1, b: 5}
/**:
  ros__parameters: {b: 2, deep: {y: 2, z: 2}, c: 2}
n:
  ros__parameters: {c: 3, c: 4}
""")
    assert overrides_for("/n", load_parameter_file(str(path))) == {
        "a": 1,
        "b": 5,
        "c": 4,
        "deep.x": 1,
        "deep.y": 2,
        "deep.z": 2,
    }
    assert overrides_for("/other", load_parameter_file(str(path)))["b"] == 2


@pytest.mark.parametrize(
    ("pattern", "full_name", "matches"),
    [
        ("/**", "/a/b", True),
        ("/*", "/a", True),
        ("/*", "/a/b", False),
        ("/**/b", "/a/c/b", True),
        ("/**/b", "/b", True),
        ("/a/**", "/a/b/c", True),
        ("b", "/b", True),
        ("b", "/a/b", False),
        ("/a/*/c", "/a/b/c", True),
    ],
)
def test_wildcards(pattern, full_name, matches):
    assert pattern_matches(pattern, full_name) is matches


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 3", "a must hold ros__parameters"),
        ("- 1", "must hold node names, got list"),
        ("a: [", "is not YAML"),
        ("a: {ros__parameters: 3}", "must hold name: value, got 3"),
        ("a: {ros__parameters: {x: [1, a]}}", r"x: \[1, .a.\]; a list must hold values of one type"),
        ("a: {ros__parameters: {x: 9223372036854775808}}", "x: 9223372036854775808 does not fit"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path, text, complaint):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ParameterFileError, match=complaint) as caught:
        load_parameter_file(str(path))
    assert "bad.yaml" in str(caught.value)


def test_a_missing_file_is_named():
    with pytest.raises(ParameterFileError, match="/nowhere.yaml.*No such file"):
        load_parameter_file("/nowhere.yaml")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-p", "x"], r"'x'; expected \[node:\]name:=value"),
        (["-p", "/ns/node:x:=1"], "node being a bare node name"),
        (["-r", "x"], r"'x'; expected \[node:\]from:=to"),
        (["-r", "__node:=a b"], "alphanumerics"),
        (["--log-level", "loud"], "'loud'.*debug"),
        (["-e", "/safe"], "does not cover security enclaves"),
        (["--log-config-file", "x"], "does not cover logging configuration"),
        (["--remap"], "--remap is the last argument"),
    ],
)
def test_bad_arguments_say_what_is_allowed(words, complaint):
    with pytest.raises(arguments.ArgumentError, match=complaint):
        arguments.parse(["--ros-args", *words])


def test_arguments_of_the_program_are_kept():
    words = ["prog", "-x", "--ros-args", "-r", "a:=b", "--", "left", "--ros-args", "--log-level", "n:=warn"]
    parsed = arguments.parse(words)
    assert parsed.non_ros == ["prog", "-x", "left"]
    assert parsed.rules == [names.RemapRule("", "a", "b")]
    assert parsed.logger_levels == {"n": 30}
