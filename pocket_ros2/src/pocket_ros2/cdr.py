"""XCDR1 little-endian bytes of messages, by code generated per type (the cheapest way to pack in pure Python).

The generated writer appends parts to a list, the reader walks the buffer. Offsets count from the buffer's start,
4 bytes of encapsulation header included; alignment counts from behind that header. Runs of fixed-size members become
one `struct` call whose padding is known when the code is made; only what follows a string or a sequence is aligned
at run time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from . import checks
from .definitions import Definition, Field, definition
from .messages import message_class

HEADER = b"\x00\x01\x00\x00"
_PADDING = tuple(bytes(n) for n in range(9))
_FORMATS = {
    "bool": "?", "byte": "c", "char": "B", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
_SIZES = {base: struct.calcsize(code) for base, code in _FORMATS.items()}
_STRINGS_KEPT = 256


class CorruptMessage(ValueError):
    """Bytes from the wire that are not of the expected type."""


def _pack_strings(values: Any, cache: dict) -> bytes:
    """Return the elements of a string sequence that starts 4-aligned; the last one's padding is left out."""
    key = tuple(values)
    try:
        return cache[key]
    except KeyError:
        pass
    out = bytearray()
    for value in key:
        out += _PADDING[-len(out) & 3]
        raw = value.encode()
        out += struct.pack("<I", len(raw) + 1) + raw + b"\0"
    blob = bytes(out)
    if len(blob) <= 4096:
        if len(cache) >= _STRINGS_KEPT:
            cache.clear()
        cache[key] = blob
    return blob


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
    if count and offset - start <= 4096:
        last[:] = count, raw[start:offset], values.copy()
    return values, offset


