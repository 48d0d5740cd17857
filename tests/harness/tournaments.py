"""Rosters, arenas with workers, and ``rubble run`` and ``rubble up`` as processes."""

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import redis

from orchestrator.api.client import TournamentClient
from orchestrator.book import Book, Match
from orchestrator.book.tables import PLAYING
from orchestrator.client import ServiceAccess
from orchestrator.settings import Settings
from service.embedded import EmbeddedRedis
from service.games.chance import SEED_BYTES
from service.sessions.replay_verify import verify_replay
from tests.harness.processes import HOME, PYTHON, RUBBLE, Process, child_of, clean_env, logs, run_command
from tests.harness.service import Arena
from tests.harness.waiting import PATIENCE_S

_HOSTILE: Final = HOME / "tests" / "orchestrator" / "hostile"
#: For an orchestrator that makes no calls to the service.
NO_ACCESS: Final = ServiceAccess("127.0.0.1:1", "nobody answers there")


# ----------------------------------------------------------------------------------------------------- rosters and matches
def script(name: str, *arguments: str) -> list[str]:
    """Return the command of a bot in ``tests/orchestrator/hostile``."""
    return [PYTHON, str(_HOSTILE / f"{name}.py"), *arguments]


def roster_text(bots: Mapping[str, Sequence[str] | str], extra: str = "", **settings: object) -> str:
    """Return a roster; ``bots`` maps a name to a command, or to the name of a bundled bot."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    lines += [extra]
    for name, bot in bots.items():
        kind = "bundled" if isinstance(bot, str) else "command"
        lines += ["[[bots]]", f"name = {json.dumps(name)}", f"{kind} = {json.dumps(bot)}"]
    return "\n".join(lines) + "\n"


def sample_match(id_: str, voids: int = 0, seats: tuple[int, ...] = (0, 1)) -> Match:
    """Return a match that is being played in the tournament "cup", with its own seeds."""
    seeds = id_.encode().rjust(SEED_BYTES), id_.encode().ljust(SEED_BYTES)
    return Match(id_, "cup", 0, 0, seats, *seeds, PLAYING, 1, voids, 0)


def handed_out_again(book: Book, match: Match) -> Match:
    """Give the match back and return it as it is handed out again."""
    now = book.match(match.id)
    assert now is not None
    book.give_back(now)
    (again,) = book.hand_out(1, 60_000, match.tournament)
    assert again.id == match.id
    return again


def assert_replays_are_good(folder: Path, count: int) -> None:
    """Assert that there are this many replays, all complete and with the right seeds."""
    replays = sorted((folder / "replays").glob("*.jsonl"))
    assert len(replays) == count
    for path in replays:
        verification = verify_replay(path.read_text())
        assert verification.ok and verification.is_replayed, f"{path}: {verification}"


# ------------------------------------------------------------------------------------------------------------------- arenas
def settings_for(
    folder: Path,
    server: EmbeddedRedis,
    concurrency: int,
    window: int,
    access: ServiceAccess = NO_ACCESS,
    *,
    book: str = "",
    broker: str = "",
) -> Settings:
    """Return the settings of an orchestrator in this folder with its broker on this Redis."""
    return Settings(
        book=book or f"sqlite:///{(folder / 'book.sqlite').resolve()}",
        broker=broker or f"redis+socket://{server.socket}?virtual_host=1",
        access=access,
        folder=(folder / "bots").resolve(),
        concurrency=concurrency,
        window=window,
    )


def broker_of(server: EmbeddedRedis) -> "redis.Redis":
    """Return a Redis client of the broker."""
    return redis.Redis.from_url(f"{server.url}?db=1")


class TournamentArena(Arena):
    """An arena with workers. Use it in a with block.

    Workers and copies are called ``worker``, ``worker-2``, … and ``service``, ``service-2``, …; each worker and its bots
    connect to one copy, in turn. With ``has_beat`` a beat hands out matches; without it the test does.
    """

    def __init__(
        self,
        folder: Path,
        concurrency: int = 8,
        *,
        workers: int = 1,
        services: int = 1,
        book: str = "",
        broker: str = "",
        has_beat: bool = False,
    ) -> None:
        super().__init__(folder, services)
        self.workers = _numbered("worker", workers)
        self._services = _numbered("service", services)
        self._names = (*self.workers, "beat") if has_beat else self.workers
        self._processes: dict[str, Process] = {}
        self._concurrency = concurrency
        self._servers = {"book": book, "broker": broker}

    def __enter__(self) -> "TournamentArena":
        super().__enter__()
        return self

    def open(self) -> None:
        super().open()
        for name in self._names:
            self.start(name)

    def close(self) -> None:
        """Stop everything, in order."""
        for name in reversed(self._names):
            if name in self._processes:
                self._processes[name].stop()
        super().close()

    @property
    def settings(self) -> Settings:
        """The settings of the first worker."""
        return self._settings_of(0)

    def _settings_of(self, worker: int) -> Settings:
        copy = self.copies[worker % len(self.copies)]
        window = 2 * self._concurrency * max(1, len(self.workers))
        access = ServiceAccess(copy.address, copy.token)
        return settings_for(self.folder, self.redis, self._concurrency, window, access, **self._servers)

    def pid(self, name: str) -> int:
        """Return the process id of a worker."""
        return self._processes[name].pid

    def start(self, name: str) -> None:
        """Start a worker or the beat, or restart a copy of the service and wait until it serves."""
        if name in self._services:
            assert self.start_copy(self._services.index(name)).address
            return
        is_beat = name == "beat"
        settings = self._settings_of(0 if is_beat else self.workers.index(name))
        command = [PYTHON, "-m", "orchestrator", *(["beat"] if is_beat else [])]
        log = self.folder / f"{name}.log"
        self._processes[name] = Process(*command, log=log, env=clean_env(settings.to_env()))

    def kill(self, name: str, *, again: bool = True) -> None:
        """Kill a copy of the service, a worker or Redis with SIGKILL, and start it again."""
        if name == "redis":
            self.redis.kill()
            self.redis.start()
            return
        if name in self._services:
            self.copies[self._services.index(name)].kill()
        else:
            self._processes.pop(name).kill()
        if again:
            self.start(name)

    def empty_broker(self) -> None:
        """Delete all messages of the broker."""
        with self.broker() as client:
            client.flushdb()

    def broker(self) -> "redis.Redis":
        """Return a Redis client of the broker."""
        return broker_of(self.redis)


def _numbered(word: str, count: int) -> tuple[str, ...]:
    return tuple(word if number == 1 else f"{word}-{number}" for number in range(1, count + 1))


# --------------------------------------------------------------------------------------------------------------- rubble run
@dataclass
class Run:
    """``rubble run`` as a process."""

    process: Process
    folder: Path
    _errors: Path

    def end(self, patience_s: float = PATIENCE_S) -> tuple[int, str, str]:
        """Wait until it exits; return its exit code, output and standard error."""
        try:
            code = self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.process.stop(signal.SIGINT)
            raise AssertionError(
                f"it did not end within {patience_s} s: {self.process.said()}{self.complained()}{logs(self.folder)}"
            ) from None
        return code, self.process.said(), self.complained()

    def complained(self) -> str:
        """Return what it has written to standard error so far."""
        return self._errors.read_text()

    def standings(self) -> dict[str, Any]:
        """Read the standings.json that it wrote."""
        found: dict[str, Any] = json.loads((self.folder / "standings.json").read_text())
        return found


def start_run(folder: Path, *arguments: str) -> Run:
    """Start ``rubble run`` with these arguments; ``folder`` is its output folder."""
    said = Path(tempfile.mkdtemp(prefix="run-", dir=folder.parent))
    errors = said / "errors"
    process = Process(*RUBBLE, "run", *arguments, log=said / "output", errors=errors, env=clean_env(COLUMNS="200"))
    return Run(process, folder, errors)


def start_roster(folder: Path, roster: str, *arguments: str) -> Run:
    """Start ``rubble run`` of this roster, with ``out`` in ``folder`` as its output folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "roster.toml").write_text(roster)
    return start_run(folder / "out", str(folder / "roster.toml"), "--out", str(folder / "out"), *arguments)


