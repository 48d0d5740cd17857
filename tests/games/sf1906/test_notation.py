"""The notation of actions, and of drawn tables: everything can be written, read again, and mistakes are named."""

import copy
import pickle

import pytest

from service.games.core import Unreadable
from service.games.sf1906 import box
from service.games.sf1906.actions import NOTATION, UNIVERSE, discard_two, read
from tests.games.sf1906.drawing import ORANGE, BadDrawing, area, draw, texts


def test_every_action_is_read_back_from_its_own_text() -> None:
    """R80: each one exists once, so the same text gives the same action."""
    for action in UNIVERSE.values():
        assert read(action.text) is action
    assert len({action.text for action in UNIVERSE.values()}) == len(UNIVERSE)


def test_the_notation_has_room_for_every_choice_of_a_game() -> None:
    """R80, C15: 4 earnings, 6 benefits, 31 placements, 4 + 4 cards, 61 clearings, 42 + 861 discards, 60 spaces, 5 rewards."""
    assert len(UNIVERSE) == 4 + 6 + (5 + 1 + 25) + 4 + 4 + 61 + 42 + 42 * 41 // 2 + 60 + 5


def test_case_and_blanks_do_not_matter() -> None:
    """R80: a person may write it."""
    assert read("  PLACE 2   Buy 0 ") is read("place 2 buy 0")
    assert read("at y5A") is read("at Y5a")
    assert read("Discard p13 p09").text == "discard P09 P13"


def test_two_permits_may_be_named_in_either_order() -> None:
    """R80, R17: it is the same set."""
    assert read("discard P42 P01") is read("discard P01 P42") is discard_two(0, 41) is discard_two(41, 0)


def test_the_verb_distinguishes_spaces_and_permits_that_look_alike() -> None:
    """R80: P1a is a space of purple 1, P01 a permit."""
    assert read("at P1a") is not read("discard P01")
    for text in ("at P01", "discard P1a", "clear P01"):
        with pytest.raises(Unreadable):
            read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "verbs earn, benefit, place"),
        ("dance", "verbs earn, benefit, place"),
        ("earn 5", "'earn 4'"),
        ("benefit building-and-permit", "objective, permit, materials"),
        ("place 5 act", "a space 0-4"),
        ("place 2 buy 2", "'buy' with another space 0-4"),
        ("place 1 pass", "or 'place 3 pass'"),  # the only space a pass is printed on
        ("permit 3", "'permit deck'"),
        ("objective -1", "'objective deck'"),
        ("clear Y5f", "such as Y5a"),
        ("discard P09 P09", "two different permits"),
        ("discard P09 P10 P11", "one or two"),
        ("discard P43", "such as P09 P13"),
        ("at Z1a", "such as Y5a"),
        ("reward trees", "lighting, cable-car, hydrant, park, none"),
    ],
)
def test_a_text_that_is_not_an_action_names_what_is_expected(text: str, expected: str) -> None:
    """R80: the message contains the text itself and the valid ones."""
    with pytest.raises(Unreadable) as answer:
        read(text)

    assert repr(text) in str(answer.value)
    assert expected in str(answer.value)


def test_a_copy_of_an_action_is_the_action_itself() -> None:
    """R80: so comparing with ``is`` is safe after a store."""
    action = read("discard P01 P02")

    assert copy.deepcopy(action) is action
    assert pickle.loads(pickle.dumps(action)) is action
    assert repr(action) == "<discard P01 P02>"


def test_every_verb_is_explained() -> None:
    """R80: the notation table names them all."""
    assert {row[0].split()[0] for row in NOTATION} == {text.split()[0] for text in UNIVERSE}
    assert all(meaning for _, meaning in NOTATION)


def test_ids_are_unique_and_have_their_shape() -> None:
    """R80: P01-P42, Y1a-P5e, A1-A6, O01-O25."""
    assert [f"P{number:02}" for number in range(1, 43)] == box.PERMIT_IDS
    assert box.CARD_IDS == ["A1", "A2", "A3", "A4", "A5", "A6"]
    assert [f"O{number:02}" for number in range(1, 26)] == box.OBJECTIVE_IDS
    assert len(set(box.SPACE_IDS)) == 60


# ------------------------------------------------------------------------------------------------------------ the drawing
def test_a_drawn_line_is_what_the_table_shows() -> None:
    """R80: the pictures of these tests can be trusted."""
    line = (
        "$5  stock 1  permits P07 P20  objectives O10  hidden O03  at (2,3)  "
        "built Y5c Y5d  rubble 1  lighting 2  hydrant 1  parks A C"
    )

    assert area(draw(f"2e  3 players\norange {line}"), ORANGE) == line
    assert texts(draw(f"2e  3 players\norange {line}"), ORANGE)


@pytest.mark.parametrize(
    ("picture", "named"),
    [
        ("3 players", "an edition and the players"),
        ("2e  3 players  yeer 1908", "yeer"),
        ("2e  3 players  year 1912", "1912"),
        ("2e  2 players  map 1 2 / 3", "two rows"),
        ("2e  3 players\norange $5  stok 1", "stok"),
        ("2e  3 players\norange built Y5f", "Y5f"),
        ("2e  2 players\norange built P2a", "a space of this map"),
        ("2e  2 players\norange built Y5a\nblack built Y5a", "one building on a space"),
        ("2e  2 players\norange stock 3  pool 3", "eight buildings"),
        ("2e  2 players\norange permits P01\nblack permits P01", "each card in one place"),
        ("2e  solo\norange permits P41", "used in this game"),
        ("2e  2 players\nblue $5", "blue"),
        ("2e  2 players\npermits row: P01 P02 P03", "permit row"),
        ("2e  2 players\npermit row: P01 P02", "a row of three"),
        ("2e  2 players\npawns: black 1", "who come first in the order"),
        ("2e  2 players\npawns: orange 3", "a space 0 to 2"),
        ("2e  2 players\ncommon: O01 O17 O18", "three of O17 to O24"),
        ("2e  2 players\nrubble: Y5b", "where the map prints it"),
    ],
)
def test_a_slip_in_a_drawing_is_named(picture: str, named: str) -> None:
    """R80: a wrong picture proves nothing, so it is not drawn."""
    with pytest.raises(BadDrawing) as answer:
        draw(picture)

    assert named in str(answer.value)
