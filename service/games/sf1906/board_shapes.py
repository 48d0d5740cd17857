"""The pieces of the SVG board: parts with their titles, names cut to size, symbols, tokens, permits and objectives.

Lengths are user units of a drawing that is 720 wide, so 16 units are 8 pixels on a screen of 360.
"""

import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache
from html import escape
from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.editions import EDITIONS, Edition
from service.games.sf1906.view import View
from service.games.words import listed, visible

WIDTH: Final = 720
MARGIN: Final = 12
INNER: Final = WIDTH - 2 * MARGIN
GAP: Final = 12

COMMITTEE_NAME: Final = "Committee of Fifty"
#: The letter of each player; none of them is the letter of a plot colour.
LETTERS: Final = {"orange": "O", "black": "K", "blue": "B", "white": "W", "Committee": "C"}
_TOKENS: Final = {
    "orange": '<circle class="sf-pO" r="15"/>',
    "black": '<rect class="sf-pK" x="-14" y="-14" width="28" height="28" rx="4"/>',
    "blue": '<path class="sf-pB" d="M0-18 18 0 0 18-18 0Z"/>',
    "white": '<path class="sf-pW" d="M-9-15H9L17 0 9 15H-9L-17 0Z"/>',
    "Committee": '<path class="sf-pC" d="M-15-14H15V2Q13 12 0 17-13 12-15 2Z"/>',
}
_SYMBOLS: Final = {
    "lighting": "M0-11A8 8 0 0 1 4 4V6H-4V4A8 8 0 0 1 0-11ZM-3 8H3V11H-3Z",
    "cable-car": "M-12-8H12V5H-12ZM-9-5V0H-4V-5ZM-2-5V0H2V-5ZM4-5V0H9V-5ZM-6 7a2 2 0 1 0 .1 0ZM6 7a2 2 0 1 0 .1 0Z",
    "hydrant": "M-4-8a4 4 0 0 1 8 0H6V-5H4V-2H8V3H4V8H6V11H-6V8H-4V3H-8V-2H-4V-5H-6V-8Z",
    "park": "M0-11A8 8 0 0 1 3 4.4H2V11H-2V4.4H-3A8 8 0 0 1 0-11Z",
    "materials": "M-12 3H-1V10H-12ZM1 3H12V10H1ZM-6-6H6V1H-6Z",
    "permit": "M-9-12H4L9-7V12H-9ZM-5-5V-3H5V-5ZM-5 0V2H5V0ZM-5 5V7H1V5Z",
    "objective": "M0-12 3.4-4.3 11.8-3.5 5.5 2 7.3 10.2 0 6-7.3 10.2-5.5 2-11.8-3.5-3.4-4.3Z",
    "clear-up": "M0-13 8-5H3V3H-3V-5H-8ZM-12 12-8 5-4 7 0 5 5 7 8 5 12 12Z",
    "urban-development": "M12-4 4-12V-7H-12V-1H4V4ZM-12 12V4H-7V12ZM-4 12V2H1V12ZM4 12V6H10V12Z",
    "build": "M-12 12V-2L0-12 12-2V12Z",
}
_HOUSE: Final = "M-14 9V-5L0-16 14-5V9Z"
_RUBBLE: Final = "M-13 8-10-1-4-3-1 0 3-7 9-5 13 2 14 8ZM-10-1-4 4-1 0M3-7 5 1 13 2"
_WIDE_KINDS: Final = ("W", "F")
#: A name is cut at the clip of its place too, so that no glyph can leave it.
_NAME_WIDTHS: Final = (("panel", 210), ("rich", 136), ("status", 260))


def definitions(symbols: str) -> str:
    """Returns symbols to be used elsewhere; hidden, because a screen reader would read the texts in them."""
    return f'<defs aria-hidden="true">{symbols}</defs>'


def _definitions() -> str:
    defs = [f'<path id="sf-{name}" class="sf-i" fill-rule="evenodd" d="{d}"/>' for name, d in _SYMBOLS.items()]
    defs.append(
        '<g id="sf-grant-build"><use href="#sf-build"/><text class="sf-c sf-g" y="9">G</text></g>'
        f'<path id="sf-rubble" class="sf-rub" d="{_RUBBLE}"/>'
    )
    for name, shape in _TOKENS.items():
        letter = LETTERS[name]
        text = f'<text class="sf-c sf-l{letter}" y="6">{letter}</text>'
        house = (
            f'<path class="sf-p{letter} sf-house" d="{_HOUSE}"/><text class="sf-c sf-l{letter}" y="7">{letter}</text>'
        )
        defs.append(f'<g id="sf-t{letter}">{shape}{text}</g><g id="sf-h{letter}">{house}</g>')
    for name, width in _NAME_WIDTHS:
        defs.append(f'<clipPath id="sf-clip-{name}"><rect x="-2" y="-22" width="{width + 4}" height="30"/></clipPath>')
    return definitions("".join(defs))


