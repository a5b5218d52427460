"""Pages of docs/: named paths and pages exist, links lead somewhere; what is written from data or from the list of
parameters is up to date. Layouts for RViz, Foxglove and PlotJuggler are valid, and their topics are those of the nodes.

None of the three programs is here; their formats are those of their sources: Lichtblick (the open Foxglove)
ThreeDeeRender/IRenderer.ts, Urdfs.ts, Grids.ts, CurrentLayoutContext/actions.ts; PlotJuggler plot_docker.cpp and
mainwindow.cpp; plotjuggler-ros-plugins parser_configuration.cpp; RViz's plugins_description.xml.
"""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from support.page_commands import PAGES
from support.programs import module_of

from hexapod_dynamics.tools.parameter_files import COMMAND, generate_files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are in the source tree only")
FOLDERS = (
    "hexapod_dynamics",
    "ros2_tools",
    "launch",
    "config",
    "test",
    "benchmark",
    "examples",
    "scripts",
    "deploy",
    "docs",
)
TEXTS = {".py", ".md", ".yaml", ".sh", ".xml", ".cfg", ".toml", ".txt", ""}
GENERATED = ("docs/_api", "docs/_build")


def sources():
    """Return every text file of the source tree that people edit: (path, text)."""
    found = [path for name in FOLDERS for path in (ROOT / name).rglob("*")] + list(ROOT.glob("*"))
    for path in sorted(found):
        hidden = any(part.startswith((".", "__pycache__", "_api", "_build")) for part in path.relative_to(ROOT).parts)
        if path.is_file() and not hidden and path.suffix in TEXTS and path.stat().st_size < 500_000:
            try:
                yield path, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:  # a compiled file without a suffix
                continue


def test_every_path_below_docs_that_is_named_exists():
    named, missing = 0, set()
    for path, text in sources():
        for match in re.finditer(r"(?<![\w/.-])docs/[\w./-]*[\w/]", text):
            named += 1
            if not match[0].startswith(GENERATED) and not (ROOT / match[0]).exists():
                missing.add(f"{path.relative_to(ROOT)}: {match[0]}")
    assert named > 60
    assert missing == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page):
    """By its path in the repository or, as in docs/architecture.md, in the package; NAME is the reader's own."""
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|h|pxi|yaml|json|xml|rviz|md))`", page.read_text(encoding="utf-8"))
    missing = [file for file in named if not ((ROOT / file).exists() or (ROOT / "hexapod_dynamics" / file).exists())]
    assert [file for file in missing if not re.search(r"/(NAME|NODE)\.", file)] == []


def test_every_picture_is_on_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = [path.name for path in DOCS.iterdir() if path.suffix in (".png", ".gif", ".svg")]
    assert pictures and [name for name in pictures if f"{name})" not in pages] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page):
    text = page.read_text(encoding="utf-8")
    for target, heading in re.findall(r"\]\(([^)#\s:]*)(?:#([\w-]+))?\)", text):
        goal = (page.parent / target).resolve() if target else page
        assert goal.exists(), f"{page.name}: {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", goal.read_text(encoding="utf-8"), re.M)
            slugs = {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}
            assert heading in slugs, f"{page.name}: {target}#{heading}"


CONFIG = ROOT / "config"
PUBLISHED = re.findall(r"`([a-z_/]+)`", "".join(re.findall(r"^\| `.*", (ROOT / "docs/nodes.md").read_text(), re.M)))


def of_rviz():
    displays = yaml.safe_load((CONFIG / "hexapod.rviz").read_text())["Visualization Manager"]["Displays"]
    return {d[key]["Value"] for d in displays for key in ("Topic", "Description Topic") if key in d}


def of_foxglove():
    panels = json.loads((CONFIG / "foxglove_layout.json").read_text())["configById"]
    scene = panels["3D!hexapod"]
    plotted = [path["value"].split(".")[0] for panel in panels.values() for path in panel.get("paths", ())]
    urdfs = [layer["topic"] for layer in scene["layers"].values() if "topic" in layer]
    tables = [panel["topicToRender"] for panel in panels.values() if "topicToRender" in panel]
    return {*scene["topics"], *plotted, *urdfs, *tables}


def of_plotjuggler():
    return {
        curve.get(key)
        for curve in ET.parse(CONFIG / "plotjuggler_layout.xml").iter("curve")
        for key in ("curve_x", "name")
        if "/" in curve.get(key, "")
    }


@pytest.mark.parametrize("topics", [of_rviz, of_foxglove, of_plotjuggler])
def test_every_topic_of_a_layout_is_published(topics):
    shown = topics()
    assert len(shown) >= 3
    for topic in shown:
        assert any(re.match(rf"/?{name}(/|$)", topic) for name in PUBLISHED), f"nobody publishes {topic}"


@pytest.mark.parametrize("name", generate_files())
def test_a_file_that_is_written_from_the_list_is_up_to_date(name):
    assert (ROOT / name).read_text(encoding="utf-8") == generate_files()[name], f"{name}: run {COMMAND}"


@pytest.fixture(scope="module")
def results():
    return module_of(ROOT / "benchmark" / "results.py")


@pytest.mark.parametrize("page", sorted({*DOCS.glob("results/*.md")} - {DOCS / "results/newcomers.md"}), ids=str)
def test_a_page_has_the_numbers_of_its_data(page, results):
    text, data = page.read_text(encoding="utf-8"), json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert results.page_with_table(page) == text, "python benchmark/results.py writes it anew"
    assert {row["run"] for row in data["rows"]} <= set(data["runs"])
    for name, run in data["runs"].items():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"]), name
        assert run["commit"] and run["command"], name
    for row in data["rows"]:
        assert row["what"] and any(row["measured"]), row


def test_the_readme_and_the_page_on_damage_have_the_figures_of_the_results():
    damage, prediction = (json.loads((DOCS / f"results/{of}.json").read_text()) for of in ("damage", "prediction"))
    cases = {name: run["numbers"] for name, run in damage["runs"].items()}
    foot, pair = (
        [sum(one[of] for one in cases[case].values()) for of in ("in_time", "runs")] for case in ("foot", "pair")
    )
    near, *far = (prediction["runs"][row["run"]]["numbers"] for row in prediction["rows"][:3])
    bands = [one["pose"] for one in (near, *far)]
    drifts = near["drift"], max(one["drift"] for one in far)
    readme, page = (ROOT / "README.md").read_text(), (DOCS / "damage.md").read_text()
    assert "{} of {} within 2 s; two {} of {} within 3".format(*foot, *pair) in readme
    assert "drift {:.1f} % of the way near the model, {:.1f} % far off".format(*drifts) in readme
    assert f"{min(bands):.0f} to {max(bands):.0f} % of the time in band" in readme
    for case in ("foot", "15", "pair", "limp", "locked"):
        here, there = (f"{one['in_time']} of {one['runs']}" for one in cases[case].values())
        assert re.search(f"{here} within .* {there} ", page), case
