"""The commands that README and pages show: where they stand, and their words."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *ROOT.glob("docs/**/*.md")]
)
# Programs whose words no test can check on this machine, with the reason; of these only the shell's syntax is checked.
SYNTAX_ONLY = {
    "cd": "a folder of the reader's",
    "cp": "files of the reader's",
    "mkdir": "a folder of the reader's",
    "git": "the repository's address is the reader's to fill in",
    "source": "an installed ROS 2",
    "docker": "needs docker; the images are built by CI's other machine (.github/workflows/ci.yml)",
    "systemctl": "needs systemd and root; deploy/ has tests of its own (test_deploy.py)",
    "nvpmodel": "only on a Jetson",
    "jetson_clocks": "only on a Jetson",
    "apt": "needs root; package names are in test_dependencies.py",
    "fuser": "a device of the robot's",
    "~/.stop_ros.sh": "the vendor's script on the robot",
    "grep": "filters what another command prints",
}
CHECKED = {"ros2", "python", "python3", "pip", "colcon", "rosdep", "ruff", "lint-imports", "mypy", "pytest"}
NOT_COMMANDS = re.compile(r"\.{3}|REPOSITORY|<[^>]+>")  # a place that the reader fills in


def written(page):
    """Yield the shell commands of a page: indented blocks, and code in the text that begins with a program's name."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S).replace("\\\n        ", " ")
    yield from (line.strip() for line in re.findall(r"^(?:    |\t)(\S.*)$", prose, re.M))
    yield from (
        found for found in re.findall(r"`([^`\n]+)`", prose) if re.match(r"(\./with_ros2|ros2|python3?) \S+ \S", found)
    )


def commands(page):
    """Yield (line, words) of every command of a page that begins with a known program."""
    for line in written(page):
        try:
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:  # an apostrophe: what a program prints, or a formula
            continue
        part = []
        for word in [*words, ";"]:
            if not set(word) <= set("|&;"):
                part.append(word)
                continue
            while part and part[0] in ("./with_ros2", "sudo", "nice"):
                del part[0]
            if part and (part[0] in CHECKED | SYNTAX_ONLY.keys() or re.match(r"\.?/?(scripts|\.ci)/", part[0])):
                yield line, part
            part = []


ALL = [(page, line, words) for page in PAGES for line, words in commands(page)]