# ---------------------------------------------------------------------------------------------------------------- rubble up
class Host:
    """``rubble up`` as a process, in its own folder."""

    def __init__(self, folder: Path, *arguments: str, env: Mapping[str, str] = {}, ladder: bool = False) -> None:
        """``ladder``: as ``rubble up`` does by itself, with a ladder of bundled bots."""
        self.folder = folder
        self.state = folder / "state"
        free = ("--listen", "127.0.0.1:0", "--api", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--concurrency", "4")
        off = () if ladder else ("--no-ladder",)
        command = (*RUBBLE, "up", "--state-dir", str(self.state), *free, *off, *arguments)
        self.process = Process(*command, log=folder / "up.out", env=clean_env(env, COLUMNS="200"))

    def said(self) -> str:
        """Return its output so far."""
        return self.process.said()

    def wait_until_up(self) -> None:
        """Wait until it has printed its addresses."""
        try:
            self.process.wait_for("Next:", 3 * PATIENCE_S)
        except AssertionError as error:
            raise AssertionError(f"{error}{logs(self.folder)}") from None

    def arena_address(self) -> dict[str, Any]:
        """Read the addresses that it writes for other commands."""
        found: dict[str, Any] = json.loads((self.state / "arena.json").read_text())
        return found

    @property
    def token(self) -> str:
        return (self.state / "operator_token").read_text().strip()

    def access(self, *, is_operator: bool = True) -> ServiceAccess:
        return ServiceAccess(self.arena_address()["api"], self.token if is_operator else "")

    def caller(self, *, is_operator: bool = True) -> TournamentClient:
        """Return a client of its API."""
        return TournamentClient(self.access(is_operator=is_operator))

    def rubble(self, *arguments: str, code: int = 0, env: Mapping[str, str] = {}) -> str:
        """Run a ``rubble`` command at this arena; return its output."""
        return self._run(*arguments, "--state-dir", str(self.state), code=code, env=env)

    def rubble_as_anybody(self, *arguments: str, code: int = 0) -> str:
        """Run a ``rubble`` command that knows the address of this arena and no token."""
        elsewhere = ("--api", self.arena_address()["api"], "--state-dir", str(self.folder / "elsewhere"))
        return self._run(*arguments, *elsewhere, code=code)

    def _run(self, *arguments: str, code: int, env: Mapping[str, str] = {}) -> str:
        ended = run_command(*RUBBLE, *arguments, env=clean_env(env, COLUMNS="200"))
        assert ended.returncode == code, ended.stdout + ended.stderr + logs(self.folder)
        return ended.stdout + ended.stderr

    def child(self, word: str) -> int:
        """Return the process id of a child with this word in its command line."""
        return child_of(self.process.pid, word)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it with a signal; return its exit code."""
        return self.process.stop(number)


@contextmanager
def host(folder: Path, *arguments: str) -> Iterator[Host]:
    """Run ``rubble up`` during the block."""
    opened = Host(folder, *arguments)
    try:
        opened.wait_until_up()
        yield opened
    finally:
        opened.stop()
