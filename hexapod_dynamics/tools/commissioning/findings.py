"""What a check has found, what to do about it, and the report of all findings in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hexapod_dynamics.errors import HexapodError


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    what: joint or device; seen: measured values or the operator's answer; remedy: what to do, empty if the check has
    passed; skipped: it did not take place; check: its key, as in `--only`.
    """

    what: str
    seen: str
    remedy: str = ""
    skipped: bool = False
    check: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check took place and there is nothing to do."""
        return not (self.remedy or self.skipped)

    @property
    def outcome(self) -> str:
        """How the check ended."""
        return "passed" if self.passed else "not run" if self.skipped else "FAILED"

    @property
    def lines(self) -> str:
        """Return the finding as text for a terminal, with the remedy on a separate line."""
        remedy = f"\n          -> {self.remedy}" if self.remedy else ""
        return f"  {self.outcome:8}{self.what}: {self.seen}{remedy}"


class CheckError(HexapodError):
    """A check that cannot go on, with the Finding that says why."""

    def __init__(self, what: str, seen: str, remedy: str) -> None:
        super().__init__(seen)
        self.finding = Finding(what, seen, remedy)


def label_findings(key: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings as those of the check with this key, the last one where the check cannot go on."""
    try:
        for finding in findings:
            yield replace(finding, check=key)
    except CheckError as error:
        yield replace(error.finding, check=key)


def all_passed(findings: Sequence[Finding]) -> bool:
    """Whether there are findings and each has passed."""
    return bool(findings) and all(finding.passed for finding in findings)


def summarise(findings: Sequence[Finding]) -> str:
    """One sentence: how many passed, which checks did not."""
    rest = [finding.check for finding in findings if not finding.passed]
    passes = f"{len(findings) - len(rest)} of {len(findings)} passed"
    return passes + (f"; look at: {', '.join(dict.fromkeys(rest))}" if rest else "")


def format_report(title: str, about: Iterable[tuple[str, str]], findings: Sequence[Finding]) -> str:
    """The report: title, a list of (name, value), a table of the findings, and what to do."""
    lines = [f"# {title}", "", *(f"- {name}: {value}" for name, value in about), "", summarise(findings) + ".", ""]
    lines += ["| check | what | outcome | seen |", "|---|---|---|---|"]
    for each in findings:
        # A cell without characters that would end it.
        cells = (" ".join(text.split()).replace("|", "\\|") for text in (each.check, each.what, each.seen))
        lines.append("| {} | {} | {outcome} | {} |".format(*cells, outcome=each.outcome))
    todo = [f"- {each.check}, {each.what}: {each.remedy}" for each in findings if each.remedy]
    if todo:
        lines += ["", "## What to do", "", *todo]
    return "\n".join(lines) + "\n"
