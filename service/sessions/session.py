"""The life of a session: questions, answers, clocks, faults, and the end. Pure: time comes in as a number.

A session is its seeds, its options and what was said; the state kept beside them is only a cache of their replay. Every
method that changes something returns the log entries it wrote, one for each revision; whoever calls it saves them or
forgets the session.
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
#: Raised when stored sessions change their shape; the first item of a stored header.
FORMAT: Final = 2
#: Asked for several times a move, and slow to find on its class.
ACTIVE: Final = Status.ACTIVE


class Header(Struct, frozen=True, array_like=True, tag=FORMAT):
    """What never changes in a session."""

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
    #: Other sessions have the same cards: only the operator and its seats may look before the seeds are revealed.
    sealed: bool = False
    #: Drawn when the session was created: another session may have its id later. Empty if an older version created it.
    creation_id: str = ""

    @property
    def seats(self) -> int:
        return len(self.bots)

    @property
    def seeds(self) -> Seeds:
        return Seeds(self.table_seed, self.deck_seed)


def commitment(seed: bytes) -> bytes:
    """What is published of a seed before the first move."""
    return blake2b(seed, digest_size=32).digest()


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer that stands: where, and what it was."""

    revision: int
    text: str
    repeated: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The rules refuse the answer, or it cannot be read; the refusal is counted."""

    error: ActionRefused


@dataclass(frozen=True, slots=True)
class Late:
    """The answer was heard after the seat's clock had run out."""

    error: SeatForfeited


@dataclass(frozen=True, slots=True)
class Stale:
    """There is no such open question: it was answered, never asked, or the seat or the session plays no more."""

    error: StaleTurn | NotYourTurn | SeatForfeited | SessionEnded


#: What comes of an answer.
Reply: TypeAlias = Accepted | Refused | Late | Stale


class Seat(Struct, array_like=True):
    """One seat's questions, clock and record."""

    clock: Clock
    #: How many questions were put to this seat; the last one is open if its clock says so.
    turn: int = 0
    refusals: int = 0
    fault: Fault = Fault.NONE
    #: The place of its fault in the order of faults.
    fault_order: int = 0
    #: The last accepted answer: its turn, its text, its place among the legal actions, its revision.
    answered_turn: int = 0
    answered_text: str = ""
    answered_index: int = 0
    answered_revision: int = 0
    #: The mark of the save that put the open question; empty until it is saved, and once it is answered. After a loss in the
    #: store the same turn may be asked in another position: its number is the same, its mark is not.
    question: str = ""
    #: If it was forfeited although an outage of ours fell into the time it had: which outage.
    outage: str = ""

    @property
    def is_asked(self) -> bool:
        """Whether the seat has an open question."""
        return self.clock.asked_ms != 0


#: By seat: how much of its question's time, up to now, was lost to outages of ours, and which these were.
Excuse: TypeAlias = Callable[[int], tuple[int, str]]
#: How much of the time between two moments was lost to outages of ours, in milliseconds.
LostTime: TypeAlias = Callable[[int, int], int]