DEFINITIONS: Final = _definitions()


def edition_of(view: View) -> Edition:
    """Returns the edition that the view belongs to."""
    return next(edition for edition in EDITIONS if edition.id == view.edition)


def part(
    name: str, title: str, body: str, marked: Collection[str], at: tuple[int, int], look: str = "", role: str = "img"
) -> str:
    """A part of the drawing that can be marked and clicked; the title is escaped here, the body is SVG.

    To a screen reader it is an image that its title describes, or a group if it has other parts in it.
    """
    look = f"{look} marked".lstrip() if name in marked else look
    kind = f' class="{look}"' if look else ""
    return (
        f'<g data-part="{name}"{kind} role="{role}" transform="translate({at[0]} {at[1]})">'
        f"<title>{escape(title, quote=False)}</title>{body}</g>"
    )


def text(x: int, y: int, words: str, look: str = "") -> str:
    """Words from this program; names of players go through ``named``."""
    kind = f' class="{look}"' if look else ""
    across = f' x="{x}"' if x else ""
    return f'<text{across} y="{y}"{kind}>{words}</text>'


def box_of(width: int, height: int, look: str, radius: int = 6) -> str:
    """A rounded rectangle at the origin of its part."""
    return f'<rect class="{look}" width="{width}" height="{height}" rx="{radius}"/>'


def use(symbol: str, x: int = 0, y: int = 0, scale: str = "") -> str:
    """A symbol of the definitions with its centre at this place."""
    if scale and not (x or y):
        return f'<use href="#sf-{symbol}" transform="scale({scale})"/>'
    if scale:
        return f'<use href="#sf-{symbol}" transform="translate({x} {y})scale({scale})"/>'
    across = f' x="{x}"' if x else ""
    down = f' y="{y}"' if y else ""
    return f'<use href="#sf-{symbol}"{across}{down}/>'


# ---------------------------------------------------------------------------------------------------------------- players
def letter_of(view: View, who: int) -> str:
    """Returns the letter on a player's pawn and buildings."""
    return LETTERS[view.players[who].name]


def token(view: View, who: int, x: int, y: int, scale: str = "") -> str:
    """A player's pawn or marker: a colour, a shape and a letter."""
    return use(f"t{letter_of(view, who)}", x, y, scale)


@lru_cache(256)
def cut(name: str, columns: int) -> str:
    """Returns a name that takes at most this many columns, shortened by an ellipsis; wide characters take two."""
    columns_taken = 0
    for index, character in enumerate(name):
        columns_taken += 2 if unicodedata.east_asian_width(character) in _WIDE_KINDS else 1
        if columns_taken > columns:
            return name[: max(index - 1, 1)].rstrip() + "…"
    return name


def name_of(view: View, names: Sequence[str], who: int) -> str:
    """Returns the name of a player as words for a title; the Committee has no name among the seats."""
    if who >= view.seats:
        return COMMITTEE_NAME
    return (visible(names[who]) if who < len(names) else "") or view.players[who].name


def shown_name(view: View, names: Sequence[str], who: int, columns: int) -> str:
    """Returns the name of a player as it is drawn, cut to this many columns."""
    return view.players[who].name if who >= view.seats else cut(name_of(view, names, who), columns)


def colour_of(view: View, who: int) -> str:
    """Returns what a title says about a player's pieces: ``orange O``."""
    name = view.players[who].name
    return f"{'grey' if name == 'Committee' else name} {LETTERS[name]}"


# ------------------------------------------------------------------------------------------------------------------ cards
def permit_words(name: str) -> str:
    """Returns a permit in words: ``Permit P09, yellow 5, lighting and hydrant``."""
    permit = box.PERMIT_IDS.index(name)
    icons = " and ".join(icon for index, icon in enumerate(box.ICONS) if box.PERMIT_ICONS[permit] >> index & 1)
    number = box.PERMIT_NUMBER[permit]
    what = f"{box.COLOURS[box.PERMIT_COLOUR[permit]]} {number}" if number else "grant"
    return f"Permit {name}, {what}, {icons}"


@lru_cache(256)
def permit_body(name: str, width: int, height: int) -> str:
    """The face of a permit: the plot it allows, and its two icons."""
    permit = box.PERMIT_IDS.index(name)
    number = box.PERMIT_NUMBER[permit]
    letter = box.COLOURS[box.PERMIT_COLOUR[permit]][0].upper() if number else ""
    words = f"{letter}{number}" if number else "Grant"
    icons = [icon for index, icon in enumerate(box.ICONS) if box.PERMIT_ICONS[permit] >> index & 1]
    middle = width // 2
    return (
        box_of(width, height, f"sf-f sf-plot{letter}" if number else "sf-f sf-grant")
        + text(middle, 23, words, "sf-c sf-n" if number else "sf-c sf-b")
        + use(icons[0], middle - 15, height - 18)
        + use(icons[1], middle + 15, height - 18)
    )


