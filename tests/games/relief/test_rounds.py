"""Rounds: first player, card, the sixth marker, level 2, the end."""

import pytest

from service.games.relief import RELIEF
from service.games.relief.box import CARDS, TILES, tiles_of_level
from service.games.relief.state import BY_BUILD, BY_REFILL, LEADERS, MARKERS, OVER, State, influence
from tests.games.relief.tables import (
    A,
    B,
    C,
    ended,
    lying,
    new,
    offers,
    pass_round,
    pass_until_markers,
    play,
    refusal,
    relief,
    row,
)

# First player


@pytest.mark.parametrize(
    ("counts", "token", "first"),
    [
        ((1, 3, 3), "A", A),
        ((1, 3, 2), "A", B),
        ((0, 2, 2), "C", C),
        ((0, 2, 2), "A", A),
        ((0, 0, 0), "B", B),
        ((2, 1, 0), "C", A),
    ],
)
def test_a_strict_maximum_of_influence_takes_the_token(counts: tuple[int, ...], token: str, first: int) -> None:
    """7.6, 7.39, 5.4, C30: on any tie for the most it stays where it is."""
    table = relief(f"A | B | C | phase: leaders | first: {token}")
    for player, count in zip(table.players, counts, strict=True):
        player.goods[8] = count
    assert pass_until_markers(table).first == first
    assert pass_until_markers(table).turn == first


def test_two_players_tied_leave_the_token() -> None:
    """7.39, 5.4"""
    assert pass_until_markers(relief("A N1 | B N1 | phase: leaders | first: B")).first == B


def test_influence_is_tokens_and_the_icons_of_visible_tiles() -> None:
    """5.4, 7.39: T18 covered by T17 loses one, T16 covered by T30 none."""
    before, after = relief("A N2 @7 T18 | B"), relief("A N2 @7 T18 T17 | B")
    assert [influence(table.players[A]) for table in (before, after)] == [3, 2]
    before, after = relief("A @5 T16 | B"), relief("A @5 T16 T30 | B")
    assert [influence(table.players[A]) for table in (before, after)] == [1, 1]


def test_influence_won_during_a_round_counts_from_the_next() -> None:
    """5.4, C30: turn order never changes during a round."""
    table = play(relief("A* | B $4 | C"), "pass", "B:spend $4", "C:pass")
    assert (table.turn, table.first) == (A, A)
    following = pass_until_markers(pass_round(table))
    assert (following.first, following.turn) == (B, B)
    assert [play(following, "pass").turn, play(following, "pass", "pass").turn] == [C, A]


def test_in_round_one_mat_one_begins() -> None:
    """5.4, C30"""
    assert pass_until_markers(new(3)).turn == A


# Cards


def test_from_round_two_on_a_card_is_turned_after_the_leaders() -> None:
    """5.2, 5.21"""
    table = pass_round(new(3))
    assert (table.round, table.phase, len(table.used_cards[0])) == (2, LEADERS, 1)
    assert len(pass_until_markers(table).used_cards[0]) == 2


def test_a_card_is_laid_as_far_as_the_supply_reaches() -> None:
    """7.37, 5.7, C35: the rest is lost; what lies there stays."""
    table = relief("phase: leaders | level: 2 | cards: B2 | board: W2 F1 | supply: W1 F0 | A | B")
    after = pass_until_markers(table)
    assert lying(after.board) == "W3 F1 S4 K1 D3 I3"
    empty = relief("phase: leaders | level: 2 | cards: B5 | board: S8 | A S9 | B")
    assert pass_until_markers(empty).board[2] == 8


def test_nothing_ever_clears_a_square() -> None:
    """5.7"""
    table = relief("A | B | board: W4 D2")
    after = pass_round(table)
    assert (after.board[0], after.board[4]) == (4, 2)
    heaped = relief("A | B | phase: leaders | cards: A1 | board: S10")
    assert pass_until_markers(heaped).board[2] == 14


@pytest.mark.parametrize("level", [1, 2])
def test_an_empty_pile_of_cards_is_shuffled_again_with_the_latest(level: int) -> None:
    """7.38, 5.8, 5.31: the six cards of that level, and no others."""
    letter = "AB"[level - 1]
    used = " ".join(f"{letter}{number}" for number in range(1, 7))
    table = relief(f"phase: leaders | level: {level} | used: {used} | round: 7 | A | B")
    assert table.cards[level - 1] == []
    after = pass_until_markers(table)
    pile, turned = after.cards[level - 1], after.used_cards[level - 1]
    assert (len(pile), len(turned), after.reshuffles[level - 1]) == (5, 1, 1)
    assert sorted(CARDS[card].id for card in pile + turned) == used.split()
    assert (after.cards[2 - level], after.reshuffles[2 - level]) == (table.cards[2 - level], 0)
    other = table.copy()
    other.deck_seed = bytes(32)
    again = pass_until_markers(other)
    assert turned + pile != again.used_cards[level - 1] + again.cards[level - 1]


