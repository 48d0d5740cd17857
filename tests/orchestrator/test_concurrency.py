"""The default number of matches that are played at once."""

from dataclasses import replace

import pytest

from orchestrator.concurrency import ConcurrencyInput, choose
from orchestrator.roster.model import TimeControl

QUICK = ConcurrencyInput((("random", False),) * 5, 2, TimeControl(5_000, 30_000), 500, is_comparison=False)


@pytest.mark.parametrize(
    ("bots", "number"),
    [
        ((("random", False), ("greedy", False)), 64),
        ((("random", False), ("", True)), 32),
        ((("random", False), ("", False)), 8),
        ((("random", False), ("mcts", False), ("", True)), 2),
    ],
)
def test_the_slowest_kind_of_bot_decides(bots: tuple[tuple[str, bool], ...], number: int) -> None:
    assert choose(replace(QUICK, bots=bots), 2).matches == number


def test_more_cores_play_more_matches_up_to_the_capacity_of_one_service() -> None:
    assert [choose(QUICK, cores).matches for cores in (1, 2, 4, 64)] == [64, 128, 128, 128]


def test_at_least_one_and_never_more_than_the_planned_matches() -> None:
    assert choose(replace(QUICK, planned=6), 2).matches == 6
    assert choose(replace(QUICK, time_control=TimeControl(1, 0)), 2).matches == 1


def test_short_clocks_reduce_the_number_of_matches() -> None:
    assert choose(replace(QUICK, time_control=TimeControl(100, 0)), 2).matches == 20
    assert "100 ms" in choose(replace(QUICK, time_control=TimeControl(100, 0)), 2).why


def test_the_capacity_of_bundled_bots_covers_every_match() -> None:
    chosen = choose(replace(QUICK, bots=(("random", False),) * 4, players=4), 64)
    assert chosen.matches == 64


def test_a_comparison_hands_out_at_most_a_sixteenth() -> None:
    chosen = choose(replace(QUICK, planned=120, is_comparison=True), 2)
    assert chosen.matches == 7
