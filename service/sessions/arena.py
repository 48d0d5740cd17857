"""The arena: sessions as the service works with them, cached, changed one at a time, saved before anybody hears of it.

Any copy of the service may change any session. What this copy remembers is only a guess at what is stored: a change made on
an old guess fails when it is saved, and is made again on what is there. A refusal based on an old guess is checked against
the store before it is believed.
"""

import asyncio
import heapq
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from service.games.core import OptionValue
from service.sessions.errors import (
    ActionRefused,
    Conflict,
    SeatForfeited,
    SessionError,
    SessionExists,
    StaleTurn,
    UnknownSession,
)
from service.sessions.outages import Outages
from service.sessions.session import ACTIVE, FAULTS, Accepted, Entry, Header, Session, new_session
from service.sessions.store import Bells, Saved, Store

T = TypeVar("T")
_LOG: Final = logging.getLogger(__name__)
#: In a simultaneous phase every other seat may be quicker, again and again, but not for ever.
_TRIES: Final = 64
_CACHE: Final = 4096
_SAVED: Final = 2 * _CACHE
#: A clock that stands still for an outage of ours is looked at again after so long, in milliseconds.
_AGAIN_MS: Final = 1000


class _Late(SessionError):
    """An answer that came after its clock had run out."""


class Change:
    """What a saved change means for those who listen: the session, its new entries, and the seats with news."""

    __slots__ = ("entries", "seats", "session")

    def __init__(self, session: Session, entries: list[Entry], seats: list[int]) -> None:
        self.session = session
        self.entries = entries
        self.seats = seats


def _standing(session: Session) -> list[tuple[int, bool, int, int]]:
    """What a seat would want to hear of, if it changes: its question, that its clock runs, its fault, the end."""
    return [
        (clock.turn if clock.asked_ms else 0, clock.seated, clock.fault, session.status) for clock in session.clocks
    ]


def _with_news(session: Session, before: list[tuple[int, bool, int, int]]) -> list[int]:
    """The seats that have something to hear."""
    return [seat for seat, now in enumerate(_standing(session)) if now != before[seat]]


def _take(lock: asyncio.Lock) -> bool:
    """Take a lock if nobody holds it or waits for it."""
    if lock.locked():
        return False
    taking = lock.acquire()
    try:
        taking.send(None)
    except StopIteration:  # it did not have to wait
        return True
    taking.close()
    return False


