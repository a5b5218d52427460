"""No module imports, directly or through others, a module that imports it: neither at its top nor within a function.

An import of a.b.c is one of the module a.b.c; the order of the packages is in .importlinter.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREES = {"hexapod_dynamics": ROOT, "ros2_tools": ROOT / "ros2_tools" / "src"}


def modules(tree, folder):
    """Return {dotted name: file} of every module of a tree."""
    found = {}
    for path in sorted(folder.rglob("*.py") if tree == "ros2_tools" else (folder / tree).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def statements(node):
    """Yield all import statements below a node, those in functions too, those under `if TYPE_CHECKING` not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from (found for branch in child.orelse for found in statements(ast.Module([branch], [])))
        elif isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        else:
            yield from statements(child)


def targets(name, source, is_package, known):
    """Return the known modules that the code of a module imports."""
    package = name.split(".") if is_package else name.split(".")[:-1]
    asked = set()
    for statement in statements(ast.parse(source)):
        if isinstance(statement, ast.Import):
            asked |= {alias.name for alias in statement.names}
            continue
        above = package[: len(package) - statement.level + 1] if statement.level else []
        base = ".".join([*above, *([statement.module] if statement.module else [])])
        whole = {f"{base}.{alias.name}" for alias in statement.names}
        asked |= whole & known | ({base} if whole - known else set())
    return asked & known - {name}


def circles(graph):
    """Return the strongly connected components of more than one node (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for target in graph[node]:
            if target not in number:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == number[node]:
            component = []
            while not component or component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for node in graph:
        if node not in number:
            visit(node)
    return found


@pytest.mark.parametrize("tree", TREES)
def test_there_is_no_import_circle(tree):
    files = modules(tree, TREES[tree])
    known = set(files)
    graph = {
        name: targets(name, path.read_text(encoding="utf-8"), path.name == "__init__.py", known)
        for name, path in files.items()
    }
    assert sum(map(len, graph.values())) > len(graph)  # the imports were found
    assert circles(graph) == []
