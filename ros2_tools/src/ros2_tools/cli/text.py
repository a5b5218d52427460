"""A message as YAML and as comma separated values."""

import array
import sys

import yaml

from .interfaces import is_message


def _is_array(value):
    return isinstance(value, (list, tuple, array.array)) or type(value).__name__ == "ndarray"


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

    def _plain(self, value, field_type=None):
        if is_message(value):
            return {
                name: self._plain(getattr(value, name), kind)
                for name, kind in value.get_fields_and_field_types().items()
            }
        if isinstance(value, (bytes, bytearray)):
            return self._cut("".join(map(chr, value)))
        if isinstance(value, str):
            return f"<string length: <{len(value)}>>" if self.no_str else self._cut(value)
        if _is_array(value):
            if self.no_arr and field_type:
                return _abbreviated(value, field_type)
            kept = value[: self.truncate]
            kept = [self._plain(v) for v in (kept.tolist() if hasattr(kept, "tolist") else kept)]
            return kept + ["..."] if len(kept) < len(value) else kept
        return value

    def _cut(self, text):
        return text[: self.truncate] + "..." if self.truncate is not None and len(text) > self.truncate else text

    def _cell(self, value, field_type=None):
        if is_message(value):
            return self.csv(value)
        if _is_array(value):
            if self.no_arr and field_type:
                return _abbreviated(value, field_type)
            cells = [self._cell(v) for v in value[: self.truncate]]
            return _joined(cells + ["..."] if len(cells) < len(value) else cells)
        if isinstance(value, str):
            return f"<string length: <{len(value)}>>" if self.no_str else self._cut(value)
        if isinstance(value, bytes) and self.truncate is not None and len(value) > self.truncate:
            return str(value[: self.truncate] + b"...")
        return str(value)
