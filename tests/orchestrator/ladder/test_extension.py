"""The tables of a draw and the matches of a table. A schedule can be drawn again from its record."""

import json
from collections import Counter
from copy import deepcopy
from dataclasses import replace

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ladder.draws import Draws
from orchestrator.ladder.extension import BlockMatch, Field, FieldBuild, Past, block_matches, extend, rounded
from orchestrator.ladder.matchmaking import Build, Rule, draw_bundled_table, draw_table
from orchestrator.ladder.model import DrawnTable, Kind

SECRET = b"a secret of the season"
#: Three bundled bots, then builds of ann, bob, cleo, ann, bob, cleo …
BUNDLED = 3
OWNERS: list[str | None] = [None] * BUNDLED + [("ann", "bob", "cleo")[at % 3] for at in range(12)]
NAMES = [f"entrant {number}" for number in range(len(OWNERS))]


def field(places: int = 2, tables: int = 6, trials: tuple[tuple[int, int], ...] = (), first: int = 0) -> Field:
    """Everybody from this entrant on is free; bundled bots have many places."""
    builds = [
        FieldBuild(number, 64 if number < BUNDLED else places, number / 10) for number in range(first, len(OWNERS))
    ]
    return Field(tuple(builds), trials, tables)


def drawn(
    one: Field, past: Past | None = None, seats: int = 3, secret: bytes = SECRET, first: int = 10
) -> list[DrawnTable]:
    return extend(one, OWNERS, past or Past(), seats, secret, first, 4)


@st.composite
def fields(draw: st.DrawFn) -> Field:
    chosen = draw(st.lists(st.integers(0, len(OWNERS) - 1), unique=True, max_size=len(OWNERS)))
    builds = tuple(
        FieldBuild(number, draw(st.integers(1, 4)), rounded(draw(st.floats(-3, 3, allow_nan=False))))
        for number in chosen
    )
    # ann has 3, 6, 9 and 12, bob the next ones, and so on.
    pairs = [(number + 3, number) for number in chosen if number >= BUNDLED and number + 3 in chosen]
    trials = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Field(builds, tuple(trials), draw(st.integers(1, 9)))


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    seats = st.lists(st.integers(0, len(OWNERS) - 1), unique=True, min_size=2, max_size=4)
    past = Past()
    past.add([table(number, tuple(sitting)) for number, sitting in enumerate(draw(st.lists(seats, max_size=30)))])
    return past


def table(block: int, seats: tuple[int, ...], kind: Kind = Kind.RATED, deal: int | None = None) -> DrawnTable:
    return DrawnTable(block, kind, "uniform", seats, (), f"block {block}", 0, block if deal is None else deal)


# ----------------------------------------------------------------------------------------------------------- draw again
@given(fields(), pasts(), st.integers(2, 4), st.binary(min_size=16, max_size=32))
def test_the_record_of_a_draw_gives_the_same_tables_again(one: Field, past: Past, seats: int, secret: bytes) -> None:
    before = deepcopy(past)
    first = drawn(one, past, seats, secret)

    again = deepcopy(before)
    assert drawn(Field.from_json(one.to_json()), again, seats, secret) == first
    assert again == past, "both leave the same past for the next draw"
    reordered = Field(one.builds[::-1], one.trials, one.tables)
    assert drawn(reordered, deepcopy(before), seats, secret) == first, "the order of the field does not matter"


def test_another_secret_or_another_past_gives_other_tables() -> None:
    first = drawn(field())
    seated = Past()
    seated.add([table(number, (3, 4, 5)) for number in range(20)])

    assert drawn(field(), secret=b"another secret !") != first
    assert [one.seats for one in drawn(field(), seated)] != [one.seats for one in first]
    assert [one.seats for one in drawn(field(), first=11)] != [one.seats for one in first], "each block has its stream"


def test_a_schedule_of_many_draws_is_drawn_again_from_its_records() -> None:
    past, block, records, tables = Past(), 0, [], []
    for number in range(30):
        one = field(places=1 + number % 3, tables=1 + number % 5, trials=((6, 3),) if number % 4 == 0 else ())
        found = extend(one, OWNERS, past, 3, SECRET, block, number)
        records.append(one.to_json())
        tables += found
        block += len(found)

    again = Past()
    known: list[DrawnTable] = []
    for number, record in enumerate(records):
        known += extend(Field.from_json(record), OWNERS, again, 3, SECRET, len(known), number)
    assert known == tables and [one.block for one in tables] == list(range(block))
    whole = Past()
    whole.add(tables)
    assert whole == past, "what a draw counts is what the book has"


@given(fields())
def test_the_json_of_a_field_is_exact(one: Field) -> None:
    assert Field.from_json(one.to_json()) == one
    assert Field.from_json(one.to_json()).to_json() == one.to_json()


def test_a_field_is_stored_without_names() -> None:
    one = Field((FieldBuild(3, 1, 0.25),), ((6, 3),), 2)

    assert json.loads(one.to_json()) == {"builds": [[3, 1, 0.25]], "trials": [[6, 3]], "tables": 2, "withdrawn": []}


