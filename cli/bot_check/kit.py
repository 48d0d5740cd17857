"""What every check uses: the bot, the proxy and the service; and how a check reports its result."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cli.bot_check.bot_process import BotProcess, now
from cli.bot_check.kit_session import KitSession
from cli.bot_check.proxy import ProxiedStream, Proxy, ignore
from cli.bot_check.service_process import CHECKED_BOT, ServiceProcess
from rubble.v1 import bot_pb2, common_pb2, game_pb2, session_pb2
from service.sessions.clock import TimeControl

_POLL_S: Final = 0.01
#: The clock of the kit's own games, in which no seat is forfeited.
CLOCK: Final = TimeControl(move_ms=100, bank_ms=20_000)
SMALL_GAME: Final = ("sf1906-2e", 2)


class Failed(Exception):
    """The check failed; the message says what was expected and what happened."""


class Skipped(Exception):
    """The check does not apply to this bot; the message says why."""


@dataclass(frozen=True)
class Settings:
    """How the checks are run."""

    #: Empty if the user starts the bot.
    command: Sequence[str]
    #: The key of a bot that the user starts.
    own_key: str = ""
    listen: str = "127.0.0.1:0"
    #: How long to wait for each thing, in seconds.
    patience_s: float = 20.0
    move_ms: int = 100
    bank_ms: int = 20_000
    memory_mb: int = 1024
    deterministic: bool = False


@dataclass
class Kit:
    """The bot, the proxy and the service, with the steps that checks share."""

    settings: Settings
    service: ServiceProcess
    proxy: Proxy
    bot: BotProcess | None
    key: str
    games: Sequence[game_pb2.GameSummary]
    #: Sessions that the current check has created.
    sessions: list[str] = field(default_factory=list)
    #: The numbers of the checks that failed so far.
    failed: set[int] = field(default_factory=set)
    _names: int = 0

    # ----------------------------------------------------------------------------------------------------------- basics
    @property
    def patience_s(self) -> float:
        return self.settings.patience_s

    @property
    def control(self) -> common_pb2.TimeControl:
        """The clock of ordinary games."""
        return common_pb2.TimeControl(move_ms=self.settings.move_ms, bank_ms=self.settings.bank_ms)

    async def until(self, is_true: Callable[[], bool], otherwise: str, seconds: float = 0.0) -> None:
        """Wait until something is true; raises Failed if that takes too long."""
        limit = seconds or self.patience_s
        end = now() + limit
        while not is_true():
            if now() > end:
                raise Failed(f"{otherwise} within {limit:g} s")
            await asyncio.sleep(_POLL_S)

    def new_name(self) -> str:
        """Return a new name for a game of the kit."""
        self._names += 1
        return f"check-{self._names}"

    def process(self) -> BotProcess:
        """Return the bot's process; raises Skipped if the kit did not start it."""
        if self.bot is None:
            raise Skipped("the kit did not start this bot, so it cannot stop or start it")
        return self.bot

    # ---------------------------------------------------------------------------------------------------------- the bot
    async def start(self, **settings: str) -> BotProcess:
        """Start a new process of the bot; ``settings`` replace the usual ones, empty ones are left out."""
        bot = self.process()
        await self.stop()
        self.proxy.refusal_reason = ""
        usual = {"RUBBLE_ADDRESS": self.proxy.address, "RUBBLE_BOT_KEY": self.key}
        await bot.start({name: value for name, value in (usual | settings).items() if value})
        return bot

    async def stop(self) -> None:
        """Stop the process and wait for its streams to end, without blaming the bot."""
        self.proxy.excuse()
        await self.process().stop()
        await self.until(lambda: not any(stream.is_open for stream in self.proxy.streams), "its streams did not end")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal that ends the process, without blaming the bot."""
        self.proxy.excuse()
        self.process().signal(number)

    async def stream(self) -> ProxiedStream:
        """Return the bot's live stream; starts the bot if it does not run."""
        if self._has_ended():
            await self.start()
        found = self.proxy.live()
        if found is not None:
            return found
        what = "did not connect" if self.bot is not None else "no bot connected with the key"
        try:
            await self.until(lambda: self.proxy.live() is not None or self._has_ended(), what)
        except Failed as failed:
            raise Failed(f"{failed}{self._refusal()}") from None
        found = self.proxy.live()
        if found is None:
            raise Failed(f"it ended with {self.ending()} instead of connecting{self._refusal()}")
        return found

    def _refusal(self) -> str:
        """Say why its newest stream was refused, as the end of a sentence; empty if none was."""
        return f"; it was refused: {self.proxy.refusal_reason}" if self.proxy.refusal_reason else ""

    async def next_stream(self, after: int, seconds: float = 0.0) -> ProxiedStream:
        """Wait for a stream after the first ``after`` ones, and return it once the service has sent Welcome."""
        await self.until(
            lambda: self._has_ended() or any(stream.is_welcome for stream in self.proxy.streams[after:]),
            "did not reconnect",
            seconds,
        )
        if not any(stream.is_welcome for stream in self.proxy.streams[after:]):
            raise Failed(f"it ended with {self.ending()} instead of reconnecting")
        return next(stream for stream in reversed(self.proxy.streams) if stream.is_welcome)

    def _has_ended(self) -> bool:
        return self.bot is not None and not self.bot.is_running

    def ending(self) -> str:
        """Say how the process ended."""
        bot = self.process()
        if bot.ended_for:
            return f"a kill by the kit: {bot.ended_for}"
        code = bot.exit_code
        return "no exit code" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"

    def alive(self) -> None:
        """Raise Failed if the process has ended."""
        if self._has_ended():
            raise Failed(f"it ended with {self.ending()} in the middle of the check")

    # -------------------------------------------------------------------------------------------- games of the real service
    async def session(
        self, game: str = SMALL_GAME[0], seats: int = SMALL_GAME[1], seat: int = 0, **control: int
    ) -> str:
        """Create a session on the real service with the bot on that seat."""
        clock = common_pb2.TimeControl(**control) if control else self.control
        session = await self.service.session(game, seats, seat, clock)
        self.sessions.append(session)
        return session

    async def finish(self, session: str) -> session_pb2.EndEvent:
        """Wait for the end of a session; raises Failed if the bot forfeits its seat or nothing happens for too long."""
        events = self.service.watch(session)
        while True:
            event = await self._next(events, session)
            match event.WhichOneof("event"):
                case "fault":
                    look = await self.service.look(session)
                    if look.seats[event.fault.seat].bot == CHECKED_BOT:
                        self.alive()
                        raise Failed(f"it forfeited its seat: {common_pb2.Fault.Name(event.fault.fault)}")
                case "end":
                    return event.end

    async def _next(self, events: AsyncIterator[session_pb2.WatchEvent], session: str) -> session_pb2.WatchEvent:
        """Return the next event of a session; raises Failed if the bot ends or it takes too long."""
        coming = asyncio.ensure_future(anext(events))
        end = now() + self.patience_s + self.settings.bank_ms / 1000
        try:
            while not coming.done():
                await asyncio.wait({coming}, timeout=0.2)
                if not coming.done():
                    self.alive()
                    if now() > end:
                        raise Failed(f"nothing happened in session {session} for too long")
            return coming.result()
        finally:
            coming.cancel()

    async def play(
        self, game: str = SMALL_GAME[0], seats: int = SMALL_GAME[1], seat: int = 0, **control: int
    ) -> session_pb2.EndEvent:
        """Play a whole game; raises Failed if the bot forfeits its seat."""
        return await self.finish(await self.session(game, seats, seat, **control))

    async def goes_on(self) -> None:
        """Check that the bot still works: it answers a few questions of a new game."""
        self.alive()
        await self.answers(await self.stream(), 3)

    # -------------------------------------------------------------------------------------------- games of the kit's own
    def table(
        self, game: str = SMALL_GAME[0], seats: int = SMALL_GAME[1], seat: int = 0, number: int = 1906
    ) -> KitSession:
        """Make a game of the kit."""
        return KitSession(self.new_name(), game, seats, seat, number, CLOCK)

    async def answers(self, stream: ProxiedStream, count: int, table: KitSession | None = None) -> KitSession:
        """Let the bot answer this many questions in a game of the kit."""
        asked = table or self.table()
        over = bot_pb2.PlayEvent(game_over=bot_pb2.GameOver(session=asked.name))

        def take(stream: ProxiedStream, choice: bot_pb2.Choice) -> None:
            said = asked.take(choice)
            stream.say(said if len(asked.answers) < count else over)
            if len(asked.answers) >= count:
                self.proxy.own_games[asked.name] = ignore

        self.proxy.own_games[asked.name] = take
        stream.say(asked.start(), asked.turn())
        await self.until(
            lambda: len(asked.answers) >= count or not asked.is_asking or not stream.is_open or self._has_ended(),
            f"fewer than {count} questions were answered",
        )
        self.alive()
        if not stream.is_open:
            raise Failed("it disconnected in the middle of a game")
        return asked


Run = Callable[[Kit], Awaitable[str]]


@dataclass(frozen=True)
class Check:
    """One numbered check."""

    number: int
    title: str
    #: What it proves, in one sentence.
    proves: str
    run: Run
    #: Checks that must not have failed for this one to be run.
    needs: tuple[int, ...]


CHECKS: Final[dict[int, Check]] = {}


def check(number: int, title: str, proves: str, *, needs: tuple[int, ...] = (1, 5)) -> Callable[[Run], Run]:
    """Add a check to the list. It returns a short detail, or raises Failed or Skipped.

    By default it needs a bot that connects (1) and answers (5).
    """

    def enter(run: Run) -> Run:
        assert number not in CHECKS, number
        CHECKS[number] = Check(number, title, proves, run, needs)
        return run

    return enter
