"""Encodes views and actions by the descriptor of their message, without code for any one game.

A value has the structure of its message: a named tuple with the same fields in the same order. A sub-message is such a value too,
a repeated field a tuple, an enum its word (``core.enum_word``), and None an absent field. Typed actions, of which there are few,
may be dicts that omit fields.

Each message is compiled once into one table per field, so that encoding takes one lookup per field. Sub-messages are cached by
value: one that has not changed, in any session, is not encoded again.
"""

from collections.abc import Callable, Mapping
from functools import partial
from operator import getitem, index
from typing import Any, Final, Protocol

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from service.games.core import Plain, enum_word
from service.rpc.codec import protobuf_wire
from service.rpc.codec.bytes_cache import BytesCache, CountedCache

_CAP: Final = 4096  # entries in a cache of values
_ELEMENTS: Final = 16384  # entries in a cache of small messages
_LONG: Final = 16  # elements of a list


class _Field(Protocol):
    """Maps a value of one field to its bytes, with tag and length; to no bytes if it is not written."""

    def __getitem__(self, value: Any, /) -> bytes: ...


class Encoder:
    """Encodes values that have the structure of one message."""

    def __init__(self, message: Descriptor) -> None:
        self._message = message
        self._names = tuple(field.name for field in message.fields)
        self._absent = {field.name: _absent(field) for field in message.fields}
        self._fields: tuple[_Field, ...] = tuple(_field(field) for field in message.fields)
        self._fitting: type | None = None  # the named tuple class that was checked last

    def __call__(self, value: Plain) -> bytes:
        """Return the message without tag and length."""
        if type(value) is not self._fitting:
            value = self._checked(value)
        return b"".join(map(getitem, self._fields, value))

    def _checked(self, value: Plain) -> Plain:
        """Return the value of each field in order; raises TypeError if the structure is not the message's."""
        if isinstance(value, Mapping):
            if not value.keys() <= self._absent.keys():
                self._refuse(tuple(value))
            return tuple({**self._absent, **value}.values())
        if not isinstance(value, tuple) or getattr(value, "_fields", None) != self._names:
            self._refuse(getattr(value, "_fields", value))
        self._fitting = type(value)
        return value

    def _refuse(self, shape: object) -> None:
        raise TypeError(f"{self._message.full_name} cannot be made from {shape!r}; expected the fields {self._names}")


_ENCODERS: Final[dict[str, Encoder]] = {}


def encoder(message: Descriptor) -> Encoder:
    """Return the encoder of a message; there is one per message."""
    found = _ENCODERS.get(message.full_name)
    if found is None:
        found = _ENCODERS[message.full_name] = Encoder(message)
    return found


# ----------------------------------------------------------------------------------------------------------------- fields
class _Each:
    """A repeated sub-message, cached element by element."""

    def __init__(self, elements: CountedCache[Any]) -> None:
        self._elements = elements
        self._one = elements.__getitem__

    def __getitem__(self, values: tuple[Plain, ...], /) -> bytes:
        self._elements.lookups += len(values)
        return b"".join(map(self._one, values))


class _Whole:
    """A sub-message, cached as a whole."""

    def __init__(self, known: CountedCache[Any]) -> None:
        self._known = known

    def __getitem__(self, value: Plain, /) -> bytes:
        if value is None:
            return b""
        if isinstance(value, dict):  # not hashable
            return self._known.make(value)
        self._known.lookups += 1
        return self._known[value]


class _List:
    """A list of small messages, cached as a whole.

    Games share long lists between views, and hashing one takes longer than everything else: so the same list is recognised by its
    identity. The cache also holds the lists, so that no other value can get the same identity.
    """

    def __init__(self, known: CountedCache[Any]) -> None:
        self._known = known
        self._same: dict[int, tuple[tuple[Plain, ...], bytes]] = {}

    def __getitem__(self, values: tuple[Plain, ...], /) -> bytes:
        self._known.lookups += 1
        if len(values) < _LONG:
            return self._known[values]
        found = self._same.get(id(values))
        if found is not None:
            return found[1]
        written = self._known[values]
        if len(self._same) >= _CAP:
            self._same.clear()
        self._same[id(values)] = (values, written)
        return written


def _absent(field: FieldDescriptor) -> Plain:
    """Return the value of a field that a dict omits."""
    if field.is_repeated:
        return ()
    if field.has_presence:
        return None
    return field.default_value if field.enum_type is None else ""


def _field(field: FieldDescriptor) -> _Field:
    if field.message_type is not None:
        return _sub_message(field, field.message_type)
    number = field.number
    if field.type == FieldDescriptor.TYPE_STRING:
        text = partial(_text, field)
        if field.is_repeated:
            return BytesCache(
                lambda values: b"".join([protobuf_wire.item(number, text(value)) for value in values]), _CAP
            )
        if field.has_presence:
            return BytesCache(_present(lambda value: protobuf_wire.item(number, text(value))), _CAP)
        return BytesCache(lambda value: protobuf_wire.text(number, text(value)), _CAP)
    unsigned = _unsigned(field)
    if field.is_repeated:
        return BytesCache(lambda values: protobuf_wire.packed(number, map(unsigned, values)), _CAP)
    if field.has_presence:
        return BytesCache(_present(lambda value: protobuf_wire.present(number, unsigned(value))), _CAP)
    return BytesCache(lambda value: protobuf_wire.uint(number, unsigned(value)), _CAP)


def _sub_message(field: FieldDescriptor, message: Descriptor) -> _Field:
    """Cache lists of nested messages per element, since these change one at a time; other lists are small and rarely change."""
    name = ".".join(field.full_name.split(".")[-2:])
    payload, frame = encoder(message), protobuf_wire.frame(field.number)

    def make(value: Plain) -> bytes:
        written = payload(value)
        return frame[len(written)] + written

    if not field.is_repeated:
        return _Whole(CountedCache(name, make, _CAP))
    if any(part.message_type is not None for part in message.fields):
        return _Each(CountedCache(name, make, _CAP))
    elements = BytesCache(make, _ELEMENTS)
    return _List(CountedCache(name, lambda values: b"".join([elements[value] for value in values]), _CAP))


def _present(write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Encode a field whenever it is present, even with its default value."""
    return lambda value: b"" if value is None else write(value)


def _text(field: FieldDescriptor, value: Plain) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{field.full_name}: {value!r} is not a text")
    return value


def _unsigned(field: FieldDescriptor) -> Callable[[Any], int]:
    """Return how a value is converted to the unsigned number that is written."""
    if field.enum_type is not None:
        return partial(_enum_number, field.full_name, _numbers_by_word(field.enum_type))
    match field.type:
        case FieldDescriptor.TYPE_SINT32 | FieldDescriptor.TYPE_SINT64:
            return protobuf_wire.zigzag
        case FieldDescriptor.TYPE_UINT32 | FieldDescriptor.TYPE_UINT64 | FieldDescriptor.TYPE_BOOL:
            return index
    raise TypeError(
        f"{field.full_name}: views are written with string, bool, enum, uint and sint fields; use one of these"
    )


def _numbers_by_word(enum: EnumDescriptor) -> dict[str, int]:
    unspecified = enum.values_by_number[0].name
    return {enum_word(value.name, unspecified): value.number for value in enum.values}


def _enum_number(field: str, numbers: dict[str, int], word: str) -> int:
    if word not in numbers:
        raise ValueError(f"{field}: {word!r} is not a value of its enum; expected one of {sorted(numbers)}")
    return numbers[word]
