"""The components of both editions, read from data/*.toml and validated on import.

Everything is indexed by small numbers: colours 0-3, icons 0-3, permits 0-41, plots 0-19 (colour * 5 + number - 1), spaces 0-59,
action cards 0-5, objectives 0-24. Sets of plots, colours, numbers and icons are bit masks.
"""

from pathlib import Path
from typing import Final

from service.games.components import BadComponents, Component, read_components

COLOURS: Final = ("yellow", "green", "red", "purple")
PLAYER_COLOURS: Final = ("orange", "black", "blue", "white")
ICONS: Final = ("lighting", "cable-car", "hydrant", "park")
LIGHTING: Final = 0
CABLE_CAR: Final = 1
HYDRANT: Final = 2
PARK: Final = 3

#: What a space of an action card offers.
EARNINGS: Final = 0
MATERIALS: Final = 1
PERMIT: Final = 2
OBJECTIVE: Final = 3
CLEAR_UP: Final = 4
URBAN_DEVELOPMENT: Final = 5
BUILD: Final = 6
GRANT_BUILD: Final = 7
PASS: Final = 8
ACTIONS: Final = (
    "earnings",
    "materials",
    "permit",
    "objective",
    "clear-up",
    "urban-development",
    "build",
    "grant-build",
    "pass",
)

NUMBERS: Final = 5
BUILDINGS: Final = 8
ROW: Final = 3
PERMIT_LIMIT: Final = 5
CARDS: Final = 6
TOP: Final = 5  # the last column and the last row of the development board
GRID: Final = 5  # a plot card is a grid of 5 x 5

_DATA: Final = Path(__file__).parent / "data"
_FILES: Final = {
    "permits.toml": ("permit",),
    "plots.toml": ("plot", "space"),
    "actions.toml": ("space",),
    "boards.toml": ("start", "development_row", "orange_row", "earnings", "year", "tracker", "prices"),
    "objectives.toml": ("objective", "comparison"),
    "urbanism.toml": ("urbanism",),
    "solo.toml": ("aid", "fallback", "committee"),
}


def _check(truth: bool, file: str, what: str) -> None:
    if not truth:
        raise BadComponents(f"{file}: {what}")


def _only(entries: list[Component], file: str) -> Component:
    _check(len(entries) == 1, file, f"expected one entry, found {len(entries)}")
    return entries[0]


_read: Final = {name: read_components(_DATA / name, kinds) for name, kinds in _FILES.items()}
COMPONENTS: Final = tuple(entry for kinds in _read.values() for entries in kinds.values() for entry in entries)

# ---------------------------------------------------------------------------------------------------------------- permits
PERMIT_IDS: Final[list[str]] = []
PERMIT_COLOUR: Final[list[int]] = []  # -1 for a grant
PERMIT_NUMBER: Final[list[int]] = []  # 0 for a grant
PERMIT_ICONS: Final[list[int]] = []  # bit mask over ICONS

for _entry in _read["permits.toml"]["permit"]:
    _grant = "grant" in _entry.values and _entry.flag("grant")
    PERMIT_IDS.append(_entry.id)
    PERMIT_COLOUR.append(-1 if _grant else COLOURS.index(_entry.word("colour", COLOURS)))
    PERMIT_NUMBER.append(0 if _grant else _entry.number("number", 1, NUMBERS))
    _icons = _entry.words("icons", ICONS)
    if len(_icons) != 2 or _icons[0] == _icons[1]:
        raise _entry.fail(f"icons = {_icons!r}, expected two different ones")
    PERMIT_ICONS.append(sum(1 << ICONS.index(icon) for icon in _icons))

PERMITS: Final = len(PERMIT_IDS)
GRANTS: Final = [permit for permit in range(PERMITS) if PERMIT_NUMBER[permit] == 0]
_check(PERMITS == 42, "permits.toml", f"{PERMITS} permits, expected 42")
_check(len(GRANTS) == 2, "permits.toml", f"{len(GRANTS)} grants, expected 2")
for _colour in range(4):
    for _number in range(1, NUMBERS + 1):
        _copies = sum(PERMIT_COLOUR[p] == _colour and PERMIT_NUMBER[p] == _number for p in range(PERMITS))
        _check(_copies == 2, "permits.toml", f"{COLOURS[_colour]} {_number} occurs {_copies} times, expected 2")

# ------------------------------------------------------------------------------------------------------------------ plots
PLOTS: Final = 4 * NUMBERS
PLOT_IDS: Final = [""] * PLOTS
PLOT_CARD: Final = [0] * PLOTS  # 1-8
_plot_of: dict[str, int] = {}
for _entry in _read["plots.toml"]["plot"]:
    _plot = COLOURS.index(_entry.word("colour", COLOURS)) * NUMBERS + _entry.number("number", 1, NUMBERS) - 1
    if PLOT_IDS[_plot]:
        raise _entry.fail(f"is the same plot as {PLOT_IDS[_plot]}")
    PLOT_IDS[_plot] = _entry.id
    PLOT_CARD[_plot] = _entry.number("card", 1, 8)
    _plot_of[_entry.id] = _plot
