"""A server that accepts every connection and says at once that it leaves: what a client of a stopping arena may meet."""

import asyncio
import contextlib
import re
import struct
import threading
from pathlib import Path
from typing import Final

from tests.harness.processes import Process
from tests.harness.waiting import PATIENCE_S, wait_for

_PREFACE: Final = 24
_SETTINGS, _PING, _GOAWAY = 4, 6, 7
_IS_ANSWER: Final = 1
#: More memory than any bot needs before its first game, in MiB; a JVM takes what it is given.
_MOST_MIB: Final = 400


def _frame(kind: int, flags: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + bytes(4) + payload


class LeavingServer:
    """HTTP/2 with just enough of it: settings, GOAWAY without any stream processed, and answers to pings. The connection stays."""

    def __init__(self) -> None:
        self.address = ""
        #: How many connections were made.
        self.connections = 0
        self._leave = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> "LeavingServer":
        self._thread.start()
        assert self._is_open.wait(PATIENCE_S)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._leave.set)
        self._thread.join(PATIENCE_S)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._is_open.set()
        await self._leave.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        leaves = struct.pack(">II", 0, 0) + b"this server stops"
        try:
            await reader.readexactly(_PREFACE)
            writer.write(_frame(_SETTINGS) + _frame(_GOAWAY, payload=leaves))
            while True:
                head = await reader.readexactly(9)
                payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
                if head[3] in (_SETTINGS, _PING) and not head[4] & _IS_ANSWER:
                    writer.write(_frame(head[3], _IS_ANSWER, payload if head[3] == _PING else b""))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            writer.close()


def stays_small(process: Process, server: LeavingServer, attempts: int) -> None:
    """Wait until a client has tried this often; fails if its memory grows without bound meanwhile."""

    def has_tried() -> bool:
        assert _peak_mib(process) < _MOST_MIB, "it fills the memory"
        return server.connections >= attempts

    wait_for(has_tried, lambda: f"{attempts} attempts; {server.connections} so far:\n{process.said()[-2000:]}")


def _peak_mib(process: Process) -> int:
    """The most memory that a process has used; 0 if it has just ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for peak in re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text()):
            return int(peak) // 1024
    return 0
