"""The plan: blocks, seeds and ids."""

import json
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import chain, combinations, islice
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.schedule import BadPlan, Block, PlanInput, PlannedMatch, design, plan, secret_of
from orchestrator.schedule.ids import canonical, seed_of
from tests.orchestrator.schedule.counting import names, seat_imbalance, spread, tournament


@pytest.fixture(autouse=True, scope="module")
def _quick_designs() -> Iterator[None]:
    """Shortens annealing: these tests hold for a design of any quality."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(design, "SWAPS", 500)
        yield


def matches(it: PlanInput) -> list[PlannedMatch]:
    return list(chain.from_iterable(block.matches for block in plan(it)))


def refusal(it: PlanInput) -> str:
    with pytest.raises(BadPlan) as caught:
        plan(it)
    return str(caught.value)


@st.composite
def tournaments(draw: st.DrawFn) -> PlanInput:
    """Any tournament that can be planned."""
    format_ = draw(st.sampled_from(["round_robin", "gauntlet", "compare"]))
    players = draw(st.integers(2 if format_ == "gauntlet" else 1, 4))
    bots = 2 if format_ == "compare" else draw(st.integers(players, 8))
    challengers: frozenset[str] = frozenset()
    if format_ == "gauntlet":
        bots += 1
        challengers = frozenset(f"b{at}" for at in range(draw(st.integers(1, bots - players + 1))))
    rotate = format_ == "compare" or draw(st.booleans())
    if format_ == "compare" or draw(st.booleans()):
        size: dict[str, int] = {"deals": draw(st.integers(1, 7))}
    else:
        size = {"budget": draw(st.integers(bots * players * players, 700))}
    duplicate = draw(st.sampled_from(["table", "full", "none"]))
    return tournament(
        bots, players, format=format_, challengers=challengers, rotate=rotate, duplicate=duplicate, **size
    )


# -------------------------------------------------------------------------------------------------- every plan alike


@settings(max_examples=40, deadline=None)
@given(tournaments())
def test_planning_twice_gives_the_same_matches_and_the_announced_number(it: PlanInput) -> None:
    first, second = plan(it), plan(it)
    blocks = list(first)

    assert blocks == list(second) == list(first)
    assert len(blocks) == first.blocks
    assert sum(len(block.matches) for block in blocks) == first.matches
    assert [block.ord for block in blocks] == list(range(first.blocks))
    assert [match.ord for block in blocks for match in block.matches] == list(range(first.matches))


@settings(max_examples=40, deadline=None)
@given(tournaments())
def test_ids_are_distinct_and_nobody_sits_twice_at_a_table(it: PlanInput) -> None:
    blocks = list(plan(it))
    ids = [match.id for block in blocks for match in block.matches]

    assert len(set(ids)) == len(ids)
    assert len({block.id for block in blocks}) == len(blocks)
    assert len({(block.round, block.table) for block in blocks}) == len(blocks)
    for block in blocks:
        for match in block.matches:
            assert len({entrant.name for entrant in match.seats}) == it.players


@settings(max_examples=40, deadline=None)
@given(tournaments())
def test_seats_are_balanced_exactly_with_rotation_and_within_one_without(it: PlanInput) -> None:
    planned = plan(it)
    number = {name: at for at, (name, _) in enumerate(it.bots)}
    seatings = [[number[entrant.bot] for entrant in match.seats] for match in matches(it)]
    counted = planned.survey()

    if it.rotate:
        assert seat_imbalance(seatings, it.players) == 0
    assert counted.imbalance == seat_imbalance(seatings, it.players)
    if not it.rotate:  # each pass is balanced within one, and full cycles of passes exactly
        assert counted.imbalance <= (1 if it.deals == 1 else it.players + 1)


@settings(max_examples=40, deadline=None)
@given(tournaments())
def test_the_survey_counts_what_is_played(it: PlanInput) -> None:
    counted = plan(it).survey()
    seats: Counter[tuple[str, int]] = Counter()
    met: Counter[frozenset[str]] = Counter()
    for match in matches(it):
        seats.update((entrant.bot, seat) for seat, entrant in enumerate(match.seats))
        met.update(frozenset((a.bot, b.bot)) for a, b in combinations(match.seats, 2) if a.bot != b.bot)
    pairs = [frozenset(pair) for pair in combinations([name for name, _ in it.bots], 2)]

    assert counted.seats == {name: tuple(seats[name, seat] for seat in range(it.players)) for name, _ in it.bots}
    if it.players > 1:
        assert counted.meetings == (min(met[pair] for pair in pairs), max(met.values()))
        assert counted.unmet == sum(not met[pair] for pair in pairs)


@settings(max_examples=40, deadline=None)
@given(tournaments())
def test_a_block_shares_the_seeds_that_duplicate_names_and_two_blocks_share_none(it: PlanInput) -> None:
    tables: list[bytes] = []
    decks: list[bytes] = []
    for block in plan(it):
        table = {match.seeds.table for match in block.matches}
        deck = {match.seeds.deck for match in block.matches}
        assert len(table) == (len(block.matches) if it.duplicate == "none" else 1)
        assert len(deck) == (1 if it.duplicate == "full" else len(block.matches))
        tables += table
        decks += deck

    everything = tables + decks
    assert len(set(everything)) == len(everything)
    assert {len(seed) for seed in everything} == {32}


@settings(max_examples=30, deadline=None)
@given(tournaments().filter(lambda it: it.budget is not None))
def test_a_budget_is_never_exceeded(it: PlanInput) -> None:
    assert it.budget is not None
    assert plan(it).matches <= it.budget


# --------------------------------------------------------------------------------------------------------------- ids


def test_the_id_of_a_match_is_the_hash_of_its_content() -> None:
    match = next(iter(plan(tournament()))).matches[1]
    seats = [[entrant.name, entrant.version] for entrant in match.seats]
    seeds = [match.seeds.table.hex(), match.seeds.deck.hex()]
    text = json.dumps([1, "spring", 0, 0, 1, seats, seeds, "relief/1"], separators=(",", ":"))

    assert match.id == blake2b(text.encode(), digest_size=16).hexdigest()


def test_ids_never_change() -> None:
    """If this fails, SPEC_VERSION must be raised: running tournaments would lose their matches."""
    block = next(iter(plan(tournament(4, 4))))

    assert (block.id, block.matches[0].id) == ("1e02c02f253252a88194e5d0cc2d17f5", "402191ac1e003ae465389a5c1c77d9d7")
    assert block.matches[0].seeds.table.hex()[:16] == "1f434619d9666ada"


@pytest.mark.parametrize(
    "change",
    [
        {"id": "autumn"},
        {"secret": secret_of(7)},
        {"rules": "relief/2"},
        {"bots": tuple((f"b{at}", f"w{at}") for at in range(5))},
        {"bots": tuple((f"c{at}", f"v{at}") for at in range(5))},
        {"duplicate": "full"},
        {"duplicate": "none"},
    ],
    ids="-".join,
)
def test_any_change_changes_every_id(change: dict[str, object]) -> None:
    before = tournament()
    after = replace(before, **change)  # type: ignore[arg-type]  # the fields are named above

    assert {match.id for match in matches(before)}.isdisjoint(match.id for match in matches(after))


def test_a_new_version_changes_only_the_matches_of_that_bot() -> None:
    before = tournament()
    after = replace(before, bots=(("b0", "new"), *before.bots[1:]))
    for old, new in zip(matches(before), matches(after), strict=True):
        assert (old.id == new.id) == ("b0" not in {entrant.name for entrant in old.seats})


def test_exchanged_seats_change_the_id() -> None:
    here, there = next(iter(plan(tournament(2)))).matches

    assert here.seats == there.seats[::-1]
    assert here.seeds.table == there.seeds.table
    assert here.id != there.id


def test_seeds_are_keyed_by_the_secret() -> None:
    text = canonical([3, 5, "deck/2"])

    assert seed_of(secret_of(1), 3, 5, "deck/2") == blake2b(text, key=secret_of(1), digest_size=32).digest()
    assert "Seeds(…)" in repr(next(iter(plan(tournament()))))


# ------------------------------------------------------------------------------------------------------- round robin


def test_every_pair_plays_both_seats() -> None:
    blocks = list(plan(tournament(3)))

    assert [sorted(names(block)) for block in blocks] == [
        sorted([f"{a} {b}", f"{b} {a}"]) for a, b in (names(block)[0].split() for block in blocks)
    ]
    assert sorted(" ".join(sorted(names(block)[0].split())) for block in blocks) == ["b0 b1", "b0 b2", "b1 b2"]


def test_deals_repeat_the_tables_with_new_cards() -> None:
    blocks = list(plan(tournament(4, 3, deals=2)))

    assert [{entrant.name for entrant in block.matches[0].seats} for block in blocks[:4]] == [
        {entrant.name for entrant in block.matches[0].seats} for block in blocks[4:]
    ]
    assert {block.round for block in blocks} == {0, 1}


@pytest.mark.parametrize(("players", "deals"), [(3, 2), (4, 6)])
def test_over_all_deals_every_bot_follows_every_other_equally_often(players: int, deals: int) -> None:
    after: Counter[tuple[str, str]] = Counter()
    for match in matches(tournament(players, players, deals=deals)):
        seats = [entrant.name for entrant in match.seats]
        after.update((seats[at], seats[(at + 1) % players]) for at in range(players))

    assert len(after) == players * (players - 1)
    assert len(set(after.values())) == 1


def test_in_solo_games_every_bot_plays_the_same_deals() -> None:
    blocks = list(plan(tournament(3, 1, deals=4, duplicate="full")))

    assert [names(block) for block in blocks] == [["b0", "b1", "b2"]] * 4
    assert all(len({match.seeds for match in block.matches}) == 1 for block in blocks)


def test_a_budget_selects_tables_and_spends_the_rest_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design, "SWAPS", 200_000)
    some = plan(tournament(16, 4, budget=80)).survey()
    more = plan(tournament(5, 3, budget=3 * 10 + 3 * 5)).survey()

    assert (some.blocks, some.matches, some.meetings, some.imbalance) == (20, 80, (4, 4), 0)
    assert (more.blocks, more.matches) == (15, 45)
    assert spread(more.games.values()) == 0


def test_without_rotations_a_budget_covers_more_tables() -> None:
    planned = plan(tournament(16, 4, budget=80, rotate=False))

    assert planned.blocks == planned.matches == 80
    assert planned.survey().imbalance <= 1


# ---------------------------------------------------------------------------------------------------------- gauntlet


@pytest.mark.parametrize("players", [2, 3, 4])
def test_every_table_of_a_gauntlet_has_one_challenger(players: int) -> None:
    it = tournament(7, players, format="gauntlet", challengers=frozenset({"b2", "b5"}))
    sitting = [frozenset(entrant.name for entrant in match.seats) for match in matches(it)]

    assert all(len(table & it.challengers) == 1 for table in sitting)
    assert len(set(sitting)) == 2 * comb(5, players - 1)
    assert set(Counter(sitting).values()) == {players}


def test_challengers_under_a_budget_still_meet_the_whole_field() -> None:
    it = tournament(10, 4, format="gauntlet", challengers=frozenset({"b0"}), budget=20)
    counted = plan(it).survey()

    assert counted.matches == 20
    assert all(counted.games.values())


# ----------------------------------------------------------------------------------------------------------- compare


def compared(players: int, deals: int = 1) -> list[Block]:
    return list(plan(tournament(2, players, format="compare", deals=deals)))


def test_solo_bots_are_compared_on_the_same_deal() -> None:
    assert names(compared(1)[0]) == ["b0", "b1"]


def test_two_are_compared_in_both_seats() -> None:
    assert names(compared(2)[0]) == ["b0 b1", "b1 b0"]


def test_three_seats_have_one_and_two_copies_equally_often() -> None:
    assert names(compared(3)[0]) == [
        "b0 b1 b1#2", "b1 b1#2 b0", "b1#2 b0 b1",
        "b1 b0 b0#2", "b0 b0#2 b1", "b0#2 b1 b0",
    ]  # fmt: skip


def test_four_seats_have_two_copies_each_and_their_complement() -> None:
    assert [names(block) for block in compared(4, deals=4)] == [
        ["b0 b0#2 b1 b1#2", "b1 b1#2 b0 b0#2"],
        ["b0 b1 b0#2 b1#2", "b1 b0 b1#2 b0#2"],
        ["b0 b1 b1#2 b0#2", "b1 b0 b0#2 b1#2"],
        ["b0 b0#2 b1 b1#2", "b1 b1#2 b0 b0#2"],
    ]


def test_a_copy_names_its_bot() -> None:
    copy = plan(tournament(2, 4, format="compare")).entrants[1]

    assert (copy.name, copy.bot, copy.version, copy.key) == ("b0#2", "b0", "v0", "b0.copy2")


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"bots": 3, "players": 4}, "bots: 3 is not possible; expected at least 4, one for each seat"),
        ({"bots": 0}, "bots: 0 is not possible; expected at least one"),
        ({"players": 0}, "players: 0 is not possible"),
        ({"deals": 0}, "deals: 0 is not possible; expected at least 1"),
        ({"deals": 1, "budget": 1}, "expected either deals or a budget"),
        ({"budget": 7}, "budget: 7 is not possible; expected at least 8, so that all bots can be compared"),
        ({"budget": 1}, "budget: 1 is not possible; expected at least 8"),
        ({"players": 1, "budget": 4}, "expected at least 5: every bot plays every deal"),
        ({"bots": 60, "players": 4}, "487,635 tables"),
        ({"deals": 1_000_000}, "expected fewer: these are 20,000,000 matches, and at most 10,000,000 are planned"),
        ({"secret": b"short"}, "secret: '5 bytes' is not possible; expected 16 to 64 bytes"),
        ({"format": "swiss"}, "expected one of round_robin, gauntlet, compare"),
        ({"duplicate": "half"}, "expected one of table, full, none"),
        ({"format": "gauntlet"}, "expected at least one bot with challenger = true"),
        ({"format": "gauntlet", "challengers": frozenset({"zed"})}, "expected the name of a bot"),
        ({"challengers": frozenset({"b0"})}, "expected none outside a gauntlet"),
        (
            {"bots": 3, "players": 4, "format": "gauntlet", "challengers": frozenset({"b0"})},
            "bots: 2 is not possible; expected at least 3 without challenger = true",
        ),
        ({"format": "gauntlet", "challengers": frozenset({"b0"}), "budget": 6}, "expected at least 8, so that each"),
        (
            {"format": "gauntlet", "challengers": frozenset({"b0"}), "players": 1},
            "expected 'round_robin' for solo games",
        ),
        ({"format": "compare"}, "bots: 5 is not possible; expected exactly 2 for compare"),
        ({"format": "compare", "bots": 2, "budget": 9}, "expected deals for compare"),
        ({"format": "compare", "bots": 2, "players": 5}, "expected 1 to 4 for compare"),
        ({"format": "compare", "bots": 2, "rotate": False}, "expected every rotation for compare"),
    ],
)
def test_an_impossible_plan_names_its_problem(changes: dict[str, object], expected: str) -> None:
    bots, players = changes.pop("bots", 5), changes.pop("players", 2)
    assert isinstance(bots, int)
    assert isinstance(players, int)

    assert expected in refusal(tournament(bots, players, **changes))


def test_a_name_occurs_once_and_is_not_that_of_a_copy() -> None:
    twice = replace(tournament(2), bots=(("a", "1"), ("a", "2")))
    copy = replace(tournament(2, 3, format="compare"), bots=(("a", "1"), ("a.copy2", "2")))

    assert "'a' is not possible; expected every name only once" in refusal(twice)
    assert "'a.copy2' is not possible; expected another name" in refusal(copy)


# ------------------------------------------------------------------------------------------------------------- scale


def test_a_hundred_thousand_matches_are_never_in_memory_together() -> None:
    planned = plan(tournament(6, 4, deals=1_700))
    assert planned.matches == 102_000

    tracemalloc.start()
    try:
        for _ in islice(planned, 50):
            pass
        early = tracemalloc.get_traced_memory()[1]
        for _ in islice(planned, 1_500):
            pass
        late = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert late < early + 1_000_000  # 6,000 matches in memory would take several times as much
