"""The hub: every bot stream this copy of the service holds, and what each bot has to be told.

A stream is told about a game by ``news``: with a session in hand that was just saved, it compares what the bot has heard
with what stands and queues the difference. So it does not matter how often, in which order or by whom it is called.
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
from service.sessions import keys
from service.sessions.arena import Answer, Arena, Change
from service.sessions.bells import Bells
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
from service.sessions.presence import BEAT_S, LOSS, TAKEOVER, Presence, Stream
from service.sessions.redis_store import read_notice
from service.sessions.session import ACTIVE, Accepted, Reply, Seat, Session

_LOG: Final = logging.getLogger(__name__)
#: What may wait for a bot that does not read, before its stream is given up.
_QUEUE_EVENTS: Final = 4096
_QUEUE_BYTES: Final = 16 << 20
#: What travels together at most.
_BATCH_EVENTS: Final = 64
_BATCH_BYTES: Final = 256 << 10
#: How many ended games a stream remembers, so that a poll that began before the end does not tell it again.
_REMEMBERED: Final = 1024
#: How often a copy looks for notices it may have missed, in seconds.
POLL_S: Final = 2.0
#: Answers of one bot that are on their way, before its next message is read.
_AT_ONCE: Final = 256
#: … and those of one session: a question has one answer, and the others at the same table must not wait behind more.
_AT_ONCE_IN_A_SESSION: Final = 2
#: A bot's game that cannot be found may be one that is just being made. After so many milliseconds it is not.
_MISSING_MS: Final = 10_000


class _Place:
    """A game at which the bot sits, and what it has heard of it."""

    __slots__ = ("birth", "question", "seat", "sent_ms", "sent_turn", "unsettled")

    def __init__(self, session: Session, seat: int) -> None:
        self.birth = session.header.birth
        self.seat = seat
        self.sent_turn = 0
        self.sent_ms = 0
        #: The mark of the question that the bot was sent and that has no accepted answer yet; None if there is none.
        self.question: str | None = None
        #: Answers of the bot that are on their way.
        self.unsettled = 0

    def has_heard(self, seat: Seat) -> bool:
        """Whether the bot knows its open question, if there is one.

        Numbers do not tell: when the store loses its newest writes, as in a power cut or a failover, an answered question is
        open again, or the same turn is asked in another position. Nobody but us can tell the bot.
        """
        return not seat.is_asked or (self.sent_turn, self.question) == (seat.turn, seat.question)

    def see(self, seat: Seat) -> None:
        """Take note of where the session stands: a question that is open no more has been answered, through us or past us."""
        if not seat.is_asked:
            self.question = None

    def answered(self, question: str | None) -> None:
        """An answer was accepted; by now the next question may have been sent."""
        if self.question == question:
            self.question = None

    def think_ms(self, turn: int, received_ms: int) -> int | None:
        """How long the bot thought about this turn, if it is the one it was sent last."""
        return max(0, received_ms - self.sent_ms) if self.sent_ms and self.sent_turn == turn else None


class BotStream:
    """One bot's live stream."""

    def __init__(self, hub: "Hub", info: Stream) -> None:
        self.info = info
        self.bot = info.bot
        self._hub = hub
        self._places: dict[str, _Place] = {}
        #: Games beyond what the bot wants to play at once, in the order of their arrival.
        self._later: OrderedDict[str, int] = OrderedDict()
        self._over: deque[str] = deque(maxlen=_REMEMBERED)
        self._queue: list[bytes] = []
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._ended: SessionError | None = None
        self._is_draining = False
        self._is_left = False
        #: Games that could not be found, and since when.
        self._missing: dict[str, int] = {}
        self._patience: asyncio.Timeout | None = None
        #: Where a question waits to be sent: its clock begins with the message that carries it.
        self._to_stamp: list[_Place] = []
        #: Answers on their way, and what is set whenever one is settled.
        self._unsettled = 0
        self._settling = asyncio.Event()
        #: What the bot sent that nobody had asked for, since this was last set to 0.
        self.wasted = 0

    # ------------------------------------------------------------------------------------------------------- to the bot
    def send(self, event: bytes) -> None:
        """Queue an event; a bot that does not read loses its stream, not the service its memory."""
        if isinstance(self._ended, NotReading | TakenOver):
            return
        self._queue.append(event)
        self._queued_bytes += len(event)
        if len(self._queue) > _QUEUE_EVENTS or self._queued_bytes > _QUEUE_BYTES:
            self.end(NotReading())
        self._wake.set()

    def end(self, reason: SessionError) -> None:
        """The stream stops as soon as its writer looks up; nobody waits any longer for a bot that does not read."""
        self._ended = self._ended or reason
        self._wake.set()
        if isinstance(reason, NotReading) and self._patience is not None:
            with contextlib.suppress(RuntimeError):  # no message is under way
                self._patience.reschedule(asyncio.get_running_loop().time())

    def patience(self, seconds: float) -> asyncio.Timeout:
        """How long to wait for the bot to take a message."""
        self._patience = asyncio.timeout(seconds)
        return self._patience

    def drain(self) -> None:
        """Tell the bot to come back through another door, and finish."""
        self.send(events.draining("this copy of the service is stopping"))
        self._is_draining = True
        self._wake.set()

    def take_over(self) -> None:
        """Tell the bot that it has a newer stream, and finish."""
        self.send(events.taken_over())
        self.end(TakenOver())

    def leave(self) -> None:
        """The bot says no more: what has piled up is sent, and that is all."""
        self._is_left = True
        self._wake.set()

    async def next_batch(self) -> bytes:
        """Everything that has piled up, as one message; raises what ended the stream, returns nothing when it is over."""
        while not self._queue:
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
        now = self._hub.arena.now_ms()
        for place in self._to_stamp:
            place.sent_ms = now
        self._to_stamp.clear()
        return b"".join(batch)

    def news(self, session: Session) -> None:
        """Tell the bot whatever it has not heard of this session."""
        session_id = session.header.id
        if self.bot not in session.header.bots:
            return
        place = self._places.get(session_id)
        seat = session.header.bots.index(self.bot)
        record = session.seats[seat]
        if (
            place is not None and place.birth != session.header.birth
        ):  # the store lost the session, and it was created anew
            place = None
            del self._places[session_id]
        if session.status != ACTIVE or record.fault:
            self._later.pop(session_id, None)
            if place is not None:
                self.send(events.game_over(session, seat))
            self._leave(session_id)
            return
        is_back = place is None
        if place is None:
            # A game that has begun is told whatever the bot wants at once: its clock runs.
            if len(self._places) >= self.info.max_games and not record.clock.is_seated:
                self._later[session_id] = session.revision
                return
            self._later.pop(session_id, None)
            place = self._places[session_id] = _Place(session, seat)
            self.send(events.game_start(session, seat))
        place.see(record)
        if not record.clock.is_seated:
            self._hub.spawn(self._hub.arena.take_seat(session_id, seat))
        elif not place.has_heard(record):
            place.sent_turn, place.question = record.turn, record.question
            # A bot that comes back to an open question finds the clock as it stands; else nobody's clock would ever run out.
            place.sent_ms = record.clock.asked_ms if is_back else 0
            if not is_back:
                self._to_stamp.append(place)
            self.send(events.turn(session, seat, self._hub.arena.now_ms()))

    def catch_up(self, session: Session) -> None:
        """Like ``news``, for a bot that has just come: games that ended while it was away are told from start to end."""
        session_id = session.header.id
        if self.bot in session.header.bots and session_id not in self._places:
            seat = session.header.bots.index(self.bot)
            is_over = session.status != ACTIVE or bool(session.seats[seat].fault)
            if is_over and session_id in self._over:
                self._hub.spawn(self._hub.forget_game(self.bot, session_id))
                return
            if is_over:
                self._places[session_id] = _Place(session, seat)
                self.send(events.game_start(session, seat))
        self.news(session)

    def _leave(self, session_id: str) -> None:
        """The game is over for this bot: there is room for another."""
        if self._places.pop(session_id, None) is not None:
            self._over.append(session_id)
            self._hub.spawn(self._hub.forget_game(self.bot, session_id))
        if self._later and len(self._places) < self.info.max_games:
            waiting, _ = self._later.popitem(last=False)
            self._hub.spawn(self._hub.look(self, waiting))

    def mark_unsent(self, session_id: str) -> None:
        """What the bot has heard of this session may have been lost: its open question is sent again."""
        place = self._places.get(session_id)
        if place is not None:
            place.question = None

    def knows(self, session: Session) -> bool:
        """Whether the bot has heard all there is to hear of this session."""
        place = self._places.get(session.header.id)
        if place is not None and place.birth != session.header.birth:
            return False
        if place is None:  # it waits for room, unless there is some: whatever was to take it may have expired meanwhile
            return session.header.id in self._later and len(self._places) >= self.info.max_games
        seat = session.seats[place.seat]
        return session.status == ACTIVE and not seat.fault and place.has_heard(seat)

    def is_new(self, session: Session) -> bool:
        """Whether the bot's clock in this game stands still until it is told of it."""
        clock = session.seats[session.header.bots.index(self.bot)].clock
        return session.header.id not in self._places and session.status == ACTIVE and not clock.is_seated

    def is_missing(self, session_id: str) -> bool:
        """A game could not be found: whether that has been so for long enough to believe it."""
        now = self._hub.arena.now_ms()
        if now - self._missing.setdefault(session_id, now) < _MISSING_MS:
            return False
        del self._missing[session_id]
        return True

    @property
    def games(self) -> int:
        """How many games the bot is playing."""
        return len(self._places)

    def session_ids(self) -> list[str]:
        """The games the bot is playing or waiting for."""
        return [*self._places, *self._later]

    # ----------------------------------------------------------------------------------------------------- from the bot
    def choose(self, choice: bot_pb2.Choice, received_ms: int) -> None:
        """One answer of the bot. Whatever is wrong with it is said in a Refused event."""
        session_id, turn = choice.session, choice.turn
        place = self._places.get(session_id)
        if place is None:  # whoever floods us with answers that nobody asked for costs little
            self._refuse(choice, UnknownSession(session_id))
            return
        kind = choice.WhichOneof("choice")
        if kind is None:
            self._refuse(choice, BadRequest("choice", "nothing", "an index or a text"))
            return
        answer = Answer(
            place.seat,
            turn,
            choice.index if kind == "index" else choice.text,
            redact(choice.note),  # it becomes public with the replay
            received_ms,
            place.think_ms(turn, received_ms),
            place.question,
        )
        place.unsettled += 1
        self._unsettled += 1
        self._hub.arena.answer(session_id, answer, partial(self._settled, place, choice, answer.question))

    def _settled(self, place: _Place, choice: bot_pb2.Choice, question: str | None, reply: Reply | Exception) -> None:
        if isinstance(reply, Accepted):
            place.answered(question)
            self.wasted += reply.repeated
        else:
            self._refuse(choice, reply if isinstance(reply, Exception) else reply.error)
        place.unsettled -= 1
        self._unsettled -= 1
        self._settling.set()

    def is_full(self, session_id: str) -> bool:
        """Whether as many answers of the bot are on their way as may be, in all or in this session."""
        place = self._places.get(session_id)
        return self._unsettled >= _AT_ONCE or (place is not None and place.unsettled >= _AT_ONCE_IN_A_SESSION)

    async def one_settled(self) -> None:
        """Wait until an answer that is on its way is settled."""
        self._settling.clear()
        await self._settling.wait()

    async def all_settled(self) -> None:
        """Wait for the answers that are on their way: whatever follows from them has been queued then."""
        while self._unsettled:
            await self.one_settled()

    def _refuse(self, choice: bot_pb2.Choice, error: Exception) -> None:
        session_id, turn = choice.session, choice.turn
        is_open = True  # after a bug of ours
        if isinstance(error, SessionError):
            self.wasted += not isinstance(error, StoreUnavailable | Conflict)  # those are no fault of the bot
            is_closed = isinstance(error, StaleTurn | NotYourTurn)  # it has its answer, or never was a question
            is_open = not is_closed and self._is_open(session_id, turn)
        with logs.ids(session=session_id):
            told = errors.answer(error)
        self.send(events.refused(session_id, turn, told, is_open=is_open))

    def _is_open(self, session_id: str, turn: int) -> bool:
        place = self._places.get(session_id)
        return place is not None and place.sent_turn == turn


