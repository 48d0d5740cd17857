"""Rank points: seats beaten plus half of those tied, divided by the number of opponents."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ratings.points import rank_points
from orchestrator.ratings.results import in_schedule_order, read
from orchestrator.records import Game
from tests.orchestrator.ratings.drawn import results


@pytest.mark.parametrize(
    ("ranks", "points"),
    [
        ((1, 2), (1, 0)),
        ((2, 1), (0, 1)),
        ((1, 1), (0.5, 0.5)),
        ((3, 1, 2), (0, 1, 0.5)),
        ((1, 2, 2, 4), (1, 0.5, 0.5, 0)),
        ((1, 1, 1, 2), (2 / 3, 2 / 3, 2 / 3, 0)),
    ],
)
def test_points_by_hand(ranks: tuple[int, ...], points: tuple[float, ...]) -> None:
    assert rank_points(ranks) == pytest.approx(points)


@pytest.mark.parametrize("players", [2, 3, 4])
def test_points_add_up_to_half_the_seats_for_every_tie_pattern(players: int) -> None:
    for ranks in product(range(1, players + 1), repeat=players):
        assert sum(rank_points(ranks)) == pytest.approx(players / 2)


@pytest.mark.parametrize(
    ("ranks", "faults", "points"),
    [
        ((1, 2), ("timeout", ""), (0, 1)),
        # the automaton came first and third; the others keep their order and beat the forfeited seats
        ((1, 2, 3), ("crash", "", ""), (0, 1, 0.5)),
        ((2, 1, 3, 4), ("", "crash", "timeout", ""), (1, 0, 0, 2 / 3)),
        # the remaining seat does not tie with the automaton, though both are ranked first
        ((1, 1), ("", "refused"), (1, 0)),
        ((1, 2, 2, 4), ("", "", "", "crash"), (1, 0.5, 0.5, 0)),
        ((1, 2), ("crash", "crash"), (0, 0)),
    ],
)
def test_a_seat_with_a_fault_gets_nothing_and_the_others_beat_it(
    ranks: tuple[int, ...], faults: tuple[str, ...], points: tuple[float, ...]
) -> None:
    assert rank_points(ranks, faults) == pytest.approx(points)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=5), st.data())
def test_only_the_order_of_ranks_counts(ranks: list[int], data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.integers(1, 9), min_size=41, max_size=41))
    stretched = [sum(steps[: rank + 20]) for rank in ranks]

    assert rank_points(stretched) == rank_points(ranks)


def test_a_solo_game_alone_has_no_points() -> None:
    with pytest.raises(ValueError, match="need an opponent"):
        rank_points((1,))


def test_solo_games_are_compared_on_their_deal_by_score() -> None:
    """Deal 7: 30, 20 and 20 points, and a forfeit; only one bot has played deal 8, which says nothing yet."""
    games = [
        Game(0, 7, (2,), (1,), (20,), ("",), (0,)),
        Game(1, 7, (0,), (1,), (30,), ("",), (0,)),
        Game(2, 8, (0,), (1,), (90,), ("",), (0,)),
        Game(3, 7, (1,), (1,), (20,), ("",), (0,)),
        Game(4, 7, (3,), (1,), (99,), ("crash",), (0,)),
    ]
    columns = read(in_schedule_order(games, 4, 1), 4, 1)
    points = dict(zip(columns.entrant[0].tolist(), (columns.points[0] / columns.unit).tolist(), strict=True))

    assert columns.blocks == 1
    assert points == pytest.approx({0: 1, 1: 0.5, 2: 0.5, 3: 0})


def test_second_games_on_a_deal_are_compared_with_second_games() -> None:
    games = [
        Game(order, 1, (entrant,), (1,), (score,), ("",), (0,))
        for order, (entrant, score) in enumerate([(0, 5), (1, 4), (1, 9), (0, 1)])
    ]
    columns = read(in_schedule_order(games, 2, 1), 2, 1)

    assert (columns.points / columns.unit).tolist() == [[1, 0], [1, 0]]
    assert columns.entrant.tolist() == [[0, 1], [1, 0]]
    assert columns.block.tolist() == [0, 0]


def test_an_empty_seat_of_an_unfinished_deal_has_no_points() -> None:
    games = [
        Game(order, deal, (bot,), (1,), (bot,), ("",), (0,))
        for order, (deal, bot) in enumerate([(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)])
    ]
    columns = read(in_schedule_order(games, 3, 1), 3, 1)

    assert (columns.points / columns.unit).tolist() == [[0, 0.5, 1], [0, 1, 0]]
    assert columns.seated.tolist() == [[True, True, True], [True, True, False]]


def test_points_are_whole_units() -> None:
    columns = results("1: a>b=c>d\n1: d>c>b>a", "abcd")

    assert columns.unit == 6
    assert columns.points.sum(axis=1).tolist() == [12, 12]


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ([Game(1, 0, (0, 1), (1, 2), (2, 1), ("", ""), (0, 0))] * 2, "two games have place 1"),
        ([Game(1, 0, (0, 2), (1, 2), (2, 1), ("", ""), (0, 0))], "there are 2 entrants"),
        ([Game(1, 0, (0, 1, 0), (1, 2, 3), (3, 2, 1), ("",) * 3, (0,) * 3)], "3 seats in a tournament for 2"),
    ],
)
def test_invalid_games_are_refused(games: list[Game], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_schedule_order(games, 2, 2)


def test_a_game_has_one_item_per_seat() -> None:
    with pytest.raises(ValueError, match="game 3"):
        Game(3, 0, (0, 1), (1,), (2, 1), ("", ""), (0, 0))
