"""Sessions as they are stored: lists that msgpack writes. New fields stand last, so that what older versions stored is read too."""

from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

from service import games
from service.games.core import Line, Outcome, Result
from service.sessions.clock import Clock, TimeControl
from service.sessions.errors import UnreadableSession
from service.sessions.session import ACTIVE, Entry, Header, Seat, Session

#: Raised when stored sessions change their shape.
FORMAT: Final = 1


def outcome_to_plain(outcome: Outcome | None) -> Any:
    """An outcome as lists."""
    if outcome is None:
        return None

    def results(given: tuple[Result, ...]) -> list[Any]:
        return [[r.name, r.rank, r.score, [[line.label, line.points] for line in r.lines]] for r in given]

    return [results(outcome.seats), results(outcome.house), outcome.ending]


def outcome_from_plain(plain: Any) -> Outcome | None:
    """The outcome that ``outcome_to_plain`` wrote."""
    if plain is None:
        return None

    def results(given: list[Any]) -> tuple[Result, ...]:
        return tuple(Result(r[0], r[1], r[2], tuple(Line(line[0], line[1]) for line in r[3])) for r in given)

    return Outcome(results(plain[0]), plain[2], results(plain[1]))


def header_to_plain(header: Header) -> Any:
    """A header as lists."""
    control = header.time_control
    return [
        FORMAT,
        header.id,
        header.game,
        header.version,
        header.options,
        header.table_seed,
        header.deck_seed,
        [control.move_ms, control.bank_ms, control.increment_ms, control.seating_ms],
        list(header.bots),
        header.hold_seeds,
        header.created_ms,
        header.sealed,
        header.birth,
    ]


def header_from_plain(plain: Any) -> Header:
    """The header that ``header_to_plain`` wrote."""
    if plain[0] != FORMAT:
        raise UnreadableSession(
            f"a session stored in format {plain[0]} cannot be read by this version, which writes {FORMAT}"
        )
    return Header(
        plain[1],
        plain[2],
        plain[3],
        plain[4],
        plain[5],
        plain[6],
        TimeControl(*plain[7]),
        tuple(plain[8]),
        *plain[9:],  # one stored by an older version ends sooner, so new fields stand last
    )


def live_to_plain(session: Session) -> Any:
    """What changes in a session, as lists."""
    return [
        session.revision,
        session.status,
        session.game.to_plain(session.state),
        [
            [
                seat.turn,
                seat.clock.asked_ms,
                seat.clock.bank_ms,
                seat.refusals,
                seat.fault,
                seat.fault_order,
                seat.clock.is_seated,
                seat.answered_turn,
                seat.answered_text,
                seat.answered_index,
                seat.answered_revision,
                seat.clock.used_ms,
            ]
            for seat in session.seats
        ],
        session.ended_ms,
        outcome_to_plain(session.outcome),
        session.revealed,
        [seat.question if seat.is_asked else "" for seat in session.seats],
        {number: seat.outage for number, seat in enumerate(session.seats) if seat.outage} or None,
    ]


def session_from_plain(header: Header, plain: Any) -> Session:
    """The session that a header and ``live_to_plain`` describe."""
    game = games.get(header.game)
    if plain[1] == ACTIVE and header.version != game.version:
        # Played on by other rules, its log would lead to no position at all.
        raise UnreadableSession(
            f"session {header.id} was begun by version {header.version} of {game.id}; this service plays version {game.version}"
        )
    session = Session(header, game, game.from_plain(plain[2]))
    session.revision = plain[0]
    session.status = plain[1]
    session.seats = [_seat_from_plain(header.time_control, fields) for fields in plain[3]]
    session.ended_ms = plain[4]
    session.outcome = outcome_from_plain(plain[5])
    session.revealed = plain[6]
    if len(plain) > 7:  # sessions written by older versions have neither marks nor outages
        for record, question in zip(session.seats, plain[7], strict=True):
            record.question = question
        for seat, outage in (plain[8] or {}).items():
            session.seats[seat].outage = outage
    return session


def _seat_from_plain(control: TimeControl, plain: list[Any]) -> Seat:
    turn, asked_ms, bank_ms, refusals, fault, fault_order, is_seated, *answered, used_ms = plain
    clock = Clock(control, bank_ms, asked_ms, is_seated, used_ms)
    return Seat(clock, turn, refusals, fault, fault_order, *answered)


def entry_to_plain(entry: Entry) -> list[Any]:
    """A log entry as a list."""
    plain = [entry.kind, entry.seat, entry.turn, entry.text, entry.think_ms, entry.note, entry.secret, entry.at_ms]
    return [*plain, True] if entry.lasting else plain  # as older versions wrote it, where they could


def entry_from_plain(plain: list[Any]) -> Entry:
    """The entry that ``entry_to_plain`` wrote."""
    return Entry(*plain)


def entry_mark(header: Header, entry: Entry) -> int:
    """The identity of an entry, never 0: whatever takes its place after a loss in the store has another time, at least.

    It is public, so it does not depend on what the game keeps secret: trying all actions would find the one that was said.
    """
    if entry.lasting:
        entry = replace(entry, text="", note="")
    said = repr((header.birth, entry_to_plain(entry)))
    return int.from_bytes(blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1
