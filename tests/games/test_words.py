"""Templates become sentences: verbs are conjugated, seats are named, and lists, numbers and scores read as people write them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.games.words import choice, counted, event, listed, ordinal, standings, third_person, told, visible

NAMES = ("Anna", "Ben", "Cleo")


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("be", "is"),
        ("have", "has"),
        ("do", "does"),
        ("go", "goes"),
        ("pass", "passes"),
        ("reach", "reaches"),
        ("carry", "carries"),
        ("pay", "pays"),
        ("buy", "buys"),
        ("choose", "chooses"),
        ("build", "builds"),
    ],
)
def test_a_verb_follows_a_name(verb: str, expected: str) -> None:
    assert third_person(verb) == expected


def test_one_template_tells_what_a_player_does_and_what_one_may_choose() -> None:
    template = "{move} to card C and {pay} $2 to {1}"

    assert told(template, 0, NAMES) == "Anna moves to card C and pays $2 to Ben"
    assert choice(template, NAMES) == "Move to card C and pay $2 to Ben"


def test_an_event_is_a_whole_sentence() -> None:
    assert event("{2} {have} no money, and {0} {go} first", NAMES) == "Cleo has no money, and Anna goes first"


def test_a_name_in_braces_stays_as_it_is() -> None:
    names = ("{1}", "{take}", "A\\1")

    assert told("{pay} {1} and {2}", 0, names) == "{1} pays {take} and A\\1"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (112, "112th"),
    ],
)
def test_a_number_in_order(number: int, expected: str) -> None:
    assert ordinal(number) == expected


def test_a_list_has_one_and() -> None:
    assert listed([]) == ""
    assert listed(["water"]) == "water"
    assert listed(["water", "food"]) == "water and food"
    assert listed(["water", "food", "supplies"]) == "water, food and supplies"


def test_a_count_has_its_noun() -> None:
    assert counted(1, "worker") == "1 worker"
    assert counted(0, "worker") == "0 workers"
    assert counted(-1, "point") == "-1 points"
    assert counted(2, "supply", "supplies") == "2 supplies"


@pytest.mark.parametrize(
    ("scores", "ranks", "expected"),
    [
        ((29, 46), (2, 1), "Ben wins with 46 points, and Anna has 29"),
        ((1, 0, 0), (1, 2, 2), "Anna wins with 1 point, and Ben has 0 and Cleo has 0"),
        ((46, 46), (1, 1), "Anna and Ben share the win with 46 points"),
        ((9, 46, 46), (3, 1, 1), "Ben and Cleo share the win with 46 points, and Anna has 9"),
        ((46, 46, 9), (2, 1, 3), "Ben wins on the tie-break with 46 points, and Anna has 46 and Cleo has 9"),
        ((46,), (1,), "Anna wins with 46 points"),
    ],
)
def test_the_final_scores_are_told_from_the_first_place_to_the_last(
    scores: tuple[int, ...], ranks: tuple[int, ...], expected: str
) -> None:
    names = [f"{{{seat}}}" for seat in range(len(scores))]

    assert event(standings(names, ranks, scores), NAMES) == expected


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ((2, 1), "Ben wins, and Anna is 2nd"),
        ((3, 1, 2), "Ben wins, and Cleo is 2nd and Anna is 3rd"),
        ((2, 2, 1), "Cleo wins, and Anna is 2nd and Ben is 2nd"),
        ((1, 1, 3), "Anna and Ben share the win, and Cleo is 3rd"),
        ((1,), "Anna wins"),
    ],
)
def test_without_scores_the_ranks_are_told(ranks: tuple[int, ...], expected: str) -> None:
    names = [f"{{{seat}}}" for seat in range(len(ranks))]

    assert event(standings(names, ranks), NAMES) == expected


def test_a_winner_without_a_seat_begins_the_sentence_with_a_capital_letter() -> None:
    assert standings(["{0}", "the Committee"], [2, 1], [3, 4]) == "The Committee wins with 4 points, and {0} has 3"


@pytest.mark.parametrize(
    "name", ["ada", "Ada Lovelace", "Zoë-7.2", "Zoe\u0308", "Tie\u0302\u0301n", "צבי", "李", "<b>&amp;"]
)
def test_a_readable_name_is_left_as_it_is(name: str) -> None:
    assert visible(name) == name


@given(st.text(max_size=200))
def test_any_name_is_visible_in_one_line_and_not_too_long(name: str) -> None:
    shown = visible(name)
    assert len(shown) <= 64
    assert shown.isprintable()
    assert not {unicodedata.category(letter) for letter in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert visible(shown) == shown


def test_a_long_name_is_cut_visibly() -> None:
    assert visible("x" * 64) == "x" * 64
    assert visible("x" * 65) == "x" * 63 + "…"


def test_a_letter_keeps_two_accents() -> None:
    assert visible("Z" + "\u0300" * 50 + "a\u0301") == "Z\u0300\u0300a\u0301"
    assert visible("Z" + "\u0300" * 500) == "Z\u0300\u0300…"
