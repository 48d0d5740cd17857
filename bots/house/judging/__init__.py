"""What a position is worth: the score a seat may hope for at the end, judged from the table as it lies.

Playing every thought to the end of the game is slow and drowns small differences in luck. So a thought is played a little
way on and then judged. A judgement is the seat's points so far and a weighted sum of what it holds; the weights
were fitted to finished games of the greedy house player (``python -m bots.house.judging.fit``) and lie in ``weights.toml``.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import mul
from pathlib import Path
from typing import Any, Final

from bots.house.judging import relief, sf1906
from service.games.core import Seat

WEIGHTS: Final = Path(__file__).parent / "weights.toml"
#: A weight is a + b t + c t², t being the share of the game that is left.
POWERS: Final = 3


@dataclass(frozen=True)
class Sight:
    """How to look at one game."""

    #: Grows whenever everybody has had a turn: where a thought may stop and be judged.
    stage: Callable[[Any], int]
    #: How much of the game is left, from ``whole`` down to 0.
    left: Callable[[Any], int]
    whole: int
    #: (state, seat) -> the points the seat has already, and what else it has.
    features: Callable[[Any, Seat], tuple[int, list[float]]]
    #: (state, seat, actions) -> the greedy house player's opinion of each, in points.
    worths: Callable[[Any, Seat, Sequence[Any]], list[float]]
    #: How many stages ahead a thought goes.
    ahead: int


SIGHTS: Final = {
    "sf1906-1e": Sight(sf1906.stage, sf1906.left, sf1906.WHOLE, sf1906.features, sf1906.worths, ahead=6),
    "sf1906-2e": Sight(sf1906.stage, sf1906.left, sf1906.WHOLE, sf1906.features, sf1906.worths, ahead=6),
    "relief": Sight(relief.stage, relief.left, relief.WHOLE, relief.features, relief.worths, ahead=2),
}


class Judge:
    """The judgement of one game at one number of seats."""

    def __init__(self, sight: Sight, weights: Sequence[Sequence[float]]) -> None:
        self.sight = sight
        #: By what is left of the game: one weight a feature.
        self._weights: list[list[float]] = [
            [sum(weight * (left / sight.whole) ** power for power, weight in enumerate(row)) for row in weights]
            for left in range(sight.whole + 1)
        ]

    def score(self, state: Any, seat: Seat) -> float:
        """The final score this seat may hope for."""
        points, features = self.sight.features(state, seat)
        worth: float = sum(map(mul, features, self._weights[self.sight.left(state)]))
        return points + worth


@cache
def judge_for(game: str, seats: int) -> Judge | None:
    """The judge of that game, or None for a game nobody has fitted weights for."""
    sight = SIGHTS.get(game)
    if sight is None:
        return None
    return Judge(sight, tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"][f"{game}/{seats}"])
