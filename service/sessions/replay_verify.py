"""Verifies replays: a replay with seeds is played again by the code that referees sessions.

Most entries follow from others: an answer causes the automaton's moves, the next questions and the end. So each entry that was
caused from outside is applied to a new session, and the entries that this session writes must be in the file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct, to_builtins
from msgspec.structs import asdict, replace

from service import games
from service.games.core import AnyGame, BadSetup
from service.sessions.entries import (
    ACTIONS,
    Acted,
    AnswerRefused,
    AutomatonActed,
    Ended,
    Entry,
    Fault,
    Forfeited,
    Revealed,
    Seated,
    Status,
    action_of,
)
from service.sessions.errors import ActionRefused, SessionError
from service.sessions.replay import BadReplay, Replay, outcome_line, read_replay
from service.sessions.session import ADJUDICATED, Accepted, Refused, Session, commitment, new_session

HELD_BACK: Final = "seeds held back: game not replayed"
RUNNING: Final = "still running: game not replayed"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a check. ``line`` and ``reason`` name the first problem; a valid replay has line 0."""

    ok: bool
    line: int
    #: The problem, or what was checked if the replay is valid.
    reason: str
    #: True if the whole game was replayed from its seeds.
    is_replayed: bool = False
    session: str = ""
    game: str = ""
    lines: int = 0
    actions: int = 0
    #: The hash of the last line, which covers the whole file.
    hash: str = ""
    #: The line that has the given hash; 0 if none was given.
    pinned: int = 0


def verify_replay(text: str, *, pin: str = "", allow_partial: bool = False) -> Verification:
    """Check a replay: form, chain and commitments; then replay the whole game from its seeds.

    ``pin`` is a hash known from another source: a line of the file must have it. A file that stops before the outcome is invalid
    unless ``allow_partial`` is set, since the game may still be running.
    """
    try:
        replay = read_replay(text)
        pinned = _pinned(replay, pin)
        checked = _check(replay, allow_partial)
    except BadReplay as bad:
        return Verification(False, bad.line, bad.reason)
    return Verification(
        True,
        0,
        checked,
        replay.seeds is not None,
        replay.session,
        replay.game,
        len(replay.hashes),
        sum(isinstance(entry, ACTIONS) for entry in replay.entries),
        replay.hashes[-1],
        pinned,
    )


def _pinned(replay: Replay, pin: str) -> int:
    if not pin:
        return 0
    if pin.lower() not in replay.hashes:
        raise BadReplay(
            len(replay.hashes), "no line has the hash that was given: this is another file, or a part is missing"
        )
    return 1 + replay.hashes.index(pin.lower())


def _check(replay: Replay, allow_partial: bool) -> str:
    last = len(replay.hashes)
    if replay.outcome is None:
        if not allow_partial:
            raise BadReplay(last, "the file stops before the outcome: the game was still running, or the file was cut")
        return RUNNING
    if replay.seeds is None:
        if not replay.hold_seeds:
            raise BadReplay(last, "the seeds are missing, though this session did not hold them back")
        return HELD_BACK
    seeds = replay.header().seeds
    for name, seed, published in zip(("table", "deck"), (seeds.table, seeds.deck), replay.commitments, strict=True):
        if commitment(seed).hex() != published:
            raise BadReplay(last, f"the {name} seed is not the one that was committed to before the first move")
    game_of(replay)
    _Referee(replay).run()
    actions = sum(isinstance(entry, ACTIONS) for entry in replay.entries)
    return f"{actions} {'action' if actions == 1 else 'actions'} replayed"


def game_of(replay: Replay) -> AnyGame:
    """Return the game of a replay; raises BadReplay if this installation cannot play it."""
    try:
        game = games.get(replay.game)
        complete = game.complete(len(replay.bots), replay.options)
    except BadSetup as error:
        raise BadReplay(1, str(error)) from None
    if game.version != replay.version:
        raise BadReplay(
            1, f"played by version {replay.version} of {game.id}; this installation has version {game.version}"
        )
    if complete != replay.options:
        missing = ", ".join(sorted(complete.keys() - replay.options.keys()))
        raise BadReplay(1, f"the options do not include {missing}")
    return game


def tables(replay: Replay) -> Iterator[Any]:
    """Yield the state before the first entry and after each one, as copies for the caller.

    The replay must have been verified.
    """
    game = game_of(replay)
    state = game.new(len(replay.bots), replay.options, replay.header().seeds)
    yield game.copy(state)
    for entry in replay.entries:
        action = action_of(entry)
        if action is not None:
            game.apply(state, action.seat, game.read(action.action))
        yield game.copy(state)


