"""The description of a command for its `--help`, from the docstring of its module."""

from __future__ import annotations


def first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of a docstring as one line, without markup."""
    return " ".join((doc or "").strip().partition("\n\n")[0].split()).replace("`", "")
