"""A process of callers: it calls the service, or the bare server, one slice at a time.

One JSON line each way. Times are those of the monotonic clock, which all processes of a machine share.
"""

import asyncio
import contextlib
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Final

import grpc
import uvloop

from bench.service_bare import ACT, ECHO
from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, session_pb2, session_pb2_grpc
from service import games
from service.games.chance import SEED_BYTES, Seeds

_CHANNEL: Final = (("grpc.use_local_subchannel_pool", 1),)
#: Clocks are long enough that none runs out.
_CONTROL: Final = common_pb2.TimeControl(move_ms=60_000, bank_ms=600_000, seating_ms=600_000)
#: At the end of a slice: after this long without an event, everything that was sent has been handled.
_QUIET_S: Final = 0.15


def _seeds(session: str) -> Seeds:
    def seed(what: str) -> bytes:
        return hashlib.blake2b(f"{what}/{session}".encode(), digest_size=SEED_BYTES).digest()

    return Seeds(seed("table"), seed("deck"))


class Tables:
    """Creates sessions as the operator, and keeps their names."""

    def __init__(self, channel: grpc.aio.Channel, slice_: dict[str, Any]) -> None:
        self._stub: Any = session_pb2_grpc.SessionServiceStub(channel)
        self._slice = slice_
        self._metadata = (("authorization", f"Bearer {slice_['operator']}"),)
        self.laid: list[str] = []

    async def create(self, bots: list[str]) -> tuple[str, list[str]]:
        """Creates a session with these bots; returns it and the tokens of its open seats."""
        session = f"{self._slice['name']}-{len(self.laid)}"
        self.laid.append(session)
        seeds = _seeds(session)
        request = session_pb2.CreateSessionRequest(
            session=session,
            game=self._slice["game"],
            seats=[session_pb2.SeatRequest(bot=bot) for bot in bots],
            seeds=common_pb2.Seeds(table=seeds.table, deck=seeds.deck),
            time_control=_CONTROL,
        )
        created = await self._stub.CreateSession(request, metadata=self._metadata, timeout=60)
        return session, list(created.seat_tokens)

    async def resign(self, session: str, seat: int) -> None:
        """End a session of two seats."""
        request = session_pb2.ResignRequest(session=session, seat=seat)
        await self._stub.Resign(request, metadata=self._metadata, timeout=60)

    async def forget(self, session: str) -> None:
        """As an archive does with an ended session."""
        request = session_pb2.ForgetSessionRequest(session=session)
        await self._stub.ForgetSession(request, metadata=self._metadata, timeout=60)


class Tally:
    """Counts what was sent and answered in a slice, and when."""

    def __init__(self, slice_: dict[str, Any]) -> None:
        self.begin: float = slice_["begin"]
        self.end: float = slice_["end"]
        self.sent = 0
        self.counted = 0
        self.waits: list[float] = []

    def answer(self, asked: float, heard: float, moves: int = 1) -> None:
        """Records confirmed moves; those confirmed inside the slice count."""
        self.sent += moves
        if self.begin <= heard < self.end:
            self.counted += moves
            self.waits.append(heard - asked)

    def report(self, **more: Any) -> dict[str, Any]:
        return {"sent": self.sent, "moves": self.counted, "waits": self.waits, **more}


# ----------------------------------------------------------------------------------------------------------------------- Act
async def act(slice_: dict[str, Any]) -> dict[str, Any]:
    """Plays ``games`` sessions at once by unary calls; each move follows when the previous one is confirmed.

    The rules run here too, so that no call is needed to learn the legal actions. With ``plies`` every session stops there.
    """
    tally = Tally(slice_)
    size: Counter[str] = Counter()
    async with grpc.aio.insecure_channel(slice_["address"], _CHANNEL) as channel:
        stub: Any = session_pb2_grpc.SessionServiceStub(channel)
        tables = Tables(channel, slice_)
        game = games.get(slice_["game"])
        chance = random.Random(slice_["name"])
        plies = slice_.get("plies", 0)

        async def play() -> None:
            session, tokens = await tables.create([""] * slice_["seats"])
            metadata = [(("authorization", f"Bearer {token}"),) for token in tokens]
            state = game.new(slice_["seats"], {}, _seeds(session))
            turns = [0] * slice_["seats"]
            while acting := game.to_act(state):
                if time.monotonic() >= tally.end or (plies and sum(turns) >= plies):
                    return
                seat = acting[0]
                turns[seat] += 1
                legal = game.legal_actions(state, seat)
                index = chance.randrange(len(legal))
                asked = time.monotonic()
                request = session_pb2.ActRequest(session=session, turn=turns[seat], index=index)
                response = await stub.Act(request, metadata=metadata[seat], timeout=60)
                tally.answer(asked, time.monotonic())
                if not size:
                    size.update(request=request.ByteSize(), response=response.ByteSize())
                game.apply(state, seat, legal[index])

        async def sit() -> None:
            while time.monotonic() < tally.end:
                await play()
                if plies:
                    return

        await asyncio.gather(*(sit() for _ in range(slice_["games"])))
    return tally.report(sessions=tables.laid, size=size)


