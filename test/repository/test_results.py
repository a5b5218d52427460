"""The pages of docs/results/ have the numbers of their data, which the programs write there."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))
pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are in the source tree only")
WITHOUT_NUMBERS = {"newcomers"}


@pytest.fixture(scope="module")
def results():
    spec = importlib.util.spec_from_file_location("results", ROOT / "benchmark" / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data_of(page):
    return json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in WITHOUT_NUMBERS], ids=lambda page: page.stem
)
def test_a_page_has_the_numbers_of_its_data(page, results):
    assert results.page_with_table(page) == page.read_text(encoding="utf-8"), (
        "python benchmark/results.py writes it anew"
    )
    data = data_of(page)
    assert {row["run"] for row in data["rows"]} <= set(data["runs"])
    for name, run in data["runs"].items():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"]), name
        assert run["commit"] and run["command"], name
    for row in data["rows"]:
        assert row["what"] and any(row["measured"]), row


def test_a_program_writes_its_numbers_command_date_and_commit(results, tmp_path, monkeypatch):
    file = tmp_path / "page.json"
    monkeypatch.setattr(sys, "argv", [str(ROOT / "benchmark" / "heat.py"), "--lost", "RM LM", "--json", str(file)])
    results.record(file, "RM LM", warmest=44.25)
    data = json.loads(file.read_text())
    run = data["runs"]["RM LM"]
    assert run["command"] == "benchmark/heat.py --lost 'RM LM'"
    assert re.fullmatch(r"([0-9a-f]{7,}|none)(-dirty)?", run["commit"])
    data["columns"] = ["measured"]
    data["rows"] = [{"run": "RM LM", "what": "warmest", "wanted": "60", "measured": ["{warmest:.1f} degrees"]}]
    results.write(file, data)
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n| what |\n\nThe end.\n")
    written = results.page_with_table(page)
    assert (
        f"| warmest | 60 | 44.2 degrees | `heat.py --lost 'RM LM'` | {run['date']} | {run['commit']} |\n\nThe end.\n"
        in written
    )

    results.record(file, "RM LM", warmest=61.0, speed=0.07)  # a later run: the row has its numbers
    page.write_text(written)
    assert "| warmest | 60 | 61.0 degrees |" in results.page_with_table(page)
    results.record(None, "RM LM", warmest=0.0)  # without --json nothing is written
    assert json.loads(file.read_text())["runs"]["RM LM"]["numbers"] == {"warmest": 61.0, "speed": 0.07}
