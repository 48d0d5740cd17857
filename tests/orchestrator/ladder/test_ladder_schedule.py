"""The drawn tables, matches, documents and events of ladders in the book, on SQLite and on PostgreSQL."""

from dataclasses import replace

import pytest

from orchestrator.book import Book, Tournament
from orchestrator.book.ladder_reading import DAY_MS, OpenMatch, UnknownLadder
from orchestrator.book.tables import DROPPED, PLANNED, QUEUED, RUNNING
from orchestrator.errors import QuotaReached
from orchestrator.ladder.conduct import BuildChange, after_block, changed
from orchestrator.ladder.model import BuildState, Challenge, DrawnTable, Event, Kind, RatingPoint
from orchestrator.ladder.spec import Quotas
from orchestrator.ladder.states import SeasonState
from orchestrator.spec import Spec
from tests.harness.books import Clock
from tests.orchestrator.ladder.small_ladder import (
    a_build,
    draw,
    enter,
    make,
    planned,
    play,
    result,
    tables_for,
)

_WINDOW, _RESEND = 100, 60_000


# -------------------------------------------------------------------------------------------------------------- drawing
def test_drawn_tables_and_their_matches_are_read_as_they_were_drawn(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    tables = [
        DrawnTable(0, Kind.RATED, "least played", (0, 1), (1, 2), "block 0", 0, 0),
        DrawnTable(1, Kind.RATED, "trial", (2, 1), (1,), "block 1", 0, 1, trial=2),
        DrawnTable(2, Kind.CHALLENGE, "", (1, 0), (), "", -1, 2, challenge="c" * 32),
    ]
    matches = planned(book, season, tables)
    clock.ms += 9

    assert book.draw(season, b'{"builds":[]}', tables, matches)
    assert book.tables(season.tournament) == [replace(table, drawn_ms=clock.ms) for table in tables]
    assert [match for match, _ in book.matches(season.tournament)] == matches and len(matches) == 6
    held = [OpenMatch(match.id, match.block, match.seats, is_held=True) for match in matches]
    assert book.open_matches(season.tournament) == held
    now = book.season("cup")
    assert (now.next_block, now.next_order, now.next_draw, now.drawn_ms) == (3, 6, 1, clock.ms)
    assert book.draws(season.tournament) == [(0, b'{"builds":[]}')]
    assert book.tournament(season.tournament).planned == 6
    assert (now.blocks, now.games) == (0, 0)


def test_unrated_tables_belong_to_no_draw(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    clock.ms += 9
    draw(book, (0, 1), kind=Kind.QUALIFICATION)
    now = book.season("cup")

    assert (now.next_block, now.next_order, now.next_draw, now.drawn_ms) == (1, 2, 0, 0)
    assert book.draws(season.tournament) == []


def test_a_draw_without_tables_changes_nothing(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)

    assert book.draw(season, b"{}", [], []) and book.season("cup") == season and book.draws(season.tournament) == []


def test_a_draw_is_refused_if_another_process_has_drawn(book: Book, clock: Clock) -> None:
    old = make(book, clock.ms)
    mine, theirs = tables_for(old, (0, 1)), tables_for(old, (1, 2), (2, 0))
    assert book.draw(old, b"theirs", theirs, planned(book, old, theirs))

    assert not book.draw(old, b"mine", mine, planned(book, old, mine))
    assert [table.seats for table in book.tables(old.tournament)] == [(1, 2), (2, 0)]
    assert len(book.open_matches(old.tournament)) == 4 and book.draws(old.tournament) == [(0, b"theirs")]
    again = book.season("cup")
    mine = tables_for(again, (0, 1))
    assert book.draw(again, b"mine", mine, planned(book, again, mine))
    assert [number for number, _ in book.draws(old.tournament)] == [0, 1]


def test_nothing_is_drawn_in_a_season_that_has_moved_on(book: Book, clock: Clock) -> None:
    old = make(book, clock.ms)
    tables = tables_for(old, (0, 1))
    book.move_season(old, SeasonState.CLOSING)

    assert not book.draw(old, b"{}", tables, planned(book, old, tables)) and book.tables(old.tournament) == []


def test_tables_are_found_by_state_kind_block_trial_and_challenge(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    rated = draw(book, (0, 1), (1, 2))
    unrated = draw(book, (0, 2), kind=Kind.CHALLENGE)
    of_trial = [replace(table, trial=11) for table in tables_for(book.season("cup"), (2, 1))]
    season = book.season("cup")
    book.draw(season, b"{}", of_trial, planned(book, season, of_trial))
    book.settle(season, [rated[0], of_trial[0]], 2, 4, [])

    def blocks(**which: object) -> list[int]:
        return [table.block for table in book.tables(id_, **which)]  # type: ignore[arg-type]

    assert blocks() == [0, 1, 2, 3] and blocks(since_block=2) == [2, 3]
    assert blocks(is_open=True) == [1, 2] and blocks(is_open=False) == [0, 3]
    assert blocks(kind=Kind.CHALLENGE) == [2] == [table.block for table in unrated]
    assert blocks(kind=Kind.RATED, is_open=True) == [1]
    assert [table.block for table in book.trial_tables(id_, 11)] == [3] and book.trial_tables(id_, 1) == []
    assert set(book.tables_of(id_, [1, 3, 9])) == {1, 3} and book.tables_of(id_, []) == {}
    assert sorted(book.over_blocks(id_)) == [0, 3]


# ----------------------------------------------------------------------------------------------------------------- held
def test_a_held_match_is_handed_out_only_when_it_is_released(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    draw(book, (0, 1), (1, 2))
    matches = book.open_matches(id_)

    assert book.hand_out(_WINDOW, _RESEND) == []
    book.release([matches[2].id])
    assert [match.id for match in book.hand_out(_WINDOW, _RESEND)] == [matches[2].id]
    assert [match.is_held for match in book.open_matches(id_)] == [True, True, False, True]
    book.release([match.id for match in matches])
    assert [match.id for match in book.hand_out(_WINDOW, _RESEND)] == [matches[at].id for at in (0, 1, 3)]


def test_held_matches_take_no_share_from_other_tournaments(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    draw(book, (0, 1), (1, 2), (2, 0))
    own = [match for match, _ in book.matches(season.tournament)]
    spec = Spec(game="relief", players=2, entrants=("a", "b"))
    others = [replace(match, id=f"other{at}", tournament="other") for at, match in enumerate(own)]
    book.plan(Tournament("other", "other", "", spec, RUNNING, 0, 1), others)

    assert [match.tournament for match in book.hand_out(4, _RESEND)] == ["other"] * 4
    book.release([match.id for match in own[:4]])
    out = [match.tournament for match in book.hand_out(7, _RESEND)]
    assert out == [season.tournament] * 3, "it has fewer matches out"


def test_a_match_that_was_given_back_or_void_is_not_held_again(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    draw(book, (0, 1))
    book.release([match.id for match in book.open_matches(id_)])
    first, second = book.hand_out(_WINDOW, _RESEND)
    book.give_back(first)
    assert book.void(second)

    assert {match.id for match in book.hand_out(_WINDOW, _RESEND)} == {first.id, second.id}


# ------------------------------------------------------------------------------------------------------------- settling
def test_tables_are_settled_once_and_counted_once(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    tables = draw(book, (0, 1), (1, 2))
    play(book, season.tournament, [0, 1])

    assert book.settle(season, tables, 2, 4, [])
    assert not book.settle(season, tables, 2, 4, []) and not book.settle(season, tables[:1], 1, 2, [])
    now = book.season("cup")
    assert (now.blocks, now.games) == (2, 4) and book.tables(season.tournament, is_open=True) == []
    assert [table.is_over for table in book.tables(season.tournament)] == [True, True]


def test_one_table_that_another_process_has_settled_refuses_all(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    tables = draw(book, (0, 1), (1, 2))
    assert book.settle(season, tables[:1], 1, 2, [])

    assert not book.settle(season, tables, 2, 4, [])
    assert [table.block for table in book.tables(season.tournament, is_open=True)] == [1]
    assert book.season("cup").blocks == 1


def test_settling_writes_what_follows_for_builds(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    build = enter(book, a_build(clock.ms), BuildState.QUALIFYING)
    tables = draw(book, (0, 3), kind=Kind.QUALIFICATION)
    change = after_block(build, Kind.QUALIFICATION, ("",), 55, is_last=True, drawn_ms=clock.ms)
    assert change and book.settle(season, tables, 0, 0, [change])

    now = book.build("cup", "quick/v1")
    assert (now.state, now.since_ms) == (BuildState.ACTIVE, 55)
    assert book.events("cup", limit=1)[0].words == "quick/v1 has qualified."
    assert (book.season("cup").blocks, book.season("cup").games) == (0, 0), "they were not rated"


def test_a_build_that_another_process_has_changed_is_read_again_before_it_is_changed(book: Book, clock: Clock) -> None:
    """Two processes settle one table each: the forfeits of both count."""
    season = make(book, clock.ms)
    read_by_both = enter(book, a_build(clock.ms))
    one, other = draw(book, (0, 3), (1, 3))
    change = after_block(read_by_both, Kind.RATED, ("", "TIMEOUT"), 55, is_last=True, drawn_ms=clock.ms)
    assert change and book.settle(season, [one], 1, 2, [change])

    assert not book.settle(season, [other], 1, 2, [change]), "it was computed from an old state"
    assert book.build("cup", "quick/v1").strikes == 1 and book.season("cup").blocks == 1
    change = after_block(
        book.build("cup", "quick/v1"), Kind.RATED, ("TIMEOUT", "TIMEOUT"), 56, is_last=True, drawn_ms=clock.ms
    )
    assert change and book.settle(season, [other], 1, 2, [change])
    assert book.build("cup", "quick/v1").state is BuildState.PARKED


def test_several_changes_of_a_build_are_written_in_their_order(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    build = enter(book, a_build(clock.ms))
    tables = draw(book, (0, 3), (1, 3))
    first = after_block(build, Kind.RATED, ("", "TIMEOUT"), 55, is_last=True, drawn_ms=clock.ms)
    assert first
    second = after_block(first.build, Kind.RATED, ("TIMEOUT", "TIMEOUT"), 56, is_last=True, drawn_ms=clock.ms)
    assert second and book.settle(season, tables, 2, 4, [first, second])

    assert book.build("cup", "quick/v1").state is BuildState.PARKED


def test_a_build_that_was_retired_meanwhile_stays_retired_and_its_table_is_settled(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    build = enter(book, a_build(clock.ms), BuildState.QUALIFYING)
    tables = draw(book, (0, 3), kind=Kind.QUALIFICATION)
    change = after_block(build, Kind.QUALIFICATION, ("",), 55, is_last=True, drawn_ms=clock.ms)
    book.retire(build, "")
    assert change and book.settle(season, tables, 0, 0, [change])

    assert book.build("cup", "quick/v1").state is BuildState.RETIRED
    assert book.events("cup", limit=1)[0].kind == "retired", "what did not happen is not told"


def test_a_change_from_an_old_reading_is_not_written(book: Book, clock: Clock) -> None:
    make(book, clock.ms)
    old, fresh = enter(book, a_build(clock.ms)), enter(book, a_build(clock.ms, "slow/v1"))
    parked = BuildChange(changed(old, BuildState.PARKED, 55), Event(55, "parked", old.name, "ann", "parked"))
    book.change_builds("cup", [parked])

    stale = BuildChange(replace(old, strikes=1), Event(56, "returned", old.name, "ann", "never"))
    book.change_builds("cup", [stale, BuildChange(replace(fresh, strikes=1))])
    assert (book.build("cup", "quick/v1").state, book.build("cup", "quick/v1").strikes) == (BuildState.PARKED, 0)
    assert book.build("cup", "slow/v1").strikes == 1, "the others are"
    assert next(event.words for event in book.events("cup") if event.build == "quick/v1") == "parked"


# ------------------------------------------------------------------------------------------------------------- the end
def test_blocks_that_have_not_begun_are_dropped_and_others_are_played_out(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    draw(book, (0, 1), (1, 2), (2, 0))
    begun = book.block(id_, 1)[0]
    book.release([begun.id])
    book.hand_out(_WINDOW, _RESEND)
    book.drop_planned(id_)

    states = {block: [match.state for match in book.block(id_, block)] for block in range(3)}
    assert states == {0: [DROPPED] * 2, 1: [QUEUED, PLANNED], 2: [DROPPED] * 2}
    assert [match.is_held for match in book.open_matches(id_)] == [False, True], "its other games still need capacity"
    book.drop_planned(id_)
    play(book, id_, [1])
    assert book.unfinished(id_, [0, 1, 2]) == set()


@pytest.mark.parametrize("begun", [None, 0, 1])
def test_the_two_blocks_of_a_trial_are_dropped_together_or_not_at_all(
    book: Book, clock: Clock, begun: int | None
) -> None:
    """Another process may let one of them begin while this one decides to withdraw both."""
    season = make(book, clock.ms)
    id_ = season.tournament
    tables = [replace(table, deal=0) for table in tables_for(season, (0, 1), (0, 2))]
    assert book.draw(season, b"{}", tables, planned(book, season, tables))
    if begun is not None:
        book.release([book.block(id_, begun)[0].id])
        book.hand_out(_WINDOW, _RESEND)
    book.drop_planned(id_, [0, 1])

    dropped = {block for block in (0, 1) if all(match.state == DROPPED for match in book.block(id_, block))}
    assert dropped == ({0, 1} if begun is None else set()) == book.withdrawn(id_)


def test_a_block_is_unfinished_until_its_seeds_are_archived(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    draw(book, (0, 1), (1, 2))
    first, second = book.block(id_, 0)
    book.record_once(first, result(first), "{}\n")
    assert book.unfinished(id_, [0, 1]) == {0, 1}
    book.record_once(second, result(second))
    assert book.unfinished(id_, [0]) == {0}, "the seeds of both are missing"
    book.keep_replay(first, "{}\n", has_seeds=True)
    assert book.unfinished(id_, [0]) == {0}
    book.keep_replay(second, "{}\n", has_seeds=True)
    assert book.unfinished(id_, [0, 1]) == {1} and book.unfinished(id_, []) == set()


# -------------------------------------------------------------------------------------------------------------- matches
def test_matches_are_listed_the_latest_first_in_pages_with_their_tables(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    tables = draw(book, (0, 1), (1, 2), (2, 0))
    play(book, id_, [0])
    found = book.ladder_matches(id_)

    assert [match.order for match, _, _ in found] == [5, 4, 3, 2, 1, 0]
    assert [table.seats for _, _, table in found] == [table.seats for table in reversed(tables) for _ in range(2)]
    assert [game is not None for _, game, _ in found] == [False] * 4 + [True] * 2
    assert all(game is None or game.seats == match.seats for match, game, _ in found)
    pages, before = [], None
    while page := book.ladder_matches(id_, before=before, limit=4):
        pages.append([match.order for match, _, _ in page])
        before = page[-1][0].order
    assert pages == [[5, 4, 3, 2], [1, 0]]


def test_the_matches_of_an_entrant_are_those_of_its_blocks_that_are_over(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    for number in range(20):
        enter(book, a_build(clock.ms, f"bot{number}/v1"))
    seats = [(1, 2), (11, 12), (21, 22), (2, 1), (12, 11), (10, 1), (1, 10), (2, 21), (1, 0)]
    tables = draw(book, *seats)
    book.settle(season, tables[:-1], 8, 16, [])

    for entrant in range(23):
        found = [table.seats for _, _, table in book.ladder_matches(season.tournament, entrant=entrant)]
        assert found == [pair for pair in reversed(seats[:-1]) if entrant in pair for _ in range(2)], entrant
    assert [m.order for m, _, _ in book.ladder_matches(season.tournament, entrant=1, limit=3)] == [13, 12, 11]
    assert [m.order for m, _, _ in book.ladder_matches(season.tournament, entrant=1, before=11, limit=3)] == [10, 7, 6]


def test_an_entrant_is_found_at_every_seat_of_a_large_table(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    for number in range(2):
        enter(book, a_build(clock.ms, f"bot{number}/v1"))
    tables = draw(book, (1, 2, 3, 4), (4, 1, 2, 3), (3, 4, 1, 2), (2, 3, 4, 1), (0, 2, 3, 4))
    book.settle(season, tables, 5, 20, [])

    found = [table.block for _, _, table in book.ladder_matches(season.tournament, entrant=1)]
    assert found == [block for block in (3, 2, 1, 0) for _ in range(4)]


def test_the_results_of_blocks_are_read_in_schedule_order(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    draw(book, *[(0, 1)] * 300)
    play(book, id_, [299, 7, 0])

    assert [game.order for game in book.games_of(id_, range(300))] == [0, 1, 14, 15, 598, 599]
    assert [game.block for game in book.games_of(id_, [7])] == [7, 7] and book.games_of(id_, []) == []


# ------------------------------------------------------------------------------------------------------ computed and told
def test_a_document_is_replaced_only_by_one_of_as_many_blocks_or_more(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    assert book.document(id_, "standings") is None and book.fitted_blocks(id_) == 0
    book.keep_document(id_, "pairs", 3, b"pairs")
    for blocks, data, kept in ((5, b"five", b"five"), (4, b"four", b"five"), (5, b"again", b"again")):
        clock.ms += 1
        book.keep_document(id_, "standings", blocks, data)
        found = book.document(id_, "standings")
        assert found and (found.blocks, found.data) == (5, kept)
    assert found and found.at_ms == clock.ms
    assert book.fitted_blocks(id_) == 5
    book.keep_document(id_, "standings", 6, b"six" * 100_000)
    found = book.document(id_, "standings")
    assert found and found.data == b"six" * 100_000


def test_the_history_of_a_build_keeps_what_it_has(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    points = [RatingPoint(entrant, games, 5, 12.34567890123, -0.5, 1, 3) for entrant in (1, 11) for games in (40, 20)]
    book.keep_points(id_, points)
    book.keep_points(id_, [])
    book.keep_points(id_, [replace(points[0], elo=99.0), RatingPoint(1, 60, 6, 0.1, 0.2, 2, 2)])

    assert book.history(id_, 1) == [points[1], points[0], RatingPoint(1, 60, 6, 0.1, 0.2, 2, 2)]
    assert book.last_points(id_) == {1: 60, 11: 40} and book.history(id_, 2) == []


def test_events_are_listed_the_latest_first_in_pages(book: Book, clock: Clock) -> None:
    make(book, clock.ms, owners=())
    make(book, clock.ms, "pot")
    for number in range(5):
        book.tell("cup", "decision", f"number {number}", owner="ann")
        book.tell("pot", "decision", "another ladder")
    assert [event.words for event in book.events("cup")] == [
        *(f"number {number}" for number in (4, 3, 2, 1, 0)),
        "Season 1 is open.",
    ]
    pages, before = [], None
    while page := book.events("cup", before=before, limit=4):
        pages.append([event.words[-1] for event in page])
        before = page[-1].id
    assert pages == [["4", "3", "2", "1"], ["0", "."]]
    told = book.tell(
        "cup", "decision", "about a build", enter(book, a_build(clock.ms, "quick/v1", "bob", ladder="pot"))
    )
    assert (told.at_ms, told.build, told.owner) == (clock.ms, "quick/v1", "bob")


def test_challenges_of_a_day_are_limited(book: Book, clock: Clock) -> None:
    id_ = make(book, clock.ms).tournament
    two = Quotas(challenges_a_day=2)

    def challenge(number: int, owner: str = "ann") -> Challenge:
        return Challenge(f"c{number}", id_, "cup", owner, (2, 0), 1, clock.ms)

    def write(made: Challenge, quotas: Quotas = two) -> None:
        season = book.season("cup")
        tables = tables_for(season, made.seats, kind=Kind.CHALLENGE)
        assert book.draw(season, None, tables, planned(book, season, tables), (made, quotas))

    first = challenge(1)
    write(first)
    clock.ms += 3_600_000
    write(challenge(2))
    before = book.season("cup")
    with pytest.raises(QuotaReached, match="quota challenges_a_day: 2 of 2 are used; try again in 23 h") as refused:
        write(challenge(3))
    assert book.season("cup") == before and len(book.tables(id_)) == 2, "nothing is drawn for it"
    write(challenge(4, "bob"))
    assert book.challenge("c1") == first
    clock.ms += refused.value.retry_after_ms
    write(challenge(3))
    with pytest.raises(QuotaReached):
        write(challenge(5, "cleo"), Quotas(challenges_a_day=0))


def test_a_challenge_whose_tables_are_not_drawn_is_not_written(book: Book, clock: Clock) -> None:
    old = make(book, clock.ms)
    draw(book, (0, 1))
    tables = tables_for(old, (2, 0), kind=Kind.CHALLENGE)
    made = Challenge("c1", old.tournament, "cup", "ann", (2, 0), 1, clock.ms)

    assert not book.draw(old, None, tables, planned(book, old, tables), (made, Quotas(challenges_a_day=1)))
    with pytest.raises(UnknownLadder, match="there is no challenge 'c1'"):
        book.challenge("c1")


# --------------------------------------------------------------------------------------------------------------- counts
def test_the_counts_of_a_ladder(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    builds = [enter(book, a_build(clock.ms, f"quick/v{number}")) for number in range(4)]
    enter(book, a_build(clock.ms, "slow/v1", "bob"), BuildState.PARKED)
    book.retire(builds[3], "")
    book.saw([builds[0].id, builds[3].id], clock.ms)
    for build in (builds[0], builds[0], builds[0], builds[1], builds[1]):
        book.tell("cup", "parked", "parked", build)
    tables = draw(book, (0, 1), (1, 2), (2, 0))
    draw(book, (0, 3), kind=Kind.QUALIFICATION)
    clock.ms += 60_000
    book.settle(season, tables[:1], 1, 2, [])
    book.keep_document(season.tournament, "standings", 1, b"{}")
    clock.ms += DAY_MS // 2
    book.settle(season, tables[1:2], 1, 2, [])
    clock.ms += 500
    book.settle(season, tables[2:], 1, 2, [])
    clock.ms += 200

    (counts,) = book.ladder_counts()
    assert (counts.ladder, counts.state) == ("cup", "open")
    assert counts.builds == {"active": 3, "parked": 1, "retired": 1}
    assert (counts.open_blocks, counts.rated_blocks, counts.unfitted_blocks) == (1, 3, 2)
    assert counts.unfitted_ms == 700, (
        "since the oldest block that is not in the table was over, not since the table was made"
    )
    assert counts.undrawn_ms == 60_000 + DAY_MS // 2 + 700
    assert (counts.present, counts.flapping) == (0, 1)
    book.saw([build.id for build in builds], clock.ms)
    assert book.ladder_counts()[0].present == 3
    clock.ms += DAY_MS // 2
    assert book.ladder_counts()[0].flapping == 0, "that was a day ago"


def test_a_table_that_is_newer_than_the_counts_leaves_no_negative_rest(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    book.keep_document(season.tournament, "standings", 3, b"{}")

    (counts,) = book.ladder_counts()
    assert (counts.unfitted_blocks, counts.unfitted_ms) == (0, 0)


def test_a_closed_season_is_not_counted(book: Book, clock: Clock) -> None:
    season = make(book, clock.ms)
    make(book, clock.ms, "pot", owners=())
    for state in (SeasonState.CLOSING, SeasonState.FINALS, SeasonState.CLOSED):
        season = book.move_season(season, state)

    assert [counts.ladder for counts in book.ladder_counts()] == ["pot"]
