"""The upper bounds of the service table: a bare gRPC server that does only the work that cannot be avoided.

``Act`` loads a blob, and writes one of the same size by compare-and-set. ``Echo`` answers a batch of choices with as many
turns, all of the sizes that the arena sends. Neither handles games, callers or clocks.
"""

import argparse
import asyncio
from typing import Any

import grpc
import uvloop

from service.sessions.redis_client import connect

#: KEYS: the hash. ARGV: expected revision, new revision, blob.
_CAS = """
if redis.call('HGET', KEYS[1], 'r') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'r', ARGV[2], 'b', ARGV[3])
return 1
"""
ACT = "/bench.Bare/Act"
ECHO = "/bench.Bare/Echo"


class Bare:
    """Both upper bounds."""

    def __init__(self, redis_url: str) -> None:
        self._redis: Any = connect(redis_url)
        self._sha = ""

    async def act(self, request: bytes, context: Any) -> bytes:
        """Loads and writes a blob; the key is the last 16 bytes of the request, the reply has a typical length."""
        del context
        if not self._sha:
            self._sha = await self._redis.script_load(_CAS)
        key = request[-16:]
        revision, blob = await self._redis.hmget(key, ("r", "b"))
        if await self._redis.evalsha(self._sha, 1, key, revision, int(revision) + 1, blob) != 1:
            raise RuntimeError("a compare-and-set failed")
        return request

    async def echo(self, requests: Any, context: Any) -> None:
        """The first message gives the size of a turn; every later one is a batch of choices: its first byte counts them."""
        turn = b""
        async for request in requests:
            if not turn:
                turn = bytes(int.from_bytes(request, "little"))
                continue
            await context.write(turn * request[0])


async def run(redis_url: str) -> None:
    """Serves until the process ends; the first line printed is the address."""
    server = grpc.aio.server()
    bare = Bare(redis_url)
    handlers: dict[str, Any] = {
        "Act": grpc.unary_unary_rpc_method_handler(bare.act),
        "Echo": grpc.stream_stream_rpc_method_handler(bare.echo),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Bare", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"serving on 127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.service_bare", description=__doc__)
    parser.add_argument("redis_url")
    uvloop.run(run(parser.parse_args().redis_url))
