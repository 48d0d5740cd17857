"""What the tests of the solo game share: a game before its first move, its end, and its score sheet."""

from typing import Final

from service.games.chance import seeds_of
from service.games.core import Outcome, Result
from service.games.sf1906 import scoring, table
from service.games.sf1906.editions import SECOND
from service.games.sf1906.state import State

#: One permit of each value, from 1 to 5.
VALUES: Final = ("", "P01", "P03", "P05", "P07", "P09")
LEFT, MIDDLE, RIGHT = range(3)


def set_up(seed: int = 0, aid: str = "normal", blocked: int = 1, divisor: int = 4) -> State:
    """A solo game before the first move."""
    options: dict[str, str | int] = {
        "map": "pairs",
        "solo_aid": aid,
        "solo_blocked": blocked,
        "solo_divisor": divisor,
    }
    return table.setup(SECOND, 1, options, seeds_of(1906, seed))


def final(state: State) -> Outcome:
    outcome = scoring.outcome(state)
    assert outcome is not None
    return outcome


def sheet(result: Result) -> list[str]:
    """The lines of a score sheet, each as its first words and its points."""
    written = []
    for line in result.lines:
        words = line.label.split()
        head = words[:2] if words[0] in ("common", "own") else words
        written.append(" ".join([*head, str(line.points)]))
    return written
