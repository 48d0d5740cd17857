"""The life of a session: questions, answers, clocks, faults and the end. Pure: the current time is a parameter.

A session is its seeds, its options and its answers; the state is only a cache of their replay. Every method that changes
something returns the log entries it wrote, one per revision. The caller saves them, or drops the session.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from msgspec import Struct

from service import games
from service.games import core
from service.games.chance import Draws, Seeds
from service.games.core import AnyGame, OptionValue, Outcome, Result, Unreadable
from service.sessions.clock import Clock, TimeControl
from service.sessions.entries import (
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
)
from service.sessions.errors import (
    ActionRefused,
    BadRequest,
    NotYourTurn,
    SeatForfeited,
    SessionEnded,
    SessionRunning,
    StaleTurn,
)

NOTE_LIMIT: Final = 1000
REFUSAL_LIMIT: Final = 3
#: Goes up when the form of stored sessions changes; the first item of a stored header.
FORMAT: Final = 2
#: A constant because it is used several times per move, and an enum attribute is slow.
ACTIVE: Final = Status.ACTIVE
#: Endings that no game has: at most one seat still played, and the operator ended the session with a result.
FORFEIT: Final = "FORFEIT"
ADJUDICATED: Final = "ADJUDICATED"


class Header(Struct, frozen=True, array_like=True, tag=FORMAT):
    """The part of a session that never changes."""

    id: str
    game: str
    version: int
    options: dict[str, OptionValue]
    table_seed: bytes
    deck_seed: bytes
    time_control: TimeControl
    #: By seat: the bot's name, or "" for an open seat.
    bots: tuple[str, ...]
    hold_seeds: bool
    created_ms: int
    #: Other sessions have the same cards: only the operator and its seats may read it before the seeds are revealed.
    sealed: bool = False
    #: Drawn at creation, because a later session may have the same id. Empty if an older version created the session.
    creation_id: str = ""
    #: Before the seeds are revealed, only the operator is told which bots sit in it.
    nameless: bool = False

    @property
    def seats(self) -> int:
        return len(self.bots)

    @property
    def seeds(self) -> Seeds:
        return Seeds(self.table_seed, self.deck_seed)


def commitment(seed: bytes) -> bytes:
    """Return the commitment to a seed that is published before the first move."""
    return blake2b(seed, digest_size=32).digest()


@dataclass(frozen=True, slots=True)
class Accepted:
    """The answer was accepted; says at which revision, and the action."""

    revision: int
    text: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The rules refuse the answer, or it cannot be parsed; the refusal is counted."""

    error: ActionRefused


@dataclass(frozen=True, slots=True)
class Late:
    """The answer was received after the seat's clock had run out."""

    error: SeatForfeited


@dataclass(frozen=True, slots=True)
class Stale:
    """The question is not open: it was answered or never asked, or the seat or the session has ended."""

    error: StaleTurn | NotYourTurn | SeatForfeited | SessionEnded


#: The result of an answer.
Reply: TypeAlias = Accepted | Refused | Late | Stale


