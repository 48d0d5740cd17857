"""The choice of the next table of a ladder."""

import random
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.matchmaking import PLACEMENT_GAMES, Build, Meetings, Rule, Table, draw_table, pair

SECRET = b"a secret of the season"


def builds(count: int, owners: int, games: int = 100) -> list[Build]:
    """Builds of increasing strength, the owners in turn."""
    return [Build(f"b{at:03d}", f"owner {at % owners}", games, at / 10) for at in range(count)]


BUNDLED = [Build(f"bundled {level}", None, 100, level / 1) for level in (1, 2, 3)]


def drawn(field: list[Build], seats: int, tables: int, met: Meetings | None = None) -> list[Table]:
    found = [draw_table(field, met or {}, seats, Draws(SECRET, f"table {at}")) for at in range(tables)]
    return [table for table in found if table]


@st.composite
def fields(draw: st.DrawFn) -> tuple[list[Build], Meetings, int]:
    count = draw(st.integers(0, 12))
    owner = st.sampled_from(["ann", "bob", "cleo", None])
    field = [
        Build(f"b{at}", draw(owner), draw(st.integers(0, 40)), draw(st.floats(-2, 2, allow_nan=False)))
        for at in range(count)
    ]
    names = [build.name for build in field]
    met = {
        pair(one, other): draw(st.integers(0, 9))
        for one in names
        for other in names
        if one < other and draw(st.booleans())
    }
    return field, met, draw(st.integers(2, 4))


@given(fields(), st.text(max_size=8))
def test_no_table_has_two_builds_of_one_owner_or_one_build_twice(
    case: tuple[list[Build], Meetings, int], stream: str
) -> None:
    field, met, seats = case
    owner = {build.name: build.owner for build in field}
    table = draw_table(field, met, seats, Draws(SECRET, stream))

    if table:
        assert len(set(table.builds)) == seats
        owners = [owner[name] for name in table.builds if owner[name]]
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
        assert not any(int(name[1:]) % 10 == int(first[1:]) % 10 for name in table.candidates)


def test_of_the_near_builds_those_with_few_games_are_preferred() -> None:
    field = [replace(build, games=100 + 50 * (at % 2)) for at, build in enumerate(builds(60, 60))]
    opponents: Counter[int] = Counter()
    for at in range(300):
        table = draw_table(field, {}, 2, Draws(SECRET, str(at)), first="b030")
        assert table
        if table.rule is not Rule.UNIFORM:
            opponents.update(int(name[1:]) % 2 for name in table.builds if name != "b030")

    assert opponents[0] > 2 * opponents[1]


def test_a_newcomer_is_served_first() -> None:
    field = [*builds(60, 30), Build("new", "owner 3", PLACEMENT_GAMES - 1, 0.0)]

    for table in drawn(field, 4, 50):
        assert table.rule is Rule.NEWCOMER and "new" in table.builds


def test_of_two_newcomers_the_one_with_fewer_games_is_first() -> None:
    field = [*builds(60, 30), Build("newer", "x", 4, 0.0), Build("new", "x", 8, 0.0)]

    assert all("newer" in table.builds for table in drawn(field, 2, 30))


def test_otherwise_nine_tables_of_ten_are_for_a_build_with_few_games() -> None:
    field = [replace(build, games=100 + at) for at, build in enumerate(builds(40, 40))]
    tables = drawn(field, 2, 1000)
    rules = Counter(table.rule for table in tables)

    assert 860 <= rules[Rule.LEAST_PLAYED] <= 940 and rules[Rule.UNIFORM] == 1000 - rules[Rule.LEAST_PLAYED]
    fewest = {build.name for build in field[:4]}
    assert all(fewest & set(table.builds) for table in tables if table.rule is Rule.LEAST_PLAYED)


def test_opponents_are_mostly_near_in_strength() -> None:
    field = builds(100, 100)
    field[50] = replace(field[50], games=PLACEMENT_GAMES)
    tables = [table for at in range(1000) if (table := draw_table(field, {}, 2, Draws(SECRET, str(at)), first="b050"))]
    distances = sorted(abs(int(name[1:]) - 50) for table in tables for name in table.builds if name != "b050")

    assert distances[500] <= 6 and distances[-1] >= 40


def test_a_pair_that_met_too_often_waits_until_others_have_met() -> None:
    field = builds(30, 30)
    often = {pair("b010", "b011"): 9, pair("b009", "b010"): 9}
    opponents: Counter[str] = Counter()
    for at in range(400):
        table = draw_table(field, often, 2, Draws(SECRET, str(at)), first="b010")
        assert table
        if table.rule is not Rule.UNIFORM:
            opponents.update(table.builds)

    assert opponents["b011"] == opponents["b009"] == 0 and opponents["b012"] > 20


def test_two_opponents_that_met_too_often_do_not_meet_at_a_third_build_s_table() -> None:
    field = builds(30, 30)
    tables = [
        draw_table(field, {pair("b011", "b012"): 90}, 3, Draws(SECRET, str(at)), first="b010") for at in range(400)
    ]
    drawn_near = [set(table.builds) for table in tables if table and table.rule is not Rule.UNIFORM]

    assert not any({"b011", "b012"} <= table for table in drawn_near)
    assert sum({"b011", "b009"} <= table for table in drawn_near) > 5


def test_bundled_bots_fill_a_table_that_too_few_owners_can() -> None:
    alone = builds(3, 1)
    table = draw_table([*alone, *BUNDLED], {}, 4, Draws(SECRET, "x"))

    assert table and sum(name.startswith("bundled") for name in table.builds) == 3
    assert draw_table(alone, {}, 2, Draws(SECRET, "x")) is None
    assert draw_table(BUNDLED, {}, 2, Draws(SECRET, "x")) is None, "no table is drawn for bundled bots"


def test_seats_are_drawn_too() -> None:
    field = [*builds(60, 30), Build("new", "x", 0, 0.0)]
    seats = Counter(table.builds.index("new") for table in drawn(field, 4, 200))

    assert all(seats[seat] > 25 for seat in range(4))
