"""Limits for the length and number of the fields of a request, checked on its bytes before they are parsed.

Parsing makes an object per element: a message of 1 MiB with 500,000 empty elements takes a hundred times its size. So the bytes
are scanned first, and the scan stops at the first field that is too long or too frequent.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from service.sessions.errors import BadRequest

#: Fields of one request in total, including nested messages; limits the cost of the scan.
MOST_FIELDS: Final = 32_768
#: Default limit for the bytes of a string or bytes field: names, ids, keys, tokens.
_LONGEST: Final = 1024
_LONGEST_OF: Final = {
    "note": 4 * 1024,  # 1000 characters; the session checks that exactly
    "reason": 16 * 1024,
    "sdk": 16 * 1024,
    "world": 1 << 20,
    "words": 16 * 1024,
    "roster": 16 << 20,  # the API has its own limits for rosters and ladder files
    "file": 16 << 20,
    "jsonl": 4 << 20,
}
#: Default limit for the elements of a repeated field.
_MOST: Final = 64
_MOST_OF: Final = {"choices": 1024, "simulations": 256, "actions": 1000}
_SHOWN: Final = 40

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    #: Maximum bytes; a message has no limit of its own.
    longest: int
    #: Maximum occurrences; 0: not repeated, only the total counts.
    most: int
    nested: "Shape | None"


class Shape:
    """The limits of one message type."""

    def __init__(self) -> None:
        self._fields: dict[int, _Field] = {}

    @classmethod
    @cache
    def of(cls, message: Descriptor) -> Self:
        """Return the limits of a message, by the names of its fields. No request contains itself."""
        shape = cls()
        for field in message.fields:
            nested = None if field.message_type is None else cls.of(field.message_type)
            is_text = nested is None and field.cpp_type == FieldDescriptor.CPPTYPE_STRING
            most = _MOST_OF.get(field.name, _MOST) if field.is_repeated else 0
            longest = _LONGEST_OF.get(field.name, _LONGEST) if is_text else 10 * most  # packed numbers
            shape._fields[field.number] = _Field(field.name, 0 if nested else longest, most, nested)
        return shape

    def check(self, data: bytes) -> None:
        """Raise BadRequest if a field is too long or there are too many, and IndexError if the message is truncated."""
        self._walk(data, 0, len(data), MOST_FIELDS)

    def _walk(self, data: bytes, at: int, end: int, left: int) -> int:
        """Scan one message; return how many fields may still follow."""
        seen: dict[int, int] = {}
        fields = self._fields
        while at < end:
            left -= 1
            if left < 0:
                raise BadRequest("message", f"more than {MOST_FIELDS} fields", f"at most {MOST_FIELDS} in one message")
            tag, at = _varint(data, at)
            field = fields.get(tag >> 3)
            if field is not None and field.most:
                count = seen[tag >> 3] = seen.get(tag >> 3, 0) + 1
                if count > field.most:
                    raise BadRequest(field.name, f"more than {field.most} of them", f"at most {field.most}")
            wire = tag & 7
            if wire == _BYTES:
                size, at = _varint(data, at)
                if at + size > end:
                    raise IndexError
                if field is not None:
                    if field.nested is not None:
                        left = field.nested._walk(data, at, at + size, left)
                    elif size > field.longest:
                        begin = data[at : at + _SHOWN].decode("utf-8", "replace")
                        raise BadRequest(
                            field.name, f"{begin}… ({size} bytes)", f"at most {field.longest} bytes of {field.name}"
                        )
                at += size
            elif wire == _VARINT:
                _, at = _varint(data, at)
            elif wire == _FIXED64:
                at += 8
            elif wire == _FIXED32:
                at += 4
            else:
                raise IndexError  # groups, which proto3 does not have
        if at > end:
            raise IndexError
        return left


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the position after it; raises IndexError at the end of the bytes."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
        if shift > 63:
            raise IndexError
