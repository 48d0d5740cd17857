"""The few rules of protobuf's wire format that are needed to write messages as bytes and join them.

A field is a tag, then a varint or a length with that many bytes. A number, a flag or a text that has its default value is
left out, as any protobuf library does; what is *present* although it may be empty (an element of a list, a sub-message, an
optional field) is written by ``item``, ``sub`` and ``present``.

``numbers`` and ``frame`` are ``uint`` and ``sub`` for the hot path: a lookup instead of a few calls.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, Protocol

from google.protobuf.descriptor import Descriptor

from service.rpc.codec.bytes_cache import BytesCache

_VARINT: Final = 0
_LENGTH: Final = 2
_LARGEST: Final = (1 << 64) - 1
_CAP: Final = 4096  # of the tables of numbers and lengths


class _Message(Protocol):
    DESCRIPTOR: Descriptor


def fields(message: type[_Message]) -> Mapping[str, int]:
    """The field numbers of a message by name, so that none is ever copied out of a .proto by hand."""
    return {field.name: field.number for field in message.DESCRIPTOR.fields}


def varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first. Negative ones have no place in an unsigned field."""
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"{number} does not fit into an unsigned field")
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def present(field: int, number: int) -> bytes:
    """A number, a flag or an enum that is written even if it is 0: an optional field, or a choice of a oneof."""
    return varint(field << 3 | _VARINT) + varint(number)


def uint(field: int, number: int) -> bytes:
    """A number, a flag or an enum; 0 is left out."""
    return present(field, number) if number else b""


def zigzag(number: int) -> int:
    """What a number of a sint field is written as: 0, -1, 1, -2 … travel as 0, 1, 2, 3 …"""
    return number * 2 if number >= 0 else -number * 2 - 1


def sub(field: int, payload: bytes) -> bytes:
    """A sub-message, or any bytes that are present although they may be empty."""
    return _head(field, len(payload)) + payload


def _head(field: int, length: int) -> bytes:
    return varint(field << 3 | _LENGTH) + varint(length)


def item(field: int, text: str) -> bytes:
    """A text that is written even if it is empty: an element of a list, or a choice of a oneof."""
    return sub(field, text.encode())


def text(field: int, text: str) -> bytes:
    """A text; an empty one is left out."""
    return item(field, text) if text else b""


def packed(field: int, numbers: Iterable[int]) -> bytes:
    """A list of numbers, packed as proto3 does; an empty one is left out."""
    payload = b"".join([varint(number) for number in numbers])
    return sub(field, payload) if payload else b""


def numbers(field: int) -> BytesCache[int]:
    """``uint`` of this field as a table: ask ``[number]``."""
    return BytesCache(partial(uint, field), _CAP)


def frame(field: int) -> BytesCache[int]:
    """What stands before a sub-message of this field: ask ``[length]``, and put the payload behind it."""
    return BytesCache(partial(_head, field), _CAP)
