"""Intervals of 95 per cent for means over blocks.

Games of one block share a deal and are not independent, so every interval counts blocks: the variance is the clustered
(sandwich) one, the quantile Student's with one degree of freedom less than there are blocks. For hundreds of blocks that is
the normal interval; for a dozen blocks the normal interval would contain the true value in 89 of 100 cases, not in 95.
"""

import numpy as np
from scipy import special

from orchestrator.ratings.points import Floats, Ints

#: If an entrant has fewer blocks, the table has a note that its numbers are based on few games.
ENOUGH_BLOCKS = 30
LEVEL = 0.95


def together(statements: int) -> float:
    """The level at which each of so many statements must hold, so that all of them hold together (Bonferroni).

    Measured over null tournaments, a bootstrap of the largest difference separates equals in 11 per cent of tournaments with
    20 blocks, and Tukey's quantile needs equal variances; Bonferroni holds in any design and costs a few per cent of width.
    """
    return 1 - (1 - LEVEL) / max(statements, 1)


def students_quantile(blocks: Ints, level: float = LEVEL) -> Floats:
    """Half the width of an interval in standard errors: Student's, with one degree of freedom less than there are blocks."""
    return np.asarray(special.stdtrit(np.maximum(blocks - 1, 1), (1 + level) / 2), dtype=np.float64)


def half_width(variance: Floats, blocks: Ints, reach: float, level: float = LEVEL) -> Floats:
    """Half the width of the interval of a mean of block values that differ by at most ``reach``.

    If all blocks are equal the variance says nothing: a bot that won 30 blocks of 30 may lose the next one. Then the share of
    blocks that would differ is bounded as in the rule of three, 1 - 0.05^(1/blocks). With fewer than two blocks nothing is
    known, and the interval covers everything.
    """
    wide = students_quantile(blocks, level) * np.sqrt(np.maximum(variance, 0.0))
    agreed = variance * blocks < 1e-18
    rule_of_three = reach * (1 - (1 - level) ** (1 / np.maximum(blocks, 1)))
    wide = np.where(agreed, rule_of_three, wide)
    return np.where(blocks < 2, reach, np.minimum(wide, reach))
