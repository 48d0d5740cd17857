"""Bots inside the process of the test, which reconnect when their stream breaks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

import grpc

from rubble.v1 import bot_pb2
from tests.harness.client import Client, Refusal
from tests.harness.games import choice_of, fresh
from tests.harness.service import Arena
from tests.harness.waiting import until

#: What grpc.aio reports, in place of the status, if the server ends a call while the client writes.
_STATUS_LOST: Final = "Internal error from Core"

Policy = Callable[["Bot", bot_pb2.Turn], Awaitable[bot_pb2.Choice | None]]


async def scripted(bot: "Bot", turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
    """Answer every question with the scripted choice."""
    index = choice_of(bot.salt, turn.session, bot.seats[turn.session], turn.turn, len(turn.legal_actions))
    # Some answers are sent by index and some by text: both must mean the same.
    if turn.turn % 3:
        return bot_pb2.Choice(session=turn.session, turn=turn.turn, index=index)
    return bot_pb2.Choice(session=turn.session, turn=turn.turn, text=turn.legal_actions[index].text)


async def silent(bot: "Bot", turn: bot_pb2.Turn) -> bot_pb2.Choice | None:
    """Never answer."""
    return None


@dataclass
class Bot:
    """A bot that plays until its block ends, and connects to the next copy when its stream breaks."""

    name: str
    key: str
    addresses: Sequence[str]
    policy: Policy = scripted
    salt: str = ""
    parallel: int = 64
    #: Stop when the stream breaks, instead of reconnecting.
    once: bool = False
    seats: dict[str, int] = field(default_factory=dict)
    starts: list[bot_pb2.GameStart] = field(default_factory=list)
    turns: list[bot_pb2.Turn] = field(default_factory=list)
    refusals: list[bot_pb2.Refused] = field(default_factory=list)
    overs: dict[str, bot_pb2.GameOver] = field(default_factory=dict)
    #: How each of its streams ended.
    endings: list[Refusal | None] = field(default_factory=list)
    welcomes: int = 0
    drainings: int = 0
    #: The copy it is connected to.
    at: str = ""
    #: Every GameStart, Turn and GameOver, in the order of their arrival.
    heard: list[tuple[str, str]] = field(default_factory=list)
    #: The kind of the last event.
    last: str = ""
    #: Send the same answer again when it is refused.
    stubborn: bool = False
    #: Keep the stream open when asked to connect to another copy.
    stays: bool = False
    _said: dict[tuple[str, int], bot_pb2.Choice] = field(default_factory=dict)
    _task: "asyncio.Task[None] | None" = None
    #: One write at a time: gRPC breaks a stream on which two messages are written at once.
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def moves(self) -> int:
        """The number of questions it has answered."""
        return len(self._said)

    async def __aenter__(self) -> "Bot":
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    @property
    def is_done(self) -> bool:
        """Whether it has stopped playing."""
        return self._task is not None and self._task.done()

    async def welcomed(self, times: int = 1) -> None:
        """Wait until it has received Welcome this many times."""
        await until(lambda: self.welcomes >= times, f"{self.name} to be welcomed {times} times; {self.endings}")

    async def finished(self, sessions: Iterable[str]) -> None:
        """Wait until it has received GameOver for all these sessions."""
        wanted = set(sessions)
        await until(
            lambda: wanted <= self.overs.keys() or self.is_done, f"{self.name} to receive GameOver for {wanted}"
        )
        assert wanted <= self.overs.keys(), f"{self.name} stopped too early: {self.endings}"

    async def _run(self) -> None:
        where = 0
        while True:
            address = self.addresses[where % len(self.addresses)]
            try:
                async with Client(address, self.key) as client:
                    await self._play(client)
                self.endings.append(None)
            except grpc.aio.AioRpcError as error:
                if error.details() == _STATUS_LOST:
                    continue
                self.endings.append(Refusal.of(error))
            self.at = ""
            if self.once:
                return
            where += 1
            await asyncio.sleep(0.05)  # pause before connecting to the next copy

    async def _play(self, client: Client) -> None:
        call = client.play()
        hello = bot_pb2.Hello(bot_key=self.key, sdk="end-to-end 1", max_parallel_games=self.parallel)
        await call.write(bot_pb2.PlayRequest(hello=hello))
        thinking: set[asyncio.Task[None]] = set()
        try:
            while (message := await call.read()) != grpc.aio.EOF:
                ready = bot_pb2.PlayRequest()
                for event in message.events:
                    await self._handle(event, client.address, call, ready, thinking)
                if ready.choices:
                    async with self._writing:
                        await call.write(ready)
                if self.last == "draining" and not self.stays:
                    return
            code = await call.code()
            if code is not grpc.StatusCode.OK:
                raise grpc.aio.AioRpcError(
                    code, await call.initial_metadata(), await call.trailing_metadata(), await call.details()
                )
        except asyncio.InvalidStateError:  # the stream broke during a write
            code = await call.code()
            raise grpc.aio.AioRpcError(
                code, await call.initial_metadata(), await call.trailing_metadata(), await call.details()
            ) from None
        finally:
            for task in thinking:
                task.cancel()
            call.cancel()

    async def _handle(
        self,
        event: bot_pb2.PlayEvent,
        address: str,
        call: Any,
        ready: bot_pb2.PlayRequest,
        thinking: "set[asyncio.Task[None]]",
    ) -> None:
        kind = self.last = event.WhichOneof("event") or ""
        if kind in ("game_start", "turn", "game_over"):
            self.heard.append((kind, getattr(event, kind).session))
        match kind:
            case "welcome":
                self.welcomes += 1
                self.at = address
            case "game_start":
                self.seats[event.game_start.session] = event.game_start.seat
                self.starts.append(event.game_start)
            case "turn":
                self.turns.append(event.turn)
                choice = await self.policy(self, event.turn)
                if choice is not None:
                    self._said[choice.session, choice.turn] = choice
                    ready.choices.append(choice)
            case "refused":
                self.refusals.append(event.refused)
                said = self._said.get((event.refused.session, event.refused.turn))
                if event.refused.reason in ("STORE_UNAVAILABLE", "CONFLICT") and said is not None:
                    task = asyncio.create_task(self._send_again(call, said))
                    thinking.add(task)
                    task.add_done_callback(thinking.discard)
                elif self.stubborn and event.refused.open and said is not None:
                    ready.choices.append(said)
            case "game_over":
                self.overs[event.game_over.session] = event.game_over
            case "draining":
                self.drainings += 1

    async def _send_again(self, call: Any, choice: bot_pb2.Choice) -> None:
        await asyncio.sleep(0.1)  # pause, because the store is unavailable
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            async with self._writing:
                await call.write(bot_pb2.PlayRequest(choices=[choice]))


@contextlib.asynccontextmanager
async def bots(
    arena: Arena, count: int, *, apart: bool = False, names: Sequence[str] = (), **how: Any
) -> AsyncIterator[list[Bot]]:
    """Connect this many bots; with ``apart`` each starts at a different copy."""
    async with contextlib.AsyncExitStack() as stack:
        invited = []
        async with arena.operator() as operator:
            for number in range(count):
                name = names[number] if names else fresh("bot")
                key = (await operator.ask(bot_pb2.IssueKeyRequest(bot=name))).bot_key
                turn = number if apart else 0
                addresses = [arena.addresses[(turn + step) % len(arena.copies)] for step in range(len(arena.copies))]
                invited.append(await stack.enter_async_context(Bot(name, key, addresses, **how)))
        for bot in invited:
            await bot.welcomed()
        yield invited
