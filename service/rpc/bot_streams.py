"""The bot streams that this copy of the service holds, and the events that each bot is sent.

``send_updates`` compares a saved session with what the bot was sent, and queues the difference. So it does not matter how often,
in which order or from where it is called.
"""

import asyncio
import contextlib
import logging
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from rubble.v1 import bot_pb2
from service import logs, metrics
from service.rpc import errors, events
from service.rpc.auth import redact
from service.rpc.pacing import Pace
from service.sessions import keys
from service.sessions.errors import (
    BadRequest,
    Conflict,
    NotReading,
    NotYourTurn,
    SessionError,
    StaleTurn,
    StoreUnavailable,
    TakenOver,
    UnknownSession,
    UnreadableSession,
)
from service.sessions.live_sessions import Answer, Change, LiveSessions
from service.sessions.notifications import Notifications
from service.sessions.presence import BEAT_S, LOSS, TAKEOVER, Connection, Presence
from service.sessions.redis_store import read_notice
from service.sessions.session import ACTIVE, Accepted, Reply, Seat, Session

_LOG: Final = logging.getLogger(__name__)
#: Limits of what may wait for a bot that does not read; beyond them its stream ends.
_QUEUE_EVENTS: Final = 4096
_QUEUE_BYTES: Final = 16 << 20
#: Limits of one message.
_BATCH_EVENTS: Final = 64
_BATCH_BYTES: Final = 256 << 10
#: Number of ended games a stream remembers, so that a poll that started before the end does not send it again.
_REMEMBERED: Final = 1024
#: How often a copy polls for missed notifications, in seconds.
POLL_S: Final = 2.0
#: Pending answers of one bot before its next message is read.
_AT_ONCE: Final = 256
#: The same for one session: a question has one answer, and more would delay the other seats of the session.
_AT_ONCE_IN_A_SESSION: Final = 2
#: A bot's game that cannot be found may be in creation; after this time, in milliseconds, it counts as gone.
_MISSING_MS: Final = 10_000


class _BotGame:
    """A game of the bot, and what the bot was sent of it."""

    __slots__ = ("creation_id", "question", "seat", "sent_ms", "sent_turn", "unsettled")

    def __init__(self, session: Session, seat: int) -> None:
        self.creation_id = session.header.creation_id
        self.seat = seat
        self.sent_turn = 0
        self.sent_ms = 0
        #: The mark of the question that the bot was sent and that has no accepted answer yet; None if there is none.
        self.question: str | None = None
        #: Pending answers of the bot.
        self.unsettled = 0

    def has_heard(self, seat: Seat) -> bool:
        """Whether the bot was sent its open question, if there is one.

        Turn numbers are not enough: when the store loses its newest writes (a power cut, a failover), an answered question is
        open again, or the same turn is asked in another position.
        """
        return not seat.is_asked or (self.sent_turn, self.question) == (seat.turn, seat.question)

    def see(self, seat: Seat) -> None:
        """Update from the session: a question that is no longer open was answered, through this stream or another way."""
        if not seat.is_asked:
            self.question = None

    def answered(self, question: str | None) -> None:
        """Record an accepted answer; the next question may have been sent already."""
        if self.question == question:
            self.question = None

    def think_ms(self, turn: int, received_ms: int) -> int | None:
        """Return how long the bot thought about this turn, if it is the last one it was sent."""
        return max(0, received_ms - self.sent_ms) if self.sent_ms and self.sent_turn == turn else None


