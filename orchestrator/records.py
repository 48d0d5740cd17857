"""The result of a match, as the referee, the book, ratings and the report use it."""

import msgspec


class Game(msgspec.Struct, frozen=True):
    """One finished game. Every tuple has one item per seat, in seat order."""

    #: Its position in the schedule. Ratings follow the schedule, so the order in which games finish does not matter.
    order: int
    #: Its block: the rotations of one deal, the unit of all statistics.
    block: int
    #: The entrant at each seat, by its number in the tournament.
    seats: tuple[int, ...]
    #: 1 is best; equal numbers are ties. Only comparisons count: 1,2,2,3 means the same as 1,2,2,4.
    ranks: tuple[int, ...]
    scores: tuple[int, ...]
    #: Empty for a seat that played to the end, else the cause of its forfeit.
    faults: tuple[str, ...]
    think_ms: tuple[int, ...]
    #: The game's name for how it ended, and how many answers its seats gave.
    ending: str = ""
    decisions: int = 0

    def __post_init__(self) -> None:
        lengths = {len(self.seats), len(self.ranks), len(self.scores), len(self.faults), len(self.think_ms)}
        if len(lengths) > 1 or not self.seats:
            raise ValueError(f"game {self.order}: every tuple needs one item per seat, and at least one seat")
