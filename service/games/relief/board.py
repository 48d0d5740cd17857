"""Draws the table of a view as SVG for a browser.

Every part that means something has a ``data-part`` and a title in words, and is an image to a screen reader: ``square:water``,
``row:T12``, ``objective``, ``supply``, ``tiles``, ``cards``, ``mat:0:4`` (space 4 of seat 0), ``special:0``, ``objective:0``,
``markers:0``, ``leaders:0``, ``goods:0``, ``points:0``, ``icons:0``. The drawing and the mats are groups of such parts.
"""

from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path
from typing import Final

from service.games.core import Board, Seat
from service.games.relief.actions import Action, Build, Keep, Lead, Pass, Spend, Trade, Use
from service.games.relief.board_mats import mat, mat_height, starters
from service.games.relief.board_shapes import SYMBOLS, works
from service.games.relief.board_svg import MARGIN, WIDTH, seat_name, title
from service.games.relief.board_table import (
    BOARD_HEIGHT,
    HEADING_HEIGHT,
    ROW_HEIGHT,
    heading,
    panel,
    phase_words,
    row,
    squares,
)
from service.games.relief.box import KINDS, TILE_NUMBER, TILES
from service.games.relief.view import View
from service.games.words import listed

_BOARD_TOP: Final = HEADING_HEIGHT + MARGIN
_ROW_TOP: Final = _BOARD_TOP + BOARD_HEIGHT + MARGIN
_MATS_TOP: Final = _ROW_TOP + ROW_HEIGHT + MARGIN


def draw(view: View, names: Sequence[str], marked: Collection[str]) -> str:
    """Returns the table as one ``<svg>`` element; the viewer's own mat comes first, the others follow clockwise."""
    shown = [seat_name(names, seat) for seat in range(view.players)]
    height = _MATS_TOP + sum([mat_height(seat) + MARGIN for seat in view.seats])
    points = listed([f"{shown[seat.seat]} has {seat.track} points on the track" for seat in view.seats])
    found = [
        f'<svg class="rl-board" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="group" '
        'aria-roledescription="board">',
        title(f"Relief, {phase_words(view)}"),
        f"<desc>{escape(points)}.</desc>",
        # A screen reader would read the texts in the symbols.
        f'<defs aria-hidden="true">{SYMBOLS}{works(view.players)}{starters(view)}</defs>',
        f'<rect class="rl-paper" width="{WIDTH}" height="{height}" rx="16"/>',
        heading(view, shown),
        squares(view, shown, marked, _BOARD_TOP),
        panel(view, marked, _BOARD_TOP),
        row(view, marked, _ROW_TOP),
    ]
    top = _MATS_TOP
    first = view.you or 0
    for seat in (*view.seats[first:], *view.seats[:first]):
        found.append(mat(view, seat, shown, marked, top))
        top += mat_height(seat) + MARGIN
    found.append("</svg>")
    return "".join(found)


def parts(view: View, seat: Seat, action: Action) -> Sequence[str]:
    """Returns the parts of the drawing that an action concerns."""
    if isinstance(action, Use):
        tile = TILES[TILE_NUMBER[view.seats[seat].mat[action.space].tile]]
        taken = [f"square:{KINDS[kind]}" for kind, _ in (*tile.take, *tile.help)]
        return (f"mat:{seat}:{action.space + 1}", *taken)
    if isinstance(action, Build):
        id = TILES[action.tile].id
        source = f"row:{id}" if id in view.row else f"special:{seat}"
        return source, f"mat:{seat}:{action.space + 1}", "square:build"
    if isinstance(action, Spend):
        return ("square:spend",)
    if isinstance(action, Trade):
        return ("square:port",)
    if isinstance(action, Lead):
        return (f"mat:{seat}:{action.space + 1}",)
    if isinstance(action, Keep):
        return (f"leaders:{seat}",)
    if isinstance(action, Pass):
        return (f"markers:{seat}",)
    raise TypeError(f"{action!r} is not an action of Relief")


BOARD: Final = Board(draw=draw, parts=parts, css=(Path(__file__).parent / "board.css").read_text(encoding="utf-8"))
