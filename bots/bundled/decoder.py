"""Decodes a view's message, by descriptor, into the value that ``game.sample`` and ``game.picture`` read.

A message becomes a named tuple with its fields, a repeated field a tuple, an enum its word, an absent field None; plain data
becomes dicts and lists. ``service/rpc/codec/encoder.py`` is the inverse.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct, Value

from rubble.v1 import common_pb2
from service.games.core import Plain, enum_word


def view_of(message: common_pb2.View) -> Plain:
    """Returns the view in this message."""
    return decoded(getattr(message, message.WhichOneof("game") or "other"))


def decoded(message: Message) -> Plain:
    """Returns the value in a game's own message, or in plain data."""
    if isinstance(message, Struct):
        return {name: _plain(value) for name, value in message.fields.items()}
    return _decoder(message.DESCRIPTOR)(message)


@cache
def _decoder(descriptor: Descriptor) -> Callable[[Any], Plain]:
    shape: Any = namedtuple(descriptor.name, [field.name for field in descriptor.fields])  # type: ignore[misc]
    fields = [_field(field) for field in descriptor.fields]
    return lambda message: shape(*[read(message) for read in fields])


def _field(field: FieldDescriptor) -> Callable[[Any], Plain]:
    name, one = field.name, _value(field)
    if field.is_repeated:
        return lambda message: tuple(map(one, getattr(message, name)))
    if field.has_presence:
        return lambda message: one(getattr(message, name)) if message.HasField(name) else None
    return lambda message: one(getattr(message, name))


def _value(field: FieldDescriptor) -> Callable[[Any], Plain]:
    if field.message_type is not None:
        return _decoder(field.message_type)
    if field.enum_type is not None:
        unspecified = field.enum_type.values_by_number[0].name
        words = {value.number: enum_word(value.name, unspecified) for value in field.enum_type.values}
        return words.__getitem__
    return lambda value: value


def _plain(value: Value) -> Plain:
    """Returns one value of a Struct. Its numbers are doubles; those of a view are whole."""
    match value.WhichOneof("kind"):
        case "number_value":
            return int(value.number_value)
        case "list_value":
            return _list(value.list_value.values)
        case "struct_value":
            return decoded(value.struct_value)
        case "string_value" | "bool_value" as kind:
            return getattr(value, kind)
        case _:
            return None


def _list(values: Iterable[Value]) -> list[Plain]:
    return [_plain(value) for value in values]
