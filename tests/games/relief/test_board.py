"""The drawing of the board: well-formed, safe to show, complete, and made from nothing but the view."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from xml.etree import ElementTree

import pytest

from service.games.core import Viewer
from service.games.relief import RELIEF
from service.games.relief.actions import KEEP, PASS, Action, read
from service.games.relief.board import BOARD, draw, parts
from service.games.relief.box import TILES
from service.games.relief.state import State
from service.games.relief.view import View
from tests.games.relief.tables import A, B, draws, new, relief

NAMES: Final = ("Anna", "Ben", "Cleo")
#: Every position of this distance in a game is looked at.
STEP: Final = 17
SVG: Final = "{http://www.w3.org/2000/svg}"
ELEMENTS: Final = {
    "svg", "title", "desc", "defs", "g", "use", "path", "rect", "circle", "text", "tspan", "pattern", "clipPath",
}  # fmt: skip
ATTRIBUTES: Final = {
    "class", "viewBox", "role", "aria-roledescription", "aria-hidden",
    "id", "transform", "data-part", "href", "d", "x", "y", "dx", "cx", "cy", "r", "rx",
    "width", "height", "textLength", "lengthAdjust", "patternUnits", "clip-path",
}  # fmt: skip
#: Actions that concern no part of the drawing; every action of Relief concerns one.
WITHOUT_PARTS: Final[frozenset[str]] = frozenset()
#: What is longer than this costs a page too much; few tables of three with nearly full mats come near it.
MOST_BYTES: Final = 47_000


@lru_cache(4)
def game(seats: int, player: str = "greedy") -> tuple[State, ...]:
    """Returns sampled positions of one game, the first and the last included."""
    table = new(seats, 5)
    chance = draws(f"board {seats}")
    found = [RELIEF.copy(table)]
    decisions = 0
    while acting := RELIEF.to_act(table):
        RELIEF.apply(table, acting[0], RELIEF.players[player](table, acting[0], chance))
        decisions += 1
        if decisions % STEP == 0:
            found.append(RELIEF.copy(table))
    return (*found, table)


def views(table: State) -> Iterator[View]:
    """Returns the table as each seat and a spectator see it."""
    for viewer in (*range(len(table.players)), None):
        yield RELIEF.view(table, viewer)


def drawn(view: View, *marked: str, names: tuple[str, ...] = NAMES) -> ElementTree.Element:
    """Returns the drawing as a tree; fails if it is not well-formed."""
    return ElementTree.fromstring(draw(view, names, marked))


def named_parts(drawing: ElementTree.Element) -> list[str]:
    """Returns the data-part of every part, in the order of the drawing."""
    return [element.attrib["data-part"] for element in drawing.iter() if "data-part" in element.attrib]


def words_of(drawing: ElementTree.Element, part: str) -> str:
    """Returns the title of a part."""
    [element] = [element for element in drawing.iter() if element.get("data-part") == part]
    return element.findtext(f"{SVG}title") or ""


def shown(drawing: ElementTree.Element) -> str:
    """Returns all that is written in the drawing."""
    return " ".join("".join(element.itertext()) for element in drawing.iter(f"{SVG}text"))


@pytest.mark.parametrize("seats", [2, 3])
def test_every_drawing_is_one_plain_svg_without_styles_scripts_or_foreign_addresses(seats: int) -> None:
    for table in game(seats):
        for view in views(table):
            drawing = drawn(view)
            assert drawing.tag == f"{SVG}svg"
            assert (drawing.get("role"), drawing.get("aria-roledescription")) == ("group", "board")
            assert drawing.find(f"{SVG}title") is not None
            assert drawing.find(f"{SVG}desc") is not None
            for element in drawing.iter():
                assert element.tag.removeprefix(SVG) in ELEMENTS
                assert set(element.attrib) <= ATTRIBUTES
                assert element.get("href", "#rl-").startswith("#rl-")
                assert element.get("id", "rl-").startswith("rl-")


@pytest.mark.parametrize("seats", [2, 3])
def test_every_symbol_used_is_defined_once(seats: int) -> None:
    for table in game(seats):
        drawing = drawn(RELIEF.view(table, None))
        ids = [element.attrib["id"] for element in drawing.iter() if "id" in element.attrib]
        assert len(ids) == len(set(ids))
        assert {element.attrib["href"][1:] for element in drawing.iter(f"{SVG}use")} <= set(ids)


@pytest.mark.parametrize("seats", [2, 3])
def test_every_class_used_has_a_rule(seats: int) -> None:
    known = set(re.findall(r"\.([a-z][a-z0-9-]*)", BOARD.css))
    for table in game(seats):
        for view in views(table):
            for element in drawn(view, "square:water").iter():
                assert set(element.get("class", "").split()) <= known


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize("player", ["greedy", "random"])
def test_every_legal_action_names_parts_that_the_drawing_has(seats: int, player: str) -> None:
    for table in game(seats, player):
        for seat in RELIEF.to_act(table):
            view = RELIEF.view(table, seat)
            there = set(named_parts(drawn(view)))
            for action in RELIEF.legal_actions(table, seat):
                concerned = parts(view, seat, action)
                assert set(concerned) <= there, action
                assert concerned or action.text in WITHOUT_PARTS


@pytest.mark.parametrize("seats", [2, 3])
def test_every_part_has_its_own_name_and_a_title(seats: int) -> None:
    for table in game(seats):
        drawing = drawn(RELIEF.view(table, A))
        found = named_parts(drawing)
        assert len(found) == len(set(found))
        assert all(words_of(drawing, part) for part in found)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (read("use @1"), ("mat:0:1", "square:water")),
        (read("use @5"), ("mat:0:5",)),
        (read("build T01 @8"), ("row:T01", "mat:0:8", "square:build")),
        (read("build X3 @8"), ("special:0", "mat:0:8", "square:build")),
        (read("spend $2"), ("square:spend",)),
        (read("trade W1 K2"), ("square:port",)),
        (read("lead @3"), ("mat:0:3",)),
        (KEEP, ("leaders:0",)),
        (PASS, ("markers:0",)),
    ],
)
def test_an_action_concerns_what_it_touches(action: Action, expected: tuple[str, ...]) -> None:
    view = RELIEF.view(new(2), A)._replace(row=("T01", "T02", "T04", "T05", "T07"))

    assert parts(view, A, action) == expected


def test_marked_parts_and_no_others_are_marked() -> None:
    view = RELIEF.view(new(3), A)
    every = named_parts(drawn(view))
    for wanted in ((), ("square:water", "mat:1:4"), tuple(part for part in every if part != "heading")):
        drawing = drawn(view, *wanted, "row:gone")
        marked = {
            element.get("data-part") for element in drawing.iter() if "marked" in element.get("class", "").split()
        }
        assert marked == set(wanted)


@pytest.mark.parametrize("seats", [2, 3])
def test_what_a_viewer_cannot_know_does_not_change_its_drawing(seats: int) -> None:
    for number, table in enumerate(game(seats)):
        for viewer in (*range(seats), None):
            other = RELIEF.redeal(table, viewer, draws(f"redeal {number}"))
            assert _picture_for(table, viewer) == _picture_for(other, viewer)


def _picture_for(table: State, viewer: Viewer) -> str:
    return draw(RELIEF.view(table, viewer), NAMES, ())


def test_hidden_cards_are_shown_to_their_owner_alone() -> None:
    table = new(2)
    special, objective = (RELIEF.view(table, A).seats[A].special, RELIEF.view(table, A).seats[A].objective)
    assert f"{special}, for" in words_of(drawn(RELIEF.view(table, A)), "special:0")
    assert objective in words_of(drawn(RELIEF.view(table, A)), "objective:0")
    for viewer in (B, None):
        drawing = drawn(RELIEF.view(table, viewer))
        assert words_of(drawing, "special:0") == "Anna’s special tile is hidden"
        assert words_of(drawing, "objective:0") == "Anna’s objective is secret"


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "\" onload='x' & ]]> &amp;",
        "</text></svg>",
        "\x00\x07\ud800\u202eevil\u2066",
        "a" + "\u0301" * 500,
        "W" * 5000,
        "名" * 90,
        "",
        "   ",
    ],
)
def test_hostile_names_stay_text_on_one_short_line(name: str) -> None:
    table = game(3)[4]
    drawing = drawn(RELIEF.view(table, None), names=(name, name, name))

    assert named_parts(drawing) == named_parts(drawn(RELIEF.view(table, None)))
    assert {element.tag for element in drawing.iter()} == {
        element.tag for element in drawn(RELIEF.view(table, None)).iter()
    }
    for element in drawing.iter(f"{SVG}text"):
        words = "".join(element.itertext())
        assert words.isprintable()
        assert len(words) < 80


def test_a_missing_name_becomes_the_number_of_the_seat() -> None:
    assert "Seat 1" in shown(drawn(RELIEF.view(new(2), None), names=("Anna",)))


def test_titles_tell_what_lies_on_the_table() -> None:
    drawing = drawn(RELIEF.view(relief("board: W3 F1 | A* $4 @1 T01 T02 ! x1 | B"), None))

    assert words_of(drawing, "square:water") == "Water store square: 3 tokens"
    assert words_of(drawing, "square:food") == "Food store square: 1 token"
    assert words_of(drawing, "mat:0:1") == (
        "Well on space 1 of Anna’s mat: water icon; 3 VP; take 3 water; with a leader; 1 marker; "
        "on top of Water Station and Water Point"
    )
    assert words_of(drawing, "mat:0:8") == "Space 8 of Anna’s mat: open, the next to build on"
    assert "4 money" in words_of(drawing, "goods:0")
    assert words_of(drawing, "markers:0") == "Anna has 5 markers left"


@pytest.mark.parametrize("seats", [2, 3])
def test_every_tile_and_count_in_sight_is_drawn(seats: int) -> None:
    for table in game(seats):
        view = RELIEF.view(table, A)
        drawing = drawn(view)
        texts = shown(drawing)
        names = {tile.id: tile.name for tile in TILES}
        for id in view.row:
            assert names[id] in texts
        for seat in view.seats:
            assert all(names[space.tile] in texts for space in seat.mat)
            assert f"{seat.track}VP" in texts
        acting = {seat.seat for seat in view.seats if "to act" in words_of_mat(drawing, seat.seat)}
        assert acting == set(view.to_act)


def words_of_mat(drawing: ElementTree.Element, seat: int) -> str:
    """Returns the title of a whole mat."""
    titles = [element.text or "" for element in drawing.iter(f"{SVG}title")]
    [found] = [words for words in titles if words.startswith(f"{NAMES[seat]}’s mat, seat {seat}")]
    return found


@pytest.mark.parametrize("seats", [2, 3])
def test_equal_views_give_equal_drawings_of_modest_size(seats: int) -> None:
    for table in game(seats):
        first, second = (_picture_for(RELIEF.copy(table), A) for _ in range(2))
        assert first == second
        assert len(first.encode()) < MOST_BYTES


def _luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def palettes() -> list[dict[str, str]]:
    """Returns the colours of every theme: light and dark, and both with strong contrast."""
    blocks = re.findall(r"\.rl-board \{([^}]*)\}", BOARD.css)
    found: list[dict[str, str]] = []
    for block in blocks:
        pairs = re.findall(r"--rl-([a-z0-9-]+): (?:light-dark\()?(#[0-9a-f]{6,8})(?:, (#[0-9a-f]{6,8})\))?;", block)
        found.append({name: light for name, light, _ in pairs})
        found.append({name: dark or light for name, light, dark in pairs})
    light, dark, strong, strong_dark = found
    return [light, dark, {**light, **strong}, {**dark, **strong_dark}]


def test_every_colour_is_defined_once_for_both_themes() -> None:
    for block in re.findall(r"\.rl-board \{([^}]*)\}", BOARD.css):
        names = re.findall(r"(--rl-[a-z0-9-]+):", block)
        assert len(names) == len(set(names)) > 10
    assert "prefers-color-scheme" not in BOARD.css


@pytest.mark.parametrize("theme", range(4))
def test_texts_reach_a_contrast_of_four_and_a_half(theme: int) -> None:
    colours = palettes()[theme]
    tints = [name for name in colours if name.startswith("tint-")]
    pairs = [(ink, ground) for ink in ("ink", "soft") for ground in ("paper", "block", "card", "works", "goal", "band")]
    pairs += [("ink", tint) for tint in tints] + [("on-vp", "vp"), ("on-now", "now"), ("alarm", "paper")]
    pairs += [("on-leader", "leader")]
    for ink, ground in pairs:
        assert _contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for token in ("water", "food", "supply", "worker", "distressed", "injured", "story", "money", "influence", "hope"):
        assert _contrast("#ffffff", colours[token]) >= 4.5, token
    for seat in range(3):
        assert _contrast("#ffffff", colours[f"seat-{seat}"]) >= 4.5
