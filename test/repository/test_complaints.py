"""Every test that docs/complaints.md names exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "complaints.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are in the source tree only")
def test_every_test_named_on_the_page_is_there():
    file, named = None, 0
    for match in re.finditer(
        r"`((?:[\w/]+/)?test_\w+\.py)?(?:::(test_\w+)|\[([\w.]+)\])?`", PAGE.read_text(encoding="utf-8")
    ):
        file = match[1] or file
        if not (match[1] or match[2]):
            continue
        text = (ROOT / "test" / file).read_text(encoding="utf-8")
        if match[2]:
            assert f"def {match[2]}(" in text, f"{file}::{match[2]}"
        if match[3]:
            assert f'"{match[3]}"' in (ROOT / "test" / "soak" / "device_soak.py").read_text(encoding="utf-8")
        named += 1
    assert named > 30