def test_each_reshuffle_has_its_own_purpose() -> None:
    """5.31"""
    table = relief("phase: leaders | used: A1 A2 A3 A4 A5 A6 | round: 7 | A | B")
    again = table.copy()
    again.reshuffles = [1, 0]
    first, second = pass_until_markers(table), pass_until_markers(again)
    assert first.used_cards[0] + first.cards[0] != second.used_cards[0] + second.cards[0]


# Level 2


def build_at(markers: tuple[int, int, int], seat: str) -> State:
    """Three players; the seat builds, and its build brings the first tile of level 2."""
    seats = [
        f"{name}{'*' if name == seat else ''} {'start ' if name == seat else ''}m{left}"
        for name, left in zip("ABC", markers, strict=True)
    ]
    table = relief(f"row: T01 T07 T10 T14 T18 | pile: T19 T20 T21 | first: A | {' | '.join(seats)}")
    return play(table, f"{seat}:build T01 @1")


@pytest.mark.parametrize(
    ("before", "seat", "left", "order"),
    [
        ((0, 1, 1), "B", (1, 1, 2), [C, A, B, C]),
        ((0, 0, 1), "C", (1, 1, 1), [A, B, C]),
        ((5, 5, 5), "A", (5, 6, 6), [B, C, A]),
    ],
)
def test_the_sixth_marker_is_handed_out_at_once(
    before: tuple[int, int, int], seat: str, left: tuple[int, ...], order: list[int]
) -> None:
    """7.32, 5.9, C16, C17: usable in that same round; play goes on clockwise after the builder."""
    table = build_at(before, seat)
    assert table.level_two
    assert tuple(player.markers for player in table.players) == left
    turns = []
    for _ in order:
        turns.append(table.turn)
        table = play(table, "pass")
    assert turns == order


def test_the_last_tile_of_level_one_changes_nothing() -> None:
    """5.26, 5.8"""
    table = play(relief("row: T01 T07 T10 T14 T18 | pile: T02 T19 T20 | A* start | B"), "build T01 @1")
    assert not table.level_two
    assert (row(table), table.players[B].markers) == ("T02 T07 T10 T14 T18", 5)


def test_level_two_cards_from_the_round_after_level_two_begins() -> None:
    """7.33, C27, 5.8"""
    table = relief("row: T01 T07 T10 T14 T18 | pile: T19 T20 T21 | round: 4 | used: A1 A2 A3 A4 | A* start | B")
    table = play(table, "build T01 @1")
    assert table.used_cards[1] == []
    after = pass_until_markers(pass_round(table))
    assert (after.round, len(after.used_cards[0])) == (5, 4)
    assert [CARDS[card].level for card in after.used_cards[1]] == [2]


def test_level_two_beginning_in_the_discard_step() -> None:
    """7.33, 5.8: six markers from the start of the next round, none added to this one."""
    table = relief("row: T01 T07 T10 T14 T18 | pile: T19 T20 T21 | round: 4 | A* m1 | B m1")
    one = play(table, "pass")
    assert [player.markers for player in one.players] == [0, 1]
    following = play(one, "pass")
    assert (following.round, following.level_two) == (5, True)
    assert [player.markers for player in following.players] == [6, 6]
    assert [CARDS[card].level for card in pass_until_markers(following).used_cards[1]] == [2]


def test_level_one_cards_left_over_are_out_of_the_game() -> None:
    """5.8"""
    table = relief("level: 2 | phase: leaders | used: A1 | A | B")
    after = pass_until_markers(table)
    assert (len(after.cards[0]), len(after.cards[1])) == (5, 5)


@pytest.mark.parametrize(("seats", "last_of_one", "trigger"), [(3, 13, 30), (2, 9, 22)])
def test_which_refill_brings_what(seats: int, last_of_one: int, trigger: int) -> None:
    """7.10, 7.38, C31: the last of level 1, the first of level 2, the end trigger."""
    table = new(seats)
    count, begun, sixth, emptied = 0, 0, 0, 0
    while not emptied:
        table = pass_round(table)
        count += 1
        if not table.tiles[0] and not begun:
            begun = count
        if table.level_two and not sixth:
            sixth = count
        if table.trigger:
            emptied = count
    assert (begun, sixth, emptied) == (last_of_one, last_of_one + 1, trigger)


def test_the_two_triggers_never_meet_in_one_round() -> None:
    """5.26: at least twelve refills lie between them, a round has at most seven."""
    assert len(tiles_of_level(2, 2)) - 1 == 12 > 2 * 3 + 1


# The end


