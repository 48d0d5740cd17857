"""How games and sessions travel: a codec for each game, and what they share.

``for_game`` finds the codec of a game. The plain builders (``view``, ``action``) are the reference; the bytes of
``view_bytes`` and ``action_bytes`` are the same messages, made from parts that were encoded before. A game without messages
of its own needs nothing here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rubble.v1 import common_pb2
from service.games import relief as relief_game
from service.games import sf1906 as sf1906_game
from service.games.core import AnyGame, Eye, Plain
from service.rpc.codec import plain, relief, relief_fast, sf1906, sf1906_fast
from service.rpc.codec.common import (
    clock_message,
    commitments_message,
    fault_of,
    fault_value,
    option_message,
    option_value_message,
    options_from,
    options_message,
    outcome_message,
    seeds_from,
    seeds_message,
    session_message,
    status_value,
    summary_message,
    time_control_from,
    time_control_message,
)
from service.rpc.codec.public import Public
from service.rpc.codec.turns import in_response, turn_event_bytes
from service.sessions.session import Session

__all__ = [
    "Codec",
    "Public",
    "clock_message",
    "commitments_message",
    "fault_of",
    "fault_value",
    "for_game",
    "in_response",
    "option_message",
    "option_value_message",
    "options_from",
    "options_message",
    "outcome_message",
    "seeds_from",
    "seeds_message",
    "session_message",
    "status_value",
    "summary_message",
    "time_control_from",
    "time_control_message",
    "turn_event",
    "turn_event_bytes",
    "view_bytes",
]


@dataclass(frozen=True)
class Codec:
    """How the views and actions of one game travel."""

    #: A view, as the game gives it, as a message.
    view: Callable[[Plain], common_pb2.View]
    #: An action as a message: its text, and the typed form where there is one.
    action: Callable[[Any], common_pb2.Action]
    #: The notation, from the typed form alone where there is one.
    text_of: Callable[[common_pb2.Action], str]
    #: What all eyes see alike of a state, to be handed to ``view_bytes`` for one eye after the other; None if there is no gain.
    public: Callable[[Any], Public | None]
    #: (state, eye, what ``public`` gave for this very state or None) -> a View.
    view_bytes: Callable[[Any, Eye, Public | None], bytes]
    #: An Action.
    action_bytes: Callable[[Any], bytes]


_SF1906: Final = Codec(
    sf1906.view,
    sf1906.action,
    sf1906.text_of,
    sf1906_fast.public,
    sf1906_fast.view_bytes,
    sf1906_fast.action_bytes,
)
_RELIEF: Final = Codec(
    relief.view,
    relief.action,
    relief.text_of,
    relief_fast.public,
    relief_fast.view_bytes,
    relief_fast.action_bytes,
)
#: The games with messages of their own.
_TYPED: Final = {
    **{game.id: _SF1906 for game in sf1906_game.GAMES},
    **{game.id: _RELIEF for game in relief_game.GAMES},
}


def for_game(game: AnyGame) -> Codec:
    """The codec of a game: its own, or the one that fits any game."""
    typed = _TYPED.get(game.id)
    if typed is not None:
        return typed
    return Codec(
        plain.view,
        partial(plain.action, game),
        plain.text_of,
        lambda _: None,
        partial(plain.view_bytes, game),
        partial(plain.action_bytes, game),
    )


def view_bytes(game: AnyGame, state: Any, eye: Eye, public: Public | None = None) -> bytes:
    """The View of one eye."""
    return for_game(game).view_bytes(state, eye, public)


def turn_event(session: Session, seat: int, now_ms: int, public: Public | None = None) -> bytes:
    """The open question of a seat as an element of PlayResponse.events, tag and length included."""
    game, state = session.game, session.state
    codec = for_game(game)
    event = turn_event_bytes(
        session.header.id,
        session.seats[seat].turn,
        session.revision,
        codec.view_bytes(state, seat, public),
        map(codec.action_bytes, game.legal_actions(state, seat)),
        session.seats[seat].clock.left(now_ms),
    )
    return in_response(event)
