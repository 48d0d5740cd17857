"""How ticks move a season: by its dates, through its finals, to its end; and what the next season takes over."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from orchestrator.api import ladder_queries
from orchestrator.api.ladder_queries import LadderQueries
from orchestrator.api.ladders import Ladders
from orchestrator.api.owner_keys import OwnerKeys
from orchestrator.book import Book, Match
from orchestrator.book.tables import CANCELLED, DONE, DROPPED, RECORDED, RUNNING, WAITING
from orchestrator.errors import NotReady
from orchestrator.ladder.model import BuildState, Kind, Season
from orchestrator.ladder.season_table import TableDocument
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder_fits import LadderFits
from orchestrator.ladder_seasons import finals_words, new_season
from rubble.v1 import ladder_pb2
from tests.orchestrator.ladder.small_ladder import draw
from tests.orchestrator.ladder.ticking import Ticking, ticking

_WAIT_MS = 600_000


def _move(cup: Ticking, *states: SeasonState) -> None:
    for state in states:
        cup.book.move_season(cup.season, state)


def _number(cup: Ticking, name: str) -> int:
    return cup.book.tournament(cup.season.tournament).spec.entrants.index(name)


def _played(cup: Ticking, *builds: tuple[str, str], games: int = 20) -> None:
    """These builds (name, owner) have met each other in as many rated games each."""
    for name, owner in builds:
        cup.enter(name, owner, games=0)
    pairs = list(combinations([_number(cup, name) for name, _ in builds], 2))
    rounds = -(-games // (2 * (len(builds) - 1)))
    draw(cup.book, *(pairs * rounds))
    cup.book.release([match.id for match in cup.open_matches()])
    cup.play()


def in_finals(folder: Path, *owners: str, **changes: Any) -> Ticking:
    """A season in finals whose builds of these owners have 20 games each; its final table is computed."""
    cup = ticking(folder, finals_deals=1, **changes)
    _played(cup, *((f"{owner}{at}/v1", owner) for at, owner in enumerate(owners)))
    _move(cup, SeasonState.CLOSING, SeasonState.FINALS)
    assert cup.tick(), "the final table is not computed yet"
    LadderFits(cup.book).fit_all()
    return cup


# ----------------------------------------------------------------------------------------------------------------- dates
def test_a_season_moves_on_when_its_dates_come(tmp_path: Path) -> None:
    cup = ticking(tmp_path, closing_ms=1_000_001_000, finals_ms=1_000_002_000)
    cup.tick(999)
    assert cup.season_state() == "open"
    cup.tick(1)
    assert cup.season_state() == "closing"
    cup.tick(999)
    assert cup.season_state() == "closing"
    cup.tick(1)
    assert cup.season_state() == "finals"


def test_a_date_of_the_finals_alone_also_ends_the_entries(tmp_path: Path) -> None:
    cup = ticking(tmp_path, finals_ms=1_000_002_000)
    cup.tick(2000)
    cup.tick()
    assert cup.season_state() == "finals"
    assert cup.events()[-2:] == ["Season 1 takes no more builds.", "Season 1 draws no more tables; its finals follow."]


def test_a_closing_season_goes_on_playing(tmp_path: Path) -> None:
    cup = ticking(tmp_path)
    cup.enter("quick/v1", "ann", BuildState.ENTERED)
    _move(cup, SeasonState.CLOSING)
    cup.tick()
    cup.play()
    cup.tick()
    assert cup.state("quick/v1") == "active" and cup.tables(Kind.RATED)


# ---------------------------------------------------------------------------------------------------------------- finals
def test_finals_drop_blocks_that_have_not_begun_and_wait_for_those_that_have(tmp_path: Path) -> None:
    cup = ticking(tmp_path)
    cup.enter("quick/v1", "ann", games=3)
    cup.tick()
    begun, unbegun = [table.block for table in cup.tables()][:2]
    cup.book.hand_out(1, 60_000)
    _move(cup, SeasonState.CLOSING, SeasonState.FINALS)

    cup.tick()
    states = {match.block: match.state for match, _ in cup.book.matches(cup.season.tournament, limit=100)}
    assert states[unbegun] == DROPPED and [table.block for table in cup.tables(is_open=True)] == [begun]
    LadderFits(cup.book).fit_all()
    assert cup.book.document(cup.season.tournament, "final") is None
    cup.play()
    cup.tick()
    assert not cup.tables(is_open=True) and cup.season.blocks == 1
    assert [match.state for match in cup.book.block(cup.season.tournament, begun)] == [RECORDED] * 2


def test_a_qualification_that_was_dropped_with_the_season_is_not_passed(tmp_path: Path) -> None:
    cup = ticking(tmp_path)
    cup.enter("quick/v1", "ann", BuildState.ENTERED)
    cup.enter("gone/v1", "bob", BuildState.PARKED, games=0)
    cup.clock.ms += 15_000
    cup.connect("gone/v1")
    cup.tick()
    assert (cup.state("quick/v1"), cup.state("gone/v1")) == ("qualifying", "returning")
    _move(cup, SeasonState.CLOSING, SeasonState.FINALS)
    cup.tick()
    assert not cup.tables(is_open=True)
    assert (cup.state("quick/v1"), cup.state("gone/v1")) == ("qualifying", "returning"), "nothing was played"


def test_the_best_builds_of_different_owners_play_the_finals(tmp_path: Path) -> None:
    cup = in_finals(tmp_path, "ann", "ann", "bob", "cleo", "dan", finals_builds=3)
    final = cup.book.document(cup.season.tournament, "final")
    assert final is not None and TableDocument.from_json(final.data).is_final
    cup.tick()
    finals = cup.book.tournament(cup.season.finals)
    assert set(finals.spec.entrants) == {"ann0/v1", "bob2/v1", "cleo3/v1"}, "ann1 is the second one of ann"
    assert finals.state == WAITING and finals.spec.ladder == "cup" and finals.planned == 3 * 2
    assert cup.events()[-1].startswith("The finals of season 1 begin: ")
    cup.tick()
    assert cup.book.tournament(cup.season.finals).state == WAITING and cup.season_state() == "finals"


@pytest.mark.parametrize("end", [DONE, CANCELLED])
def test_finals_start_after_a_while_without_those_who_are_absent_and_close_the_season(tmp_path: Path, end: str) -> None:
    cup = in_finals(tmp_path, "ann", "bob")
    cup.tick()
    cup.tick(_WAIT_MS)
    assert cup.book.tournament(cup.season.finals).state == WAITING
    cup.tick(1)
    assert cup.book.tournament(cup.season.finals).state == RUNNING
    cup.tick()
    assert cup.season_state() == "finals"
    cup.book.set_state(cup.season.finals, end)
    cup.tick()
    assert cup.season_state() == "closed" and cup.season.closed_ms == cup.clock.ms
    assert cup.book.tournament(cup.season.tournament).state == DONE
    assert cup.events()[-2:] == ["The finals of season 1 ended without a game.", "Season 1 is closed."]
    assert not cup.tick() and not cup.tables(is_open=True), "a closed season draws nothing"


def test_the_end_of_the_finals_names_the_first_three_and_where_the_table_is(tmp_path: Path) -> None:
    cup = in_finals(tmp_path, "ann", "bob", "cleo", "dan")
    cup.tick()
    finals = cup.season.finals
    cup.play(of=[match for match, _ in cup.book.matches(finals, limit=100)])
    cup.book.set_state(finals, DONE)
    cup.tick()
    field = cup.book.tournament(finals).spec.entrants
    words = f"{field[0]} has won the finals of season 1, ahead of {field[1]} and {field[2]}."
    assert cup.events()[-2:] == [f"{words} The whole table: rubble tournament show {finals}", "Season 1 is closed."]
    assert list(LadderQueries(cup.book).standings("cup").notes)[-1] == cup.events()[-2]


Score = Callable[[Match, int], int]


def _finals_told(cup: Ticking, score: Score, end: str = DONE) -> str:
    """What is told at the end of finals in which each entrant has this score in each match."""
    cup.tick()
    finals = cup.season.finals
    for match, _ in cup.book.matches(finals, limit=100):
        scores = tuple(score(match, entrant) for entrant in match.seats)
        ranks = tuple(1 + sum(other > own for other in scores) for own in scores)
        assert cup.book.record_once(match, match.result(ranks, scores, ("", ""), (1, 1), "over", 30), "{}\n")
        cup.book.keep_replay(match, "{}\n", has_seeds=True)
    cup.book.set_state(finals, end)
    cup.tick()
    return cup.events()[-2].partition(" The whole table")[0]


@pytest.mark.parametrize(
    ("score", "words"),
    [
        pytest.param(  # the first seat wins: everybody wins one of each two, entrant 2 by most
            lambda match, entrant: (0, 4 + entrant)[match.seats[0] == entrant],
            "{2}, {1} and {0} are tied on points in the finals of season 1; by the mean margin {2} is first.",
            id="by the mean margin",
        ),
        pytest.param(
            lambda match, entrant: 7,
            "{0}, {1} and {2} are tied on points in the finals of season 1; every tie-break leaves them equal, and they "
            "share the first rank.",
            id="equal in everything",
        ),
        pytest.param(
            lambda match, entrant: 9 if entrant == 1 else (0, 4 + entrant)[match.seats[0] == entrant],
            "{1} has won the finals of season 1, ahead of {2} and {0}, who are tied on points.",
            id="second and third",
        ),
        pytest.param(
            lambda match, entrant: -9 if entrant == 1 else (0, 4 + entrant)[match.seats[0] == entrant],
            "{2} and {0} are tied on points in the finals of season 1, ahead of {1}; by the mean margin {2} is first.",
            id="first and second",
        ),
    ],
)
def test_a_tie_on_points_in_the_finals_is_told_with_what_decides_it(tmp_path: Path, score: Score, words: str) -> None:
    cup = in_finals(tmp_path, "ann", "bob", "cleo")
    told = _finals_told(cup, score)
    assert told == words.format(*cup.book.tournament(cup.season.finals).spec.entrants)


def test_finals_that_were_stopped_name_no_winner(tmp_path: Path) -> None:
    cup = in_finals(tmp_path, "ann", "bob")
    told = _finals_told(cup, lambda match, entrant: (0, 4 + entrant)[match.seats[0] == entrant], CANCELLED)
    first, second = cup.book.tournament(cup.season.finals).spec.entrants
    words = f"{second} and {first} are tied on points; by the mean margin {second} is first."
    assert told == f"The finals of season 1 were stopped; {words}"


@pytest.mark.parametrize("by_hand", [False, True])
def test_finals_that_are_stopped_in_a_block_keep_the_seeds_of_what_was_played(tmp_path: Path, by_hand: bool) -> None:
    """The season waits for the service: without their seeds the games could not be verified."""
    cup = in_finals(tmp_path, "ann", "bob")
    cup.tick()
    finals = cup.season.finals
    (played, *_) = cup.play(of=[match for match, _ in cup.book.matches(finals, limit=1)], has_seeds=False)
    cup.arena.is_away = True
    ladders = Ladders(cup.book, cup.arena, OwnerKeys("a secret"), bot_address="127.0.0.1:1")
    if by_hand:
        with pytest.raises(NotReady, match=r"does not answer, .* is closed as soon as it answers"):
            ladders.move_season("cup", ladder_pb2.SEASON_STATE_CLOSED)
        assert cup.book.tournament(finals).state == CANCELLED
    else:
        cup.book.set_state(finals, CANCELLED)
    cup.tick()
    assert cup.season_state() == "finals" and not cup.book.has_seeds(played.id)

    cup.arena.is_away = False
    if by_hand:
        closed = ladders.move_season("cup", ladder_pb2.SEASON_STATE_CLOSED)
        assert closed.state == ladder_pb2.SEASON_STATE_CLOSED
    else:
        cup.tick()
    assert cup.season_state() == "closed" and cup.book.has_seeds(played.id)
    told, closed_words = cup.events()[-2:]
    assert told.startswith("The finals of season 1 were stopped; ") and closed_words == "Season 1 is closed."


def test_what_is_told_about_finals_is_computed_once_however_many_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup = in_finals(tmp_path, "ann", "bob")
    _finals_told(cup, lambda match, entrant: entrant)
    asked: list[str] = []
    all_ask, second = threading.Barrier(4), threading.Barrier(2)

    def words(book: Book, season: Season) -> str:
        asked.append(season.finals)
        with contextlib.suppress(threading.BrokenBarrierError):
            second.wait(0.5)  # nobody else comes here meanwhile
        return finals_words(book, season)

    def note(_: int) -> str:
        all_ask.wait(10)
        return queries.standings("cup").notes[-1]

    monkeypatch.setattr(ladder_queries, "finals_words", words)
    queries = LadderQueries(cup.book)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(note, range(4))) == {cup.events()[-2]}
    assert asked == [cup.season.finals]


def test_the_table_of_a_closed_season_has_the_states_of_its_end(tmp_path: Path) -> None:
    cup = ticking(tmp_path)
    _played(cup, ("early/v1", "ann"), ("later/v1", "bob"))
    cup.tick()
    cup.book.retire(cup.build("early/v1"), "")
    _move(cup, SeasonState.CLOSING, SeasonState.FINALS)
    cup.tick()
    LadderFits(cup.book).fit_all()
    cup.tick()
    assert cup.season_state() == "closed"
    cup.book.retire(cup.build("later/v1"), "")

    lines = {line.build: line for line in LadderQueries(cup.book).standings("cup").lines}
    assert lines["early/v1"].state == ladder_pb2.BUILD_STATE_RETIRED and not lines["early/v1"].rank
    assert lines["later/v1"].state == ladder_pb2.BUILD_STATE_ACTIVE and lines["later/v1"].rank
    assert {line.state for line in lines.values() if line.bundled} == {ladder_pb2.BUILD_STATE_BUNDLED}


def test_a_season_with_too_few_builds_is_closed_without_finals(tmp_path: Path) -> None:
    cup = in_finals(tmp_path, "ann", "ann")
    cup.tick()
    assert cup.season_state() == "closed" and not cup.season.finals
    assert cup.events()[-2:] == [
        "Season 1 has no finals: builds of 1 owner qualified, and a table has 2 seats.",
        "Season 1 is closed.",
    ]


def test_a_season_without_any_game_is_closed(tmp_path: Path) -> None:
    cup = ticking(tmp_path)
    _move(cup, SeasonState.CLOSING, SeasonState.FINALS)
    assert cup.tick()
    LadderFits(cup.book).fit_all()
    cup.tick()
    assert cup.season_state() == "closed"


# ----------------------------------------------------------------------------------------------------------- next season
def test_the_next_season_keeps_builds_and_their_states(tmp_path: Path) -> None:
    cup = ticking(tmp_path)
    cup.enter("quick/v1", "ann", BuildState.ENTERED)
    cup.enter("good/v1", "bob")
    cup.enter("old/v1", "cleo")
    cup.enter("gone/v1", "dan", BuildState.PARKED, games=0)
    cup.tick()
    cup.book.retire(cup.build("old/v1"), "")
    _move(cup, SeasonState.CLOSING, SeasonState.FINALS)
    cup.tick()
    LadderFits(cup.book).fit_all()
    cup.tick()
    assert cup.season_state() == "closed"
    assert cup.book.open_season(*new_season(cup.book.ladder("cup"), 2, cup.book.builds("cup")))

    assert cup.season.number == 2 and cup.season.closing_ms is None
    assert cup.names(range(6)) == ["bundled-0", "bundled-1", "bundled-2", "gone/v1", "good/v1", "quick/v1"]
    states = {build.name: build.state.value for build in cup.book.builds("cup")}
    assert states == {"quick/v1": "qualifying", "good/v1": "active", "gone/v1": "parked", "old/v1": "retired"}
    cup.leave("quick/v1")
    cup.tick()
    assert not cup.tables(Kind.QUALIFICATION), "it is not connected"
    cup.connect("quick/v1")
    cup.tick()
    cup.play()
    cup.tick()
    assert cup.state("quick/v1") == "active", "it began again"
    assert any("good/v1" in cup.names(table.seats) for table in cup.tables(Kind.RATED))