class Session:
    """One play of a game."""

    __slots__ = ("ended_ms", "game", "header", "mark", "outcome", "revealed", "revision", "seats", "state", "status")

    def __init__(self, header: Header, game: AnyGame, state: Any) -> None:
        self.header = header
        self.game = game
        self.state = state
        self.revision = 0
        #: The identity of this position in its store, unique to the save that wrote it; empty before the first one.
        self.mark = ""
        self.status: Status = ACTIVE
        control = header.time_control
        self.seats = [Seat(Clock(control, control.bank_ms)) for _ in header.bots]
        self.ended_ms = 0
        self.outcome: Outcome | None = None
        self.revealed = False

    # ---------------------------------------------------------------------------------------------------------- asking
    def open_seats(self) -> list[int]:
        """The seats with an open question."""
        return [number for number, seat in enumerate(self.seats) if seat.clock.asked_ms]

    def next_deadline_ms(self) -> int:
        """The earliest moment at which a clock runs out; 0 if none runs."""
        earliest = 0
        for seat in self.seats:  # a loop, for this is asked after every move
            if seat.clock.asked_ms:
                deadline = seat.clock.deadline_ms
                if not earliest or deadline < earliest:
                    earliest = deadline
        return earliest

    def legal_texts(self, seat: int) -> list[str]:
        """What the seat may answer, in the order an index counts."""
        return [self.game.text(action) for action in self.game.legal_actions(self.state, seat)]

    # --------------------------------------------------------------------------------------------------------- changing
    def begin(self, now_ms: int) -> None:
        """Put the first questions."""
        self._ask(now_ms)

    def stamp(self, mark: str) -> str:
        """Give this position, and every question that it opens, the mark of the save that writes it; the mark it replaces."""
        before, self.mark = self.mark, mark
        for seat in self.seats:
            if not seat.question and seat.clock.asked_ms:
                seat.question = mark
        return before

    def take_seat(self, seat: int, now_ms: int) -> list[Entry]:
        """The seat has turned up: from now on its clock runs. Nothing happens the second time."""
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
        """Answer the open question of a seat; only Accepted and Refused change something.

        ``think_ms`` is what the service measured around the question; without it the time since the question was put counts.
        ``heard_ms``: when the answer came. What was heard in time is in time, however long it has waited since; without it the
        answer is in time. ``question``: the mark of the question that the seat was sent, if that is known. ``lost_ms``: how much
        of the time between two moments was lost to outages of ours.
        """
        self._known(seat)
        if len(note) > NOTE_LIMIT:
            raise BadRequest("note", f"{len(note)} characters", f"at most {NOTE_LIMIT}")
        record = self.seats[seat]
        # First of all: the answer that ended the game, or the seat's last one, may be the one whose reply was lost.
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
        """Why the seat plays no more; None if it does."""
        fault = self.seats[seat].fault
        if fault:
            message = f"seat {seat} was forfeited ({fault}); the automaton plays it"
            return SeatForfeited(message, seat=str(seat), fault=fault)
        return self._ended() if self.status != ACTIVE else None

    def _ended(self) -> SessionEnded:
        return SessionEnded(f"session {self.header.id} has ended", session=self.header.id, revision=str(self.revision))

    def _closed(self, seat: int, turn: int, question: str | None) -> Stale | None:
        """Why this turn of the seat is no open question; None if it is one."""
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
        """The first reply again, if this very answer was accepted before; Stale if another one was."""
        if not turn or turn != record.answered_turn:
            return None
        said = record.answered_text
        if isinstance(choice, str):
            try:
                same = self.game.text(self.game.read(choice)) == said
            except Unreadable:
                same = False
        else:
            same = choice == record.answered_index
        if same:
            return Accepted(record.answered_revision, said, True)
        return Stale(
            StaleTurn(
                f"turn {turn} was answered with {said!r}",
                turn=str(turn),
                stands=said,
                revision=str(record.answered_revision),
            )
        )

    def _find(self, seat: int, choice: int | str) -> tuple[int, Any] | ActionRefused:
        """The action meant and its place among the legal ones, or why there is none."""
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
        """Forfeit every seat whose clock has run out, in the order in which they ran out: the earlier fault is the lower.

        What was lost to outages of ours is not counted.
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
        """The seat gives up, or the operator takes it away for another cause."""
        self._known(seat)
        out = self._out(seat)
        if out is not None:
            raise out
        return self._forfeit([seat], fault, now_ms)

    def adjudicate(self, ranks: list[int], now_ms: int) -> list[Entry]:
        """End the session now: with these ranks, or with those the automaton reaches by playing every seat to the end."""
        self._running()
        if ranks:
            good = sorted(ranks) == sorted(1 + sum(other < rank for other in ranks) for rank in ranks)
            if len(ranks) != len(self.seats) or not good:
                expected = f"one rank for each of {len(self.seats)} seats, such as 1 1 3: equals share the better rank"
                raise BadRequest("ranks", ranks, expected)
            outcome = self._bare_outcome(ranks)
        else:
            entries: list[Entry] = []
            while self.game.to_act(self.state):
                entries += self._automaton_move(self.game.to_act(self.state)[0], now_ms)
            played = self.game.outcome(self.state)
            assert played is not None
            outcome = self._with_faults(played)
            return entries + self._end(Status.FINISHED, replace(outcome, ending="ADJUDICATED"), now_ms)
        return self._end(Status.FINISHED, replace(outcome, ending="ADJUDICATED"), now_ms)

    def cancel(self, reason: str, now_ms: int) -> list[Entry]:
        """End the session without a result."""
        self._running()
        return self._end(Status.CANCELLED, None, now_ms, reason)

    def reveal(self, now_ms: int) -> list[Entry]:
        """Publish the seeds of an ended session. Nothing happens the second time."""
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
        """One decision by the automaton; its chance is keyed, so that a replay finds the same one."""
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
            # Nobody is left to play against: the ranking is settled, and so is a solo game without its player.
            ranks = [1] * len(self.seats)
            outcome = self._with_faults(replace(self._bare_outcome(ranks), ending="FORFEIT"))
            return entries + self._end(Status.FINISHED, outcome, now_ms)
        return entries + self._go_on(now_ms)

    def _bare_outcome(self, ranks: list[int]) -> Outcome:
        """A result without a score sheet."""
        results = [Result(f"seat {seat}", rank, 0, ()) for seat, rank in enumerate(ranks)]
        return Outcome(tuple(results), "")

    def _with_faults(self, outcome: Outcome) -> Outcome:
        """Those who played are ranked among themselves; the forfeited come after them, the earliest fault last."""
        if not any(record.fault for record in self.seats):
            return outcome
        playing = [result.rank for seat, result in enumerate(outcome.seats) if not self.seats[seat].fault]
        results = []
        for seat, result in enumerate(outcome.seats):
            record = self.seats[seat]
            if record.fault:
                later = sum(other.fault_order > record.fault_order for other in self.seats)
                rank = 1 + len(playing) + later if len(self.seats) > 1 else 2  # alone: nobody won but the game
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
    """A table laid as the header says, with its first questions put."""
    game = games.get(header.game)
    state = game.new(header.seats, header.options, header.seeds)
    session = Session(header, game, state)
    session.begin(now_ms)
    return session
