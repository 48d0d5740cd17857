"""A new build against its parent."""

import numpy as np
import pytest

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import Build, trial_tables
from orchestrator.ladder.verdicts import SETTINGS, judge, trial_values
from orchestrator.ratings.results import tables
from orchestrator.ratings.sequential import SequentialSettings
from orchestrator.ratings.verdict import Verdict

NEW, PARENT = 0, 1
#: Rows are games: two of trial 0 with the new build, two with its parent, then half of trial 1, then a rated game.
SEATS = np.array([[NEW, 2, 3], [3, NEW, 2], [PARENT, 2, 3], [3, PARENT, 2], [NEW, 2, 3], [NEW, 4, 5]])
RANKS = np.array([[1, 2, 3], [2, 1, 3], [3, 1, 2], [1, 2, 3], [1, 2, 3], [3, 2, 1]])
TRIAL = np.array([0, 0, 0, 0, 1, -1])


FIELD = [
    Build(PARENT, "ann", 900, 0.1),
    Build(NEW, "ann", 40, 0.2),
    *(Build(at, f"o{at}", 50, 0.0) for at in range(2, 11)),
]


def test_the_tables_of_a_trial_differ_only_in_the_build() -> None:
    for at in range(30):
        tables_ = trial_tables(FIELD, {}, 4, Draws(b"secret", str(at)), NEW, PARENT)
        assert tables_
        of_new, of_parent = (table.builds for table in tables_)
        assert NEW in of_new and PARENT not in of_new, "they have one owner"
        assert of_parent == tuple(PARENT if build == NEW else build for build in of_new)


def test_a_trial_waits_until_both_builds_are_free() -> None:
    draws = Draws(b"secret", "x")

    assert trial_tables(FIELD[1:], {}, 4, draws, NEW, PARENT) is None
    assert trial_tables([FIELD[0], *FIELD[2:]], {}, 4, draws, NEW, PARENT) is None
    assert trial_tables(FIELD[:4], {}, 4, draws, NEW, PARENT) is None, "two opponents are not enough"


def test_a_trial_is_the_difference_of_mean_points_on_one_deal() -> None:
    results = tables(6, SEATS, RANKS, np.array([0, 0, 1, 1, 2, 3]))

    assert trial_values(results, TRIAL, NEW, PARENT).tolist() == [1.0 - 0.25]
    assert trial_values(results, TRIAL, PARENT, NEW).tolist() == [0.25 - 1.0]


def test_a_trial_counts_only_when_both_have_played_it() -> None:
    results = tables(6, SEATS, RANKS, np.array([0, 0, 1, 1, 2, 3]))

    assert len(trial_values(results, np.array([0, 0, 0, -1, 1, 1]), NEW, PARENT)) == 0


def values(lead: float, trials: int) -> list[float]:
    """Trials with a standard deviation of 0.3."""
    return [lead + (0.3 if at % 2 else -0.3) for at in range(trials)]


@pytest.mark.parametrize(
    ("lead", "trials", "verdict", "sentence"),
    [
        (0.12, 1000, Verdict.BETTER, "v7 is better than v6: +0.120 ± "),
        (-0.05, 1000, Verdict.NOT_BETTER, "v7 is not better than v6: −0.055 ± 0.079 points a game on 57 common deals."),
        (
            0.0301,
            1000,
            Verdict.UNDECIDED,
            "Whether v7 is better than v6 is undecided at the cap: +0.030 ± 0.019 points",
        ),
        (0.12, 10, Verdict.RUNNING, "Whether v7 is better than v6 is still tested: +0.120 ± 0.196 points a game on 10"),
        (
            0.0,
            3,
            Verdict.RUNNING,
            "Whether v7 is better than v6 is still tested: 3 common deals so far, too few to say",
        ),
        (0.0, 1, Verdict.RUNNING, "Whether v7 is better than v6 is still tested: 1 common deal so far, too few to say"),
        (0.0, 0, Verdict.RUNNING, "There is no common deal of v7 and its parent v6 yet."),
    ],
)
def test_the_verdict_is_a_sentence_with_numbers(lead: float, trials: int, verdict: Verdict, sentence: str) -> None:
    found = judge("v7", "v6", values(lead, trials))

    assert found.verdict is verdict
    assert found.sentence.startswith(sentence)


def test_a_verdict_stops_the_test() -> None:
    found = judge("v7", "v6", values(0.12, 1000))

    assert 16 <= found.trials < 100 and found.llr >= found.bounds[1]
    assert judge("v7", "v6", values(0.12, found.trials) + [-9.0] * 500) == found


def test_the_cap_is_the_last_trial() -> None:
    assert judge("v7", "v6", values(0.0301, SETTINGS.most_blocks + 50)).trials == SETTINGS.most_blocks


def test_a_verdict_on_few_deals_has_no_interval() -> None:
    early = SequentialSettings(t0=0.0, t1=0.2, alpha=0.4, beta=0.4, most_blocks=9, first_look=2)
    found = judge("v7", "v6", [0.5, 0.5001] * 4, early)

    assert found.verdict is Verdict.BETTER and found.trials < 10
    assert found.sentence.startswith("v7 is better than v6: +0.500 points a game on ") and "±" not in found.sentence
