"""Building: prices, discounts, places, the row."""

import pytest

from service.games.relief.box import TILE_NUMBER, TILES
from service.games.relief.building import PRICES
from service.games.relief.refusals import priced
from service.games.relief.state import influence
from tests.games.relief.tables import A, B, goods, offers, pass_round, play, refusal, relief, row, tile_on


def price(new: str, covered: str) -> str:
    return priced(PRICES[TILE_NUMBER[new]][TILE_NUMBER[covered]])


def test_the_example_of_the_rulebook() -> None:
    """C26, 7.1: the Well over the Water Station, one supply and one worker cheaper, both with the drop."""
    assert price("T02", "T01") == "S1 K1"
    table = relief("row: T02 T07 T10 T14 T18 | A* S1 K1 @8 T01 | B")
    assert offers(table, A, "build") == ["build T02 @8"]
    built = play(table, "build T02 @8")
    assert (goods(built, A), tile_on(built, A, 8)) == ("", "T02")


@pytest.mark.parametrize(
    ("new", "covered", "expected"),
    [
        ("T19", "T02", "F1 S1 K1"),
        ("T07", "T23", "nothing"),
        ("T12", "T10", "W1 K1"),
        ("T26", "T12", "F2 S1 K1"),
        ("T13", "P6", "F2 S1"),
        ("X1", "T19", "F1 K1"),
        ("X4", "T27", "W1"),
        ("T34", "X6", "K1"),
        ("X7", "T33", "nothing"),
        ("T01", "X1", "nothing"),
        ("T18", "T33", "nothing"),
    ],
)
def test_the_cost_of_the_covered_tile_is_the_discount(new: str, covered: str, expected: str) -> None:
    """7.1, 7.17, 7.18, 5.12, 5.27: for each kind, no refund, nothing from starters, specials like any other tile."""
    assert price(new, covered) == expected


def test_only_the_tile_directly_covered_helps() -> None:
    """7.17, 5.12: T10 below the T12 no longer counts."""
    table = relief("row: T26 T07 T01 T14 T18 | level: 2 | A* W9 F2 S1 K1 @4 T10 T12 | B")
    built = play(table, "build T26 @4")
    assert goods(built, A) == "W9"


def test_the_payer_gives_up_those_once_distressed_first() -> None:
    """7.4, 5.7"""
    table = relief("row: T07 T01 T10 T14 T18 | A* F1 K2/0/1 | B")
    built = play(table, "build T07 @8")
    assert goods(built, A) == "K0/0/1"
    assert built.supply[4] - table.supply[4] == 2
    assert built.supply[3] == table.supply[3]


def test_then_those_once_injured_then_regular_ones() -> None:
    """7.16, 5.7"""
    table = relief("row: T19 T07 T10 T14 T18 | A* F1 S3 K1/2/3 @8 T15 | B")
    built = play(table, "build T19 @9")
    assert goods(built, A) == "K0/0/3"
    four = relief("row: T07 T01 T10 T14 T18 | A* X2 W2 S3 K1/2/3 | B")
    built = play(four, "build X2 @2")
    assert goods(built, A) == "K0/0/2"
    assert [built.supply[kind] - four.supply[kind] for kind in (4, 5, 3)] == [1, 2, 1]
    one = play(relief("row: T01 T07 T10 T14 T18 | A* S1 K2/2/2 | B"), "build T01 @8")
    assert goods(one, A) == "K1/2/2"
    trained = play(relief("A* W1 F1 K0/1/0 | B"), "use @7")
    assert trained.supply[5] == 10


def test_a_tile_goes_onto_the_same_icon_or_the_lowest_open_space() -> None:
    """5.12, 5.22: same-icon stacks ascending, then the lowest open space, and nowhere else."""
    table = relief("row: T10 T07 T01 T14 T18 | A* W1 F1 S2 @8 T15 | B")
    assert offers(table, A, "build T10") == ["build T10 @4", "build T10 @6", "build T10 @9"]
    assert refusal(table, A, "build T10 @8") == "ICON_DIFFERS"
    assert refusal(table, A, "build T10 @10") == "NOT_LOWEST_OPEN_SPACE"


def test_the_level_does_not_matter_for_covering() -> None:
    """5.12, 7.18: a level 1 tile may cover a level 2 tile, although it loses points."""
    table = relief("row: T18 T07 T01 T14 T10 | A* @7 T33 | B")
    built = play(table, "build T18 @7")
    before, after = table.players[A], built.players[A]
    assert sum(TILES[tile].vp for tile in after.tops) - sum(TILES[tile].vp for tile in before.tops) == -6
    assert influence(after) - influence(before) == -1


def test_a_full_mat_still_builds_by_covering() -> None:
    """5.27: every icon lies on some starter, so every tile has a place."""
    mat = "@8 T01 @9 T04 @10 T07 @11 T10 @12 T15 @13 T17 @14 T18"
    table = relief(f"row: T14 T02 T05 T08 T16 | A* start {mat} | B")
    assert offers(table, A, "build T14") == ["build T14 @5", "build T14 @12"]
    for tile in TILES:
        assert table.players[A].sites[tile.icon]