class _Generator:
    """Common to writer and reader: keeps what is known of the alignment and collects fixed-size members."""

    def __init__(self, alignment: int, residue: int) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"_P": _PADDING}
        self.alignment, self.residue = alignment, residue  # offset = residue modulo alignment
        self.format, self.items = "", []
        self.serial = 0

    def name(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    def add(self, base: str, item: str) -> None:
        """Put one primitive into the current run."""
        size = _SIZES[base]
        if size > self.alignment:
            self.flush()
            self.align(size)
        pad = -(self.residue - 4) % size
        self.format += "x" * pad + _FORMATS[base]
        self.residue = (self.residue + pad + size) % self.alignment
        self.items.append(item)

    def fixed_struct(self) -> struct.Struct:
        made = struct.Struct("<" + self.format)
        self.format, self.items = "", []
        return made

    def forget(self, alignment: int) -> None:
        """After something of variable size only this much alignment (counted from behind the header) is known."""
        self.alignment, self.residue = alignment, 4 % alignment

    def flush(self) -> None:
        raise NotImplementedError

    def align(self, size: int) -> None:
        raise NotImplementedError


class _Writer(_Generator):
    """Generates `write(m, p, o) -> o`: append the parts of message m to list p, o being the offset so far."""

    pending_nul = False

    def emit(self, line: str) -> None:
        self.lines.append("    " + line)

    def flush(self) -> None:
        if not self.format:
            return
        self.close_string()
        arguments = ", ".join(self.items)
        made = self.fixed_struct()
        name = self.name("S")
        self.scope[name] = made.pack
        self.emit(f"p.append({name}({arguments})); o += {made.size}")

    def close_string(self) -> None:
        if self.pending_nul:
            self.emit("p.append(_P[1])")
            self.pending_nul = False

    def add(self, base: str, item: str) -> None:
        if self.pending_nul and _SIZES[base] == 1:
            self.close_string()
        super().add(base, item)

    def align(self, size: int) -> None:
        if self.pending_nul:
            self.emit(f"k = (4 - o) & {size - 1}; p.append(_P[k + 1]); o += k")
            self.pending_nul = False
        elif size > 1:
            self.emit(f"k = (4 - o) & {size - 1}")
            self.emit("if k: p.append(_P[k]); o += k")
        self.forget(size)

    def string(self, source: str) -> None:
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
        for field in shape.fields:
            if field.name == "structure_needs_at_least_one_member":
                self.add("uint8", "0")
            else:
                self.member(field, f"{source}._{field.name}")

    def member(self, field: Field, source: str) -> None:
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
        size = _SIZES[base]
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
        self.members("m", shape)
        self.flush()
        self.close_string()
        source = "def write(m, p, o):\n" + "\n".join([*self.lines, "    return o"])
        exec(compile(source, "<generated CDR writer>", "exec"), self.scope)
        return self.scope["write"]


class _Reader(_Generator):
    """Generates `read(b, o) -> (message, o)`."""

    def __init__(self, alignment: int, residue: int) -> None:
        super().__init__(alignment, residue)
        self.head: list[str] = []
        self.scope["_new"], self.scope["_str"] = object.__new__, str

    def emit(self, line: str) -> None:
        self.lines.append("    " + line)

    def flush(self) -> None:
        if not self.format:
            return
        targets = ", ".join(self.items) + ","
        made = self.fixed_struct()
        name = self.name("U")
        self.scope[name] = made.unpack_from
        self.emit(f"{targets} = {name}(b, o); o += {made.size}")

    def align(self, size: int) -> None:
        if size > 1:
            self.emit(f"o += (4 - o) & {size - 1}")
        self.forget(size)

    def create(self, typename: str, target: str) -> None:
        cls = self.name("C")
        self.scope[cls] = message_class(typename)
        self.head.append(f"    {target} = _new({cls})")

    def members(self, target: str, shape: Definition) -> None:
        for field in shape.fields:
            if field.name == "structure_needs_at_least_one_member":
                self.add("uint8", "_")
            else:
                self.member(field, f"{target}._{field.name}")

    def member(self, field: Field, target: str) -> None:
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
        base, count = field.base, str(field.size)
        if field.container == "sequence":
            count = "n"
            self.add("uint32", "n")
        self.flush()
        if field.is_message or base == "string":
            self.elements(field, target, count)
            return
        size = _SIZES[base]
        if field.container == "array":
            self.array(field, target, size)
            return
        lines = []
        if size > 4 or self.alignment < 4:
            lines.append(f"    o += (4 - o) & {size - 1}")
        if base == "byte":
            lines.append(f"    {target} = [b[i:i + 1] for i in range(o, o + n)]")
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
        self.create(typename, "m")
        self.members("m", shape)
        self.flush()
        source = "def read(b, o):\n" + "\n".join([*self.head, *self.lines, "    return m, o"])
        exec(compile(source, "<generated CDR reader>", "exec"), self.scope)
        return self.scope["read"]


@cache
def element_writer(typename: str) -> Callable[[Any, list, int], int]:
    """Return `write(message, parts, offset) -> offset` for a message at any offset."""
    return _Writer(1, 0).function(definition(typename))


@cache
def element_reader(typename: str) -> Callable[[bytes, int], tuple[Any, int]]:
    """Return `read(buffer, offset) -> (message, offset)` for a message at any offset."""
    return _Reader(1, 0).function(typename, definition(typename))


@cache
def serializer(typename: str) -> Callable[[Any, bytes], bytes]:
    """Return `pack(message, header) -> bytes`; the header is 4 bytes, or 20 with a service's client id and number."""
    write = _Writer(8, 4).function(definition(typename))

    def pack(message: Any, header: bytes = HEADER) -> bytes:
        parts = [header]
        try:
            end = write(message, parts, len(header))
        except (AttributeError, TypeError, ValueError, OverflowError, struct.error) as error:
            raise TypeError(f"a {typename} holds a value that its type does not allow: {error}") from error
        if end & 3:
            parts.append(_PADDING[-end & 3])
        return b"".join(parts)

    return pack


@cache
def deserializer(typename: str) -> Callable[[bytes, int], Any]:
    """Return `unpack(buffer, start) -> message`; start is 4, or 20 behind a service header."""
    read = _Reader(8, 4).function(typename, definition(typename))

    def unpack(buffer: bytes, start: int = 4) -> Any:
        if buffer[1] != 1:
            raise CorruptMessage(
                f"a {typename} came as {buffer[:2].hex()}; only 0001 (CDR, little endian) is read"
            )
        try:
            return read(buffer, start)[0]
        except (struct.error, ValueError, IndexError) as error:
            raise CorruptMessage(f"the bytes of a {typename} do not fit its type: {error}") from error

    return unpack
