"""Encodes games and sessions: a codec for each game, and what they share.

``for_game`` finds the codec of a game. One encoder writes all views and actions, from the descriptors of the contract and from
cached parts; a new game needs no code here.
"""

from service.rpc.codec.common import (
    clock_message,
    commitments_message,
    fault_value,
    option_message,
    option_value_message,
    options_from,
    options_message,
    outcome_message,
    seeds_message,
    session_message,
    status_value,
    summary_message,
    time_control_message,
)
from service.rpc.codec.games import Codec, action_message, for_game, view_bytes, view_message
from service.rpc.codec.turns import in_response, turn_event_bytes
from service.sessions.session import Session

__all__ = [
    "Codec",
    "action_message",
    "clock_message",
    "commitments_message",
    "fault_value",
    "for_game",
    "in_response",
    "option_message",
    "option_value_message",
    "options_from",
    "options_message",
    "outcome_message",
    "seeds_message",
    "session_message",
    "status_value",
    "summary_message",
    "time_control_message",
    "turn_event",
    "turn_event_bytes",
    "view_bytes",
    "view_message",
]


def turn_event(session: Session, seat: int, now_ms: int) -> bytes:
    """Return the open question of a seat as an element of PlayResponse.events, with tag and length."""
    game, state = session.game, session.state
    codec = for_game(game)
    event = turn_event_bytes(
        session.header.id,
        session.seats[seat].turn,
        session.revision,
        codec.view_bytes(game.view(state, seat)),
        map(codec.action_bytes, game.legal_actions(state, seat)),
        session.seats[seat].clock.left(now_ms),
    )
    return in_response(event)