def test_the_fourteenth_space_is_the_last() -> None:
    """5.12, 5.22"""
    mat = "@8 T01 @9 T04 @10 T07 @11 T10 @12 T15 @13 T17"
    table = relief(f"row: T14 T02 T05 T08 T16 | A* start {mat} | B")
    assert offers(table, A, "build T14") == ["build T14 @5", "build T14 @12", "build T14 @14"]
    assert tile_on(play(table, "build T14 @14"), A, 14) == "T14"


def test_builds_are_listed_from_left_to_right_and_then_the_special() -> None:
    """5.22"""
    table = relief("row: T07 T01 T10 T14 T18 | A* W5 F5 S9 K9 X7 | B")
    tiles = [text.split()[1] for text in offers(table, A, "build")]
    assert list(dict.fromkeys(tiles)) == ["T07", "T01", "T10", "T14", "T18", "X7"]


def test_a_price_of_nothing_still_takes_a_marker() -> None:
    """5.27"""
    table = relief("row: T07 T01 T10 T14 T18 | A* @3 T23 | B")
    built = play(table, "build T07 @3")
    assert (built.players[A].builds, built.players[A].markers) == (1, 4)


def test_the_row_closes_the_gap_and_a_new_tile_enters_from_the_left() -> None:
    """7.23, C18, C19, 5.12: at the end of the round the rightmost one leaves the game."""
    table = relief("row: T14 T07 T01 T10 T05 | pile: T02 T16 T30 T31 | A* S1 K1 m1 | B m0")
    built = play(table, "build T01 @8")
    assert built.round == table.round + 1  # that was the last marker of the round
    assert row(built) == "T16 T02 T14 T07 T10"
    assert [TILES[tile].id for tile in built.discarded] == ["T05"]
    longer = play(relief("row: T14 T07 T01 T10 T05 | pile: T02 T16 | A* S1 K1 | B"), "build T01 @8")
    assert row(longer) == "T02 T14 T07 T10 T05"


def test_tiles_never_come_back() -> None:
    """5.27, C19"""
    table = relief("row: T14 T07 T01 T10 T05 | A | B")
    after = pass_round(pass_round(table))
    assert [TILES[tile].id for tile in after.discarded] == ["T05", "T10"]
    assert not set(after.discarded) & {*after.row, *after.tiles[0], *after.tiles[1]}


def test_a_special_leaves_the_row_alone() -> None:
    """7.24, 5.12, 5.26, C6: it draws nothing, so it can trigger nothing."""
    table = relief("pile: T35 | level: 2 | A* W1 F1 S4 K3 X7 | B")
    built = play(table, "build X7 @7")
    assert (built.row, built.tiles, built.trigger) == (table.row, table.tiles, 0)
    assert (built.players[A].builds, built.players[A].special) == (1, -1)
    assert tile_on(built, A, 7) == "X7"


def test_two_builds_a_round_the_special_included() -> None:
    """7.21, 5.5, C20"""
    table = relief("row: T07 T01 T10 T14 T18 | A* W5 F5 S9 K9 X7 | B")
    table = play(table, "build X7 @7", "B:pass", "build T07 @8", "B:pass")
    assert offers(table, A, "build") == []
    assert refusal(table, A, "build T01 @9") == "USED_TWICE"


def test_a_leader_on_the_covered_tile_serves_the_new_one_at_once() -> None:
    """7.25, 5.12"""
    table = relief("row: T02 T07 T10 T14 T18 | board: W5 | A* S2 K2 @1 ! | B")
    table = play(table, "build T02 @1", "B:pass", "use @1")
    assert goods(table, A) == "W4"


def test_only_the_row_and_the_own_special_can_be_built() -> None:
    """5.12, 5.19"""
    table = relief("row: T07 T01 T10 T14 T18 | A* W5 F5 S9 K9 X7 | B X6")
    for tile in ("T02", "X6", "X1"):
        assert refusal(table, A, f"build {tile} @8") == "NOT_AVAILABLE"


def test_what_cannot_be_paid_is_not_offered() -> None:
    """5.12, 5.22"""
    table = relief("row: T19 T07 T10 T14 T18 | A* S9 K9 | B")
    assert offers(table, A, "build") == []
    assert refusal(table, A, "build T19 @8") == "CANNOT_PAY"


def test_the_last_tiles_leave_a_shrinking_row_and_then_only_the_special() -> None:
    """7.36, 5.8"""
    table = relief("row: | pile: | trigger: build | level: 2 | A* W1 F1 S4 K3 X7 | B")
    assert offers(table, A, "build") == ["build X7 @7", "build X7 @8"]
    done = play(table, "build X7 @8", "B:pass")
    assert offers(done, A, "build") == []
    assert done.turn == A != B