# ---------------------------------------------------------------------------------------------------------------------- Play
class Bots:
    """Some bots of this process, each with a stream; answers that are ready are sent in one message."""

    def __init__(self, slice_: dict[str, Any]) -> None:
        self._slice = slice_
        self._chance = random.Random(slice_["name"])
        self.tally = Tally(slice_)
        #: (session, sent or received, when): the time of a move follows only together with the other process's list.
        self.marks: list[tuple[str, bool, float]] = []
        self.turn_bytes = self.choice_bytes = self.turns = self.messages = 0
        self.refused: list[str] = []
        self._left = slice_.get("total", 0)
        #: After so many turns of its first seat a game is given up and forgotten; 0: it is played to its end.
        self._plies = slice_.get("plies", 0)
        self.over = 0
        self.last_over = 0.0
        self._seat: dict[str, int] = {}
        self._welcome = 0
        self._done = asyncio.Event()
        self._heard_at = 0.0
        self._laying: set[asyncio.Task[Any]] = set()
        self._tables: Tables | None = None

    async def run(self) -> dict[str, Any]:
        slice_ = self._slice
        async with contextlib.AsyncExitStack() as stack:
            operator = await stack.enter_async_context(grpc.aio.insecure_channel(slice_["address"], _CHANNEL))
            self._tables = Tables(operator, slice_)
            tasks = []
            for bot in slice_["bots"]:
                channel = await stack.enter_async_context(grpc.aio.insecure_channel(slice_["address"], _CHANNEL))
                tasks.append(asyncio.create_task(self._converse(channel, bot)))
            while self._welcome < len(slice_["bots"]):
                await asyncio.sleep(0.005)  # between two looks
                for task in tasks:
                    if task.done():
                        task.result()
            print(json.dumps({"ready": True}), flush=True)
            go = json.loads(await _line())  # all bots of all processes are connected
            self.tally.begin, self.tally.end = go["begin"], go["end"]
            await asyncio.gather(*(self._create() for _ in range(slice_["games"])))
            if self._left:
                await self._done.wait()
                print(json.dumps({"done": True}), flush=True)
                await _line()  # the games of the other process are over too
            else:
                await asyncio.sleep(max(0.0, self.tally.end - time.monotonic()))
                while time.monotonic() - self._heard_at < _QUIET_S:
                    await asyncio.sleep(0.02)  # between two looks
            for task in [*tasks, *self._laying]:
                task.cancel()
            await asyncio.gather(*tasks, *self._laying, return_exceptions=True)
        return self.tally.report(
            sessions=self._tables.laid,
            marks=self.marks,
            refused=self.refused,
            over=self.over,
            last_over=self.last_over,
            size={
                "turn": self.turn_bytes / max(1, self.turns),
                "choice": self.choice_bytes / max(1, self.tally.sent),
                "batch": self.tally.sent / max(1, self.messages),
            },
        )

    async def _create(self) -> None:
        assert self._tables is not None
        total = self._slice.get("total", 0)
        if total and len(self._tables.laid) >= total:
            return
        if not total and time.monotonic() >= self.tally.end:
            return
        await self._tables.create(self._slice["table"])

    async def _converse(self, channel: grpc.aio.Channel, bot: dict[str, str]) -> None:
        call: Any = bot_pb2_grpc.BotServiceStub(channel).Play(metadata=(("authorization", f"Bearer {bot['key']}"),))
        hello = bot_pb2.Hello(bot_key=bot["key"], sdk="bench", max_parallel_games=1024)
        await call.write(bot_pb2.PlayRequest(hello=hello))
        is_first = bot["name"] == self._slice["table"][0]
        while (response := await call.read()) is not grpc.aio.EOF:
            now = self._heard_at = time.monotonic()
            request = self._hear(response, now, is_first)
            if request.choices:
                self.messages += 1
                self.tally.sent += len(request.choices)
                self.choice_bytes += request.ByteSize()
                if self.tally.begin <= now < self.tally.end:
                    self.tally.counted += len(request.choices)
                await call.write(request)

    def _hear(self, response: bot_pb2.PlayResponse, now: float, is_first: bool) -> bot_pb2.PlayRequest:
        ready = bot_pb2.PlayRequest()
        is_open = bool(self._left) or now < self.tally.end
        for event in response.events:
            kind = event.WhichOneof("event")
            if kind == "turn":
                turn = event.turn
                if self._plies:
                    if is_first and turn.turn > self._plies and self._is_ours(turn.session):
                        assert self._tables is not None
                        self._spawn(self._tables.resign(turn.session, 0))
                        continue
                else:
                    self.marks.append((turn.session, False, now))
                if is_open:
                    index = self._chance.randrange(len(turn.legal_actions))
                    ready.choices.add(session=turn.session, turn=turn.turn, index=index)
                    if not self._plies:
                        self.marks.append((turn.session, True, now))
                if not self.turns % 64:
                    self.turn_bytes += event.ByteSize() * 64
                self.turns += 1
            elif kind == "welcome":
                self._welcome += 1
            elif kind == "refused":
                self.refused.append(event.refused.reason)
            elif kind == "game_over" and is_first:
                self._end_of(event.game_over.session, now)
        return ready

    def _end_of(self, session: str, now: float) -> None:
        """Creates the next session if this process created the ended one."""
        if not self._is_ours(session):
            return
        self.over += 1
        self.last_over = now
        if self._plies:
            assert self._tables is not None
            self._spawn(self._tables.forget(session))
        self._spawn(self._create())
        if self.over == self._left:
            self._done.set()

    def _is_ours(self, session: str) -> bool:
        return session.startswith(self._slice["name"] + "-")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._laying.add(task)
        task.add_done_callback(self._laying.discard)


