"""Bots that forfeit too often: suspects and withdrawals, decided in schedule order."""

import random

import pytest

from orchestrator.fault_policy import ENOUGH_GAMES, suspects, to_withdraw
from orchestrator.records import Game


def _games(faults: dict[int, str], games: int, others: int = 2) -> list[Game]:
    """Return games of entrant 0 against the others in turn; ``faults`` has its causes by number of game."""
    made = []
    for order in range(games):
        opponent = 1 + order % others
        fault = faults.get(order, "")
        made.append(Game(order, order, (0, opponent), (2, 1), (0, 9), (fault, ""), (1, 1)))
    return made


def _schedule(games: int, others: int = 2) -> dict[int, list[int]]:
    schedule: dict[int, list[int]] = {0: list(range(games))}
    for order in range(games):
        schedule.setdefault(1 + order % others, []).append(order)
    return schedule


@pytest.mark.parametrize(
    ("faults", "games", "expected"),
    [
        ((), 30, None),
        ((3, 4), 19, None),
        ((3, 4, 5), 8, "forfeited 3 games in a row"),
        ((0, 9), 19, None),
        ((0, 9), 20, None),  # exactly a tenth
        ((0, 9, 15), 20, "forfeited 3 of 20 games"),
    ],
)
def test_a_suspect_forfeits_three_in_a_row_or_more_than_a_tenth_of_twenty(
    faults: tuple[int, ...], games: int, expected: str | None
) -> None:
    played = _games(dict.fromkeys(faults, "TIMEOUT"), games)
    random.Random(1).shuffle(played)
    assert suspects(played) == ({} if expected is None else {0: expected})


def test_a_bot_that_forfeits_exactly_half_is_not_withdrawn() -> None:
    half = dict.fromkeys(range(1, 40, 2), "TIMEOUT")
    assert to_withdraw(_games(half, 40), _schedule(40), 2) == []


def test_no_game_of_a_bot_withdrawn_early_counts() -> None:
    (decision,) = to_withdraw(_games(dict.fromkeys(range(60), "TIMEOUT"), 30), _schedule(60), 2)
    assert (decision.entrant, decision.is_removed) == (0, True)
    assert decision.reason == f"forfeited {ENOUGH_GAMES} of its first {ENOUGH_GAMES} games; none of its games counts"


def test_a_bot_withdrawn_late_loses_the_rest() -> None:
    (decision,) = to_withdraw(_games(dict.fromkeys(range(40), "TIMEOUT"), 30), _schedule(40), 2)
    assert not decision.is_removed and decision.reason.endswith("it loses the rest")


def test_no_bot_is_removed_if_the_others_could_not_fill_the_seats() -> None:
    (decision,) = to_withdraw(_games(dict.fromkeys(range(60), "TIMEOUT"), 30, others=1), _schedule(60, others=1), 2)
    assert not decision.is_removed


def test_games_after_a_gap_in_the_schedule_do_not_count_yet() -> None:
    """Otherwise the order in which workers finish would decide."""
    played = _games(dict.fromkeys(range(60), "TIMEOUT"), 60)
    assert to_withdraw(played[:5] + played[6:], _schedule(60), 2) == []


def test_a_withdrawal_stays_the_same_while_more_games_are_played() -> None:
    played = _games(dict.fromkeys(range(5, 60), "CRASH"), 60)
    answers = {tuple(to_withdraw(played[:count], _schedule(60), 2)) for count in range(30, 61)}
    assert len(answers) == 1
