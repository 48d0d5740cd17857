"""Using a tile: taking, helping, gaining, scoring, training, and what a leader adds."""

import pytest

from service.games.relief.box import TILES
from tests.games.relief.tables import A, B, goods, lying, offers, play, refusal, relief


def used(drawing: str, space: int) -> str:
    """What seat A holds after using the tile on this space."""
    return goods(play(relief(f"A* {drawing} | B"), f"use @{space}"), A)


def test_a_tile_takes_from_the_board_not_from_the_supply() -> None:
    """C34"""
    table = play(relief("board: W2 | A* | B"), "use @1")
    assert (goods(table, A), lying(table.board)) == ("W1", "W1")
    assert table.supply[0] == 12


def test_with_an_empty_square_there_is_nothing_to_take() -> None:
    """C34, 5.16: the tile is not offered even if the supply is full."""
    table = relief("A* | B")
    assert offers(table, A, "use") == ["use @5"]  # stories come from the supply
    assert refusal(table, A, "use @1") == "NOTHING_TO_GAIN"


@pytest.mark.parametrize(("on_board", "taken"), [(1, 1), (3, 2)])
def test_a_leader_adds_one_as_far_as_the_board_reaches(on_board: int, taken: int) -> None:
    """7.2, C23, C35, 5.7, 5.13"""
    assert used(f"@1 ! | board: W{on_board}", 1) == f"W{taken}"


def test_the_leader_bonus_holds_for_each_kind() -> None:
    """7.3, 5.13: D1 I2 becomes D2 I3, of which the board gives what it has."""
    assert used("@4 T12 ! | board: D1 I4", 4) == "K1/3/0"
    assert used("@4 T12 | board: D3 I4", 4) == "K1/2/0"


def test_the_bonus_on_money_and_points() -> None:
    """C23"""
    assert used("@5 T15 !", 5) == "$3"
    assert play(relief("A* @7 T33 ! | B"), "use @7").players[A].track == 3


def test_helped_people_become_workers_of_their_origin() -> None:
    """5.20, 5.7: a flipped token is still that token."""
    table = play(relief("board: D2 I2 K2 | A* | B"), "use @4")
    assert (goods(table, A), lying(table.board)) == ("K1/0/0", "K2 D1 I2")


def test_workers_are_taken_from_their_own_square_only() -> None:
    """5.20, C34"""
    assert used("| board: K2 D3 I3", 6) == "K0/0/1"
    assert refusal(relief("board: D3 I3 | A* | B"), A, "use @6") == "NOTHING_TO_GAIN"


def test_a_tile_of_two_kinds_takes_the_one_there_is() -> None:
    """7.11"""
    assert used("@3 T09 ! | board: K3", 3) == "K0/0/2"
    assert offers(relief("A* @3 T09 ! | B"), A, "use @3") == []


def test_gains_from_the_supply_run_short_too() -> None:
    """7.12, C35"""
    assert used("@2 T06 ! | supply: $1", 2) == "$1"
    assert used("@5 T31 ! | supply: T1", 5) == "T1 $2"
    assert offers(relief("supply: T0 | A* @5 T29 | B"), A, "use @5") == []


def test_a_tile_that_scores_is_always_of_use() -> None:
    """7.13"""
    table = relief("A* @4 T26 | B")
    assert offers(table, A, "use @4") == ["use @4"]
    assert play(table, "use @4").players[A].track == 1
    assert offers(relief("A* @4 T28 ! | B"), A, "use @4") == []
    stories_gone = play(relief("supply: T0 | A* @7 T34 ! | B"), "use @7")
    assert (stories_gone.players[A].track, goods(stories_gone, A)) == (2, "")


def test_a_teaching_hospital_with_a_leader() -> None:
    """7.14"""
    table = play(relief("board: D1 I5 | A* X- @4 X4 ! | B"), "use @4")
    assert (goods(table, A), table.players[A].track) == ("K1/2/0", 2)


def test_training_with_a_leader_gives_two_for_one_payment() -> None:
    """7.5, 5.13"""
    table = play(relief("A* W1 F1 K1 @7 ! | B"), "use @7")
    assert (table.players[A].leaders, goods(table, A)) == (4, "")
    last = play(relief("supply: L1 | A* W1 F1 K1 @7 ! | B"), "use @7")
    assert (last.players[A].leaders, last.leader_supply) == (3, 0)


