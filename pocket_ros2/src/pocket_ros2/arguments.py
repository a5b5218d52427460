"""`--ros-args`: what a ROS 2 program understands on its command line."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import names
from .parameter_files import ParameterFileError, load_parameter_file, parse_value

LOG_LEVELS = {"unset": 0, "debug": 10, "info": 20, "warn": 30, "error": 40, "fatal": 50}
_VALUED = {
    "-r": "remap", "--remap": "remap", "-p": "param", "--param": "param", "--params-file": "file",
    "--log-level": "level", "--log-config-file": "log config", "-e": "enclave", "--enclave": "enclave",
}  # fmt: skip
_SWITCHES = {
    "--enable-rosout-logs": ("rosout", True), "--disable-rosout-logs": ("rosout", False),
    "--enable-stdout-logs": ("stdout", True), "--disable-stdout-logs": ("stdout", False),
    "--enable-external-lib-logs": ("file", True), "--disable-external-lib-logs": ("file", False),
}  # fmt: skip


class UnknownROSArgsError(RuntimeError):
    """An argument after --ros-args is not a ROS argument."""

    def __init__(self, unknown: list[str]) -> None:
        super().__init__(f"Found unknown ROS arguments: {unknown}")
        self.unknown = unknown


class ArgumentError(RuntimeError):
    """A ROS argument that cannot be read; the text names it."""


@dataclass
class RosArguments:
    """The ROS arguments of a process or of one node, in the order given."""

    rules: list[names.RemapRule] = field(default_factory=list)
    parameters: list[tuple[str, str, object]] = field(default_factory=list)  # (node pattern, name, value)
    log_level: int | None = None
    logger_levels: dict[str, int] = field(default_factory=dict)
    logs: dict[str, bool] = field(default_factory=lambda: {"rosout": True, "stdout": True, "file": True})
    enclave: str = "/"
    non_ros: list[str] = field(default_factory=list)


def _read_level(text: str, parsed: RosArguments) -> None:
    logger, separator, level = text.rpartition(":=")
    if level.lower() not in LOG_LEVELS:
        raise ArgumentError(
            f"--log-level is {text!r}; expected [logger:=]LEVEL with LEVEL one of {', '.join(LOG_LEVELS)}"
        )
    if separator:
        parsed.logger_levels[logger] = LOG_LEVELS[level.lower()]
    else:
        parsed.log_level = LOG_LEVELS[level.lower()]


def _read_parameter(text: str, parsed: RosArguments) -> None:
    left, separator, right = text.partition(":=")
    if not separator or not left:
        raise ArgumentError(f"cannot read parameter {text!r}; expected [node:]name:=value")
    node, colon, name = left.rpartition(":")
    if not name or (colon and names.node_name_error(node)):
        raise ArgumentError(f"cannot read parameter {text!r}; expected [node:]name:=value, node being a bare node name")
    try:
        parsed.parameters.append((node if colon else "/**", name, parse_value(right)))
    except ParameterFileError as error:
        raise ArgumentError(f"cannot read parameter {text!r}: {error}") from error


def _read_valued(kind: str, flag: str, text: str, parsed: RosArguments) -> None:
    if kind == "remap":
        try:
            parsed.rules.append(names.parse_remap(text))
        except ValueError as error:
            raise ArgumentError(str(error)) from error
    elif kind == "param":
        _read_parameter(text, parsed)
    elif kind == "file":
        parsed.parameters += load_parameter_file(text)
    elif kind == "level":
        _read_level(text, parsed)
    elif kind == "enclave":
        if text != "/":
            raise ArgumentError(f"{flag} {text!r}: pocket ROS 2 does not cover security enclaves; only '/' is there")
    else:
        raise ArgumentError(f"{flag} {text!r}: pocket ROS 2 does not cover logging configuration files")


def parse(arguments: list[str]) -> RosArguments:
    """Read all `--ros-args ... [--]` sections; what stands outside them is kept in `non_ros`."""
    parsed, unknown = RosArguments(), []
    inside = False
    position = 0
    while position < len(arguments):
        argument = arguments[position]
        position += 1
        if not inside:
            if argument == "--ros-args":
                inside = True
            else:
                parsed.non_ros.append(argument)
        elif argument == "--":
            inside = False
        elif argument in _VALUED:
            if position >= len(arguments):
                raise ArgumentError(f"{argument} is the last argument; a value must follow it")
            _read_valued(_VALUED[argument], argument, arguments[position], parsed)
            position += 1
        elif argument in _SWITCHES:
            switch, value = _SWITCHES[argument]
            parsed.logs[switch] = value
        elif argument != "--ros-args":
            unknown.append(argument)
    if unknown:
        raise UnknownROSArgsError(unknown)
    return parsed