def gap_body(width: int, height: int) -> str:
    """A place without a card."""
    return box_of(width, height, "sf-f sf-gap")


def striped(id: str, width: int, height: int) -> str:
    """Definitions of the faces of objectives, one for each frame: a box with a stripe."""
    return "".join(
        f'<g id="sf-{id}-{frame}">{box_of(width, height, "sf-f sf-slot")}'
        f'<path class="sf-{frame}" d="M1 6Q1 1 6 1H8V{height - 1}H6Q1 {height - 1} 1 {height - 6}Z"/></g>'
        for frame in ("green", "purple", "orange")
    )


def back_body(width: int, height: int, count: int, word: str) -> str:
    """A face-down deck with its count."""
    middle = width // 2
    return (
        box_of(width, height, "sf-f sf-back")
        + text(middle, height // 2 - 1, str(count), "sf-c sf-n sf-inv")
        + text(middle, height // 2 + 19, word, "sf-c sf-inv")
    )


_CHIPS: Final = {
    "building": "Buildings",
    "pair": "Pairs",
    "rival": "Rivals",
    "corner": "Corners",
    "alone": "Alone",
    "four-colours": "4 colours",
    "rubble": "Rubble",
    "four-urbanism": "4 services",
    "orange-row": "Orange row",
    "green-column": "Green col.",
    "most-rubble": "Most rubble",
    "money": "Money",
    "most-money": "Most money",
    "best-builder": "Builder",
}
#: What objectives count, by their kind.
_COUNTED: Final = {
    "building": "own building on the map",
    "pair": "pair of own neighbouring buildings; a building counts in one pair",
    "rival": "own building beside one of another player",
    "corner": "own building at a bend of its plot, with buildings on all spaces beside it",
    "alone": "own building without a building beside it",
    "four-colours": "set of own buildings on all four colours",
    "rubble": "rubble token",
    "four-urbanism": "set of all four kinds of urbanism cards",
    "money": "full $3",
}
_MOST: Final = {"most-rubble": "rubble tokens", "most-money": "money"}
_STRIPS: Final = {
    "orange-row": (box.ORANGE_ROW, "the orange number below the own column of the development board"),
    "green-column": (box.GREEN_COLUMN, "the green number beside the own row of the development board"),
}
_CARDS: Final = ("electric lighting", "cable car", "fire hydrant", "park")
_SERVICES: Final = ("Lighting", "Cable cars", "Hydrants", "Parks")


def objective_card(view: View, name: str) -> box.Objective:
    """Returns an objective as the edition of the view prints it."""
    return edition_of(view).objectives[box.OBJECTIVE_IDS.index(name)]


def objective_chip(card: box.Objective) -> str:
    """Returns an objective in at most 11 characters."""
    if card.kind == "colour":
        return box.COLOURS[card.of].capitalize()
    if card.kind == "most-colour":
        return f"Most {box.COLOURS[card.of]}"
    return _SERVICES[card.of] if card.kind == "urbanism" else _CHIPS[card.kind]


def objective_points(view: View, card: box.Objective) -> str:
    """Returns what an objective pays: points for each, a total, or points by place."""
    if card.kind.startswith("most-"):
        return "/".join(str(points) for points in edition_of(view).comparison[len(view.players)])
    if card.kind in ("orange-row", "green-column"):
        return "0–6"
    points = card.points_for_two if len(view.players) == 2 else card.points
    return str(points) if card.kind in ("four-colours", "four-urbanism", "best-builder") else f"{points} each"


def objective_words(view: View, name: str) -> str:
    """Returns an objective in words: ``Objective O07, Buildings on green: 2 points for each own building on green``."""
    card = objective_card(view, name)
    return f"Objective {name}, {card.name}: {_objective_meaning(view, card)}"


def _objective_meaning(view: View, card: box.Objective) -> str:
    """Returns what is counted at the end, and what it pays (R34-R40)."""
    if card.kind.startswith("most-"):
        first, *others = edition_of(view).comparison[len(view.players)]
        most = f"own buildings on {box.COLOURS[card.of]}" if card.kind == "most-colour" else _MOST[card.kind]
        return f"{first} points for the most {most}, then {listed([str(place) for place in others])}; ties share"
    if card.kind in _STRIPS:
        strip, number = _STRIPS[card.kind]
        return f"{min(strip)} to {max(strip)} points, {number}"
    points = card.points_for_two if len(view.players) == 2 else card.points
    if card.kind == "best-builder":
        return f"{points} points for the first player with {box.BUILDINGS} buildings on the map"
    if card.kind == "colour":
        counted = f"own building on {box.COLOURS[card.of]}"
    elif card.kind == "urbanism":
        counted = f"{_CARDS[card.of]} card"
    else:
        counted = _COUNTED[card.kind]
    return f"{points} {'point' if points == 1 else 'points'} for each {counted}"
