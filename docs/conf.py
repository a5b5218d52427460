"""Sphinx: the pages of docs/ and the API reference of the pure packages. Build: see CONTRIBUTING.md."""

import functools
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from sphinx.environment.adapters.toctree import global_toctree_for_doc

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "hexapod_dynamics"
author = copyright = "The hexapod_dynamics authors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
html_theme = "furo" if find_spec("furo") else "alabaster"

autosummary_generate = True
autodoc_mock_imports = [name for name in ("gymnasium",) if find_spec(name) is None]  # an extra, not always there
# A class is documented once, in the module that defines it, not again in the package that exports it.
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
autodoc_typehints = "signature"
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "code"

myst_heading_anchors = 3


def as_markup(_app, _what, _name, _object, _options, lines):
    """Turn a plain text docstring into reStructuredText; indented formulas and drawings become literal blocks."""
    out, literal, section = [], False, False
    for index, line in enumerate(lines):
        indented = line.startswith("    ")
        if not indented and line.strip():
            literal = False
            section = re.fullmatch(r"(Args|Returns|Raises|Yields|Attributes|Note|Example)s?:", line) is not None
        if indented and not literal and not section and (index == 0 or not lines[index - 1].strip()):
            literal = True
            out += ["::", ""]
        if not literal:
            line = re.sub(r"([|*])", r"\\\1", line)
            line = re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", line)
            line = re.sub(r"(?<=\w)_(?!\w)", r"\\_", line)
        out.append(line)
    lines[:] = out


def share_navigation(app, page, _template, context, _doctree):
    """Give the hundreds of pages of the API reference the same navigation, none of them marked in it: made anew for
    each, it takes two thirds of the build.
    """
    if page.startswith("_api/"):
        context["toctree"] = functools.partial(navigation, app.builder)


@functools.cache
def navigation(builder, **options):
    """Return the navigation (HTML) of pages in _api/."""
    options = {"collapse": True, "includehidden": False, **options}
    tree = global_toctree_for_doc(builder.env, "_api/page", builder, tags=builder.tags, **options)
    return builder.render_partial(tree)["fragment"]


def setup(app):
    """Install `as_markup` before napoleon reads the docstrings, `share_navigation` before the theme makes its own."""
    app.connect("autodoc-process-docstring", as_markup, priority=400)
    app.connect("html-page-context", share_navigation, priority=100)
