"""Common base of the generators of CDR writers and readers."""

from __future__ import annotations

import struct
from typing import Any

PADDING = tuple(bytes(n) for n in range(9))
FORMATS = {
    "bool": "?", "byte": "c", "char": "B", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d",
}  # fmt: skip
SIZES = {base: struct.calcsize(code) for base, code in FORMATS.items()}
KEPT = 4096  # bytes; longer blocks of strings are not remembered


class CorruptMessage(ValueError):
    """Received bytes that are not of the expected type."""


class Generator:
    """Common to writer and reader: keeps what is known of the alignment and collects fixed-size members."""

    def __init__(self, alignment: int, residue: int) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"_P": PADDING}
        self.alignment, self.residue = alignment, residue  # offset = residue modulo alignment
        self.format, self.items = "", []
        self.serial = 0

    def name(self, stem: str) -> str:
        """Return a variable name that is not used yet."""
        self.serial += 1
        return f"{stem}{self.serial}"

    def add(self, base: str, item: str) -> None:
        """Put one primitive into the current run."""
        size = SIZES[base]
        if size > self.alignment:
            self.flush()
            self.align(size)
        pad = -(self.residue - 4) % size
        self.format += "x" * pad + FORMATS[base]
        self.residue = (self.residue + pad + size) % self.alignment
        self.items.append(item)

    def fixed_struct(self) -> struct.Struct:
        """Return the struct of the current run, and begin a new one."""
        made = struct.Struct("<" + self.format)
        self.format, self.items = "", []
        return made

    def forget(self, alignment: int) -> None:
        """After something of variable size only this much alignment (counted from behind the header) is known."""
        self.alignment, self.residue = alignment, 4 % alignment

    def flush(self) -> None:
        """Write the line that handles the current run of primitives."""
        raise NotImplementedError

    def align(self, size: int) -> None:
        """Write the lines that align the offset."""
        raise NotImplementedError
