"""Messages by the name of their type, filled from YAML, and as YAML or comma separated values."""

import array
import importlib
import sys

import yaml

DOTS = "..."  # behind what is cut


def interface_class(name, kind, refusal):
    """Return the class of `pkg/msg/Name` or `pkg/Name` (kind: msg or srv); RuntimeError with `refusal` if none is."""
    try:
        package, kind, word = name.split("/") if name.count("/") == 2 else name.replace("/", f"/{kind}/", 1).split("/")
        return getattr(importlib.import_module(f"{package}.{kind}"), word)
    except (AttributeError, ModuleNotFoundError, ValueError):
        raise RuntimeError(refusal) from None


def is_message(value):
    """Tell whether a value (or class) is a message."""
    return hasattr(value, "get_fields_and_field_types")


def message_class(name, refusal="The passed message type is invalid"):
    """Return the class of a message; RuntimeError with `refusal` if there is none."""
    found = interface_class(name, "msg", refusal)
    if not is_message(found):
        raise RuntimeError(refusal)
    return found


def fill(message, values, stamped=False):
    """Set a message's fields from a mapping; return setters that take a time stamp.

    :param stamped: leave a header given as `auto` and a time given as `now` to the returned setters

    :raises AttributeError: for a field that the message does not have
    :raises TypeError: for a value that is no mapping where a message is due
    """
    if not hasattr(values, "items"):
        raise TypeError(f"Value '{values}' is expected to be a dictionary but is a {type(values).__name__}")
    stamps = []
    types = message.get_fields_and_field_types()
    for name, value in values.items():
        old = getattr(message, name)
        if stamped and types.get(name) == "std_msgs/Header" and value == "auto":
            stamps.append(lambda now, header=old: setattr(header, "stamp", now))
        elif stamped and types.get(name) == "builtin_interfaces/Time" and value == "now":
            stamps.append(lambda now, name=name: setattr(message, name, now))
        elif is_message(old):
            setattr(message, name, new := type(old)())
            stamps += fill(new, value, stamped)
        else:
            setattr(message, name, _converted(old, value, types[name], stamps, stamped))
    return stamps


def _converted(old, value, field_type, stamps, stamped):
    """Return `value` as the type of the field's present value `old`."""
    kind = type(old)
    if kind is array.array:
        return array.array(old.typecode, value)
    if kind.__name__ == "ndarray":
        import numpy  # loaded already, by the message

        return numpy.array(value, dtype=old.dtype)
    if kind is not list or "/" not in field_type:
        return value if type(value) is kind else kind(value)
    element = message_class(field_type.partition("<")[2].rstrip(">").partition(",")[0] or field_type.partition("[")[0])
    made = [element() for _ in value]
    for new, entry in zip(made, value, strict=True):
        stamps += fill(new, entry, stamped)
    return made


def _abbreviated(value, field_type):
    """Return what stands for an array that is not to be printed, e.g. `<sequence type: double, length: 3>`."""
    if field_type.endswith("]"):
        element, _, size = field_type[:-1].rpartition("[")
        return f"<array type: {_full(element)}[{size}]>"
    element, _, bound = field_type[len("sequence<") : -1].partition(", ")
    bounds = f"[{bound}]" if bound else ""
    return f"<sequence type: {_full(element)}{bounds}, length: {len(value)}>"


def _full(element):
    """Return an element's type with `/msg/` where it is a message, a bounded string without its bound."""
    package, slash, name = element.partition("/")
    return f"{package}/msg/{name}" if slash else element.partition("<")[0]


class _Dumper(yaml.SafeDumper):
    """Keeps mappings in block style, whatever style the sequences in them have."""


_Dumper.add_representer(
    dict, lambda dumper, data: dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=False)
)


def _joined(cells):
    """Return the cells apart by commas; as in a full ROS 2, empty ones at the very beginning leave no trace."""
    text = ""
    for cell in cells:
        text += f",{cell}" if text else cell
    return text


class Printer:
    """Turns messages into text under the options of one command line.

    :param truncate: keep so many characters and elements of strings and arrays; None keeps all
    :param no_arr: print an array's type and length only
    :param no_str: print a string's length only
    :param flow_style: YAML with sequences in one line
    """

    def __init__(self, truncate=None, no_arr=False, no_str=False, flow_style=False):
        self.truncate, self.no_arr, self.no_str, self.flow_style = truncate, no_arr, no_str, flow_style

    def yaml(self, message):
        """Return a message as a YAML mapping."""
        return yaml.dump(
            self._plain(message),
            Dumper=_Dumper,
            allow_unicode=True,
            width=sys.maxsize,
            default_flow_style=self.flow_style,
        )

    def csv(self, message):
        """Return all values of a message, in the order of its definition."""
        return _joined(
            self._cell(getattr(message, name), kind) for name, kind in message.get_fields_and_field_types().items()
        )

    def _cut(self, value, dots=DOTS):
        return value[: self.truncate] + dots if self.truncate is not None and len(value) > self.truncate else value

    def _shortened(self, value, field_type):
        """Return a string, or a list of an array's elements, as the options leave it; another value as it is."""
        if isinstance(value, str):
            return f"<string length: <{len(value)}>>" if self.no_str else self._cut(value)
        if not (isinstance(value, (list, tuple, array.array)) or type(value).__name__ == "ndarray"):
            return value
        if self.no_arr and field_type:
            return _abbreviated(value, field_type)
        return self._cut(value.tolist() if hasattr(value, "tolist") else [*value], [DOTS])

    def _plain(self, value, field_type=None):
        """Return a value as YAML's types."""
        if is_message(value):
            return {
                name: self._plain(getattr(value, name), kind)
                for name, kind in value.get_fields_and_field_types().items()
            }
        if isinstance(value, (bytes, bytearray)):
            return self._cut("".join(map(chr, value)))
        value = self._shortened(value, field_type)
        return [each if each is DOTS else self._plain(each) for each in value] if isinstance(value, list) else value

    def _cell(self, value, field_type=None):
        """Return a value as text between commas."""
        if is_message(value):
            return self.csv(value)
        if isinstance(value, bytes):
            return str(self._cut(value, DOTS.encode()))
        value = self._shortened(value, field_type)
        if not isinstance(value, list):
            return str(value)
        return _joined(each if each is DOTS else self._cell(each) for each in value)
