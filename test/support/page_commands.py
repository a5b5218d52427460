"""The commands that README and pages show: where they stand, and their words."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *ROOT.glob("docs/**/*.md")]
)
CHECKED = {
    "ros2",
    "python",
    "python3",
    "pip",
    "colcon",
    "rosdep",
    "ruff",
    "lint-imports",
    "mypy",
    "pytest",
    "git",
    "pipx",
}
SCRIPTS = {"scripts/debian_package", "deploy/docker_run"}
# Programs of the computer that the robot or the developer has.
HOST = {"apt", "docker", "systemctl", "nvpmodel", "jetson_clocks", "fuser", "ssh", *SCRIPTS}
PARTS = {"source", "grep"}  # of a line that is run as a whole
NOT_COMMANDS = re.compile(r"\.{3}|REPOSITORY|\.\[NAME\]|KIND|<[^>]+>")  # a place that the reader fills in
# Code in the text that is a command, not only the name of one; a short form is that of an executable or launch file.
INLINE = re.compile(
    r"(?:\./with_ros2 |sudo )*(?:(?:ros2|python3?|pip|docker|colcon) \S+ \S|(?:apt|git|fuser|ssh|pytest|pipx|ruff) \S"
    r"|scripts/\w+(?: \S|$))|\./with_ros2 \S+ \S"
)
SHORT_FORMS = {r"(?:check_robot|servo_tool|stop) \S": "ros2 run", r"\w+\.launch\.py \w+:=": "ros2 launch"}


def written(page):
    """Yield the shell commands of a page: indented blocks, and code in the text that begins with a program's name."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S).replace("\\\n        ", " ")
    yield from (line.strip() for line in re.findall(r"^(?:    |\t)(\S.*)$", prose, re.M))
    for found in re.findall(r"`([^`]+)`", re.sub(r"\n(?!\n)", " ", prose)):
        short = [verb for form, verb in SHORT_FORMS.items() if re.match(form, found)]
        if short or INLINE.match(found):
            yield " ".join([*(f"{verb} hexapod_dynamics" for verb in short), found])


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
            if part and (part[0] in CHECKED | HOST | PARTS or re.match(r"\.?/?(scripts|\.ci)/", part[0])):
                yield line, part
            part = []


ALL = [(page, line, words) for page in PAGES for line, words in commands(page)]
