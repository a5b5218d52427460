"""Makes functions that write messages as CDR."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from .cdr_source import KEPT, PADDING, SIZES, Generator
from .definitions import Definition, Field, definition

_STRINGS_KEPT = 256


def _pack_strings(values: Any, cache: dict) -> bytes:
    """Return the elements of a string sequence that starts 4-aligned; the last one's padding is left out."""
    key = tuple(values)
    try:
        return cache[key]
    except KeyError:
        pass
    out = bytearray()
    for value in key:
        out += PADDING[-len(out) & 3]
        raw = value.encode()
        out += struct.pack("<I", len(raw) + 1) + raw + b"\0"
    blob = bytes(out)
    if len(blob) <= KEPT:
        if len(cache) >= _STRINGS_KEPT:
            cache.clear()
        cache[key] = blob
    return blob


class Writer(Generator):
    """Generates `write(m, p, o) -> o`: append the parts of message m to list p, o being the offset so far."""

    pending_nul = False

    def emit(self, line: str) -> None:
        """Write one line of the function."""
        self.lines.append("    " + line)

    def flush(self) -> None:
        """Write the line that handles the current run of primitives."""
        if not self.format:
            return
        self.close_string()
        arguments = ", ".join(self.items)
        made = self.fixed_struct()
        name = self.name("S")
        self.scope[name] = made.pack
        self.emit(f"p.append({name}({arguments})); o += {made.size}")

    def close_string(self) -> None:
        """Write the NUL of a string that nothing follows which would be aligned."""
        if self.pending_nul:
            self.emit("p.append(_P[1])")
            self.pending_nul = False

    def add(self, base: str, item: str) -> None:
        """Put one primitive into the current run."""
        if self.pending_nul and SIZES[base] == 1:
            self.close_string()
        super().add(base, item)

    def align(self, size: int) -> None:
        """Write the lines that align the offset."""
        if self.pending_nul:
            self.emit(f"k = (4 - o) & {size - 1}; p.append(_P[k + 1]); o += k")
            self.pending_nul = False
        elif size > 1:
            self.emit(f"k = (4 - o) & {size - 1}")
            self.emit("if k: p.append(_P[k]); o += k")
        self.forget(size)

    def string(self, source: str) -> None:
        """Handle a string."""
        s = self.name("s")
        self.emit(f"{s} = {source}.encode()")
        self.add("uint32", f"len({s}) + 1")
        self.flush()
        self.emit(f"p.append({s}); o += len({s}) + 1")
        self.pending_nul = True
        self.forget(1)

    def variable(self, source: str) -> None:
        """Append a bytes expression of any length."""
        self.flush()
        self.close_string()
        b = self.name("b")
        self.emit(f"{b} = {source}; p.append({b}); o += len({b})")

    def members(self, source: str, shape: Definition) -> None:
        """Generate the code that writes all members of a message."""
        for field in shape.fields:
            if field.name == "structure_needs_at_least_one_member":
                self.add("uint8", "0")
            else:
                self.member(field, f"{source}._{field.name}")

    def member(self, field: Field, source: str) -> None:
        """Handle one member."""
        if field.container:
            self.container(field, source)
        elif field.is_message:
            inner = self.name("m")
            self.emit(f"{inner} = {source}")
            self.members(inner, definition(field.base))
        elif field.base == "string":
            self.string(source)
        else:
            self.add(field.base, source)

    def container(self, field: Field, source: str) -> None:
        """Handle an array or a sequence."""
        base = field.base
        a = self.name("a")
        self.emit(f"{a} = {source}")
        if field.container == "sequence":
            self.add("uint32", f"len({a})")
        self.flush()
        if field.is_message or base == "string":
            self.close_string()
            self.elements(field, a)
            return
        size = SIZES[base]
        raw = {"byte": f"b''.join({a})", "bool": f"bytes({a})"}.get(base, f"{a}.tobytes()")
        if field.container == "array":
            if size > self.alignment:
                self.align(size)
            else:
                pad = -(self.residue - 4) % size
                if pad:
                    self.emit(f"p.append(_P[{pad}]); o += {pad}")
                    self.residue = (self.residue + pad) % self.alignment
            self.variable(raw)
            self.residue = (self.residue + size * field.size) % self.alignment
            return
        self.emit(f"if {a}:" if base in ("byte", "bool") else f"if len({a}):")
        if size > 4 or self.alignment < 4:
            self.emit(f"    k = (4 - o) & {size - 1}")
            self.emit("    if k: p.append(_P[k]); o += k")
        b = self.name("b")
        self.emit(f"    {b} = {raw}; p.append({b}); o += len({b})")
        # An empty sequence leaves the offset 4-aligned, another one aligned to its elements.
        self.forget(min(size, 4))

    def elements(self, field: Field, a: str) -> None:
        """Handle the elements of an array or a sequence of messages or strings."""
        if field.base == "string":
            if field.container == "array" or self.alignment < 4:
                self.align(4)
            cache = self.name("cache")
            self.scope[cache], self.scope["_pack_strings"] = {}, _pack_strings
            self.emit(f"if {a}:")
            self.emit(f"    b = _pack_strings({a}, {cache}); p.append(b); o += len(b)")
        else:
            writer = self.name("write")
            self.scope[writer] = element_writer(field.base)
            self.emit(f"for e in {a}: o = {writer}(e, p, o)")
        self.forget(1)

    def function(self, shape: Definition) -> Callable[[Any, list, int], int]:
        """Return the function."""
        self.members("m", shape)
        self.flush()
        self.close_string()
        source = "def write(m, p, o):\n" + "\n".join([*self.lines, "    return o"])
        exec(compile(source, "<generated CDR writer>", "exec"), self.scope)
        return self.scope["write"]


@cache
def element_writer(typename: str) -> Callable[[Any, list, int], int]:
    """Return `write(message, parts, offset) -> offset` for a message at any offset."""
    return Writer(1, 0).function(definition(typename))
