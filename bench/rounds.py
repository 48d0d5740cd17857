"""Rounds: every variant runs once in every round, in rotated order, and ratios are taken inside a round.

Machines are shared and noisy; what slows one variant of a round slows the others too, so the ratio is stable.
"""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: (seconds) -> counts per second.
Measure = Callable[[float], dict[str, float]]


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """Returns the spread of one or more values."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


class Rounds:
    """The results of every variant in every round."""

    def __init__(self) -> None:
        self.rates: dict[str, list[dict[str, float]]] = {}

    def run(self, measures: Mapping[str, Measure], rounds: int, seconds: float, on_turn: Callable[[], None]) -> None:
        """Runs all rounds; ``on_turn`` is called after every slice."""
        names = list(measures)
        self.rates = {name: [] for name in names}
        for index in range(rounds):
            shift = index % len(names)
            for name in names[shift:] + names[:shift]:
                self.rates[name].append(measures[name](seconds))
                on_turn()

    def rate(self, name: str, unit: str) -> Spread:
        """Returns a variant's rate per second."""
        return Spread.of([rates[unit] for rates in self.rates[name]])

    def ratio(self, name: str, other: str, unit: str, other_unit: str | None = None) -> Spread:
        """Returns the ratio of a variant's rate to the other's, round by round."""
        pairs = zip(self.rates[name], self.rates[other], strict=True)
        return Spread.of([mine[unit] / theirs[other_unit or unit] for mine, theirs in pairs])