class BotStream:
    """One bot's live stream."""

    def __init__(self, bot_streams: "BotStreams", info: Connection) -> None:
        self.info = info
        self.bot = info.bot
        self._bot_streams = bot_streams
        self._games: dict[str, _BotGame] = {}
        #: Games beyond the number that the bot wants to play at once, in order of arrival.
        self._later: OrderedDict[str, int] = OrderedDict()
        self._over: deque[str] = deque(maxlen=_REMEMBERED)
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        #: Set when the queued events are to be sent.
        self._wake = asyncio.Event()
        self._ended: SessionError | None = None
        self._is_draining = False
        self._is_left = False
        #: Games that could not be found, and since when.
        self._missing: dict[str, int] = {}
        self._timeout: asyncio.Timeout | None = None
        #: Games whose question waits to be sent: its clock starts with the message that carries it.
        self._to_stamp: list[_BotGame] = []
        #: The number of pending answers, and an event that is set when one is settled.
        self._unsettled = 0
        self._settling = asyncio.Event()
        #: Number of unwanted messages of the bot since this was last set to 0.
        self.wasted = 0

    # ------------------------------------------------------------------------------------------------------- to the bot
    def send(self, event: bytes) -> None:
        """Queue an event; a bot that does not read loses its stream, so that memory stays bounded."""
        if isinstance(self._ended, NotReading | TakenOver):
            return
        self._queue.append(event)
        self._queued_bytes += len(event)
        if len(self._queue) > _QUEUE_EVENTS or self._queued_bytes > _QUEUE_BYTES:
            self.end(NotReading())
        if len(self._games) > 1:
            self._bot_streams.pace.at_next_beat(self._wake.set)
        else:
            self._wake.set()  # it can have no second question, so nothing is gained by waiting

    def end(self, reason: SessionError) -> None:
        """End the stream as soon as its writer checks, without waiting for a bot that does not read."""
        self._ended = self._ended or reason
        self._wake.set()
        if isinstance(reason, NotReading) and self._timeout is not None:
            with contextlib.suppress(RuntimeError):  # no message is being written
                self._timeout.reschedule(asyncio.get_running_loop().time())

    def timeout(self, seconds: float) -> asyncio.Timeout:
        """Return a timeout for the bot to take a message."""
        self._timeout = asyncio.timeout(seconds)
        return self._timeout

    def drain(self) -> None:
        """Ask the bot to connect to another copy, and end the stream."""
        self.send(events.draining("this copy of the service is stopping"))
        self._is_draining = True
        self._wake.set()

    def take_over(self) -> None:
        """Inform the bot that it has a newer stream, and end this one."""
        self.send(events.taken_over())
        self.end(TakenOver())

    def leave(self) -> None:
        """End the stream after the bot has stopped sending; queued events are still sent."""
        self._is_left = True
        self._wake.set()

    async def next_batch(self) -> bytes:
        """Return all queued events as one message, or nothing at the end of the stream; raises the error that ended it."""
        while not self._queue or not self._wake.is_set():
            if not self._queue:
                if self._ended is not None:
                    raise self._ended
                if self._is_draining or self._is_left:
                    return b""
                self._wake.clear()
            await self._wake.wait()
        if isinstance(self._ended, NotReading):
            raise self._ended
        size = 0
        count = 0
        while count < len(self._queue) and count < _BATCH_EVENTS and size < _BATCH_BYTES:
            size += len(self._queue[count])
            count += 1
        batch, self._queue = self._queue[:count], self._queue[count:]
        self._queued_bytes -= size
        if not self._queue:
            self._wake.clear()
        now = self._bot_streams.live_sessions.now_ms()
        for game in self._to_stamp:
            game.sent_ms = now
        self._to_stamp.clear()
        return b"".join(batch)

    def send_updates(self, session: Session) -> None:
        """Send the bot everything of this session that it was not sent yet."""
        session_id = session.header.id
        if self.bot not in session.header.bots:
            return
        game = self._games.get(session_id)
        seat = session.header.bots.index(self.bot)
        record = session.seats[seat]
        if (
            game is not None and game.creation_id != session.header.creation_id
        ):  # the store lost the session, and it was created again
            game = None
            del self._games[session_id]
        if session.status != ACTIVE or record.fault:
            self._later.pop(session_id, None)
            if game is not None:
                self.send(events.game_over(session, seat))
            self._leave(session_id)
            return
        is_back = game is None
        if game is None:
            # A game that has started is sent even beyond the bot's limit, because its clock is running.
            if len(self._games) >= self.info.max_games and not record.clock.is_seated:
                self._later[session_id] = session.revision
                return
            self._later.pop(session_id, None)
            game = self._games[session_id] = _BotGame(session, seat)
            self.send(events.game_start(session, seat))
        game.see(record)
        if not record.clock.is_seated:
            self._bot_streams.spawn(self._bot_streams.live_sessions.take_seat(session_id, seat))
        elif not game.has_heard(record):
            game.sent_turn, game.question = record.turn, record.question
            # A bot that reconnects to an open question gets no new time; otherwise its clock would never run out.
            game.sent_ms = record.clock.asked_ms if is_back else 0
            if not is_back:
                self._to_stamp.append(game)
            self.send(events.turn(session, seat, self._bot_streams.live_sessions.now_ms()))

    def catch_up(self, session: Session) -> None:
        """Like ``send_updates``, for a bot that has just connected: games that ended in its absence are sent from start to end."""
        session_id = session.header.id
        if self.bot in session.header.bots and session_id not in self._games:
            seat = session.header.bots.index(self.bot)
            is_over = session.status != ACTIVE or bool(session.seats[seat].fault)
            if is_over and session_id in self._over:
                self._bot_streams.spawn(self._bot_streams.forget_game(self.bot, session_id))
                return
            if is_over:
                self._games[session_id] = _BotGame(session, seat)
                self.send(events.game_start(session, seat))
        self.send_updates(session)

    def _leave(self, session_id: str) -> None:
        """Remove a game that is over for this bot, and make room for another."""
        if self._games.pop(session_id, None) is not None:
            self._over.append(session_id)
            self._bot_streams.spawn(self._bot_streams.forget_game(self.bot, session_id))
        self._take_waiting()

    def drop(self, session_id: str) -> None:
        """The store has lost this session: there is nothing more to tell of it, and there is room for another."""
        self._later.pop(session_id, None)
        self._games.pop(session_id, None)
        self._take_waiting()

    def _take_waiting(self) -> None:
        """Begin the next of the games that wait, if there is room."""
        if self._later and len(self._games) < self.info.max_games:
            waiting, _ = self._later.popitem(last=False)
            self._bot_streams.spawn(self._bot_streams.look(self, waiting))

    def mark_unsent(self, session_id: str) -> None:
        """Mark the question of this session as not sent: the store may have lost the answer, so it is sent again."""
        game = self._games.get(session_id)
        if game is not None:
            game.question = None

    def knows(self, session: Session) -> bool:
        """Whether the bot was sent everything of this session."""
        game = self._games.get(session.header.id)
        if game is not None and game.creation_id != session.header.creation_id:
            return False
        if game is None:  # it waits for room, unless there is some: a game that was to take it may have expired
            return session.header.id in self._later and len(self._games) >= self.info.max_games
        seat = session.seats[game.seat]
        return session.status == ACTIVE and not seat.fault and game.has_heard(seat)

    def is_new(self, session: Session) -> bool:
        """Whether the bot's clock in this game stands still until the bot is sent the game."""
        clock = session.seats[session.header.bots.index(self.bot)].clock
        return session.header.id not in self._games and session.status == ACTIVE and not clock.is_seated

    def is_missing(self, session_id: str) -> bool:
        """Record that a game could not be found; return whether it has been missing long enough to count as gone."""
        now = self._bot_streams.live_sessions.now_ms()
        if now - self._missing.setdefault(session_id, now) < _MISSING_MS:
            return False
        del self._missing[session_id]
        return True

    @property
    def games(self) -> int:
        """Return the number of games the bot is playing."""
        return len(self._games)

    def session_ids(self) -> list[str]:
        """Return the games the bot is playing or waiting for."""
        return [*self._games, *self._later]

    # ----------------------------------------------------------------------------------------------------- from the bot
    def choose(self, choice: bot_pb2.Choice, received_ms: int) -> None:
        """Handle one answer of the bot. Errors are sent as a Refused event."""
        session_id, turn = choice.session, choice.turn
        game = self._games.get(session_id)
        if game is None:  # checked first, so that a flood of unwanted answers costs little
            self._refuse(choice, UnknownSession(session_id))
            return
        kind = choice.WhichOneof("choice")
        if kind is None:
            self._refuse(choice, BadRequest("choice", "nothing", "an index or a text"))
            return
        answer = Answer(
            game.seat,
            turn,
            choice.index if kind == "index" else choice.text,
            redact(choice.note),  # it becomes public with the replay
            received_ms,
            game.think_ms(turn, received_ms),
            game.question,
        )
        game.unsettled += 1
        self._unsettled += 1
        self._bot_streams.live_sessions.answer(
            session_id, answer, partial(self._settled, game, choice, answer.question)
        )

    def _settled(self, game: _BotGame, choice: bot_pb2.Choice, question: str | None, reply: Reply | Exception) -> None:
        if isinstance(reply, Accepted):
            game.answered(question)
            self.wasted += reply.repeated
        else:
            self._refuse(choice, reply if isinstance(reply, Exception) else reply.error)
        game.unsettled -= 1
        self._unsettled -= 1
        self._settling.set()

    def is_full(self, session_id: str) -> bool:
        """Whether the bot has reached the limit of pending answers, in total or in this session."""
        game = self._games.get(session_id)
        return self._unsettled >= _AT_ONCE or (game is not None and game.unsettled >= _AT_ONCE_IN_A_SESSION)

    async def one_settled(self) -> None:
        """Wait until a pending answer is settled."""
        self._settling.clear()
        await self._settling.wait()

    async def all_settled(self) -> None:
        """Wait until all pending answers are settled; the events they cause are queued by then."""
        while self._unsettled:
            await self.one_settled()

    def _refuse(self, choice: bot_pb2.Choice, error: Exception) -> None:
        session_id, turn = choice.session, choice.turn
        is_open = True  # after a bug in the service
        if isinstance(error, SessionError):
            self.wasted += not isinstance(error, StoreUnavailable | Conflict)  # not the bot's fault
            is_closed = isinstance(error, StaleTurn | NotYourTurn)  # answered already, or never asked
            is_open = not is_closed and self._is_open(session_id, turn)
        with logs.ids(session=session_id):
            status = errors.error_status(error)
        self.send(events.refused(session_id, turn, status, is_open=is_open))

    def _is_open(self, session_id: str, turn: int) -> bool:
        game = self._games.get(session_id)
        return game is not None and game.sent_turn == turn


