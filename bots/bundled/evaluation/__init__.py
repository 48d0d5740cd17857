"""Evaluates a position: the final score a seat can expect, estimated from the current state.

Playing every simulation to the end of the game is slow, and luck hides small differences. So a simulation is played only a few
turns and then evaluated: the seat's points so far plus a weighted sum of what it holds. The weights were fitted to finished
games of the bundled greedy player (``python -m bots.bundled.evaluation.fit``) and are stored in ``weights.toml``.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import mul
from pathlib import Path
from typing import Any, Final

from bots.bundled.evaluation import relief, sf1906
from service.games.core import Seat

WEIGHTS: Final = Path(__file__).parent / "weights.toml"
#: A weight is a + b t + c t², t being the share of the game that is left.
POWERS: Final = 3


@dataclass(frozen=True)
class GameFeatures:
    """How to evaluate one game."""

    #: Grows whenever all seats have had a turn: a simulation may stop there.
    stage: Callable[[Any], int]
    #: How much of the game is left, from ``whole`` down to 0.
    left: Callable[[Any], int]
    whole: int
    #: (state, seat) -> the points the seat has already, and its other features.
    features: Callable[[Any, Seat], tuple[int, list[float]]]
    #: (state, seat, actions) -> the greedy player's value of each, in points.
    worths: Callable[[Any, Seat, Sequence[Any]], list[float]]
    #: How many stages a simulation goes ahead.
    ahead: int


FEATURES: Final = {
    "sf1906-1e": GameFeatures(sf1906.stage, sf1906.left, sf1906.WHOLE, sf1906.features, sf1906.worths, ahead=6),
    "sf1906-2e": GameFeatures(sf1906.stage, sf1906.left, sf1906.WHOLE, sf1906.features, sf1906.worths, ahead=6),
    "relief": GameFeatures(relief.stage, relief.left, relief.WHOLE, relief.features, relief.worths, ahead=2),
}


class Evaluator:
    """The evaluation of one game at one number of seats."""

    def __init__(self, game_features: GameFeatures, weights: Sequence[Sequence[float]]) -> None:
        self.game_features = game_features
        #: By what is left of the game: one weight per feature.
        self._weights: list[list[float]] = [
            [sum(weight * (left / game_features.whole) ** power for power, weight in enumerate(row)) for row in weights]
            for left in range(game_features.whole + 1)
        ]

    def score(self, state: Any, seat: Seat) -> float:
        """Returns the final score this seat can expect."""
        points, features = self.game_features.features(state, seat)
        worth: float = sum(map(mul, features, self._weights[self.game_features.left(state)]))
        return points + worth


@cache
def evaluator_for(game: str, seats: int) -> Evaluator | None:
    """Returns the evaluator of that game, or None if no weights have been fitted for it."""
    game_features = FEATURES.get(game)
    if game_features is None:
        return None
    return Evaluator(game_features, tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"][f"{game}/{seats}"])
