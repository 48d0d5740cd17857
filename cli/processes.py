"""Child processes of a command: their output goes into files, their first lines are read, and they end with the command."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias

from cli.terminal import complain
from service.lifetime import ends_with_us

if TYPE_CHECKING:
    from service.embedded import EmbeddedRedis

#: The arguments after ``python -m``, and the environment.
Command: TypeAlias = tuple[Sequence[str], Mapping[str, str]]

_STOP_S: Final = 20.0
#: A process that dies repeatedly within the time below is restarted after a pause, doubled each time, in seconds …
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
#: … and after this many deaths within this time, in seconds, everything is stopped.
_MOST_DEATHS: Final = 5
_WITHIN_S: Final = 120.0
#: Characters of a log line that are shown.
_LONGEST_LINE: Final = 300
_TAIL_BYTES: Final = 64 << 10
#: Lines of a traceback that do not name the exception; SQLAlchemy adds the last two.
_IN_TRACEBACK: Final = re.compile(r"\s|Traceback |During handling of |The above exception |\(Background on |\[SQL: ")
#: How long a process may take to become ready.
READY_S: Final = 90.0


class ProcessDied(Exception):
    """A child process has died; the message names it and its last output."""


class ChildProcess:
    """One child process. Its output goes into a file, and its first lines can be waited for."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_end`` is called in another thread when the output ends."""
        self.name = name
        self._on_end = on_end
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
                start_new_session=True,  # Ctrl-C reaches only this process, which stops the others in order
            )
        assert self.process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True, name=f"out-{name}")
        self._reader.start()

    def _read(self, pipe: IO[str]) -> None:
        with pipe, self.log.open("ab", buffering=0) as kept:
            for line in pipe:
                with contextlib.suppress(OSError):  # the disk is full: keep reading, so that the process is not blocked
                    kept.write(line.encode())
                with self._news:
                    if len(self._lines) < 100:
                        self._lines.append(line.rstrip("\n"))
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()
        self._on_end()

    def said(self, beginning: str) -> str | None:
        """Return the rest of the first line with this beginning; None if there is none yet."""
        with self._news:
            return next((line[len(beginning) :] for line in self._lines if line.startswith(beginning)), None)

    def wait_for(self, beginning: str, patience_s: float = READY_S) -> str:
        """Wait for a line with this beginning and return its rest; raises ProcessDied if the process ends or takes too long."""
        end = time.monotonic() + patience_s
        while (found := self.said(beginning)) is None:
            if self.process.poll() is not None:
                self._reader.join(_STOP_S)
                raise ProcessDied(
                    f"the {self.name} does not start (exit code {self.process.returncode}): {self.last_words()}"
                )
            if time.monotonic() > end:
                raise ProcessDied(f"the {self.name} is not ready after {patience_s:.0f} s: {self.last_words()}")
            with self._news:
                self._news.wait(0.1)
        return found

    def last_words(self) -> str:
        """Return the last line of its log that says something, and the log's path."""
        return f"{last_sentence(self.log)[:_LONGEST_LINE] or 'no output'} (see {self.log})"

    def how_it_ended(self) -> str:
        """Return its exit code and last output; empty while it runs."""
        code = self.process.poll()
        if code is None:
            return ""
        if code < 0:  # what it wrote last has nothing to do with it
            return f"the {self.name} was killed by {signal.Signals(-code).name} (its log: {self.log})"
        return f"the {self.name} stopped with exit code {code}: {self.last_words()}"

    def stop(self) -> None:
        """Terminate it, and kill it if it does not end."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(_STOP_S)


class Supervisor:
    """Restarts processes that die, and the embedded Redis. Not thread-safe."""

    def __init__(self, logs: Path, redis: "EmbeddedRedis | None" = None) -> None:
        self._logs = logs
        self._redis = redis
        self._has_news = threading.Event()
        self._children: dict[str, ChildProcess] = {}
        self._commands: dict[str, Callable[[], Command]] = {}
        self._deaths: dict[str, list[float]] = {}
        #: When a dead process is to be restarted, by name.
        self._due: dict[str, float] = {}

    def start(self, name: str, command: Callable[[], "Command"]) -> ChildProcess:
        """Start a process and restart it whenever it dies; ``command`` is called for each start."""
        self._commands[name] = command
        words, env = command()
        self._children[name] = ChildProcess(name, words, env, self._logs / f"{name}.log", self._has_news.set)
        return self._children[name]

    def child(self, name: str) -> ChildProcess:
        """Return the current process of that name."""
        return self._children[name]

    def keep(self, seconds: float) -> None:
        """Wait up to these seconds, or until a process ends, and restart what has died; raises ProcessDied if it keeps dying."""
        now = time.monotonic()
        pause = min([seconds, *(at - now for at in self._due.values())])
        self._has_news.wait(max(0.0, pause))
        self._has_news.clear()
        if self._redis is not None and not self._redis.is_running:
            self._bring_back("redis", f"the embedded Redis stopped (see {self._redis.folder / 'redis.log'})")
        for name, child in list(self._children.items()):
            if words := child.how_it_ended():
                self._bring_back(name, words)

    def _bring_back(self, name: str, words: str) -> None:
        now = time.monotonic()
        if name not in self._due:
            deaths = self._deaths[name] = [at for at in self._deaths.get(name, []) if now - at < _WITHIN_S] + [now]
            if len(deaths) >= _MOST_DEATHS:
                raise ProcessDied(
                    f"{words}; that was the {len(deaths)}th time in {_WITHIN_S:.0f} s, so everything is stopped"
                )
            complain(f"{words}; starting it again")
            again = len(deaths) - 2  # the first restart is immediate, later ones wait
            self._due[name] = now + (min(_FIRST_PAUSE_S * 2**again, _LONGEST_PAUSE_S) if again >= 0 else 0.0)
        if now < self._due[name]:
            return
        del self._due[name]
        if name != "redis":
            self.start(name, self._commands[name])
        elif self._redis is not None:
            from service.embedded import EmbeddedError

            self._redis.kill()  # it is dead; this releases its lock
            try:
                self._redis.start()
            except EmbeddedError as error:
                complain(str(error))  # the next call finds it dead, and counts that too

    def stop(self) -> None:
        """Stop everything in reverse order, Redis last. A second Ctrl-C does not interrupt this."""
        with undisturbed():
            for child in reversed(self._children.values()):
                child.stop()
            self._children.clear()
            if self._redis is not None:
                self._redis.stop()


def last_sentence(log: Path) -> str:
    """Return the last line of a log that says something; of a traceback that is the exception."""
    if not log.exists():
        return ""
    with log.open("rb") as opened:
        opened.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        lines = opened.read(_TAIL_BYTES).decode(errors="replace").splitlines()
    sentences = [line for line in lines if line.strip() and not _IN_TRACEBACK.match(line)]
    return sentences[-1] if sentences else ""


def inherited(*kept: str) -> dict[str, str]:
    """Return this environment without Rubble's settings, apart from these; a child process gets its settings explicitly."""
    keep = {"RUBBLE_PURE", "RUBBLE_LOG_LEVEL", "RUBBLE_LOG_FORMAT", *kept}
    return {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_") or key in keep}


@contextlib.contextmanager
def at_sigterm() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def keep_private() -> None:
    """Make files of this process and its children readable only by the user: they contain cards, keys and tokens."""
    os.umask(0o077)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM, so that no child process is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
