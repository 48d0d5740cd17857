"""The checked bot as a process: starts it, reads its output, measures it, and ends it with all its children."""

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from service.lifetime import ends_with_us

#: Every process that the bot starts inherits this variable, so that the kit can find it.
_MARK: Final = "RUBBLE_CHECK"
_TAIL: Final = 64 << 10
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICK: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_WATCH_S: Final = 1.0
_MIB: Final = 1 << 20
#: Lines of the bot's output that are shown.
WORDS: Final = 8


class CannotStart(Exception):
    """The command cannot be started."""


class Output:
    """One output of the bot: its size, its end, and whether it contained the secret."""

    def __init__(self) -> None:
        self.bytes = 0
        self.tail = b""
        self.secret = b""
        self.told_secret = False

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read until the end, and keep only the last bytes."""
        while data := await stream.read(_TAIL):
            self.bytes += len(data)
            seen = self.tail[-len(self.secret) :] + data if self.secret else data
            self.told_secret = self.told_secret or bool(self.secret and self.secret in seen)
            self.tail = (self.tail + data)[-_TAIL:]

    def lines(self) -> list[str]:
        """Return the last lines."""
        return [line for line in self.tail.decode(errors="replace").splitlines() if line.strip()][-WORDS:]


class BotProcess:
    """The bot. At most one process of its command runs at a time."""

    def __init__(self, command: Sequence[str], memory_mb: int) -> None:
        self._command = command
        self._memory_mb = memory_mb
        self._mark = secrets.token_hex(8)
        self._process: asyncio.subprocess.Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.stdout = Output()
        self.stderr = Output()
        self.stdout_bytes = 0
        self.stderr_bytes = 0
        self.told_secret = ""
        self.peak_mb = 0
        #: Why the kit ended the bot to protect the machine; empty if it did not.
        self.ended_for = ""

    # --------------------------------------------------------------------------------------------------- start and stop
    async def start(self, settings: Mapping[str, str]) -> None:
        """Start a new process with only these settings; raises CannotStart."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("RUBBLE_") or name == "RUBBLE_PURE"
        }
        self.stdout, self.stderr = Output(), Output()
        key = settings.get("RUBBLE_BOT_KEY", "")
        self.stdout.secret = self.stderr.secret = key.encode()
        self.ended_for = ""
        try:
            self._process = await asyncio.create_subprocess_exec(
                # If the program does not exist, the error names it as it was typed.
                *(ends_with_us(self._command) if shutil.which(self._command[0]) else self._command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment | {_MARK: self._mark} | dict(settings),
                start_new_session=True,  # Ctrl-C reaches only the kit, which stops the bot
            )
        except OSError as error:
            raise CannotStart(f"{self._command[0]!r} cannot be started: {error.strerror}") from None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._tasks = [
            asyncio.create_task(self.stdout.read(self._process.stdout)),
            asyncio.create_task(self.stderr.read(self._process.stderr)),
            asyncio.create_task(self._watch(key)),
        ]

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of the last process; None while it runs, or if there was none."""
        return None if self._process is None else self._process.returncode

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process, if it runs."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                self._process.send_signal(number)

    async def wait(self, seconds: float) -> int | None:
        """Wait for the end and return the exit code, or None if it still runs after these seconds; reads its last output too."""
        assert self._process is not None
        try:
            code = await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return None
        # A child process that is left may keep the pipe open, so the wait is limited.
        await asyncio.wait(self._tasks[:2], timeout=1.0)
        return code

    async def stop(self, grace_s: float = 2.0) -> None:
        """End the process and everything it started."""
        if self._process is None:
            return
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                self._process.terminate()
            if await self.wait(grace_s) is None:
                with contextlib.suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()
        self.end_strays()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.stdout_bytes += self.stdout.bytes
        self.stderr_bytes += self.stderr.bytes
        for name, output in (("standard output", self.stdout), ("standard error", self.stderr)):
            if output.told_secret:
                self.told_secret = name
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
        self._process = None

    def words(self) -> list[str]:
        """Return the last lines of standard error or, if it is empty, of standard output."""
        return self.stderr.lines() or self.stdout.lines()

    # ------------------------------------------------------------------------------------------------------- watching
    def pids(self) -> list[int]:
        """Return the processes of the bot and all their descendants (Linux only)."""
        return list(_marked(f"{_MARK}={self._mark}".encode()))

    def end_strays(self) -> int:
        """Kill all processes of the bot that are left; return their number."""
        strays = self.pids()
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return len(strays)

    def memory_mb(self) -> int:
        """Return the memory of all its processes, in MiB."""
        pages = 0
        for pid in self.pids():
            with contextlib.suppress(OSError, IndexError, ValueError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * _PAGE // _MIB

    def cpu_s(self) -> float:
        """Return the processor time of all its processes, in seconds."""
        ticks = 0
        for pid in self.pids():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / _TICK

    async def _watch(self, key: str) -> None:
        while sys.platform == "linux":
            self.look(key)
            await asyncio.sleep(_WATCH_S)

    def look(self, key: str) -> None:
        """Record its memory, end it if that is too much, and note if its key is on a command line, where all users can read it."""
        used = self.memory_mb()
        self.peak_mb = max(self.peak_mb, used)
        if used > self._memory_mb:
            self.ended_for = f"it used {used} MiB of memory, more than {self._memory_mb}"
            self.end_strays()
        if key and any(key.encode() in _read(f"/proc/{pid}/cmdline") for pid in self.pids()):
            self.told_secret = "its command line"


def can_watch() -> bool:
    """Whether this system lets the kit inspect processes."""
    return sys.platform == "linux" and Path("/proc/self/environ").exists()


def _marked(mark: bytes) -> Iterator[int]:
    if not can_watch():
        return
    own = os.getpid()
    for entry in os.scandir("/proc"):
        if (
            entry.name.isdigit()
            and int(entry.name) != own
            and mark in _read(f"/proc/{entry.name}/environ").split(b"\0")
        ):
            yield int(entry.name)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""  # the process has just ended, or belongs to another user


def now() -> float:
    """Return the time of the kit's clock, in seconds."""
    return time.monotonic()
