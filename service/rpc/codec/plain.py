"""Any game without messages of its own: views travel as plain data, actions as their text."""

from functools import partial
from typing import Any, Final, Protocol

from google.protobuf import json_format, struct_pb2

from rubble.v1 import common_pb2
from service.games.core import Eye, Plain
from service.rpc.codec import wire
from service.rpc.codec.memo import Table

_TEXT: Final = wire.fields(common_pb2.Action)["text"]
_ACTIONS: Final = Table(partial(wire.text, _TEXT), 16384)


class Shown(Protocol):
    """The part of a game that is needed here."""

    def view(self, state: Any, eye: Eye, /) -> Plain: ...
    def text(self, action: Any, /) -> str: ...


def view(plain: Plain) -> common_pb2.View:
    """A view as plain data. Its numbers become doubles, which hold every whole number a table can show."""
    return common_pb2.View(other=json_format.ParseDict(plain, struct_pb2.Struct()))


def action(game: Shown, action: Any) -> common_pb2.Action:
    """An action as its text."""
    return common_pb2.Action(text=game.text(action))


def text_of(message: common_pb2.Action) -> str:
    """The text itself: there is no other form."""
    return message.text


def view_bytes(game: Shown, state: Any, eye: Eye, public: object = None) -> bytes:
    """The view of one eye as bytes; what eyes share cannot be told apart in plain data."""
    return view(game.view(state, eye)).SerializeToString()


def action_bytes(game: Shown, action: Any) -> bytes:
    """An action as bytes."""
    return _ACTIONS[game.text(action)]
