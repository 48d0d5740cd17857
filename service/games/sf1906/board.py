"""Draws the table of a view as SVG for a browser: heading, years, map and ring, development board, rows, play areas."""

from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path
from typing import Final

from service.games.core import Board, Seat
from service.games.sf1906 import box
from service.games.sf1906.actions import (
    COLLECT,
    DECK,
    NONE,
    PASSING,
    Action,
    At,
    Benefit,
    Clear,
    Discard,
    Earn,
    Place,
    Reward,
    TakeObjective,
    TakePermit,
)
from service.games.sf1906.board_map import map_and_ring
from service.games.sf1906.board_players import AREA_WIDTH, areas
from service.games.sf1906.board_shapes import DEFINITIONS, GAP, INNER, MARGIN, WIDTH, edition_of, name_of
from service.games.sf1906.board_tables import (
    DEVELOPMENT_WIDTH,
    development,
    heading,
    key,
    rows,
    services,
    status_words,
    year_board,
)
from service.games.sf1906.view import View

_BLOCK_GAP: Final = 18
_NOTHING: Final = (COLLECT, PASSING)


def draw(view: View, names: Sequence[str], marked: Collection[str]) -> str:
    """Returns the table as one ``<svg>`` element."""
    marks = frozenset(marked)
    y = MARGIN
    head, height = heading(view, names, y)
    y += height + GAP
    years, height = year_board(view, marks, y)
    y += height + _BLOCK_GAP
    table, height = map_and_ring(view, marks, y)
    y += height + _BLOCK_GAP
    board, left_height = development(view, names, marks, MARGIN, y)
    urbanism, height = services(view, marks, MARGIN, y + left_height + GAP)
    offers, right_height = rows(view, marks, MARGIN + DEVELOPMENT_WIDTH + GAP, y)
    y += max(left_height + GAP + height, right_height) + _BLOCK_GAP
    players, height = areas(view, names, marks, y)
    y += height
    if len(view.players) == 3:  # the place of a fourth area is free
        legend, height = key(2, AREA_WIDTH - 24, (MARGIN + AREA_WIDTH + GAP + 18, y - 6 * 32 - GAP))
        y += MARGIN
    else:
        legend, height = key(4, INNER, (MARGIN, y + _BLOCK_GAP))
        y += _BLOCK_GAP + height + MARGIN
    words = [f"{status_words(view, names)}. Year {view.year}, a building costs ${view.build_cost}"]
    words += [f"{name_of(view, names, who)} has ${player.money}" for who, player in enumerate(view.players)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sf-board" viewBox="0 0 {WIDTH} {y}" role="group" '
        'aria-roledescription="board">'
        f"<title>{edition_of(view).title}</title><desc>{escape('. '.join(words), quote=False)}.</desc>{DEFINITIONS}"
        f'<rect class="sf-paper" width="{WIDTH}" height="{y}" rx="14"/>'
        f"{head}{years}{table}{board}{urbanism}{offers}{players}{legend}</svg>"
    )


def parts(view: View, seat: Seat, action: Action) -> Sequence[str]:
    """Returns the parts of the drawing that an action concerns; ``reward none`` concerns none."""
    if isinstance(action, Earn):
        return (f"earn:{box.EARNING_SPACES[action.space]}",)
    if isinstance(action, Benefit):
        return (f"benefit:{box.BENEFITS[action.kind]}",)
    if isinstance(action, Place):
        pawn = f"ring:{view.card}:{action.space}"
        return (pawn,) if action.target in (action.space, *_NOTHING) else (pawn, f"ring:{view.card}:{action.target}")
    if isinstance(action, TakePermit):
        return ("permit-deck" if action.slot == DECK else f"permit-row:{action.slot}",)
    if isinstance(action, TakeObjective):
        return ("objective-deck" if action.slot == DECK else f"objective-row:{action.slot}",)
    if isinstance(action, Clear):
        return (f"development:{seat}" if action.space == NONE else f"space:{box.SPACE_IDS[action.space]}",)
    if isinstance(action, Discard):
        cards = (action.permit,) if action.other == NONE else (action.permit, action.other)
        return tuple([f"permit:{box.PERMIT_IDS[card]}" for card in cards])
    if isinstance(action, At):
        return (f"space:{box.SPACE_IDS[action.space]}",)
    if isinstance(action, Reward) and action.icon != NONE:
        return (f"urbanism:{box.ICONS[action.icon]}",)
    return ()


BOARD: Final = Board(draw=draw, parts=parts, css=(Path(__file__).parent / "board.css").read_text())
