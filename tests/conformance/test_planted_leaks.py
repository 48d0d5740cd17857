"""The checks that every real game passes find leaks planted in it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from service.games.chance import Draws
from service.games.core import Seat
from tests.conformance import checks_hidden, planted
from tests.conformance.subjects import Setup
from tests.conformance.walks import Walk, draws, pool_of, remembered

SOME = 5
REDEALS = 16
Ask = Callable[[Setup, Any, Seat, Draws], object]


def ask_redeal(table: Setup, state: Any, seat: Seat, chance: Draws) -> None:
    foreign = [table.game.read(text) for text in pool_of(table).some(8, chance)]
    checks_hidden.check_redeal(table, state, seat, foreign, chance)


PLANTED: dict[planted.Planter, Ask] = {
    planted.in_the_view: ask_redeal,
    planted.in_the_offer: ask_redeal,
    planted.in_a_refusal: ask_redeal,
    planted.in_the_automaton: checks_hidden.check_players,
    planted.in_the_sampler: checks_hidden.check_sample,
}


def crossroads(walk: Walk) -> list[tuple[int, Seat]]:
    """An early and a later ply at which some seat has a choice."""
    found = [
        (ply, seat) for ply, offer in enumerate(walk.offers) for seat, options in offer.items() if len(options) > 1
    ]
    return [found[0], found[len(found) // 2]]


@pytest.mark.parametrize("planter", PLANTED, ids=lambda planter: planter.__name__)
def test_a_planted_leak_is_found(plain_table: Setup, planter: planted.Planter) -> None:
    game, question = plain_table.game, PLANTED[planter]
    for ply, seat in crossroads(walk := remembered(plain_table, 1)):
        state = game.copy(walk.states[ply])
        places = planted.hidden_places(game, state, seat, draws("places", ply))
        if not places:  # no hidden place: correct only for a game without hidden cards
            chance = draws("open", str(plain_table))
            is_open = checks_hidden.is_dealt_open(plain_table, chance.seed(), chance)
            assert is_open, f"{plain_table}: nothing is hidden from seat {seat} at ply {ply}"
            continue
        for place in [places[at * (len(places) - 1) // (SOME - 1)] for at in range(SOME)]:
            peek = planted.peek_at(game, place)
            foul = replace(plain_table, game=planter(game, peek, peek(state)))
            chance = draws("planted", ply, place)
            with pytest.raises(AssertionError, match=r"hidden cards|more than the bytes of the view"):
                for _ in range(REDEALS):
                    question(foul, state, seat, chance)
