"""The book of record on SQLite and on a real PostgreSQL: handing out, recording, slots and migrations."""

import contextlib
import json
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, event, func, select, text
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from orchestrator import book as book_package
from orchestrator.book import Book, Match, Tournament, UnknownTournament
from orchestrator.book.shares import fair_shares
from orchestrator.book.tables import (
    CANCELLED,
    DROPPED,
    PAUSED,
    PLANNED,
    PLAYING,
    QUEUED,
    RECORDED,
    RUNNING,
    VERSION,
    matches,
    metadata,
)
from orchestrator.dispatch import RESEND_MS
from orchestrator.records import Game
from orchestrator.roster import TimeControl
from orchestrator.spec import Entry, Spec
from tests.harness.books import Clock
from tests.harness.processes import PYTHON, run_command

_MANY: Final = 100_000
_BLOCK: Final = 2
_HOUR_MS: Final = 3_600_000


# ------------------------------------------------------------------------------------------------------------ contents
def _tournament(id_: str = "cup") -> Tournament:
    return Tournament(
        id_, f"the {id_}", 'name = "cup"\n', Spec(game="relief", players=2, entrants=("a", "b")), RUNNING, 0, 5
    )


def _matches(count: int, tournament: str = "cup") -> Iterator[Match]:
    for order in range(count):
        seeds = order.to_bytes(16), (order // _BLOCK).to_bytes(16)
        yield Match(f"{tournament}{order:08}", tournament, order, order // _BLOCK, (0, 1), *seeds, PLANNED, 0, 0)


def _result(match: Match, score: int = 7) -> Game:
    return match.result((1, 2), (score, 3), ("", ""), (10, 20), "over", 30)


def _plan(book: Book, count: int, tournament: str = "cup") -> list[Match]:
    book.plan(_tournament(tournament), _matches(count, tournament))
    return list(_matches(count, tournament))


def _ids(found: list[Match]) -> list[str]:
    return [match.id for match in found]


# ------------------------------------------------------------------------------------------------------------ planning
def test_a_book_of_a_newer_rubble_is_refused_and_not_changed(url: str) -> None:
    Book(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'tomorrow'"))
    with pytest.raises(SQLAlchemyError, match=r"written by a newer version of Rubble than this one .*'tomorrow'"):
        Book(url)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "tomorrow"
    engine.dispose()


def test_planning_again_changes_nothing(book: Book) -> None:
    assert book.plan(_tournament(), _matches(1201)) == 1201
    first = book.hand_out(3, 10)
    book.record_once(first[0], _result(first[0]))
    before = (book.tournament("cup"), book.progress("cup"), book.games("cup"))
    assert book.plan(replace(_tournament(), created_ms=99, name="other"), _matches(1201)) == 1201
    assert (book.tournament("cup"), book.progress("cup"), book.games("cup")) == before
    assert book.progress("cup").total == 1201


def test_a_tournament_is_found_by_id_and_by_its_only_name(book: Book) -> None:
    _plan(book, 1)
    assert book.tournament("the cup").id == "cup"
    assert [found.id for found in book.tournaments()] == ["cup"]
    with pytest.raises(UnknownTournament, match="it has the cup"):
        book.tournament("league")


def test_a_match_is_read_as_it_was_planned(book: Book) -> None:
    planned = _plan(book, 3)
    assert [book.match(match.id) for match in planned] == planned
    assert book.match("nobody") is None
    assert book.block("cup", 0) == planned[:2]


@pytest.mark.slow
def test_planning_a_hundred_thousand_matches_needs_constant_memory(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    book = Book(url)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _peak_kib()
    started = time.process_time()  # CPU time: a busy machine takes longer
    assert book.plan(_tournament(), _matches(_MANY)) == _MANY
    took = time.process_time() - started
    grown = _peak_kib() - before
    started = time.monotonic()
    leased = book.hand_out(64, 1000)
    first_lease = time.monotonic() - started
    with capsys.disabled():
        kind = url.split(":", maxsplit=1)[0]
        print(f"\n{kind}: {_MANY} planned in {took:.1f} s, +{grown >> 10} MiB; lease {first_lease * 1e3:.0f} ms")
    assert grown < 64 << 10, "planning must not keep what it has written"
    assert _ids(leased) == _ids(list(_matches(64)))
    book.close()


def _peak_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


# --------------------------------------------------------------------------------------------------------- dispatching
def test_matches_are_handed_out_in_schedule_order_and_never_beyond_the_window(book: Book) -> None:
    _plan(book, 20)
    assert _ids(book.hand_out(6, 1000)) == _ids(list(_matches(20)))[:6]
    assert book.hand_out(6, 1000) == []
    played = book.match("cup00000002")
    assert played is not None
    book.record_once(played, _result(played))
    assert _ids(book.hand_out(6, 1000)) == ["cup00000006"]
    assert book.progress("cup").queued == 6
    assert len(book.hand_out(20, 1000, most=3)) == 3
    assert book.hand_out(20, 1000, most=0) == [] == book.hand_out(20, 1000, most=-2)


def test_running_tournaments_get_equal_shares(book: Book) -> None:
    _plan(book, 20)
    assert len(book.hand_out(4, 1000)) == 4
    _plan(book, 20, "league")
    assert {match.tournament for match in book.hand_out(8, 1000)} == {"league"}, "until it has as many matches out"
    third = _ids(book.hand_out(14, 1000))
    assert [id_.rstrip("0123456789") for id_ in third] == ["cup", "league"] * 3
    assert third == ["cup00000004", "league00000004", "cup00000005", "league00000005", "cup00000006", "league00000006"]


def test_a_tournament_with_few_matches_left_leaves_its_share_to_others() -> None:
    assert fair_shares({"a": 2}, {"a": 9, "b": 3, "c": 1}, 8) == ["b", "c", "b", "a", "b", "a", "a", "a"]
    assert fair_shares({"a": 2}, {"a": 0, "b": 1}, 8) == ["b"]
    assert fair_shares({}, {"a": 3}, 0) == [] == fair_shares({}, {}, 3)


def test_a_large_window_is_handed_out_at_once(book: Book) -> None:
    _plan(book, 1201)
    assert _ids(book.hand_out(5000, 1000)) == _ids(list(_matches(1201)))
    assert book.progress("cup").queued == 1201


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_matches_cancelled_while_they_are_handed_out_stay_dropped(url: str, book: Book) -> None:
    """The cancellation comes between counting and claiming; SQLite allows no write there."""
    _plan(book, 4)
    other = Book(url)
    seen: list[str] = []

    def cancel(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "count(*)" in statement and "LIMIT" in statement and not seen:
            seen.append(statement)
            other.set_state("cup", CANCELLED)

    event.listen(book._engine, "after_cursor_execute", cancel)
    assert book.hand_out(10, 1000) == [] and seen
    assert book.progress("cup").dropped == 4
    other.close()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_match_recorded_while_its_entrant_is_removed_stays_recorded(url: str, book: Book) -> None:
    _plan(book, 4)
    out = book.hand_out(2, 60_000)
    other = Book(url)

    def record(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "SELECT matches.id, matches.seats" in statement:
            assert other.record_once(out[0], _result(out[0]))

    event.listen(book._engine, "after_cursor_execute", record)
    assert book.withdraw("cup", 1, "forfeited everything", is_removed=True)
    assert (book.progress("cup").recorded, book.progress("cup").dropped, book.games("cup")) == (1, 3, [])
    other.close()


def test_concurrent_calls_never_exceed_the_window(book: Book) -> None:
    _plan(book, 200)
    start = threading.Barrier(8)

    def ask() -> list[str]:
        start.wait()
        return [id_ for _ in range(5) for id_ in _ids(book.hand_out(30, 60_000))]

    with ThreadPoolExecutor(8) as pool:
        handed = [id_ for found in [pool.submit(ask) for _ in range(8)] for id_ in found.result()]
    assert sorted(handed) == _ids(list(_matches(30)))
    assert book.progress("cup").queued == 30


def test_a_match_is_handed_out_again_only_if_its_lease_is_not_extended(book: Book, clock: Clock) -> None:
    _plan(book, 3)
    for match in book.hand_out(2, 9000):
        assert book.begin(match, 4, 1000)
    clock.ms += 900
    book.extend_lease("cup00000000", 1000)
    clock.ms += 101
    again = book.hand_out(2, 9000)
    assert _ids(again) == ["cup00000001"]
    assert (again[0].session, again[0].slot) == ("cup00000001", 4), "the next worker continues the same session"
    assert again[0].deliveries == 2
    assert +book.take_expiries() == {"playing": 1}
    clock.ms += 900
    assert _ids(book.hand_out(2, 9000)) == ["cup00000000"]


def test_a_queued_match_whose_message_is_lost_is_published_again(book: Book, clock: Clock) -> None:
    _plan(book, 3)
    first, second = book.hand_out(2, 1000)
    clock.ms += 1001
    assert book.hand_out(2, 1000, most=0) == [], "messages are still in the queue, so it is not lost"
    assert book.begin(first, 0, 1000), "the first message is valid until then"
    (again,) = book.hand_out(2, 1000, most=1)
    assert (again.id, again.deliveries, again.queued_ms) == (second.id, 2, second.queued_ms), (
        "its waiting time counts from the first message"
    )
    assert +book.take_expiries() == {"queued": 1}
    assert book.begin(second, 0, 1000) is None, "the first message is out of date now"
    assert book.begin(again, 0, 1000)


def test_a_match_whose_message_is_lost_during_a_pause_is_planned_again(book: Book, clock: Clock) -> None:
    _plan(book, 1)
    book.hand_out(1, 1000)
    book.set_state("cup", PAUSED)
    clock.ms += 1001
    assert book.hand_out(1, 1000) == [] and book.progress("cup").planned == 1


def test_only_one_of_two_workers_with_the_same_message_begins(book: Book) -> None:
    _plan(book, 1)
    (match,) = book.hand_out(1, 1000)
    begun = book.begin(match, 4, 1000)
    assert begun is not None and (begun.state, begun.slot) == (PLAYING, 4)
    assert book.begin(match, 5, 1000) is None


def test_only_queued_matches_have_a_waiting_time_and_only_playing_ones_a_lease(book: Book, clock: Clock) -> None:
    """After every transition of a match."""
    _plan(book, 12)

    def assert_sound() -> None:
        with book._engine.begin() as connection:
            for row in connection.execute(select(matches)):
                assert (row.lease_until_ms is not None) == (row.state == PLAYING), row
                assert (row.queued_ms is not None) == (row.published_ms is not None) == (row.state == QUEUED), row
                assert row.slot is not None or row.state != PLAYING, row

    def playing() -> Match:
        (match,) = book.hand_out(100, 1000, most=1)
        begun = book.begin(match, 2, 1000)
        assert begun is not None
        return begun

    ends: list[Callable[[Match], object]] = [
        lambda match: book.record_once(match, _result(match)),
        book.give_back,
        book.void,
        lambda match: book.give_up(match, "cannot be played"),
        lambda _: book.withdraw("cup", 7, "nobody", is_removed=True),
    ]
    for end in ends:
        for match in (playing(), *book.hand_out(100, 1000, most=1)):
            assert_sound()
            end(match)
            assert_sound()
    playing()
    clock.ms += 2000
    book.hand_out(100, 1000)
    assert_sound()
    book.set_state("cup", CANCELLED)
    assert_sound()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_handing_out_never_waits_for_a_lock(url: str, book: Book) -> None:
    """A match that another transaction has locked is skipped and handed out next time."""
    _plan(book, 3)
    other = Book(url)
    with other._engine.begin() as connection:
        connection.execute(select(matches).where(matches.c.id == "cup00000000").with_for_update())
        assert _ids(book.hand_out(3, 1000)) == ["cup00000001", "cup00000002"]
    with other._engine.begin() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(1907, func.hashtext(func.current_schema()))))
        assert book.hand_out(3, 1000) == [], "another process is handing out"
    with other._engine.begin() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(1907, func.hashtext("another schema"))))
        assert _ids(book.hand_out(3, 1000)) == ["cup00000000"], "another book in the same database is"
    other.close()


def test_a_match_that_was_given_back_is_handed_out_at_once(book: Book) -> None:
    _plan(book, 1)
    (first,) = book.hand_out(1, 1000)
    book.begin(first, 4, 1000)
    book.give_back(first)
    (again,) = book.hand_out(1, 1000)
    assert (again.session, again.slot, again.deliveries) == (first.session, 4, 2)


def test_a_worker_cannot_give_back_a_match_that_another_one_has_now(book: Book, clock: Clock) -> None:
    """The worker was suspended for longer than its lease, then stops."""
    _plan(book, 1)
    (first,) = book.hand_out(1, 1000)
    clock.ms += 2000
    assert book.hand_out(1, 1000), "another worker has it"
    book.give_back(first)
    assert book.hand_out(1, 1000) == []


@pytest.fixture
def set_clock(url: str) -> Iterator[tuple[Book, Clock, Clock]]:
    """A book with a wall clock, which the test sets, and a monotonic clock."""
    wall, steady = Clock(), Clock()
    wall.ms = 1_000 * _HOUR_MS
    opened = Book(url, wall, steady)
    yield opened, wall, steady
    opened.close()


@pytest.mark.parametrize("step_ms", [2 * _HOUR_MS, -2 * _HOUR_MS])
def test_setting_the_wall_clock_expires_no_match_or_slot(set_clock: tuple[Book, Clock, Clock], step_ms: int) -> None:
    """Also after a machine was asleep, when only the wall clock advanced."""
    book, wall, steady = set_clock
    (match,) = _plan(book, 1)
    assert book.hold_slot("ann", 12_000) == 0 and book.begin(book.hand_out(1, 12_000)[0], 0, 12_000)
    wall.ms += step_ms
    assert book.hand_out(1, 12_000) == [], "its worker had no time to extend the lease"
    assert book.hold_slot("bob", 12_000, 0) == -1 and book.hold_slot("bob", 12_000) == 1
    book.extend_lease(match.id, 12_000)
    assert book.hold_slot("ann", 12_000, 0) == 0
    for clock in (wall, steady):
        clock.ms += 10_000
    assert book.hand_out(1, 12_000) == [] and book.hold_slot("bob", 12_000, 0) == -1, "they are in use"
    for clock in (wall, steady):
        clock.ms += 10_000
    assert _ids(book.hand_out(1, 12_000)) == [match.id], "their worker is dead"
    assert book.hold_slot("bob", 12_000, 0) == 0


@pytest.mark.parametrize("step_ms", [2 * _HOUR_MS, -2 * _HOUR_MS])
def test_leases_of_a_dead_worker_expire_although_the_wall_clock_was_set(
    set_clock: tuple[Book, Clock, Clock], step_ms: int
) -> None:
    book, wall, steady = set_clock
    (match,) = _plan(book, 1)
    assert book.hold_slot("ann", 12_000) == 0 and book.begin(book.hand_out(1, 12_000)[0], 0, 12_000)
    wall.ms += step_ms
    assert book.hand_out(1, 12_000) == []
    for clock in (wall, steady):
        clock.ms += 15_000
    assert _ids(book.hand_out(1, 12_000)) == [match.id], "it does not wait two hours"
    assert book.hold_slot("bob", 12_000, 0) == 0


def _now(book: Book, match: Match) -> Match:
    found = book.match(match.id)
    assert found is not None
    return found


def test_a_paused_tournament_hands_out_nothing(book: Book) -> None:
    _plan(book, 4)
    _plan(book, 4, "league")
    book.set_state("cup", PAUSED)
    assert {match.tournament for match in book.hand_out(10, 1000)} == {"league"}
    assert book.hand_out(10, 1000, "cup") == []
    book.set_state("cup", RUNNING)
    assert len(book.hand_out(10, 1000)) == 4


def test_a_cancelled_tournament_drops_all_matches_without_a_result(book: Book) -> None:
    _plan(book, 5)
    out = book.hand_out(2, 1000)
    assert book.record_once(out[0], _result(out[0]))
    book.set_state("cup", CANCELLED)
    assert not book.record_once(out[1], _result(out[1]))
    assert book.hand_out(10, 1000) == []
    progress = book.progress("cup")
    assert (progress.recorded, progress.dropped, progress.is_over) == (1, 4, True)
    assert [game.order for game in book.games("cup")] == [0]
    found = book.match(out[1].id)
    assert found is not None and found.state == DROPPED


def test_a_void_match_is_played_again_in_another_session(book: Book) -> None:
    _plan(book, 1)
    (first,) = book.hand_out(1, 1000)
    book.begin(first, 3, 1000)
    book.void(first)
    (second,) = book.hand_out(1, 1000)
    assert second.id == first.id and second.session == f"{first.id}-1" and second.slot is None
    book.void(first)  # a worker that does not know it yet
    found = book.match(first.id)
    assert found is not None and found.state == QUEUED and found.voids == 1
    assert not book.record_once(first, _result(first)), "nothing of a void session counts"
    assert book.record_once(second, _result(second))
    book.void(second)
    assert book.progress("cup").recorded == 1 and book.progress("cup").voids == 1


def test_the_matches_that_began_in_a_slot_are_listed(book: Book) -> None:
    """The worker that adopts the slot restarts their bots, even if other workers referee the matches."""
    _plan(book, 4)
    out = book.hand_out(4, 60_000)
    for match, slot in zip(out, (3, 3, 5, 3), strict=True):
        book.begin(match, slot, 1000)
    book.record_once(out[0], _result(out[0], 1))
    assert [match.id for match in book.begun_in(3)] == [out[1].id, out[3].id]
    assert book.begun_in(4) == []
    book.set_state("cup", CANCELLED)
    assert book.begun_in(3) == []


# ------------------------------------------------------------------------------------------------------------ recording
def test_a_result_is_recorded_exactly_once(book: Book) -> None:
    _plan(book, 12)
    out = book.hand_out(12, 60_000)
    start = threading.Barrier(8)

    def record(number: int) -> int:
        start.wait()
        order = random.Random(number).sample(out, len(out))
        return sum(book.record_once(match, _result(match, 100 + number)) for match in order)

    with ThreadPoolExecutor(8) as pool:
        stood = sum(found.result() for found in [pool.submit(record, number) for number in range(8)])
    assert stood == 12
    assert [game.order for game in book.games("cup")] == list(range(12))
    assert book.progress("cup").recorded == 12


def test_the_first_result_stands(book: Book) -> None:
    (match,) = _plan(book, 1)
    book.hand_out(1, 1000)
    assert book.record_once(match, _result(match, 1))
    assert not book.record_once(match, _result(match, 2))
    assert [game.scores for game in book.games("cup")] == [(1, 3)]
    assert book.endings("cup") == {"over": 1}


def test_games_are_listed_in_schedule_order_not_in_order_of_recording(book: Book) -> None:
    planned = _plan(book, 30)
    for match in random.Random(3).sample(planned, 30):
        assert book.record_once(match, _result(match, match.order))
    games = book.games("cup")
    assert [game.order for game in games] == list(range(30))
    assert [game.scores[0] for game in games] == list(range(30))
    assert [game.block for game in games] == [order // _BLOCK for order in range(30)]


def test_a_replay_with_seeds_replaces_one_without_but_not_the_reverse(book: Book) -> None:
    first, second = _plan(book, 2)
    book.keep_replay(first, "held back", has_seeds=False)
    book.keep_replay(first, "revealed", has_seeds=True)
    book.keep_replay(first, "held back again", has_seeds=False)
    book.keep_replay(second, "revealed too", has_seeds=True)
    assert dict(book.replays("cup")) == {first.id: "revealed", second.id: "revealed too"}


def test_only_the_replay_of_the_session_that_counts_is_kept(book: Book) -> None:
    """A session that is void or was cancelled leaves no replay."""
    _plan(book, 3)
    first, second, third = book.hand_out(3, 1000)
    book.void(first)
    assert not book.record_once(first, _result(first), "of the void session")
    (again,) = book.hand_out(3, 1000)
    assert book.record_once(again, _result(again), "of the session that counts")
    assert book.record_once(second, _result(second), "of the first result")
    assert not book.record_once(second, _result(second), "too late")
    book.set_state("cup", CANCELLED)
    assert not book.record_once(third, _result(third), "too late as well")
    assert dict(book.replays("cup")) == {first.id: "of the session that counts", second.id: "of the first result"}


def test_blocks_are_examined_in_schedule_order(book: Book) -> None:
    planned = _plan(book, 8)
    assert book.blocks_in_turn("cup") == (0, set())
    out = book.hand_out(8, 60_000)
    assert book.give_up(out[2], "cannot be played")
    for match in planned[:2] + planned[3:5]:
        book.record_once(match, _result(match))
    assert book.blocks_in_turn("cup") == (2, {1})
    for match in planned[5:]:
        book.record_once(match, _result(match))
    assert book.blocks_in_turn("cup") == (math.inf, {1})
    assert book.match_ids("cup") == {match.order: match.id for match in planned}


def test_blocks_without_seeds_are_those_that_ended_and_are_not_archived(book: Book) -> None:
    planned = _plan(book, 8)
    for match in planned[:7]:
        book.keep_replay(match, "held back", has_seeds=False)
        book.record_once(match, _result(match))
    for match in planned[:2]:
        book.keep_replay(match, "revealed", has_seeds=True)
    assert book.open_blocks("cup", 2) == 0 and book.open_blocks("cup", 3) == 1
    assert book.blocks_without_seeds("cup") == [1, 2]


# --------------------------------------------------------------------------------------------------------------- slots
def test_a_slot_is_held_until_it_expires_or_is_released(book: Book, clock: Clock) -> None:
    assert book.hold_slot("a", 1000) == 0
    assert book.hold_slot("b", 1000) == 1
    assert book.hold_slot("a", 1000) == 0, "an owner keeps its slot"
    assert book.hold_slot("b", 1000, 0) == -1, "it is held"
    clock.ms += 900
    assert book.hold_slot("b", 1000, 1) == 1
    clock.ms += 101
    assert book.hold_slot("b", 1000, 0) == 0, "its owner has died"
    assert book.hold_slot("a", 1000, 0) == -1, "the old owner comes too late"
    assert book.hold_slot("a", 1000) == 2
    book.release_slots("b")
    assert book.hold_slot("c", 1000) == 0


def test_a_slot_never_has_two_owners(url: str) -> None:
    books = [Book(url) for _ in range(6)]  # like separate processes
    start = threading.Barrier(6)

    def hold(number: int) -> int:
        start.wait()
        return books[number].hold_slot(f"owner {number}", 60_000)

    with ThreadPoolExecutor(6) as pool:
        held = [found.result() for found in [pool.submit(hold, number) for number in range(6)]]
    assert sorted(held) == list(range(6))
    for number, slot in enumerate(held):
        assert books[0].hold_slot(f"owner {number}", 60_000, slot) == slot
    for opened in books:
        opened.close()


# ----------------------------------------------------------------------------------------------------------- migrations
def test_the_migrations_create_exactly_the_tables_of_the_code(url: str) -> None:
    Book(url).close()  # from an empty database
    opened = Book(url)  # and again, up to date
    _plan(opened, 2)
    opened.close()
    again = Book(url)
    assert again.progress("cup").planned == 2
    again.close()
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == VERSION
    engine.dispose()


#: A spec as 0.1.0 wrote it.
_OLD_SPEC: Final = json.dumps(
    {
        "game": "relief",
        "game_version": 1,
        "options": {},
        "players": 2,
        "format": "compare",
        "seed": 3,
        "reproducible": False,
        "duplicate": "full",
        "time_control": {"move_ms": 10000, "bank_ms": 120000, "increment_ms": 0, "seating_ms": 30000},
        "match_seconds": 3600,
        "limits": {"memory_mb": 512, "processes": 256, "files": 1024, "disk_mb": 512, "readable": []},
        "entrants": ["a", "b"],
        "bot_of": ["a", "b"],
        "bots": [
            {
                "name": name,
                "command": ["python3", "bot.py"],
                "bundled": "",
                "remote": name == "b",
                "env": {"LEVEL": "3"},
                "cwd": "/srv",
                "isolated": False,
                "seed": "5eed",
            }
            for name in ("a", "b")
        ],
        "question": {"alpha": 0.05, "beta": 0.05, "t0": 0.0, "t1": 0.2, "most_blocks": 60},
    },
    sort_keys=True,
)


def test_the_spec_of_the_previous_release_is_read_completely() -> None:
    spec = Spec.from_json(_OLD_SPEC)
    assert (spec.format, spec.duplicate, spec.seed, spec.reproducible) == ("compare", "full", 3, False)
    assert spec.time_control == TimeControl(10_000, 120_000, 0, 30_000) and spec.match_seconds == 3600
    assert spec.bot_limits == {
        "memory_mb": 512, "processes": 256, "files": 1024, "disk_mb": 512, "readable": (),
    }  # fmt: skip
    assert spec.bots[0] == Entry("a", ("python3", "bot.py"), env={"LEVEL": "3"}, cwd="/srv", seed="5eed")
    assert spec.bots[1].remote and spec.question is not None and spec.question.most_blocks == 60
    assert Spec.from_json(spec.to_json()) == spec
    with pytest.raises(msgspec.ValidationError, match="players"):
        Spec.from_json('{"game": "relief", "players": "two", "entrants": []}')


def test_an_old_spec_with_missing_fields_gets_defaults() -> None:
    spec = Spec.from_json('{"game": "relief", "players": 2, "entrants": ["a", "b"], "seed": 7}')
    assert spec.bot_names == ("a", "b") and spec.bots == () and spec.question is None
    tournament = replace(_tournament(), spec=spec)
    assert tournament.is_reproducible and not tournament.has_shared_cards, (
        "in that version the seed alone decided the cards"
    )


def test_a_book_of_the_previous_release_can_be_continued(url: str, clock: Clock) -> None:
    """A book as 0.1.0 wrote it: one match in each of its states, and one whose worker had died."""
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", str(Path(book_package.__file__).parent / "migrations"))
    was_out = clock.ms + 10_000
    #: state, lease_until_ms, deliveries, slot, handed_ms
    old = {
        "ready": ("ready", 0, 0, -1, 0),
        "given back": ("ready", was_out, 1, 3, 0),
        "queued": ("leased", clock.ms + 29_000, 1, -1, clock.ms - 5),
        "lost": ("leased", clock.ms - 1, 2, -1, clock.ms - 60_000),
        "playing": ("leased", was_out, 1, 3, clock.ms - 70_000),
        "dead": ("leased", clock.ms - 1, 1, 4, clock.ms - 70_000),
        "played": ("played", was_out, 1, 3, clock.ms - 70_000),
        "dropped": ("dropped", was_out, 1, 3, clock.ms - 70_000),
    }
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0003")
        connection.execute(
            text("INSERT INTO tournaments VALUES ('cup', 'cup', '', :spec, 'running', 8, 1, '', 0)"),
            {"spec": _OLD_SPEC},
        )
        for order, (id_, (state, lease, deliveries, slot, handed)) in enumerate(old.items()):
            values = (
                f"'{id_}', 'cup', {order}, {order}, '[0, 1]', 'aa', 'bb', '{state}', {lease}, {deliveries}, 0, {slot}"
            )
            connection.execute(text(f"INSERT INTO matches VALUES ({values}, {handed}, '')"))
        payload = (
            '{"seats":[0,1],"ranks":[1,2],"scores":[3,4],"faults":["",""],"think_ms":[5,6],"ending":"x","decisions":8}'
        )
        connection.execute(
            text(f"INSERT INTO results VALUES ('played', 'cup', 6, 6, '{payload}', 9, 0)".replace(":", r"\:"))
        )
        connection.execute(text("INSERT INTO replays VALUES ('played', 'cup', 'x', 1)"))
    engine.dispose()
    book = Book(url, clock)
    with pytest.raises(IntegrityError), book._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE matches SET state = 'played'")  # as a worker of the previous release does
    states = {match.id: (match.state, match.slot) for match, _ in book.matches("cup")}
    assert states == {
        "ready": (PLANNED, None), "given back": (PLANNED, 3), "queued": (QUEUED, None), "lost": (QUEUED, None),
        "playing": (PLAYING, 3), "dead": (PLAYING, 4), "played": (RECORDED, 3), "dropped": (DROPPED, 3),
    }  # fmt: skip
    arena_counts = book.arena_counts()
    assert arena_counts.queue_age_ms == 60_000 and arena_counts.matches[PLAYING] == 2
    out = book.hand_out(100, RESEND_MS)
    assert {match.id: match.deliveries for match in out} == {"lost": 3, "dead": 2, "ready": 1, "given back": 2}
    for match in [*out, *(found for found in [book.match("queued"), book.match("playing")] if found)]:
        assert book.record_once(match, _result(match))
    assert book.progress("cup").is_over and len(book.games("cup")) == 7 and book.archived("cup") == ["played"]
    book.close()


def test_several_processes_can_open_a_new_book_at_once(url: str) -> None:
    start = threading.Barrier(5)

    def open_book() -> Callable[[], None]:
        start.wait()
        return Book(url).close

    with ThreadPoolExecutor(5) as pool, contextlib.ExitStack() as opened:
        for found in [pool.submit(open_book) for _ in range(5)]:
            opened.callback(found.result())


def test_only_the_owner_can_read_a_book_in_a_file(tmp_path: Path) -> None:
    """It has seeds that are not revealed yet, and so have the extra files of SQLite."""
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    book.plan(_tournament(), [])
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    book.close()
    assert set(modes.values()) == {0o600}, modes


def test_what_is_committed_stays_whoever_else_opens_and_closes_the_book(tmp_path: Path) -> None:
    """A process may open a book twice. Its locks must outlast that, or the last other process removes what is written next."""
    url = f"sqlite:///{tmp_path / 'book.sqlite'}"

    def asked_elsewhere(name: str) -> str:
        told = run_command(PYTHON, "-c", _ASK, url, name)
        assert told.returncode == 0, told.stderr
        return told.stdout.strip()

    with contextlib.closing(Book(url)) as first:
        first.shared_secret("before")
        with contextlib.closing(Book(url)):
            asked_elsewhere("before")
            written = first.shared_secret("after")
        assert asked_elsewhere("after") == written
    assert asked_elsewhere("after") == written


_ASK: Final = """
import sys
from orchestrator.book import Book

book = Book(sys.argv[1])
print(book.shared_secret(sys.argv[2]))
book.close()
"""
