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

from .cdr_reader import Reader
from .cdr_source import PADDING
from .cdr_source import CorruptMessage as CorruptMessage
from .cdr_writer import Writer
from .definitions import definition

HEADER = b"\x00\x01\x00\x00"
ENCODING = HEADER[:2]


@cache
def serializer(typename: str) -> Callable[[Any, bytes], bytes]:
    """Return `pack(message, header) -> bytes`; the header is 4 bytes, or 20 with a service's client id and number."""
    write = Writer(8, 4).function(definition(typename))

    def pack(message: Any, header: bytes = HEADER) -> bytes:
        parts = [header]
        try:
            end = write(message, parts, len(header))
        except (AttributeError, TypeError, ValueError, OverflowError, struct.error) as error:
            raise TypeError(f"a {typename} holds a value that its type does not allow: {error}") from error
        if end & 3:
            parts.append(PADDING[-end & 3])
        return b"".join(parts)

    return pack


@cache
def deserializer(typename: str) -> Callable[[bytes, int], Any]:
    """Return `unpack(buffer, start) -> message`; start is 4, or 20 behind a service header.

    `unpack` raises CorruptMessage, and nothing else, for bytes that are no message of the type.
    """
    read = Reader(8, 4).function(typename, definition(typename))

    def unpack(buffer: bytes, start: int = 4) -> Any:
        if buffer[:2] != ENCODING:
            given = f"begins with {buffer[:2].hex()}" if buffer else "is empty"
            raise CorruptMessage(f"the data of a {typename} {given}; only 0001 (CDR, little endian) can be read")
        try:
            message, end = read(buffer, start)
        except (struct.error, ValueError, IndexError) as error:
            raise CorruptMessage(f"the bytes of a {typename} do not fit its type: {error}") from error
        if end > len(buffer):
            raise CorruptMessage(f"the data of a {typename} has {len(buffer)} bytes; its members need {end}")
        return message

    return unpack
