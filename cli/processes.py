"""Processes that belong to a command: their words kept in files, their first lines read, all of them gone at its end."""

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

#: The words after ``python -m``, and the environment.
Command: TypeAlias = tuple[Sequence[str], Mapping[str, str]]

_STOP_S: Final = 20.0
#: A process that dies again within the span below is started again after this pause, doubled each time, in seconds …
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
#: … and one that dies this often within this span, in seconds, is given up, and everything else with it.
_MOST_DEATHS: Final = 5
_WITHIN_S: Final = 120.0
_TAIL_BYTES: Final = 64 << 10
#: Lines of a traceback that say nothing by themselves; SQLAlchemy ends its own with the last two.
_IN_TRACEBACK: Final = re.compile(r"\s|Traceback |During handling of |The above exception |\(Background on |\[SQL: ")
#: A process that has not said that it is ready for so long will not be.
READY_S: Final = 90.0


class ProcessDied(Exception):
    """Something we started has died; says what, and its last words."""


class ChildProcess:
    """One process. What it says goes into its file; what it says first can be waited for."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_end`` is called by another thread when its output ends."""
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
        self._on_end()

    def said(self, beginning: str) -> str | None:
        """The rest of the first line that begins so; None: there is none yet."""
        with self._news:
            return next((line[len(beginning) :] for line in self._lines if line.startswith(beginning)), None)

    def wait_for(self, beginning: str, patience_s: float = READY_S) -> str:
        """The rest of the line that begins so, once it is said; ProcessDied if the process ends before or takes too long."""
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
        """The end of what it said, and where the rest is."""
        return f"{last_sentence(self.log) or 'it said nothing'} (see {self.log})"

    def how_it_ended(self) -> str:
        """Its exit code and its last words; empty while it runs."""
        code = self.process.poll()
        return "" if code is None else f"the {self.name} stopped with exit code {code}: {self.last_words()}"

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


class Supervisor:
    """Keeps processes alive, and the embedded Redis among them. To be used from one thread."""

    def __init__(self, logs: Path, redis: "EmbeddedRedis | None" = None) -> None:
        self._logs = logs
        self._redis = redis
        self._has_news = threading.Event()
        self._children: dict[str, ChildProcess] = {}
        self._commands: dict[str, Callable[[], Command]] = {}
        self._deaths: dict[str, list[float]] = {}
        #: When what has died is to be started again, by name.
        self._due: dict[str, float] = {}

    def start(self, name: str, command: Callable[[], "Command"]) -> ChildProcess:
        """Start a process, and from now on start it again whenever it dies; ``command`` is asked anew each time."""
        self._commands[name] = command
        words, env = command()
        self._children[name] = ChildProcess(name, words, env, self._logs / f"{name}.log", self._has_news.set)
        return self._children[name]

    def child(self, name: str) -> ChildProcess:
        """A process that was started, as it runs now."""
        return self._children[name]

    def keep(self, seconds: float) -> None:
        """For so long, or until a process ends: start again what has died. ProcessDied when something keeps dying."""
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
            again = len(deaths) - 2  # what died at once would die again, so there is a pause after the second time
            self._due[name] = now + (min(_FIRST_PAUSE_S * 2**again, _LONGEST_PAUSE_S) if again >= 0 else 0.0)
        if now < self._due[name]:
            return
        del self._due[name]
        if name != "redis":
            self.start(name, self._commands[name])
        elif self._redis is not None:
            from service.embedded import EmbeddedError

            self._redis.kill()  # it is dead; this lets go of its lock
            try:
                self._redis.start()
            except EmbeddedError as error:
                complain(str(error))  # the next look finds it dead, and counts that too

    def stop(self) -> None:
        """Stop everything, Redis last, else the opposite order. Who presses Ctrl-C again waits for it all the same."""
        with undisturbed():
            for child in reversed(self._children.values()):
                child.stop()
            self._children.clear()
            if self._redis is not None:
                self._redis.stop()


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


@contextlib.contextmanager
def at_sigterm() -> Iterator[None]:
    """Being told to stop is like Ctrl-C: clean up and go."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