class Seat(Struct, array_like=True):
    """One seat's questions, clock and faults."""

    clock: Clock
    #: Number of questions asked of this seat; the last one is open if its clock says so.
    turn: int = 0
    refusals: int = 0
    fault: Fault = Fault.NONE
    #: The position of its fault among all faults.
    fault_order: int = 0
    #: The last accepted answer: its turn, its text, its index among the legal actions, its revision.
    answered_turn: int = 0
    answered_text: str = ""
    answered_index: int = 0
    answered_revision: int = 0
    #: The mark of the save that asked the open question; empty before it is saved and after the answer. If the store lost writes,
    #: the same turn number may be asked in another position, with another mark.
    question: str = ""
    #: The outage that overlapped its time to answer, if it was forfeited anyway.
    outage: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether the seat has an open question."""
        return self.clock.asked_ms != 0


#: By seat: how much of the time for its question was lost to outages, and a description of them.
Excuse: TypeAlias = Callable[[int], tuple[int, str]]
#: How much of the time between two moments was lost to outages, in milliseconds.
LostTime: TypeAlias = Callable[[int, int], int]


class Session:
    """One play of a game."""

    __slots__ = ("ended_ms", "game", "header", "mark", "outcome", "revealed", "revision", "seats", "state", "status")

    def __init__(self, header: Header, game: AnyGame, state: Any) -> None:
        self.header = header
        self.game = game
        self.state = state
        self.revision = 0
        #: Identifies this position in the store, unique to the save that wrote it; empty before the first save.
        self.mark = ""
        self.status: Status = ACTIVE
        control = header.time_control
        self.seats = [Seat(Clock(control, control.bank_ms)) for _ in header.bots]
        self.ended_ms = 0
        self.outcome: Outcome | None = None
        self.revealed = False

    def known_bots(self, *, is_operator: bool) -> tuple[str, ...]:
        """Return the bots by seat, as a caller may know them: "" for an open seat and for a name that is still withheld."""
        if self.header.nameless and not self.revealed and not is_operator:
            return ("",) * self.header.seats
        return self.header.bots

    # ---------------------------------------------------------------------------------------------------------- asking
    def open_seats(self) -> list[int]:
        """Return the seats with an open question."""
        return [number for number, seat in enumerate(self.seats) if seat.clock.asked_ms]

    def next_deadline_ms(self) -> int:
        """Return the earliest moment at which a clock runs out; 0 if none is running."""
        earliest = 0
        for seat in self.seats:  # a loop for speed: this runs after every move
            if seat.clock.asked_ms:
                deadline = seat.clock.deadline_ms
                if not earliest or deadline < earliest:
                    earliest = deadline
        return earliest

    def legal_texts(self, seat: int) -> list[str]:
        """Return the legal actions of the seat, in the order of their indexes."""
        return [self.game.text(action) for action in self.game.legal_actions(self.state, seat)]

    # --------------------------------------------------------------------------------------------------------- changing
    def begin(self, now_ms: int) -> None:
        """Ask the first questions."""
        self._ask(now_ms)

    def stamp(self, mark: str) -> str:
        """Give this position, and every question it opens, the mark of the save that writes it; return the previous mark."""
        before, self.mark = self.mark, mark
        for seat in self.seats:
            if not seat.question and seat.clock.asked_ms:
                seat.question = mark
        return before

    def take_seat(self, seat: int, now_ms: int) -> list[Entry]:
        """Mark the seat as connected and start its clock; has no effect the second time."""
        record = self.seats[seat]
        if record.clock.is_seated or self.status != ACTIVE or record.fault:
            return []
        record.clock = record.clock.take_seat(now_ms)
        return self._wrote(Seated(now_ms, seat))

    def answer(
        self,
        seat: int,
        turn: int,
        choice: int | str,
        note: str,
        now_ms: int,
        think_ms: int | None = None,
        *,
        heard_ms: int | None = None,
        question: str | None = None,
        lost_ms: LostTime = lambda since_ms, until_ms: 0,
    ) -> tuple[Reply, list[Entry]]:
        """Answer the open question of a seat; only Accepted and Refused change the session.

        ``think_ms``: the measured thinking time; None: the time since the question was asked. ``heard_ms``: when the answer was
        received, which decides whether it is late; without it, it is in time. ``question``: the mark of the question that the
        seat was sent, if known. ``lost_ms``: returns how much of the time between two moments was lost to outages.
        """
        self._known(seat)
        if len(note) > NOTE_LIMIT:
            raise BadRequest("note", f"{len(note)} characters", f"at most {NOTE_LIMIT}")
        record = self.seats[seat]
        # Repeats are checked first: this may be the last answer of the game or the seat, sent again after a lost reply.
        closed = self._repeat(record, turn, choice) or self._closed(seat, turn, question)
        if closed is not None:
            return closed, []
        clock = record.clock
        if heard_ms is not None:
            if think_ms is None:
                think_ms = max(0, heard_ms - clock.asked_ms)
            if clock.is_past(heard_ms):
                lost = lost_ms(clock.asked_ms, heard_ms)
                if clock.is_late(heard_ms, lost):
                    return Late(SeatForfeited(f"the answer of seat {seat} came too late", seat=str(seat))), []
                think_ms = max(0, think_ms - lost)
        found = self._find(seat, choice)
        if isinstance(found, ActionRefused):
            return Refused(found), self.refuse(seat, turn, found, now_ms)
        index, action = found
        used = max(0, now_ms - clock.asked_ms) if think_ms is None else think_ms
        record.clock, record.question = clock.spend(used), ""
        text = self.game.text(action)
        record.answered_index = index
        secret, lasting = self.game.is_secret(self.state), self.game.stays_secret(self.state, seat, action)
        self.game.apply(self.state, seat, action)
        entries = self._wrote(Acted(now_ms, seat, turn, text, used, note, secret, lasting))
        record.answered_turn, record.answered_text, record.answered_revision = turn, text, self.revision
        accepted = Accepted(self.revision, text, False)
        return accepted, entries + self._go_on(now_ms)

    def _known(self, seat: int) -> None:
        if not 0 <= seat < len(self.seats):
            raise BadRequest("seat", seat, f"0 to {len(self.seats) - 1}")

    def _out(self, seat: int) -> SeatForfeited | SessionEnded | None:
        """Return why the seat no longer plays; None if it does."""
        fault = self.seats[seat].fault
        if fault:
            message = f"seat {seat} was forfeited ({fault}); the automaton plays it"
            return SeatForfeited(message, seat=str(seat), fault=fault)
        return self._ended() if self.status != ACTIVE else None

    def _ended(self) -> SessionEnded:
        return SessionEnded(f"session {self.header.id} has ended", session=self.header.id, revision=str(self.revision))

    def _closed(self, seat: int, turn: int, question: str | None) -> Stale | None:
        """Return why this turn of the seat is not open; None if it is."""
        out = self._out(seat)
        if out is not None:
            return Stale(out)
        record = self.seats[seat]
        if not record.is_asked:
            return Stale(NotYourTurn(f"seat {seat} has no open question", seat=str(seat), revision=str(self.revision)))
        if turn != record.turn:
            message = f"turn {turn} is not the open question of seat {seat}; that is turn {record.turn}"
            expected = str(record.turn)
        elif question is not None and question != record.question:
            message = (
                f"turn {turn} of seat {seat} is asked again in another position, since the store lost its newest writes; "
                "wait for the question"
            )
            expected = str(turn)
        else:
            return None
        return Stale(StaleTurn(message, seat=str(seat), turn=str(turn), expected=expected, revision=str(self.revision)))

    def _repeat(self, record: Seat, turn: int, choice: int | str) -> Accepted | Stale | None:
        """Return the first reply again if this answer was accepted before, and Stale if a different one was."""
        if not turn or turn != record.answered_turn:
            return None
        accepted = record.answered_text
        if isinstance(choice, str):
            try:
                same = self.game.text(self.game.read(choice)) == accepted
            except Unreadable:
                same = False
        else:
            same = choice == record.answered_index
        if same:
            return Accepted(record.answered_revision, accepted, True)
        return Stale(
            StaleTurn(
                f"turn {turn} was answered with {accepted!r}",
                turn=str(turn),
                stands=accepted,
                revision=str(record.answered_revision),
            )
        )

    def _find(self, seat: int, choice: int | str) -> tuple[int, Any] | ActionRefused:
        """Return the chosen action and its index among the legal ones, or why there is none."""
        actions = self.game.legal_actions(self.state, seat)
        if isinstance(choice, int):
            if 0 <= choice < len(actions):
                return choice, actions[choice]
            return ActionRefused(
                "NO_SUCH_INDEX", "", f"index {choice}: there are {len(actions)} legal actions", readable=False
            )
        try:
            action = self.game.read(choice)
        except Unreadable as error:
            note = f"this is no action; expected {error.expected}"
            return ActionRefused("UNREADABLE", "", str(error), readable=False, note=note)
        if action not in actions:
            try:
                self.game.apply(self.game.copy(self.state), seat, action)
            except core.Refused as refused:
                return ActionRefused(refused.reason, refused.rule, refused.message, readable=True)
        return actions.index(action), action

    def refuse(self, seat: int, turn: int, refused: ActionRefused, now_ms: int) -> list[Entry]:
        """Count a refused answer; the third one forfeits the seat."""
        self._known(seat)
        record = self.seats[seat]
        if turn != record.turn or not record.is_asked:
            return []
        record.refusals += 1
        entries = self._wrote(AnswerRefused(now_ms, seat, turn, refused.reason, refused.note[:NOTE_LIMIT]))
        if record.refusals >= REFUSAL_LIMIT:
            entries += self._forfeit([seat], Fault.REFUSED_ACTIONS, now_ms)
        return entries

    def expire(
        self, now_ms: int, is_connected: Callable[[int], bool], excuse: Excuse = lambda _: (0, "")
    ) -> list[Entry]:
        """Forfeit every seat whose clock has run out, in the order in which they ran out: an earlier fault ranks lower.

        Time lost to outages is not counted.
        """
        entries: list[Entry] = []
        for number in sorted(self.open_seats(), key=lambda number: self.seats[number].clock.deadline_ms):
            clock = self.seats[number].clock
            if self.status == ACTIVE and clock.asked_ms and clock.is_late(now_ms):
                lost_ms, outage = excuse(number)
                if not clock.is_late(now_ms, lost_ms):
                    continue
                fault = Fault.TIMEOUT if is_connected(number) else Fault.DISCONNECTED
                entries += self._forfeit([number], fault if clock.is_seated else Fault.NO_SHOW, now_ms, outage)
        return entries

    def resign(self, seat: int, now_ms: int, fault: Fault = Fault.RESIGNED) -> list[Entry]:
        """Forfeit the seat because it resigns, or for another fault named by the operator."""
        self._known(seat)
        out = self._out(seat)
        if out is not None:
            raise out
        return self._forfeit([seat], fault, now_ms)

    def adjudicate(self, ranks: list[int], now_ms: int) -> list[Entry]:
        """End the session now, with these ranks, or with those that result when the automaton plays every seat to the end."""
        self._running()
        if ranks:
            good = sorted(ranks) == sorted(1 + sum(other < rank for other in ranks) for rank in ranks)
            if len(ranks) != len(self.seats) or not good:
                expected = (
                    f"one rank for each of {len(self.seats)} seats, such as 1 1 3: tied seats share the better rank"
                )
                raise BadRequest("ranks", ranks, expected)
            outcome = self._bare_outcome(ranks)
        else:
            entries: list[Entry] = []
            while self.game.to_act(self.state):
                entries += self._automaton_move(self.game.to_act(self.state)[0], now_ms)
            played = self.game.outcome(self.state)
            assert played is not None
            outcome = self._with_faults(played)
            return entries + self._end(Status.FINISHED, replace(outcome, ending=ADJUDICATED), now_ms)
        return self._end(Status.FINISHED, replace(outcome, ending=ADJUDICATED), now_ms)

    def cancel(self, reason: str, now_ms: int) -> list[Entry]:
        """End the session without a result."""
        self._running()
        return self._end(Status.CANCELLED, None, now_ms, reason)

    def reveal(self, now_ms: int) -> list[Entry]:
        """Publish the seeds of an ended session; has no effect the second time."""
        if self.status == ACTIVE:
            raise SessionRunning(f"session {self.header.id} is still being played", session=self.header.id)
        if self.revealed:
            return []
        self.revealed = True
        return self._wrote(Revealed(now_ms))

    # ----------------------------------------------------------------------------------------------------------- inside
    def _running(self) -> None:
        if self.status != ACTIVE:
            raise self._ended()

    def _wrote(self, entry: Entry) -> list[Entry]:
        self.revision += 1
        return [entry]

    def _ask(self, now_ms: int) -> None:
        for seat in self.game.to_act(self.state):
            record = self.seats[seat]
            if not record.is_asked and not record.fault:
                record.turn += 1
                record.clock = record.clock.ask(now_ms)

    def _go_on(self, now_ms: int) -> list[Entry]:
        """Let the automaton play for forfeited seats, then ask the next seats or end the game."""
        entries: list[Entry] = []
        while True:
            acting = self.game.to_act(self.state)
            if not acting:
                played = self.game.outcome(self.state)
                assert played is not None
                return entries + self._end(Status.FINISHED, self._with_faults(played), now_ms)
            absent = [seat for seat in acting if self.seats[seat].fault]
            if not absent:
                self._ask(now_ms)
                return entries
            entries += self._automaton_move(absent[0], now_ms)

    def _automaton_move(self, seat: int, now_ms: int) -> list[Entry]:
        """Make one decision by the automaton; its random numbers are keyed, so that a replay gives the same decision."""
        draws = Draws(self.header.deck_seed, f"house/{self.revision}")
        action = self.game.automaton(self.state, seat, draws)
        secret, lasting = self.game.is_secret(self.state), self.game.stays_secret(self.state, seat, action)
        self.game.apply(self.state, seat, action)
        return self._wrote(AutomatonActed(now_ms, seat, self.game.text(action), secret, lasting))

    def _forfeit(self, seats: list[int], fault: Fault, now_ms: int, outage: str = "") -> list[Entry]:
        entries: list[Entry] = []
        for seat in seats:
            record = self.seats[seat]
            record.fault_order = 1 + max(other.fault_order for other in self.seats)
            record.fault = fault
            record.clock = record.clock.stop()
            record.outage = outage
            entries += self._wrote(Forfeited(now_ms, seat, record.turn, fault, outage))
        if sum(not record.fault for record in self.seats) < min(2, len(self.seats)):
            # At most one seat still plays, so the ranking is decided; a solo game without its player ends too.
            ranks = [1] * len(self.seats)
            outcome = self._with_faults(replace(self._bare_outcome(ranks), ending=FORFEIT))
            return entries + self._end(Status.FINISHED, outcome, now_ms)
        return entries + self._go_on(now_ms)

    def _bare_outcome(self, ranks: list[int]) -> Outcome:
        """Return an outcome without a score sheet."""
        results = [Result(f"seat {seat}", rank, 0, ()) for seat, rank in enumerate(ranks)]
        return Outcome(tuple(results), "")

    def _with_faults(self, outcome: Outcome) -> Outcome:
        """Rank the seats that still play among themselves; forfeited seats follow, the earliest fault last."""
        if not any(record.fault for record in self.seats):
            return outcome
        playing = [result.rank for seat, result in enumerate(outcome.seats) if not self.seats[seat].fault]
        results = []
        for seat, result in enumerate(outcome.seats):
            record = self.seats[seat]
            if record.fault:
                later = sum(other.fault_order > record.fault_order for other in self.seats)
                rank = (
                    1 + len(playing) + later if len(self.seats) > 1 else 2
                )  # a forfeited solo player has lost to the game
            else:
                rank = 1 + sum(other < result.rank for other in playing)
            results.append(replace(result, rank=rank))
        return replace(outcome, seats=tuple(results))

    def _end(self, status: Status, outcome: Outcome | None, now_ms: int, note: str = "") -> list[Entry]:
        self.status = status
        self.outcome = outcome
        self.ended_ms = now_ms
        for record in self.seats:
            record.clock = record.clock.stop()
        entries = self._wrote(Ended(now_ms, status, note))
        return entries if self.header.hold_seeds else entries + self.reveal(now_ms)


def new_session(header: Header, now_ms: int) -> Session:
    """Create a session from its header and ask the first questions."""
    game = games.get(header.game)
    state = game.new(header.seats, header.options, header.seeds)
    session = Session(header, game, state)
    session.begin(now_ms)
    return session
