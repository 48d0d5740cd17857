"""The sessions as the service works with them: cached, changed one at a time, and saved before anyone is notified.

Any copy of the service may change any session, so the cache may be outdated: a change made on an outdated session fails when
it is saved, and is made again on the stored one. A refusal based on the cache is checked against the store before it is
returned.
"""

import asyncio
import heapq
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from service.games.core import OptionValue
from service.sessions.entries import Entry
from service.sessions.errors import (
    Conflict,
    SeatForfeited,
    SessionError,
    SessionExists,
    UnknownSession,
    UnreadableSession,
)
from service.sessions.outages import Outages
from service.sessions.queues import SessionQueues
from service.sessions.session import ACTIVE, Header, Late, Reply, Session, Stale, new_session
from service.sessions.store import Recipients, Store

T = TypeVar("T")
_LOG: Final = logging.getLogger(__name__)
#: How often a change is retried: in a simultaneous phase every other seat may be saved first.
_TRIES: Final = 64
_CACHE: Final = 4096
_SAVED: Final = 2 * _CACHE
#: How soon a clock that an outage has stopped is checked again, in milliseconds.
_AGAIN_MS: Final = 1000
#: Entries of ended sessions that the heap of timers may hold in any case.
_DEAD_TIMERS: Final = 1024


class Change:
    """A saved change, for listeners: the session, its new entries, and the seats with news."""

    __slots__ = ("entries", "seats", "session")

    def __init__(self, session: Session, entries: list[Entry], seats: list[int]) -> None:
        self.session = session
        self.entries = entries
        self.seats = seats


def _standing(session: Session) -> list[tuple[int, bool, str, str]]:
    """Return by seat what its bot is notified of when it changes: question, running clock, fault, end."""
    status = session.status
    return [
        (seat.turn if seat.clock.asked_ms else 0, seat.clock.is_seated, seat.fault, status) for seat in session.seats
    ]


def _with_news(session: Session, before: list[tuple[int, bool, str, str]]) -> list[int]:
    """Return the seats with news."""
    return [seat for seat, now in enumerate(_standing(session)) if now != before[seat]]


class ConnectedBots(Protocol):
    """Which bots are connected."""

    def is_here(self, bot: str) -> bool:
        """Whether this copy holds the bot's stream; it then notifies the bot directly, otherwise through Redis."""

    async def is_connected(self, bot: str) -> bool:
        """Whether the bot has a live stream anywhere."""


class NobodyConnected:
    """No bot is connected, as in tools that play sessions without bots."""

    def is_here(self, bot: str) -> bool:
        del bot
        return False

    async def is_connected(self, bot: str) -> bool:
        del bot
        return False


@dataclass(slots=True)
class Answer:
    """The answer of a seat, the question it belongs to, and when it was received."""

    seat: int
    turn: int
    choice: int | str
    note: str
    #: When it was received. Later waiting, for the store or for a retry, does not count.
    heard_ms: int
    #: The measured thinking time; None: the time since the question was asked.
    think_ms: int | None = None
    #: The mark of the question that the seat was sent, if known.
    question: str | None = None


#: Changes a session; returns the result and the log entries. Called again on the stored session if that has changed.
Make: TypeAlias = Callable[[Session], tuple[T, list[Entry]]]
#: Called with the result of a change, or with the exception that prevented it.
Done: TypeAlias = Callable[[T | Exception], None]


def set_result(waiting: "asyncio.Future[T]", result: T | Exception) -> None:
    """Set the result of a future, unless its owner has stopped waiting."""
    if waiting.done():
        return
    if isinstance(result, Exception):
        waiting.set_exception(result)
    else:
        waiting.set_result(result)


class _PendingChange(Generic[T]):
    """A change in progress: made, saved, and made again if the session was outdated."""

    __slots__ = ("answer", "done", "is_fresh", "make", "session_id", "tries")

    def __init__(self, session_id: str, make: Make[T], done: Done[T], answer: Answer | None = None) -> None:
        self.session_id = session_id
        self.make = make
        self.done = done
        #: The answer of a seat: if it is late, clocks are enforced before the result is returned.
        self.answer = answer
        self.tries = 0
        #: The session it was last made on had just been read from the store.
        self.is_fresh = False


