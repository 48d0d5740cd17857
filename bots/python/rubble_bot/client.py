"""One bot: one stream to the arena that carries all its games, with reconnection.

Answers that are ready together are sent in one message. An answer is kept until the next question: after a
reconnect the arena asks again, and the same question gets the same answer.
"""

import asyncio
import logging
import operator
import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf.duration_pb2 import Duration

from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2
from rubble_bot.thinking import Thinker
from rubble_bot.turn import Answer, BotError, Choose, MissingSetting, Rejected, TakenOver, Turn, View

SDK: Final = "rubble-python 0.1"
_LOG: Final = logging.getLogger("rubble_bot")
#: Seconds between two attempts to connect: doubled from the first value up to the second, shortened by up to half at random.
_SHORTEST_S, _LONGEST_S = 0.1, 10.0
_AT_ONCE: Final = 256  # choices in one message
_NOTE: Final = 1000  # characters of a note
_OPTIONS: Final = (
    ("grpc.keepalive_time_ms", 20_000),  # notice a dead connection while waiting for a turn
    ("grpc.use_local_subchannel_pool", 1),  # every stream has its own connection, perhaps to another copy
    # The bot connects again itself. gRPC's own attempts have no pause: they can fill the memory while an arena stops.
    ("grpc.enable_retries", 0),
)


@dataclass(slots=True)
class _Game:
    """A game this bot plays, and its latest question."""

    start: bot_pb2.GameStart
    turn: Turn | None = None
    choice: bot_pb2.Choice | None = None
    is_thinking: bool = False
    #: Whether the game is announced on the current stream, so that answers may be sent.
    is_here: bool = True
    refusals: int = 0


