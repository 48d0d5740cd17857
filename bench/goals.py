"""The numbers to reach, each as a ratio of two variants of one run."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.engine_worker import TABLES
from bench.rivals_worker import SPIEL_GAMES

NUMBERS = ("N1", "N2", "N3", "N4", "N5")


@dataclass(frozen=True)
class Goal:
    """One line of the table. Variants are named ``worker:case``."""

    number: str
    about: str
    variant: str
    unit: str
    other: str
    other_unit: str = ""
    #: What the median should reach: the rate for N1, the ratio for the others.
    floor: float = 0
    aim: float = 0
    of_rate: bool = False


def goals() -> Iterator[Goal]:
    """Yields every line, in order."""
    tables = [f"{name} {seats}p" for name, seats in TABLES]
    for table in tables:
        yield Goal(
            "N1", f"{table}: decisions, pure, per beat", f"pure:{table}", "decisions", "pure:beat", "beats",
            50_000, 150_000, of_rate=True,
        )  # fmt: skip
    for table in tables:
        yield Goal("N2", f"{table}: compiled / pure", f"compiled:{table}", "decisions", f"pure:{table}", "", 3, 5)
    for table in tables:
        for game in SPIEL_GAMES:
            floor = 0 if game == "hearts" else 1  # faster than two of them is the floor, than the third the aim
            yield Goal("N3", f"{table} / {game}", f"compiled:{table}", "decisions", f"rivals:{game}", "", floor, 1)
    for table in tables:
        yield Goal("N4", f"{table} / Catanatron 4p", f"compiled:{table}", "games", "rivals:catanatron", "", 30, 100)
    for table in tables:
        yield Goal(
            "N5", f"{table}: copy / deepcopy", f"pure:copy {table}", "copies", f"pure:deepcopy {table}", "", 10, 20
        )
