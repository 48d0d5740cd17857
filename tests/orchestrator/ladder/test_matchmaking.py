"""The choice of the next table of a ladder."""

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import PLACEMENT_GAMES, Build, Meetings, Rule, Table, draw_table, pair

SECRET = b"a secret of the season"


def builds(count: int, owners: int, games: int = 100) -> list[Build]:
    """Builds of increasing strength, the owners in turn."""
    return [Build(at, f"owner {at % owners}", games, at / 10) for at in range(count)]


BUNDLED = [Build(900 + level, None, 100, level / 1) for level in (1, 2, 3)]


def drawn(field: list[Build], seats: int, tables: int, met: Meetings | None = None) -> list[Table]:
    found = [draw_table(field, met or {}, seats, Draws(SECRET, f"table {at}")) for at in range(tables)]
    return [table for table in found if table]


@st.composite
def fields(draw: st.DrawFn) -> tuple[list[Build], Meetings, int]:
    count = draw(st.integers(0, 12))
    owner = st.sampled_from(["ann", "bob", "cleo", None])
    field = [
        Build(at, draw(owner), draw(st.integers(0, 40)), draw(st.floats(-2, 2, allow_nan=False))) for at in range(count)
    ]
    met = {both: draw(st.integers(0, 9)) for both in combinations(range(count), 2) if draw(st.booleans())}
    return field, met, draw(st.integers(2, 4))


@given(fields(), st.text(max_size=8))
def test_no_table_has_two_builds_of_one_owner_or_one_build_twice(
    case: tuple[list[Build], Meetings, int], stream: str
) -> None:
    field, met, seats = case
    owner = {build.number: build.owner for build in field}
    table = draw_table(field, met, seats, Draws(SECRET, stream))

    if table:
        assert len(set(table.builds)) == seats
        owners = [owner[build] for build in table.builds if owner[build]]
        assert len(set(owners)) == len(owners) > 0


@given(fields(), st.text(max_size=8))
def test_a_table_is_drawn_whenever_enough_owners_and_bundled_bots_are_free(
    case: tuple[list[Build], Meetings, int], stream: str
) -> None:
    field, met, seats = case
    owners = {build.owner for build in field if build.owner}
    bundled = sum(build.owner is None for build in field)

    table = draw_table(field, met, seats, Draws(SECRET, stream))

    assert (table is not None) == bool(owners and len(owners) + bundled >= seats)


@given(fields(), st.text(max_size=8), st.randoms(use_true_random=False))
def test_the_same_field_and_stream_give_the_same_table(
    case: tuple[list[Build], Meetings, int], stream: str, chance: random.Random
) -> None:
    field, met, seats = case
    again = list(field)
    chance.shuffle(again)

    assert draw_table(again, met, seats, Draws(SECRET, stream)) == draw_table(field, met, seats, Draws(SECRET, stream))


def test_another_stream_or_secret_gives_another_table() -> None:
    field = builds(40, 40)
    tables = {
        draw_table(field, {}, 4, Draws(secret, name)) for secret in (SECRET, b"another") for name in ("a", "b", "c")
    }

    assert len(tables) == 6


def test_a_table_records_its_rule_its_candidates_and_its_stream() -> None:
    field = builds(10, 10)
    for table in drawn(field, 4, 50):
        (first,) = set(table.builds) - set(table.candidates)
        assert len(table.candidates) == 9 and first not in table.candidates
        assert table.stream.startswith("table ")


def test_no_build_of_the_same_owner_is_a_candidate() -> None:
    field = builds(20, 10)
    for table in drawn(field, 2, 50):
        (first,) = set(table.builds) - set(table.candidates)
        assert not any(build % 10 == first % 10 for build in table.candidates)


def test_of_the_near_builds_those_with_few_games_are_preferred() -> None:
    field = [replace(build, games=100 + 50 * (at % 2)) for at, build in enumerate(builds(60, 60))]
    opponents: Counter[int] = Counter()
    for at in range(300):
        table = draw_table(field, {}, 2, Draws(SECRET, str(at)), first=30)
        assert table
        if table.rule is not Rule.UNIFORM:
            opponents.update(build % 2 for build in table.builds if build != 30)

    assert opponents[0] > 2 * opponents[1]


