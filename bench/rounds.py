"""Rounds: every variant has its turn in every round, in rotated order, and ratios are taken inside a round.

Machines are shared and noisy; what slows one variant of a round slows its neighbours too, and the ratio stays.
"""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: (seconds) -> what was counted, a second.
Measure = Callable[[float], dict[str, float]]


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """The spread of one value or more."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


class Rounds:
    """What every variant reached in every round."""

    def __init__(self) -> None:
        self.rates: dict[str, list[dict[str, float]]] = {}

    def run(self, measures: Mapping[str, Measure], rounds: int, seconds: float, on_turn: Callable[[], None]) -> None:
        """Run all rounds; ``on_turn`` is called after every slice."""
        names = list(measures)
        self.rates = {name: [] for name in names}
        for index in range(rounds):
            shift = index % len(names)
            for name in names[shift:] + names[:shift]:
                self.rates[name].append(measures[name](seconds))
                on_turn()

    def rate(self, name: str, unit: str) -> Spread:
        """What a variant reached a second."""
        return Spread.of([rates[unit] for rates in self.rates[name]])

    def ratio(self, name: str, other: str, unit: str, other_unit: str | None = None) -> Spread:
        """How many times the other's rate a variant reached, round by round."""
        pairs = zip(self.rates[name], self.rates[other], strict=True)
        return Spread.of([mine[unit] / theirs[other_unit or unit] for mine, theirs in pairs])
