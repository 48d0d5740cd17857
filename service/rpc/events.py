"""The events of a bot stream, as bytes: each is one element of PlayResponse.events, with tag and length.

Any number of them, joined, is a PlayResponse. Turns are by far the most frequent and come from the codec's caches.
"""

from typing import Final

from rubble.v1 import bot_pb2
from service.rpc.codec import (
    commitments_message,
    fault_value,
    options_message,
    outcome_message,
    seeds_message,
    time_control_message,
    turn_event,
)
from service.rpc.errors import ErrorStatus
from service.sessions.session import ACTIVE, Session

_LONGEST_NAME: Final = 64


def _event(event: bot_pb2.PlayEvent) -> bytes:
    return bot_pb2.PlayResponse(events=[event]).SerializeToString()


def welcome(bot: str, now_ms: int) -> bytes:
    """The key is valid."""
    return _event(bot_pb2.PlayEvent(welcome=bot_pb2.Welcome(bot=bot, server_time_ms=now_ms)))


def draining(reason: str) -> bytes:
    """This copy is about to stop."""
    return _event(bot_pb2.PlayEvent(draining=bot_pb2.Draining(reason=reason)))


def taken_over() -> bytes:
    """The bot has a newer stream; nothing follows in this one."""
    return _event(bot_pb2.PlayEvent(taken_over=bot_pb2.TakenOver()))


def game_start(session: Session, seat: int) -> bytes:
    """The bot has a seat."""
    header = session.header
    start = bot_pb2.GameStart(
        session=header.id,
        game=header.game,
        seat=seat,
        seats=header.seats,
        time_control=time_control_message(header.time_control),
        commitments=commitments_message(header),
        options=options_message(header.options),
    )
    return _event(bot_pb2.PlayEvent(game_start=start))


def turn(session: Session, seat: int, now_ms: int) -> bytes:
    """A question, with everything the bot needs to answer it."""
    return turn_event(session, seat, now_ms)


def refused(session_id: str, turn: int, status: ErrorStatus, *, is_open: bool) -> bytes:
    """A choice was not accepted."""
    # Shortened, because the bot may have sent a very long id.
    event = bot_pb2.Refused(
        session=session_id[:_LONGEST_NAME], turn=turn, reason=status.reason, message=status.message, open=is_open
    )
    return _event(bot_pb2.PlayEvent(refused=event))


def game_over(session: Session, seat: int) -> bytes:
    """The game has ended for this bot."""
    event = bot_pb2.GameOver(session=session.header.id, fault=fault_value(session.seats[seat].fault))
    if session.status != ACTIVE and session.outcome is not None:
        event.outcome.CopyFrom(outcome_message(session.outcome))
    if session.revealed:
        event.seeds.CopyFrom(seeds_message(session.header))
    return _event(bot_pb2.PlayEvent(game_over=event))
