"""A new build against its parent."""

import numpy as np
import pytest

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import Build, trial_tables
from orchestrator.ladder.verdicts import SETTINGS, judge, trial_values
from orchestrator.ratings.results import tables
from orchestrator.ratings.verdict import Verdict

NEW, PARENT = 0, 1
#: Rows are games: two of trial 0 with the new build, two with its parent, then half of trial 1, then a rated game.
SEATS = np.array([[NEW, 2, 3], [3, NEW, 2], [PARENT, 2, 3], [3, PARENT, 2], [NEW, 2, 3], [NEW, 4, 5]])
RANKS = np.array([[1, 2, 3], [2, 1, 3], [3, 1, 2], [1, 2, 3], [1, 2, 3], [3, 2, 1]])
TRIAL = np.array([0, 0, 0, 0, 1, -1])


FIELD = [
    Build("v6", "ann", 900, 0.1),
    Build("v7", "ann", 40, 0.2),
    *(Build(f"b{at}", f"o{at}", 50, 0.0) for at in range(9)),
]


def test_the_tables_of_a_trial_differ_only_in_the_build() -> None:
    for at in range(30):
        tables_ = trial_tables(FIELD, {}, 4, Draws(b"secret", str(at)), "v7", "v6")
        assert tables_
        of_new, of_parent = (table.builds for table in tables_)
        assert "v7" in of_new and "v6" not in of_new, "they have one owner"
        assert of_parent == tuple("v6" if name == "v7" else name for name in of_new)


def test_a_trial_waits_until_both_builds_are_free() -> None:
    draws = Draws(b"secret", "x")

    assert trial_tables(FIELD[1:], {}, 4, draws, "v7", "v6") is None
    assert trial_tables([FIELD[0], *FIELD[2:]], {}, 4, draws, "v7", "v6") is None
    assert trial_tables(FIELD[:4], {}, 4, draws, "v7", "v6") is None, "two opponents are not enough"


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
        (-0.05, 1000, Verdict.NOT_BETTER, "v7 is not better than v6: -0.055 ± 0.079 points a game on 57 common deals."),
        (
            0.0301,
            1000,
            Verdict.UNDECIDED,
            "Whether v7 is better than v6 is undecided at the cap: +0.030 ± 0.019 points",
        ),
        (0.12, 8, Verdict.RUNNING, "Whether v7 is better than v6 is still tested: +0.120 ± 0.222 points a game on 8"),
        (0.0, 0, Verdict.RUNNING, "v7 has not played its parent v6 yet."),
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