class Hub:
    """All bot streams of this copy."""

    def __init__(self, arena: Arena, presence: Presence, bells: Bells) -> None:
        self.arena = arena
        self._presence = presence
        self._bells = bells
        self.streams: dict[str, BotStream] = {}
        self._listeners: dict[str, Callable[[str], None]] = {}
        self._doors: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._unreadable: deque[str] = deque(maxlen=_REMEMBERED)
        self._is_draining = False
        arena.listen(self._hear_change)
        arena.listen_for_losses(self._tell_loss)
        bells.on_return.append(self._resync_soon)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Let something be done while we go on; what fails is logged, a store that is away is nothing new."""
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -------------------------------------------------------------------------------------------------- coming and going
    async def connect(self, bot: str, sdk: str, max_games: int) -> BotStream:
        """A bot has said hello: this is its stream from now on."""
        if self._is_draining:
            raise StoreUnavailable("this copy of the service is stopping; connect again")
        # One at a time: else the older of two that come at once might be written down last.
        async with self._door(bot):
            info = Stream(bot, uuid.uuid4().hex, sdk, max_games, self.arena.now_ms())
            stream = BotStream(self, info)
            older = self.streams.get(bot)
            if older is not None:
                older.take_over()
            self.streams[bot] = stream
            self._presence.here.add(bot)
            try:
                if bot not in self._listeners:
                    listener = self._listeners[bot] = self._listener(bot)
                    await self._bells.add(keys.bell(bot), listener)
                await self._presence.enter(info)
            except BaseException:  # nobody will hold this stream, so nobody would ever take it off the list
                await self.disconnect(stream)
                raise
        stream.send(events.welcome(bot, self.arena.now_ms()))
        self.spawn(self._resync(stream))
        return stream

    def _door(self, bot: str) -> asyncio.Lock:
        lock = self._doors.get(bot)
        if lock is None:
            lock = self._doors[bot] = asyncio.Lock()
        return lock

    async def disconnect(self, stream: BotStream) -> None:
        """The stream has ended, whoever ended it."""
        bot = stream.bot
        if self.streams.get(bot) is stream:
            del self.streams[bot]
            self._presence.here.discard(bot)
            listener = self._listeners.pop(bot, None)
            if listener is not None:
                await self._bells.remove(keys.bell(bot), listener)
        await _quietly(self._presence.leave(stream.info))

    async def drain(self) -> None:
        """Send every bot elsewhere; no move is lost, since what was accepted is saved."""
        self._is_draining = True
        for stream in list(self.streams.values()):
            stream.drain()

    # ----------------------------------------------------------------------------------------------------------- hearing
    def _hear_change(self, change: Change) -> None:
        for seat in change.seats:
            stream = self.streams.get(change.session.header.bots[seat])
            if stream is not None:
                stream.news(change.session)

    def _tell_loss(self, session: Session) -> None:
        """The store has lost moves of a session that this copy had saved: its bots are asked again, at whatever copy they are.

        A copy that holds a bot's stream may not have heard of the lost answer, and takes the open question for one it has sent.
        """
        for bot in session.header.bots:
            if bot:
                self.spawn(self._presence.tell_loss(bot, session.header.id))

    async def _ask_again(self, stream: BotStream, session_id: str) -> None:
        with contextlib.suppress(UnknownSession):
            session = await self.arena.read(session_id)
            stream.mark_unsent(session_id)
            stream.news(session)

    def _listener(self, bot: str) -> Callable[[str], None]:
        def hear(notice: str) -> None:
            stream = self.streams.get(bot)
            if stream is None:
                return
            if notice.startswith(TAKEOVER):
                if notice.removeprefix(TAKEOVER) != stream.info.id:
                    self.spawn(self._beat(stream))  # of two that came at once only one may go: ask which
            elif notice.startswith(LOSS):
                self.spawn(self._ask_again(stream, notice.removeprefix(LOSS)))
            else:
                session_id, mark, at_ms = read_notice(notice)
                metrics.BELL_SECONDS.observe(max(0, self.arena.now_ms() - at_ms) / 1000)
                self.spawn(self.look(stream, session_id, mark))

        return hear

    async def look(self, stream: BotStream, session_id: str, mark: str = "") -> None:
        """See where a session stands and tell the bot. What we remember will do, unless the notice has another mark."""
        with contextlib.suppress(UnknownSession):  # the next round forgets it, if it stays away
            stream.news(await self.arena.refresh(session_id, mark))

    async def forget_game(self, bot: str, session_id: str) -> None:
        """The game is over for the bot; it need not be found again."""
        await self._presence.drop_game(bot, session_id)

    def _resync_soon(self) -> None:
        for stream in list(self.streams.values()):
            self.spawn(self._resync(stream))

    async def _resync(self, stream: BotStream) -> None:
        """Tell a bot everything it may have missed: after a reconnect, and now and then in case a bell was not heard."""
        session_ids = await self._presence.games(stream.bot)
        as_stored = await self.arena.glance(session_ids)
        unheard = [
            session_id
            for session_id in session_ids
            if session_id not in as_stored or not stream.knows(as_stored[session_id])
        ]
        # Those that have begun come first: their clocks run, and the bot may not want more than these at once.
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
        """A game of which the bot has not heard all; None if there is nothing to tell. To be told at once, before it changes."""
        try:
            session = await self.arena.read(session_id)
        except UnknownSession:
            if stream.is_missing(session_id):
                await self.forget_game(stream.bot, session_id)
            return None
        except UnreadableSession as error:  # a newer copy wrote it, perhaps; the bot's other games go on
            if session_id not in self._unreadable:  # logged once, not at every poll
                self._unreadable.append(session_id)
                _LOG.warning("a game of %s cannot be told to it: %s", stream.bot, error)
            return None
        if stream.bot not in session.header.bots:  # the id was taken by a session that was asked for differently
            await self.forget_game(stream.bot, session_id)
            return None
        is_live = self.streams.get(stream.bot) is stream
        return session if is_live and not stream.knows(session) else None

    async def run(self) -> None:
        """Beat and poll until cancelled."""
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
    """Wait for something that may find the store away; it will be tried again by the next poll."""
    try:
        await work
    except StoreUnavailable as error:
        _LOG.warning("%s", error)
    except SessionError as error:
        _LOG.info("%s", error)
    except Exception:
        _LOG.exception("work beside the streams failed")
