"""A process of bots under load: they answer at fixed times, whether the service keeps up or not.

The load is open-loop: answer k is due at ``begin + k / rate``. If no question is open then, the answer waits for one, and the
wait counts: a service that falls behind cannot hide it by asking less. One JSON line each way.
"""

import asyncio
import contextlib
import json
import random
import sys
import time
from collections import Counter, deque
from typing import Any, Final

import grpc
import uvloop

from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, session_pb2, session_pb2_grpc

_CHANNEL: Final = (
    ("grpc.use_local_subchannel_pool", 1),  # every bot has its own connection, as in reality
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
)
#: Answers wait until they are due, so clocks must be long; a stall of minutes would still lose a game.
_CONTROL: Final = common_pb2.TimeControl(move_ms=120_000, bank_ms=120_000, seating_ms=120_000)
_CALL_S: Final = 60.0
_PAUSE_S: Final = 0.2
_LOOK_S: Final = 0.05
#: The number of bots that connect at once; a thousand at the same time would measure connecting, not play.
_AT_ONCE: Final = 25


class Load:
    """Pairs of bots; each pair plays one game after the other."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._chance = random.Random(order["name"])
        self._open: deque[tuple[Any, str, int, int]] = deque()  # call, session, turn, how many answers
        #: By session: when the answer was due to which the next event of the session is the reply.
        self._waiting: dict[str, float] = {}
        self._asked: Counter[str] = Counter()
        self._said: dict[tuple[str, int], tuple[int, str]] = {}
        self._pair_of: dict[str, int] = {}
        self._ends: Counter[str] = Counter()
        self._welcome = 0
        self._is_closing = False
        self.waits: list[float] = []
        self.errors: Counter[str] = Counter()
        self.begun = self.ended = self.moves = 0
        self.late_s = 0.0
        self._stub: Any = None
        self._tasks: set[asyncio.Task[None]] = set()

    # ---------------------------------------------------------------------------------------------------------- running
    async def run(self) -> dict[str, Any]:
        """Runs everything, from the first connection to the end of the last game."""
        order = self._order
        async with grpc.aio.insecure_channel(order["address"], _CHANNEL) as operator:
            self._stub = session_pb2_grpc.SessionServiceStub(operator)
            at_once = asyncio.Semaphore(_AT_ONCE)
            bots = [asyncio.create_task(self._live(bot, at_once)) for pair in order["pairs"] for bot in pair]
            while self._welcome < len(bots):
                await asyncio.sleep(_LOOK_S)  # polling interval
                for task in bots:
                    if task.done():
                        task.result()
            print(json.dumps({"ready": True}), flush=True)
            go = json.loads(await _line())
            await self._play(go["begin"], go["end"], go["patience_s"])
            for task in [*bots, *self._tasks]:
                task.cancel()
            await asyncio.gather(*bots, *self._tasks, return_exceptions=True)
        lost = sorted(self._pair_of)
        return {
            "begun": self.begun,
            "ended": self.ended,
            "lost": lost[:20],
            "lost_count": len(lost),
            "moves": self.moves,
            "errors": self.errors,
            "late_s": self.late_s,
            "waits": self.waits,
        }

    async def _play(self, begin: float, end: float, patience_s: float) -> None:
        """Starts new games until the end time, then plays every game to its end."""
        self._end = end
        for pair in range(self._order["games"]):
            self._spawn(self._create(pair))
        number = 0
        while time.monotonic() < end or (self._busy() and time.monotonic() < end + patience_s):
            due = begin + number / self._order["rate"]
            pause = due - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            while not self._open and (time.monotonic() < end or self._busy()):
                await asyncio.sleep(0.001)  # nothing to answer: the service is behind, or games are being created
                if time.monotonic() > end + patience_s:
                    return
            if not self._open:
                return
            if time.monotonic() < end:
                self.late_s = max(self.late_s, time.monotonic() - due)
            await self._answer(due)
            number += 1

    def _busy(self) -> bool:
        return bool(self._pair_of or self._tasks)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, due: float) -> None:
        call, session, turn, answers = self._open.popleft()
        index = self._chance.randrange(answers)
        request = bot_pb2.PlayRequest(choices=[bot_pb2.Choice(session=session, turn=turn, index=index)])
        self._asked[session] -= 1
        if not self._asked[session]:  # in a simultaneous phase the next event may wait for another bot's answer
            self._waiting[session] = due
        try:
            await call.write(request)
            self.moves += 1
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            self.errors["stream broke at a write"] += 1  # the question is asked again on the next stream

    # ----------------------------------------------------------------------------------------------------------- games
    async def _create(self, pair: int) -> None:
        """Creates a new game for a pair; retries until it succeeds."""
        names = [bot["name"] for bot in self._order["pairs"][pair]]
        session = f"{self._order['name']}-{pair}-{self.begun}"
        self.begun += 1
        self._pair_of[session] = pair
        request = session_pb2.CreateSessionRequest(
            session=session,
            game=self._order["game"],
            seats=[session_pb2.SeatRequest(bot=name) for name in names],
            time_control=_CONTROL,
        )
        await self._call("CreateSession", request)

    async def _call(self, method: str, request: Any) -> None:
        """Makes an operator's call; counts failures and retries until it succeeds."""
        while True:
            try:
                metadata = (("authorization", f"Bearer {self._order['operator']}"),)
                await getattr(self._stub, method)(request, metadata=metadata, timeout=_CALL_S)
                return
            except grpc.aio.AioRpcError as error:
                self.errors[f"{method} {error.code().name}"] += 1
                await asyncio.sleep(_PAUSE_S)

    async def _end_game(self, session: str) -> None:
        """Forgets the session after both bots got its end, as an orchestrator does after archiving."""
        pair = self._pair_of[session]
        await self._call("ForgetSession", session_pb2.ForgetSessionRequest(session=session))
        self.ended += 1
        for store in (self._ends, self._asked, self._waiting):
            store.pop(session, None)
        del self._pair_of[session]
        if time.monotonic() < self._end:
            self._spawn(self._create(pair))

    # ------------------------------------------------------------------------------------------------------------- bots
    async def _live(self, bot: dict[str, str], at_once: asyncio.Semaphore) -> None:
        """Runs one bot, which reconnects when its stream breaks."""
        async with grpc.aio.insecure_channel(self._order["address"], _CHANNEL) as channel:
            is_first = True
            while True:
                try:
                    await self._converse(channel, bot, at_once, is_first)
                    self.errors["stream ended"] += 1
                except grpc.aio.AioRpcError as error:
                    self.errors[f"Play {error.code().name}"] += 1
                except asyncio.InvalidStateError:
                    self.errors["stream broke"] += 1
                is_first = False
                await asyncio.sleep(_PAUSE_S)

    async def _converse(
        self, channel: grpc.aio.Channel, bot: dict[str, str], at_once: asyncio.Semaphore, is_first: bool
    ) -> None:
        async with at_once if is_first else contextlib.nullcontext():
            call: Any = bot_pb2_grpc.BotServiceStub(channel).Play(metadata=(("authorization", f"Bearer {bot['key']}"),))
            hello = bot_pb2.Hello(bot_key=bot["key"], sdk="load", max_parallel_games=4)
            await call.write(bot_pb2.PlayRequest(hello=hello))
            response = await call.read()
            self._welcome += is_first
        while response is not grpc.aio.EOF:
            now = time.monotonic()
            for event in response.events:
                self._hear(event, call, now)
            response = await call.read()
        code = await call.code()
        if code is not grpc.StatusCode.OK:
            self.errors[f"Play {code.name}"] += 1

    def _hear(self, event: bot_pb2.PlayEvent, call: Any, now: float) -> None:
        kind = event.WhichOneof("event")
        if kind == "turn":
            turn = event.turn
            self._reply(turn.session, now)
            self._asked[turn.session] += 1
            self._open.append((call, turn.session, turn.turn, len(turn.legal_actions)))
        elif kind == "game_over":
            over = event.game_over
            self._reply(over.session, now)
            if over.fault or not over.HasField("outcome"):
                self.errors[f"forfeited: {common_pb2.Fault.Name(over.fault)}"] += 1
            self._ends[over.session] += 1
            if self._ends[over.session] == 2 and over.session in self._pair_of:
                self._spawn(self._end_game(over.session))
        elif kind == "refused":
            self.errors[f"refused: {event.refused.reason}"] += 1

    def _reply(self, session: str, now: float) -> None:
        due = self._waiting.pop(session, None)
        if due is not None and now < self._end:
            self.waits.append(now - due)

    _end = float("inf")


async def _line() -> str:
    return await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


def main() -> None:
    """Reads the order, plays and reports."""
    order = json.loads(sys.stdin.readline())
    print(json.dumps(uvloop.run(Load(order).run())), flush=True)


if __name__ == "__main__":
    main()