class Bot:
    """A bot that plays until it is stopped. Missing settings are read from RUBBLE_ADDRESS, RUBBLE_BOT_KEY and RUBBLE_CA.

    ``ca`` is a file of certificates to trust, or "system" for those of the machine; empty means no TLS. ``games`` is the number of
    games played at once, ``threads`` the number of threads that call a synchronous ``choose``. ``is_quick``: ``choose`` takes about
    a millisecond at most; it is then called without a thread, and the answers to one message are sent in one message. ``on_start``
    and ``on_over`` are called between two messages and should be quick.
    """

    def __init__(
        self,
        choose: Choose,
        *,
        address: str = "",
        key: str = "",
        ca: str = "",
        games: int = 16,
        threads: int = 0,
        is_quick: bool = False,
        on_start: Callable[[bot_pb2.GameStart], None] | None = None,
        on_over: Callable[[bot_pb2.GameOver], None] | None = None,
    ) -> None:
        self._address = address or os.environ.get("RUBBLE_ADDRESS", "")
        self._key = key or os.environ.get("RUBBLE_BOT_KEY", "")
        _demand(self._address, self._key)
        self._ca = ca or os.environ.get("RUBBLE_CA", "")
        self._parallel = games
        self._on_start = on_start
        self._on_over = on_over
        self._thinker = Thinker(choose, 0 if is_quick else threads or min(games, 16))
        self._games: dict[str, _Game] = {}
        self._outbox: list[bot_pb2.Choice] = []
        self._wake = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[Any] | None = None
        self._is_stopping = False
        self._failures = 0  # failed attempts in a row

    # ------------------------------------------------------------------------------------------------------------ running
    def run(self) -> None:
        """Plays until SIGTERM, Ctrl-C or ``stop``. Logs to standard error unless logging is already configured."""
        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        asyncio.run(self._run())

    async def _run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, ValueError, RuntimeError):  # Windows, or not the main thread
                asyncio.get_running_loop().add_signal_handler(number, self.stop)
        await self.play()

    async def play(self) -> None:
        """Plays inside a running event loop, without handling signals."""
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        try:
            while not self._is_stopping:
                await self._converse()
        except asyncio.CancelledError:
            if not self._is_stopping or self._main is None:
                raise
            self._main.uncancel()
        _LOG.info("stopped")

    def stop(self) -> None:
        """Leaves the arena now; may be called from any thread. The arena keeps the games until their clocks run out."""
        self._is_stopping = True
        if self._loop is not None and self._main is not None:
            with suppress(RuntimeError):  # the loop is closed: it has stopped already
                self._loop.call_soon_threadsafe(self._main.cancel)

    async def _converse(self) -> None:
        """Runs one stream, from Hello to its end, and then pauses before the next one."""
        for game in self._games.values():
            game.is_here = False
        self._outbox.clear()  # the arena asks again for every answer that did not arrive
        problem, stay_away_s = "the stream ended", 0.0
        async with self._channel() as channel:
            # The key is also sent as metadata: the arena then knows the bot before it reads the stream.
            call = bot_pb2_grpc.BotServiceStub(channel).Play(metadata=(("authorization", f"Bearer {self._key}"),))
            writer = asyncio.create_task(self._write(call))
            try:
                async for response in call:
                    if not self._hear(response.events):
                        _LOG.info("this copy of the arena is about to stop; connecting again")
                        return
            except grpc.aio.AioRpcError as error:
                problem, stay_away_s = _classify(error)
            finally:
                writer.cancel()
                call.cancel()
        if stay_away_s:
            pause = min(_LONGEST_S, stay_away_s * random.uniform(1, 1.5))
        else:
            pause = min(_LONGEST_S, _SHORTEST_S * 2 ** min(self._failures, 20)) * random.uniform(0.5, 1)
            self._failures += 1
        _LOG.warning("no connection to %s (%s); next attempt in %.1f s", self._address, problem, pause)
        await asyncio.sleep(pause)

    def _channel(self) -> grpc.aio.Channel:
        if not self._ca:
            return grpc.aio.insecure_channel(self._address, _OPTIONS)
        try:
            roots = None if self._ca == "system" else Path(self._ca).read_bytes()
        except OSError as error:
            raise MissingSetting(f"RUBBLE_CA: {self._ca} cannot be read ({error.strerror})") from None
        return grpc.aio.secure_channel(self._address, grpc.ssl_channel_credentials(roots), _OPTIONS)

    async def _write(self, call: Any) -> None:
        """Sends Hello, then all waiting choices as one message."""
        hello = bot_pb2.Hello(bot_key=self._key, sdk=SDK, max_parallel_games=self._parallel)
        request = bot_pb2.PlayRequest(hello=hello)
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):  # the reader gets the reason
            while True:
                await call.write(request)
                while not self._outbox:
                    self._wake.clear()
                    await self._wake.wait()
                request = bot_pb2.PlayRequest(choices=self._outbox[:_AT_ONCE])
                del self._outbox[:_AT_ONCE]

    # ------------------------------------------------------------------------------------------------------------ events
    def _hear(self, events: Sequence[bot_pb2.PlayEvent]) -> bool:
        """Handles events; returns False if the arena asks the bot to reconnect."""
        for event in events:
            match event.WhichOneof("event"):
                case "turn":
                    self._ask(event.turn)
                case "game_start":
                    self._begin(event.game_start)
                case "game_over":
                    self._end(event.game_over)
                case "refused":
                    self._reconsider(event.refused)
                case "welcome":
                    self._failures = 0
                    _LOG.info("connected to %s as %s", self._address, event.welcome.bot)
                case "draining":
                    return False
                case "taken_over":
                    raise TakenOver("another process plays with this bot's key now; stopping")
        return True

    def _begin(self, start: bot_pb2.GameStart) -> None:
        if start.session in self._games:
            self._games[start.session].is_here = True
            return
        self._games[start.session] = _Game(start)
        _LOG.info("%s: a game of %s, seat %d of %d", start.session, start.game, start.seat, start.seats)
        _tell(self._on_start, start)

    def _end(self, over: bot_pb2.GameOver) -> None:
        game = self._games.pop(over.session, None)
        if over.fault:
            _LOG.error("%s: lost by %s", over.session, common_pb2.Fault.Name(over.fault))
        elif game is not None and over.HasField("outcome"):
            result = over.outcome.seats[game.start.seat]
            _LOG.info("%s: rank %d with %d points (%s)", over.session, result.rank, result.score, over.outcome.ending)
        else:
            _LOG.info("%s: over", over.session)
        _tell(self._on_over, over)

    def _ask(self, asked: bot_pb2.Turn) -> None:
        game = self._games.get(asked.session)
        if game is None:
            _LOG.error("%s: a question about a game that never started; left unanswered", asked.session)
            return
        known = game.turn
        if known is not None and known.number == asked.turn and known.legal_actions == asked.legal_actions:
            if game.choice is not None:
                self._send(game.choice)
                return
            if game.is_thinking:
                return  # the answer is sent as soon as it is ready
        start = game.start
        view: View = getattr(asked.view, asked.view.WhichOneof("game") or "other")
        game.turn = Turn(
            asked.session,
            start.game,
            start.seat,
            start.seats,
            asked.turn,
            view,
            asked.legal_actions,
            asked.clock,
            start.commitments,
        )
        game.choice, game.refusals = None, 0
        self._think(game, game.turn)

    def _reconsider(self, refused: bot_pb2.Refused) -> None:
        """Logs the refusal; if the question is still open, asks again with the reason."""
        _LOG.warning("%s: answer %d refused: %s (%s)", refused.session, refused.turn, refused.message, refused.reason)
        game = self._games.get(refused.session)
        if game is None or game.turn is None or game.choice is None or game.turn.number != refused.turn:
            return
        if refused.open and self._loop is not None:
            pause = min(_LONGEST_S, 0.05 * 2**game.refusals)  # avoids adding load to an arena in trouble
            game.turn, game.choice = replace(game.turn, refused=refused.reason), None
            game.refusals += 1
            game.is_thinking = True
            self._loop.call_later(pause, self._think, game, game.turn)

    # ---------------------------------------------------------------------------------------------------------- answering
    def _think(self, game: _Game, turn: Turn) -> None:
        game.is_thinking = True
        self._thinker.ask(turn, partial(self._answer, game))

    def _answer(self, game: _Game, turn: Turn, answer: Answer | None) -> None:
        if game.turn is not turn:
            return  # a newer question has replaced it
        game.is_thinking = False
        choice = bot_pb2.Choice(session=turn.session, turn=turn.number, note=turn.note[:_NOTE])
        try:
            if isinstance(answer, str):
                choice.text = answer
            elif answer is not None:
                choice.index = operator.index(answer)
            else:
                return  # choose failed and the error is logged
        except (TypeError, ValueError):
            _LOG.error("%s: choose gave %r; expected an index or a text", turn.session, answer)
            return
        game.choice = choice
        if game.is_here:
            self._send(choice)

    def _send(self, choice: bot_pb2.Choice) -> None:
        self._outbox.append(choice)
        self._wake.set()


