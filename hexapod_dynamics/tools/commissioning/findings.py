"""What a check has found, what to do about it, and the report of all findings in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum


class Outcome(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    what: joint or device; seen: measured values or the owner's answer; remedy: what to do, empty if passed; check: key
    of the check, as in `--only`.
    """

    what: str
    outcome: Outcome
    seen: str
    remedy: str = ""
    check: str = ""

    @property
    def line(self) -> str:
        """Return the finding as text for a terminal, with the remedy on a separate line."""
        remedy = f"\n          -> {self.remedy}" if self.remedy else ""
        return f"  {self.outcome.value:8}{self.what}: {self.seen}{remedy}"


def passed(what: str, seen: str) -> Finding:
    """Return a Finding of a check that passed."""
    return Finding(what, Outcome.PASSED, seen)


def failed(what: str, seen: str, remedy: str) -> Finding:
    """Return a Finding of a check that failed, with the remedy."""
    return Finding(what, Outcome.FAILED, seen, remedy)


def not_run(what: str, why: str, remedy: str = "") -> Finding:
    """Return a Finding of a check that did not take place."""
    return Finding(what, Outcome.NOT_RUN, why, remedy)


def of_check(key: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings as those of the check with this key."""
    return (replace(finding, check=key) for finding in findings)


def all_passed(findings: Sequence[Finding]) -> bool:
    """Whether there are findings and each has passed."""
    return bool(findings) and all(finding.outcome is Outcome.PASSED for finding in findings)


def summary(findings: Sequence[Finding]) -> str:
    """One sentence: how many passed, which checks did not."""
    rest = [finding.check for finding in findings if finding.outcome is not Outcome.PASSED]
    passes = f"{len(findings) - len(rest)} of {len(findings)} passed"
    return passes + (f"; look at: {', '.join(dict.fromkeys(rest))}" if rest else "")


def markdown(title: str, about: Iterable[tuple[str, str]], findings: Sequence[Finding]) -> str:
    """The report: title, a list of (name, value), a table of the findings, and what to do."""
    lines = [f"# {title}", "", *(f"- {name}: {value}" for name, value in about), "", summary(findings) + ".", ""]
    lines += ["| check | what | outcome | seen |", "|---|---|---|---|"]
    for each in findings:
        # A cell without characters that would end it.
        cells = (" ".join(text.split()).replace("|", "\\|") for text in (each.check, each.what, each.seen))
        lines.append("| {} | {} | {outcome} | {} |".format(*cells, outcome=each.outcome.value))
    todo = [f"- {each.check}, {each.what}: {each.remedy}" for each in findings if each.remedy]
    if todo:
        lines += ["", "## What to do", "", *todo]
    return "\n".join(lines) + "\n"
