"""A second, slow and simple scorer, written from the rulebooks and from the drawings of the plot cards.

It shares no data and no code with the engine: the map is read from its own drawings, neighbours are found by comparing every
pair of spaces, pairs of buildings by trying every choice of them, the places of a comparison by assigning them one by one.
Only ``read`` knows the engine's state; everything else uses a ``Table`` made of names.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.state import State

# ------------------------------------------------------------------------------------------------------- what is printed
CARDS: Final = {
    1: "Y . Y . R / Y Y Y . . / . . . . . / . . . G G / . . . . .",
    2: ". P P . . / P P . . . / . . . G . / . . . G G / . . . . .",
    3: "G G . . P / . G G . . / . . G . R / . . . . R / . . . . .",
    4: "Y Y . . R / Y Y . R R / . . . . . / . . . . . / . . . . .",
    5: "R R . P P / R . . . . / R R . . Y / . . . . . / . . . . .",
    6: "G . . . . / G G . . . / . G . P P / . . . . P / . . . . .",
    7: "P . . . Y / P P . . Y / . P P . . / . . . . G / . . . . .",
    8: "R R . . . / R R . . . / . . . Y Y / . . . Y . / . . . . .",
}
DEVELOPMENT: Final = """
     0   1   3   6   8  10
    -2   0   2   4   6   8
    -3  -1   1   2   4   6
    -4  -2  -1   1   2   3
    -5  -4  -2  -1   0   1
    -7  -5  -4  -3  -2   0
"""
ORANGE_ROW: Final = (0, 1, 2, 3, 4, 6)  # under the columns, from the left
GREEN_COLUMN: Final = (0, 1, 2, 3, 4, 6)  # beside the rows, from the bottom
TRACKER: Final = (-3, -2, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4)
PLACES: Final = {
    1: {2: (5, 1), 3: (5, 3, 1), 4: (7, 5, 3, 1)},
    2: {2: (6, 2), 3: (6, 4, 1), 4: (6, 4, 2, 1)},
}
LIGHTING: Final = (0, 1, 3, 6, 10, 15)
PARKS: Final = {"A": 2, "B": 3, "C": 4, "D": 5}


@dataclass(frozen=True)
class Spot:
    """Where a space is drawn: the card, the colour, the column and the row."""

    card: int
    colour: str
    column: int
    row: int


def _spots() -> dict[str, Spot]:
    """Every space by name. A card shows at most one plot of a colour, so colour and card make the plot."""
    spots: dict[str, Spot] = {}
    for card, drawing in CARDS.items():
        rows = [line.split() for line in drawing.split("/")]
        seen = [Spot(card, rows[row][column], column, row) for row in range(5) for column in range(5)]
        for colour in "YGRP":
            plot = [spot for spot in seen if spot.colour == colour]
            for letter, spot in zip("abcde", plot, strict=False):
                spots[f"{colour}{len(plot)}{letter}"] = spot
    return spots


SPOTS: Final = _spots()


@cache
def touch(one: str, other: str) -> bool:
    """Side by side inside one plot: on one card and in one colour, one step apart."""
    a, b = SPOTS[one], SPOTS[other]
    distance = abs(a.column - b.column) + abs(a.row - b.row)
    return a.card == b.card and a.colour == b.colour and distance == 1


@cache
def neighbours(space: str) -> tuple[str, ...]:
    """Every space that touches this one."""
    return tuple(other for other in SPOTS if touch(space, other))


@cache
def bends(space: str) -> bool:
    """A corner of its plot: it has a neighbour along the row and one along the column."""
    along_the_row = any(SPOTS[other].row == SPOTS[space].row for other in neighbours(space))
    along_the_column = any(SPOTS[other].column == SPOTS[space].column for other in neighbours(space))
    return along_the_row and along_the_column


# ------------------------------------------------------------------------------------------------------------- the table
@dataclass(frozen=True)
class Area:
    """What one player shows when the points are counted."""

    buildings: tuple[str, ...]
    rubble: int
    lighting: int
    cable_cars: int
    hydrants: int
    parks: str
    column: int
    row: int
    money: int
    personal: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A finished game. ``divisor`` is set in the solo game; then the second area is the Committee's."""

    edition: int
    areas: tuple[Area, ...]
    common: tuple[str, ...]
    best_builder: int | None
    divisor: int | None


def read(state: State) -> Table:
    """The finished game that a state of the engine describes."""
    areas = []
    for who, player in enumerate(state.players):
        lighting, cable_cars, hydrants, _ = player.urbanism
        areas.append(
            Area(
                buildings=tuple(box.SPACE_IDS[space] for space, owner in enumerate(state.owner) if owner == who),
                rubble=player.rubble,
                lighting=lighting,
                cable_cars=cable_cars,
                hydrants=hydrants,
                parks="".join(letter for index, letter in enumerate("ABCD") if player.parks >> index & 1),
                column=player.column,
                row=player.row,
                money=player.money,
                personal=tuple(f"O{objective + 1:02}" for objective in player.objectives),
            )
        )
    return Table(
        edition=state.edition.index + 1,
        areas=tuple(areas),
        common=tuple(f"O{objective + 1:02}" for objective in state.common),
        best_builder=state.best_builder if state.best_builder >= 0 else None,
        divisor=state.solo.divisor if state.solo is not None else None,
    )


