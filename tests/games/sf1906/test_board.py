"""The drawn board: well-formed, complete, and made of nothing but the view."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from service import games
from service.games.chance import Draws, seeds_of
from service.games.core import AnyGame, Board
from service.games.playing import player_draws
from service.games.sf1906 import box
from service.games.sf1906.board import BOARD
from service.games.sf1906.board_shapes import objective_words
from service.games.sf1906.view import View

SVG = "{http://www.w3.org/2000/svg}"
TABLES = [("sf1906-1e", seats) for seats in (2, 3, 4)] + [("sf1906-2e", seats) for seats in (1, 2, 3, 4)]
NAMES = ("Anna", "Ben", "Cleo", "Dimitri")
HOSTILE = (
    "</title><script>alert(1)</script>\"'&",
    "\x00\x1b\u202e\ud800<g onload=x>",
    "Z" + "\u0300" * 500,
    "W" * 5000,
)
#: What is longer than this costs a page too much.
MOST_BYTES = 56_000
#: The only action that no part of the drawing stands for: nothing is taken.
WITHOUT_PART = {"reward none"}
_CLASS = re.compile(r'class="([^"]*)"')


def board_of(game: AnyGame) -> Board[Any]:
    assert game.board is not None
    return game.board


@cache
def positions(game_id: str, seats: int) -> tuple[Any, ...]:
    """Every thirteenth position of a game, and the first and the last."""
    game = games.get(game_id)
    state = game.new(seats, {}, seeds_of(19, seats))
    draws = player_draws(19, seats, seats)
    found = [game.copy(state)]
    plies = 0
    while acting := game.to_act(state):
        seat = acting[0]
        game.apply(state, seat, game.players["greedy"](state, seat, draws[seat]))
        plies += 1
        if plies % 13 == 0:
            found.append(game.copy(state))
    return (*found, state)


def views(game_id: str, seats: int) -> Iterator[View]:
    """What a spectator and one seat see of the positions."""
    game = games.get(game_id)
    for number, state in enumerate(positions(game_id, seats)):
        yield game.view(state, number % seats if number % 2 else None)


def parts_of(svg: str) -> set[str]:
    return {part for element in ET.fromstring(svg).iter() if (part := element.get("data-part"))}


@pytest.mark.parametrize(("game_id", "seats"), TABLES)
def test_every_drawing_is_well_formed_and_carries_neither_styles_nor_scripts(game_id: str, seats: int) -> None:
    """The pages forbid inline styles and scripts."""
    for view in views(game_id, seats):
        svg = BOARD.draw(view, NAMES[:seats], ())
        root = ET.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert (root.get("role"), root.get("aria-roledescription")) == ("group", "board")
        assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
        for element in root.iter():
            assert element.tag.removeprefix(SVG) not in {"style", "script", "foreignObject", "image", "svg", "a"} or (
                element is root
            )
            assert not [name for name in element.attrib if name == "style" or name.startswith("on")]
            assert element.get("href", "#").startswith("#")
            if "data-part" in element.attrib:
                assert element[0].tag == f"{SVG}title"
                assert element[0].text


@pytest.mark.parametrize(("game_id", "seats"), TABLES)
def test_no_part_is_drawn_twice_and_every_symbol_is_defined(game_id: str, seats: int) -> None:
    """A second part of one name could not be clicked, and a symbol without a definition stays empty."""
    for view in views(game_id, seats):
        elements = list(ET.fromstring(BOARD.draw(view, NAMES[:seats], ())).iter())
        names = [element.get("data-part") for element in elements if "data-part" in element.attrib]
        ids = [element.get("id") for element in elements if "id" in element.attrib]
        assert len(names) == len(set(names))
        assert len(ids) == len(set(ids))
        assert {str(element.get("href"))[1:] for element in elements if "href" in element.attrib} <= set(ids)


@pytest.mark.parametrize(("game_id", "seats"), TABLES)
def test_every_legal_action_names_parts_of_the_drawing(game_id: str, seats: int) -> None:
    """Only ``reward none`` concerns nothing on the table."""
    game = games.get(game_id)
    for state in positions(game_id, seats):
        for seat in game.to_act(state):
            view = game.view(state, seat)
            drawn = parts_of(BOARD.draw(view, NAMES[:seats], ()))
            for action in game.legal_actions(state, seat):
                concerned = BOARD.parts(view, seat, action)
                assert set(concerned) <= drawn, action
                assert concerned or game.text(action) in WITHOUT_PART


def test_marked_parts_carry_the_class_and_others_do_not() -> None:
    """The last move is shown by this class."""
    game = games.get("sf1906-2e")
    for state in positions("sf1906-2e", 3):
        for seat in game.to_act(state):
            view = game.view(state, seat)
            parts = BOARD.parts(view, seat, game.legal_actions(state, seat)[0])
            root = ET.fromstring(BOARD.draw(view, NAMES[:3], parts))
            marked = {e.get("data-part") for e in root.iter() if "marked" in (e.get("class") or "").split()}
            assert marked == set(parts)


@pytest.mark.parametrize(("game_id", "seats"), TABLES)
def test_a_spectator_sees_the_same_drawing_when_hidden_cards_are_dealt_again(game_id: str, seats: int) -> None:
    """R72: decks and unseen objectives have no influence on what a spectator sees."""
    game = games.get(game_id)
    for number, state in enumerate(positions(game_id, seats)[:-1]):
        again = game.redeal(state, None, Draws(bytes([number]) * 32, "redeal"))
        drawings = [BOARD.draw(game.view(table, None), NAMES[:seats], ()) for table in (state, again)]
        assert drawings[0] == drawings[1]


def test_hostile_names_are_escaped_and_cut() -> None:
    """Names of bots come from strangers."""
    view = games.get("sf1906-2e").view(positions("sf1906-2e", 4)[5], None)

    svg = BOARD.draw(view, HOSTILE, ())

    plain, hostile = ET.fromstring(BOARD.draw(view, NAMES, ())), ET.fromstring(svg)
    assert [element.tag for element in hostile.iter()] == [element.tag for element in plain.iter()]
    assert max(len(element.text or "") for element in hostile.iter(f"{SVG}text")) < 24
    assert "</title><script>" not in svg
    assert not re.search("[\x00-\x08\u202e\ud800]|\u0300{3}", svg)
    assert len(svg.encode()) < MOST_BYTES


def test_a_seat_without_a_usable_name_goes_by_its_colour() -> None:
    """An invisible letter is replaced, as in sentences."""
    view = games.get("sf1906-2e").view(positions("sf1906-2e", 2)[0], None)

    svg = BOARD.draw(view, (" \n", ""), ())

    assert ">orange</text>" in svg
    assert ">black</text>" in svg
    assert ">\N{REPLACEMENT CHARACTER}</text>" in BOARD.draw(view, ("\u200b", ""), ())


def test_the_committee_is_drawn_although_it_has_no_name_among_the_seats() -> None:
    """R44, R73: it has a play area, and one earnings space is blocked."""
    game = games.get("sf1906-2e")
    svg = BOARD.draw(game.view(positions("sf1906-2e", 1)[3], 0), ("Anna",), ())

    assert "player:1" in parts_of(svg)
    assert "<title>Committee of Fifty, grey C: " in svg
    assert "Earnings area, $1: blocked" in svg


def test_six_digits_of_money_leave_the_name_less_room() -> None:
    """E2: the second edition has no limit to money."""
    view = games.get("sf1906-2e").view(positions("sf1906-2e", 2)[3], None)
    rich = view._replace(players=tuple(player._replace(money=123456) for player in view.players))

    svg = BOARD.draw(rich, ("Maximiliane Wolkenstein", "Ben"), ())

    assert ">$123456</text>" in svg
    assert '"url(#sf-clip-rich)" transform="translate(50 28)"><text class="sf-b sf-w">Maximilia…' in svg
    assert '"url(#sf-clip-panel)"' in BOARD.draw(view, NAMES[:2], ())


@pytest.mark.parametrize(("game_id", "seats"), [("sf1906-1e", 2), ("sf1906-2e", 4)])
def test_every_space_of_the_map_shows_its_whole_name(game_id: str, seats: int) -> None:
    """Sentences and notation name spaces as the map does."""
    for view in views(game_id, seats):
        elements = ET.fromstring(BOARD.draw(view, NAMES[:seats], ())).iter()
        parts = {element.get("data-part"): element for element in elements if element.get("data-part")}
        for spot in view.spaces:
            words = "".join("".join(text.itertext()) for text in parts[f"space:{spot.space}"].findall(f"{SVG}text"))
            assert words == spot.space


def test_the_player_to_act_is_named_and_nobody_is_when_the_game_is_over() -> None:
    """In words for those who do not see the drawing, and in the drawing."""
    game = games.get("sf1906-1e")
    first, *_, last = positions("sf1906-1e", 3)
    seat = game.to_act(first)[0]

    assert f"<desc>{NAMES[seat]} chooses earnings. " in BOARD.draw(game.view(first, None), NAMES[:3], ())
    assert BOARD.draw(game.view(first, None), NAMES[:3], ()).count(">to act<") == 1
    assert "<desc>The game is over. " in BOARD.draw(game.view(last, None), NAMES[:3], ())
    assert ">to act<" not in BOARD.draw(game.view(last, None), NAMES[:3], ())


def test_objectives_that_the_viewer_does_not_know_lie_face_down() -> None:
    """R72: a hidden objective is shown to its owner alone."""
    game = games.get("sf1906-2e")
    state = positions("sf1906-2e", 2)[0]

    assert {"hidden:0:0", "hidden:1:0"} <= parts_of(BOARD.draw(game.view(state, None), NAMES[:2], ()))
    assert {
        part for part in parts_of(BOARD.draw(game.view(state, 0), NAMES[:2], ())) if part.startswith("hidden:")
    } == {"hidden:1:0"}


def test_equal_views_give_equal_drawings_of_moderate_size() -> None:
    """Pages are cached by what they show."""
    for game_id, seats in TABLES:
        for view in views(game_id, seats):
            svg = BOARD.draw(view, NAMES[:seats], ())
            assert svg == BOARD.draw(view, list(NAMES[:seats]), set())
            assert len(svg.encode()) < MOST_BYTES


def test_every_class_of_a_drawing_is_in_the_style_sheet_and_the_other_way_round() -> None:
    """A class without a rule is black on any ground."""
    used = {"marked"}
    for game_id, seats in TABLES:
        for view in views(game_id, seats):
            used |= {name for names in _CLASS.findall(BOARD.draw(view, NAMES[:seats], ())) for name in names.split()}
    styled = set(
        re.findall(r"\.([a-zA-Z][\w-]*)", re.sub(r"\{[^}]*\}", "{}", re.sub(r"/\*.*?\*/", "", BOARD.css, flags=re.S)))
    )
    assert used - {"sf-chosen", "sf-grant"} <= styled
    assert styled - {"sf-chosen", "sf-grant"} <= used
    assert all(name == "marked" or name.startswith("sf-") for name in styled)


# ----------------------------------------------------------------------------------------------------------------- colours
def _themes() -> list[dict[str, str]]:
    """The colours in light and in dark."""
    found: list[dict[str, str]] = [{}, {}]
    for name, light, dark in re.findall(r"--sf-([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", BOARD.css):
        found[0][name], found[1][name] = light, dark
    return found


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    lower, higher = sorted((_luminance(one), _luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def test_every_colour_is_defined_once_for_both_themes() -> None:
    """Two definitions of one colour drift apart."""
    outside_contrast = BOARD.css.split("@media (prefers-contrast: more)")[0]
    names = re.findall(r"(--sf-[\w-]+):", outside_contrast)
    assert len(names) == len(set(names)) > 20
    assert "prefers-color-scheme" not in BOARD.css


def test_text_reaches_a_contrast_of_four_and_a_half_in_every_theme() -> None:
    """WCAG 2.2, level AA; the tiles of the map only move a plot's colour away from that of the text."""
    themes = _themes()
    plots = ("yellow", "green", "red", "purple", "grant")
    for theme in themes[:2]:
        for ground in ("paper", "card", "slot", "loss", "even", "gain", "orange", *plots):
            assert _contrast(theme["ink"], theme[ground]) >= 4.5, ground
        for ground in ("paper", "card", "slot", "street"):
            assert _contrast(theme["muted"], theme[ground]) >= 4.5, ground
        for ground in ("accent", "back"):
            assert _contrast(theme["inv"], theme[ground]) >= 4.5, ground
    fills = dict(re.findall(r"\.sf-p([OKBWC]) \{ fill: (#[0-9a-f]{6}); \}", BOARD.css))
    inks = {"O": "#2a1704", "W": "#26231f", "K": "#ffffff", "B": "#ffffff", "C": "#ffffff"}
    assert set(fills) == set(inks)
    for letter, ink in inks.items():
        assert ink in BOARD.css
        assert _contrast(ink, fills[letter]) >= 4.5, letter