def test_a_newcomer_is_served_first() -> None:
    field = [*builds(60, 30), Build(60, "owner 3", PLACEMENT_GAMES - 1, 0.0)]

    for table in drawn(field, 4, 50):
        assert table.rule is Rule.NEWCOMER and 60 in table.builds


def test_of_two_newcomers_the_one_with_fewer_games_is_first() -> None:
    field = [*builds(60, 30), Build(60, "x", 4, 0.0), Build(61, "x", 8, 0.0)]

    assert all(60 in table.builds for table in drawn(field, 2, 30))


def test_otherwise_nine_tables_of_ten_are_for_a_build_with_few_games() -> None:
    field = [replace(build, games=100 + at) for at, build in enumerate(builds(40, 40))]
    tables = drawn(field, 2, 1000)
    rules = Counter(table.rule for table in tables)

    assert 860 <= rules[Rule.LEAST_PLAYED] <= 940 and rules[Rule.UNIFORM] == 1000 - rules[Rule.LEAST_PLAYED]
    fewest = {build.number for build in field[:4]}
    assert all(fewest & set(table.builds) for table in tables if table.rule is Rule.LEAST_PLAYED)


def test_opponents_are_mostly_near_in_strength() -> None:
    field = builds(100, 100)
    field[50] = replace(field[50], games=PLACEMENT_GAMES)
    tables = [table for at in range(1000) if (table := draw_table(field, {}, 2, Draws(SECRET, str(at)), first=50))]
    distances = sorted(abs(build - 50) for table in tables for build in table.builds if build != 50)

    assert distances[500] <= 6 and distances[-1] >= 40


def test_a_pair_that_met_too_often_waits_until_others_have_met() -> None:
    field = builds(30, 30)
    often = {pair(11, 10): 9, pair(9, 10): 9}
    opponents: Counter[int] = Counter()
    for at in range(400):
        table = draw_table(field, often, 2, Draws(SECRET, str(at)), first=10)
        assert table
        if table.rule is not Rule.UNIFORM:
            opponents.update(table.builds)

    assert opponents[11] == opponents[9] == 0 and opponents[12] > 20


def test_two_opponents_that_met_too_often_do_not_meet_at_a_third_build_s_table() -> None:
    field = builds(30, 30)
    tables = [draw_table(field, {pair(11, 12): 90}, 3, Draws(SECRET, str(at)), first=10) for at in range(400)]
    drawn_near = [set(table.builds) for table in tables if table and table.rule is not Rule.UNIFORM]

    assert not any({11, 12} <= table for table in drawn_near)
    assert sum({11, 9} <= table for table in drawn_near) > 5


def test_bundled_bots_fill_a_table_that_too_few_owners_can() -> None:
    alone = builds(3, 1)
    table = draw_table([*alone, *BUNDLED], {}, 4, Draws(SECRET, "x"))

    assert table and {build.number for build in BUNDLED} < set(table.builds)
    assert draw_table(alone, {}, 2, Draws(SECRET, "x")) is None
    assert draw_table(BUNDLED, {}, 2, Draws(SECRET, "x")) is None, "no table is drawn for bundled bots"


def test_seats_are_drawn_too() -> None:
    field = [*builds(60, 30), Build(60, "x", 0, 0.0)]
    seats = Counter(table.builds.index(60) for table in drawn(field, 4, 200))

    assert all(seats[seat] > 25 for seat in range(4))


def test_a_build_that_is_alone_with_bundled_bots_meets_all_of_them() -> None:
    met: Counter[tuple[int, int]] = Counter()
    for at in range(300):
        table = draw_table([Build(50, "ann", 2 * at, 1.1), *BUNDLED], met, 2, Draws(SECRET, str(at)))
        assert table
        met[pair(*table.builds)] += 1

    assert len(met) == len(BUNDLED)
    assert max(met.values()) <= 1.5 * min(met.values()), met