# ------------------------------------------------------------------------------------------------------------ objectives
def most_pairs(buildings: Sequence[str]) -> int:
    """The most pairs of neighbours in which no building stands twice, found by trying every choice of pairs."""
    pairs = [pair for pair in combinations(buildings, 2) if touch(*pair)]
    best = 0
    for count in range(1, len(pairs) + 1):
        for choice in combinations(pairs, count):
            used = [building for pair in choice for building in pair]
            if len(used) == len(set(used)):
                best = count
    return best


def places(counts: Sequence[int], points: Sequence[int]) -> list[int]:
    """Returns what each player gets in a comparison: equals add up the points of their places and divide, rounding down."""
    shares = [0] * len(counts)
    left = list(points)
    for count in sorted(set(counts), reverse=True):
        tied = [who for who, own in enumerate(counts) if own == count]
        covered = [left.pop(0) for _ in tied]
        for who in tied:
            shares[who] = sum(covered) // len(tied)
    return shares


def objective(table: Table, who: int, card: str) -> int:
    """The points of one card for one player."""
    me = table.areas[who]
    first = table.edition == 1
    two = len(table.areas) == 2
    rivals = [space for other, area in enumerate(table.areas) if other != who for space in area.buildings]
    everybody = [*me.buildings, *rivals]

    def on(area: Area, colour: str) -> int:
        return len([space for space in area.buildings if space[0] == colour])

    def compare(counts: list[int]) -> int:
        return places(counts, PLACES[table.edition][len(table.areas)])[who]

    if card == "O01":
        return len(me.buildings)
    if card == "O02":
        return (2 if first else 3) * most_pairs(me.buildings)
    if card == "O03":
        beside = [space for space in me.buildings if any(touch(space, rival) for rival in rivals)]
        return (3 if two and not first else 2) * len(beside)
    if card == "O04":
        corners = [space for space in me.buildings if bends(space) and all(n in everybody for n in neighbours(space))]
        return (3 if first or two else 2) * len(corners)
    if card == "O05":
        return 2 * len([space for space in me.buildings if not any(touch(space, other) for other in everybody)])
    if card in ("O06", "O07", "O08", "O09"):
        return 2 * on(me, {"O06": "Y", "O07": "G", "O08": "R", "O09": "P"}[card])
    if card == "O10":
        return (10 if first else 8) * min(on(me, colour) for colour in "YGRP")
    if card == "O11":
        return 2 * me.rubble
    if card == "O12":
        return 2 * me.lighting
    if card == "O13":
        return 2 * me.cable_cars
    if card == "O14":
        return 2 * me.hydrants
    if card == "O15":
        return 2 * len(me.parks)
    if card == "O16":
        return (10 if first else 9) * min(me.lighting, me.cable_cars, me.hydrants, len(me.parks))
    if card == "O17":
        return ORANGE_ROW[me.column]
    if card == "O18":
        return GREEN_COLUMN[me.row]
    if card in ("O19", "O20", "O21", "O22"):
        colour = {"O19": "Y", "O20": "G", "O21": "R", "O22": "P"}[card]
        return compare([on(area, colour) for area in table.areas])
    if card == "O23":
        return compare([area.rubble for area in table.areas])
    if card == "O24":
        return me.money // 3 if first else compare([area.money for area in table.areas])
    if card == "O25":
        return 3 if table.best_builder == who else 0
    raise KeyError(card)


# ----------------------------------------------------------------------------------------------------------- the counting
def development(area: Area) -> int:
    """The number under the token; the drawing has the top row first."""
    rows = [[int(value) for value in line.split()] for line in DEVELOPMENT.strip().splitlines()]
    return rows[5 - area.row][area.column]


def urbanism(area: Area) -> int:
    """Lighting by the number of cards, 3 for a cable car, 2 for a hydrant, the letters of the parks."""
    parks = sum(PARKS[letter] for letter in area.parks)
    return LIGHTING[area.lighting] + 3 * area.cable_cars + 2 * area.hydrants + parks


def money(table: Table, who: int) -> int:
    """Returns the tracker's points, a point for every $3, or the Committee's own rate."""
    held = table.areas[who].money
    if table.edition == 1:
        return TRACKER[held]
    if table.divisor is not None and who == 1:
        return held // table.divisor
    return held // 3


def lines(table: Table, who: int) -> Iterator[tuple[str, int]]:
    """The score sheet of one player from top to bottom: the card or the heading, and its points."""
    area = table.areas[who]
    for card in table.common:
        yield card, objective(table, who, card)
    for card in area.personal:
        yield card, 3 if table.divisor is not None and who == 1 else objective(table, who, card)
    yield "O25", objective(table, who, "O25")
    yield "development", development(area)
    yield "urbanism", urbanism(area)
    yield "money", money(table, who)


def ranks(table: Table) -> list[int]:
    """Most points, then most buildings on the map, then a shared place."""
    keys = []
    for who, area in enumerate(table.areas):
        keys.append((sum(points for _, points in lines(table, who)), len(area.buildings)))
    return [1 + len([other for other in keys if other > key]) for key in keys]
