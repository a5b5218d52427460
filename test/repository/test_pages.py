"""Pages of docs/: named paths and pages exist, links lead somewhere, user pages are short, results complete."""

import re
from pathlib import Path

import pytest
from support.page_commands import PAGES

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
