"""The numbers of docs/results/: programs write them as JSON, and this script makes the pages' tables of them.

    ./with_ros2 python benchmark/ground.py --json docs/results/ground.json    # writes the numbers of its runs
    python benchmark/results.py                                               # writes the table of each page anew

`runs` has the numbers, command, date and commit of the last run of each name. `rows` has the lines of the page's table:
the name of a run, what was measured, what was wanted, and for each of `columns` a text in which the numbers of the run
stand in braces. Where the command is no program a person or a test has read the numbers off. Dates up to 28 November
2026 are those of the commits.
"""

import argparse
import datetime
import functools
import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "results"
TABLE = re.compile(r"^\| what \|.*?(?=\n(?!\|))", re.M | re.S)


def parser(doc):
    """Return the parser of a program, described by the first line of its docstring, with the option --json."""
    made = argparse.ArgumentParser(description=doc.partition("\n")[0])
    add_option(made)
    return made


def add_option(parser):
    """Add --json to the options of a program; the commit is that of its start."""
    read_commit()
    parser.add_argument("--json", type=Path, help="file that gets the numbers, as docs/results/ground.json")


@functools.cache
def read_commit():
    """Return the short hash of the checked-out commit, with -dirty where files outside docs/ differ from it."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return f"{git('rev-parse', '--short', 'HEAD') or 'none'}{'-dirty' * bool(changed)}"


def record(file, name, **numbers):
    """Write numbers of run `name` into a JSON file, with command, date and commit; file: None writes nothing."""
    if file is None:
        return
    data = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"columns": [], "runs": {}, "rows": []}
    program, words = Path(sys.argv[0]).resolve(), list(sys.argv[1:])
    if "--json" in words:
        del words[words.index("--json") : words.index("--json") + 2]
    command = str(program.relative_to(ROOT)) if program.is_relative_to(ROOT) else program.name
    data["runs"][name] = {
        "numbers": data["runs"].get(name, {}).get("numbers", {}) | numbers,
        "command": shlex.join([command, *words]),
        "date": datetime.date.today().isoformat(),
        "commit": read_commit(),
    }
    write(file, data)


def best_times(calls, rounds, number):
    """Return the best time [s] of each call, measured in turns: the load of the machine only adds to it."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            begin = time.perf_counter()
            for _ in range(number):
                call()
            best[index] = min(best[index], (time.perf_counter() - begin) / number)
    return best


def write(file, data):
    """Write a data file: a line for each row, and for each run."""

    def text(value):
        return json.dumps(value, ensure_ascii=False, default=lambda number: number.item())

    runs = ",\n".join(f"  {text(name)}: {text(run)}" for name, run in data["runs"].items())
    rows = ",\n".join(f"  {text(row)}" for row in data["rows"])
    lines = f'{{\n "columns": {text(data["columns"])},\n "runs": {{\n{runs}\n }},\n "rows": [\n{rows}\n ]\n}}\n'
    file.write_text(lines, encoding="utf-8")


def shown(command, before):
    """Return what the table shows of a command below another: nothing if it is the same, else what is new in it."""
    if command == before:
        return ""
    if not re.match(r"\w+/\S+\.py\b", command):
        return command
    parts, others = (re.split(r" (?=--)", one) for one in (command, before))
    if parts[0] == others[0] and len(parts) >= len(others):
        return f"`{' '.join(part for part in parts if part not in others)}`"
    return f"`{command.removeprefix('benchmark/')}`"


def table(data):
    """Return the table of a page; an empty cell of command, date and commit is that of the row above."""
    columns = ["what", "wanted", *data["columns"], "command", "date", "commit"]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    run = {"command": "", "date": "", "commit": ""}
    for row in data["rows"]:
        run, above = data["runs"][row["run"]], run
        cells = [text.format(**run["numbers"]) for text in row["measured"]]
        cells = [row["what"], row["wanted"], *cells, shown(run["command"], above["command"])]
        cells += [run[key] * (run[key] != above[key]) for key in ("date", "commit")]
        while not cells[-1]:  # Markdown fills a short row with empty cells
            del cells[-1]
        lines.append(re.sub(r" +", " ", f"| {' | '.join(cells)} |"))
    return "\n".join(lines)


def page_with_table(page):
    """Return the text of a page with the table of its data."""
    data = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    text, count = TABLE.subn(lambda _: table(data), page.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{page}: one table that begins with `| what |` is needed, not {count}")
    return text


def main():
    """Write the tables."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    for page in (data.with_suffix(".md") for data in sorted(PAGES.glob("*.json"))):
        page.write_text(page_with_table(page), encoding="utf-8")


if __name__ == "__main__":
    main()
