"""The two editions: one engine, and one table of what differs.

Each row carries the number of the difference, what it is about, what holds in the first and in the second edition, and
the field of Edition in which the rules read it, if any do. Rows that name a ruling play the same in both editions under it; some
rows change only words, pictures or spare parts. They are listed so that the table is complete.
"""

from typing import Any, Final, NamedTuple

from service.games.sf1906 import box

#: More money than a player can ever hold: the second edition has no upper limit.
NO_CAP: Final = 1_000_000


class Difference(NamedTuple):
    """One row of the table."""

    number: str
    about: str
    first: Any
    second: Any
    field: str = ""


def _points(objective: str) -> tuple[int, int]:
    index = box.OBJECTIVE_IDS.index(objective)
    return box.OBJECTIVE_CARDS[box.FIRST][index].points, box.OBJECTIVE_CARDS[box.SECOND][index].points


def _points_for_two(objective: str) -> str:
    card = box.OBJECTIVE_CARDS[box.SECOND][box.OBJECTIVE_IDS.index(objective)]
    return f"{card.points}, with two players {card.points_for_two}"


DIFFERENCES: Final = (
    Difference("E1", "number of players", (2, 3, 4), (1, 2, 3, 4), "seats"),
    Difference("E2", "the most money a player can hold", 15, NO_CAP, "money_cap"),
    Difference("E3", "rubble tokens in the box (two are spares)", 16, 18),
    Difference("E4", "cards in the box (the solo aid)", 98, 99),
    Difference("E5", "players on the narrow face of the action cards", "2", "1-2"),
    Difference("E6", "name of the final column", "1912", "1915", "final_year"),
    Difference("E7", "hidden objectives are dealt before the row is laid", True, False),
    Difference("E8", "who begins: the same draw of a starting player", "ever felt a quake", "felt the latest tremor"),
    Difference("E9", "Obtain permit may take the top of the deck", False, True, "permit_from_deck"),
    Difference("E10", "empty permit deck (R13: reshuffled in both)", "silent", "reshuffle the discards"),
    Difference("E11", "an objective out of the row is kept face up", True, False),
    Difference("E12", "no objectives left: Sign objective is impossible in both", "silent", "stated"),
    Difference("E13", "clear up costs $2, with rubble $3, in both", "$3 is the basic price", "$2 is the basic price"),
    Difference("E14", "building on rubble: $3 before the year cost in both (R23, R24)", "must", "may, before building"),
    Difference("E15", "$1 instead of the action, on the pass space too (R3)", True, False, "cash_on_pass"),
    Difference("E16", "both icons match: the player chooses in both (R21)", "silent", "stated"),
    Difference("E17", "card benefits of a year may take the top of the deck", False, True, "benefit_from_deck"),
    Difference("E18", "free steps follow the edge arrows in both (R70)", "one space right", "as an urban development"),
    Difference("E19", "the next card is the clockwise one in both", "next card", "clockwise"),
    Difference("E20", "money at the end: points printed on the tracker, or $ for one point", 0, 3, "money_per_point"),
    Difference(
        "E21", "Best Builder is scored: the same line and points in both", "own category", "with the objectives"
    ),
    Difference("E22", "points for a pair (O02)", *_points("O02")),
    Difference("E23", "points beside a rival (O03)", _points("O03")[0], _points_for_two("O03")),
    Difference("E24", "points for a surrounded corner (O04)", _points("O04")[0], _points_for_two("O04")),
    Difference("E25", "points for four colours (O10)", *_points("O10")),
    Difference("E26", "points for all four urbanism types (O16)", *_points("O16")),
    Difference("E27", "the money objective (O24)", "a point per $3", "comparison of money left"),
    Difference(
        "E28", "comparison points by place", box.COMPARISON[box.FIRST], box.COMPARISON[box.SECOND], "comparison"
    ),
    Difference("E29", "shared comparison points (R38)", "divide without a rest", "rounded down"),
    Difference("E30", "'1' plots always stand alone in both (R35)", "silent", "stated"),
    Difference("E31", "strips count only through their cards in both", "sidebars", "orange row, green column"),
    Difference("E32", "eighth building: the others finish their action on that card in both", "same", "same"),
    Difference("E33", "final benefit without earnings in both (R30)", "silent", "stated"),
    Difference("E34", "grants leave the deck in the solo game", "no solo game", "both removed"),
    Difference("E35", "magnitude of the earthquake, for flavour", "8.6", "7.9"),
    Difference("E36", "names of actions and parts", "agree objectives, token", "sign objective, pawn"),
    Difference("E37", "the reward may be declined in both (R21)", "take", "can take"),
    Difference("E38", "one final benefit has to be taken in both (R15)", "can get", "choose"),
)


class Edition:
    """One edition: a column of the table, as the rules read it."""

    __slots__ = (
        "benefit_from_deck",
        "cash_on_pass",
        "comparison",
        "final_year",
        "id",
        "index",
        "money_cap",
        "money_per_point",
        "objectives",
        "permit_from_deck",
        "seats",
        "title",
        "version",
    )
    seats: tuple[int, ...]
    money_cap: int
    cash_on_pass: bool
    final_year: str
    permit_from_deck: bool
    benefit_from_deck: bool
    #: 0: the points printed on the tracker of the first edition.
    money_per_point: int
    comparison: dict[int, list[int]]

    def __init__(self, index: int, id: str, version: int, title: str) -> None:
        self.index = index
        self.id = id
        self.version = version
        self.title = title
        self.objectives = box.OBJECTIVE_CARDS[index]
        for row in DIFFERENCES:
            if row.field:
                setattr(self, row.field, row.second if index else row.first)

    def year_name(self, year: int) -> str:
        """The name printed above a column of the Year Board (E6)."""
        return self.final_year if year == box.FINAL else box.YEAR_IDS[year]


FIRST: Final = Edition(box.FIRST, "sf1906-1e", 2, "1906 San Francisco, first edition")
SECOND: Final = Edition(box.SECOND, "sf1906-2e", 1, "1906 San Francisco, second edition")
EDITIONS: Final = (FIRST, SECOND)
