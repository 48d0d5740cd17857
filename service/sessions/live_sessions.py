"""The arena: sessions as the service works with them, cached, changed one at a time, saved before anybody hears of it.

Any copy of the service may change any session. What this copy remembers is only a guess at what is stored: a change made on
an old guess fails when it is saved, and is made again on what is there. A refusal based on an old guess is checked against
the store before it is believed.
"""

import asyncio
import heapq
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from service.games.core import OptionValue
from service.sessions.entries import Entry
from service.sessions.errors import Conflict, SeatForfeited, SessionError, SessionExists, UnknownSession
from service.sessions.outages import Outages
from service.sessions.queues import SessionQueues
from service.sessions.session import ACTIVE, Header, Late, Reply, Session, Stale, new_session
from service.sessions.store import Recipients, Store

T = TypeVar("T")
_LOG: Final = logging.getLogger(__name__)
#: In a simultaneous phase every other seat may be quicker, again and again, but not for ever.
_TRIES: Final = 64
_CACHE: Final = 4096
_SAVED: Final = 2 * _CACHE
#: A clock that stands still for an outage of ours is looked at again after so long, in milliseconds.
_AGAIN_MS: Final = 1000


class Change:
    """What a saved change means for those who listen: the session, its new entries, and the seats with news."""

    __slots__ = ("entries", "seats", "session")

    def __init__(self, session: Session, entries: list[Entry], seats: list[int]) -> None:
        self.session = session
        self.entries = entries
        self.seats = seats


def _standing(session: Session) -> list[tuple[int, bool, str, str]]:
    """What a seat would want to hear of, if it changes: its question, that its clock runs, its fault, the end."""
    status = session.status
    return [
        (seat.turn if seat.clock.asked_ms else 0, seat.clock.is_seated, seat.fault, status) for seat in session.seats
    ]


def _with_news(session: Session, before: list[tuple[int, bool, str, str]]) -> list[int]:
    """The seats that have something to hear."""
    return [seat for seat, now in enumerate(_standing(session)) if now != before[seat]]


class ConnectedBots(Protocol):
    """Who is connected."""

    def is_here(self, bot: str) -> bool:
        """Whether this copy holds the bot's stream: it is told directly, the others through Redis."""

    async def is_connected(self, bot: str) -> bool:
        """Whether the bot has a live stream anywhere."""


class NobodyConnected:
    """Nobody is connected, as in tools that play sessions without bots."""

    def is_here(self, bot: str) -> bool:
        del bot
        return False

    async def is_connected(self, bot: str) -> bool:
        del bot
        return False


@dataclass(slots=True)
class Answer:
    """What a seat said, to which question, and when that was heard."""

    seat: int
    turn: int
    choice: int | str
    note: str
    #: However long an answer then waits for others, for the store or to be made again, it is not the later for it.
    heard_ms: int
    #: What was measured around the question; None: the time since it was put.
    think_ms: int | None = None
    #: The mark of the question that the seat was sent, if that is known.
    question: str | None = None


#: What changes a session: the result, and the log entries it wrote. Called again on what is stored if that has moved on.
Make: TypeAlias = Callable[[Session], tuple[T, list[Entry]]]
#: Called with the result of a change, or with what made it impossible.
Done: TypeAlias = Callable[[T | Exception], None]


def set_result(waiting: "asyncio.Future[T]", result: T | Exception) -> None:
    """Hand a result to whoever waits for it, unless they have given up."""
    if waiting.done():
        return
    if isinstance(result, Exception):
        waiting.set_exception(result)
    else:
        waiting.set_result(result)


class _PendingChange(Generic[T]):
    """A change on its way: made, saved, and made again if what it was made on was out of date."""

    __slots__ = ("answer", "done", "is_fresh", "make", "session_id", "tries")

    def __init__(self, session_id: str, make: Make[T], done: Done[T], answer: Answer | None = None) -> None:
        self.session_id = session_id
        self.make = make
        self.done = done
        #: The answer of a seat: if it turns out to be late, the clocks are enforced before anybody is told.
        self.answer = answer
        self.tries = 0
        #: It was last made on what had just been read from the store.
        self.is_fresh = False


