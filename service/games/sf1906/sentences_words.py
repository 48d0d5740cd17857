"""How sentences name permits, spaces, money and steps, and small questions to a view."""

from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.editions import EDITIONS, Edition
from service.games.sf1906.table import COMMITTEE
from service.games.sf1906.view import PlayerView, View
from service.games.words import counted, listed, ordinal

PERMIT: Final = {name: number for number, name in enumerate(box.PERMIT_IDS)}
OBJECTIVE: Final = {name: number for number, name in enumerate(box.OBJECTIVE_IDS)}
SPACE: Final = {name: number for number, name in enumerate(box.SPACE_IDS)}
#: The cards of each type but parks, which have letters.
URBANISM: Final = ("an electric lighting card", "a cable car card", "a fire hydrant card")
BOARD: Final = "the development board"
_EDITION: Final = {edition.id: edition for edition in EDITIONS}
_ICONS: Final = tuple(icon.replace("-", " ") for icon in box.ICONS)


# ------------------------------------------------------------------------------------------------------------- questions
def edition_of(view: View) -> Edition:
    """Returns the edition that is played."""
    return _EDITION[view.edition]


def year_of(view: View) -> int:
    """Returns the index of the year in box.YEAR_IDS; box.FINAL for the final column."""
    return box.FINAL if view.year == edition_of(view).final_year else box.YEAR_IDS.index(view.year)


def kind_of(view: View, space: int) -> int:
    """Returns what a space of the current card offers, one of box.ACTIONS."""
    assert view.card is not None
    return box.ACTIONS.index(view.ring[view.card].spaces[space].kind)


def new_buildings(before: View, after: View, who: int) -> list[int]:
    """Returns the spaces on which a player has built, in reading order."""
    return [
        SPACE[new.space]
        for old, new in zip(before.spaces, after.spaces, strict=True)
        if new.owner == who and old.owner != who
    ]


# ------------------------------------------------------------------------------------------------------------------ names
def player_name(view: View, who: int, is_first: bool = False) -> str:
    """Returns the slot of a seat, or the Committee; ``is_first``: at the beginning of a sentence."""
    if view.solo is not None and who == COMMITTEE:
        return "The Committee" if is_first else "the Committee"
    return f"{{{who}}}"


def permit_name(name: str) -> str:
    """Returns a permit with its colour, number and icons: ``P09 (yellow 5, lighting and hydrant)``."""
    permit = PERMIT[name]
    return f"{name} ({plot_name(permit)}, {icon_names(box.PERMIT_ICONS[permit])})"


def plot_name(permit: int) -> str:
    """Returns the plot that a permit names: ``yellow 5``, or ``grant``."""
    number = box.PERMIT_NUMBER[permit]
    return f"{box.COLOURS[box.PERMIT_COLOUR[permit]]} {number}" if number else "grant"


def icon_names(mask: int) -> str:
    """Returns the icons of a mask: ``lighting and park``; empty if there is none."""
    return listed([name for icon, name in enumerate(_ICONS) if mask >> icon & 1])


def objective_name(view: View, name: str) -> str:
    """Returns an objective with its name in this edition."""
    return f"{name} ({edition_of(view).objectives[OBJECTIVE[name]].name})"


def space_name(name: str) -> str:
    """Returns a space of the map with its plot: ``Y5a (yellow 5)``."""
    space = SPACE[name]
    return f"{name} ({box.COLOURS[box.SPACE_COLOUR[space]]} {box.SPACE_PLOT[space] % box.NUMBERS + 1})"


def offer_name(kind: str, amount: int) -> str:
    """Returns what a space of an action card offers: ``earnings $3``."""
    if kind == box.ACTIONS[box.GRANT_BUILD]:
        return "build with a grant"
    return f"{kind.replace('-', ' ')} ${amount}" if amount else kind.replace("-", " ")


def card_space_name(view: View, space: int) -> str:
    """Returns a space of the current card, counted from 1: ``the 2nd space of card C (permit)``."""
    assert view.card is not None
    card = view.ring[view.card]
    offered = card.spaces[space]
    return f"the {ordinal(space + 1)} space of card {card.card} ({offer_name(offered.kind, offered.amount)})"


# ---------------------------------------------------------------------------------------------------- money and the steps
def gained(view: View, money: int, amount: int) -> str:
    """Returns money that is gained (R9); the first edition has a limit, and the excess is lost."""
    cap = edition_of(view).money_cap
    if money + amount <= cap:
        return f"${amount}"
    return f"{f'${cap - money}' if cap > money else 'nothing'} of ${amount} (${cap} is the limit)"


def is_top_right(player: PlayerView) -> bool:
    """Returns whether a player can make no more steps on the development board, and gets $1 for each instead (R27)."""
    return player.development_column == box.TOP and player.development_row == box.TOP


def step(view: View, player: PlayerView, money: int, up: bool) -> str:
    """Returns a step on the development board as a template; at an edge it bends (R26), in the top-right space it pays (R27)."""
    if is_top_right(player):
        return f"{{get}} {gained(view, money, box.TOP_RIGHT_MONEY)} instead of a step on {BOARD}"
    column, row = player.development_column, player.development_row
    goes_up = row < box.TOP if up else column == box.TOP
    after = box.DEVELOPMENT[row + 1][column] if goes_up else box.DEVELOPMENT[row][column + 1]
    direction = "up" if goes_up else "right"
    return f"{{move}} one step {direction} on {BOARD} ({box.DEVELOPMENT[row][column]} to {counted(after, 'point')})"


def infinitive(template: str) -> str:
    """Returns a template whose verbs follow "to", so that they are never conjugated."""
    return template.replace("{", "").replace("}", "")
