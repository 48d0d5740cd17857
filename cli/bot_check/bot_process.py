"""The checked bot as a process: started, listened to, watched, and never left behind."""

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

#: Every process the bot starts inherits this variable, however far it runs.
_MARK: Final = "RUBBLE_CHECK"
_TAIL: Final = 64 << 10
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICK: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_WATCH_S: Final = 1.0
_MIB: Final = 1 << 20
#: Lines of a bot's own words that are shown.
WORDS: Final = 8


class CannotStart(Exception):
    """The command is not one that can be started."""


class Output:
    """One of the bot's outputs: how much, its end, and whether a secret was in it."""

    def __init__(self) -> None:
        self.bytes = 0
        self.tail = b""
        self.secret = b""
        self.told_secret = False

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Listen until the end; never hold more than a little."""
        while data := await stream.read(_TAIL):
            self.bytes += len(data)
            seen = self.tail[-len(self.secret) :] + data if self.secret else data
            self.told_secret = self.told_secret or bool(self.secret and self.secret in seen)
            self.tail = (self.tail + data)[-_TAIL:]

    def lines(self) -> list[str]:
        """Its last lines."""
        return [line for line in self.tail.decode(errors="replace").splitlines() if line.strip()][-WORDS:]


class BotProcess:
    """The bot. At most one process of the command runs at a time."""

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
        #: Set when the kit itself had to end the bot, to protect the machine.
        self.ended_for = ""

    # --------------------------------------------------------------------------------------------------- start and stop
    async def start(self, settings: Mapping[str, str]) -> None:
        """A new process that knows only these of our settings."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("RUBBLE_") or name == "RUBBLE_PURE"
        }
        self.stdout, self.stderr = Output(), Output()
        key = settings.get("RUBBLE_BOT_KEY", "")
        self.stdout.secret = self.stderr.secret = key.encode()
        self.ended_for = ""
        try:
            self._process = await asyncio.create_subprocess_exec(
                # A program that cannot be found is to be complained of as it was typed.
                *(ends_with_us(self._command) if shutil.which(self._command[0]) else self._command),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment | {_MARK: self._mark} | dict(settings),
                start_new_session=True,  # Ctrl-C is for us: we stop it
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
        """Of the last process; None while it runs, or if there was none."""
        return None if self._process is None else self._process.returncode

    def signal(self, number: signal.Signals) -> None:
        """As an operator would."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                self._process.send_signal(number)

    async def wait(self, seconds: float) -> int | None:
        """Its exit code, or None if it still runs after so many seconds. What it said last is heard, too."""
        assert self._process is not None
        try:
            code = await asyncio.wait_for(self._process.wait(), seconds)
        except TimeoutError:
            return None
        # A child that was left behind may keep the pipe open: then we have heard enough.
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
        """What it said last, on standard error, or else on standard output."""
        return self.stderr.lines() or self.stdout.lines()

    # ------------------------------------------------------------------------------------------------------- watching
    def pids(self) -> list[int]:
        """The bot and everything it started, wherever they went (Linux only)."""
        return list(_marked(f"{_MARK}={self._mark}".encode()))

    def end_strays(self) -> int:
        """Kill whatever is left of the bot; how many there were."""
        strays = self.pids()
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return len(strays)

    def memory_mb(self) -> int:
        """What all its processes hold in memory."""
        pages = 0
        for pid in self.pids():
            with contextlib.suppress(OSError, IndexError, ValueError):
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * _PAGE // _MIB

    def cpu_s(self) -> float:
        """The processor time all its processes have used."""
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
        """How much memory there is in use, and whether the key can be read by all users of the machine."""
        used = self.memory_mb()
        self.peak_mb = max(self.peak_mb, used)
        if used > self._memory_mb:
            self.ended_for = f"it used {used} MiB of memory, more than {self._memory_mb}"
            self.end_strays()
        if key and any(key.encode() in _read(f"/proc/{pid}/cmdline") for pid in self.pids()):
            self.told_secret = "its command line"


def can_watch() -> bool:
    """Whether processes can be looked into here."""
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
        return b""  # it has just ended, or is not ours


def now() -> float:
    """The clock of the kit."""
    return time.monotonic()
