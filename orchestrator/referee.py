"""The referee: seats the bots of one match, watches it to its end, and returns the result.

It can continue a match that another process began: the session has the match's id, so the game goes on from its current ply.
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from orchestrator.book import Match
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.records import Game
from rubble.v1 import common_pb2, session_pb2

_LOG: Final = logging.getLogger(__name__)
#: How often a match may be void because bots were absent or the worker changed, before its result counts as it is. A known
#: outage on our side always makes it void (the worker gives up at ``MOST_VOIDS``).
VOID_LIMIT: Final = 3
_PAUSE_S: Final = 0.5
#: How long to wait for an unavailable service when a game has ended and must be read, in seconds.
_READ_S: Final = 300.0

_FAULT_WORDS: Final = {
    value: name.removeprefix("FAULT_")
    for name, value in common_pb2.Fault.items()
    if value != common_pb2.FAULT_UNSPECIFIED
}
_ABSENT: Final = ("DISCONNECTED", "NO_SHOW")
#: Faults decided by a clock. Clocks keep running while no worker watches, even if bots cannot connect.
_BY_CLOCK: Final = (*_ABSENT, "TIMEOUT", "MATCH_LIMIT")
#: The fault of a seat whose entrant is withdrawn.
WITHDRAWN: Final = "WITHDRAWN"


class _Line(msgspec.Struct):
    """The fields that matter of a line of a replay."""

    kind: str = ""
    seat: int = -1
    think_ms: int = 0


_read_line: Final = msgspec.json.Decoder(_Line).decode


class VoidMatch(Exception):
    """The match could not be played to its end and no bot is at fault: it is void and played again."""


@dataclass(frozen=True)
class Terms:
    """What all matches of a tournament have in common."""

    game: str
    options: Mapping[str, str | int]
    time_control: Mapping[str, int]
    #: After this many seconds the clocks decide the match: the seat that has used the most time is forfeited.
    match_seconds: float
    #: The matches of a block share their cards: no session can be read before the last of them is over.
    sealed: bool = False
    #: Only the operator is told who sits in a session before its block is over.
    nameless: bool = False


@dataclass(frozen=True)
class Played:
    """A match that has ended: its result and its replay, without seeds that are still held back."""

    recorded: Game
    replay: str


def play(
    client: ArenaClient,
    match: Match,
    bots: Sequence[str],
    terms: Terms,
    heartbeat: Callable[[], None],
    withdrawn: Collection[int] = (),
    *,
    has_changed_hands: bool = False,
    our_outage: Callable[[Collection[int]], str] = lambda _: "",
) -> Played:
    """Play or continue a match; ``heartbeat`` is called every few seconds. Raises VoidMatch if it must be played again.

    The seats in ``withdrawn`` belong to withdrawn entrants and are forfeited before the first move.
    ``has_changed_hands``: another process watched it before, and its bots may have been disconnected in between. ``our_outage``
    receives the seats whose clocks ran out and returns what has failed on our side since the match was taken and may be the
    cause, or an empty string.
    """
    end = time.monotonic() + terms.match_seconds
    seeds = (match.table_seed, match.deck_seed)
    begun: session_pb2.Session = _patiently(
        end,
        heartbeat,
        lambda: client.create_session(
            match.session,
            terms.game,
            bots,
            terms.options,
            seeds,
            terms.time_control,
            sealed=terms.sealed,
            nameless=terms.nameless,
        ),
    )
    for seat in withdrawn:
        _patiently(end, heartbeat, partial(_resign, client, match.session, seat))
    while True:
        heartbeat()
        if time.monotonic() >= end:
            # The time of this call does not count; the other seats play on with the full limit again.
            begun = _patiently(
                time.monotonic() + _READ_S, heartbeat, partial(_decide_by_clocks, client, match, terms, begun)
            )
            end = time.monotonic() + terms.match_seconds
        ended = partial(client.wait_for_end, match.session, heartbeat, end)
        session = _patiently(end + _READ_S, heartbeat, ended)
        if session is not None:
            break
    end = max(end, time.monotonic() + _READ_S)  # the game is over and counts, however long reading takes
    replay = _patiently(end, heartbeat, lambda: client.replay(match.session))
    recorded = _recorded(match, session, replay, withdrawn)
    if outage := next((seat.outage for seat in session.seats if seat.outage), ""):
        raise VoidMatch(f"the service was in trouble when a clock of match {match.id} ran out: {outage}")
    by_clock = [seat for seat, fault in enumerate(recorded.faults) if fault in _BY_CLOCK]
    if by_clock and (outage := our_outage(by_clock)):
        raise VoidMatch(f"a clock of match {match.id} ran out, and {outage}")
    if has_changed_hands and match.voids < VOID_LIMIT and by_clock:
        # The worker before was gone for longer than the clocks, and so were the bots that we restart. They may reconnect before the
        # clocks are checked, and then seem slow.
        raise VoidMatch(f"a clock of match {match.id} ran out when the match changed hands")
    if match.voids < VOID_LIMIT and any(fault in _ABSENT for fault in recorded.faults):
        connected = _patiently(end, heartbeat, client.connected)
        if _nobody_came(recorded) and not any(bot in connected for bot in bots):
            raise VoidMatch(f"no bot of match {match.id} is connected")
        for seat, (bot, fault) in enumerate(zip(bots, recorded.faults, strict=True)):
            if fault == "NO_SHOW" and bot in connected and connected[bot].since_ms < session.created_at_ms:
                # A bot that is connected and has capacity is seated without being asked.
                raise VoidMatch(f"the bot of seat {seat} had no capacity for match {match.id}")
    return Played(recorded, replay)


def _decide_by_clocks(
    client: ArenaClient, match: Match, terms: Terms, begun: session_pb2.Session
) -> session_pb2.Session:
    """Forfeit the seat that has used the most time and return the session. Raises VoidMatch if the time was not used by the seats.

    A seat that always thinks almost as long as its clock allows can make a match too long without a timeout. Such a match
    counts: otherwise a bot that is about to lose could play on for ever.
    """
    now = client.session(match.session)
    pairs = list(zip(now.seats, begun.seats, strict=True))
    is_decided = any(status.fault == common_pb2.FAULT_MATCH_LIMIT and not before.fault for status, before in pairs)
    if is_decided or now.status != session_pb2.SESSION_STATUS_ACTIVE:
        return now  # the first call had succeeded, or the session has just ended
    used = {seat: status.used_ms - before.used_ms for seat, (status, before) in enumerate(pairs) if not status.fault}
    too_long = f"match {match.id} has lasted longer than {terms.match_seconds:.0f} s"
    if sum(used.values()) < terms.match_seconds * 1000 / 2:
        _give_up(client, match.session)
        raise VoidMatch(f"{too_long}, and its seats used only {sum(used.values()) / 1000:.1f} s of it")
    slowest = max(used, key=lambda seat: used[seat])
    _LOG.warning("%s; seat %s used the most of it (%.1f s) and is forfeited", too_long, slowest, used[slowest] / 1000)
    _resign(client, match.session, slowest, common_pb2.FAULT_MATCH_LIMIT)
    return client.session(match.session)


def _resign(
    client: ArenaClient,
    session: str,
    seat: int,
    fault: "common_pb2.Fault.ValueType" = common_pb2.FAULT_UNSPECIFIED,
) -> None:
    try:
        client.resign(session, seat, fault)
    except ServiceError as error:
        if error.reason not in ("SEAT_FORFEITED", "SESSION_ENDED"):  # already forfeited
            raise


def _nobody_came(recorded: Game) -> bool:
    """Whether all faults look as if our machine was down. A seat that was never asked has no fault, but may be absent too."""
    faults = [fault for fault in recorded.faults if fault]
    return len(recorded.faults) > 1 and bool(faults) and all(fault in _ABSENT for fault in faults)


def _patiently(end: float, heartbeat: Callable[[], None], call: Callable[[], Any]) -> Any:
    """Repeat a call while the service is unavailable, until the time is over."""
    while True:
        try:
            return call()
        except ServiceError as error:
            if error.reason == "UNKNOWN_SESSION":
                raise VoidMatch(str(error)) from None
            if not error.is_passing:
                raise
            if time.monotonic() > end:
                raise VoidMatch(f"the service does not answer: {error}") from None
        heartbeat()
        time.sleep(_PAUSE_S)  # before the next try


def _give_up(client: ArenaClient, session: str) -> None:
    try:
        client.cancel(session, "the match took too long")
    except ServiceError as error:
        if error.reason not in ("SESSION_ENDED", "UNKNOWN_SESSION") and not error.is_passing:
            raise


def _recorded(match: Match, session: session_pb2.Session, replay: str, withdrawn: Collection[int]) -> Game:
    """The result of an ended session. Raises VoidMatch if it says nothing about the bots."""
    if session.status != session_pb2.SESSION_STATUS_FINISHED:
        raise VoidMatch(f"session {session.session} was cancelled")
    faults = tuple(
        WITHDRAWN if number in withdrawn else _FAULT_WORDS.get(seat.fault, "")
        for number, seat in enumerate(session.seats)
    )
    think, decisions = think_times(replay, len(session.seats))
    return match.result(
        ranks=tuple(result.rank for result in session.outcome.seats),
        scores=tuple(result.score for result in session.outcome.seats),
        faults=faults,
        think_ms=think,
        ending=session.outcome.ending,
        decisions=decisions,
    )


def think_times(replay: str, seats: int) -> tuple[tuple[int, ...], int]:
    """The total time of each seat's answers in milliseconds, and the number of all answers."""
    think = [0] * seats
    decisions = 0
    for line in replay.splitlines():
        entry = _read_line(line)
        if entry.kind == "act":
            think[entry.seat] += entry.think_ms
            decisions += 1
    return tuple(think), decisions
