"""One line of a table of checks: what was measured, its bound, and whether it holds."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One line: what was measured, the bound, and whether it holds."""

    check: str
    what: str
    expected: str
    value: float
    holds: bool


def between(check: str, what: str, value: float, low: float = -math.inf, high: float = math.inf) -> Measured:
    """Returns a measured value with its bounds; one of them may be missing."""
    if math.isinf(high):
        expected = f">= {low:g}"
    elif math.isinf(low):
        expected = f"<= {high:g}"
    else:
        expected = f"{low:g} to {high:g}"
    return Measured(check, what, expected, value, low <= value <= high)
