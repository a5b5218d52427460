"""`python -O` drops every `assert`: what a program relies on is checked by an error of its own."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path.relative_to(ROOT)
    for folder in ("hexapod_dynamics", "ros2_tools/src", "launch")
    for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_module_checks_by_errors_and_not_by_assert(path):
    found = [n.lineno for n in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))) if isinstance(n, ast.Assert)]
    assert not found, f"{path}, lines {found}: raise an error instead"