_check(len(_plot_of) == PLOTS, "plots.toml", f"{len(_plot_of)} plots, expected {PLOTS}")

SPACE_IDS: Final[list[str]] = []
SPACE_PLOT: Final[list[int]] = []
SPACE_COLOUR: Final[list[int]] = []
SPACE_CARD: Final[list[int]] = []
SPACE_AT: Final[list[tuple[int, int]]] = []  # column and row on the card
SPACE_RUBBLE: Final[list[str]] = []  # the side on which it starts with rubble: "A", "B" or ""
PLOT_SPACES: Final[list[list[int]]] = [[] for _ in range(PLOTS)]

for _entry in _read["plots.toml"]["space"]:
    _plot = _plot_of[_entry.word("plot", list(_plot_of))]
    _at = _entry.numbers("at", 2, 0, GRID - 1)
    PLOT_SPACES[_plot].append(len(SPACE_IDS))
    SPACE_IDS.append(_entry.id)
    SPACE_PLOT.append(_plot)
    SPACE_COLOUR.append(_plot // NUMBERS)
    SPACE_CARD.append(PLOT_CARD[_plot])
    SPACE_AT.append((_at[0], _at[1]))
    SPACE_RUBBLE.append(_entry.word("rubble", ("A", "B")) if "rubble" in _entry.values else "")
SPACES: Final = len(SPACE_IDS)


def _neighbours(space: int) -> list[int]:
    """R32: orthogonal, and inside one plot; streets separate plots."""
    column, row = SPACE_AT[space]
    return [
        other
        for other in PLOT_SPACES[SPACE_PLOT[space]]
        if abs(SPACE_AT[other][0] - column) + abs(SPACE_AT[other][1] - row) == 1
    ]


def _is_corner(space: int) -> bool:
    """R36: where the plot bends, with one neighbour along the row and one along the column."""
    rows = [SPACE_AT[other][1] == SPACE_AT[space][1] for other in SPACE_NEIGHBOURS[space]]
    return True in rows and False in rows


SPACE_NEIGHBOURS: Final = [_neighbours(space) for space in range(SPACES)]
SPACE_CORNER: Final = [_is_corner(space) for space in range(SPACES)]


def _check_plots() -> None:
    """Checks that sizes match numbers, plots are connected and do not touch, and every side has two rubble spaces."""
    file = "plots.toml"
    for plot in range(PLOTS):
        spaces = PLOT_SPACES[plot]
        _check(len(spaces) == plot % NUMBERS + 1, file, f"{PLOT_IDS[plot]} has {len(spaces)} spaces")
        reached = {spaces[0]}
        for _ in spaces:
            reached |= {other for space in reached for other in SPACE_NEIGHBOURS[space]}
        _check(len(reached) == len(spaces), file, f"{PLOT_IDS[plot]} is not connected")
    for one in range(SPACES):
        for other in range(one):
            if SPACE_CARD[one] == SPACE_CARD[other] and SPACE_PLOT[one] != SPACE_PLOT[other]:
                apart = sum(abs(a - b) for a, b in zip(SPACE_AT[one], SPACE_AT[other], strict=True))
                _check(apart > 1, file, f"{SPACE_IDS[other]} and {SPACE_IDS[one]} touch but belong to different plots")
    for card in range(1, 9):
        for side in "AB":
            count = sum(SPACE_CARD[s] == card and SPACE_RUBBLE[s] == side for s in range(SPACES))
            _check(count == 2, file, f"card {card} side {side} has {count} rubble spaces, expected 2")


_check_plots()

# ----------------------------------------------------------------------------------------------------------- action cards
CARD_IDS: Final = [f"A{number}" for number in range(1, CARDS + 1)]
#: By card, the spaces from left to right as (action, amount); the wide face is for 3-4 players, the narrow one for 1-2.
WIDE: Final[list[list[tuple[int, int]]]] = [[] for _ in range(CARDS)]
NARROW: Final[list[list[tuple[int, int]]]] = [[] for _ in range(CARDS)]
for _entry in _read["actions.toml"]["space"]:
    _action = ACTIONS.index(_entry.word("action", ACTIONS))
    _amount = _entry.number("amount", 1, 9) if _action == EARNINGS else 0
    _name, _face, _place = _entry.id.split("-")
    _list = (WIDE if _face == "wide" else NARROW)[CARD_IDS.index(_name)]
    if len(_list) != int(_place):
        raise _entry.fail("spaces are listed from left to right without a gap")
    _list.append((_action, _amount))
for _card in range(CARDS):
    _wide = [action for action, _ in WIDE[_card]]
    _narrow = [action for action, _ in NARROW[_card]]
    _check(
        len(_wide) == 5 and _wide.index(PASS) == 3, "actions.toml", f"{CARD_IDS[_card]} wide: five spaces, pass fourth"
    )
    _check(
        len(_narrow) == 3 and PASS not in _narrow, "actions.toml", f"{CARD_IDS[_card]} narrow: three spaces, no pass"
    )
    _check(
        (GRANT_BUILD in _wide) == (GRANT_BUILD in _narrow), "actions.toml", f"{CARD_IDS[_card]}: grant on one face only"
    )
_check(
    sum(GRANT_BUILD in [a for a, _ in face] for face in WIDE) == 1, "actions.toml", "exactly one card carries the grant"
)

# ----------------------------------------------------------------------------------------------------------------- boards
_boards: Final = _read["boards.toml"]
DEVELOPMENT: Final = [
    entry.numbers("values", TOP + 1, -99, 99) for entry in _boards["development_row"]
]  # [row][column]
GREEN_COLUMN: Final = [entry.number("green", -99, 99) for entry in _boards["development_row"]]
ORANGE_ROW: Final = _only(_boards["orange_row"], "boards.toml").numbers("values", TOP + 1, -99, 99)
_check(len(DEVELOPMENT) == TOP + 1, "boards.toml", f"{len(DEVELOPMENT)} development rows, expected {TOP + 1}")
_check(
    DEVELOPMENT[0][0] == _only(_boards["start"], "boards.toml").number("value", -99, 0),
    "boards.toml",
    "the bottom left value differs from the start",
)
EARNING_SPACES: Final = _only(_boards["earnings"], "boards.toml").numbers("amounts", 4, 1, 9)

#: Year benefits. Money benefits carry an amount; "$n a building" counts buildings on the map.
GAIN_BUILDING_AND_PERMIT: Final = 0
GAIN_OBJECTIVE: Final = 1
GAIN_PERMIT: Final = 2
GAIN_MATERIALS: Final = 3
GAIN_DEVELOPMENT: Final = 4
GAIN_BUILD: Final = 5
GAIN_MONEY: Final = 6
BENEFITS: Final = ("building-and-permit", "objective", "permit", "materials", "development", "build", "money")
FINAL: Final = 6  # the index of the last column of the Year Board
YEAR_IDS: Final[list[str]] = []
YEAR_COST: Final[list[int]] = []
YEAR_BENEFITS: Final[list[list[int]]] = []
YEAR_MONEY: Final[list[int]] = []  # the fixed part of the year's money benefit …
YEAR_MONEY_EACH: Final[list[int]] = []  # … and the part for each building on the map
_money_texts: Final = {"$2": (2, 0), "$3": (3, 0), "$1 a building": (0, 1), "$2 a building": (0, 2)}
for _entry in _boards["year"]:
    YEAR_IDS.append(_entry.id)
    YEAR_COST.append(_entry.number("cost", 0, 9))
    _fixed, _each = 0, 0
    _kinds: list[int] = []
    for _text in _entry.words("benefits", BENEFITS[:-1] + tuple(_money_texts)):
        if _text in _money_texts:
            _fixed, _each = _money_texts[_text]
            _kinds.append(GAIN_MONEY)
        else:
            _kinds.append(BENEFITS.index(_text))
    YEAR_BENEFITS.append(_kinds)
    YEAR_MONEY.append(_fixed)
    YEAR_MONEY_EACH.append(_each)
_check(len(YEAR_IDS) == FINAL + 1, "boards.toml", f"{len(YEAR_IDS)} years, expected {FINAL + 1}")

TRACKER: Final = _only(_boards["tracker"], "boards.toml").numbers("points", 16, -9, 9)
_prices: Final = _only(_boards["prices"], "boards.toml")
STEP_PRICE: Final = _prices.number("step", 1, 9)
CLEAR_UP_PRICE: Final = _prices.number("clear_up", 1, 9)
RUBBLE_PRICE: Final = _prices.number("clear_up_with_rubble", 1, 9)
URBAN_PRICE: Final = _prices.number("urban_development", 1, 9)
TOP_RIGHT_MONEY: Final = _prices.number("top_right", 1, 9)
BOTTOM_MONEY: Final = _prices.number("bottom_money", 1, 9)

# ------------------------------------------------------------------------------------------------------------- objectives
#: O01 is 0 … O25 is 24; O24 has a different meaning in each edition.
OBJECTIVES: Final = 25
BEST_BUILDER: Final = 24
OBJECTIVE_KINDS: Final = (
    "building",
    "pair",
    "rival",
    "corner",
    "alone",
    "colour",
    "four-colours",
    "rubble",
    "urbanism",
    "four-urbanism",
    "orange-row",
    "green-column",
    "most-colour",
    "most-rubble",
    "money",
    "most-money",
    "best-builder",
)
FIRST: Final = 0
SECOND: Final = 1


class Objective:
    """One municipal objective as one edition prints it."""

    __slots__ = ("frame", "id", "kind", "name", "of", "points", "points_for_two")

    def __init__(self, entry: Component, edition: int) -> None:
        self.id = entry.id.split("-")[0]
        self.frame = entry.word("frame", ("green", "purple", "orange"))
        self.kind = entry.word("kind", OBJECTIVE_KINDS)
        self.name = entry.sentence("name")
        #: The colour or the urbanism type that counts, -1 where the kind needs none.
        self.of = -1
        if self.kind in ("colour", "most-colour"):
            self.of = COLOURS.index(entry.word("of", COLOURS))
        elif self.kind == "urbanism":
            self.of = ICONS.index(entry.word("of", ICONS))
        self.points = entry.numbers("points", 2, 0, 99)[edition] if "points" in entry.values else 0
        self.points_for_two = self.points
        if edition == SECOND and "points_for_two" in entry.values:
            self.points_for_two = entry.number("points_for_two", 0, 99)


def _objectives(edition: int) -> list[Objective]:
    word = ("first", "second")[edition]
    found = [
        Objective(entry, edition)
        for entry in _read["objectives.toml"]["objective"]
        if entry.values.get("editions", word) == word
    ]
    expected = [f"O{number:02}" for number in range(1, OBJECTIVES + 1)]
    _check([card.id for card in found] == expected, "objectives.toml", f"the {word} edition needs O01 to O25 in order")
    frames = [card.frame for card in found]
    _check(
        frames == ["green"] * 16 + ["purple"] * 8 + ["orange"], "objectives.toml", f"{word} edition: 16 + 8 + 1 frames"
    )
    return found


OBJECTIVE_CARDS: Final = [_objectives(FIRST), _objectives(SECOND)]  # [edition][objective]
OBJECTIVE_IDS: Final = [card.id for card in OBJECTIVE_CARDS[SECOND]]
GREEN: Final = list(range(16))
INITIAL: Final = list(range(16, 24))
#: Points by place, [edition][number of players].
COMPARISON: Final[list[dict[int, list[int]]]] = [
    {int(entry.id): entry.numbers(word, int(entry.id), 0, 99) for entry in _read["objectives.toml"]["comparison"]}
    for word in ("first", "second")
]

# --------------------------------------------------------------------------------------------------------------- urbanism
_urbanism: Final = _read["urbanism.toml"]["urbanism"]
_check(
    [entry.id for entry in _urbanism] == list(ICONS), "urbanism.toml", f"expected the types {', '.join(ICONS)} in order"
)
URBANISM_CARDS: Final = [entry.number("cards", 1, 9) for entry in _urbanism]
URBANISM_COST: Final = [entry.number("cost", 0, 9) for entry in _urbanism]
URBANISM_POINTS: Final = [entry.numbers("points", URBANISM_CARDS[i], 0, 99) for i, entry in enumerate(_urbanism)]
_check(sum(URBANISM_CARDS) == 17, "urbanism.toml", f"{sum(URBANISM_CARDS)} cards, expected 17")
PARK_LETTERS: Final = "ABCD"

# ------------------------------------------------------------------------------------------------------------------- solo
POSITIONS: Final = ("left", "middle", "right")
AIDS: Final = ("normal", "hard")
_solo: Final = _read["solo.toml"]
_aid: Final = {entry.id: POSITIONS.index(entry.word("position", POSITIONS)) for entry in _solo["aid"]}
_fallback: Final = {
    entry.id: [POSITIONS.index(p) for p in entry.words("order", POSITIONS)] for entry in _solo["fallback"]
}
for _name, _order in _fallback.items():
    _check(sorted(_order) == [0, 1, 2], "solo.toml", f"fallback {_name} must name each position once")
#: The positions the Committee tries, [aid][value 1-5].
AID_ORDER: Final[list[list[list[int]]]] = [
    [[]] + [_fallback[f"{aid}-{POSITIONS[_aid[f'{aid}-{value}']]}"] for value in range(1, NUMBERS + 1)] for aid in AIDS
]
_committee: Final = _only(_solo["committee"], "solo.toml")
COMMITTEE_MONEY: Final = _committee.number("money", 0, 15)
COMMITTEE_EARNINGS: Final = _committee.number("earnings", 1, 4)
COMMITTEE_PERMITS: Final = _committee.number("permits", 1, PERMIT_LIMIT)
COMMITTEE_OBJECTIVE_POINTS: Final = _committee.number("objective_points", 0, 99)
