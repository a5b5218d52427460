"""Which modules of this package a source imports."""

import ast
from pathlib import Path

import hexapod_dynamics

PACKAGE = Path(hexapod_dynamics.__file__).parent


def imported_modules(source):
    """Return the names of this package's modules that a source imports, wherever in it.

    `from x import y` gives x.y where that is a module, else x, whose value y then is.
    """
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "name the package"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                names.add(submodule if is_module(submodule) else node.module)
    return {name for name in names if name.partition(".")[0] == PACKAGE.name}


def is_module(name):
    base = PACKAGE.parent.joinpath(*name.split("."))
    return base.with_suffix(".py").is_file() or (base / "__init__.py").is_file()
