"""What a tick decides: who qualifies, who is drawn, which matches begin, who is parked. The results come from the test."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from orchestrator.ladder.extension import Field, Past, extend
from orchestrator.ladder.model import BuildState, DrawnTable, Kind
from orchestrator.ratings.verdict import Verdict
from tests.orchestrator.ladder.small_ladder import draw, make
from tests.orchestrator.ladder.ticking import BUNDLED, Ticking, ticking

#: Longer than a failed build waits, and longer than a build may be gone before its matches begin without it.
_PAUSE_MS = 15_000
_GONE_MS = 30_000


@pytest.fixture
def cup(tmp_path: Path) -> Iterator[Ticking]:
    made = ticking(tmp_path)
    yield made
    made.book.close()


# ------------------------------------------------------------------------------------------------------- qualification
@pytest.mark.parametrize("games", [1, 4, 5])
def test_a_connected_build_qualifies_against_bundled_bots_and_becomes_active(tmp_path: Path, games: int) -> None:
    cup = ticking(tmp_path, qualification_games=games)
    cup.enter("quick/v1", "ann", BuildState.ENTERED, games=0)
    cup.tick()
    assert cup.state("quick/v1") == "entered" and not cup.tables(Kind.QUALIFICATION), "it is not connected"

    cup.connect("quick/v1")
    cup.tick()
    assert cup.state("quick/v1") == "qualifying"
    tables = cup.tables(Kind.QUALIFICATION)
    assert all(set(cup.names(table.seats)) - {"quick/v1"} < BUNDLED for table in tables)
    while cup.state("quick/v1") == "qualifying":
        assert cup.play(), "its matches may begin"
        cup.tick()
    assert cup.state("quick/v1") == "active" and cup.recorded(Kind.QUALIFICATION) == games
    over = [table for table in cup.tables(Kind.RATED, is_open=False) if "quick/v1" in cup.names(table.seats)]
    assert not over and "quick/v1 has qualified." in cup.events(), "its games were not rated"


@pytest.mark.parametrize("bad", [0, 1], ids=["the first table", "the second table"])
def test_one_fault_in_any_game_fails_the_qualification(cup: Ticking, bad: int) -> None:
    cup.enter("quick/v1", "ann", BuildState.ENTERED)
    cup.tick()
    tables = cup.tables(Kind.QUALIFICATION)
    assert len(tables) == 2
    last = cup.book.block(cup.season.tournament, tables[bad].block)[-1]
    cup.play({"quick/v1": "TIMEOUT"}, of=[last])
    cup.play()
    cup.tick()
    assert cup.state("quick/v1") == "failed"
    assert f"(TIMEOUT, match {last.id})" in cup.build("quick/v1").reason
    assert [words for words in cup.events() if "failed its qualification" in words]


def test_a_failed_build_tries_again_only_after_a_new_connection(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", BuildState.ENTERED)
    cup.tick()
    cup.play({"quick/v1": "NO_SHOW"})
    cup.tick()
    assert cup.state("quick/v1") == "failed"

    cup.tick(10 * _PAUSE_MS)
    assert cup.state("quick/v1") == "failed", "it is the same connection"
    cup.connect("quick/v1")
    cup.tick()
    assert cup.state("quick/v1") == "qualifying"
    cup.play()
    cup.tick()
    assert cup.state("quick/v1") == "active"


def test_a_build_that_connects_again_at_once_waits_a_little_before_its_next_try(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", BuildState.ENTERED)
    cup.tick()
    cup.play({"quick/v1": "NO_SHOW"})
    cup.tick()
    cup.clock.ms += 1
    cup.connect("quick/v1")
    cup.tick(_PAUSE_MS - 2)
    assert cup.state("quick/v1") == "failed"
    cup.tick(1)
    assert cup.state("quick/v1") == "qualifying"


# --------------------------------------------------------------------------------------------------------- rated tables
def test_a_newcomer_gets_a_rated_table_at_once(cup: Ticking) -> None:
    for owner in ("ann", "bob", "cleo"):
        cup.enter(f"{owner}s/v1", owner)
    for _ in range(12):
        cup.tick()
        cup.play()
    cup.enter("new/v1", "dan", BuildState.ENTERED)
    cup.tick()
    cup.play()
    cup.tick()
    own = [table for table in cup.tables(Kind.RATED, is_open=True) if "new/v1" in cup.names(table.seats)]
    assert own and {table.rule for table in own} == {"newcomer"}


def test_two_builds_of_one_owner_never_meet_and_the_window_is_never_exceeded(tmp_path: Path) -> None:
    cup = ticking(tmp_path, players=3, window=9)
    for name, owner in (("a/1", "ann"), ("b/1", "ann"), ("c/1", "bob"), ("d/1", "cleo")):
        cup.enter(name, owner, games=12)
    for _ in range(10):
        cup.tick()
        assert len(cup.tables(is_open=True)) == 3, "as many as the window has room for"
        cup.play()
    seen = [set(cup.names(table.seats)) for table in cup.tables(Kind.RATED)]
    assert len(seen) == 30 and not any({"a/1", "b/1"} <= table for table in seen)
    assert all(len(table) == 3 for table in seen)


@pytest.mark.parametrize(("games", "tables"), [(1, 1), (2, 1), (3, 2), (100, 4)])
def test_a_build_sits_at_no_more_tables_than_it_has_capacity_for(tmp_path: Path, games: int, tables: int) -> None:
    cup = ticking(tmp_path, window=100)
    cup.enter("quick/v1", "ann", games=games)
    cup.tick()
    sitting = Counter(name for table in cup.tables(is_open=True) for name in cup.names(table.seats))
    assert sitting["quick/v1"] == tables


def test_nothing_is_drawn_and_nothing_begins_while_the_service_does_not_answer(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann")
    cup.arena.is_away = True
    cup.tick()
    assert not cup.tables()
    cup.arena.is_away = False
    cup.tick()
    assert cup.tables()


def test_a_ladder_that_cannot_be_read_stops_no_other_one(cup: Ticking) -> None:
    broken = make(cup.book, cup.clock.ms, "broken")
    assert [season.ladder for season in cup.book.live_seasons()] == ["broken", "cup"]
    cup.book.close()
    with sqlite3.connect(cup.folder / "book.sqlite") as connection:
        connection.execute("UPDATE tournaments SET spec = '{}' WHERE id = ?", (broken.tournament,))
    with pytest.raises(msgspec.ValidationError):
        cup.tick()
    assert cup.tables()


# --------------------------------------------------------------------------------------------------------------- matches
def test_matches_begin_in_their_order_and_only_as_many_as_a_bot_plays_at_once(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", games=3)
    cup.tick()
    everything = [match.id for match in cup.open_matches()]
    assert len(everything) == 4
    assert [match.id for match in cup.released()] == everything[:3]
    cup.tick()
    assert [match.id for match in cup.released()] == everything[:3], "three of its games are going on"
    cup.play(of=cup.released()[1:2])
    cup.tick()
    assert [match.id for match in cup.released()] == [everything[0], *everything[2:]]


def test_a_match_that_has_waited_long_comes_before_later_ones(cup: Ticking) -> None:
    """One bot plays one game at a time and its opponent three: the first match needs both."""
    cup.enter("slow/v1", "ann", games=1)
    cup.enter("busy/v1", "bob", games=0)
    slow, busy = (cup.names(range(5)).index(name) for name in ("slow/v1", "busy/v1"))
    draw(cup.book, (slow, 0))
    draw(cup.book, (slow, busy))
    draw(cup.book, (slow, 1))
    cup.tick()
    first, second = cup.open_matches()[:2]
    assert [match.id for match in cup.released()] == [first.id]
    cup.play()
    cup.tick(21_000)
    assert [match.id for match in cup.released()] == [second.id], "nobody has waited longer"
    cup.play()
    cup.tick()
    assert not cup.released(), "the place of slow/v1 is kept for the match that waits for busy/v1"
    cup.connect("busy/v1")
    cup.tick()
    assert [set(match.seats) for match in cup.released() if slow in match.seats] == [{slow, busy}]


def test_a_block_that_has_begun_goes_on_without_a_build_that_vanishes_and_three_forfeits_park_it(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", games=3)
    cup.tick()
    cup.leave("quick/v1")
    held = [match.id for match in cup.open_matches() if match.is_held]
    assert held
    cup.tick(_GONE_MS - 1)
    assert [match.id for match in cup.open_matches() if match.is_held] == held
    cup.tick(1)
    assert len(cup.released()) == len(cup.open_matches()) > 0, "they begin without it"

    tables = len(cup.tables())
    cup.play({"quick/v1": "NO_SHOW"})
    cup.tick()
    parked = cup.build("quick/v1")
    assert parked.state is BuildState.PARKED and parked.parkings == 1 and "3 forfeits in a row" in parked.reason
    assert not [table for table in cup.tables()[tables:] if "quick/v1" in cup.names(table.seats)]
    assert [words for words in cup.events() if "is parked after 3 forfeits" in words]


def test_a_block_that_has_not_begun_is_withdrawn_if_a_build_of_it_vanishes(cup: Ticking) -> None:
    """Nobody loses by a build that was stopped between two blocks. The two tables of a trial stay or go together."""
    cup.enter("quick/v1", "ann", games=1)
    cup.enter("other/v1", "bob", games=0)
    quick = cup.names(range(5)).index("quick/v1")
    draw(cup.book, (quick, 0))
    draw(cup.book, (quick, 1))
    first, second = (table.block for table in cup.tables())
    cup.tick()
    assert {match.block for match in cup.released()} == {first}
    cup.leave("quick/v1")
    cup.tick()
    cup.tick(_GONE_MS)
    assert {match.block for match in cup.open_matches()} == {first} and len(cup.released()) == 2
    cup.play({"quick/v1": "NO_SHOW"})
    cup.tick()
    build = cup.build("quick/v1")
    assert (build.state, build.strikes) == (BuildState.ACTIVE, 2), "the other block is no forfeit"
    assert {table.block for table in cup.tables() if table.is_over} >= {first, second}
    assert cup.season.blocks == 1, "a block without games is not counted"


def test_withdrawn_blocks_do_not_count_and_the_schedule_is_still_drawn_again_from_its_records(cup: Ticking) -> None:
    """A build that comes and goes keeps its turn as a newcomer."""
    cup.enter("quick/v1", "ann", games=0)
    (quick,) = [number for number, name in enumerate(cup.names(range(4))) if name == "quick/v1"]
    for comings in range(4):
        cup.connect("quick/v1")
        cup.tick()
        assert any(quick in table.seats for table in cup.tables(is_open=True))
        if comings == 1:
            cup.open(cup.book)  # another process goes on
        if comings < 3:
            for match in cup.book.hand_out(100, 60_000):  # a worker finds that it has left
                cup.book.give_back(match, is_held=True)
            cup.leave("quick/v1")
            cup.tick(_GONE_MS + 1)
            cup.tick()

    of_draw: dict[int, list[DrawnTable]] = {}
    for table in cup.tables(Kind.RATED):
        of_draw.setdefault(table.draw, []).append(replace(table, is_over=False, drawn_ms=0))
    id_, owners = cup.season.tournament, [None, None, None, "ann"]
    records = [Field.from_json(data) for _, data in cup.book.draws(id_)]
    past = Past()
    for number, record in enumerate(records):
        first = of_draw[number][0].block
        assert extend(record, owners, past, 2, cup.season.secret, first, number) == of_draw[number]
    seated = [table for table in cup.tables(Kind.RATED) if quick in table.seats]
    still = [table for table in seated if table in cup.tables(is_open=True)]
    assert past.games[quick] == 2 * len(still) > 0 and len(seated) >= 2 * len(still)
    assert {block for record in records for block in record.withdrawn} == cup.book.withdrawn(id_)


def test_matches_that_a_worker_gives_back_are_withdrawn_with_their_block_or_begin_without_the_build(
    cup: Ticking,
) -> None:
    """A worker gives a match back, held, if a bot of it has left since the match was handed out."""
    cup.enter("quick/v1", "ann", games=4)
    cup.enter("other/v1", "bob", games=0)
    quick = cup.names(range(5)).index("quick/v1")
    draw(cup.book, (quick, 0))
    draw(cup.book, (quick, 1))
    first, second = (table.block for table in cup.tables())
    cup.tick()
    out = cup.book.hand_out(4, 60_000)
    assert [match.block for match in out] == [first, first, second, second]
    cup.leave("quick/v1")
    begun, *given_back = out
    for match in given_back:
        cup.book.give_back(match, is_held=True)
    cup.tick()
    assert [match.id for match in cup.released()] == [begun.id] and cup.book.hand_out(4, 60_000) == []
    cup.tick(_GONE_MS)
    assert {match.block for match in cup.open_matches()} == {first}, "the other block has not begun"
    assert [match.deliveries for match in cup.book.hand_out(4, 60_000)] == [2], (
        "the rest of the block is played without it"
    )


def test_two_forfeits_do_not_park_a_build(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", games=1)
    cup.tick()
    for fault in ("TIMEOUT", "TIMEOUT"):
        cup.play({"quick/v1": fault})
        cup.tick()
    assert cup.build("quick/v1").strikes == 2 and cup.state("quick/v1") == "active"
    cup.play()
    cup.tick()
    cup.play({"quick/v1": "TIMEOUT"})
    cup.tick()
    assert cup.state("quick/v1") == "active", "they were not in a row"


def test_a_parked_build_returns_after_one_clean_game(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", BuildState.PARKED, games=0)
    cup.tick()
    assert cup.state("quick/v1") == "parked"
    for faults, after in (({"quick/v1": "TIMEOUT"}, "parked"), ({}, "active")):
        cup.clock.ms += _PAUSE_MS
        cup.connect("quick/v1")
        cup.tick()
        assert cup.state("quick/v1") == "returning"
        (match,) = [match for match in cup.released() if "quick/v1" in cup.names(match.seats)]
        assert set(cup.names(match.seats)) - {"quick/v1"} < BUNDLED
        cup.play(faults, of=[match])
        cup.tick()
        assert cup.state("quick/v1") == after
    assert cup.recorded(Kind.RETURN) == 2 and "quick/v1 is back." in cup.events()
    assert cup.build("quick/v1").strikes == 0


def test_a_retired_build_is_not_drawn_and_its_open_block_goes_on(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", games=1)
    cup.tick()
    assert any(match.is_held for match in cup.open_matches())
    cup.book.retire(cup.build("quick/v1"), "old")
    cup.leave("quick/v1")
    tables = len(cup.tables())
    cup.tick()
    assert not any(match.is_held for match in cup.open_matches()), "at once, without the time of grace"
    cup.play({"quick/v1": "NO_SHOW"})
    cup.tick()
    assert cup.state("quick/v1") == "retired"
    assert not [table for table in cup.tables()[tables:] if "quick/v1" in cup.names(table.seats)]


# --------------------------------------------------------------------------------------------------------- bundled bots
def test_bundled_bots_alone_play_one_block_at_a_time_and_after_a_hundred_one_a_minute(cup: Ticking) -> None:
    for blocks in (1, 2, 3):
        cup.tick()
        (table,) = cup.tables(is_open=True)
        assert len(cup.tables()) == blocks and table.rule == "bundled" and set(cup.names(table.seats)) < BUNDLED
        cup.play()
    assert cup.book.settle(cup.season, [], 100, 200, [])
    cup.tick()
    assert not cup.tables(is_open=True)
    cup.tick(60_000 - 1)
    assert not cup.tables(is_open=True)
    cup.tick(1)
    assert len(cup.tables(is_open=True)) == 1


def test_bundled_bots_do_not_play_alone_while_somebody_is_connected(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann", games=1)
    for _ in range(3):
        cup.tick()
        assert all("quick/v1" in cup.names(table.seats) for table in cup.tables(is_open=True))
        cup.play()


# ---------------------------------------------------------------------------------------------------------------- trials
def test_a_new_build_and_its_parent_play_in_pairs_that_are_settled_together(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann")
    cup.enter("quick/v2", "ann", parent="v1")
    cup.enter("other/v1", "bob")
    cup.tick()
    new, old = [table for table in cup.tables() if table.rule == "trial"]
    names = [cup.names(table.seats) for table in (new, old)]
    assert names[1] == ["quick/v1" if name == "quick/v2" else name for name in names[0]]
    assert new.deal == old.deal == new.block and new.trial == old.trial

    cup.clock.ms += _GONE_MS
    first, second = (cup.book.block(cup.season.tournament, table.block) for table in (new, old))
    cup.play(of=first)
    cup.tick()
    assert {new.block, old.block} <= {table.block for table in cup.tables(is_open=True)}, (
        "names are told when both are over"
    )
    cup.play(of=second)
    cup.tick()
    assert not {new.block, old.block} & {table.block for table in cup.tables(is_open=True)}


def test_a_trial_is_settled_only_when_the_seeds_of_both_tables_are_archived(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann")
    cup.enter("quick/v2", "ann", parent="v1")
    cup.tick()
    new, old = [table for table in cup.tables() if table.rule == "trial"]
    first, second = (cup.book.block(cup.season.tournament, table.block) for table in (new, old))
    cup.play(of=first)
    cup.play(of=second, has_seeds=False)
    cup.arena.is_away = True
    cup.tick()
    assert {new.block, old.block} <= {table.block for table in cup.tables(is_open=True)}
    cup.arena.is_away = False
    cup.tick()
    assert cup.arena.revealed == [match.id for match in second]
    assert not {new.block, old.block} & {table.block for table in cup.tables(is_open=True)}


def test_a_build_whose_verdict_is_known_has_no_more_trials(cup: Ticking) -> None:
    cup.enter("quick/v1", "ann")
    new = cup.enter("quick/v2", "ann", parent="v1")
    assert cup.book.set_verdict(new, Verdict.BETTER, "It is better.")
    cup.tick()
    assert cup.tables() and not [table for table in cup.tables() if table.trial is not None]
