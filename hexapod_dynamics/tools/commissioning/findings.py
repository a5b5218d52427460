"""What a check has found, what to do about it, and the report of all findings in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    check: key of the check, as in `--only`; what: joint or device; seen: measured values or the owner's answer;
    remedy: what to do, empty if passed.
    """

    check: str
    what: str
    outcome: Outcome
    seen: str
    remedy: str = ""

    @property
    def line(self) -> str:
        """Return the finding as text for a terminal, with the remedy on a separate line."""
        remedy = f"\n          -> {self.remedy}" if self.remedy else ""
        return f"  {self.outcome.value:8}{self.what}: {self.seen}{remedy}"


def passed(check: str, what: str, seen: str) -> Finding:
    """Return a Finding of a check that passed."""
    return Finding(check, what, Outcome.PASSED, seen)


def failed(check: str, what: str, seen: str, remedy: str) -> Finding:
    """Return a Finding of a check that failed, with the remedy."""
    return Finding(check, what, Outcome.FAILED, seen, remedy)


def not_run(check: str, what: str, why: str, remedy: str = "") -> Finding:
    """Return a Finding of a check that did not take place."""
    return Finding(check, what, Outcome.NOT_RUN, why, remedy)


def all_passed(findings: Sequence[Finding]) -> bool:
    """Whether there are findings and each has passed."""
    return bool(findings) and all(finding.outcome is Outcome.PASSED for finding in findings)


def summary(findings: Sequence[Finding]) -> str:
    """One sentence: how many passed, which checks did not."""
    count = sum(finding.outcome is Outcome.PASSED for finding in findings)
    rest = dict.fromkeys(finding.check for finding in findings if finding.outcome is not Outcome.PASSED)
    return f"{count} of {len(findings)} passed" + (f"; look at: {', '.join(rest)}" if rest else "")


def markdown(title: str, about: Iterable[tuple[str, str]], findings: Sequence[Finding]) -> str:
    """The report: title, a list of (name, value), a table of the findings, and what to do."""
    cells = [(f.check, f.what, f.outcome.value, f.seen) for f in findings]
    lines = [f"# {title}", "", *(f"- {name}: {value}" for name, value in about), "", summary(findings) + ".", ""]
    lines += ["| check | what | outcome | seen |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(_cell(text) for text in row) + " |" for row in cells]
    todo = [f for f in findings if f.remedy]
    if todo:
        lines += ["", "## What to do", "", *(f"- {f.check}, {f.what}: {f.remedy}" for f in todo)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Return a text without characters that would end a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")
