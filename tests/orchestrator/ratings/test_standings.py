"""Mean points, intervals by block, groups, and the order of tie-breaks."""

import math

import numpy as np
import pytest
from scipy import stats

from bench import science
from orchestrator.ratings import standings
from orchestrator.ratings.head_to_head import meetings
from orchestrator.ratings.intervals import half_width, together
from orchestrator.ratings.results import Results, in_schedule_order, read
from tests.orchestrator.ratings.drawn import drawn, results


def ranking(table: Results) -> standings.Ranking:
    return standings.official_ranking(standings.means(table), standings.tally(table), meetings(table))


def order(table: Results, names: str) -> str:
    """Ranks as text, ``a>b=c``."""
    ranks, placed = ranking(table).ranks, ranking(table).order
    text = ""
    for before, entrant in zip([None, *placed], placed, strict=False):
        text += "" if before is None else "=" if ranks[before] == ranks[entrant] else ">"
        text += names[entrant]
    return text


def test_the_interval_counts_blocks_not_games() -> None:
    """Two deals with the same result twice each: as uncertain as two games, not four."""
    points = standings.means(results("1: a>b\n1: a>b\n2: b>a\n2: b>a", "ab"))

    assert points.mean.tolist() == [0.5, 0.5]
    assert points.blocks.tolist() == [2, 2]
    # block means 1 and 0: variance of the mean 0.5 / 2
    assert np.diag(points.covariance) == pytest.approx([0.25, 0.25])


def test_a_clustered_variance_by_hand() -> None:
    """Blocks are weighted by their games: sums 2 of 2, 0 of 1, 1 of 2."""
    points = standings.means(results("1: a>b\n1: a>b\n2: b>a\n3: a>b\n3: b>a", "ab"))
    mean = 3 / 5
    moved = [2 - mean * 2, 0 - mean, 1 - mean * 2]

    assert points.mean[0] == pytest.approx(mean)
    assert points.covariance[0, 0] == pytest.approx(sum(m * m for m in moved) / 25 * 3 / 2)
    assert points.covariance[0, 1] == pytest.approx(-points.covariance[0, 0])


def test_the_interval_of_a_difference_uses_the_covariance_of_blocks() -> None:
    """a and b rise and fall together, so their difference is more certain than each mean."""
    points = standings.means(results("1: a>b>c\n2: c>a>b\n3: a>b>c\n4: c>a>b", "abc"))
    difference, half = points.differences()

    assert difference[0, 1] == pytest.approx(0.5)
    assert half[0, 1] < 2.0
    assert difference[0, 1] - half[0, 1] > -1.0
    assert half[0, 1] == pytest.approx(2 * (1 - 0.05 ** (1 / 4)))  # all four blocks are equal: the rule of three
    low, high = points.interval()
    assert (high - low)[0] > 0.5


def test_few_blocks_have_students_interval_and_one_block_has_none() -> None:
    half = half_width(np.array([0.01, 0.01, 0.01]), np.array([5, 1000, 1]), reach=1.0)

    assert half[0] == pytest.approx(0.1 * stats.t.ppf(0.975, 4))
    assert half[1] == pytest.approx(0.196, abs=1e-3)
    assert half[2] == 1.0


def test_a_bot_that_won_every_block_still_has_an_interval() -> None:
    points = standings.means(results("\n".join(f"{block}: a>b" for block in range(30)), "ab"))
    low, high = points.interval()

    assert high[0] == 1.0
    assert low[0] == pytest.approx(0.05 ** (1 / 30))


def test_groups_follow_the_leader_of_each() -> None:
    clear = "\n".join(f"{block}: a>b>c>d" if block % 2 else f"{block}: a>b>d>c" for block in range(40))
    table = results(clear, "abcd")

    difference, half = standings.means(table).differences(together(6))

    assert standings.groups(difference, half, [0, 1, 3, 2]).tolist() == [1, 2, 3, 3]


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        ([0.6, 0.5, 0.4], [1, 1, 2]),  # the third is close to the second, but not to the first
        ([0.6, 0.53, 0.46], [1, 1, 1]),  # significant as a single pair, not among three pairs
    ],
)
def test_groups_compare_with_their_first_at_the_level_of_all_pairs(mean: list[float], expected: list[int]) -> None:
    """Each difference has a standard error of 0.063: a single pair needs 0.124, three pairs need 0.151."""
    many = np.full(3, 1000)
    points = standings.Means(many, many, many, 2, np.array(mean), np.eye(3) * 0.002)

    assert standings.groups(*points.differences(together(3)), [0, 1, 2]).tolist() == expected


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        pytest.param("1: a>b\n2: a>b", "ab", "a>b", id="mean points"),
        pytest.param("1: a>b!crash\n2: b>a", "ab", "a>b", id="fewer faults"),
        # two draws, or a win and a loss, against c, who is above them: equal in everything
        pytest.param("1: a>c\n2: c>a\n3: b=c\n4: b=c\n5: c>d", "abcd", "c>a=b>d", id="nothing left"),
        # first and last, or twice in the middle, over the same opponents
        pytest.param("1: a>c>d\n2: c>d>a\n3: c>b>d\n4: d>b>c", "abcd", "c>a>b>d", id="wins"),
        pytest.param("1: a>b\n2: b>a", "ab", "a=b", id="shared"),
    ],
)
def test_ties_are_broken_in_order(text: str, names: str, expected: str) -> None:
    assert order(results(text, names), names) == expected


