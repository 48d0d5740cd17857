"""The SVG elements the drawing is made of, its measures, and texts that fit into them."""

from collections.abc import Sequence
from html import escape
from typing import Final
from unicodedata import east_asian_width

from service.games.words import visible

#: The width of the drawing in its own units; at 360 pixels one unit is half a pixel.
WIDTH: Final = 720
#: The margin of the drawing, and the distance between its blocks.
MARGIN: Final = 12
INNER: Final = WIDTH - 2 * MARGIN
#: Five tiles side by side, with gaps between them, fill a block.
TILE_WIDTH: Final = 130
TILE_HEIGHT: Final = 102
TILE_GAP: Final = 6
#: The distance from the edge of a block to its tiles.
PAD: Final = 11
#: The height of a line of spaces without tiles.
FLAT_HEIGHT: Final = 44
#: The size of a token, and of a marker.
TOKEN: Final = 20
MARKER: Final = 20
#: The room for a name on a mat.
NAME_WIDTH: Final = 184

#: Left, top, width and height.
Box = tuple[float, float, float, float]

_NARROW: Final = frozenset("iljtfrI.,:;'|!()[] ")
_BROAD: Final = frozenset("mwMWQO@%&")
#: The room for a name in titles.
_NAME_EMS: Final = 24.0
#: The part of its room that a text may fill by the widths of a common font, and still fit in a broad one.
_SURE: Final = 0.8


def width_of(text: str, size: float) -> float:
    """Returns about how wide a text is in a common sans-serif font."""
    ems = 0.0
    for letter in text:
        if letter in _NARROW:
            ems += 0.33
        elif letter in _BROAD:
            ems += 0.85
        elif letter.isascii():
            ems += 0.69 if letter.isupper() else 0.57
        else:
            ems += 1.05 if east_asian_width(letter) in "WF" else 0.7
    return ems * size


def cut(text: str, most: float, size: float) -> str:
    """Returns the text, or its beginning and an ellipsis if it is wider than ``most``."""
    if width_of(text, size) <= most:
        return text
    while text and width_of(text, size) > most - size:
        text = text[:-1]
    return text.rstrip() + "…"


def seat_name(names: Sequence[str], seat: int) -> str:
    """Returns the name of a seat, cut to its room; not escaped yet."""
    return cut(visible(names[seat]) if seat < len(names) else "", _NAME_EMS, 1) or f"Seat {seat}"


def title(words: str) -> str:
    """Returns the title of a part: what a screen reader says and a mouse pointer shows."""
    return f"<title>{escape(words)}</title>"


def part(name: str, words: str, marked: bool, content: str, place: Box, at_origin: bool = True) -> str:
    """Returns a part of the drawing: a group with a name for programs and a title for people, also for screen readers.

    Its content starts at the corner of its box, or, if not ``at_origin``, at the corner of the whole block.
    """
    x, y, width, height = place
    moved = f' transform="translate({x} {y})"' if at_origin else ""
    if not marked:
        return f'<g data-part="{name}" role="img"{moved}>{title(words)}{content}</g>'
    ring = box("rl-ring", 0 if at_origin else x, 0 if at_origin else y, width, height, 9)
    return f'<g class="marked" data-part="{name}" role="img"{moved}>{title(words)}{content}{ring}</g>'


def use(symbol: str, x: float = 0, y: float = 0, scale: float = 1) -> str:
    """Returns a symbol with its upper left corner at a point."""
    if scale != 1:
        return f'<use href="#rl-{symbol}" transform="translate({x:g} {y:g})scale({scale:g})"/>'
    return f'<use href="#rl-{symbol}" x="{x:g}" y="{y:g}"/>' if x or y else f'<use href="#rl-{symbol}"/>'


def box(css: str, x: float, y: float, width: float, height: float, radius: float = 8) -> str:
    """Returns a rectangle with round corners."""
    return f'<rect class="{css}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius:g}"/>'


def text(css: str, x: float, y: float, words: str, size: float = 0, most: float = 0) -> str:
    """Returns a line of text, a bold number if it has no class, which is never wider than ``most``.

    Fonts differ in width by a fifth, so a text that nearly fills its room gets a fixed width too.
    """
    fit = ""
    if most and width_of(words, size) > most * _SURE:
        fit = f' textLength="{min(most, width_of(words, size)):g}" lengthAdjust="spacingAndGlyphs"'
    style = f' class="{css}"' if css else ""
    return f'<text{style} x="{x:g}" y="{y:g}"{fit}>{escape(words)}</text>'


def lines(words: str, most: float, size: float) -> list[str]:
    """Returns a text broken into lines that are not wider than ``most``; a no-break space keeps two words together."""
    found: list[str] = []
    for word in words.split(" "):
        if found and width_of(f"{found[-1]} {word}", size) <= most:
            found[-1] += " " + word
        else:
            found.append(word)
    return [line.replace("\u00a0", " ") for line in found]
