"""The rules of protobuf's wire format that are needed to write messages as bytes and join them.

A field is a tag, then a varint or a length with that many bytes. A number, flag or text with its default value is omitted, as in
any protobuf library; values that are *present* although they may be empty (list elements, sub-messages, optional fields) are
written by ``item``, ``sub`` and ``present``.

``numbers`` and ``frame`` are ``uint`` and ``sub`` for the hot path, with one lookup instead of several calls.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, Protocol

from google.protobuf.descriptor import Descriptor

from service.rpc.codec.bytes_cache import BytesCache

_VARINT: Final = 0
_LENGTH: Final = 2
_LARGEST: Final = (1 << 64) - 1
_CAP: Final = 4096  # entries in the caches of numbers and lengths


class _Message(Protocol):
    DESCRIPTOR: Descriptor


def fields(message: type[_Message]) -> Mapping[str, int]:
    """Return the field numbers of a message by name, so that none is copied from a .proto by hand."""
    return {field.name: field.number for field in message.DESCRIPTOR.fields}


def varint(number: int) -> bytes:
    """Encode a number in groups of seven bits, the lowest first. Raises ValueError if it is negative."""
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"{number} does not fit into an unsigned field")
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def present(field: int, number: int) -> bytes:
    """Encode a number, flag or enum even if it is 0: for an optional field, or a member of a oneof."""
    return varint(field << 3 | _VARINT) + varint(number)


def uint(field: int, number: int) -> bytes:
    """Encode a number, flag or enum; 0 is omitted."""
    return present(field, number) if number else b""


def zigzag(number: int) -> int:
    """Return the unsigned form of a number in a sint field: 0, -1, 1, -2 … become 0, 1, 2, 3 …"""
    return number * 2 if number >= 0 else -number * 2 - 1


def sub(field: int, payload: bytes) -> bytes:
    """Encode a sub-message, or any bytes that are present although they may be empty."""
    return _head(field, len(payload)) + payload


def _head(field: int, length: int) -> bytes:
    return varint(field << 3 | _LENGTH) + varint(length)


def item(field: int, text: str) -> bytes:
    """Encode a text even if it is empty: for a list element, or a member of a oneof."""
    return sub(field, text.encode())


def text(field: int, text: str) -> bytes:
    """Encode a text; an empty one is omitted."""
    return item(field, text) if text else b""


def packed(field: int, numbers: Iterable[int]) -> bytes:
    """Encode a list of numbers, packed as in proto3; an empty one is omitted."""
    payload = b"".join([varint(number) for number in numbers])
    return sub(field, payload) if payload else b""


def numbers(field: int) -> BytesCache[int]:
    """``uint`` of this field as a cache: use ``[number]``."""
    return BytesCache(partial(uint, field), _CAP)


def frame(field: int) -> BytesCache[int]:
    """Tag and length of a sub-message of this field: use ``[length]``, then append the payload."""
    return BytesCache(partial(_head, field), _CAP)
