"""Clients that flood a service until they are stopped or have done their rounds.

As a process: ``python -m bench.flooders NAME`` with one line of JSON on standard input; it prints ``flooding`` when it has begun.
"""

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final

import grpc

from rubble.v1 import bot_pb2, session_pb2, simulation_pb2

_MIB: Final = 1 << 20
#: Just below what the service accepts by default.
_LARGE: Final = _MIB - 64
_PLAY: Final = "/rubble.v1.BotService/Play"
_GET: Final = "/rubble.v1.SessionService/GetSession"
_WATCH: Final = "/rubble.v1.SessionService/Watch"
_SIMULATE: Final = "/rubble.v1.SimulationService/Simulate"
#: Seconds a refused client waits: almost nothing.
_PAUSE_S: Final = 0.001

Order = dict[str, Any]


@contextlib.asynccontextmanager
async def _channel(order: Order, *, deaf: bool = False) -> AsyncIterator[grpc.aio.Channel]:
    options: list[tuple[str, Any]] = [("grpc.use_local_subchannel_pool", 1)]
    if deaf:
        options += [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1024)]
    async with grpc.aio.insecure_channel(order["address"], options) as channel:
        yield channel


def _rounds(order: Order) -> Iterator[int]:
    return iter(range(order["rounds"])) if "rounds" in order else itertools.count()


async def _all(order: Order, work: Callable[[], Awaitable[None]]) -> None:
    """Runs the given number of clients at once and ignores the replies of the service."""

    async def again() -> None:
        for _ in _rounds(order):
            try:
                await work()
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await asyncio.sleep(_PAUSE_S)

    await asyncio.gather(*(again() for _ in range(order["at_once"])))


async def tokenless_choices(order: Order) -> None:
    """Play without a token: messages of half a million empty choices."""
    flood = bot_pb2.PlayRequest(choices=[bot_pb2.Choice()] * (_LARGE // 2)).SerializeToString()
    async with _channel(order) as channel:
        play: Any = channel.stream_stream(_PLAY)

        async def work() -> None:
            call = play()
            await call.write(flood)
            await call.read()

        await _all(order, work)


async def long_ids(order: Order) -> None:
    """GetSession without a token: ids of one MiB."""
    request = session_pb2.GetSessionRequest(session="s" * _LARGE).SerializeToString()
    async with _channel(order) as channel:
        get: Any = channel.unary_unary(_GET)

        async def work() -> None:
            await get(request)

        await _all(order, work)


async def deaf_watchers(order: Order) -> None:
    """Watch without a token and without reading; refused clients try again."""
    request = session_pb2.WatchRequest(session=order["session"]).SerializeToString()
    async with _channel(order, deaf=True) as channel:
        watch: Any = channel.unary_stream(_WATCH)

        async def work() -> None:
            await watch(request).code()

        await _all(order, work)


async def large_simulations(order: Order) -> None:
    """Simulate with one bot's key: requests of one MiB, many at once."""
    worlds = [simulation_pb2.Simulation(world=b"w" * (_LARGE // 256 - 16)) for _ in range(256)]
    request = simulation_pb2.SimulateRequest(simulations=worlds).SerializeToString()
    async with _channel(order) as channel:
        simulate: Any = channel.unary_unary(_SIMULATE)

        async def work() -> None:
            await simulate(request, metadata=(("authorization", f"Bearer {order['key']}"),))

        await _all(order, work)


async def wrong_choices(order: Order) -> None:
    """One bot's stream, full of answers to questions that were not asked; it reads the replies."""
    choices = [bot_pb2.Choice(session=f"nowhere-{number}", turn=1, index=0) for number in range(1000)]
    flood = bot_pb2.PlayRequest(choices=choices).SerializeToString()
    async with _channel(order) as channel:
        play: Any = channel.stream_stream(_PLAY)

        async def work() -> None:
            call = play()
            await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=order["key"])).SerializeToString())

            async def read() -> None:
                while await call.read() != grpc.aio.EOF:
                    pass

            reader = asyncio.create_task(read())
            try:
                while not reader.done():
                    await call.write(flood)
            finally:
                reader.cancel()

        await _all(order, work)


FLOODS: Final[dict[str, Callable[[Order], Awaitable[None]]]] = {
    "tokenless choices": tokenless_choices,
    "long ids": long_ids,
    "deaf watchers": deaf_watchers,
    "large simulations": large_simulations,
    "wrong choices": wrong_choices,
}


async def _main(name: str) -> None:
    order = json.loads(sys.stdin.readline())
    print("flooding", flush=True)
    await FLOODS[name](order)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(sys.argv[1]))
