"""The book of record, on SQLite and on a real PostgreSQL: what is handed out, what counts, and what is kept."""

import contextlib
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import SQLAlchemyError

from orchestrator.book import Book, Match, Recorded, Tournament, UnknownTournament
from orchestrator.book.shares import fair_shares
from orchestrator.book.tables import CANCELLED, DROPPED, LEASED, PAUSED, READY, RUNNING, metadata

_MANY: Final = 100_000
_BLOCK: Final = 2


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new, empty book."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'book.sqlite'}"
    address: str = request.getfixturevalue("postgres_book")
    return address


_HOUR_MS: Final = 3_600_000


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(url: str, clock: Clock) -> Iterator[Book]:
    opened = Book(url, clock)
    yield opened
    opened.close()


# ------------------------------------------------------------------------------------------------------------ contents
def _tournament(id_: str = "cup") -> Tournament:
    return Tournament(id_, f"the {id_}", 'name = "cup"\n', {"game": "relief", "players": 2}, RUNNING, 0, 5)


def _matches(count: int, tournament: str = "cup") -> Iterator[Match]:
    for order in range(count):
        seeds = order.to_bytes(16), (order // _BLOCK).to_bytes(16)
        yield Match(f"{tournament}{order:08}", tournament, order, order // _BLOCK, (0, 1), *seeds, READY, 0, 0, -1)


def _result(score: int = 7) -> Recorded:
    return Recorded((1, 2), (score, 3), ("", ""), (10, 20), "over", 30)


def _plan(book: Book, count: int, tournament: str = "cup") -> list[Match]:
    book.plan(_tournament(tournament), _matches(count, tournament))
    return list(_matches(count, tournament))


def _ids(found: list[Match]) -> list[str]:
    return [match.id for match in found]


# ------------------------------------------------------------------------------------------------------------ planning
def test_a_book_of_a_newer_rubble_is_refused_and_left_as_it_is(url: str) -> None:
    Book(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'tomorrow'"))
    with pytest.raises(SQLAlchemyError, match=r"written by another Rubble, newer than this one .*'tomorrow'"):
        Book(url)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "tomorrow"
    engine.dispose()


def test_planning_again_changes_nothing(book: Book) -> None:
    assert book.plan(_tournament(), _matches(1201)) == 1201
    first = book.lease(3, 10)
    book.record_once(first[0], _result())
    before = (book.tournament("cup"), book.progress("cup"), book.games("cup"))
    assert book.plan(replace(_tournament(), created_ms=99, name="other"), _matches(1201)) == 1201
    assert (book.tournament("cup"), book.progress("cup"), book.games("cup")) == before
    assert book.progress("cup").planned == 1201


def test_a_tournament_is_found_by_id_and_by_its_only_name(book: Book) -> None:
    _plan(book, 1)
    assert book.tournament("the cup").id == "cup"
    assert [found.id for found in book.tournaments()] == ["cup"]
    with pytest.raises(UnknownTournament, match="it has cup"):
        book.tournament("league")


def test_a_match_comes_back_as_it_was_planned(book: Book) -> None:
    planned = _plan(book, 3)
    assert [book.match(match.id) for match in planned] == planned
    assert book.match("nobody") is None
    assert book.block("cup", 0) == planned[:2]


@pytest.mark.slow
def test_a_hundred_thousand_matches_are_planned_in_flat_memory(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    book = Book(url)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before = _peak_kib()
    started = time.process_time()  # of ours: a busy machine takes longer
    assert book.plan(_tournament(), _matches(_MANY)) == _MANY
    took = time.process_time() - started
    grown = _peak_kib() - before
    started = time.monotonic()
    leased = book.lease(64, 1000)
    first_lease = time.monotonic() - started
    with capsys.disabled():
        kind = url.split(":", maxsplit=1)[0]
        print(f"\n{kind}: {_MANY} planned in {took:.1f} s, +{grown >> 10} MiB; lease {first_lease * 1e3:.0f} ms")
    assert grown < 64 << 10, "planning should not keep what it has written"
    assert _ids(leased) == _ids(list(_matches(64)))
    book.close()


def _peak_kib() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


# --------------------------------------------------------------------------------------------------------- dispatching
def test_the_window_is_never_exceeded_and_matches_come_in_schedule_order(book: Book) -> None:
    _plan(book, 20)
    assert _ids(book.lease(6, 1000)) == _ids(list(_matches(20)))[:6]
    assert book.lease(6, 1000) == []
    played = book.match("cup00000002")
    assert played is not None
    book.record_once(played, _result())
    assert _ids(book.lease(6, 1000)) == ["cup00000006"]
    assert book.progress("cup").leased == 6
    assert len(book.lease(20, 1000, most=3)) == 3
    assert book.lease(20, 1000, most=0) == [] == book.lease(20, 1000, most=-2)


def test_tournaments_that_run_at_the_same_time_have_equal_shares(book: Book) -> None:
    _plan(book, 20)
    assert len(book.lease(4, 1000)) == 4
    _plan(book, 20, "league")
    assert {match.tournament for match in book.lease(8, 1000)} == {"league"}, "until it has as many out"
    third = _ids(book.lease(14, 1000))
    assert [id_.rstrip("0123456789") for id_ in third] == ["cup", "league"] * 3
    assert third == ["cup00000004", "league00000004", "cup00000005", "league00000005", "cup00000006", "league00000006"]


def test_whoever_has_little_left_leaves_its_share_to_the_others() -> None:
    assert fair_shares({"a": 2}, {"a": 9, "b": 3, "c": 1}, 8) == ["b", "c", "b", "a", "b", "a", "a", "a"]
    assert fair_shares({"a": 2}, {"a": 0, "b": 1}, 8) == ["b"]
    assert fair_shares({}, {"a": 3}, 0) == [] == fair_shares({}, {}, 3)


def test_a_wide_window_is_handed_out_whole(book: Book) -> None:
    _plan(book, 1201)
    assert _ids(book.lease(5000, 1000)) == _ids(list(_matches(1201)))
    assert book.progress("cup").leased == 1201


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_what_is_cancelled_while_it_is_handed_out_stays_dropped(url: str, book: Book) -> None:
    """Between looking and leasing; in SQLite nobody can write meanwhile."""
    _plan(book, 4)
    other = Book(url)
    seen: list[str] = []

    def cancel(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "ORDER BY matches.ord" in statement and not seen:
            seen.append(statement)
            other.set_state("cup", CANCELLED)

    event.listen(book._engine, "after_cursor_execute", cancel)
    assert book.lease(10, 1000) == [] and seen
    assert book.progress("cup").dropped == 4
    other.close()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_what_is_recorded_while_its_entrant_is_removed_stays_played(url: str, book: Book) -> None:
    _plan(book, 4)
    out = book.lease(2, 60_000)
    other = Book(url)

    def record(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if "SELECT matches.id, matches.seats" in statement:
            assert other.record_once(out[0], _result())

    event.listen(book._engine, "after_cursor_execute", record)
    assert book.withdraw("cup", 1, "forfeited everything", is_removed=True)
    assert (book.progress("cup").played, book.progress("cup").dropped, book.games("cup")) == (1, 3, [])
    other.close()


def test_the_window_holds_whoever_asks_at_the_same_time(book: Book) -> None:
    _plan(book, 200)
    start = threading.Barrier(8)

    def ask() -> list[str]:
        start.wait()
        return [id_ for _ in range(5) for id_ in _ids(book.lease(30, 60_000))]

    with ThreadPoolExecutor(8) as pool:
        handed = [id_ for found in [pool.submit(ask) for _ in range(8)] for id_ in found.result()]
    assert sorted(handed) == _ids(list(_matches(30)))
    assert book.progress("cup").leased == 30


def test_an_expired_lease_comes_back_and_a_prolonged_one_does_not(book: Book, clock: Clock) -> None:
    _plan(book, 3)
    book.lease(2, 1000)
    clock.ms += 900
    book.prolong("cup00000000", 1000)
    clock.ms += 101
    again = book.lease(2, 1000)
    assert _ids(again) == ["cup00000001"]
    assert again[0].session == "cup00000001", "whoever takes it over goes on with the same session"
    found = book.match("cup00000001")
    assert found is not None and found.deliveries == 2
    clock.ms += 900
    assert _ids(book.lease(2, 1000)) == ["cup00000000"]


def test_a_match_that_was_given_back_goes_on_at_once(book: Book) -> None:
    _plan(book, 1)
    (first,) = book.lease(1, 1000)
    book.begin(first.id, 4)
    book.give_back(_now(book, first))
    (again,) = book.lease(1, 1000)
    assert (again.session, again.slot, again.deliveries) == (first.session, 4, 1)


def test_a_match_that_somebody_else_plays_by_now_cannot_be_given_back(book: Book, clock: Clock) -> None:
    """Its worker was away for longer than the lease, and comes back only to leave."""
    _plan(book, 1)
    (first,) = book.lease(1, 1000)
    late = _now(book, first)
    clock.ms += 2000
    assert book.lease(1, 1000), "another worker has it"
    book.give_back(late)
    assert book.lease(1, 1000) == []


@pytest.fixture
def set_clock(url: str) -> Iterator[tuple[Book, Clock, Clock]]:
    """A book whose wall clock may be set while a steady one goes on."""
    wall, steady = Clock(), Clock()
    wall.ms = 1_000 * _HOUR_MS
    opened = Book(url, wall, steady)
    yield opened, wall, steady
    opened.close()


@pytest.mark.parametrize("step_ms", [2 * _HOUR_MS, -2 * _HOUR_MS])
def test_a_clock_that_is_set_takes_nobody_s_match_or_slot(set_clock: tuple[Book, Clock, Clock], step_ms: int) -> None:
    """Also after a machine has been asleep: its steady clock stood still, and the wall clock did not."""
    book, wall, steady = set_clock
    (match,) = _plan(book, 1)
    assert book.hold_slot("ann", 12_000) == 0 and _ids(book.lease(1, 12_000)) == [match.id]
    wall.ms += step_ms
    assert book.lease(1, 12_000) == [], "its worker had no time to prolong it"
    assert book.hold_slot("bob", 12_000, 0) == -1 and book.hold_slot("bob", 12_000) == 1
    book.prolong(match.id, 12_000)
    assert book.hold_slot("ann", 12_000, 0) == 0
    for clock in (wall, steady):
        clock.ms += 10_000
    assert book.lease(1, 12_000) == [] and book.hold_slot("bob", 12_000, 0) == -1, "they are in use"
    for clock in (wall, steady):
        clock.ms += 10_000
    assert _ids(book.lease(1, 12_000)) == [match.id], "and their worker is dead"
    assert book.hold_slot("bob", 12_000, 0) == 0


@pytest.mark.parametrize("step_ms", [2 * _HOUR_MS, -2 * _HOUR_MS])
def test_what_a_dead_worker_held_is_free_though_the_clock_was_set(
    set_clock: tuple[Book, Clock, Clock], step_ms: int
) -> None:
    book, wall, steady = set_clock
    (match,) = _plan(book, 1)
    assert book.hold_slot("ann", 12_000) == 0 and _ids(book.lease(1, 12_000)) == [match.id]
    wall.ms += step_ms
    assert book.lease(1, 12_000) == []
    for clock in (wall, steady):
        clock.ms += 15_000
    assert _ids(book.lease(1, 12_000)) == [match.id], "it does not wait two hours"
    assert book.hold_slot("bob", 12_000, 0) == 0


def _now(book: Book, match: Match) -> Match:
    found = book.match(match.id)
    assert found is not None
    return found


def test_a_paused_tournament_hands_out_nothing(book: Book) -> None:
    _plan(book, 4)
    _plan(book, 4, "league")
    book.set_state("cup", PAUSED)
    assert {match.tournament for match in book.lease(10, 1000)} == {"league"}
    assert book.lease(10, 1000, "cup") == []
    book.set_state("cup", RUNNING)
    assert len(book.lease(10, 1000)) == 4


def test_a_cancelled_tournament_drops_what_is_left_and_what_is_running(book: Book) -> None:
    _plan(book, 5)
    out = book.lease(2, 1000)
    assert book.record_once(out[0], _result())
    book.set_state("cup", CANCELLED)
    assert not book.record_once(out[1], _result())
    assert book.lease(10, 1000) == []
    progress = book.progress("cup")
    assert (progress.played, progress.dropped, progress.is_over) == (1, 4, True)
    assert [game.order for game in book.games("cup")] == [0]
    found = book.match(out[1].id)
    assert found is not None and found.state == DROPPED


def test_a_void_match_is_played_again_in_another_session(book: Book) -> None:
    _plan(book, 1)
    (first,) = book.lease(1, 1000)
    book.begin(first.id, 3)
    book.void(first)
    (second,) = book.lease(1, 1000)
    assert second.id == first.id and second.session == f"{first.id}-1" and second.slot == -1
    book.void(first)  # somebody who has not heard of it
    found = book.match(first.id)
    assert found is not None and found.state == LEASED and found.voids == 1
    assert not book.record_once(first, _result()), "nothing of a void session counts"
    assert book.record_once(second, _result())
    book.void(second)
    assert book.progress("cup").played == 1 and book.progress("cup").voids == 1


def test_no_more_matches_wait_than_are_out_though_others_are_handed_out_meanwhile(book: Book, clock: Clock) -> None:
    _plan(book, 9)
    dispatcher = Book(book.url, clock)

    def hand_one_out(*_: object) -> None:
        dispatcher.lease(9, 1000, most=1)

    # After everything that is asked of the book.
    event.listen(book._engine, "after_cursor_execute", hand_one_out)
    try:
        progress, census = book.progress("cup"), book.census()
    finally:
        event.remove(book._engine, "after_cursor_execute", hand_one_out)
        dispatcher.close()
    assert progress.waiting == progress.leased and census.waiting == census.matches[LEASED]
    now = book.progress("cup")
    assert now.waiting == now.leased >= 4, "some were handed out between two questions"


def test_the_slot_of_a_match_is_the_first_that_began_it(book: Book) -> None:
    _plan(book, 1)
    assert book.begin("cup00000000", 2) == 2
    assert book.begin("cup00000000", 5) == 2


def test_what_the_bots_of_a_slot_are_playing_is_known(book: Book) -> None:
    """Whoever adopts the slot brings them back, whoever watches over their matches."""
    _plan(book, 4)
    out = book.lease(4, 60_000)
    for match, slot in zip(out, (3, 3, 5, 3), strict=True):
        book.begin(match.id, slot)
    book.record_once(out[0], _result(1))
    assert [match.id for match in book.begun_in(3)] == [out[1].id, out[3].id]
    assert book.begun_in(4) == []
    book.set_state("cup", CANCELLED)
    assert book.begun_in(3) == []


# ------------------------------------------------------------------------------------------------------------ recording
def test_a_result_is_recorded_exactly_once(book: Book) -> None:
    _plan(book, 12)
    out = book.lease(12, 60_000)
    start = threading.Barrier(8)

    def record(number: int) -> int:
        start.wait()
        order = random.Random(number).sample(out, len(out))
        return sum(book.record_once(match, _result(100 + number)) for match in order)

    with ThreadPoolExecutor(8) as pool:
        stood = sum(found.result() for found in [pool.submit(record, number) for number in range(8)])
    assert stood == 12
    assert [game.order for game in book.games("cup")] == list(range(12))
    assert book.progress("cup").played == 12


def test_the_first_result_stands(book: Book) -> None:
    (match,) = _plan(book, 1)
    book.lease(1, 1000)
    assert book.record_once(match, _result(1))
    assert not book.record_once(match, _result(2))
    assert [game.scores for game in book.games("cup")] == [(1, 3)]
    assert book.endings("cup") == {"over": 1}


def test_games_come_in_schedule_order_whatever_the_order_of_recording(book: Book) -> None:
    planned = _plan(book, 30)
    for match in random.Random(3).sample(planned, 30):
        assert book.record_once(match, _result(match.order))
    games = book.games("cup")
    assert [game.order for game in games] == list(range(30))
    assert [game.scores[0] for game in games] == list(range(30))
    assert [game.block for game in games] == [order // _BLOCK for order in range(30)]


def test_a_replay_with_seeds_replaces_one_without_and_never_the_other_way(book: Book) -> None:
    first, second = _plan(book, 2)
    book.keep_replay(first, "held back", has_seeds=False)
    book.keep_replay(first, "revealed", has_seeds=True)
    book.keep_replay(first, "held back again", has_seeds=False)
    book.keep_replay(second, "revealed too", has_seeds=True)
    assert dict(book.replays("cup")) == {first.id: "revealed", second.id: "revealed too"}


def test_a_replay_is_kept_with_the_result_that_stands_and_with_no_other(book: Book) -> None:
    """A session that was void or whose tournament was cancelled leaves nothing, and takes nobody's place."""
    _plan(book, 3)
    first, second, third = book.lease(3, 1000)
    book.void(first)
    assert not book.record_once(first, _result(), "of the void session")
    (again,) = book.lease(3, 1000)
    assert book.record_once(again, _result(), "of the session that counts")
    assert book.record_once(second, _result(), "whoever was first")
    assert not book.record_once(second, _result(), "too late")
    book.set_state("cup", CANCELLED)
    assert not book.record_once(third, _result(), "too late as well")
    assert dict(book.replays("cup")) == {first.id: "of the session that counts", second.id: "whoever was first"}


def test_blocks_are_looked_at_in_turn(book: Book) -> None:
    planned = _plan(book, 8)
    assert book.blocks_in_turn("cup") == (0, set())
    out = book.lease(8, 60_000)
    assert book.give_up(out[2], "cannot be played")
    for match in planned[:2] + planned[3:5]:
        book.record_once(match, _result())
    assert book.blocks_in_turn("cup") == (2, {1})
    for match in planned[5:]:
        book.record_once(match, _result())
    assert book.blocks_in_turn("cup") == (math.inf, {1})
    assert book.match_ids("cup") == {match.order: match.id for match in planned}


def test_blocks_without_seeds_are_those_that_are_over_and_not_archived(book: Book) -> None:
    planned = _plan(book, 8)
    for match in planned[:7]:
        book.keep_replay(match, "held back", has_seeds=False)
        book.record_once(match, _result())
    for match in planned[:2]:
        book.keep_replay(match, "revealed", has_seeds=True)
    assert book.open_blocks("cup", 2) == 0 and book.open_blocks("cup", 3) == 1
    assert book.blocks_without_seeds("cup") == [1, 2]


# --------------------------------------------------------------------------------------------------------------- slots
def test_slots_are_held_adopted_after_they_expire_and_given_back(book: Book, clock: Clock) -> None:
    assert book.hold_slot("a", 1000) == 0
    assert book.hold_slot("b", 1000) == 1
    assert book.hold_slot("a", 1000) == 0, "who has one keeps it"
    assert book.hold_slot("b", 1000, 0) == -1, "it is held"
    clock.ms += 900
    assert book.hold_slot("b", 1000, 1) == 1
    clock.ms += 101
    assert book.hold_slot("b", 1000, 0) == 0, "its owner has died"
    assert book.hold_slot("a", 1000, 0) == -1, "and comes too late"
    assert book.hold_slot("a", 1000) == 2
    book.release_slots("b")
    assert book.hold_slot("c", 1000) == 0


def test_a_slot_never_has_two_owners(url: str) -> None:
    books = [Book(url) for _ in range(6)]  # as many processes would
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
def test_the_migrations_make_the_tables_that_the_code_knows(url: str) -> None:
    Book(url).close()  # from nothing
    opened = Book(url)  # and from what is up to date
    _plan(opened, 2)
    opened.close()
    again = Book(url)
    assert again.progress("cup").ready == 2
    again.close()
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_a_new_book_may_be_opened_by_several_at_once(url: str) -> None:
    start = threading.Barrier(5)

    def open_book() -> Callable[[], None]:
        start.wait()
        return Book(url).close

    with ThreadPoolExecutor(5) as pool, contextlib.ExitStack() as opened:
        for found in [pool.submit(open_book) for _ in range(5)]:
            opened.callback(found.result())


def test_a_book_in_a_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Seeds that nobody may know yet are in it; what SQLite keeps beside it while it is open, too."""
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    book.plan(_tournament(), [])
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    book.close()
    assert set(modes.values()) == {0o600}, modes
