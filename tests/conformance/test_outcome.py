"""Games end, and their outcomes add up."""

import pytest

from tests.conformance.checks_outcome import check_when
from tests.conformance.subjects import Setup
from tests.conformance.walks import MIXES, remembered, walk


def test_a_game_of_chance_ends_and_adds_up(table: Setup) -> None:
    check_when(table, remembered(table))


@pytest.mark.parametrize("players", MIXES, ids=" ".join)
def test_games_of_any_players_end_and_add_up(plain_table: Setup, players: tuple[str, ...]) -> None:
    for number in range(200, 203):
        check_when(plain_table, walk(plain_table, number, players))