class LiveSessions:
    """Sessions, for everybody who asks. ``now_ms`` is the only clock."""

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
        #: Creation id, revision and mark of the last positions that this copy knows to have been saved, ended sessions included.
        self._saved: dict[str, tuple[str, int, str]] = {}
        #: The logs of sessions that are being watched, as far as this copy knows them.
        self._logs: dict[str, list[Entry]] = {}
        self._queues = SessionQueues()
        #: Changes that wait for the store; the loop alone would not keep them alive.
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[Change], None]] = []
        self._loss_listeners: list[Callable[[Session], None]] = []
        self._timers: list[tuple[int, str]] = []
        #: By session: the earliest of its alarms.
        self._timer_of: dict[str, int] = {}
        self.conflicts = 0

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call this after every change that this copy has saved."""
        self._listeners.append(listener)

    def listen_for_losses(self, listener: Callable[[Session], None]) -> None:
        """Call this with every session whose newest saved positions the store has lost."""
        self._loss_listeners.append(listener)

    # ---------------------------------------------------------------------------------------------------------- reading
    async def read(self, session_id: str) -> Session:
        """The session as it was last saved. Look, do not touch."""
        async with self._queues.turn(session_id):
            return await self._load(session_id, fresh=True)

    async def refresh(self, session_id: str, mark: str = "") -> Session:
        """Like ``read``, but content with what this copy remembers, if that has the mark we were told of, or we were told none."""
        async with self._queues.turn(session_id):
            session = await self._load(session_id, fresh=False)
            if mark and session.mark != mark:  # older, newer, or of a history that the store has lost
                session = await self._load(session_id, fresh=True)
            return session

    async def read_unchanged(self, session_ids: Sequence[str]) -> dict[str, Session]:
        """Those of the sessions that this copy remembers just as they are stored; one trip for all of them."""
        remembered = [session_id for session_id in session_ids if session_id in self._cache]
        stored = await self.store.marks(remembered)
        found: dict[str, Session] = {}
        for session_id, mark in zip(remembered, stored, strict=True):
            session = self._cache.get(session_id)
            if session is not None and session.mark == mark:  # one with a move under way is ahead of the store
                found[session_id] = session
        return found

    async def read_log(self, session_id: str, after: int, *, fresh: bool = True) -> tuple[Session, list[Entry]]:
        """A session, and its log from revision ``after`` + 1 to that very revision: as they were last saved.

        Not ``fresh``: content with what this copy remembers, if it keeps the log.
        """
        # Alone, or a move that is not saved yet would show in the one and not in the other.
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
        """Remember the log of a session too, from when it is next read, until ``drop_log``: it is being watched."""
        self._logs[session_id] = []

    def drop_log(self, session_id: str) -> None:
        """Nobody watches the session any more."""
        del self._logs[session_id]

    def forget(self, session_id: str) -> None:
        """Whatever this copy remembers of a session is out of date."""
        self._cache.pop(session_id, None)

    async def _load(self, session_id: str, *, fresh: bool) -> Session:
        session = self._cache.get(session_id)
        if session is not None and (not fresh or await self.store.mark(session_id) == session.mark):
            if session_id in self._cache:  # a notification may have made us forget it while we asked
                self._cache.move_to_end(session_id)
            return session
        session = await self.store.load(session_id)
        self._remember(session)
        return session

    def _remember(self, session: Session) -> None:
        session_id = session.header.id
        if self._logs and session_id in self._logs and self._cache.get(session_id) is not session:
            self._logs[session_id].clear()  # what was kept belongs to what this copy remembered before
        creation_id, revision, mark = self._saved.get(session_id, ("", -1, ""))
        self._saved[session_id] = (session.header.creation_id, session.revision, session.mark)
        if len(self._saved) > _SAVED:
            del self._saved[next(iter(self._saved))]  # the one that was first saved
        if session.revision <= revision and session.mark != mark and session.header.creation_id == creation_id:
            _LOG.warning(
                "session %s: the store has lost its newest writes; revision %d was saved, and it stands at %d",
                session_id,
                revision,
                session.revision,
            )
            for listener in self._loss_listeners:
                listener(session)
        if session.status != ACTIVE:  # hardly anybody will ask again, and whoever does finds it in the store
            self.forget(session_id)
            return
        self._cache[session_id] = session
        self._cache.move_to_end(session_id)
        if len(self._cache) > _CACHE:
            self._cache.popitem(last=False)
        self._set_timer(session_id, session.next_deadline_ms())

    def _set_timer(self, session_id: str, deadline: int) -> None:
        """Look at the session then. One alarm a session: if it rings too early, it is set anew."""
        if deadline and deadline < self._timer_of.get(session_id, deadline + 1):
            self._timer_of[session_id] = deadline
            heapq.heappush(self._timers, (deadline, session_id))

    # --------------------------------------------------------------------------------------------------------- changing
    async def create(self, header: Header, *, seeds_given: bool = False) -> Session:
        """Lay a table. The same request twice finds the first one's table; another one with its id is SessionExists.

        ``seeds_given``: the seeds are part of the request, not drawn for it.
        """
        session = new_session(header, header.created_ms)
        found = await self.store.create(session, self._recipients(session, range(header.seats)))
        if found is None:
            async with self._queues.turn(header.id):
                self._remember(session)
            self._tell(Change(session, [], list(range(header.seats))))
            return session
        if not _same_request(found, header) or (seeds_given and found.seeds != header.seeds):
            raise SessionExists(f"session {header.id!r} exists and was asked for differently", session=header.id)
        return await self.read(header.id)

    def submit(self, session_id: str, make: Make[T], done: Done[T]) -> None:
        """Change a session and save it, behind whatever else is being done to it; ``done`` is called when that is settled.

        ``make`` may be called several times, each time on a session nobody has touched. What it refuses on the ground of an old
        guess is looked at again on what is stored.
        """
        self._queues.add(session_id, partial(self._begin, _PendingChange(session_id, make, done)))

    async def change(self, session_id: str, make: Make[T]) -> T:
        """Change a session, and wait for it. A caller that gives up waiting does not stop the change."""
        settled: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.submit(session_id, make, partial(set_result, settled))
        return await settled

    def answer(self, session_id: str, answer: Answer, done: Done[Reply]) -> None:
        """Answer a seat's open question; a refused answer is counted, a late one forfeits the seat."""
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
        """The answer came too late: the clocks of the session are enforced, and the seat is told what that did to it."""
        seat = answer.seat

        def make(session: Session) -> tuple[Reply, list[Entry]]:
            entries = self._expire(session, connected)
            fault = session.seats[seat].fault
            if fault:
                message = f"the answer came too late; seat {seat} was forfeited ({fault})"
                return Late(SeatForfeited(message, seat=str(seat), fault=fault)), entries
            # Another seat's clock ran out first and ended the game, or an outage of ours has excused this one since.
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
        """By seat, whether a clock that ran out was slow, not away. An open seat has no stream to lose.

        ``speaking``: a seat that we hear this very moment.
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
        """Make a change on a session that nobody has touched since it was saved."""
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
            if session.revision != since:  # half done: what we remember is no longer what is stored
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
            if log is not None:  # without its beginning it is too short for the revision, and is read anew
                log += change.entries
            self._tell(change)
            self._end(work, result)
            return
        self.forget(work.session_id)  # it is not what is stored, or its fate is unknown
        if not isinstance(error, Conflict):
            self._end(work, error)
            return
        self.conflicts += 1
        work.tries += 1
        if work.tries < _TRIES:  # another copy was quicker: on what is there now the change may still be good
            self._spawn(self._make_on_stored(work))
        else:
            message = f"session {work.session_id} changes faster than this request can be applied; try again"
            self._end(work, Conflict(message, session=work.session_id))

    async def _confirm(self, work: _PendingChange[Any], mark: str, result: Any) -> None:
        """A refusal of what this copy remembers stands if that is what is stored; else the change is made again."""
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
        except Exception:  # a mistake of theirs must not keep the session's other work waiting; it is logged whole
            _LOG.exception("what follows a change of session %s failed", work.session_id)
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
            except Exception:  # the change is saved, whatever a listener makes of it; its mistake is logged whole
                _LOG.exception("a listener to session %s failed", change.session.header.id)

    async def take_seat(self, session_id: str, seat: int) -> None:
        """The seat has turned up."""
        await self.change(session_id, lambda session: (None, session.take_seat(seat, self.now_ms())))

    # ----------------------------------------------------------------------------------------------------------- clocks
    async def expire_due(self) -> None:
        """Forfeit the seats whose clocks have run out in sessions this copy knows."""
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
                continue  # forgotten: whoever saved it last, or the deadline enforcer, looks after it
            deadline = session.next_deadline_ms()
            if deadline and deadline < now:
                try:
                    if await self.enforce(session_id) is not None and session_id in self._cache:
                        self._set_timer(session_id, now + _AGAIN_MS)  # an outage of ours has not been counted
                except SessionError:
                    raise  # the store is away, for all of them; the deadline enforcer looks after them when it is back
                except Exception:
                    _LOG.exception("the clocks of session %s cannot be enforced", session_id)
            else:
                self._set_timer(session_id, deadline)

    async def enforce(self, session_id: str) -> Session | None:
        """Forfeit every seat of a session whose clock has run out. Any copy may do it; saving decides who did."""
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
    """Whether two headers come from the same request; drawn seeds and the time of asking do not count."""
    facts: list[tuple[object, ...]] = []
    for header in (found, asked):
        options: dict[str, OptionValue] = header.options
        facts.append((header.game, options, header.bots, header.time_control, header.hold_seeds, header.sealed))
    return facts[0] == facts[1]
