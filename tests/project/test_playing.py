"""Whole games of built-in players, and the sums over a series of games."""

from typing import Any

import pytest

from cli.simulate import Tally
from service.games.chance import seeds_of
from service.games.core import Outcome, Result, Seat
from service.games.playing import Played, Player, play_on, play_one, player_draws
from tests.example_game import GAME

RANDOM: list[Player] = [GAME.players["random"]] * 3
OPTIONS = GAME.complete(3, {})


def test_the_same_numbers_give_the_same_game() -> None:
    assert play_one(GAME, 3, OPTIONS, RANDOM, 7, 0) == play_one(GAME, 3, OPTIONS, RANDOM, 7, 0)


@pytest.mark.parametrize(("number", "index"), [(7, 1), (8, 0)])
def test_another_number_or_index_is_another_game(number: int, index: int) -> None:
    assert play_one(GAME, 3, OPTIONS, RANDOM, number, index).digest != play_one(GAME, 3, OPTIONS, RANDOM, 7, 0).digest


def test_every_seat_has_its_own_random_numbers() -> None:
    draws = [[draws.below(1_000_000) for _ in range(5)] for index in (0, 1) for draws in player_draws(7, index, 3)]

    assert len({tuple(draw) for draw in draws}) == 6


def test_play_stops_after_a_number_of_plies_and_continues_from_there() -> None:
    whole = GAME.new(3, {}, seeds_of(7))
    parts = GAME.copy(whole)
    length = play_on(GAME, whole, RANDOM, player_draws(7, 0, 3))
    draws_by_seat = player_draws(7, 0, 3)

    assert play_on(GAME, parts, RANDOM, draws_by_seat, plies=5) == 5
    assert play_on(GAME, parts, RANDOM, draws_by_seat) == length - 5
    assert GAME.to_plain(parts) == GAME.to_plain(whole)


def test_seats_that_act_together_are_asked_in_order() -> None:
    state = GAME.new(3, {}, seeds_of(7))
    asked: list[Seat] = []

    def apply(state: Any, seat: Seat, action: Any) -> None:
        asked.append(seat)
        GAME.apply(state, seat, action)

    assert list(GAME.to_act(state)) == [0, 1, 2]
    play_on(GAME, state, RANDOM, player_draws(7, 0, 3), plies=3, apply=apply)
    assert asked == [0, 1, 2]


def played(*ranks: int, house: tuple[int, ...] = ()) -> Played:
    seats = tuple(Result(f"seat {seat}", rank, 10 * rank, ()) for seat, rank in enumerate(ranks))
    return Played(Outcome(seats, "OVER", tuple(Result("Bank", rank, 5, ()) for rank in house)), 4, "00")


def test_a_shared_victory_is_split() -> None:
    tally = Tally(["random"] * 3)
    tally.add(played(1, 1, 3))
    tally.add(played(1, 1, 1))

    assert [float(line.wins) for line in tally.seats] == pytest.approx([5 / 6, 5 / 6, 1 / 3])


def test_games_that_no_seat_wins_are_won_by_the_game() -> None:
    tally = Tally(["random"])
    tally.add(played(2, house=(1,)))
    tally.add(played(1, house=(1,)))
    tally.add(played(1, house=(2,)))

    assert float(tally.seats[0].wins) == 1.5
    assert float(tally.house["Bank"].wins) == 1.5
