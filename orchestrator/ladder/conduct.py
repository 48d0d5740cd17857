"""The life of a build: qualification, parking, return, and by which build a bot counts. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.ladder.model import UNOPPOSED, Build, BuildState, Event, Kind
from orchestrator.ratings.verdict import Verdict

#: A build is parked after this many forfeits in a row.
STRIKES: Final = 3
#: A build that failed or was parked is tried again at the earliest after this time, in milliseconds.
PAUSE_MS: Final = 15_000
#: A parked build that stays connected is tried again after this time: what it forfeited may lie before it connected.
PATIENCE_MS: Final = 600_000
_AGAIN: Final = f"when it connects again, or after {PATIENCE_MS // 60_000} minutes if it stays connected"

#: What each cause of a forfeit means for the author, and what to look at.
FAULT_WORDS: Final[Mapping[str, str]] = {
    "TIMEOUT": "its clock ran out while it was connected: it answered too late or not at all",
    "DISCONNECTED": "it was not connected when its clock ran out: it ended, or lost its connection",
    "REFUSED_ACTIONS": "three of its answers were refused: they were not among the legal actions",
    "RESIGNED": "it resigned",
    "NO_SHOW": "it never took its seat",
    "MATCH_LIMIT": "the match lasted too long, and it had used the most time",
}


@dataclass(frozen=True, slots=True)
class BuildChange:
    """What a finished block, or a new connection, changes in a build."""

    build: Build
    event: Event | None = None


def changed(build: Build, state: BuildState, now_ms: int, reason: str = "") -> Build:
    """The build in another state."""
    return replace(build, state=state, since_ms=now_ms, reason=reason)


def after_block(
    build: Build, kind: Kind, faults: Sequence[str], now_ms: int, *, is_last: bool, drawn_ms: int, game: str = ""
) -> BuildChange | None:
    """What a finished block changes in a build that sat in it; None: nothing.

    ``faults`` has the cause of its forfeit in each of its games, empty where it played to the end; ``is_last`` says that no other
    table of its qualification is open: only then it is decided. ``drawn_ms`` is when the table was drawn; ``game`` names the
    last game in which it forfeited.
    """
    cause = next((fault for fault in reversed(faults) if fault), "")
    words = f"{FAULT_WORDS.get(cause, cause)} ({cause}, match {game})" if cause else ""
    if kind is Kind.QUALIFICATION and build.state is BuildState.QUALIFYING:
        fault = words or build.reason
        if not is_last:
            return BuildChange(replace(build, reason=fault)) if fault != build.reason else None
        if fault:
            reason = f"{fault}; `rubble bot check` tests a bot at home. It tries again when it connects again"
            told = f"{build.name} failed its qualification: {fault}."
            return BuildChange(changed(build, BuildState.FAILED, now_ms, reason), _event(build, "failed", told, now_ms))
        told = f"{build.name} has qualified."
        return BuildChange(changed(build, BuildState.ACTIVE, now_ms), _event(build, "qualified", told, now_ms))
    if kind is Kind.RETURN and build.state is BuildState.RETURNING:
        if cause:
            reason = f"it forfeited again: {words}. It is tried again {_AGAIN}"
            return BuildChange(changed(build, BuildState.PARKED, now_ms, reason))
        back = replace(changed(build, BuildState.ACTIVE, now_ms), strikes=0)
        return BuildChange(back, _event(build, "returned", f"{build.name} is back.", now_ms))
    if kind is not Kind.RATED or build.state is not BuildState.ACTIVE or drawn_ms < build.since_ms:
        return None  # also of a table that was drawn before the build was away and came back
    strikes = build.strikes
    for fault in faults:
        strikes = strikes + 1 if fault else 0
        if strikes >= STRIKES:
            break
    if strikes >= STRIKES:
        reason = f"{STRIKES} forfeits in a row, the last one: {words}. It is tried again {_AGAIN}"
        parked = replace(
            changed(build, BuildState.PARKED, now_ms, reason), strikes=strikes, parkings=build.parkings + 1
        )
        told = f"{build.name} is parked after {STRIKES} forfeits in a row: {words}."
        return BuildChange(parked, _event(build, "parked", told, now_ms))
    return None if strikes == build.strikes else BuildChange(replace(build, strikes=strikes))


def may_try(build: Build, connected_since_ms: int, now_ms: int) -> bool:
    """Whether a connected build may begin its qualification or its return: a failed one must have connected since it failed."""
    if build.state is BuildState.ENTERED:
        return True
    if build.state not in (BuildState.FAILED, BuildState.PARKED):
        return False
    waited_ms = now_ms - build.since_ms
    if build.state is BuildState.PARKED and waited_ms >= PATIENCE_MS:
        return True
    return connected_since_ms > build.since_ms and waited_ms >= PAUSE_MS


def counted(builds: Sequence[Build]) -> dict[str, Build]:
    """The build by which each bot counts: the latest that was found better than its parent, or has none; retired ones never count.

    ``builds`` are those of a ladder, the earliest of each bot first.
    """
    found: dict[str, Build] = {}
    for build in builds:
        is_accepted = build.verdict in ("", Verdict.BETTER, UNOPPOSED)
        if build.state is not BuildState.RETIRED and (is_accepted or build.bot not in found):
            found[build.bot] = build
    return found


def running_trials(builds: Sequence[Build]) -> list[tuple[Build, Build]]:
    """The builds whose verdict is open and that can play, each with its parent."""
    by_label = {(build.bot, build.label): build for build in builds}
    found = []
    for build in builds:
        parent = by_label.get((build.bot, build.parent))
        if build.verdict == Verdict.RUNNING and parent is not None:
            are_active = build.state is parent.state is BuildState.ACTIVE
            found += [(build, parent)] if are_active else []
    return found


def _event(build: Build, kind: str, words: str, now_ms: int) -> Event:
    return Event(now_ms, kind, build.name, build.owner, words)
