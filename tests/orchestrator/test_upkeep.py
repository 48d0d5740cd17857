"""Decisions between matches, from results alone: when a comparison stops, and which entrant is withdrawn at the end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator import planning
from orchestrator.book import Book, Match, Tournament
from orchestrator.book.tables import CANCELLED
from orchestrator.client import ArenaClient, ServiceAccess
from orchestrator.ratings.verdict import Verdict
from orchestrator.report.page import cautions
from orchestrator.report.report_data import answer_so_far, question_of, read_report_data
from orchestrator.roster import GameFacts, read_roster
from orchestrator.upkeep import Upkeep
from tests.harness.tournaments import roster_text
from tests.orchestrator.ladder.ticking import Arena

_FACTS: Final = [GameFacts("relief", 1, (2, 3))]


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    opened = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    yield opened
    opened.close()


@pytest.fixture
def upkeep(book: Book) -> Iterator[Upkeep]:
    """An upkeep that makes no calls to the service."""
    with ArenaClient(ServiceAccess("127.0.0.1:1", "nobody")) as client:
        yield Upkeep(book, client)


def _enter(book: Book, bots: int = 2, **settings: Any) -> tuple[Tournament, list[Match]]:
    given: dict[str, Any] = {"game": "relief", "players": 2, "seed": 3} | settings
    names = ("ann", "bob", "cat", "dan", "eve")[:bots]
    tournament = planning.enter(book, read_roster(roster_text(dict.fromkeys(names, "random"), **given), _FACTS))
    return tournament, [match for match, _ in book.matches(tournament.id, limit=100_000)]


def _record(book: Book, match: Match, ahead: int | None) -> None:
    """Record results in which entrant ``ahead`` has the better rank; None means a draw."""
    ranks = tuple(1 if ahead in (None, entrant) else 2 for entrant in match.seats)
    assert book.record_once(match, match.result(ranks, (0, 0), ("", ""), (1, 1), "LAST_TILE", 10))


# ---------------------------------------------------------------------------------------------------------- comparisons
def test_a_comparison_stops_when_it_is_decided(book: Book, upkeep: Upkeep) -> None:
    """Blocks count in schedule order; matches that were handed out are played to their end, the rest are dropped."""
    tournament, planned = _enter(book, format="compare", max_blocks=100)
    out = book.hand_out(82, 60_000)
    for match in planned[2:80]:
        _record(book, match, 0)
    upkeep.look_after(tournament, book.progress(tournament.id))
    assert book.progress(tournament.id).dropped == 0, "the first block is still open"
    assert read_report_data(book, tournament.id).test == answer_so_far(book, tournament), (
        "the report uses the same blocks"
    )
    for match in planned[:2]:
        _record(book, match, 0)
    Upkeep(book, upkeep._client).look_after(tournament, book.progress(tournament.id))
    progress = book.progress(tournament.id)
    assert (progress.recorded, progress.out, progress.planned, progress.dropped) == (80, 2, 0, 118)
    for match in out[-2:]:
        _record(book, match, 1)
    test = read_report_data(book, tournament.id).test
    assert test is not None and test.verdict is Verdict.BETTER and test.blocks < 40


def test_a_comparison_skips_a_block_that_cannot_be_played(book: Book) -> None:
    tournament, planned = _enter(book, format="compare", max_blocks=100)
    assert book.give_up(book.hand_out(1, 60_000)[0], "void eleven times")
    for match in planned[1:80]:
        _record(book, match, 0)
    answer = answer_so_far(book, tournament)
    assert answer is not None and answer.verdict is Verdict.BETTER
    test = read_report_data(book, tournament.id).test
    assert test == answer, "an incomplete block does not count"


def test_a_comparison_plays_at_most_the_blocks_of_the_roster(book: Book) -> None:
    tournament, planned = _enter(book, format="compare", max_blocks=60)
    about_half_the_effect = (0, 1, None, 0, None, 1, 0, None, 1, 0)
    for match in planned[:-1]:
        _record(book, match, about_half_the_effect[match.block % 10])
    answer = answer_so_far(book, tournament)
    assert answer is not None and (answer.verdict, answer.blocks) == (Verdict.RUNNING, 59)
    _record(book, planned[-1], None)
    answer = answer_so_far(book, tournament)
    assert answer is not None and (answer.verdict, answer.blocks) == (Verdict.UNDECIDED, 60)


@pytest.mark.parametrize(("asked", "most"), [({"max_blocks": 3000}, 3000), ({}, 5000)])
def test_a_comparison_has_at_most_5000_blocks_unless_the_roster_says_otherwise(
    book: Book, asked: dict[str, int], most: int
) -> None:
    tournament, planned = _enter(book, format="compare", **asked)
    assert len(planned) == 2 * most and question_of(tournament.spec).most_blocks == most


def test_a_comparison_of_fewer_than_sixteen_blocks_stays_undecided(book: Book) -> None:
    tournament, planned = _enter(book, format="compare", max_blocks=9)
    for match in planned:
        _record(book, match, 0)
    test = read_report_data(book, tournament.id).test
    assert test is not None and test.verdict is Verdict.UNDECIDED and test.trace == ()


# ---------------------------------------------------------------------------------------------------------- withdrawals
def test_what_was_played_of_a_cancelled_tournament_keeps_its_seeds(book: Book) -> None:
    """A block that is stopped between two of its games is never over for a worker, so a tick archives it, once."""
    tournament, planned = _enter(book, deals=1)
    book.record_once(planned[0], planned[0].result((1, 2), (0, 0), ("", ""), (1, 1), "over", 10), "{}\n")
    book.set_state(tournament.id, CANCELLED)
    arena = Arena()
    upkeep = Upkeep(book, arena)
    arena.is_away = True
    upkeep.look_after_all()
    assert not book.has_seeds(planned[0].id)

    arena.is_away = False
    for _ in range(3):
        upkeep.look_after_all()
    assert book.has_seeds(planned[0].id) and arena.revealed == [planned[0].session]


def test_the_fault_policy_is_applied_once_more_at_the_end(book: Book, upkeep: Upkeep) -> None:
    """The last games may end between two checks; the table must not depend on that."""
    tournament, planned = _enter(book, bots=3, deals=25)
    absent = 2
    for match in planned:
        faults = tuple("NO_SHOW" if entrant == absent else "" for entrant in match.seats)
        ranks = tuple(2 if fault else 1 for fault in faults)
        book.record_once(match, match.result(ranks, (0, 0), faults, (1, 1), "LAST_TILE", 10), "")
        book.keep_replay(match, "", has_seeds=True)
    upkeep.finish(tournament)
    (found,) = book.withdrawals(tournament.id)
    assert (found.entrant, found.is_removed) == (absent, True)
    report_data = read_report_data(book, tournament.id)
    assert len(report_data.games) == 50 and report_data.standings.entrants[-1].games == 0
    reply = " ".join(cautions(report_data))
    assert "cat was withdrawn: it forfeited 20 of its first 20 games" in reply
    assert "cancelled" not in reply