def test_the_trigger_in_the_marker_phase_lets_all_place_their_remaining_markers() -> None:
    """7.34, 5.10, 5.26, C31: later builds leave four, three tiles; no discard after it."""
    table = relief("row: T19 T29 T31 T33 T34 | pile: T35 | level: 2 | A* F9 S9 K9 W1 m6 | B W5 S5 m6 | round: 8")
    table = play(table, "build T19 @1")
    assert (table.trigger, row(table), table.phase) == (BY_BUILD, "T35 T29 T31 T33 T34", MARKERS)
    table = play(table, "B:pass", "build T29 @5")
    assert row(table) == "T35 T31 T33 T34"
    while table.phase == MARKERS:
        assert RELIEF.outcome(table) is None
        table = play(table, "pass")
    assert (table.phase, table.round, row(table)) == (OVER, 8, "T35 T31 T33 T34")
    assert ended(table).ending == "LAST_TILE_BY_BUILD"


def test_the_trigger_by_the_last_marker_ends_the_game_at_once() -> None:
    """7.34, 5.10"""
    table = relief("row: T19 T29 T31 T33 T34 | pile: T35 | level: 2 | A m0 | B* F9 S9 K9 m1")
    table = play(table, "B:build T19 @1")
    assert (table.phase, len(table.row), table.discarded) == (OVER, 5, [])
    assert list(RELIEF.to_act(table)) == []
    assert refusal(table, A, "pass") == "GAME_OVER"


def trigger_by_discard(options: str) -> State:
    table = relief(f"row: T19 T29 T31 T33 T34 | pile: T35 | level: 2 | A* m1 | B m1 | round: 8 | options: {options}")
    return play(table, "pass", "B:pass")


def test_the_trigger_in_the_discard_step_gives_one_more_full_round() -> None:
    """7.35, 5.10, 5.30"""
    table = trigger_by_discard("-")
    assert (table.trigger, table.round, table.phase) == (BY_REFILL, 9, LEADERS)
    assert [player.markers for player in table.players] == [6, 6]
    table = pass_until_markers(table)
    assert len(table.used_cards[1]) == 1
    last = pass_round(table)
    assert (last.phase, last.round, len(last.row), len(last.discarded)) == (OVER, 9, 5, 1)
    assert ended(last).ending == "LAST_TILE_BY_REFILL"


def test_a_build_in_that_round_leaves_four_and_changes_nothing_about_the_end() -> None:
    """5.10, 5.26: the last tile came in by the discard, and nothing follows it."""
    table = relief("row: T19 T29 T31 T33 T34 | pile: T35 | level: 2 | A* F1 S3 K3 m1 | B m1 | round: 8")
    table = pass_until_markers(play(table, "pass", "B:pass"))
    assert row(table) == "T35 T19 T29 T31 T33"
    table = play(table, "build T19 @1")
    assert (row(table), table.trigger) == ("T35 T29 T31 T33", BY_REFILL)
    assert ended(pass_round(table)).ending == "LAST_TILE_BY_REFILL"


def test_with_the_option_the_game_stops_at_the_discard() -> None:
    """7.35, 5.30"""
    table = trigger_by_discard("stop")
    assert (table.phase, table.round) == (OVER, 8)


@pytest.mark.parametrize(
    ("seats", "option", "rounds"), [(3, "full_round", 31), (2, "full_round", 23), (3, "stop", 30), (2, "stop", 22)]
)
def test_a_game_of_passes_ends(seats: int, option: str, rounds: int) -> None:
    """7.8, 7.35, C33: one tile leaves in every round, so every game ends."""
    table = new(seats, end_on_discard=option)
    while RELIEF.to_act(table):
        table = pass_round(table)
    assert table.round == rounds


def test_a_round_sees_a_row_of_five_until_the_end() -> None:
    """5.21, C18"""
    table = new(3)
    while not table.trigger:
        assert len(table.row) == 5
        table = pass_round(table)


def test_markers_are_placed_one_by_one_clockwise() -> None:
    """5.21, 5.22"""
    table = pass_until_markers(new(3))
    turns = []
    while table.round == 1:
        turns.append(table.turn)
        assert all(offers(table, seat) == [] for seat in range(3) if seat != table.turn)
        table = play(table, "pass")
    assert turns == [A, B, C] * 5


def test_a_seat_with_a_marker_is_always_asked() -> None:
    """5.25: skipping it would reveal that its special cannot be paid."""
    table = play(relief("supply: T0 | A* | B m3 | C"), "pass")
    assert (table.turn, offers(table, B)) == (B, ["pass"])


def test_all_tiles_are_somewhere() -> None:
    """5.27"""
    table = pass_round(pass_round(new(3)))
    assert len(table.row) + len(table.discarded) + len(table.tiles[0]) + len(table.tiles[1]) == 35
    assert len({TILES[tile].id for tile in (*table.row, *table.discarded, *table.tiles[0], *table.tiles[1])}) == 35
