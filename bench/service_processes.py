"""The processes of the service table: an embedded Redis, copies of the service, the bare server, and callers."""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, Self

import grpc
import redis

from bench.workers import ROOT, WorkerFailed
from rubble.v1 import bot_pb2, bot_pb2_grpc
from service.embedded import EmbeddedRedis
from service.lifetime import ends_with_us

_START_S: Final = 60.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Server:
    """A process that prints ``serving on ADDRESS``."""

    def __init__(
        self, folder: Path, command: list[str], environment: dict[str, str], checkout: Path | None = None
    ) -> None:
        python = sys.executable if checkout is None else str(checkout / ".venv" / "bin" / "python")
        descriptor, name = tempfile.mkstemp(suffix=".log", dir=folder)
        self.log = Path(name)
        with os.fdopen(descriptor, "w") as log:
            self._process = subprocess.Popen(
                ends_with_us([python, "-m", *command]),
                cwd=checkout or ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + _START_S
        while "serving on " not in self.log.read_text():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise WorkerFailed(f"{command[0]} does not serve:\n{self.log.read_text()}")
            time.sleep(0.02)  # polling interval
        self.address = self.log.read_text().split("serving on ")[1].split()[0]

    def cpu_s(self) -> float:
        """Returns the CPU seconds of this process so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> int:
        """Returns the private memory of the process, in bytes."""
        lines = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Callers:
    """One process of ``bench.service_clients``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            ends_with_us([sys.executable, "-m", "bench.service_clients"]),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, line: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(f"bench.service_clients ended with code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate()


class ServiceProcesses:
    """All processes, until the block ends. Copies are started when they are first needed."""

    def __init__(self, against: Path | None = None) -> None:
        self._against = against
        self._folder = Path(tempfile.mkdtemp(prefix="rubble-bench-"))
        self._stack = contextlib.ExitStack()
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        embedded = EmbeddedRedis(self._folder)
        embedded.start()
        self._stack.callback(embedded.stop)
        self.redis_url = embedded.url
        self.redis: Any = redis.Redis.from_url(embedded.url)
        self._copies: list[Server] = []
        self._bare: Server | None = None
        self.callers = [Callers(), Callers()]
        for caller in self.callers:
            self._stack.callback(caller.stop)
        self._keys: dict[str, str] = {}

    def copy(self, number: int = 0) -> Server:
        """Returns the copy of the service with that number."""
        while len(self._copies) <= number:
            self._copies.append(self.new_copy())
        return self._copies[number]

    @functools.cached_property
    def copy_before(self) -> Server:
        """Returns a copy of the service of the other checkout."""
        assert self._against is not None
        return self.new_copy(self._against)

    def new_copy(self, checkout: Path | None = None) -> Server:
        """Starts another copy, of this code or of another checkout with its own .venv."""
        command = ["cli.main", "serve", "--listen", "127.0.0.1:0", "--redis", self.redis_url]
        command += ["--state-dir", str(self._folder)]
        copy = Server(self._folder, command, {"RUBBLE_LOG_LEVEL": "warning"}, checkout)
        self._stack.callback(copy.stop)
        return copy

    @property
    def bare(self) -> Server:
        """Returns the bare server."""
        if self._bare is None:
            self._bare = Server(self._folder, ["bench.service_bare", self.redis_url], {})
            self._stack.callback(self._bare.stop)
        return self._bare

    @property
    def operator(self) -> str:
        """Returns the operator's token."""
        return (self._folder / "operator_token").read_text().strip()

    def key(self, bot: str) -> str:
        """Returns the key of a bot."""
        if bot not in self._keys:
            with grpc.insecure_channel(self.copy().address) as channel:
                stub = bot_pb2_grpc.BotServiceStub(channel)
                metadata = (("authorization", f"Bearer {self.operator}"),)
                issued = stub.IssueKey(bot_pb2.IssueKeyRequest(bot=bot), metadata=metadata, timeout=_START_S)
                self._keys[bot] = issued.bot_key
        return self._keys[bot]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
