"""The life of a build: qualification, parking, return, and by which build a bot counts."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.ladder.conduct import (
    FAULT_WORDS,
    PATIENCE_MS,
    PAUSE_MS,
    STRIKES,
    after_block,
    changed,
    counted,
    may_try,
    running_trials,
)
from orchestrator.ladder.model import UNOPPOSED, Build, BuildState, Kind
from orchestrator.ratings.verdict import Verdict

NOW = 5_000_000


def build(label: str = "v1", state: BuildState = BuildState.ACTIVE, verdict: str = "", parent: str = "") -> Build:
    return Build(
        f"cup.quick.{label}", "cup", "quick", label, "ann", parent, state, "", 1, 2, 3, False, 0, 0, verdict, 7
    )  # fmt: skip


def played(one: Build, kind: Kind, *blocks: Sequence[str], is_last: bool = True) -> Build:
    """The build after these blocks."""
    for faults in blocks:
        change = after_block(one, kind, faults, NOW, is_last=is_last, drawn_ms=NOW, game="m1")
        one = change.build if change else one
    return one


# -------------------------------------------------------------------------------------------------------- qualification
def test_a_build_qualifies_without_a_fault() -> None:
    change = after_block(
        build(state=BuildState.QUALIFYING), Kind.QUALIFICATION, ("", ""), NOW, is_last=True, drawn_ms=NOW
    )

    assert change and (change.build.state, change.build.since_ms) == (BuildState.ACTIVE, NOW)
    assert change.event and (change.event.kind, change.event.build, change.event.owner) == (
        "qualified", "quick/v1", "ann",
    )  # fmt: skip


@pytest.mark.parametrize("cause", FAULT_WORDS)
def test_a_build_that_forfeits_a_game_of_its_qualification_fails_and_is_told_why(cause: str) -> None:
    one = build(state=BuildState.QUALIFYING)
    change = after_block(one, Kind.QUALIFICATION, ("", cause), NOW, is_last=True, drawn_ms=NOW, game="m9")

    assert change and change.build.state is BuildState.FAILED and change.event and change.event.kind == "failed"
    for words in (change.build.reason, change.event.words):
        assert FAULT_WORDS[cause] in words and f"({cause}, match m9)" in words
    assert "rubble bot check" in change.build.reason and "when it connects again" in change.build.reason


def test_a_qualification_of_several_tables_is_decided_by_the_last_of_them() -> None:
    begun = build(state=BuildState.QUALIFYING)

    assert after_block(begun, Kind.QUALIFICATION, ("",), NOW, is_last=False, drawn_ms=NOW) is None
    assert played(begun, Kind.QUALIFICATION, ("",)).state is BuildState.ACTIVE
    half = after_block(begun, Kind.QUALIFICATION, ("TIMEOUT",), NOW, is_last=False, drawn_ms=NOW, game="m1")
    assert half and half.build.state is BuildState.QUALIFYING and half.event is None, "a table of it is still open"
    end = after_block(half.build, Kind.QUALIFICATION, ("",), NOW, is_last=True, drawn_ms=NOW)
    assert end and end.build.state is BuildState.FAILED and "(TIMEOUT, match m1)" in end.build.reason, (
        "a clean last table does not make good for an earlier fault"
    )


def test_a_new_qualification_begins_without_the_faults_of_the_last_one() -> None:
    failed = played(build(state=BuildState.QUALIFYING), Kind.QUALIFICATION, ("TIMEOUT",))
    again = changed(failed, BuildState.QUALIFYING, NOW)

    assert played(again, Kind.QUALIFICATION, ("",)).state is BuildState.ACTIVE


@pytest.mark.parametrize("state", [state for state in BuildState if state is not BuildState.QUALIFYING])
def test_games_of_a_qualification_change_no_build_in_another_state(state: BuildState) -> None:
    assert after_block(build(state=state), Kind.QUALIFICATION, ("NO_SHOW",), NOW, is_last=True, drawn_ms=NOW) is None


# -------------------------------------------------------------------------------------------------------------- parking
def test_three_forfeits_in_a_row_park_a_build_also_across_blocks() -> None:
    once = played(build(), Kind.RATED, ("", "NO_SHOW"), ("DISCONNECTED",))
    assert (once.state, once.strikes) == (BuildState.ACTIVE, 2)

    change = after_block(once, Kind.RATED, ("TIMEOUT", ""), NOW, is_last=True, drawn_ms=NOW, game="m3")

    assert change and (change.build.state, change.build.parkings) == (BuildState.PARKED, 1)
    assert change.build.since_ms == NOW and change.event and change.event.kind == "parked"
    assert f"after {STRIKES} forfeits in a row" in change.event.words and "(TIMEOUT, match m3)" in change.build.reason


def test_three_forfeits_within_a_block_park_a_build_and_the_last_one_is_named() -> None:
    parked = played(build(), Kind.RATED, ("NO_SHOW", "TIMEOUT", "DISCONNECTED", ""))

    assert parked.state is BuildState.PARKED and "the last one: it was not connected" in parked.reason


def test_a_clean_game_in_between_begins_the_count_anew() -> None:
    one = played(build(), Kind.RATED, ("TIMEOUT", "TIMEOUT"), ("", "TIMEOUT"), ("TIMEOUT", ""))

    assert (one.state, one.strikes, one.parkings) == (BuildState.ACTIVE, 0, 0)


def test_a_clean_block_of_a_clean_build_changes_nothing() -> None:
    assert after_block(build(), Kind.RATED, ("", ""), NOW, is_last=True, drawn_ms=NOW) is None
    assert after_block(build(), Kind.CHALLENGE, ("TIMEOUT",) * 3, NOW, is_last=True, drawn_ms=NOW) is None, (
        "a challenge never parks"
    )


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), max_size=12))
def test_a_build_is_parked_exactly_when_three_games_in_a_row_were_forfeited(blocks: list[list[bool]]) -> None:
    one = played(build(), Kind.RATED, *[["TIMEOUT" if is_lost else "" for is_lost in block] for block in blocks])
    row = "".join("x" if is_lost else "." for block in blocks for is_lost in block)

    assert (one.state is BuildState.PARKED) == ("xxx" in row)
    assert one.state is BuildState.PARKED or one.strikes == len(row) - len(row.rstrip("x"))


# --------------------------------------------------------------------------------------------------------------- return
def test_a_parked_build_returns_after_one_clean_block() -> None:
    away = replace(build(state=BuildState.RETURNING), strikes=3, parkings=2, reason="3 forfeits in a row")
    change = after_block(away, Kind.RETURN, ("",), NOW, is_last=True, drawn_ms=NOW)

    assert change and change.event and change.event.kind == "returned"
    assert (change.build.state, change.build.strikes, change.build.parkings) == (BuildState.ACTIVE, 0, 2)
    assert change.build.reason == ""


def test_a_build_that_forfeits_its_return_stays_parked_and_waits_again() -> None:
    change = after_block(
        build(state=BuildState.RETURNING), Kind.RETURN, ("NO_SHOW",), NOW, is_last=True, drawn_ms=NOW, game="m4"
    )

    assert change and change.build.state is BuildState.PARKED and "match m4" in change.build.reason
    assert change.build.parkings == 0 and change.event is None, "it was not parked anew"
    assert not may_try(change.build, NOW - 1, NOW + PAUSE_MS)


def test_forfeits_at_tables_from_before_its_return_do_not_park_a_build_again() -> None:
    back = changed(build(), BuildState.ACTIVE, NOW)
    late = ("DISCONNECTED",) * 4

    assert after_block(back, Kind.RATED, late, NOW + 9, is_last=True, drawn_ms=NOW - 1) is None
    change = after_block(back, Kind.RATED, late, NOW + 9, is_last=True, drawn_ms=NOW)
    assert change and change.build.state is BuildState.PARKED


@pytest.mark.parametrize("kind", Kind)
def test_a_retired_build_stays_retired(kind: Kind) -> None:
    for faults in (("", ""), ("TIMEOUT",) * 4):
        assert after_block(build(state=BuildState.RETIRED), kind, faults, NOW, is_last=True, drawn_ms=NOW) is None
    assert not may_try(build(state=BuildState.RETIRED), NOW, NOW)


@pytest.mark.parametrize("state", [BuildState.PARKED, BuildState.RETURNING, BuildState.QUALIFYING, BuildState.FAILED])
def test_rated_games_that_end_late_do_not_change_a_build_that_is_not_active(state: BuildState) -> None:
    assert after_block(build(state=state), Kind.RATED, ("NO_SHOW",) * 4, NOW, is_last=True, drawn_ms=NOW) is None


def test_a_change_keeps_everything_else_of_the_build() -> None:
    before = build(state=BuildState.QUALIFYING, verdict=Verdict.RUNNING, parent="v0")

    assert played(before, Kind.QUALIFICATION, ("",)) == replace(before, state=BuildState.ACTIVE, since_ms=NOW)


# -------------------------------------------------------------------------------------------------------------- may_try
def test_a_new_build_is_tried_at_once() -> None:
    assert may_try(build(state=BuildState.ENTERED), 0, NOW)


@pytest.mark.parametrize("state", [BuildState.FAILED, BuildState.PARKED])
def test_a_build_is_tried_again_after_a_new_connection_and_a_pause(state: BuildState) -> None:
    one = changed(build(), state, NOW)

    assert not may_try(one, NOW - 5, NOW + PATIENCE_MS - 1), "it has not connected again"
    assert not may_try(one, NOW + 5, NOW + PAUSE_MS - 1), "a bot that connects in a loop does not play in one"
    assert may_try(one, NOW + 5, NOW + PAUSE_MS)


def test_a_parked_build_that_stays_connected_is_tried_again_some_day_and_a_failed_one_is_not() -> None:
    assert may_try(changed(build(), BuildState.PARKED, NOW), NOW - 5, NOW + PATIENCE_MS)
    assert not may_try(changed(build(), BuildState.FAILED, NOW), NOW - 5, NOW + 9 * PATIENCE_MS)


@pytest.mark.parametrize("state", [BuildState.QUALIFYING, BuildState.ACTIVE, BuildState.RETURNING])
def test_a_build_that_plays_is_not_tried_again(state: BuildState) -> None:
    assert not may_try(build(state=state), NOW, NOW + PAUSE_MS)


# ----------------------------------------------------------------------------------------------------- counted and trials
def label_counted(*builds: tuple[str, str]) -> str:
    """The label by which a bot counts; its builds are (label, verdict) in the order in which they were entered."""
    return counted([build(label, verdict=verdict) for label, verdict in builds])["quick"].label


def test_a_bot_counts_by_its_latest_accepted_build() -> None:
    """Never by the luckiest of many."""
    better, rejected, open_ = Verdict.BETTER, Verdict.NOT_BETTER, Verdict.RUNNING

    assert label_counted(("v1", "")) == "v1"
    assert label_counted(("v1", ""), ("v2", better), ("v3", rejected), ("v4", open_)) == "v2"
    assert label_counted(("v1", ""), ("v2", Verdict.UNDECIDED)) == "v1"
    assert label_counted(("v1", ""), ("v2", better), ("v3", better)) == "v3"
    assert label_counted(("v1", ""), ("v2", UNOPPOSED)) == "v2", "its parent was retired before the verdict"


def test_a_retired_build_never_counts() -> None:
    retired = build("v1", BuildState.RETIRED)
    second, third = build("v2", verdict=Verdict.NOT_BETTER), build("v3", verdict=Verdict.RUNNING)

    assert counted([retired, second, third])["quick"] is second, "the earliest that is left, if none was accepted"
    assert counted([retired]) == {}
    assert counted([retired, second, build("v4", verdict=UNOPPOSED)])["quick"].label == "v4"


def test_every_bot_counts_by_a_build_of_its_own() -> None:
    slow = replace(build("v9"), bot="slow")

    assert counted([build("v1"), slow]) == {"quick": build("v1"), "slow": slow}


def test_a_trial_runs_while_its_verdict_is_open_and_both_builds_are_active() -> None:
    parent = build("v1")
    new = build("v2", verdict=Verdict.RUNNING, parent="v1")

    assert running_trials([parent, new]) == [(new, parent)]
    for state in set(BuildState) - {BuildState.ACTIVE}:
        assert running_trials([replace(parent, state=state), new]) == []
        assert running_trials([parent, replace(new, state=state)]) == []
    for verdict in (Verdict.BETTER, Verdict.NOT_BETTER, Verdict.UNDECIDED, UNOPPOSED):
        assert running_trials([parent, replace(new, verdict=verdict)]) == []


def test_a_build_is_compared_with_the_parent_of_its_own_bot() -> None:
    other = replace(build("v1"), bot="slow")
    new = build("v2", verdict=Verdict.RUNNING, parent="v1")

    assert running_trials([other, new]) == []
