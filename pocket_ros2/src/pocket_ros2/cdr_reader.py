"""Makes functions that read messages from CDR."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from . import checks
from .cdr_source import KEPT, SIZES, CorruptMessage, Generator
from .definitions import Definition, Field, definition
from .messages import message_class


def _unpack_strings(raw: bytes, offset: int, count: int, last: list) -> tuple[list[str], int]:
    """Read `count` strings from a 4-aligned offset; a block like the last one (joint names) is not decoded again."""
    if last[0] == count and raw.startswith(last[1], offset):
        return last[2].copy(), offset + len(last[1])
    start, values = offset, []
    for _ in range(count):
        offset += -offset & 3
        (size,) = struct.unpack_from("<I", raw, offset)
        offset += 4
        values.append(str(raw[offset : offset + size - 1], "utf-8", "replace"))
        offset += size
    if offset > len(raw):
        raise CorruptMessage("a string reaches beyond the end of the message")
    if count and offset - start <= KEPT:
        last[:] = count, raw[start:offset], values.copy()
    return values, offset


class Reader(Generator):
    """Generates `read(b, o) -> (message, o)`."""

    def __init__(self, alignment: int, residue: int) -> None:
        super().__init__(alignment, residue)
        self.head: list[str] = []
        self.scope["_new"], self.scope["_str"] = object.__new__, str

    def emit(self, line: str) -> None:
        """Write one line of the function."""
        self.lines.append("    " + line)

    def flush(self) -> None:
        """Write the line that handles the current run of primitives."""
        if not self.format:
            return
        targets = ", ".join(self.items) + ","
        made = self.fixed_struct()
        name = self.name("U")
        self.scope[name] = made.unpack_from
        self.emit(f"{targets} = {name}(b, o); o += {made.size}")

    def align(self, size: int) -> None:
        """Write the lines that align the offset."""
        if size > 1:
            self.emit(f"o += (4 - o) & {size - 1}")
        self.forget(size)

    def create(self, typename: str, target: str) -> None:
        """Write the line that makes an empty message."""
        cls = self.name("C")
        self.scope[cls] = message_class(typename)
        self.head.append(f"    {target} = _new({cls})")

    def members(self, target: str, shape: Definition) -> None:
        """Generate the code that reads all members of a message."""
        for field in shape.fields:
            if field.name == "structure_needs_at_least_one_member":
                self.add("uint8", "_")
            else:
                self.member(field, f"{target}._{field.name}")

    def member(self, field: Field, target: str) -> None:
        """Handle one member."""
        if field.container:
            self.container(field, target)
        elif field.is_message:
            inner = self.name("m")
            self.create(field.base, f"{inner} = {target}")
            self.members(inner, definition(field.base))
        elif field.base == "string":
            self.add("uint32", "n")
            self.flush()
            self.emit(f"{target} = _str(b[o:o + n - 1], 'utf-8', 'replace'); o += n")
            self.forget(1)
        else:
            self.add(field.base, target)

    def container(self, field: Field, target: str) -> None:
        """Handle an array or a sequence."""
        base, count = field.base, str(field.size)
        if field.container == "sequence":
            count = "n"
            self.add("uint32", "n")
        self.flush()
        if field.is_message or base == "string":
            self.elements(field, target, count)
            return
        size = SIZES[base]
        if field.container == "array":
            self.array(field, target, size)
            return
        lines = []
        if size > 4 or self.alignment < 4:
            lines.append(f"    o += (4 - o) & {size - 1}")
        if base == "byte":
            lines.append(f"    {target} = [b[i:i + 1] for i in range(o, min(o + n, len(b)))]")
        elif base == "bool":
            lines.append(f"    {target} = [x != 0 for x in b[o:o + n]]")
        else:
            self.scope["_array"] = checks.array
            code = checks.TYPECODES[base]
            lines.append(f"    {target} = a = _array('{code}'); a.frombytes(b[o:o + n * {size}])")
        self.emit("if n:")
        for line in [*lines, f"    o += n * {size}"]:
            self.emit(line)
        self.emit("else: " + (f"{target} = []" if base in ("byte", "bool") else f"{target} = _array('{code}')"))
        self.forget(min(size, 4))

    def array(self, field: Field, target: str, size: int) -> None:
        """Handle a fixed-size array of primitives."""
        base, total = field.base, size * field.size
        if size > self.alignment:
            self.align(size)
        else:
            pad = -(self.residue - 4) % size
            if pad:
                self.emit(f"o += {pad}")
                self.residue = (self.residue + pad) % self.alignment
        if base == "byte":
            self.emit(f"{target} = [b[i:i + 1] for i in range(o, o + {total})]")
        elif base == "bool":
            self.emit(f"{target} = [x != 0 for x in b[o:o + {total}]]")
        else:
            import numpy

            dtype = self.name("T")
            self.scope[dtype], self.scope["_frombuffer"] = numpy.dtype(checks.DTYPES[base]), numpy.frombuffer
            self.emit(f"{target} = _frombuffer(b, {dtype}, {field.size}, o).copy()")
        self.emit(f"o += {total}")
        self.residue = (self.residue + total) % self.alignment

    def elements(self, field: Field, target: str, count: str) -> None:
        """Handle the elements of an array or a sequence of messages or strings."""
        if field.base == "string":
            if field.container == "array" or self.alignment < 4:
                self.align(4)
            last = self.name("last")
            self.scope[last], self.scope["_unpack_strings"] = [None, b"", []], _unpack_strings
            self.emit(f"{target}, o = _unpack_strings(b, o, {count}, {last})")
        else:
            reader = self.name("read")
            self.scope[reader] = element_reader(field.base)
            self.emit(f"{target} = a = []")
            self.emit(f"for _ in range({count}): e, o = {reader}(b, o); a.append(e)")
        self.forget(1)

    def function(self, typename: str, shape: Definition) -> Callable[[bytes, int], tuple[Any, int]]:
        """Return the function."""
        self.create(typename, "m")
        self.members("m", shape)
        self.flush()
        source = "def read(b, o):\n" + "\n".join([*self.head, *self.lines, "    return m, o"])
        exec(compile(source, "<generated CDR reader>", "exec"), self.scope)
        return self.scope["read"]


@cache
def element_reader(typename: str) -> Callable[[bytes, int], tuple[Any, int]]:
    """Return `read(buffer, offset) -> (message, offset)` for a message at any offset."""
    return Reader(1, 0).function(typename, definition(typename))
