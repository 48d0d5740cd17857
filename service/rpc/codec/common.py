"""Messages that all games and sessions share: options, clocks, seeds, outcomes, faults, sessions."""

from collections.abc import Iterable, Mapping
from typing import Final

from rubble.v1 import common_pb2, game_pb2, session_pb2
from service.games.core import AnyGame, Option, OptionValue, Outcome, Result
from service.sessions.clock import TimeControl
from service.sessions.entries import Fault, Status
from service.sessions.errors import BadRequest
from service.sessions.session import Header, Session, commitment

_FAULTS: Final = {fault: common_pb2.Fault.Value(f"FAULT_{fault or 'UNSPECIFIED'}") for fault in Fault}
_STATUS: Final = {status: session_pb2.SessionStatus.Value(f"SESSION_STATUS_{status}") for status in Status}


# --------------------------------------------------------------------------------------------------------------- options
def option_value_message(value: OptionValue) -> common_pb2.OptionValue:
    """Return the message of one option value."""
    if isinstance(value, str):
        return common_pb2.OptionValue(text=value)
    return common_pb2.OptionValue(number=value)


def options_message(values: Mapping[str, OptionValue]) -> dict[str, common_pb2.OptionValue]:
    """Return options by name, for a map field."""
    return {name: option_value_message(value) for name, value in values.items()}


def options_from(message: Mapping[str, common_pb2.OptionValue]) -> dict[str, OptionValue]:
    """Return the options of a request. The game itself checks them."""
    found: dict[str, OptionValue] = {}
    for name, value in message.items():
        match value.WhichOneof("value"):
            case "text":
                found[name] = value.text
            case "number":
                found[name] = value.number
            case _:
                raise BadRequest(f"options[{name}]", None, "a text or a number")
    return found


def option_message(option: Option) -> game_pb2.Option:
    """Return the message of one option of a game."""
    bounds = option.range
    return game_pb2.Option(
        name=option.name,
        default_value=option_value_message(option.default),
        choices=[option_value_message(choice) for choice in option.choices],
        range=None if bounds is None else game_pb2.NumberRange(low=bounds[0], high=bounds[1]),
        about=option.about,
        seats=option.seats,
    )


def summary_message(game: AnyGame) -> game_pb2.GameSummary:
    """Return the summary of a game."""
    return game_pb2.GameSummary(
        id=game.id,
        title=game.title,
        min_seats=game.seats[0],
        max_seats=game.seats[-1],
        version=game.version,
        options=[option_message(switch) for switch in game.options],
    )


# ------------------------------------------------------------------------------------------------------- clocks and seeds
def time_control_message(control: TimeControl) -> common_pb2.TimeControl:
    """Return the message of a time control."""
    return common_pb2.TimeControl(
        move_ms=control.move_ms,
        bank_ms=control.bank_ms,
        increment_ms=control.increment_ms,
        seating_ms=control.seating_ms,
    )


def clock_message(left: tuple[int, int]) -> common_pb2.Clock:
    """Return what is left for an answer: of the time per move, and of the bank."""
    return common_pb2.Clock(move_ms=left[0], bank_ms=left[1])


def seeds_message(header: Header) -> common_pb2.Seeds:
    """Return both seeds of a session. The caller must be allowed to know them."""
    return common_pb2.Seeds(table=header.table_seed, deck=header.deck_seed)


def commitments_message(header: Header) -> common_pb2.Commitments:
    """Return the commitments to a session's seeds."""
    return common_pb2.Commitments(table=commitment(header.table_seed), deck=commitment(header.deck_seed))


# -------------------------------------------------------------------------------------------------------------- outcomes
def _results(results: Iterable[Result]) -> list[common_pb2.Result]:
    return [
        common_pb2.Result(
            name=result.name,
            rank=result.rank,
            score=result.score,
            lines=[common_pb2.ScoreLine(label=line.label, points=line.points) for line in result.lines],
        )
        for result in results
    ]


def outcome_message(outcome: Outcome) -> common_pb2.Outcome:
    """Return the message of an outcome."""
    return common_pb2.Outcome(seats=_results(outcome.seats), house=_results(outcome.house), ending=outcome.ending)


def fault_value(fault: Fault) -> common_pb2.Fault.ValueType:
    """Return the contract's value of a fault."""
    return _FAULTS[fault]


# -------------------------------------------------------------------------------------------------------------- sessions
def status_value(status: Status) -> session_pb2.SessionStatus.ValueType:
    """Return the contract's value of a status."""
    return _STATUS[status]


def session_message(session: Session, now_ms: int, *, is_operator: bool) -> session_pb2.Session:
    """Return the public part of a session; its seeds are included only once they are revealed.

    ``is_operator``: the receiver is the operator, who is told the bots of a nameless session too. The message is for no one else.
    """
    header = session.header
    return session_pb2.Session(
        session=header.id,
        game=header.game,
        game_version=header.version,
        revision=session.revision,
        status=status_value(session.status),
        seats=[
            session_pb2.SeatStatus(
                bot=bot,
                seated=seat.clock.is_seated,
                fault=fault_value(seat.fault),
                refusals=seat.refusals,
                bank_ms=seat.clock.bank_ms,
                used_ms=seat.clock.used(now_ms),
                outage=seat.outage,
            )
            for bot, seat in zip(session.known_bots(is_operator=is_operator), session.seats, strict=True)
        ],
        to_act=session.open_seats(),
        options=options_message(header.options),
        time_control=time_control_message(header.time_control),
        commitments=commitments_message(header),
        outcome=None if session.outcome is None else outcome_message(session.outcome),
        seeds=seeds_message(header) if session.revealed else None,
        created_at_ms=header.created_ms,
        ended_at_ms=session.ended_ms,
    )
