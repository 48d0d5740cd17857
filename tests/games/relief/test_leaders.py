"""Leaders: the secret phase before a round, and new ones gained by training."""

import pytest

from service.games.relief import RELIEF
from service.games.relief.state import LEADERS, MARKERS, State
from tests.games.relief.tables import (
    A,
    B,
    goods,
    leaders_on,
    new,
    offers,
    pass_round,
    pass_until_markers,
    play,
    refusal,
    relief,
    tile_on,
    waiting,
)


def spaces(texts: list[str]) -> list[int]:
    return [int(text.split("@")[1]) for text in texts]


def test_all_seats_may_act_at_the_same_time_and_in_any_order() -> None:
    """5.3"""
    table = new(3)
    one = play(table, "A:lead @1", "A:lead @2", "B:lead @3", "B:lead @4", "C:lead @5", "C:lead @6")
    other = play(table, "C:lead @5", "B:lead @3", "A:lead @1", "C:lead @6", "A:lead @2", "B:lead @4")
    assert list(RELIEF.to_act(play(table, "B:lead @1", "B:lead @7"))) == [0, 2]
    assert RELIEF.to_plain(one) == RELIEF.to_plain(other)
    assert [leaders_on(one, seat) for seat in range(3)] == [[1, 2], [3, 4], [5, 6]]


def test_all_leaders_must_be_placed_on_distinct_own_tiles() -> None:
    """5.3, C24"""
    table = play(new(2), "A:lead @3")
    assert "lead @3" not in offers(table, A)
    assert refusal(table, A, "keep") == "LEADERS_MUST_BE_PLACED"
    assert refusal(table, A, "lead @8") == "EMPTY_SPACE"


def test_all_leaders_are_lifted_before_a_round() -> None:
    """5.3, 5.21: the places of the last round do not matter."""
    table = pass_round(play(new(2), "A:lead @6", "A:lead @7", "B:lead @6", "B:lead @7"))
    assert (table.round, table.phase) == (2, LEADERS)
    assert leaders_on(table, A) == leaders_on(table, B) == []
    assert spaces(offers(table, A)) == [1, 2, 3, 4, 5, 6]


def test_each_leader_goes_above_the_one_before_and_leaves_room() -> None:
    """5.23, 7.29: three leaders on seven tiles."""
    table = relief("phase: leaders | A L3 | B")
    assert spaces(offers(table, A)) == [1, 2, 3, 4, 5]
    assert spaces(offers(play(table, "A:lead @3"), A)) == [4, 5, 6]
    assert spaces(offers(play(table, "A:lead @3", "A:lead @4"), A)) == [5, 6, 7]
    high = play(table, "A:lead @5")
    assert spaces(offers(high, A)) == [6]
    assert spaces(offers(play(high, "A:lead @6"), A)) == [7]


def assignments(table: State) -> list[tuple[int, ...]]:
    """Returns every way seat A can place its leaders, with repeats if there are any."""
    texts = offers(table, A)
    if not texts:
        return [tuple(leaders_on(table, A))]
    return [found for text in texts for found in assignments(play(table, f"A:{text}"))]


def test_every_assignment_is_reached_exactly_once() -> None:
    """5.23, 7.29: 35 ways for three leaders on seven tiles."""
    found = assignments(relief("phase: leaders | A L3 | B"))
    assert len(found) == len(set(found)) == 35


@pytest.mark.parametrize(("leaders", "left_over"), [(9, 1), (8, 0)])
def test_a_seat_with_a_leader_for_every_tile_is_not_asked(leaders: int, left_over: int) -> None:
    """5.23, 7.30"""
    table = play(relief(f"A L{leaders} m0 @8 T15 | B* m1"), "B:pass")
    assert table.phase == LEADERS
    assert list(RELIEF.to_act(table)) == [B]
    assert leaders_on(table, A) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert waiting(table, A) == left_over
    assert refusal(table, A, "lead @1") == "LEADERS_SETTLED"


@pytest.mark.parametrize("leaders", [2, 4, 6])
def test_before_a_round_every_leader_is_asked_for_those_that_waited_too(leaders: int) -> None:
    """5.3, 5.23: as many questions as leaders, and none is left beside the mat."""
    table = play(relief(f"A L{leaders} m0 @1 ! @2 ! | B* m1"), "B:pass")
    asked = 0
    while A in RELIEF.to_act(table):
        table = play(table, f"A:{offers(table, A)[-1]}")
        asked += 1
    assert asked == len(leaders_on(table, A)) == leaders
    assert waiting(table, A) == 0