class LiveSessions:
    """All sessions. ``now_ms`` is the only clock."""

    def __init__(
        self,
        store: Store,
        now_ms: Callable[[], int],
        outages: Outages | None = None,
        presence: ConnectedBots | None = None,
    ) -> None:
        self.store = store
        self.now_ms = now_ms
        self.outages = outages or Outages()
        self._presence = presence or NobodyConnected()
        self._cache: OrderedDict[str, Session] = OrderedDict()
        #: Creation id, revision and mark of the last positions that this copy knows to be saved, including ended sessions.
        self._saved: dict[str, tuple[str, int, str]] = {}
        #: The logs of watched sessions, as far as this copy knows them.
        self._logs: dict[str, list[Entry]] = {}
        self._queues = SessionQueues()
        #: Changes that wait for the store; the event loop holds only weak references.
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[Change], None]] = []
        self._loss_listeners: list[Callable[[Session], None]] = []
        self._timers: list[tuple[int, str]] = []
        #: By session: its earliest timer.
        self._timer_of: dict[str, int] = {}
        self.conflicts = 0

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call the listener after every change that this copy has saved."""
        self._listeners.append(listener)

    def listen_for_losses(self, listener: Callable[[Session], None]) -> None:
        """Call the listener with every session whose newest saved positions the store has lost."""
        self._loss_listeners.append(listener)

    # ---------------------------------------------------------------------------------------------------------- reading
    async def read(self, session_id: str) -> Session:
        """Return the session as it was last saved. The caller must not change it."""
        async with self._queues.turn(session_id):
            return await self._load(session_id, fresh=True)

    async def refresh(self, session_id: str, mark: str = "") -> Session:
        """Like ``read``, but return the cached session if it has this mark, or if no mark is given."""
        async with self._queues.turn(session_id):
            session = await self._load(session_id, fresh=False)
            if mark and session.mark != mark:  # older, newer, or from a history that the store has lost
                session = await self._load(session_id, fresh=True)
            return session

    async def read_unchanged(self, session_ids: Sequence[str]) -> dict[str, Session]:
        """Return those sessions whose cached version equals the stored one, with one round trip for all."""
        remembered = [session_id for session_id in session_ids if session_id in self._cache]
        stored = await self.store.marks(remembered)
        found: dict[str, Session] = {}
        for session_id, mark in zip(remembered, stored, strict=True):
            session = self._cache.get(session_id)
            if (
                session is not None and session.mark == mark
            ):  # a cached session whose move is being saved is ahead of the store
                found[session_id] = session
        return found

    async def read_for_list(self, session_ids: Sequence[str]) -> list[Session]:
        """Return these sessions as stored, without those that have expired or were written by another version.

        Nothing is cached: a caller who lists all sessions does not displace those that are played here.
        """
        found: list[Session] = []
        for session_id in session_ids:
            with suppress(UnknownSession, UnreadableSession):
                found.append(await self.store.load(session_id))
        return found

    async def read_log(self, session_id: str, after: int, *, fresh: bool = True) -> tuple[Session, list[Entry]]:
        """Return a session as last saved, and its log from revision ``after`` + 1 up to the session's own revision.

        Without ``fresh``, the cached session and log are enough.
        """
        # No change may be in progress: an unsaved move would be in one of them and not in the other.
        async with self._queues.turn(session_id):
            known, log = self._cache.get(session_id), self._logs.get(session_id)
            if not fresh and known is not None and log is not None and len(log) == known.revision:
                return known, log[after:]
            session, entries = await self.store.log(session_id, after if log is None else 0, known)
            self._remember(session)
            if log is None:
                return session, entries
            log[:] = entries
            return session, entries[after:]

    def keep_log(self, session_id: str) -> None:
        """Cache the log of a session too, because it is being watched, until ``drop_log`` is called."""
        self._logs[session_id] = []

    def drop_log(self, session_id: str) -> None:
        """Stop caching the log: the session is no longer watched."""
        del self._logs[session_id]

    def forget(self, session_id: str) -> None:
        """Drop the cached session, because it is outdated."""
        self._cache.pop(session_id, None)

    async def _load(self, session_id: str, *, fresh: bool) -> Session:
        session = self._cache.get(session_id)
        if session is not None and (not fresh or await self.store.mark(session_id) == session.mark):
            if session_id in self._cache:  # a notification may have dropped it during the request
                self._cache.move_to_end(session_id)
            return session
        session = await self.store.load(session_id)
        self._remember(session)
        return session

    def _remember(self, session: Session) -> None:
        session_id = session.header.id
        if self._logs and session_id in self._logs and self._cache.get(session_id) is not session:
            self._logs[session_id].clear()  # the cached log belongs to the previous cached session
        creation_id, revision, mark = self._saved.get(session_id, ("", -1, ""))
        self._saved[session_id] = (session.header.creation_id, session.revision, session.mark)
        if len(self._saved) > _SAVED:
            del self._saved[next(iter(self._saved))]  # the oldest
        if session.revision <= revision and session.mark != mark and session.header.creation_id == creation_id:
            _LOG.warning(
                "session %s: the store has lost its newest writes; revision %d was saved, and it stands at %d",
                session_id,
                revision,
                session.revision,
            )
            for listener in self._loss_listeners:
                listener(session)
        if session.status != ACTIVE:  # rarely read again, and then from the store
            self.forget(session_id)
            self._drop_timer(session_id)
            return
        self._cache[session_id] = session
        self._cache.move_to_end(session_id)
        if len(self._cache) > _CACHE:
            self._cache.popitem(last=False)
        self._set_timer(session_id, session.next_deadline_ms())

    def _set_timer(self, session_id: str, deadline: int) -> None:
        """Check the session at this time. There is one timer per session: if it fires too early, it is set again."""
        if deadline and deadline < self._timer_of.get(session_id, deadline + 1):
            self._timer_of[session_id] = deadline
            heapq.heappush(self._timers, (deadline, session_id))

    def _drop_timer(self, session_id: str) -> None:
        """Drop the timer of an ended session. Its entry leaves the heap when most entries are such."""
        self._timer_of.pop(session_id, None)
        if len(self._timers) > 2 * len(self._timer_of) + _DEAD_TIMERS:
            self._timers = [(deadline, id_) for id_, deadline in self._timer_of.items()]
            heapq.heapify(self._timers)

    # --------------------------------------------------------------------------------------------------------- changing
    async def create(self, header: Header, *, seeds_given: bool = False) -> Session:
        """Create a session; repeating the request returns the same one. Raises SessionExists if another one has the id.

        ``seeds_given``: the seeds are part of the request, not drawn at random.
        """
        session = new_session(header, header.created_ms)
        found = await self.store.create(session, self._recipients(session, range(header.seats)))
        if found is None:
            async with self._queues.turn(header.id):
                self._remember(session)
            self._tell(Change(session, [], list(range(header.seats))))
            return session
        if not _same_request(found, header) or (seeds_given and found.seeds != header.seeds):
            raise SessionExists(f"session {header.id!r} exists already, with different settings", session=header.id)
        return await self.read(header.id)

    def submit(self, session_id: str, make: Make[T], done: Done[T]) -> None:
        """Change a session and save it, after the changes that are already queued; ``done`` is called with the result.

        ``make`` may be called several times, each time on an unchanged session. A refusal based on an outdated session is repeated
        on the stored one.
        """
        self._queues.add(session_id, partial(self._begin, _PendingChange(session_id, make, done)))

    async def change(self, session_id: str, make: Make[T]) -> T:
        """Change a session and wait for the result. Cancelling the caller does not stop the change."""
        settled: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.submit(session_id, make, partial(set_result, settled))
        return await settled

    def answer(self, session_id: str, answer: Answer, done: Done[Reply]) -> None:
        """Answer the open question of a seat; a refused answer is counted, and a late one forfeits the seat."""
        work = _PendingChange(session_id, partial(self._answered, answer), done, answer)
        self._queues.add(session_id, partial(self._begin, work))

    def _answered(self, answer: Answer, session: Session) -> tuple[Reply, list[Entry]]:
        return session.answer(
            answer.seat,
            answer.turn,
            answer.choice,
            answer.note,
            self.now_ms(),
            answer.think_ms,
            heard_ms=answer.heard_ms,
            question=answer.question,
            lost_ms=self.outages.lost_ms,
        )

    async def _forfeit(self, session_id: str, answer: Answer, done: Done[Reply]) -> None:
        """Handle a late answer: enforce the clocks of the session, then report the effect to the seat."""
        seat = answer.seat

        def make(session: Session) -> tuple[Reply, list[Entry]]:
            entries = self._expire(session, connected)
            fault = session.seats[seat].fault
            if fault:
                message = f"the answer came too late; seat {seat} was forfeited ({fault})"
                return Late(SeatForfeited(message, seat=str(seat), fault=fault)), entries
            # Another seat's clock ran out first and ended the game, or an outage now excuses this seat.
            reply, more = session.answer(
                seat, answer.turn, answer.choice, answer.note, self.now_ms(), answer.think_ms, question=answer.question
            )
            return reply, entries + more

        try:
            session = await self.read(session_id)
            connected = await self._connected(session, speaking=seat)
        except Exception as error:
            done(error)
        else:
            self.submit(session_id, make, done)

    async def _connected(self, session: Session, speaking: int | None = None) -> list[bool]:
        """Return by seat whether its bot is connected. An open seat has no stream, and counts as connected.

        ``speaking``: a seat whose answer is being handled.
        """
        return [
            not bot or seat == speaking or await self._presence.is_connected(bot)
            for seat, bot in enumerate(session.header.bots)
        ]

    def _begin(self, work: _PendingChange[Any]) -> None:
        session = self._cache.get(work.session_id)
        if session is None:
            self._spawn(self._make_on_stored(work))
        else:
            self._make(work, session)

    def _make(self, work: _PendingChange[Any], session: Session) -> None:
        """Apply a change to a session that equals the saved one."""
        before = _standing(session)
        since, mark = session.revision, session.mark
        result: Any
        try:
            result, entries = work.make(session)
            if entries:
                change = Change(session, entries, _with_news(session, before))
                recipients = self._recipients(session, change.seats)
                self.store.save(session, entries, recipients, partial(self._end_save, work, change, result))
                return
        except SessionError as error:
            result = error
            if session.revision != since:  # partly applied: the cached session is no longer the stored one
                self.forget(work.session_id)
        except Exception as error:
            self.forget(work.session_id)
            self._end(work, error)
            return
        if not work.is_fresh and isinstance(result, Stale | Late | SessionError):
            self._spawn(self._confirm(work, mark, result))
        else:
            self._end(work, result)

    def _end_save(self, work: _PendingChange[Any], change: Change, result: Any, error: Exception | None) -> None:
        if error is None:
            self._remember(change.session)
            log = self._logs.get(work.session_id)
            if log is not None:  # a log without its beginning is too short for the revision, and is read again
                log += change.entries
            self._tell(change)
            self._end(work, result)
            return
        self.forget(work.session_id)  # not the stored session, or it is unknown whether it was saved
        if not isinstance(error, Conflict):
            self._end(work, error)
            return
        self.conflicts += 1
        work.tries += 1
        if work.tries < _TRIES:  # another copy saved first: the change may still be valid on the stored session
            self._spawn(self._make_on_stored(work))
        else:
            message = f"session {work.session_id} changes faster than this request can be applied; try again"
            self._end(work, Conflict(message, session=work.session_id))

    async def _confirm(self, work: _PendingChange[Any], mark: str, result: Any) -> None:
        """Confirm a refusal: if the cached session is not the stored one, the change is made again."""
        try:
            is_current = await self.store.mark(work.session_id) == mark
        except BaseException as error:
            self._fail(work, error)
            return
        if is_current:
            self._end(work, result)
        else:
            self.forget(work.session_id)
            await self._make_on_stored(work)

    async def _make_on_stored(self, work: _PendingChange[Any]) -> None:
        try:
            session = await self.store.load(work.session_id)
            self._remember(session)
        except BaseException as error:
            self._fail(work, error)
            return
        work.is_fresh = True
        self._make(work, session)

    def _fail(self, work: _PendingChange[Any], error: BaseException) -> None:
        if isinstance(error, Exception):
            self._end(work, error)
            return
        self._queues.end(work.session_id)  # this copy is stopping
        raise error

    def _end(self, work: _PendingChange[Any], result: Any) -> None:
        try:
            if work.answer is not None and isinstance(result, Late):
                self._spawn(self._forfeit(work.session_id, work.answer, work.done))
            else:
                work.done(result)
        except Exception:  # an error in the callback must not block the session's queue
            _LOG.exception("the callback of a change of session %s failed", work.session_id)
        self._queues.end(work.session_id)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _recipients(self, session: Session, seats: Iterable[int]) -> Recipients:
        bots = {session.header.bots[seat] for seat in seats}
        return Recipients(tuple(sorted(bot for bot in bots if bot and not self._presence.is_here(bot))))

    def _tell(self, change: Change) -> None:
        for listener in self._listeners:
            try:
                listener(change)
            except Exception:  # the change is saved even if a listener fails
                _LOG.exception("a listener of session %s failed", change.session.header.id)

    async def take_seat(self, session_id: str, seat: int) -> None:
        """Mark the seat as connected."""
        await self.change(session_id, lambda session: (None, session.take_seat(seat, self.now_ms())))

    # ----------------------------------------------------------------------------------------------------------- clocks
    async def expire_due(self) -> None:
        """Forfeit the seats whose clocks have run out in the cached sessions."""
        now = self.now_ms()
        due: set[str] = set()
        while self._timers and self._timers[0][0] <= now:
            at, session_id = heapq.heappop(self._timers)
            if self._timer_of.get(session_id) == at:
                del self._timer_of[session_id]
            due.add(session_id)
        for session_id in due:
            session = self._cache.get(session_id)
            if session is None:
                continue  # not cached: the copy that saved it last, or the deadline enforcer, checks it
            deadline = session.next_deadline_ms()
            if deadline and deadline < now:
                try:
                    if await self.enforce(session_id) is not None and session_id in self._cache:
                        self._set_timer(session_id, now + _AGAIN_MS)  # an outage has stopped the clock
                except SessionError:
                    raise  # the store is away for all sessions; the deadline enforcer checks them when it is back
                except Exception:
                    _LOG.exception("the clocks of session %s cannot be enforced", session_id)
            else:
                self._set_timer(session_id, deadline)

    async def enforce(self, session_id: str) -> Session | None:
        """Forfeit every seat of a session whose clock has run out. Any copy may do this; the save decides which one did."""
        try:
            session = await self.read(session_id)
            deadline = session.next_deadline_ms()
            if session.status != ACTIVE or not deadline or self.now_ms() <= deadline:
                return session
            connected = await self._connected(session)
            await self.change(session_id, lambda session: (None, self._expire(session, connected)))
            return await self.refresh(session_id)
        except UnknownSession:
            self.forget(session_id)
            return None

    def _expire(self, session: Session, connected: Sequence[bool]) -> list[Entry]:
        now = self.now_ms()

        def excuse(seat: int) -> tuple[int, str]:
            asked = session.seats[seat].clock.asked_ms
            lost_ms = self.outages.lost_ms(asked, now)
            return lost_ms, self.outages.told(asked, now) if lost_ms else ""

        return session.expire(now, lambda seat: connected[seat], excuse)


def _same_request(found: Header, asked: Header) -> bool:
    """Whether two headers come from the same request; random seeds and the time of the request are ignored."""
    facts: list[tuple[object, ...]] = []
    for header in (found, asked):
        options: dict[str, OptionValue] = header.options
        secrecy = (header.hold_seeds, header.sealed, header.nameless)
        facts.append((header.game, options, header.bots, header.time_control, secrecy))
    return facts[0] == facts[1]
