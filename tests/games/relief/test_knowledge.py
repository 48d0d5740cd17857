"""What is hidden, what is public, and that nothing leaks."""

import json

from hypothesis import given
from hypothesis import strategies as st

from service.games.core import Viewer, plain
from service.games.relief import RELIEF
from service.games.relief.box import SPECIALS, TILES
from service.games.relief.state import OVER, State
from service.games.relief.view import SpaceView
from tests.games.relief.tables import A, B, C, draws, leaders_on, new, pass_round, pass_until_markers, play, relief


def somewhere(number: int, steps: int, seats: int) -> State:
    """Returns a table after ``steps`` random decisions."""
    table = new(seats, number)
    chance = draws(f"walk {number}")
    for _ in range(steps):
        acting = RELIEF.to_act(table)
        if not acting:
            break
        seat = acting[chance.below(len(acting))]
        RELIEF.apply(table, seat, RELIEF.players["random"](table, seat, chance))
    return table


TABLES = st.builds(somewhere, st.integers(0, 40), st.integers(0, 320), st.integers(2, 3))


def test_others_see_no_leader_until_all_are_placed() -> None:
    """7.40, 5.19, 5.23, C30"""
    table = new(3)
    for move in ("A:lead @2", "A:lead @5", "C:lead @1"):
        table = play(table, move)
        for viewer in (B, None):
            assert RELIEF.view(table, viewer).seats[A].placed is None
        assert RELIEF.is_secret(table)
    assert RELIEF.view(table, A).seats[A].placed == ((2, 5),)
    assert [seat.settled for seat in RELIEF.view(table, B).seats] == [True, False, False]
    table = play(table, "C:lead @2", "B:lead @6", "B:lead @7")
    assert not RELIEF.is_secret(table)
    assert [seat.placed.spaces for seat in RELIEF.view(table, None).seats] == [(2, 5), (6, 7), (1, 2)]


def test_the_number_of_questions_reveals_nothing() -> None:
    """7.40, 5.23: it equals the leaders, whatever is chosen."""
    for first in (1, 3, 5):
        table = play(relief("phase: leaders | A L3 | B"), f"A:lead @{first}")
        asked = 1
        while A in RELIEF.to_act(table):
            table = play(table, f"A:{RELIEF.legal_actions(table, A)[0].text}")
            asked += 1
        assert asked == 3


def test_how_far_a_seat_has_got_is_not_shown() -> None:
    """5.23: others see at most that a seat has finished."""
    table = relief("phase: leaders | A L3 | B")
    one = play(table, "A:lead @3")
    for viewer in (B, None):
        assert RELIEF.view(one, viewer) == RELIEF.view(table, viewer)


def test_a_special_is_secret_until_built() -> None:
    """C6, 5.19, 7.24"""
    table = relief("A* W1 F1 S4 K3 X7 | B X1")
    for viewer in (B, None):
        assert "X7" not in json.dumps(RELIEF.view(table, viewer))
    assert RELIEF.view(table, A).seats[A].special == "X7"
    built = play(table, "build X7 @7")
    seen = RELIEF.view(built, None).seats[A]
    assert (seen.special_built, seen.mat[6].tile) == (True, "X7")
    assert "X1" not in json.dumps(RELIEF.view(built, A))


def test_objectives_are_secret_until_the_end() -> None:
    """C7, 5.19"""
    table = relief("objective: O1 | A* O2 m1 | B O3 m0 | pile: | trigger: build | level: 2")
    assert [seat.objective for seat in RELIEF.view(table, A).seats] == ["O2", ""]
    assert [seat.objective for seat in RELIEF.view(table, None).seats] == ["", ""]
    over = play(table, "pass")
    assert over.phase == OVER
    assert [seat.objective for seat in RELIEF.view(over, None).seats] == ["O2", "O3"]
    assert RELIEF.view(over, None).cards[0].pile != ()


def test_what_lies_open_is_public() -> None:
    """5.19: tokens with their origin, uses, mats, leaders, row, discards, used cards, sizes of piles."""
    table = relief(
        "row: T14 T07 T01 T10 T05 | discarded: T18 | used: A3 | board: W2 | objective: O5"
        "| A* K1/2/3 s1 @1 T02 ! x1 | B L4"
    )
    view = RELIEF.view(table, None)
    seat = view.seats[A]
    assert (seat.goods.distressed, seat.goods.injured, seat.goods.worker) == (1, 2, 3)
    assert seat.mat[0] == SpaceView(space=1, tile="T02", under=("P1",), uses=1)
    assert (seat.placed.spaces, seat.spend_uses) == ((1,), 1)
    assert view.row == ("T14", "T07", "T01", "T10", "T05")
    assert (view.discarded, view.objective, view.board.water) == (("T18",), "O5", 2)
    assert (view.cards[0].used, view.cards[0].left) == (("A3",), 5)
    assert [view.tiles_left_level_one, view.tiles_left_level_two] == [len(pile) for pile in table.tiles]


