"""Pages of docs/: named paths and pages exist, links lead somewhere, user pages are short, results complete."""

import ast
import io
import re
import subprocess
import tokenize
from pathlib import Path

import pytest

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
PAGE_NAMES = {path.name for path in DOCS.rglob("*.md")} | {path.name for path in ROOT.glob("*.md")}


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


def prose(path, text):
    """Return the comments and docstrings of a Python file, any other file as a whole."""
    if path.suffix != ".py":
        return text
    comments = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    docstrings = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return "\n".join(comments + docstrings)


def test_every_path_below_docs_that_is_named_exists():
    named, missing = 0, set()
    for path, text in sources():
        for match in re.finditer(r"(?<![\w/.-])docs/[\w./-]*[\w/]", text):
            named += 1
            if not match[0].startswith(GENERATED) and not (ROOT / match[0]).exists():
                missing.add(f"{path.relative_to(ROOT)}: {match[0]}")
    assert named > 60
    assert missing == set()


def test_every_page_that_a_docstring_or_comment_cites_is_in_the_repository():
    cited, missing = 0, set()
    for path, text in sources():
        if path.suffix != ".py" or ".md" not in text:
            continue
        for match in re.finditer(r"(?<![\w<>{}/.-])(?:docs/)?(?:results/)?(\w+\.md)\b", prose(path, text)):
            cited += 1
            if match[1] not in PAGE_NAMES:
                missing.add(f"{path.relative_to(ROOT)}: {match[0]}")
    assert cited > 10
    assert missing == set()


def test_no_file_has_the_marks_of_a_merge():
    marks = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert [str(path.relative_to(ROOT)) for path, text in sources() if marks.search(text)] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_of_a_page_leads_to_a_file_and_a_heading(page):
    text = page.read_text(encoding="utf-8")
    for target, heading in re.findall(r"\]\(([^)#\s:]*)(?:#([\w-]+))?\)", text):
        goal = (page.parent / target).resolve() if target else page
        assert goal.exists(), f"{page.name}: {target}"
        if heading:
            titles = re.findall(r"^#+ (.*)$", goal.read_text(encoding="utf-8"), re.M)
            slugs = {re.sub(r"[^\w\s-]", "", title.lower()).strip().replace(" ", "-") for title in titles}
            assert heading in slugs, f"{page.name}: {target}#{heading}"


REFERENCE = {"parameters", "index"}  # lists that are looked things up in


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_has_fewer_than_1200_words_and_is_in_one_list_of_the_index(page):
    if page.stem != "index":
        assert re.findall(r"^(\w+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.M).count(page.stem) == 1
    assert page.stem in REFERENCE or len(page.read_text(encoding="utf-8").split()) < 1200


@pytest.mark.parametrize("page", sorted((DOCS / "results").glob("*.md")), ids=lambda page: page.name)
def test_a_page_of_results_names_commands_commits_and_the_truth(page):
    text = page.read_text(encoding="utf-8")
    assert "benchmark/" in text or "pytest" in text
    assert page.stem == "libraries" or "truth" in text.lower()
    commits = set(re.findall(r"(?<!@)\b(?=\w*[a-f])(?=\w*\d)[0-9a-f]{7}\b", text))  # theirs: name@commit
    assert commits
    if page.stem not in ("nodes", "libraries"):  # processor time: nobody walks in a world
        assert "**Servo law**" in text
    if not (ROOT / ".git").exists():
        return
    for commit in commits:
        done = subprocess.run(["git", "cat-file", "-e", commit], cwd=ROOT, check=False)
        shallow = subprocess.run(
            ["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0 or shallow.stdout.strip() == "true", f"{page.name}: {commit} is not a commit"