def test_when_no_seat_is_asked_the_markers_follow_at_once() -> None:
    """5.23, 5.21"""
    table = relief("A L9 m0 | B* L9 m1")
    after = play(table, "B:pass")
    assert (after.phase, after.round) == (MARKERS, 3)


def test_two_leaders_on_a_full_mat() -> None:
    """7.30, 5.23: never more than thirteen entries."""
    mat = "@8 T01 @9 T04 @10 T07 @11 T10 @12 T14 @13 T17 @14 T18"
    assert spaces(offers(relief(f"phase: leaders | A {mat} | B"), A)) == list(range(1, 14))


def test_a_leader_stays_put_during_the_round() -> None:
    """5.14, C24: only one leader on a tile, and none moves before the next round."""
    table = pass_until_markers(new(2))
    assert refusal(table, A, "lead @5") == "NO_LEADER_IN_HAND"
    assert refusal(table, A, "keep") == "NO_LEADER_IN_HAND"


# New leaders


def test_a_new_leader_goes_at_once_onto_a_free_tile_or_waits() -> None:
    """5.14, 5.24"""
    table = play(relief("A* start @1 ! @2 ! | B"), "use @7")
    assert goods(table, A) == "W2 F2 S3 K0/0/2"
    assert offers(table, A) == ["keep", "lead @3", "lead @4", "lead @5", "lead @6", "lead @7"]
    placed = play(table, "lead @4")
    assert leaders_on(placed, A) == [1, 2, 4]
    assert placed.turn == B
    kept = play(table, "keep")
    assert (leaders_on(kept, A), waiting(kept, A), kept.turn) == ([1, 2], 1, B)


def test_the_trainer_itself_may_be_led_from_then_on() -> None:
    """7.26, 5.13: the leader gained by a use cannot improve that same use."""
    table = play(relief("A* W2 F2 K2 @1 ! @2 ! | B"), "use @7", "lead @7")
    assert table.players[A].leaders == 3
    again = play(table, "B:pass", "use @7")
    assert again.players[A].leaders == 5
    assert goods(again, A) == ""


def test_two_new_leaders_are_placed_in_ascending_order() -> None:
    """7.27, 5.24: free tiles on 2, 5 and 9."""
    table = relief("A* W1 F1 K1 L6 @1 ! @3 ! @4 ! @6 ! @7 ! @8 T15 ! @9 T01 | B")
    table.players[A].leaders = 6
    asked = play(table, "use @7")
    assert asked.in_hand == 2
    assert offers(asked, A) == ["keep", "lead @2", "lead @5", "lead @9"]
    after_five = play(asked, "lead @5")
    assert offers(after_five, A) == ["keep", "lead @9"]
    assert refusal(after_five, A, "lead @2") == "OUT_OF_ORDER"
    after_nine = play(asked, "lead @9")
    assert after_nine.turn == B  # no question: the second waits
    assert waiting(after_nine, A) == 1
    ends = [play(asked, "keep")]
    for first in ("lead @2", "lead @5", "lead @9"):
        one = play(asked, first)
        ends += [one] if one.turn == B else [play(one, text) for text in offers(one, A)]
    assert len({tuple(leaders_on(end, A)) for end in ends}) == len(ends) == 7


def test_a_leader_that_waits_has_missed_its_moment() -> None:
    """7.28, 5.14: not even onto a tile built meanwhile."""
    table = relief("row: T15 T07 T10 T14 T18 | A* W3 F3 S1 K2 @1 ! @2 ! | B")
    table = play(table, "use @7", "keep", "B:pass", "build T15 @8", "B:pass")
    assert tile_on(table, A, 8) == "T15"
    assert offers(table, A, "lead") == []
    assert refusal(table, A, "lead @8") == "NO_LEADER_IN_HAND"
    assert waiting(table, A) == 1


def test_with_no_free_tile_there_is_no_question() -> None:
    """5.24"""
    table = relief("A* W1 F1 K1 L7 @1 ! @2 ! @3 ! @4 ! @5 ! @6 ! @7 ! | B")
    after = play(table, "use @7")
    assert (after.turn, waiting(after, A), after.players[A].leaders) == (B, 2, 9)


def test_leaders_are_never_lost() -> None:
    """5.28: supply and owned make twelve and two for each player; a seat may own more than it has tiles."""
    table = relief("A* W1 F1 K1 L12 @1 ! @2 ! @3 ! @4 ! @5 ! @6 ! @7 ! | B")
    after = play(table, "use @7")
    assert after.leader_supply + sum(player.leaders for player in after.players) == 12 + 2 * 2
    assert after.players[A].leaders == 14
    assert after.leader_supply == 0
