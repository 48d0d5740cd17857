"""Duplicate deals must not reward a bot that remembers earlier games of its block."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from orchestrator.book import Book
from orchestrator.schedule.ids import DUPLICATES, Duplicate, seeds_of
from service import games
from service.games.chance import Draws, Seeds
from service.games.core import Seat
from service.games.relief.view import SeatView
from tests.example_game import GAME
from tests.example_game.actions import Action, Send
from tests.example_game.box import CREWS, FINDS
from tests.example_game.players import greedy
from tests.example_game.state import SENDING, State
from tests.harness.processes import logs
from tests.harness.tournaments import roster_text, script, start_roster

_BLOCKS: Final = 2000
_SECRET: Final = b"no elephant knows this secret..."


class Elephant:
    """Plays Salvage as the built-in player does, but on a known table it sends what just beats the cards it remembers."""

    def __init__(self) -> None:
        self._memory: dict[tuple[int, ...], tuple[Seat, list[int]]] = {}
        self._other: list[int] = []

    def sit_down(self, state: State, seat: Seat) -> None:
        """Remember the public cards and its own hand, nothing else."""
        table = (*state.finds, state.open)
        sat, held = self._memory.get(table, (seat, []))
        self._other = held if sat != seat else []
        self._memory[table] = (seat, list(state.hands[seat]))

    def choose(self, state: State, seat: Seat, draws: Draws) -> Action:
        usual = greedy(state, seat, draws)
        is_dear = FINDS[state.finds[0]].worth >= 3
        if state.phase != SENDING or state.round != 0 or not self._other or not is_dear:
            return usual
        pretended = GAME.copy(state)
        pretended.hands[1 - seat] = sorted(self._other)
        expected = greedy(pretended, 1 - seat, draws)
        assert isinstance(expected, Send)
        hand = sorted(state.hands[seat], key=lambda crew: CREWS[crew].strength)
        stronger = [crew for crew in hand if CREWS[crew].strength > CREWS[expected.crew].strength]
        return Send(stronger[0] if stronger else hand[0])


def _gain(duplicate: Duplicate) -> tuple[float, float]:
    """Return how much better an elephant does in the second game of a block than the built-in player, and the error."""
    elephant = Elephant()
    gains = []
    for block in range(_BLOCKS):
        for rotation, seat in ((0, 0), (1, 1)):
            drawn = seeds_of(_SECRET, 0, block, rotation, duplicate)
            seeds = Seeds(drawn.table, drawn.deck)
            remembering = _play(seeds, seat, elephant.choose, elephant)
        gains.append(remembering - _play(seeds, seat, greedy, None))
    return float(np.mean(gains)), float(np.std(gains) / np.sqrt(_BLOCKS))


def _play(seeds: Seeds, seat: Seat, choose: Callable[[State, Seat, Draws], Action], elephant: Elephant | None) -> float:
    """Play one game against built-in players; return the rank points of the seat."""
    state = GAME.new(2, {}, seeds)
    if elephant is not None:
        elephant.sit_down(state, seat)
    draws = Draws(seeds.deck, "players")
    while acting := GAME.to_act(state):
        mover = acting[0]
        GAME.apply(state, mover, (choose if mover == seat else greedy)(state, mover, draws))
    outcome = GAME.outcome(state)
    assert outcome is not None
    own, other = outcome.ranks[seat], outcome.ranks[1 - seat]
    return 1.0 if own < other else 0.5 if own == other else 0.0


def test_memory_helps_only_when_every_card_is_dealt_again() -> None:
    gains = {duplicate: _gain(duplicate) for duplicate in DUPLICATES}
    mean, error = gains["full"]
    assert mean > 5 * error, f"the elephant must gain here, or this test proves nothing: {gains}"
    for duplicate in ("table", "none"):
        mean, error = gains[duplicate]
        assert mean < 2 * error, f"{duplicate}: memory pays: {gains}"


@pytest.mark.slow
@pytest.mark.parametrize("duplicate", ["table", "full"])
def test_memory_is_worth_nothing_in_a_real_tournament(tmp_path: Path, duplicate: str) -> None:
    """The cards the bot expects and the dealt ones: all are right with full duplicates, else at most one by chance."""
    deals = 5
    bots = {"elephant": script("elephant"), "random": "random"}
    roster = roster_text(
        bots, "trusted = true", name="zoo", game="relief", players=2, deals=deals, seed=4, duplicate=duplicate
    )
    run = start_roster(tmp_path, roster, "--quiet", "--concurrency", "1")  # one game after the other
    code, said, complained = run.end(180)
    assert code == 0, said + complained + logs(run.folder)
    (output,) = (run.folder / "arena" / "bots").glob("*/slot-0/elephant/output.log")
    reply = [
        json.loads(line.split(" ", 1)[1]) for line in output.read_text().splitlines() if line.startswith("elephant {")
    ]
    assert len(reply) == 2 * deals
    book = Book(f"sqlite:///{run.folder / 'book.sqlite'}")
    believed = [line for line in reply if line["believes"] is not None]
    assert len(believed) == deals, "it recognises every table"
    right = 0
    for line in believed:
        match = book.match(line["match"])
        assert match is not None
        seat, cards = line["believes"]
        assert seat != line["seat"], "the other bot has that seat now"
        place = _dealt(Seeds(match.table_seed, match.deck_seed), seat)
        right += [place.objective, place.special] == cards
    book.close()
    assert right == deals if duplicate == "full" else right <= 1


def _dealt(seeds: Seeds, seat: Seat) -> SeatView:
    """Return the seat's own view of its cards before the first move."""
    relief = games.get("relief")
    place: SeatView = relief.view(relief.new(2, {}, seeds), seat).seats[seat]
    return place