@given(TABLES, st.sampled_from([None, A, B]), st.integers(0, 5))
def test_redealing_what_a_viewer_cannot_see_changes_nothing_it_is_sent(
    table: State, viewer: Viewer, number: int
) -> None:
    """5.19, 5.25"""
    other = RELIEF.redeal(table, viewer, draws(f"redeal {number}"))
    assert json.dumps(RELIEF.view(other, viewer)) == json.dumps(RELIEF.view(table, viewer))
    assert list(RELIEF.to_act(other)) == list(RELIEF.to_act(table))
    if viewer is not None:
        assert list(RELIEF.legal_actions(other, viewer)) == list(RELIEF.legal_actions(table, viewer))
        if viewer in RELIEF.to_act(table):
            choices = [RELIEF.automaton(world, viewer, draws("same")) for world in (table, other)]
            assert choices[0] is choices[1]


@given(TABLES, st.sampled_from([A, B]))
def test_a_sample_has_the_view_it_was_made_from(table: State, seat: int) -> None:
    """5.19"""
    view = RELIEF.view(table, seat)
    world = RELIEF.sample(view, seat, draws())
    assert RELIEF.view(world, seat) == view
    assert RELIEF.from_plain(RELIEF.to_plain(world)).deck_seed != table.deck_seed
    while RELIEF.to_act(world):  # and it can be played to its end
        acting = RELIEF.to_act(world)[0]
        RELIEF.apply(world, acting, RELIEF.legal_actions(world, acting)[-1])


def test_a_redeal_varies_everything_hidden() -> None:
    """5.19, 5.31: piles, specials, objectives, pending leaders and the seed."""
    table = play(new(3), "B:lead @3", "C:lead @1", "C:lead @4")
    worlds = [RELIEF.redeal(table, A, draws(f"{number}")) for number in range(60)]
    assert {world.players[B].special for world in worlds} == set(SPECIALS) - {table.players[A].special}
    known = {table.objective, table.players[A].objective}
    assert {world.players[C].objective for world in worlds} == set(range(7)) - known
    assert len({tuple(leaders_on(world, C)) for world in worlds}) > 10
    assert {len(leaders_on(world, B)) for world in worlds} == {0, 1}
    for pile in (0, 1):
        assert len({tuple(world.tiles[pile]) for world in worlds}) > 50
        assert len({tuple(world.cards[pile]) for world in worlds}) > 20
    assert table.deck_seed not in {world.deck_seed for world in worlds}
    assert all(world.players[A].special == table.players[A].special for world in worlds)


def test_at_the_end_nothing_is_hidden_any_more() -> None:
    """5.19"""
    table = new(2)
    while RELIEF.to_act(table):
        table = pass_round(table)
    other = RELIEF.redeal(table, None, draws())
    assert [(player.special, player.objective) for player in other.players] == [
        (player.special, player.objective) for player in table.players
    ]
    assert other.cards == table.cards


def test_a_view_is_plain_and_names_its_viewer() -> None:
    """5.19"""
    table = pass_until_markers(new(2))
    for viewer in (None, A, B):
        view = RELIEF.view(table, viewer)
        assert json.loads(json.dumps(plain(view))) == plain(view)
        assert view.you == viewer
        assert table.deck_seed.hex() not in json.dumps(view)


def test_a_view_of_another_seat_is_no_ground_for_a_sample() -> None:
    table = new(2)
    try:
        RELIEF.sample(RELIEF.view(table, A), B, draws())
    except ValueError as error:
        assert "seat 0" in str(error)
    else:
        raise AssertionError("sampled for the wrong seat")


def test_the_picture_shows_the_tiles_of_the_row_and_nothing_hidden() -> None:
    """5.19"""
    table = pass_until_markers(new(3))
    text = "\n".join("".join(piece for piece, _ in line) for line in RELIEF.picture(RELIEF.view(table, A)))
    assert all(TILES[tile].name in text for tile in table.row)
    assert TILES[table.players[A].special].name in text
    assert TILES[table.players[B].special].name not in text