class BotStreams:
    """All bot streams of this copy."""

    def __init__(self, live_sessions: LiveSessions, presence: Presence, notifications: Notifications) -> None:
        self.live_sessions = live_sessions
        self._presence = presence
        self._notifications = notifications
        self.streams: dict[str, BotStream] = {}
        self.pace = Pace()
        self._listeners: dict[str, Callable[[str], None]] = {}
        self._connect_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreadable: deque[str] = deque(maxlen=_REMEMBERED)
        self._is_draining = False
        live_sessions.listen(self._hear_change)
        live_sessions.listen_for_losses(self._tell_loss)
        notifications.on_return.append(self._resync_soon)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work in the background; failures are logged, except that the store is away."""
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -------------------------------------------------------------------------------------------------- coming and going
    async def connect(self, bot: str, sdk: str, max_games: int) -> BotStream:
        """Register the stream of a bot after its Hello."""
        if self._is_draining:
            raise StoreUnavailable("this copy of the service is stopping; connect again")
        # One at a time per bot: otherwise the older of two concurrent streams might be stored last.
        async with self._connect_lock(bot):
            info = Connection(bot, uuid.uuid4().hex, sdk, max_games, self.live_sessions.now_ms())
            stream = BotStream(self, info)
            older = self.streams.get(bot)
            if older is not None:
                older.take_over()
            self.streams[bot] = stream
            self._presence.here.add(bot)
            try:
                if bot not in self._listeners:
                    listener = self._listeners[bot] = self._listener(bot)
                    await self._notifications.add(keys.bot_channel(bot), listener)
                await self._presence.enter(info)
            except BaseException:  # no one will hold this stream, so it must be removed here
                await self.disconnect(stream)
                raise
        stream.send(events.welcome(bot, self.live_sessions.now_ms()))
        self.spawn(self._resync(stream))
        return stream

    def _connect_lock(self, bot: str) -> asyncio.Lock:
        lock = self._connect_locks.get(bot)
        if lock is None:
            lock = self._connect_locks[bot] = asyncio.Lock()
        return lock

    async def disconnect(self, stream: BotStream) -> None:
        """Remove a stream that has ended."""
        bot = stream.bot
        if self.streams.get(bot) is stream:
            del self.streams[bot]
            self._presence.here.discard(bot)
            listener = self._listeners.pop(bot, None)
            if listener is not None:
                await self._notifications.remove(keys.bot_channel(bot), listener)
        await _quietly(self._presence.leave(stream.info))

    async def drain(self) -> None:
        """Ask every bot to connect to another copy; no move is lost, because accepted answers are saved."""
        self._is_draining = True
        for stream in list(self.streams.values()):
            stream.drain()

    # ----------------------------------------------------------------------------------------------------------- hearing
    def _hear_change(self, change: Change) -> None:
        for seat in change.seats:
            stream = self.streams.get(change.session.header.bots[seat])
            if stream is not None:
                stream.send_updates(change.session)

    def _tell_loss(self, session: Session) -> None:
        """Ask the bots again, on any copy, after the store has lost moves of a session that this copy had saved.

        The copy that holds a bot's stream may not know of the lost answer, and would treat the open question as sent already.
        """
        for bot in session.header.bots:
            if bot:
                self.spawn(self._presence.tell_loss(bot, session.header.id))

    async def _ask_again(self, stream: BotStream, session_id: str) -> None:
        with contextlib.suppress(UnknownSession):
            session = await self.live_sessions.read(session_id)
            stream.mark_unsent(session_id)
            stream.send_updates(session)

    def _listener(self, bot: str) -> Callable[[str], None]:
        def hear(notice: str) -> None:
            stream = self.streams.get(bot)
            if stream is None:
                return
            if notice.startswith(TAKEOVER):
                if notice.removeprefix(TAKEOVER) != stream.info.id:
                    self.spawn(self._beat(stream))  # only one of two concurrent streams must end: check which
            elif notice.startswith(LOSS):
                self.spawn(self._ask_again(stream, notice.removeprefix(LOSS)))
            else:
                session_id, mark, at_ms = read_notice(notice)
                metrics.NOTIFICATION_SECONDS.observe(max(0, self.live_sessions.now_ms() - at_ms) / 1000)
                self.spawn(self.look(stream, session_id, mark))

        return hear

    async def look(self, stream: BotStream, session_id: str, mark: str = "") -> None:
        """Send the bot what is new in a session. The cached session is used unless the notification has another mark."""
        with contextlib.suppress(UnknownSession):  # if it stays unknown, the next poll drops it
            stream.send_updates(await self.live_sessions.refresh(session_id, mark))

    async def forget_game(self, bot: str, session_id: str) -> None:
        """Drop a game that is over for the bot."""
        await self._presence.drop_game(bot, session_id)

    def _resync_soon(self) -> None:
        for stream in list(self.streams.values()):
            self.spawn(self._resync(stream))

    async def _resync(self, stream: BotStream) -> None:
        """Send a bot everything it may have missed: after a reconnect, and at each poll in case a notification was lost.

        The stored list of its games is not enough: a failover may lose it, and another copy removes games that have ended.
        """
        session_ids = sorted({*await self._presence.games(stream.bot), *stream.session_ids()})
        as_stored = await self.live_sessions.read_unchanged(session_ids)
        unheard = [
            session_id
            for session_id in session_ids
            if session_id not in as_stored or not stream.knows(as_stored[session_id])
        ]
        # Games that have started come first: their clocks are running, and the bot's limit may leave no room for others.
        new: list[str] = []
        for session_id in unheard:
            session = await self._find(stream, session_id)
            if session is not None and stream.is_new(session):
                new.append(session_id)
            elif session is not None:
                stream.catch_up(session)
        for session_id in new:
            session = await self._find(stream, session_id)
            if session is not None:
                stream.catch_up(session)

    async def _find(self, stream: BotStream, session_id: str) -> Session | None:
        """Return a game that the bot was not sent completely, else None. The caller must send it at once, before it changes."""
        try:
            session = await self.live_sessions.read(session_id)
        except UnknownSession:
            if stream.is_missing(session_id):
                stream.drop(session_id)
                await self.forget_game(stream.bot, session_id)
            return None
        except UnreadableSession as error:  # perhaps written by a newer copy; the bot's other games go on
            if session_id not in self._unreadable:  # logged once, not at every poll
                self._unreadable.append(session_id)
                _LOG.warning("a game of %s cannot be sent to it: %s", stream.bot, error)
            return None
        if stream.bot not in session.header.bots:  # another session, created differently, has the id now
            stream.drop(session_id)
            await self.forget_game(stream.bot, session_id)
            return None
        is_live = self.streams.get(stream.bot) is stream
        return session if is_live and not stream.knows(session) else None

    async def run(self) -> None:
        """Renew presence and poll until cancelled."""
        rounds = 0
        while True:
            await asyncio.sleep(POLL_S)
            rounds += 1
            is_time_to_beat = rounds % max(1, int(BEAT_S / POLL_S)) == 0
            for stream in list(self.streams.values()):
                await _quietly(self._resync(stream))
                if is_time_to_beat:
                    await _quietly(self._beat(stream))

    async def _beat(self, stream: BotStream) -> None:
        if not await self._presence.beat(stream.info):
            stream.take_over()


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work that may fail because the store is away; the next poll repeats it."""
    try:
        await work
    except StoreUnavailable as error:
        _LOG.warning("%s", error)
    except SessionError as error:
        _LOG.info("%s", error)
    except Exception:
        _LOG.exception("background work of the bot streams failed")
