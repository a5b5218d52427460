"""YAML that would overflow the stack, the memory or the patience is refused in one line."""

import time

import pytest
import yaml

import rclpy
from pocket_ros2.bounded_yaml import load_yaml
from pocket_ros2.parameter_files import ParameterFileError, load_parameter_file, parse_value

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 12))
HOSTILE = {
    "3000 deep": "a: " + "[" * 3000 + "]" * 3000,
    "100,000 deep": "a: " + "[" * 100_000 + "]" * 100_000,
    "20,000 digits": "a: " + "9" * 20_000,
    "a billion laughs": LAUGHS,
    "an alias of itself": "a: &a [*a]",
    "a date that is none": "a: !!timestamp 2026-99-99",
    "an unknown alias": "a: *b",
    "not closed": "a: [",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("read", [load_yaml, parse_value])
def test_a_text_is_refused_in_one_line(name, read):
    began = time.process_time()
    with pytest.raises((yaml.YAMLError, ParameterFileError)) as refused:
        read(HOSTILE[name])
    text = str(refused.value)
    assert "\n" not in text and len(text) < 2000, text[:300]
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize("name", HOSTILE)
def test_a_parameter_file_is_refused_by_name(tmp_path, name):
    file = tmp_path / "parameters.yaml"
    file.write_text("/**:\n  ros__parameters:\n    " + HOSTILE[name].replace("\n", "\n    "))
    with pytest.raises(ParameterFileError) as refused:
        load_parameter_file(str(file))
    text = str(refused.value)
    assert "parameters.yaml" in text and "\n" not in text and len(text) < 2000, text[:300]


def test_what_is_within_the_bounds_is_as_it_was():
    text = "a: &a [1, 2.5, true, x]\nb: *a\nc: {<<: {d: 1}, e: [[[]]]}"
    assert load_yaml(text) == yaml.safe_load(text)


def test_a_process_refuses_such_an_argument():
    # PyYAML from 6.0.4 on has a limit of its own, of 1000, which it meets first where what is nested may be a key.
    with pytest.raises(Exception, match="nested more than|maximum nesting depth") as refused:
        rclpy.init(args=["--ros-args", "-p", f"a:={'[' * 3000}"])
    assert "\n" not in str(refused.value).strip()
