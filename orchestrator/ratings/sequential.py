"""Is A better than B? A sequential test over blocks, which stops as soon as the answer is certain enough.

The value of a block is the mean over its games of the points of A's copies minus those of B's. With T = mean / standard
deviation over n blocks, the generalised likelihood ratio of "T = t1" to "T = t0" is

    LLR = n/2 ln[(1 + (T - t0)^2) / (1 + (T - t1)^2)].

The test ends when the LLR leaves the interval from ln(beta / (1 - alpha)) to ln((1 - beta) / alpha). It is checked only after
whole blocks, and not before there are 16, because the normal approximation needs a few. An estimate made where the test stopped
is biased towards the verdict: quote the verdict, and measure the size of the effect in separate games.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.results import Results, in_schedule_order, read
from orchestrator.ratings.verdict import Verdict
from orchestrator.records import Game


@dataclass(frozen=True)
class SequentialSettings:
    """The hypotheses and error rates. Effects are in standard deviations of a block."""

    t0: float = 0.0
    t1: float = 0.2
    #: The probability of "better" if t0 is true, and of "not better" if t1 is.
    alpha: float = 0.05
    beta: float = 0.05
    first_look: int = 16
    every: int = 1
    most_blocks: int = 2000
    #: A lower bound of the variance: if all blocks are equal, the test would otherwise end at once.
    least_variance: float = 1e-4

    def __post_init__(self) -> None:
        if not self.t0 < self.t1:
            raise ValueError(f"t0 = {self.t0} must lie below t1 = {self.t1}")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise ValueError("alpha and beta must lie between 0 and a half")
        if not (1 < self.first_look <= self.most_blocks and self.every > 0):
            raise ValueError("the first check needs two blocks, and cannot be after the last block")

    @property
    def upper(self) -> float:
        return math.log((1 - self.beta) / self.alpha)

    @property
    def lower(self) -> float:
        return math.log(self.beta / (1 - self.alpha))


@dataclass(frozen=True)
class SequentialResult:
    """The verdict and how it was reached."""

    verdict: Verdict
    #: The blocks that the verdict is based on; later ones are ignored.
    blocks: int
    llr: float
    lower: float
    upper: float
    mean: float
    sd: float
    #: (blocks, LLR) at every check, for plotting.
    trace: tuple[tuple[int, float], ...]

    @property
    def is_decided(self) -> bool:
        """Whether a bound was reached: more blocks would not change the answer."""
        return self.verdict in (Verdict.BETTER, Verdict.NOT_BETTER)


def llr(blocks: Floats | Ints, mean: Floats, variance: Floats, question: SequentialSettings) -> Floats:
    """The log likelihood ratio, for whole columns of tests at once.

    The ratio of two normal models shrinks if the effect is far beyond both, since neither explains it. Evidence must not
    shrink as the effect grows, so an effect is limited to the one at which the ratio is greatest.
    """
    middle, half = (question.t0 + question.t1) / 2, (question.t1 - question.t0) / 2
    furthest = np.sqrt(1 + half**2)
    effect = mean / np.sqrt(np.maximum(variance, question.least_variance))
    effect = np.clip(effect, middle - furthest, middle + furthest)
    ratio: Floats = (1 + (effect - question.t0) ** 2) / (1 + (effect - question.t1) ** 2)
    return blocks / 2 * np.log(ratio)


def decide(values: Iterable[float], question: SequentialSettings | None = None) -> SequentialResult:
    """Check block values in the given order and stop where the test ends."""
    question = question or SequentialSettings()
    seen = np.fromiter(values, dtype=np.float64)[: question.most_blocks]
    count = np.arange(1, len(seen) + 1)
    mean = np.cumsum(seen) / count
    # Shifted by the first value, so that large scores do not lose their small differences to rounding.
    shifted = seen - (seen[0] if len(seen) else 0.0)
    variance = np.maximum(np.cumsum(shifted**2) / count - (np.cumsum(shifted) / count) ** 2, 0.0)
    ratio = llr(count, mean, variance, question)
    looks = (count >= question.first_look) & ((count - question.first_look) % question.every == 0)
    looks |= count == question.most_blocks
    at = np.flatnonzero(looks)
    out = at[(ratio[at] >= question.upper) | (ratio[at] <= question.lower)]
    if len(out):
        last = int(out[0])
        verdict = Verdict.BETTER if ratio[last] >= question.upper else Verdict.NOT_BETTER
    else:
        last = len(seen) - 1
        verdict = Verdict.UNDECIDED if len(seen) == question.most_blocks else Verdict.RUNNING
    trace = tuple((int(count[look]), float(ratio[look])) for look in at[at <= last])
    if last < 0:
        return SequentialResult(verdict, 0, 0.0, question.lower, question.upper, math.nan, math.nan, trace)
    return SequentialResult(
        verdict, last + 1, float(ratio[last]), question.lower, question.upper,
        float(mean[last]), math.sqrt(float(variance[last])), trace,
    )  # fmt: skip


def block_values(results: Results, a: int, b: int, *, scores: bool = False) -> Floats:
    """For each block in schedule order: the mean over its games of A's mean points minus B's.

    Games without one of the two are ignored. ``scores`` compares scores instead of points, for solo games on one deal.
    """
    value = results.scores.astype(np.float64) if scores else results.points / results.unit
    sides = []
    for entrant in (a, b):
        own = results.seated & (results.entrant == entrant)
        sides.append((np.where(own, value, 0.0).sum(axis=1), own.sum(axis=1)))
    (of_a, seats_a), (of_b, seats_b) = sides
    both = (seats_a > 0) & (seats_b > 0)
    lead = of_a[both] / seats_a[both] - of_b[both] / seats_b[both]
    if scores:  # a forfeited game has no score, and the stored one may be better than a weak player's
        a_gone, b_gone = ((results.faulted & results.seated & (results.entrant == one)).any(axis=1) for one in (a, b))
        lead = np.where(a_gone[both], np.minimum(lead, 0.0), lead)
        lead = np.where(b_gone[both], np.maximum(lead, 0.0), lead)
    games = np.bincount(results.block[both], minlength=results.blocks)
    total = np.bincount(results.block[both], weights=lead, minlength=results.blocks)
    played = games > 0
    return total[played] / games[played]


def compare(
    games: Sequence[Game], a: int, b: int, players: int, question: SequentialSettings | None = None
) -> SequentialResult:
    """Is entrant ``a`` better than entrant ``b``? The caller passes only whole blocks."""
    entrants = 1 + max((max(game.seats) for game in games), default=0)
    results = read(in_schedule_order(games, entrants, players), entrants, players)
    return decide(block_values(results, a, b, scores=players == 1), question)
