"""The end of a season."""

from itertools import product

import numpy as np
import pytest

from bench.ladder_field import blocks_of, play
from orchestrator.ladder.ratings import FEW_GAMES, Standing, rate
from orchestrator.ladder.seasons import blocks_to_swap, finals_field, finals_plan
from orchestrator.ladder.states import BadMove, SeasonState, move


def test_a_season_goes_through_its_states_in_order_and_never_back() -> None:
    order = list(SeasonState)
    for one, other in product(SeasonState, repeat=2):
        if order.index(other) == order.index(one) + 1:
            assert move(one, other) is other
        else:
            with pytest.raises(BadMove, match=f"the season is {one} and cannot become {other}"):
                move(one, other)


def line(build: int, rank: int, games: int = 100) -> Standing:
    return Standing(build, rank, (1, 6), 0.0, 0.0, games, games // 4, is_provisional=True)


def test_the_finals_take_the_best_build_of_each_owner() -> None:
    owner = ["ann", "ann", "bob", None, "cleo", "dan"]
    lines = [line(4, 5), line(0, 1), line(1, 2), line(3, 3), line(2, 4, FEW_GAMES - 1), line(5, 6, FEW_GAMES)]

    assert finals_field(lines, owner, 2) == (0, 4), "1 is ann's second, 3 bundled, 2 has few games"
    assert finals_field(lines, owner, 9) == (0, 4, 5), "a wide rank set keeps nobody out"


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_the_finals_are_exactly_balanced(seats: int) -> None:
    plan = finals_plan("finals", bytes(32), "rules", [(f"b{at}", "1") for at in range(6)], seats, deals=2)
    survey = plan.survey()

    assert survey.meetings is not None and survey.meetings[0] == survey.meetings[1] > 0
    assert survey.imbalance == 0 and len(set(survey.games.values())) == 1


def test_the_blocks_that_hold_a_rank_are_counted_by_removing_them() -> None:
    rng = np.random.default_rng(1)
    sitting = np.array([rng.choice(6, 4, replace=False) for _ in range(200)])
    results = blocks_of(6, *play(rng, np.array([1.0, 0.6, 0.0, 0.0, -0.5, -0.5]), sitting))
    ratings = rate(results, [])
    first, second, *_, last = np.argsort(-ratings.strength).tolist()
    narrow = blocks_to_swap(results, ratings, first, second)
    wide = blocks_to_swap(results, ratings, first, last)

    assert narrow is not None and 1 <= narrow < 60
    assert wide is None or wide > 2 * narrow
    assert blocks_to_swap(results, ratings, second, first) == 0
