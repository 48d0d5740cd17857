"""The codec of a game: encodes views and actions as messages of the contract.

A game names its messages (``game.messages``), and its views and typed actions have their structure, so one encoder serves all
games. The views and actions of a game without messages are sent as plain data and text.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from rubble.v1 import common_pb2
from service.games.core import AnyGame, Plain, Viewer
from service.rpc.codec import plain, protobuf_wire
from service.rpc.codec.bytes_cache import BytesCache
from service.rpc.codec.encoder import encoder

_VIEW: Final = common_pb2.View.DESCRIPTOR
_ACTION: Final = common_pb2.Action.DESCRIPTOR
_ACTIONS: Final = 4096  # entries in a cache of actions; a game has about a thousand


class Codec(NamedTuple):
    """Encodes the views and actions of one game."""

    #: Encodes a view of the game as a View.
    view_bytes: Callable[[Plain], bytes]
    #: Encodes an action as an Action.
    action_bytes: Callable[[Any], bytes]


def for_game(game: AnyGame) -> Codec:
    """Return the codec of a game."""
    return _codec(game.messages, game.text, game.typed)


@cache
def _codec(messages: str, text: Callable[[Any], str], typed: Callable[[Any], Plain] | None) -> Codec:
    write_action = encoder(_ACTION)
    if typed is None:
        texts: BytesCache[str] = BytesCache(lambda text: write_action({"text": text}), _ACTIONS)
        return Codec(plain.view_bytes, lambda action: texts[text(action)])
    actions: BytesCache[Any] = BytesCache(
        lambda action: write_action({"text": text(action), messages: typed(action)}), _ACTIONS
    )
    field = _VIEW.fields_by_name[messages]
    assert field.message_type is not None
    payload, frame = encoder(field.message_type), protobuf_wire.frame(field.number)

    def view_bytes(view: Plain) -> bytes:
        written = payload(view)
        return frame[len(written)] + written

    return Codec(view_bytes, actions.__getitem__)


def view_bytes(game: AnyGame, state: Any, viewer: Viewer) -> bytes:
    """Return the View of one viewer."""
    return for_game(game).view_bytes(game.view(state, viewer))


def view_message(game: AnyGame, state: Any, viewer: Viewer) -> common_pb2.View:
    """Return the View of one viewer as a message, to be put into another one."""
    return common_pb2.View.FromString(view_bytes(game, state, viewer))


def action_message(game: AnyGame, action: Any) -> common_pb2.Action:
    """Return an action as a message: its text, and its typed form if there is one."""
    return common_pb2.Action.FromString(for_game(game).action_bytes(action))
