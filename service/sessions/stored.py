"""The stored form of sessions: arrays written and read by msgspec. New fields are added last, with a default."""

from hashlib import blake2b
from typing import Any, Final

import msgspec
from msgspec import Struct, ValidationError
from msgspec.structs import astuple

from service import games
from service.games.core import Line, Outcome, Result
from service.sessions.entries import Entry, Status
from service.sessions.errors import UnreadableSession
from service.sessions.log_view import hidden
from service.sessions.session import ACTIVE, FORMAT, Header, Seat, Session


class _Live(Struct, frozen=True, array_like=True, tag=f"v{FORMAT}"):
    """The part of a session that changes. The state is the game's ``to_plain``."""

    revision: int
    status: Status
    state: Any
    seats: list[Seat]
    ended_ms: int
    outcome: Outcome | None
    revealed: bool


#: Encodes a header or a log entry.
encode: Final = msgspec.msgpack.Encoder().encode
_header: Final = msgspec.msgpack.Decoder(Header).decode
_live: Final = msgspec.msgpack.Decoder(_Live).decode
_entry: Final[msgspec.msgpack.Decoder[Entry]] = msgspec.msgpack.Decoder(Entry)
_plain: Final = msgspec.msgpack.Decoder().decode


def decode_header(data: bytes) -> Header:
    """Decode a header of this version or of version 0.1; raises UnreadableSession."""
    try:
        return _header(data)
    except ValidationError:
        return _header_of_format_1(_plain(data))


def encode_session(session: Session) -> bytes:
    """Encode the part of a session that changes."""
    state = session.game.to_plain(session.state)
    return encode(
        _Live(
            session.revision, session.status, state, session.seats, session.ended_ms, session.outcome, session.revealed
        )
    )


def decode_session(header: Header, data: bytes) -> Session:
    """Decode a session of this version or of version 0.1; raises UnreadableSession."""
    try:
        live = _live(data)
    except ValidationError:
        live = _live_of_format_1(header, _plain(data))
    game = games.get(header.game)
    if live.status == ACTIVE and header.version != game.version:
        # Under other rules its log could lead to an impossible position.
        raise UnreadableSession(
            f"session {header.id} was begun by version {header.version} of {game.id}; this service plays version {game.version}"
        )
    session = Session(header, game, game.from_plain(live.state))
    session.revision = live.revision
    session.status = live.status
    session.seats = live.seats
    session.ended_ms = live.ended_ms
    session.outcome = live.outcome
    session.revealed = live.revealed
    return session


def decode_entry(data: bytes) -> Entry:
    """Decode an entry of this version or of version 0.1."""
    try:
        return _entry.decode(data)
    except ValidationError:
        return _entry_of_format_1(_plain(data))


def entry_mark(header: Header, entry: Entry) -> int:
    """Return an identifier of an entry, never 0: an entry that replaces it after a loss in the store has at least another time.

    It is public, so it does not depend on secrets: otherwise trying all actions would reveal the chosen one.
    """
    content = encode((header.creation_id, hidden(entry)))
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") or 1


# ------------------------------------------------------------------------------------------------------- format 1, of 0.1
_STATUSES: Final = {1: Status.ACTIVE, 2: Status.FINISHED, 3: Status.CANCELLED}
_FAULTS: Final = ("", "TIMEOUT", "DISCONNECTED", "REFUSED_ACTIONS", "RESIGNED", "NO_SHOW", "MATCH_LIMIT")


def _header_of_format_1(plain: list[Any]) -> Header:
    if plain[0] != 1:
        raise UnreadableSession(
            f"a session stored in format {plain[0]} cannot be read by this version, which writes {FORMAT}"
        )
    return msgspec.convert([FORMAT, *plain[1:]], Header)


def _live_of_format_1(header: Header, plain: list[Any]) -> _Live:
    revision, status, state, old_seats, ended_ms, old_outcome, revealed, *rest = plain
    questions, outages = rest or ([""] * len(old_seats), None)  # the oldest sessions have neither
    seats = []
    for number, old in enumerate(old_seats):
        turn, asked_ms, bank_ms, refusals, fault, fault_order, is_seated, *answered, used_ms = old
        clock = [astuple(header.time_control), bank_ms, asked_ms, is_seated, used_ms]
        last = [*answered, questions[number], (outages or {}).get(number, "")]
        seats.append([clock, turn, refusals, _FAULTS[fault], fault_order, *last])
    outcome = None
    if old_outcome is not None:
        outcome = Outcome(_results_of_format_1(old_outcome[0]), old_outcome[2], _results_of_format_1(old_outcome[1]))
    return _Live(revision, _STATUSES[status], state, msgspec.convert(seats, list[Seat]), ended_ms, outcome, revealed)


def _results_of_format_1(plain: list[Any]) -> tuple[Result, ...]:
    return tuple(Result(name, rank, score, tuple(Line(*line) for line in lines)) for name, rank, score, lines in plain)


def _entry_of_format_1(plain: list[Any]) -> Entry:
    kind, seat, turn, text, think_ms, note, secret, at_ms, *lasting = plain
    now = {
        "act": [0, at_ms, seat, turn, text, think_ms, note, secret, *lasting],
        "house": [1, at_ms, seat, text, secret, *lasting],
        "refused": [2, at_ms, seat, turn, text, note],
        "seated": [3, at_ms, seat],
        "fault": [4, at_ms, seat, turn, text, note],
        "end": [5, at_ms, text, note],
        "reveal": [6, at_ms],
    }
    if kind not in now:
        raise UnreadableSession(f"a log entry of the kind {kind!r} cannot be read by this version")
    entry: Entry = msgspec.convert(now[kind], Entry)
    return entry
