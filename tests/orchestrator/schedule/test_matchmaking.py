"""The choice of the next table of a ladder."""

import random
from collections import Counter
from dataclasses import replace

from orchestrator.schedule.matchmaking import Candidate, pick


def _field(count: int, owners: int) -> list[Candidate]:
    return [Candidate(float(number), 0, f"owner {number % owners}") for number in range(count)]


def test_a_table_is_full_of_different_bots_and_owners() -> None:
    chance = random.Random(1)
    field = _field(40, 13)
    for _ in range(2000):
        table = pick(chance, field, 4)
        assert table is not None and len(set(table)) == 4
        assert len({field[number].owner for number in table}) == 4


def test_entrants_with_the_fewest_games_play_next() -> None:
    chance = random.Random(2)
    field = [replace(candidate, games=number) for number, candidate in enumerate(_field(40, 40))]
    anchors = Counter(table[0] for _ in range(400) if (table := pick(chance, field, 2)))
    assert set(anchors) == {0, 1, 2, 3}, "one of the tenth with the fewest games"


def test_opponents_are_mostly_near_in_rating() -> None:
    chance = random.Random(3)
    distances = []
    for _ in range(2000):
        table = pick(chance, _field(100, 100), 2, anchor=50)
        assert table is not None and table[0] == 50
        distances.append(abs(table[1] - 50))
    distances.sort()
    assert distances[1000] <= 5 and distances[-1] >= 40


def test_paused_or_busy_entrants_are_not_chosen() -> None:
    chance = random.Random(4)
    field = [replace(candidate, is_free=number < 5) for number, candidate in enumerate(_field(20, 20))]
    assert all(set(pick(chance, field, 4) or ()) <= set(range(5)) for _ in range(200))
    assert pick(chance, field[3:], 4) is None, "only two are left"
    assert pick(chance, [], 2) is None


def test_one_owner_cannot_fill_a_table() -> None:
    assert pick(random.Random(5), _field(10, 1), 2) is None
    assert pick(random.Random(5), _field(10, 3), 4) is None
