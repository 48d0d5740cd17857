"""Is a new build better than its parent? Both play the same deals at the same seats against the same opponents.

Two builds of one owner never sit at one table, so a trial is two blocks: one with the new build, one with its parent in its
place. The value of a trial is the difference of their mean points. The sequential test looks after every trial and stops when
it is certain enough, or at the cap.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from orchestrator.ratings.points import Floats, Ints
from orchestrator.ratings.results import Results
from orchestrator.ratings.sequential import SequentialSettings, decide
from orchestrator.ratings.verdict import Verdict
from orchestrator.report.words import count, decimal, signed

#: A lead of a fifth of a trial's standard deviation is "better"; each error has 5 per cent; 1,000 trials are the cap.
SETTINGS: Final = SequentialSettings(t0=0.0, t1=0.2, alpha=0.05, beta=0.05, most_blocks=1000)
#: With fewer trials no interval is told: too few deals say little about how much trials vary.
_FEW_TRIALS: Final = 10


@dataclass(frozen=True)
class BuildVerdict:
    """The answer so far."""

    new: str
    parent: str
    verdict: Verdict
    #: Trials that the verdict is based on; each is one deal played with either build.
    trials: int
    #: Mean points of the new build minus those of its parent, a game. Where the test stopped it is too large on average.
    lead: float | None
    #: Half of its 95 per cent interval.
    half_width: float | None
    llr: float
    bounds: tuple[float, float]

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if not self.trials:
            return f"There is no common deal of {self.new} and its parent {self.parent} yet."
        numbers = self._numbers
        match self.verdict:
            case Verdict.BETTER:
                return f"{self.new} is better than {self.parent}: {numbers}."
            case Verdict.NOT_BETTER:
                return f"{self.new} is not better than {self.parent}: {numbers}."
            case Verdict.UNDECIDED:
                return f"Whether {self.new} is better than {self.parent} is undecided at the cap: {numbers}."
            case Verdict.RUNNING:
                return f"Whether {self.new} is better than {self.parent} is still tested: {numbers}."

    @property
    def _numbers(self) -> str:
        deals = count(self.trials, "common deal")
        is_early = self.trials < _FEW_TRIALS
        if self.lead is None or self.half_width is None or (is_early and self.verdict is Verdict.RUNNING):
            return f"{deals} so far, too few to say more"
        interval = "" if is_early else f" ± {decimal(self.half_width)}"
        return f"{signed(self.lead, 3)}{interval} points a game on {deals}"


def trial_values(results: Results, trial: Ints, new: int, parent: int) -> Floats:
    """For each whole trial, in the order of their numbers: mean points of the new build minus those of its parent.

    ``trial`` gives the trial of each game, -1 for games that belong to none.
    """
    points = results.points / results.unit
    count = int(trial.max(initial=-1)) + 1
    means, played = [], []
    for build in (new, parent):
        own = results.seated & (results.entrant == build) & (trial >= 0)[:, None]
        number = np.broadcast_to(trial[:, None], own.shape)[own]
        games = np.bincount(number, minlength=count)
        means.append(np.bincount(number, points[own], count) / np.maximum(games, 1))
        played.append(games)
    whole = (played[0] > 0) & (played[0] == played[1])
    values: Floats = (means[0] - means[1])[whole]
    return values


def judge(
    new: str, parent: str, values: Sequence[float] | Floats, settings: SequentialSettings = SETTINGS
) -> BuildVerdict:
    """The verdict from the values of the trials in their order."""
    found = decide(values, settings)
    known = found.blocks > 1
    return BuildVerdict(
        new=new,
        parent=parent,
        verdict=found.verdict,
        trials=found.blocks,
        lead=found.mean if known else None,
        half_width=1.96 * found.sd / math.sqrt(found.blocks - 1) if known else None,
        llr=found.llr,
        bounds=(found.lower, found.upper),
    )