# --------------------------------------------------------------------------------------------------------------- tables
@given(fields(), pasts(), st.integers(2, 4))
def test_a_draw_keeps_to_its_places_its_owners_and_its_number_of_tables(one: Field, past: Past, seats: int) -> None:
    found = drawn(one, past, seats)
    places = {build.number: build.places for build in one.builds}
    sits = Counter(entrant for each in found for entrant in each.seats)
    in_trials = {entrant for each in found if each.trial is not None for entrant in each.seats}

    assert len(found) <= one.tables + bool(found and found[-1].trial is not None)
    assert [each.block for each in found] == list(range(10, 10 + len(found)))
    for each in found:
        assert len(set(each.seats)) == seats and set(each.seats) <= places.keys()
        owners = [OWNERS[entrant] for entrant in each.seats if OWNERS[entrant]]
        assert len(set(owners)) == len(owners), "never two builds of one owner"
        assert each.kind is Kind.RATED and each.draw == 4 and not each.is_over
    for entrant, tables in sits.items():
        assert tables <= places[entrant] + (entrant in in_trials), (
            "an opponent may wait for the second table of a trial"
        )


@given(fields(), pasts(), st.integers(2, 4))
def test_trials_come_in_pairs_with_the_same_deal_and_opponents(one: Field, past: Past, seats: int) -> None:
    found = drawn(one, past, seats)
    parents = dict(one.trials)
    of_trials = [each for each in found if each.rule == Rule.TRIAL.value]

    assert of_trials == found[: len(of_trials)] and len(of_trials) % 2 == 0
    for new, other in zip(of_trials[::2], of_trials[1::2], strict=True):
        assert new.trial == other.trial and new.trial is not None and new.trial in new.seats
        assert other.seats == tuple(parents[new.trial] if entrant == new.trial else entrant for entrant in new.seats)
        assert (new.deal, other.deal) == (new.block, new.block) and other.block == new.block + 1
        assert new.stream == other.stream == f"block {new.block}" and new.candidates == other.candidates
    for each in found[len(of_trials) :]:
        assert (each.trial, each.deal, each.stream) == (None, each.block, f"block {each.block}")


def test_a_trial_needs_room_for_one_table_and_both_builds() -> None:
    assert [one.trial for one in drawn(field(tables=2, trials=((6, 3),)))] == [6, 6]
    assert [one.trial for one in drawn(field(tables=1, trials=((6, 3),)))] == [6, 6], "tables often end one by one"
    alone = Field(tuple(build for build in field().builds if build.number != 3), ((6, 3),), 4)
    assert {one.trial for one in drawn(alone)} == {None}
    assert [one.trial for one in drawn(field(tables=5, trials=((6, 3), (7, 4))))] == [6, 6, 7, 7, None]


def test_a_build_that_waits_for_its_trial_keeps_a_place_for_it() -> None:
    for places in (1, 2):
        builds = tuple(build for build in field(places=places).builds if build.number != 3)
        sits = Counter(entrant for one in drawn(Field(builds, ((6, 3),), 12)) for entrant in one.seats)
        assert sits[6] <= places - 1, "its parent, 3, has no place yet"
        without = Counter(entrant for one in drawn(Field(builds, (), 12)) for entrant in one.seats)
        assert without[6] == places


def test_two_trials_of_one_parent_need_a_place_of_it_each() -> None:
    found = drawn(field(places=1, tables=4, trials=((6, 3), (9, 3))))

    assert [one.trial for one in found].count(6) == 2 and 9 not in [one.trial for one in found]


def test_a_draw_counts_the_tables_before_it_and_its_own() -> None:
    """All builds are newcomers, so each draw serves those with the fewest games."""
    past = Past()
    found = drawn(field(places=9, tables=8), past, seats=4)

    assert past.games == Counter({one: 4 * count for one, count in Counter(e for f in found for e in f.seats).items()})
    assert sum(past.met.values()) == len(found) * 6
    so_far: Counter[int] = Counter()
    for each in found:
        (first,) = set(each.seats) - set(each.candidates)
        assert so_far[first] == min(so_far[entrant] for entrant in range(BUNDLED, len(OWNERS)))
        so_far.update(each.seats)


@given(st.lists(st.lists(st.integers(0, 7), unique=True, min_size=2, max_size=4), min_size=1, max_size=12), st.data())
def test_withdrawn_blocks_count_as_if_they_had_never_been_drawn(sat: list[list[int]], data: st.DataObject) -> None:
    tables = [table(number, tuple(seats)) for number, seats in enumerate(sat)]
    gone = data.draw(st.sets(st.integers(0, len(tables) - 1)))
    past, others = Past(), Past()
    past.add(tables)
    others.add(one for one in tables if one.block not in gone)
    named = tuple(sorted(gone)) * 2 + (len(tables),)  # again, and a block that is not rated

    found = drawn(msgspec.structs.replace(field(), withdrawn=named), past, first=len(tables))
    assert found == drawn(field(), others, first=len(tables)), "the next tables are the same too"
    assert (past.games, past.met, past.seats) == (others.games, others.met, others.seats)