async def play(slice_: dict[str, Any]) -> dict[str, Any]:
    """Plays games on streams; see ``Bots``."""
    return await Bots(slice_).run()


# ---------------------------------------------------------------------------------------------------------------------- bare
async def bare(slice_: dict[str, Any]) -> dict[str, Any]:
    """Makes the same calls as ``act`` to the bare server; one key per caller."""
    tally = Tally(slice_)
    async with grpc.aio.insecure_channel(slice_["address"], _CHANNEL) as channel:
        call: Any = channel.unary_unary(ACT)

        async def sit(key: str) -> None:
            request = bytes(slice_["bytes"]) + key.encode()
            while (asked := time.monotonic()) < tally.end:
                await call(request)
                tally.answer(asked, time.monotonic())

        await asyncio.gather(*(sit(key) for key in slice_["keys"]))
    return tally.report()


async def echo(slice_: dict[str, Any]) -> dict[str, Any]:
    """Exchanges full batches on ``streams`` streams."""
    tally = Tally(slice_)
    async with contextlib.AsyncExitStack() as stack:

        async def sit() -> None:
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(slice_["address"], _CHANNEL))
            call: Any = channel.stream_stream(ECHO)()
            await call.write(int(slice_["turn"]).to_bytes(4, "little"))
            batch = slice_["batch"]
            request = bytes([batch]) + bytes(max(0, batch * int(slice_["choice"]) - 1))
            while (asked := time.monotonic()) < tally.end:
                await call.write(request)
                await call.read()
                tally.answer(asked, time.monotonic(), batch)
            await call.done_writing()

        await asyncio.gather(*(sit() for _ in range(slice_["streams"])))
    return tally.report()


CASES: Final[dict[str, Callable[[dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]]] = {
    "act": act,
    "play": play,
    "bare": bare,
    "echo": echo,
}


async def _line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


async def main() -> None:
    """Answers every request until the bench closes the pipe."""
    while line := await _line():
        slice_ = json.loads(line)
        print(json.dumps(await CASES[slice_["case"]](slice_)), flush=True)


if __name__ == "__main__":
    uvloop.run(main())