def test_against_each_other_decides_before_sonneborn_berger() -> None:
    """a and b have two of four. a beat b; but b beat d, who has more points than anybody a beat."""
    text = "1: a>b\n2: a>c\n3: d>a\n4: e>a\n5: b>c\n6: b>d\n7: e>b\n8: d>c\n9: c>e\n10: d=e"

    assert order(results(text, "abcde"), "abcde").endswith(">a>b>c")


def test_against_each_other_needs_equal_meetings() -> None:
    """a, b and c are equal. a won both games against b, but met c only once: Sonneborn-Berger decides, for b."""
    text = "1: a>b\n2: a>b\n3: c>a\n4: b>c\n5: d>a\n6: b>d\n7: d>c\n8: c>e\n9: a=e\n10: b=e"

    assert order(results(text, "abcde"), "abcde") == "d>b>a>c>e"


def test_sonneborn_berger_prefers_stronger_beaten_opponents() -> None:
    """a and b have one point of two and never met. c, whom a beat, has more points than d, whom b beat."""
    text = "1: a>c\n2: d>a\n3: b>d\n4: c>b\n5: c>e\n6: e>d"
    points = standings.means(results(text, "abcde"))

    assert points.mean[0] == points.mean[1]
    assert points.mean[2] > points.mean[3]
    assert order(results(text, "abcde"), "abcde").index("a") < order(results(text, "abcde"), "abcde").index("b")


def test_the_margin_decides_last() -> None:
    games = drawn("1: a>b\n2: b>a", "ab", {"a": 9, "b": 5})

    assert order(read(in_schedule_order(games, 2, 2), 2, 2), "ab") == "a>b"


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("1: a>b\n2: a>b", "ab", ["points"]),
        ("1: a>b!crash\n2: b>a", "ab", ["faults"]),
        ("1: a>b\n2: a>c\n3: d>a\n4: e>a\n5: b>c\n6: b>d\n7: e>b\n8: d>c\n9: c>e\n10: d=e", "abcde",
         ["sonneborn_berger", "points", "against_each_other", "points"]),
        ("1: a>b\n2: a>b\n3: c>a\n4: b>c\n5: d>a\n6: b>d\n7: d>c\n8: c>e\n9: a=e\n10: b=e", "abcde",
         ["points", "sonneborn_berger", "sonneborn_berger", "points"]),
        ("1: a>c>d\n2: c>d>a\n3: c>b>d\n4: d>b>c", "abcd", ["points", "wins", "points"]),
        ("1: a>c\n2: c>a\n3: b=c\n4: b=c\n5: c>d", "abcd", ["points", None, "points"]),
    ],
)  # fmt: skip
def test_what_puts_an_entrant_behind_the_one_before_is_named(text: str, names: str, expected: list[str | None]) -> None:
    assert ranking(results(text, names)).behind_by == (None, *expected)


def test_the_margin_is_named_if_it_decides() -> None:
    games = drawn("1: a>b\n2: b>a", "ab", {"a": 9, "b": 5})

    assert ranking(read(in_schedule_order(games, 2, 2), 2, 2)).behind_by == (None, "mean_margin")


def test_scores_of_the_automaton_do_not_count() -> None:
    table = results("1: a!crash>b>c\n2: a>b>c", "abc")
    counted = standings.tally(table)

    assert counted.finished.tolist() == [1, 2, 2]
    assert counted.faults.tolist() == [1, 0, 0]
    assert [float(win) for win in counted.wins] == [1.0, 1.0, 0.0]
    # scores are 9, 8, 7 by place: in game 1 b leads c by one, although the automaton for a has more
    assert counted.margins.tolist() == [1, 1 - 1, -1 - 2]


def test_tied_firsts_share_the_win() -> None:
    counted = standings.tally(results("1: a=b=c>d", "abcd"))

    assert [win * 3 for win in counted.wins] == [1, 1, 1, 0]


def test_the_clean_ranking_leaves_whole_blocks_out() -> None:
    clean = standings.without_faults(results("1: a>b\n1: a!crash>b\n2: b>a", "ab"))

    assert standings.means(clean).mean.tolist() == [0, 1]
    assert clean.blocks == 1


def test_no_game_yet() -> None:
    empty = results("1: a>b", "ab").only(np.array([False]))
    points = standings.means(empty)

    assert all(math.isnan(mean) for mean in points.mean)
    assert order(empty, "ab") == "a=b"


def test_equal_bots_are_separated_as_rarely_as_stated() -> None:
    """A reduced run: bounds are those of ``make science``, widened for 250 tournaments."""
    twins, equals, stronger, never_wrong, ranges = (line.value for line in science.twins(runs=250))

    assert 0.02 <= twins <= 0.09
    assert equals <= 0.08
    assert stronger >= 0.95
    assert never_wrong == 1
    assert ranges >= 0.93  # of the tables, every range of them