class Arena:
    """Sessions, for everybody who asks. ``now_ms`` is the only clock."""

    def __init__(self, store: Store, now_ms: Callable[[], int], outages: Outages | None = None) -> None:
        self.store = store
        self.now_ms = now_ms
        self.outages = outages or Outages()
        self._cache: OrderedDict[str, Session] = OrderedDict()
        #: Birth, revision and mark of the last positions that this copy knows to have been saved, ended sessions included.
        self._saved: dict[str, tuple[str, int, str]] = {}
        #: Called with a session whose newest saved positions the store has lost.
        self.on_loss: Callable[[Session], None] = lambda _: None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._listeners: list[Callable[[Change], None]] = []
        self._alarms: list[tuple[int, str]] = []
        #: By session: the earliest of its alarms.
        self._alarm_of: dict[str, int] = {}
        #: Bots whose stream is held here: they are told directly, the others through Redis.
        self.is_here: Callable[[str], bool] = lambda _: False
        #: Whether a bot has a live stream anywhere.
        self.is_connected: Callable[[str], Awaitable[bool]] = _nobody
        self.conflicts = 0

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Call this after every change that this copy has saved."""
        self._listeners.append(listener)

    # ---------------------------------------------------------------------------------------------------------- reading
    async def read(self, session_id: str) -> Session:
        """The session as it was last saved. Look, do not touch."""
        async with self._lock(session_id):
            return await self._load(session_id, fresh=True)

    async def refresh(self, session_id: str, mark: str = "") -> Session:
        """Like ``read``, but content with what this copy remembers, if that has the mark we were told of, or we were told none."""
        async with self._lock(session_id):
            session = await self._load(session_id, fresh=False)
            if mark and session.mark != mark:  # older, newer, or of a history that the store has lost
                session = await self._load(session_id, fresh=True)
            return session

    async def glance(self, session_ids: Sequence[str]) -> dict[str, Session]:
        """Those of the sessions that this copy remembers just as they are stored; one trip for all of them."""
        remembered = [session_id for session_id in session_ids if session_id in self._cache]
        stored = await self.store.marks(remembered)
        found: dict[str, Session] = {}
        for session_id, mark in zip(remembered, stored, strict=True):
            session = self._cache.get(session_id)
            if session is not None and session.mark == mark:  # one with a move under way is ahead of the store
                found[session_id] = session
        return found

    def is_changing(self, session_id: str) -> bool:
        """Whether this copy is at work on the session this very moment; whoever is will tell of it."""
        lock = self._locks.get(session_id)
        return lock is not None and lock.locked()

    async def read_log(self, session_id: str, after: int) -> tuple[Session, list[Entry]]:
        """The session as it was last saved, and its log from revision ``after`` + 1 to that very revision."""
        async with self._lock(session_id):  # or a move that is not saved yet would show in the one and not in the other
            session, entries = await self.store.log(session_id, after, self._cache.get(session_id))
            self._remember(session)
            return session, entries

    def forget(self, session_id: str) -> None:
        """Whatever this copy remembers of a session is out of date."""
        self._cache.pop(session_id, None)

    def _lock(self, session_id: str) -> asyncio.Lock:
        lock = self._locks.get(session_id)
        if lock is None:
            lock = self._locks[session_id] = asyncio.Lock()
        return lock

    async def _load(self, session_id: str, *, fresh: bool) -> Session:
        session = self._cache.get(session_id)
        if session is not None and (not fresh or await self.store.mark(session_id) == session.mark):
            if session_id in self._cache:  # a bell may have made us forget it while we asked
                self._cache.move_to_end(session_id)
            return session
        session = await self.store.load(session_id)
        self._remember(session)
        return session

    def _remember(self, session: Session) -> None:
        session_id = session.header.id
        birth, revision, mark = self._saved.get(session_id, ("", -1, ""))
        self._saved[session_id] = (session.header.birth, session.revision, session.mark)
        if len(self._saved) > _SAVED:
            del self._saved[next(iter(self._saved))]  # the one that was first saved
        if session.revision <= revision and session.mark != mark and session.header.birth == birth:
            _LOG.warning(
                "session %s: the store has lost its newest writes; revision %d was saved, and it stands at %d",
                session_id,
                revision,
                session.revision,
            )
            self.on_loss(session)
        if session.status != ACTIVE:  # hardly anybody will ask again, and whoever does finds it in the store
            self.forget(session_id)
            return
        self._cache[session_id] = session
        self._cache.move_to_end(session_id)
        if len(self._cache) > _CACHE:
            self._cache.popitem(last=False)
        self._set_alarm(session_id, session.next_deadline_ms())

    def _set_alarm(self, session_id: str, deadline: int) -> None:
        """Look at the session then. One alarm a session: if it rings too early, it is set anew."""
        if deadline and deadline < self._alarm_of.get(session_id, deadline + 1):
            self._alarm_of[session_id] = deadline
            heapq.heappush(self._alarms, (deadline, session_id))

    # --------------------------------------------------------------------------------------------------------- changing
    async def create(self, header: Header, *, seeds_given: bool = False) -> Session:
        """Lay a table. The same request twice finds the first one's table; another one with its id is SessionExists.

        ``seeds_given``: the seeds are part of the request, not drawn for it.
        """
        session = new_session(header, header.created_ms)
        found = await self.store.create(session, self._bells(session, range(header.seats)))
        if found is None:
            async with self._lock(header.id):
                self._remember(session)
            self._tell(Change(session, [], list(range(header.seats))))
            return session
        if not _same_request(found, header) or (seeds_given and found.seeds != header.seeds):
            raise SessionExists(f"session {header.id!r} exists and was asked for differently", session=header.id)
        return await self.read(header.id)

    async def change(self, session_id: str, change: Callable[[Session], tuple[T, list[Entry]]]) -> T:
        """Change a session and save it. ``change`` may be called several times, each time on a session nobody has touched."""
        async with self._lock(session_id):
            for attempt in range(_TRIES):
                was_cached = session_id in self._cache
                session = await self._load(session_id, fresh=False)
                before = _standing(session)
                since, mark = session.revision, session.mark
                try:
                    result, entries = change(session)
                except SessionError:
                    if session.revision != since:  # half done: what we remember is no longer what is stored
                        self.forget(session_id)
                    if was_cached and attempt == 0 and await self.store.mark(session_id) != mark:
                        self.forget(session_id)
                        continue  # it was said of an old guess; look again
                    raise
                except BaseException:
                    self.forget(session_id)
                    raise
                if not entries:
                    return result
                seats = _with_news(session, before)
                try:
                    await self.store.save(session, entries, self._bells(session, seats))
                except Conflict:
                    self.conflicts += 1
                    self.forget(session_id)
                    continue
                except BaseException:
                    self.forget(session_id)  # its fate is unknown
                    raise
                self._remember(session)
                self._tell(Change(session, entries, seats))
                return result
        raise Conflict(
            f"session {session_id} changes faster than this request can be applied; try again", session=session_id
        )

    def _bells(self, session: Session, seats: Iterable[int]) -> Bells:
        bots = {session.header.bots[seat] for seat in seats}
        return Bells(tuple(sorted(bot for bot in bots if bot and not self.is_here(bot))))

    def _tell(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)

    def answer_now(
        self,
        session_id: str,
        seat: int,
        turn: int,
        choice: int | str,
        note: str,
        think_ms: int | None,
        heard_ms: int,
        saved: Saved,
        question: str | None = None,
    ) -> bool:
        """``answer`` where nothing stands in its way: applied at once, saved with whatever else is waiting, no task and no
        future of its own. False: nothing has happened, and ``answer`` must look into it.
        """
        session = self._cache.get(session_id)
        lock = self._lock(session_id)
        if session is None or not _take(lock):
            return False
        since = session.revision
        before = _standing(session)
        try:
            _, entries = self._answered(session, seat, turn, choice, note, think_ms, heard_ms, question)
            if entries:  # there are none for a repeated answer
                change = Change(session, entries, _with_news(session, before))
                end = partial(self._end_answer, change, lock, saved)
                self.store.submit(session, entries, self._bells(session, change.seats), end)
                return True
        except SessionError:
            if session.revision != since:
                self.forget(session_id)
        except Exception:
            self.forget(session_id)  # half done; `answer` meets the same mistake and reports it
        lock.release()
        return False

    def _end_answer(self, change: Change, lock: asyncio.Lock, saved: Saved, error: Exception | None) -> None:
        try:
            if error is None:
                self._remember(change.session)
                self._tell(change)
            else:
                self.conflicts += isinstance(error, Conflict)
                self.forget(change.session.header.id)  # it is not what is stored, or its fate is unknown
        finally:
            lock.release()
            saved(error)

    def _answered(
        self,
        session: Session,
        seat: int,
        turn: int,
        choice: int | str,
        note: str,
        think_ms: int | None,
        heard_ms: int,
        question: str | None,
    ) -> tuple[Accepted, list[Entry]]:
        """The session, answered. What was heard in time is in time, however long it has waited since; else _Late."""
        if 0 <= seat < session.header.seats:
            clock, deadline = session.clocks[seat], session.deadline_ms(seat)
            if question is not None and clock.asked_ms and turn == clock.turn and question != clock.question:
                raise StaleTurn(
                    f"turn {turn} of seat {seat} is asked again in another position, since the store lost its newest "
                    "writes; wait for the question",
                    seat=str(seat),
                    turn=str(turn),
                    revision=str(session.revision),
                )
            if think_ms is None:
                think_ms = max(0, heard_ms - clock.asked_ms)
            own_time_ends = clock.asked_ms + session.header.time_control.move_ms
            if clock.asked_ms and turn == clock.turn and heard_ms > min(deadline, own_time_ends):
                lost_ms = self.outages.lost_ms(clock.asked_ms, heard_ms)
                if deadline + lost_ms < heard_ms:
                    raise _Late(f"seat {seat} answered too late")
                think_ms = max(0, think_ms - lost_ms)
        return session.answer(seat, turn, choice, note, self.now_ms(), think_ms)

    async def answer(
        self,
        session_id: str,
        seat: int,
        turn: int,
        choice: int | str,
        note: str,
        think_ms: int | None = None,
        heard_ms: int | None = None,
        question: str | None = None,
    ) -> Accepted:
        """Answer a seat's open question; a refused answer is counted, a late one forfeits the seat.

        ``heard_ms``: when the answer came. However long it then waits for others, for the store or to be made again, it is not
        the later for it. ``question``: the mark of the question that the seat was sent, if that is known.
        """
        refused: ActionRefused | None = None
        heard = self.now_ms() if heard_ms is None else heard_ms

        def answer(session: Session) -> tuple[Accepted | None, list[Entry]]:
            nonlocal refused
            refused = None
            try:
                return self._answered(session, seat, turn, choice, note, think_ms, heard, question)
            except ActionRefused as error:
                refused = error
                return None, session.refuse(seat, turn, error, self.now_ms())

        try:
            accepted = await self.change(session_id, answer)
        except _Late:
            session = await self.enforce(session_id, speaking=seat)
            if session is None:
                raise UnknownSession(session_id) from None
            fault = FAULTS[session.clocks[seat].fault]
            if fault:
                raise SeatForfeited(
                    f"the answer came too late; seat {seat} was forfeited ({fault})", seat=str(seat), fault=fault
                ) from None
            # Another seat's clock ran out before this one's and ended the game, or another copy was quicker: it is told which.
            heard = min(heard, self.now_ms())  # should the clock have been set back meanwhile
            return await self.answer(session_id, seat, turn, choice, note, think_ms, heard, question)
        if accepted is None:
            assert refused is not None
            raise refused
        return accepted

    async def take_seat(self, session_id: str, seat: int) -> None:
        """The seat has turned up."""
        await self.change(session_id, lambda session: (None, session.take_seat(seat, self.now_ms())))

    # ----------------------------------------------------------------------------------------------------------- clocks
    async def ring_alarms(self) -> None:
        """Forfeit the seats whose clocks have run out in sessions this copy knows."""
        now = self.now_ms()
        due: set[str] = set()
        while self._alarms and self._alarms[0][0] <= now:
            at, session_id = heapq.heappop(self._alarms)
            if self._alarm_of.get(session_id) == at:
                del self._alarm_of[session_id]
            due.add(session_id)
        for session_id in due:
            session = self._cache.get(session_id)
            if session is None:
                continue  # forgotten: whoever saved it last, or the sweep, looks after it
            deadline = session.next_deadline_ms()
            if deadline and deadline < now:
                try:
                    if await self.enforce(session_id) is not None and session_id in self._cache:
                        self._set_alarm(session_id, now + _AGAIN_MS)  # an outage of ours has not been counted
                except SessionError:
                    raise  # the store is away, for all of them; the sweep looks after them when it is back
                except Exception:
                    _LOG.exception("the clocks of session %s cannot be enforced", session_id)
            else:
                self._set_alarm(session_id, deadline)

    async def enforce(self, session_id: str, speaking: int | None = None) -> Session | None:
        """Forfeit every seat of a session whose clock has run out. Any copy may do it; saving decides who did.

        ``speaking``: a seat that we hear this very moment, so that it was slow, not away.
        """
        try:
            session = await self.read(session_id)
            deadline = session.next_deadline_ms()
            if session.status != ACTIVE or not deadline or self.now_ms() <= deadline:
                return session
            # An open seat has no stream to lose: if its clock runs out, it was slow.
            connected = [
                not bot or seat == speaking or await self.is_connected(bot)
                for seat, bot in enumerate(session.header.bots)
            ]
            await self.change(session_id, lambda session: (None, self._expire(session, connected)))
            return await self.refresh(session_id)
        except UnknownSession:
            self.forget(session_id)
            return None

    def _expire(self, session: Session, connected: Sequence[bool]) -> list[Entry]:
        now = self.now_ms()

        def excuse(seat: int) -> tuple[int, str]:
            asked = session.clocks[seat].asked_ms
            lost_ms = self.outages.lost_ms(asked, now)
            return lost_ms, self.outages.told(asked, now) if lost_ms else ""

        return session.expire(now, lambda seat: connected[seat], excuse)


async def _nobody(bot: str) -> bool:
    del bot
    return False


def _same_request(found: Header, asked: Header) -> bool:
    """Whether two headers come from the same request; drawn seeds and the time of asking do not count."""
    facts: list[tuple[object, ...]] = []
    for header in (found, asked):
        options: dict[str, OptionValue] = header.options
        facts.append((header.game, options, header.bots, header.time_control, header.hold_seeds, header.sealed))
    return facts[0] == facts[1]
