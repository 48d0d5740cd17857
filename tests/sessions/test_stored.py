"""The stored form of sessions: this version reads what it writes, and what version 0.1 wrote."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from service.games.core import Outcome
from service.sessions.entries import (
    Acted,
    AnswerRefused,
    AutomatonActed,
    Ended,
    Entry,
    Forfeited,
    Revealed,
    Seated,
    Status,
)
from service.sessions.errors import UnreadableSession
from service.sessions.replay import write_replay
from service.sessions.replay_verify import verify_replay
from service.sessions.session import Seat, Session
from service.sessions.stored import decode_entry, decode_header, decode_session, encode, encode_session, entry_mark
from tests.sessions.scripted_sessions import ScriptedSession, header_of

#: What version 0.1 had in Redis for three sessions, as hex, with their replays and seats.
OLD: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "stored_format_1.json").read_text(encoding="utf-8"))


def _opened(name: str) -> tuple[Session, list[Entry]]:
    stored = OLD[name]
    session = decode_session(decode_header(bytes.fromhex(stored["header"])), bytes.fromhex(stored["live"]))
    return session, [decode_entry(bytes.fromhex(entry)) for entry in stored["entries"]]


def _facts(seat: Seat) -> dict[str, Any]:
    facts = {name: getattr(seat, name) for name in seat.__struct_fields__ if name != "clock"}
    return facts | {name: getattr(seat.clock, name) for name in ("bank_ms", "asked_ms", "is_seated", "used_ms")}


@pytest.mark.parametrize("name", OLD)
def test_a_session_that_version_0_1_stored_is_opened_and_has_the_same_replay(name: str) -> None:
    session, entries = _opened(name)

    assert write_replay(session, entries) == OLD[name]["replay"]
    assert [_facts(seat) for seat in session.seats] == OLD[name]["seats"]


def test_the_old_sessions_have_every_kind_of_entry() -> None:
    kinds = {type(entry) for name in OLD for entry in _opened(name)[1]}

    assert kinds == {Acted, AutomatonActed, AnswerRefused, Seated, Forfeited, Ended, Revealed}


def test_a_session_that_version_0_1_stored_is_continued_and_stored_again() -> None:
    table = ScriptedSession()
    table.session, table.entries = _opened("running")
    table.now = table.entries[-1].at_ms
    assert table.session.header.creation_id == "b1"
    assert any(seat.outage for seat in table.session.seats)
    header = decode_header(encode(table.session.header))
    while not table.is_over:
        table.answer()
        table.session = decode_session(header, encode_session(table.session))
    verification = verify_replay(write_replay(table.session, table.entries))

    assert (verification.ok, verification.is_replayed) == (True, True), verification.reason


@pytest.mark.parametrize("name", OLD)
def test_an_entry_has_the_same_mark_whichever_version_stored_it(name: str) -> None:
    session, entries = _opened(name)

    for entry in entries:
        assert entry_mark(session.header, decode_entry(encode(entry))) == entry_mark(session.header, entry)


def test_the_first_sessions_of_version_0_1_have_neither_marks_nor_outages() -> None:
    header = decode_header(bytes.fromhex(OLD["finished"]["header"]))
    live = msgspec.msgpack.decode(bytes.fromhex(OLD["finished"]["live"]))
    session = decode_session(header, msgspec.msgpack.encode(live[:7]))

    assert (session.status, session.revealed) == (Status.FINISHED, True)
    assert isinstance(session.outcome, Outcome)
    assert [(seat.question, seat.outage) for seat in session.seats] == [("", "")]


def test_a_move_is_stored_in_few_bytes() -> None:
    """The log is most of what a session takes in Redis: it must not contain field names."""
    entry = Acted(1_700_000_000_000, 1, 2, "bury 3", 4, "note", True, True)

    assert msgspec.msgpack.decode(encode(entry)) == [0, 1_700_000_000_000, 1, 2, "bury 3", 4, "note", True, True]


def test_an_entry_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UnreadableSession, match="'sing'"):
        decode_entry(msgspec.msgpack.encode(["sing", 0, 0, "", 0, "", False, 0]))


def test_a_header_stored_by_a_later_version_is_refused() -> None:
    plain = msgspec.msgpack.decode(encode(header_of()))

    with pytest.raises(UnreadableSession, match="format 3"):
        decode_header(msgspec.msgpack.encode([3, *plain[1:]]))
