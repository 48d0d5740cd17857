"""The state: copying, storing, and its invariants."""

import copy
import json
import pickle
import timeit

from hypothesis import given, settings
from hypothesis import strategies as st

from service.games.relief import RELIEF
from service.games.relief.box import (
    BOX,
    FIRST_BUILDING,
    FIRST_SPECIAL,
    SPACES,
    SPECIALS,
    TILES,
    TOKENS,
    cards_of_level,
    tiles_of_level,
)
from service.games.relief.state import LEADERS, NEW_LEADERS, State, sites_of
from tests.games.relief.tables import draws, new

GAMES = st.tuples(st.integers(2, 3), st.integers(0, 1000))


def walk(seats: int, number: int) -> list[State]:
    """Every position of a random game."""
    table = new(seats, number)
    chance = draws(f"walk {number}")
    found = [table.copy()]
    while True:
        acting = RELIEF.to_act(table)
        if not acting:
            return found
        seat = acting[chance.below(len(acting))]
        RELIEF.apply(table, seat, RELIEF.players["random"](table, seat, chance))
        found.append(table.copy())


def check(table: State) -> None:
    """Checks the invariants."""
    for kind, token in enumerate(TOKENS):
        on_board = table.board[kind] if kind < len(table.board) else 0
        held = [player.goods[kind] for player in table.players]
        assert min(held) >= 0 <= on_board
        assert table.supply[kind] >= 0
        assert table.supply[kind] + on_board + sum(held) == token.count, f"{token.name} got lost"
    owned = sum(player.leaders for player in table.players)
    assert table.leader_supply + owned == BOX.leaders + 2 * len(table.players)
    for player in table.players:
        assert player.sites == sites_of(player.tops)
        assert 7 <= len(player.tops) == len(player.under) == len(player.uses) <= SPACES
        assert player.led < 1 << len(player.tops)
        assert player.led.bit_count() <= player.leaders
        assert max([*player.uses, player.builds, player.spends, player.trades]) <= 2
        for top, under in zip(player.tops, player.under, strict=True):
            assert {TILES[tile].icon for tile in under} <= {TILES[top].icon}
        assert player.unplaced == 0 or table.phase == LEADERS
    assert (table.in_hand > 0) == (table.phase == NEW_LEADERS)
    check_tiles_and_cards(table)


def check_tiles_and_cards(table: State) -> None:
    """Checks that every tile and every card lies in exactly one place."""
    seats = len(table.players)
    mats = [tile for player in table.players for under in player.under for tile in under]
    mats += [tile for player in table.players for tile in player.tops]
    buildings = [tile for tile in mats if FIRST_BUILDING <= tile < FIRST_SPECIAL]
    found = sorted([*buildings, *table.row, *table.discarded, *table.tiles[0], *table.tiles[1]])
    assert found == tiles_of_level(1, seats) + tiles_of_level(2, seats)
    in_hand = [player.special for player in table.players if player.special >= 0]
    specials = in_hand + [tile for tile in mats if tile in SPECIALS]
    assert len(set(specials)) == len(specials) == seats
    assert len({table.objective, *(player.objective for player in table.players)}) == seats + 1
    assert [mats.count(starter) for starter in range(FIRST_BUILDING)] == [seats] * FIRST_BUILDING
    for level in (0, 1):
        assert sorted(table.cards[level] + table.used_cards[level]) == cards_of_level(level + 1)


@settings(max_examples=20)
@given(GAMES)
def test_nothing_is_ever_lost(game: tuple[int, int]) -> None:
    """5.7, 5.28, 5.27, C35: tokens by their origin, leaders, tiles, cards and counts, in every position of random games."""
    for table in walk(*game):
        check(table)


def test_nothing_is_lost_in_a_sample() -> None:
    """5.19, 5.7, 5.27: re-dealt components lie in exactly one place too."""
    for number in range(6):
        seats = 2 + number % 2
        for table in walk(seats, number)[::5]:
            for seat in range(seats):
                check(RELIEF.sample(RELIEF.view(table, seat), seat, draws(f"belief {number}")))


@settings(max_examples=20)
@given(GAMES)
def test_lists_stay_short_and_are_never_empty(game: tuple[int, int]) -> None:
    """5.22, 5.23, 5.24, 5.25"""
    for table in walk(*game):
        for seat in range(len(table.players)):
            actions = RELIEF.legal_actions(table, seat)
            assert bool(actions) == (seat in RELIEF.to_act(table))
            assert len(actions) <= 90
            assert len(set(actions)) == len(actions)


def test_all_seats_have_equally_many_markers_so_none_is_skipped() -> None:
    """5.9: within a round no seat places twice in a row."""
    for number in range(6):
        for table in walk(3, number):
            left = [player.markers for player in table.players]
            assert max(left) - min(left) <= 1


def test_a_state_survives_the_store() -> None:
    for table in walk(3, 1)[::7]:
        plain = RELIEF.to_plain(table)
        again = RELIEF.from_plain(json.loads(json.dumps(plain)))
        assert RELIEF.to_plain(again) == plain
        assert [RELIEF.legal_actions(again, seat) for seat in range(3)] == [
            RELIEF.legal_actions(table, seat) for seat in range(3)
        ]


def test_a_state_can_be_pickled_and_deep_copied() -> None:
    table = walk(2, 4)[60]
    for twin in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert RELIEF.to_plain(twin) == RELIEF.to_plain(table)


def test_a_copy_shares_nothing_that_moves() -> None:
    for table in walk(3, 2)[::11]:
        before = RELIEF.to_plain(table)
        twin = RELIEF.copy(table)
        while RELIEF.to_act(twin):
            seat = RELIEF.to_act(twin)[0]
            RELIEF.apply(twin, seat, RELIEF.legal_actions(twin, seat)[-1])
        assert RELIEF.to_plain(table) == before


def test_copying_by_hand_is_ten_times_faster_than_deepcopy() -> None:
    table = walk(3, 3)[150]
    by_hand = min(timeit.repeat(table.copy, number=200, repeat=5))
    deep = min(timeit.repeat(lambda: copy.deepcopy(table), number=20, repeat=5)) * 10
    assert deep > 10 * by_hand


def test_the_same_seeds_and_actions_give_the_same_game() -> None:
    """5.31"""
    assert [RELIEF.to_plain(table) for table in walk(2, 5)] == [RELIEF.to_plain(table) for table in walk(2, 5)]