def test_only_rated_tables_count() -> None:
    past = Past()
    past.add([table(0, (0, 3), Kind.QUALIFICATION), table(1, (0, 3), Kind.RETURN), table(2, (0, 3), Kind.CHALLENGE)])
    assert past == Past()
    past.add([table(3, (0, 3))])
    assert past.games == {0: 2, 3: 2} and list(past.met.values()) == [1]


# -------------------------------------------------------------------------------------------------------------- bundled
def test_bundled_bots_play_each_other_only_if_nobody_else_is_there() -> None:
    empty = Field(field().builds[:BUNDLED], (), 2)
    found = drawn(empty, seats=2)
    assert [one.rule for one in found] == [Rule.BUNDLED.value] * 2 and all(set(one.seats) < {0, 1, 2} for one in found)

    with_ann = Field(field().builds[: BUNDLED + 1], (), 9)
    assert [BUNDLED in one.seats for one in drawn(with_ann, seats=2)] == [True] * 2, "it has two places"
    two_of_ann = Field((field().builds[3], field().builds[6]), (), 2)
    assert drawn(two_of_ann, seats=2) == [], "neither bundled bots nor another owner"
    assert drawn(Field(())) == []
    assert drawn(Field(field().builds[:2]), seats=3) == []


def test_bundled_bots_with_the_fewest_games_play_first() -> None:
    empty = Field(field().builds[:BUNDLED], (), 30)
    past = Past()
    past.add([table(number, (0, 1)) for number in range(4)])

    assert all(2 in one.seats for one in drawn(empty, past, seats=2)[:4])
    assert max(past.games.values()) - min(past.games.values()) <= 2


def test_a_table_of_bundled_bots_seats_no_other() -> None:
    free = [Build(1, None, 3, 0.0), Build(2, None, 1, 0.0), Build(9, "ann", 0, 0.0), Build(3, None, 2, 0.0)]
    for at in range(20):
        one = draw_bundled_table(free, 2, Draws(SECRET, str(at)))
        assert one and set(one.builds) == {2, 3} and one.candidates == (1, 2, 3)
        assert one == draw_bundled_table(free[::-1], 2, Draws(SECRET, str(at)))
    assert draw_bundled_table(free, 4, Draws(SECRET, "x")) is None
    assert draw_table(free[:2], {}, 2, Draws(SECRET, "x")) is None


# -------------------------------------------------------------------------------------------------------------- matches
def of(one: DrawnTable, secret: bytes = SECRET, games: int | None = None) -> list[BlockMatch]:
    return block_matches("season", secret, "rules", NAMES, one, games)


def test_a_block_is_one_deal_played_from_every_rotation() -> None:
    found = of(table(7, (5, 3, 1)))

    assert [match.seats for match in found] == [(5, 3, 1), (3, 1, 5), (1, 5, 3)]
    assert len({match.seeds.table for match in found}) == 1, "the opening cards are shared"
    assert len({match.seeds.deck for match in found}) == 3, "nothing learnt in one game helps in another"
    assert [match.id for match in of(table(7, (5, 3, 1)), games=2)] == [match.id for match in found[:2]]


def test_the_two_tables_of_a_trial_share_the_opening_cards_and_nothing_else() -> None:
    new, parent = of(table(7, (6, 4, 5))), of(table(8, (3, 4, 5), deal=7))

    assert {match.seeds.table for match in (*new, *parent)} == {new[0].seeds.table}
    assert len({match.seeds.deck for match in (*new, *parent)}) == 6


@given(fields(), st.integers(2, 4), st.binary(min_size=16, max_size=32))
def test_ids_and_hidden_cards_are_unique_in_a_season(one: Field, seats: int, secret: bytes) -> None:
    found = [match for each in drawn(one, seats=seats, secret=secret) for match in of(each, secret)]

    assert len({match.id for match in found}) == len(found) == len({match.seeds.deck for match in found})
    again = [match for each in drawn(one, seats=seats, secret=secret) for match in of(each, secret)]
    assert again == found


def test_the_id_of_a_match_covers_everything_that_decides_it() -> None:
    one = table(7, (5, 3, 1))
    ids = {
        of(one)[0].id,
        of(one, b"another secret !")[0].id,
        of(table(8, (5, 3, 1)))[0].id,
        of(replace(one, seats=(5, 3, 2)))[0].id,
        block_matches("season", SECRET, "other rules", NAMES, one)[0].id,
        block_matches("another", SECRET, "rules", NAMES, one)[0].id,
        block_matches("season", SECRET, "rules", ["renamed"] * len(NAMES), one)[0].id,
    }
    assert len(ids) == 7


def test_tables_of_different_deals_have_different_opening_cards() -> None:
    tables = {match.seeds.table for number in range(50) for match in of(table(number, (0, 3)))}

    assert len(tables) == 50