class _Referee:
    """Replays the entries of the file on a new session."""

    def __init__(self, replay: Replay) -> None:
        assert replay.seeds is not None
        assert replay.outcome is not None
        self.outcome = replay.outcome
        self.entries: list[Entry] = [*replay.entries, Revealed(replay.seeds.at_ms)]
        self.session: Session = new_session(replay.header(), replay.created_ms)

    def run(self) -> None:
        """Replay all entries; raises BadReplay where the file differs."""
        place = 0
        while place < len(self.entries):
            try:
                made = self._apply(place)
            except SessionError as error:
                raise BadReplay(self._line(place), str(error)) from None
            if not made:
                raise BadReplay(self._line(place), self._why_not(place))
            for offset, entry in enumerate(made):
                self._compare(place + offset, entry)
            place += len(made)
        self._compare_outcome()

    def _line(self, place: int) -> int:
        """Return the line of an entry. The reveal is on the line of the seeds, after the outcome."""
        return place + (2 if place < len(self.entries) - 1 else 3)

    def _apply(self, place: int) -> list[Entry]:
        """Apply the entry at this place to the session; return the entries that the session writes."""
        entry, session = self.entries[place], self.session
        now = entry.at_ms
        match entry:
            case Seated():
                return session.take_seat(entry.seat, now)
            case Acted():
                reply, made = session.answer(entry.seat, entry.turn, entry.action, entry.note, now, entry.think_ms)
                if isinstance(reply, Refused):
                    reason = f"seat {entry.seat} may not play {entry.action!r} here: {reply.error}"
                    raise BadReplay(self._line(place), reason)
                if not isinstance(reply, Accepted):
                    raise reply.error
                return made
            case AnswerRefused():
                refused = ActionRefused(entry.reason, "", entry.note, readable=True)
                return session.refuse(entry.seat, entry.turn, refused, now)
            case Forfeited() if entry.fault in (Fault.RESIGNED, Fault.MATCH_LIMIT):
                return session.resign(entry.seat, now, entry.fault)
            case Forfeited():
                return session.expire(
                    now, lambda seat: self._was_connected(seat, place), lambda seat: self._excuse(seat, place)
                )
            case AutomatonActed():  # nothing before it caused this move, so the operator let the automaton play all seats
                return session.adjudicate([], now)
            case Ended() if entry.status is Status.CANCELLED:
                return session.cancel(entry.note, now)
            case Ended() if self.outcome.ending == ADJUDICATED:
                return session.adjudicate(self.outcome.ranks, now)
            case Revealed():
                return session.reveal(now)
        raise BadReplay(self._line(place), "the session ends here, but the game is not over and was not adjudicated")

    def _faults(self, seat: int, place: int) -> Iterator[Forfeited]:
        """Yield the faults of the seat in the file, from this place on."""
        for entry in self.entries[place:]:
            if isinstance(entry, Forfeited) and entry.seat == seat:
                yield entry

    def _was_connected(self, seat: int, place: int) -> bool:
        """Whether the seat was connected, according to its next fault in the file."""
        fault = next(self._faults(seat, place), None)
        return fault is not None and fault.fault is Fault.TIMEOUT

    def _excuse(self, seat: int, place: int) -> tuple[int, str]:
        """Return the lost time and outage of a seat: none if its fault is at this moment, else enough to excuse it."""
        now = self.entries[place].at_ms
        for fault in self._faults(seat, place):
            if fault.at_ms == now:
                return 0, fault.outage
        return now, ""

    def _why_not(self, place: int) -> str:
        entry = self.entries[place]
        match entry:
            case Seated():
                return f"seat {entry.seat} cannot connect here"
            case Acted():
                return f"turn {entry.turn} of seat {entry.seat} was answered before"
            case AnswerRefused():
                return f"turn {entry.turn} is not an open question of seat {entry.seat}"
            case Forfeited():
                return f"{entry.fault} of seat {entry.seat}, but its clock had not run out"
        return f"{entry.kind!r} cannot happen here"

    def _compare(self, place: int, made: Entry) -> None:
        """Check that the file has this entry at this place."""
        line, entry = self._line(place), self.entries[place]
        if entry == made:
            return
        if type(entry) is not type(made):
            raise BadReplay(line, f"{_shown(entry)}; the game gives {_shown(made)}")
        _compare_fields(line, entry, made)

    def _compare_outcome(self) -> None:
        made = outcome_line(self.session)
        _compare_fields(
            len(self.entries) + 1, self.outcome, replace(made, prev=self.outcome.prev, hash=self.outcome.hash)
        )


def _compare_fields(line: int, found: Struct, made: Struct) -> None:
    """Raise BadReplay if a field in the file differs from the replayed game."""
    for name in found.__struct_fields__:
        there, here = to_builtins(getattr(found, name)), to_builtins(getattr(made, name))
        if there != here:
            raise BadReplay(line, f"{name} is {there!r:.80}; the game gives {here!r:.80}")


def _shown(entry: Entry) -> str:
    """Describe an entry briefly."""
    if isinstance(entry, Revealed):
        return "the seeds"
    facts = asdict(entry)
    values = [f" {str(facts[name])!r}" for name in ("action", "reason", "fault", "status") if name in facts]
    return f"{entry.kind!r}{''.join(values)}" + (f" of seat {facts['seat']}" if "seat" in facts else "")
