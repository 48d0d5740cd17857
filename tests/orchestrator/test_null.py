"""Whole tournaments of bundled bots, played in memory: equal bots rate equal, and the stronger bot leads."""

import random
from hashlib import blake2b
from pathlib import Path
from typing import Final

import pytest

from orchestrator import planning
from orchestrator.book import Book, Match, Tournament
from orchestrator.ratings.table import Standings, standings
from orchestrator.records import Game
from orchestrator.roster import GameFacts, read_roster
from service import games
from service.games.chance import SEED_BYTES, Draws, Seeds
from service.games.playing import play_on
from tests.harness.tournaments import roster_text

#: Two names for one bot, and one that is known to be stronger.
_BOTS: Final = {"one": "random", "same": "random", "strong": "greedy"}
_DEALS: Final = 40


def _game(tournament: Tournament, match: Match) -> Game:
    relief = games.get("relief")
    names = [tournament.spec.entrants[entrant] for entrant in match.seats]
    state = relief.new(len(names), {}, Seeds(match.table_seed, match.deck_seed))
    draws_by_seat = [
        Draws(blake2b(f"{match.id}/{name}".encode(), digest_size=SEED_BYTES).digest(), "player") for name in names
    ]
    play_on(relief, state, [relief.players[_BOTS[name]] for name in names], draws_by_seat)
    outcome = relief.outcome(state)
    assert outcome is not None
    nobody, no_time = ("",) * len(names), (0,) * len(names)
    return Game(match.order, match.block, match.seats, tuple(outcome.ranks), tuple(outcome.scores), nobody, no_time)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[Game]]:
    folder: Path = tmp_path_factory.mktemp("null")
    book = Book(f"sqlite:///{folder / 'book.sqlite'}")
    text = roster_text(_BOTS, name="null", game="relief", players=2, deals=_DEALS, seed=1, reproducible=True)
    tournament = planning.enter(book, read_roster(text, [GameFacts("relief", 1, (2, 3))]))
    matches = [match for block in range(3 * _DEALS) for match in book.block(tournament.id, block)]
    book.close()
    assert len(matches) == tournament.planned == 6 * _DEALS
    return list(tournament.spec.entrants), [_game(tournament, match) for match in matches]


@pytest.fixture(scope="module")
def table(played: tuple[list[str], list[Game]]) -> Standings:
    entrants, finished = played
    return standings(finished, entrants, 2)


def test_one_bot_under_two_names_has_no_significant_difference(table: Standings) -> None:
    one, same, strong = range(3)
    pairs = {(pair.one, pair.other): pair for pair in table.pairs}
    low, high = pairs[one, same].ci95
    assert low < 0 < high
    group = {line.name: line.group for line in table.entrants}
    assert group["one"] == group["same"]
    assert all(pairs[weak, strong].ci95[1] < 0 for weak in (one, same)), (
        "otherwise the test could not show a difference"
    )


def test_the_stronger_bot_is_rated_higher(table: Standings) -> None:
    first = table.entrants[0]
    assert (first.name, first.rank, first.rank_range, first.group) == ("strong", 1, (1, 1), 1)
    assert all(line.group == 2 for line in table.entrants[1:])


def test_the_order_of_finishing_does_not_change_the_table(
    played: tuple[list[str], list[Game]], table: Standings
) -> None:
    entrants, finished = played
    shuffled = random.Random(2).sample(finished, len(finished))
    assert shuffled != finished
    assert standings(shuffled, entrants, 2) == table