@pytest.mark.parametrize(
    ("game_id", "seats", "objective", "meaning"),
    [
        ("sf1906-1e", 3, "O03", "Beside a rival: 2 points for each own building beside one of another player"),
        ("sf1906-2e", 2, "O03", "Beside a rival: 3 points for each own building beside one of another player"),
        ("sf1906-2e", 1, "O07", "Buildings on green: 2 points for each own building on green"),
        ("sf1906-2e", 4, "O13", "Cable cars: 2 points for each cable car card"),
        (
            "sf1906-2e",
            4,
            "O21",
            "Most buildings on red: 6 points for the most own buildings on red, then 4, 2 and 1; ties share",
        ),
        ("sf1906-1e", 2, "O23", "Most rubble cleared: 5 points for the most rubble tokens, then 1; ties share"),
        ("sf1906-1e", 2, "O24", "Money in hand: 1 point for each full $3"),
        ("sf1906-2e", 3, "O25", "Best Builder: 3 points for the first player with 8 buildings on the map"),
    ],
)
def test_an_objective_says_what_it_counts_and_pays(game_id: str, seats: int, objective: str, meaning: str) -> None:
    """R34-R40, with the values of the edition and of the number of players."""
    view = games.get(game_id).view(positions(game_id, seats)[0], None)
    assert objective_words(view, objective) == f"Objective {objective}, {meaning}"


@pytest.mark.parametrize(("game_id", "seats"), TABLES)
def test_every_objective_has_a_meaning_of_its_own(game_id: str, seats: int) -> None:
    """R34"""
    view = games.get(game_id).view(positions(game_id, seats)[0], None)
    meanings = [objective_words(view, objective).partition(": ")[2] for objective in box.OBJECTIVE_IDS]
    assert all(meanings) and len(set(meanings)) == len(meanings)
