"""Two processes change a ladder at once: one of them wins, and nothing is half done."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from sqlalchemy import create_engine, event, make_url, text

from orchestrator.book import Book
from orchestrator.book.tables import DROPPED, PLANNED, QUEUED
from orchestrator.errors import BadSeason, NotAllowed
from orchestrator.ladder.conduct import BuildChange, changed
from orchestrator.ladder.model import Build, BuildState, Season
from orchestrator.ladder.spec import Quotas
from orchestrator.ladder.states import BadMove, SeasonState
from orchestrator.ladder_seasons import new_season
from tests.harness.books import Clock
from tests.harness.waiting import wait_for
from tests.orchestrator.ladder.small_ladder import MANY, a_build, draw, enter, make, planned, tables_for

T = TypeVar("T")
_AT_ONCE = 4


@pytest.fixture
def books(url: str, clock: Clock) -> Iterator[list[Book]]:
    """The book as several processes open it."""
    opened = [Book(url, clock) for _ in range(_AT_ONCE)]
    yield opened
    for one in opened:
        one.close()


def at_once(books: list[Book], act: Callable[[Book, int], T]) -> list[T | Exception]:
    """What each process gets; they begin together."""
    start = threading.Barrier(len(books))

    def run(number: int) -> T | Exception:
        start.wait()
        try:
            return act(books[number], number)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(books)) as pool:
        return [future.result() for future in [pool.submit(run, number) for number in range(len(books))]]


def kinds(found: list[Any]) -> list[str]:
    return sorted(type(one).__name__ if isinstance(one, Exception) else str(one) for one in found)


def test_one_of_several_sign_ups_gets_the_last_place(books: list[Book], clock: Clock) -> None:
    make(books[0], clock.ms, owners=())
    found = at_once(
        books, lambda book, number: book.sign_up("cup", f"owner-{number}", Quotas(signups_a_day=1), is_new=True)
    )

    assert kinds(found) == ["1", *["QuotaReached"] * (_AT_ONCE - 1)] and len(books[0].members("cup")) == 1


def test_one_of_several_uses_an_invitation_or_a_name(books: list[Book], clock: Clock) -> None:
    make(books[0], clock.ms, owners=())
    invited = at_once(books, lambda book, number: book.sign_up("cup", f"owner-{number}", MANY, "code", is_new=True))
    assert kinds(invited) == ["1", *["SignupRefused"] * (_AT_ONCE - 1)]
    named = at_once(books, lambda book, _: book.sign_up("cup", "ann", MANY, is_new=True))
    assert kinds(named) == ["1", *["NameTaken"] * (_AT_ONCE - 1)]


def test_all_builds_that_are_entered_at_once_are_entrants(books: list[Book], clock: Clock) -> None:
    season = make(books[0], clock.ms)
    at_once(books, lambda book, number: book.enter_build(a_build(clock.ms, f"bot{number}/v1"), MANY))

    entrants = books[0].tournament(season.tournament).spec.entrants
    assert sorted(entrants[3:]) == sorted(build.name for build in books[0].builds("cup"))
    assert len(entrants) == 3 + _AT_ONCE


def test_one_of_several_names_that_differ_only_in_case_is_entered(books: list[Book], clock: Clock) -> None:
    make(books[0], clock.ms, owners=("ann", "bob", "cleo", "dan"))
    names = (("dorabot", "ann"), ("Dorabot", "bob"), ("DORABOT", "cleo"), ("doraBot", "dan"))
    entered = at_once(
        books, lambda book, n: book.enter_build(a_build(clock.ms, f"{names[n][0]}/v1", names[n][1]), MANY)
    )
    assert kinds(entered) == ["NameTaken"] * (_AT_ONCE - 1) + ["None"] and len(books[0].builds("cup")) == 1


def test_one_of_several_entries_gets_the_last_place(books: list[Book], clock: Clock) -> None:
    make(books[0], clock.ms)
    entered = at_once(books, lambda book, n: book.enter_build(a_build(clock.ms, f"b{n}/v1"), Quotas(entries_a_day=1)))
    assert kinds(entered) == ["None", *["QuotaReached"] * (_AT_ONCE - 1)]


def test_one_of_several_moves_a_season(books: list[Book], clock: Clock) -> None:
    season = make(books[0], clock.ms)
    for state in (SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED):
        found = at_once(books, lambda book, _: book.move_season(season, state))  # noqa: B023  # they end before the next state
        assert sum(isinstance(one, Season) for one in found) == 1
        assert sum(isinstance(one, BadMove) for one in found) == _AT_ONCE - 1
        season = books[0].season("cup")
        assert season.state is state
    assert len([told for told in books[0].events("cup") if told.kind == "season"]) == 4


def test_one_of_several_opens_the_next_season(books: list[Book], clock: Clock) -> None:
    make(books[0], clock.ms)
    ladder = books[0].ladder("cup")
    found = at_once(books, lambda book, _: book.open_season(*new_season(ladder, 2)))

    assert kinds(found) == ["False"] * (_AT_ONCE - 1) + ["True"] and len(books[0].seasons("cup")) == 2
    assert len(books[0].tournaments()) == 2, "no tournament is left without a season"


def test_one_of_several_draws(books: list[Book], clock: Clock) -> None:
    season = make(books[0], clock.ms)

    def attempt(book: Book, number: int) -> bool:
        tables = tables_for(season, *[(0, 1)] * (number + 1))
        return book.draw(season, b"%d" % number, tables, planned(book, season, tables))

    found = at_once(books, attempt)
    winner = found.index(True)
    assert kinds(found) == ["False"] * (_AT_ONCE - 1) + ["True"]
    assert books[0].draws(season.tournament) == [(0, b"%d" % winner)]
    assert len(books[0].tables(season.tournament)) == winner + 1 == books[0].season("cup").next_block
    assert len(books[0].open_matches(season.tournament)) == 2 * (winner + 1) == books[0].season("cup").next_order


def test_one_of_several_settles(books: list[Book], clock: Clock) -> None:
    season = make(books[0], clock.ms)
    build = enter(books[0], a_build(clock.ms))
    tables = draw(books[0], (0, 3), (1, 3))
    change = BuildChange(replace(build, strikes=1))

    found = at_once(books, lambda book, number: book.settle(season, tables[number % 2 :], 1, 2, [change]))
    assert kinds(found) == ["False"] * (_AT_ONCE - 1) + ["True"]
    now = books[0].season("cup")
    assert (now.blocks, now.games, books[0].build("cup", "quick/v1").strikes) == (1, 2, 1)


def test_writers_of_builds_do_not_block_each_other_for_good(books: list[Book], clock: Clock) -> None:
    """Rows written in different orders: PostgreSQL would end one of two such transactions."""
    make(books[0], clock.ms)
    builds = [enter(books[0], a_build(clock.ms, f"quick/v{number}")) for number in range(30)]

    def write(book: Book, number: int) -> None:
        for turn in range(8):
            order = builds if (number + turn) % 2 else builds[::-1]
            if number < 2:
                book.change_builds(
                    "cup", [BuildChange(replace(book.build("cup", one.name), strikes=turn)) for one in order]
                )
            else:
                book.saw([one.id for one in order], turn)

    assert kinds(at_once(books, write)) == ["None"] * _AT_ONCE


def test_a_build_retired_while_it_is_parked_stays_retired(books: list[Book], clock: Clock) -> None:
    make(books[0], clock.ms)
    for turn in range(10):
        build = enter(books[0], a_build(clock.ms, f"quick/v{turn}"))

        def act(book: Book, number: int, build: Build = build) -> None:
            if number == 0:
                book.retire(build, "")
            else:
                book.change_builds("cup", [BuildChange(changed(build, BuildState.PARKED, clock.ms))])

        assert not any(isinstance(one, Exception) for one in at_once(books, act))
        assert books[0].build("cup", build.name).state is BuildState.RETIRED


# -------------------------------------------------------------------------------------------- in between, on PostgreSQL
def _during(book: Book, words: str, act: Callable[[int], object]) -> list[str]:
    """Act once, right after the first statement of this book that contains these words, with the process of its server."""
    seen: list[str] = []

    def run(connection: Any, _cursor: object, statement: str, *_: object) -> None:
        if words in statement and not seen:
            seen.append(statement)
            act(connection.connection.driver_connection.info.backend_pid)

    event.listen(book._engine, "after_cursor_execute", run)
    return seen


def _wait_until_blocked_by(url: str, process: int) -> None:
    """Wait until another transaction waits for that of this process."""
    engine = create_engine(url)
    query = text("SELECT count(*) FROM pg_stat_activity WHERE :process = ANY(pg_blocking_pids(pid))")

    def is_blocked() -> bool:
        with engine.begin() as connection:
            return bool(connection.execute(query, {"process": process}).scalar_one())

    wait_for(is_blocked, "the other process to wait", patience_s=60)
    engine.dispose()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_no_block_is_dropped_while_it_is_handed_out(url: str, books: list[Book], clock: Clock) -> None:
    """SQLite allows one writer at a time."""
    id_ = make(books[0], clock.ms).tournament
    draw(books[0], (0, 1), (1, 2))
    books[0].release([books[0].block(id_, 0)[0].id])
    with ThreadPoolExecutor(1) as pool:
        dropping: list[Any] = []

        def drop(process: int) -> None:
            dropping.append(pool.submit(books[1].drop_planned, id_))
            _wait_until_blocked_by(url, process)

        seen = _during(books[0], "UPDATE matches SET state", drop)
        assert len(books[0].hand_out(100, 1000)) == 1 and seen
        dropping[0].result()

    states = [[match.state for match in books[0].block(id_, block)] for block in (0, 1)]
    assert states == [[QUEUED, PLANNED], [DROPPED, DROPPED]], "a block that has begun is played to its end"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda book, season: book.move_season(season, SeasonState.CLOSING), BadSeason),
        (lambda book, _: book.rotate_owner("ann", is_revoked=True), NotAllowed),
    ],
    ids=["closing", "revoked"],
)
def test_no_build_is_entered_after_its_season_or_owner_is_closed(
    url: str, books: list[Book], clock: Clock, change: Callable[[Book, Season], object], refused: type[Exception]
) -> None:
    """The change waits for an entry that has begun; one that comes after it is refused."""
    season = make(books[0], clock.ms)
    with ThreadPoolExecutor(1) as pool:
        changing: list[Any] = []

        def begin(process: int) -> None:
            changing.append(pool.submit(change, books[1], season))
            _wait_until_blocked_by(url, process)

        seen = _during(books[0], "FROM owners", begin)
        books[0].enter_build(a_build(clock.ms), MANY)
        changing[0].result()
    assert seen and [build.name for build in books[0].builds("cup")] == ["quick/v1"]
    with pytest.raises(refused):
        books[0].enter_build(a_build(clock.ms, "quick/v2"), MANY)


def test_texts_are_sorted_alike_in_a_database_with_another_order(postgres: str, clock: Clock) -> None:
    """In ICU's order, capitals do not come before all other letters."""
    name = f"sorted_by_icu_{os.getpid()}"
    admin = create_engine(postgres, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(
            text(f"CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'und' ENCODING 'UTF8'")
        )
    book = Book(make_url(postgres).set(database=name).render_as_string(hide_password=False), clock)
    try:
        owners = ["a-b", "a0", "ab", "b"]
        make(book, clock.ms, owners=owners[::-1])
        names = ["Bot/1", "a-b/1", "a_b/1", "ab/1", "b/B", "b/a"]
        for one in reversed(names):
            book.enter_build(a_build(clock.ms, one, "ab"), MANY)
        with book._engine.begin() as connection:
            by_database = list(connection.execute(text("SELECT bot FROM builds ORDER BY bot")).scalars())
        assert by_database[-1] == "Bot", "the order of the database is another one"
        assert [build.name for build in book.builds("cup")] == names
        assert [owner.name for owner, _, _ in book.members("cup")] == owners
    finally:
        book.close()
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name}"))
        admin.dispose()
