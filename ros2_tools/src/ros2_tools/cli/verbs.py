"""What a verb of the command `ros2` is: a function, and the arguments it takes from the command line."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple


class Argument(NamedTuple):
    """What `add_argument` of an argparse parser takes; arguments of one `group` exclude each other."""

    names: tuple[str, ...]
    options: dict[str, Any]
    group: str = ""


class Verb(NamedTuple):
    """A function of the parsed arguments that returns what `sys.exit` takes, and what the help says of it."""

    function: Callable
    arguments: tuple[Argument, ...]
    summary: str


VERBS: dict[
    str, Verb
] = {}  # {"topic echo": Verb}, of the modules loaded so far; a command without verbs: {"run": Verb}


def arg(*names: str, group: str = "", **options: Any) -> Argument:
    """Return an argument."""
    return Argument(names, options, group)


def flag(*names: str, **options: Any) -> Argument:
    """Return an option without a value."""
    return arg(*names, action="store_true", **options)


def verb(name: str, *arguments: Argument, summary: str = "") -> Callable:
    """Return a decorator that makes a function the verb `topic echo`; its docstring is its summary."""

    def decorate(function: Callable) -> Callable:
        shared = getattr(function, "arguments", ())
        VERBS[name] = Verb(function, (*shared, *arguments), summary or (function.__doc__ or "").rstrip("."))
        return function

    return decorate


def number(kind: type, name: str, fits: Callable[[Any], bool], refusal: str = "") -> Callable[[str], Any]:
    """Return an argument's `type` that takes numbers for which `fits` holds; errors name it, or are the refusal."""

    def read(text: str) -> Any:
        with suppress(ValueError):
            if fits(value := kind(text)):
                return value
        raise ArgumentTypeError(refusal or f"invalid {name} value: {text!r}")

    return read
