"""The engine and a naive scorer agree on a thousand final positions, and on the ends of played games."""

import pytest

from service.games.relief import RELIEF
from service.games.relief.box import TILES, tiles_of_level
from service.games.relief.building import put
from service.games.relief.state import BY_BUILD, OVER, State
from tests.games.relief.naive_scorer import final
from tests.games.relief.tables import draws, ended, new


def some_end(number: int) -> State:
    """Returns a finished table with random buildings and close scores, so that ties are not rare."""
    chance = draws(f"end {number}")
    seats = 2 + number % 2
    table = new(seats, number, objectives=("all", "own")[number // 2 % 2])
    tiles = [*tiles_of_level(1, seats), *tiles_of_level(2, seats)]
    chance.shuffle(tiles)
    most = (1, 4, 9)[number % 3]
    for player in table.players:
        built = [tiles.pop() for _ in range(chance.below(most + 1))]
        if chance.below(2):
            built.append(player.special)
            player.special = -1
        for tile in built:
            places = [*player.sites[TILES[tile].icon], *([len(player.tops)] if len(player.tops) < 14 else [])]
            put(player, tile, places[chance.below(len(places))])
        player.goods = [chance.below(4) for _ in player.goods]
        player.leaders = 2 + chance.below(8)
        player.track = chance.below(3)
    table.phase, table.trigger = OVER, BY_BUILD
    return table


def test_on_a_thousand_final_positions() -> None:
    """5.11, 5.17, 5.18, 5.30, C28, C29"""
    tied = 0
    for number in range(1000):
        table = some_end(number)
        scores, ranks = final(RELIEF.view(table, None))
        assert (list(ended(table).scores), list(ended(table).ranks)) == (scores, ranks), f"position {number}"
        tied += len(set(scores)) < len(scores)
    assert tied > 20  # otherwise the tie-breaks are hardly tested


@pytest.mark.parametrize("seats", [2, 3])
def test_at_the_end_of_played_games(seats: int) -> None:
    """5.18"""
    for number in range(5):
        table = new(seats, number)
        chance = draws(f"game {number}")
        while acting := RELIEF.to_act(table):
            RELIEF.apply(
                table, acting[0], RELIEF.players["greedy" if number % 2 else "random"](table, acting[0], chance)
            )
        assert (list(ended(table).scores), list(ended(table).ranks)) == final(RELIEF.view(table, None))
