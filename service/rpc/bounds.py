"""How long and how many the fields of a request may be, checked on its bytes before they are parsed.

Parsing makes an object of every element: a message of 1 MiB with 500,000 empty elements takes a hundred times its size. So the
bytes are walked first, and the first field that is too long or too frequent ends the walk.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from service.sessions.errors import BadRequest

#: Fields of one request in total, those of nested messages included: what the walk may cost.
MOST_FIELDS: Final = 32_768
#: Bytes of a string or of bytes, where nothing else is said: names, ids, keys, tokens.
_LONGEST: Final = 1024
_LONGEST_OF: Final = {
    "note": 4 * 1024,  # 1000 characters, told exactly by the session
    "reason": 16 * 1024,
    "sdk": 16 * 1024,
    "world": 1 << 20,
    "roster": 16 << 20,  # the tournament service bounds it itself
}
#: Elements of a repeated field, where nothing else is said.
_MOST: Final = 64
_MOST_OF: Final = {"choices": 1024, "simulations": 256, "actions": 1000}
_SHOWN: Final = 40

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    #: Bytes it may have. Of a message: no limit of its own.
    longest: int
    #: How often it may come; 0: it is not repeated, and only the total counts.
    most: int
    nested: "Shape | None"


class Shape:
    """The bounds of one type of message."""

    def __init__(self) -> None:
        self._fields: dict[int, _Field] = {}

    @classmethod
    @cache
    def of(cls, message: Descriptor) -> Self:
        """The bounds of a message, by the names of its fields. No request contains itself."""
        shape = cls()
        for field in message.fields:
            nested = None if field.message_type is None else cls.of(field.message_type)
            is_text = nested is None and field.cpp_type == FieldDescriptor.CPPTYPE_STRING
            most = _MOST_OF.get(field.name, _MOST) if field.is_repeated else 0
            longest = _LONGEST_OF.get(field.name, _LONGEST) if is_text else 10 * most  # packed numbers
            shape._fields[field.number] = _Field(field.name, 0 if nested else longest, most, nested)
        return shape

    def check(self, data: bytes) -> None:
        """BadRequest if a field is too long, comes too often, or the message has too many; IndexError if it is torn."""
        self._walk(data, 0, len(data), MOST_FIELDS)

    def _walk(self, data: bytes, at: int, end: int, left: int) -> int:
        """Walk one message; how many fields may still come."""
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
                raise IndexError  # groups: proto3 has none
        if at > end:
            raise IndexError
        return left


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and what comes after it; IndexError where the bytes end."""
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
