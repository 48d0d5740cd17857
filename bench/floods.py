"""The service under floods: its memory, and how long one honest bot waits for its next turn, with each flood and without.

    python -m bench.floods [--json] [--seconds 6] [--against PATH]

``--against PATH`` starts the service of another checkout (with its own ``.venv``); the clients are those of this checkout.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import grpc

from bench.flooders import FLOODS
from bench.workers import ROOT
from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, session_pb2, session_pb2_grpc
from service.embedded import EmbeddedRedis

_MIB: Final = 1 << 20
_START_S: Final = 60.0
_WARM_S: Final = 1.0
_GAME: Final = "sf1906-2e"
_AT_ONCE: Final = {
    "tokenless choices": 4,
    "long ids": 64,
    "deaf watchers": 100,
    "large simulations": 400,
    "wrong choices": 1,
}
_EASY: Final = common_pb2.TimeControl(move_ms=60_000, bank_ms=600_000, seating_ms=600_000)


@dataclass(frozen=True)
class Row:
    """One flood. Memory in MiB, waits in milliseconds."""

    flood: str
    before_mib: int
    peak_mib: int
    moves: int
    p50_ms: float
    p99_ms: float


class Copy:
    """The service of a checkout, with its own Redis."""

    def __init__(self, tree: Path, folder: Path, redis_url: str) -> None:
        self._log = folder / "service.log"
        command = [str(tree / ".venv/bin/python"), "-m", "cli.main", "serve", "--listen", "127.0.0.1:0"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, "--redis", redis_url, "--state-dir", str(folder)],
                cwd=tree,
                env={**os.environ, "PYTHONPATH": str(tree), "PYTHONUNBUFFERED": "1", "RUBBLE_LOG_LEVEL": "error"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + _START_S
        while "serving on " not in self._log.read_text():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise SystemExit(f"the service of {tree} does not serve:\n{self._log.read_text()}")
            time.sleep(0.02)  # polling interval
        self.address = self._log.read_text().split("serving on ")[1].split()[0]
        self.token = (folder / "operator_token").read_text().strip()

    def memory(self, field: str) -> int:
        """Returns VmRSS (now) or VmHWM (the largest so far), in MiB."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) // 1024

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def serving(tree: Path) -> Iterator[Copy]:
    """Runs a new service until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="rubble-floods-"))
    redis = EmbeddedRedis(folder)
    redis.start()
    try:
        copy = Copy(tree, folder, redis.url)
        try:
            yield copy
        finally:
            copy.stop()
    finally:
        redis.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Operator:
    """Makes keys and sessions."""

    def __init__(self, channel: Any, token: str) -> None:
        self._sessions: Any = session_pb2_grpc.SessionServiceStub(channel)
        self._bots: Any = bot_pb2_grpc.BotServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {token}"),)

    async def key(self, bot: str) -> str:
        issued = await self._bots.IssueKey(bot_pb2.IssueKeyRequest(bot=bot), metadata=self._metadata)
        return str(issued.bot_key)

    async def session(self, bot: str) -> str:
        request = session_pb2.CreateSessionRequest(
            game=_GAME, seats=[session_pb2.SeatRequest(bot=bot)], time_control=_EASY
        )
        created = await self._sessions.CreateSession(request, metadata=self._metadata)
        return str(created.session.session)


async def _honest(copy: Copy, operator: Operator, key: str, waits: list[float]) -> None:
    """Plays solo games as one bot, one after the other, and records how long each next event took."""
    async with grpc.aio.insecure_channel(copy.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        play: Any = bot_pb2_grpc.BotServiceStub(channel)
        call = play.Play(metadata=(("authorization", f"Bearer {key}"),))
        await call.write(bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key=key, max_parallel_games=1)))
        await operator.session("honest")
        asked = 0.0
        while (message := await call.read()) != grpc.aio.EOF:
            for event in message.events:
                kind = event.WhichOneof("event")
                if kind in ("turn", "game_over") and asked:
                    waits.append((time.monotonic() - asked) * 1000)
                    asked = 0.0
                if kind == "turn":
                    choice = bot_pb2.Choice(session=event.turn.session, turn=event.turn.turn, index=0)
                    asked = time.monotonic()
                    await call.write(bot_pb2.PlayRequest(choices=[choice]))
                elif kind == "game_over":
                    await operator.session("honest")


@contextlib.asynccontextmanager
async def _flooding(flood: str, order: dict[str, Any]) -> AsyncIterator[None]:
    """Runs a flooding process until the block ends."""
    if not flood:
        yield
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.flooders", flood, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    await process.stdin.drain()
    await process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def _measure(tree: Path, flood: str, seconds: float) -> Row:
    with serving(tree) as copy:
        async with grpc.aio.insecure_channel(copy.address) as channel:
            operator = Operator(channel, copy.token)
            key, hostile = await operator.key("honest"), await operator.key("hostile")
            order = {"address": copy.address, "key": hostile, "at_once": _AT_ONCE.get(flood, 0)}
            waits: list[float] = []
            playing = asyncio.create_task(_honest(copy, operator, key, waits))
            await asyncio.sleep(_WARM_S)
            order["session"] = await operator.session("nobody")
            before = copy.memory("VmRSS")
            waits.clear()
            async with _flooding(flood, order):
                await asyncio.sleep(seconds)
                peak = copy.memory("VmHWM")
                measured = sorted(waits)
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)
    p50 = statistics.median(measured) if measured else float("inf")
    p99 = measured[int(0.99 * len(measured))] if measured else float("inf")
    return Row(flood or "no flood", before, peak, len(measured), round(p50, 2), round(p99, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object per flood")
    parser.add_argument("--seconds", type=float, default=6.0, help="how long each flood lasts")
    parser.add_argument("--against", type=Path, default=ROOT, metavar="PATH", help="another checkout")
    asked = parser.parse_args()
    if not (asked.against / ".venv/bin/python").exists():
        parser.error(f"--against {asked.against}: expected a checkout with .venv/bin/python; run `make setup` there")
    if not asked.json:
        print("| flood | memory before (MiB) | peak (MiB) | moves | p50 (ms) | p99 (ms) |\n|---|---|---|---|---|---|")
    for flood in ("", *FLOODS):
        row = asyncio.run(_measure(asked.against.resolve(), flood, asked.seconds))
        shown = json.dumps(asdict(row)) if asked.json else "| " + " | ".join(map(str, asdict(row).values())) + " |"
        print(shown, flush=True)


if __name__ == "__main__":
    main()
