"""The result of a match: from the referee through the book to ratings and report."""

import msgspec


class Game(msgspec.Struct, frozen=True):
    """One finished game. Every tuple has one item a seat, in the order of the seats."""

    #: Its place in the schedule. Ratings follow the schedule, so that the order of finishing never matters.
    order: int
    #: Its block: the rotations of one deal, the unit of all statistics.
    block: int
    #: Which entrant sat where, by its number in the tournament.
    seats: tuple[int, ...]
    #: 1 is best; equal numbers are ties. Only comparisons count, so 1,2,2,3 says the same as 1,2,2,4.
    ranks: tuple[int, ...]
    scores: tuple[int, ...]
    #: Empty for a seat that played to the end, else the cause of its forfeit.
    faults: tuple[str, ...]
    think_ms: tuple[int, ...]
    #: How it ended, as the game says it, and how many answers its seats gave.
    ending: str = ""
    decisions: int = 0

    def __post_init__(self) -> None:
        lengths = {len(self.seats), len(self.ranks), len(self.scores), len(self.faults), len(self.think_ms)}
        if len(lengths) > 1 or not self.seats:
            raise ValueError(f"game {self.order}: every tuple needs one item a seat, and there is at least one seat")
