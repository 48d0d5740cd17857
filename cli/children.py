"""Processes that belong to a command: their words kept in files, their first lines read, all of them gone at its end."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from service.lifetime import ends_with_us

_STOP_S: Final = 20.0
_TAIL_BYTES: Final = 64 << 10
#: Lines of a traceback that say nothing by themselves; SQLAlchemy ends its own with the last two.
_IN_TRACEBACK: Final = re.compile(r"\s|Traceback |During handling of |The above exception |\(Background on |\[SQL: ")
#: A process that has not said that it is ready for so long will not be.
READY_S: Final = 90.0


class Broken(Exception):
    """Something we started has died; says what, and its last words."""


class Child:
    """One process. What it says goes into its file; what it says first can be waited for."""

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self.name = name
        self.log = log
        self._lines: list[str] = []
        self._news = threading.Condition()
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                # -P: modules in the working directory are not loaded.
                ends_with_us([sys.executable, "-P", "-m", *command]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                env=dict(env),
                start_new_session=True,  # Ctrl-C is for us: we stop them in order
            )
        assert self.process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True, name=f"out-{name}")
        self._reader.start()

    def _read(self, pipe: IO[str]) -> None:
        with pipe, self.log.open("ab", buffering=0) as kept:
            for line in pipe:
                with contextlib.suppress(OSError):  # the disk is full: what is not kept is read all the same
                    kept.write(line.encode())
                with self._news:
                    if len(self._lines) < 100:
                        self._lines.append(line.rstrip("\n"))
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def said(self, beginning: str) -> str | None:
        """The rest of the first line that begins so; None: there is none yet."""
        with self._news:
            return next((line[len(beginning) :] for line in self._lines if line.startswith(beginning)), None)

    def wait_for(self, beginning: str, patience_s: float = READY_S) -> str:
        """The rest of the line that begins so, once it is said; Broken if the process ends before or takes too long."""
        end = time.monotonic() + patience_s
        while (found := self.said(beginning)) is None:
            if self.process.poll() is not None:
                self._reader.join(_STOP_S)
                raise Broken(
                    f"the {self.name} does not start (exit code {self.process.returncode}): {self.last_words()}"
                )
            if time.monotonic() > end:
                raise Broken(f"the {self.name} is not ready after {patience_s:.0f} s: {self.last_words()}")
            with self._news:
                self._news.wait(0.1)
        return found

    def last_words(self) -> str:
        """The end of what it said, and where the rest is."""
        return f"{last_sentence(self.log) or 'it said nothing'} (see {self.log})"

    def check(self) -> None:
        """Broken if it has died."""
        if self.process.poll() is not None:
            raise Broken(f"the {self.name} stopped with exit code {self.process.returncode}: {self.last_words()}")

    def stop(self) -> None:
        """Tell it to stop, and make sure."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(_STOP_S)


def last_sentence(log: Path) -> str:
    """The last line of a log that tells something; of a traceback that is the exception, not where it was raised."""
    if not log.exists():
        return ""
    with log.open("rb") as opened:
        opened.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = opened.read(_TAIL_BYTES).decode(errors="replace").splitlines()
    telling = [line for line in lines if line.strip() and not _IN_TRACEBACK.match(line)]
    return telling[-1] if telling else ""


def inherited(*kept: str) -> dict[str, str]:
    """Our environment without our settings, apart from these: a child is told everything anew."""
    keep = {"RUBBLE_PURE", "RUBBLE_LOG_LEVEL", "RUBBLE_LOG_FORMAT", *kept}
    return {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_") or key in keep}


def keep_private() -> None:
    """Whatever we and those we start write from now on, only our user can read: cards, keys and tokens are among it."""
    os.umask(0o077)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Nothing we started is left behind because somebody is impatient."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