def run(choose: Choose, **settings: Any) -> None:
    """Plays until stopped and ends the process, with a message if something is wrong. ``settings`` are those of Bot."""
    try:
        Bot(choose, **settings).run()
    except BotError as error:
        print(f"rubble-bot: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _demand(address: str, key: str) -> None:
    """Raises MissingSetting, with what to do, unless both are set."""
    wanted = (
        ("RUBBLE_ADDRESS is missing: host:port of the arena", address),
        ("RUBBLE_BOT_KEY is missing: the key the operator issued for this bot", key),
    )
    missing = [words for words, value in wanted if not value]
    if missing:
        helps = (
            "`rubble key issue NAME` makes a key, and `rubble ladder enter` writes one into LADDER.BOT.LABEL.env; "
            "without an arena, try `rubble bot check -- ./run`"
        )
        raise MissingSetting(f"{'; '.join(missing)} ({helps})")
    if not (key.isascii() and key.isprintable()):  # metadata cannot carry it
        raise MissingSetting(
            "RUBBLE_BOT_KEY has characters that no key has; expected it as `rubble key issue NAME` printed it"
        )


def _tell(listener: Callable[[Any], None] | None, message: Any) -> None:
    try:
        if listener is not None:
            listener(message)
    except Exception:
        _LOG.exception("%s: a listener failed", message.session)


def _classify(error: grpc.aio.AioRpcError) -> tuple[str, float]:
    """Returns what went wrong and in how many seconds to try again (0: unknown); raises BotError if trying again is useless."""
    code, details = error.code(), error.details() or ""
    if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        raise Rejected(f"the arena does not accept RUBBLE_BOT_KEY: {details}") from None
    if code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED):
        raise Rejected(f"the arena does not understand this bot: {details}") from None
    facts = b"".join(value for _, value in error.trailing_metadata() or () if isinstance(value, bytes))
    # A full arena names the delay itself; longer pauses would only cost games.
    stay_away_s = _retry_delay_s(facts) if code is grpc.StatusCode.RESOURCE_EXHAUSTED else 0.0
    return f"{code.name}: {details}", stay_away_s


def _retry_delay_s(facts: bytes) -> float:
    """Returns the delay of a google.rpc.RetryInfo among packed details, else 0; parsed by hand to avoid a dependency."""
    packed = facts.partition(b"google.rpc.RetryInfo\x12")[2]  # a length, then field 1 with its length: the Duration
    if packed[1:2] != b"\x0a":
        return 0.0
    return Duration.FromString(packed[3 : 3 + packed[2]]).ToTimedelta().total_seconds()
