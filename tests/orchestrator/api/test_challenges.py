"""A challenge is written whole or not at all: by processes that are killed, by several at once, and while its season moves."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import event

from cli.ladder_wait import ask_until
from orchestrator.api.caller import Caller
from orchestrator.api.ladders import Ladders
from orchestrator.api.owner_keys import OwnerKeys
from orchestrator.book import Book
from orchestrator.errors import BadSeason, QuotaReached
from orchestrator.ladder.model import Kind
from orchestrator.ladder.names import arena_name
from orchestrator.ladder.spec import Quotas
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder_seasons import new_season
from rubble.v1 import ladder_pb2, tournament_pb2
from rubble.v1.bot_pb2 import ConnectedBot
from tests.orchestrator.ladder.small_ladder import MANY, a_build, draw, enter, ladder_of, planned, tables_for
from tests.orchestrator.ladder.test_ladder_races import at_once
from tests.orchestrator.ladder.test_upkeep_crashes import Killed
from tests.orchestrator.ladder.ticking import Arena, ticking

_DEALS = 2
_AT_ONCE = 4


class InterruptedBook(Book):
    """A book in whose process something happens just before the first draw."""

    before_draw: Callable[[], object] | None = None

    def draw(self, *args: Any, **kwargs: Any) -> bool:
        act, self.before_draw = self.before_draw, None
        if act is not None:
            act()
        return super().draw(*args, **kwargs)


@pytest.fixture
def books(url: str) -> Iterator[list[InterruptedBook]]:
    """The book as several API processes open it."""
    opened = [InterruptedBook(url) for _ in range(_AT_ONCE)]
    yield opened
    for one in opened:
        one.close()


def make(book: Book, name: str = "cup", challenges_a_day: int = 1) -> None:
    """A ladder with the build quick/v1 of ann."""
    plain = ladder_of(1, name)
    quotas = Quotas(challenges_a_day=challenges_a_day)
    ladder = replace(plain, spec=msgspec.structs.replace(plain.spec, quotas=quotas))
    book.create_ladder(ladder, new_season(ladder, 1))
    book.sign_up(name, "ann", MANY, is_new=book.owner("ann") is None)
    enter(book, a_build(1, ladder=name))


def api_of(book: Book, ladder: str = "cup") -> Ladders:
    """The API with this book; quick/v1 is connected."""
    arena = Arena()
    build = arena_name(ladder, "quick", "v1")
    arena.bots[build] = ConnectedBot(bot=build, max_parallel_games=4)
    return Ladders(book, arena, OwnerKeys("the secret of this arena"), bot_address="bots.example:443")


def challenge(book: Book, ladder: str = "cup") -> ladder_pb2.Challenge:
    """Ann challenges a bundled bot."""
    caller = Caller(owner="ann", generation=1)
    return api_of(book, ladder).create_challenge(ladder, "quick/v1", ["bundled-0"], _DEALS, caller)


def written(book: Book, ladder: str = "cup") -> list[int]:
    """Check that all challenges of a ladder are whole and that all numbers are used once; returns their blocks."""
    season = book.season(ladder)
    tables = book.tables(season.tournament)
    matches = [match for match, _ in book.matches(season.tournament)]
    assert [table.block for table in tables] == list(range(season.next_block))
    assert [match.order for match in matches] == list(range(season.next_order))
    assert [match.block for match in matches] == [table.block for table in tables for _ in table.seats]
    assert book.tournament(season.tournament).planned == season.next_order
    drawn = [table for table in tables if table.kind is Kind.CHALLENGE]
    for id_ in {table.challenge for table in drawn}:
        assert book.challenge(id_).deals == sum(table.challenge == id_ for table in drawn)
    return [table.block for table in drawn]


# ---------------------------------------------------------------------------------------------------------------- killed
def _kill(book: Book, before: int = -1) -> list[str]:
    """Kill the process of a book just before this statement or commit; returns those that it has come to."""
    seen: list[str] = []

    def count(words: str) -> None:
        seen.append(words)
        if len(seen) == before + 1:
            raise Killed(words)

    event.listen(book._engine, "before_cursor_execute", lambda *args: count(args[2]))
    event.listen(book._engine, "commit", lambda _: count("COMMIT"))
    return seen


def test_a_process_killed_at_any_statement_leaves_a_whole_challenge_or_none(
    url: str, books: list[InterruptedBook]
) -> None:
    book = books[0]
    make(book, "counted")
    steps = _kill(books[1])
    challenge(books[1], "counted")
    writes = [at for at, words in enumerate(steps) if words.startswith(("INSERT", "UPDATE"))]
    assert len(writes) > 4
    is_whole = []
    for before in range(writes[0], writes[-1] + 3):
        name = f"cup-{before}"
        make(book, name)
        with closing(Book(url)) as mortal:
            _kill(mortal, before)
            with pytest.raises(Killed):
                challenge(mortal, name)
        is_whole.append(written(book, name) == list(range(_DEALS)))
        if is_whole[-1]:
            with pytest.raises(QuotaReached):
                challenge(book, name)
        else:
            assert book.season(name).next_block == 0
            challenge(book, name)  # the quota is not used
    assert is_whole == [False] * (len(is_whole) - 1) + [True], "it is written with the commit"


# --------------------------------------------------------------------------------------------------------------- at once
def test_one_of_several_processes_gets_the_last_challenge_of_the_day(books: list[InterruptedBook]) -> None:
    make(books[0])
    meeting = threading.Barrier(_AT_ONCE)
    for book in books:
        book.before_draw = lambda: meeting.wait(60)  # all have read the same season

    found = at_once(list(books), lambda book, _: challenge(book))
    refused = [one for one in found if isinstance(one, QuotaReached)]
    assert len(refused) == _AT_ONCE - 1 == sum(isinstance(one, Exception) for one in found), found
    assert all((one.facts["quota"], one.facts["used"]) == ("challenges_a_day", "1") for one in refused)
    assert written(books[0]) == list(range(_DEALS))


def test_a_challenge_is_tried_again_if_a_tick_has_drawn(books: list[InterruptedBook]) -> None:
    make(books[0])
    books[1].before_draw = lambda: draw(books[0], (0, 1), (1, 2), (2, 3))

    made = challenge(books[1])
    assert written(books[0]) == [3, 4] == sorted({one.match.block for one in made.matches})
    with pytest.raises(QuotaReached):
        challenge(books[1])


def test_challenges_and_draws_at_once_are_all_written(books: list[InterruptedBook]) -> None:
    make(books[0], challenges_a_day=100)

    def act(book: Book, number: int) -> None:
        for _ in range(4):
            if number % 2:
                challenge(book)
                continue
            is_drawn = False
            while not is_drawn:
                season = book.season("cup")
                tables = tables_for(season, (0, 1), (1, 2))
                is_drawn = book.draw(season, b"{}", tables, planned(book, season, tables))

    assert at_once(list(books), act) == [None] * _AT_ONCE
    assert len(written(books[0])) == 2 * 4 * _DEALS and books[0].season("cup").next_block == 2 * 4 * (_DEALS + 2)


# ------------------------------------------------------------------------------------------------------- a season's end
def test_no_challenge_is_written_into_a_season_that_has_moved_to_its_finals(books: list[InterruptedBook]) -> None:
    make(books[0])
    books[1].before_draw = lambda: books[0].move_season(books[0].season("cup"), SeasonState.CLOSING)
    challenge(books[1])
    assert written(books[0]) == list(range(_DEALS)), "a closing season still plays challenges"

    make(books[0], "pot")
    books[0].move_season(books[0].season("pot"), SeasonState.CLOSING)
    books[1].before_draw = lambda: books[0].move_season(books[0].season("pot"), SeasonState.FINALS)
    with pytest.raises(
        BadSeason, match="season 1 of pot is in its finals; challenges are played while it is open or closing"
    ):
        challenge(books[1], "pot")
    assert written(books[0], "pot") == []
    books[0].open_season(*new_season(books[0].ladder("pot"), 2, books[0].builds("pot")))
    challenge(books[1], "pot")  # the quota is not used


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_challenge_is_over_when_its_season_ends_before_its_games(tmp_path: Path, is_begun: bool) -> None:
    cup = ticking(tmp_path)
    cup.enter("quick/v1", "ann", games=2)
    made = challenge(cup.book)
    if is_begun:
        cup.book.release([made.matches[0].match.id])
        assert len(cup.book.hand_out(1, 60_000)) == 1
    for state in (SeasonState.CLOSING, SeasonState.FINALS):
        cup.book.move_season(cup.season, state)

    def play(_: float) -> None:
        cup.tick()
        cup.play()
        pauses.append(cup.clock.ms)
        assert len(pauses) < 9, "it is never over"

    api = api_of(cup.book)
    pauses: list[int] = []
    found = ask_until(lambda: api.challenge(made.id), lambda so_far: so_far.over, str, play)  # as with --wait
    states = [tournament_pb2.MatchState.Name(one.match.state).removeprefix("MATCH_STATE_") for one in found.matches]
    assert states == ["RECORDED" if is_begun else "DROPPED"] * 2 + ["DROPPED"] * 2
    assert len(pauses) == (2 if is_begun else 1)
    cup.book.close()