def test_the_payment_is_never_changed() -> None:
    """5.13: two leaders cost no more than one, however much the payer holds."""
    table = play(relief("A* W5 F5 K5 @7 ! | B"), "use @7")
    assert (table.players[A].leaders, goods(table, A)) == (4, "W4 F4 K0/0/4")


def test_leader_and_points_are_one_package() -> None:
    """7.15, 5.15"""
    table = play(relief("supply: L1 | A* W1 F1 @7 T17 ! | B"), "use @7")
    assert (table.players[A].leaders, table.players[A].track, goods(table, A)) == (3, 2, "")
    none_left = relief("supply: L0 | A* W1 F1 @7 T17 ! | B")
    assert offers(none_left, A, "use @7") == []
    assert refusal(none_left, A, "use @7") == "NO_LEADER_LEFT"
    dry = relief("A* F3 X- @7 X6 | B")
    assert offers(dry, A, "use @7") == []
    assert refusal(dry, A, "use @7") == "CANNOT_PAY"


def test_a_use_takes_as_much_as_possible() -> None:
    """5.16: a use has no parameters."""
    assert offers(relief("board: W5 | A* @1 T02 | B"), A, "use @1") == ["use @1"]
    assert used("@1 T02 | board: W5", 1) == "W3"


def test_passing_is_always_possible_and_counts_as_no_action() -> None:
    """5.16, 5.25: even when it is the only entry."""
    table = relief("supply: T0 | A* X1 m3 | B")
    assert offers(table, A) == ["pass"]
    for _ in range(3):
        table = play(table, "pass", "B:pass")
    assert table.players[A].uses == [0] * 7


def test_payment_comes_before_the_gain_and_never_returns_what_the_effect_hands_out() -> None:
    """5.29: so the order cannot change a result."""
    for tile in TILES:
        if tile.leader_cost is not None:
            assert not (tile.take or tile.help or tile.gain)
    table = play(relief("supply: L1 | A* W1 F1 K1 | B"), "use @7")
    assert (table.supply[0], table.players[A].leaders) == (14, 3)


# The same action at most twice


def test_a_tile_may_be_used_twice_a_round() -> None:
    """C20, 5.5"""
    table = play(relief("board: W9 | A* | B"), "use @1", "B:pass", "use @1", "B:pass")
    assert "use @1" not in offers(table, A)
    assert refusal(table, A, "use @1") == "USED_TWICE"
    assert refusal(table, A, "use @2") == "NOTHING_TO_GAIN"


def test_two_tiles_of_the_same_effect_are_two_actions() -> None:
    """5.5"""
    table = relief("board: W9 | A* @1 x2 @8 T01 @9 T03 | B | C")
    assert offers(table, A, "use") == ["use @5", "use @8", "use @9"]


def test_a_tile_built_this_round_starts_unused() -> None:
    """7.22, 5.5: the count belongs to the tile, not to the space."""
    table = relief("row: T14 T07 T01 T10 T05 | A* W1 S2 K1 | B")
    for text in ("use @5", "use @5", "build T14 @5", "use @5"):
        table = play(table, text, "B:pass")
    table = play(table, "use @5")
    assert goods(table, A) == "T10"
    assert table.players[A].uses[4] == 2


def test_the_counts_are_those_of_one_round_and_one_player() -> None:
    """5.5, C20, 5.6: markers do not block others."""
    table = relief("board: W9 | A* m1 b2 s2 t2 @1 x1 | B m1 @1 x2")
    after = play(table, "use @1")
    assert after.players[B].uses[0] == 2
    over = play(after, "B:pass")
    assert [player.uses for player in over.players] == [[0] * 7] * 2
    assert (over.players[A].builds, over.players[A].spends, over.players[A].trades) == (0, 0, 0)


def test_markers_do_not_block() -> None:
    """5.6: the middle squares are shared and unlimited."""
    table = relief("A* $9 | B $2 | C")
    for text in ("trade W1", "B:trade W1", "C:pass", "trade F1"):
        table = play(table, text)
    assert "trade S1" in offers(table, B)
