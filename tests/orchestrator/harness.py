"""What the tests of whole tournaments share: rosters, ``rubble run`` as a process, and who is still alive afterwards."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import redis

from orchestrator.book import Book, Match
from orchestrator.book.tables import PLAYING
from orchestrator.client import Door
from orchestrator.settings import Settings
from service.embedded import EmbeddedRedis
from service.games.chance import SEED_BYTES
from service.lifetime import ends_with_us
from service.sessions.replay_verify import verify_replay

HOME: Final = Path(__file__).parents[2]
HOSTILE: Final = Path(__file__).parent / "hostile"
#: Long enough for a busy machine; a condition that holds sooner is seen sooner.
PATIENCE_S: Final = 300.0
_LOOK_S: Final = 0.05


def wait_for(condition: Callable[[], bool], what: str | Callable[[], str], patience_s: float = PATIENCE_S) -> None:
    """Look until the condition holds; AssertionError after the deadline, with what was waited for."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience_s} s in vain for: {what if isinstance(what, str) else what()}")
        time.sleep(_LOOK_S)  # between two looks


def script(name: str, *arguments: str) -> list[str]:
    """The command of one of the bots in ``hostile/``."""
    return [sys.executable, str(HOSTILE / f"{name}.py"), *arguments]


def roster_text(bots: Mapping[str, Sequence[str] | str], extra: str = "", **settings: object) -> str:
    """A roster: bots by name, each with its command, or the name of one of ours."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    lines += [extra]
    for name, bot in bots.items():
        kind = "bundled" if isinstance(bot, str) else "command"
        lines += ["[[bots]]", f"name = {json.dumps(name)}", f"{kind} = {json.dumps(bot)}"]
    return "\n".join(lines) + "\n"


def cup_match(id_: str, voids: int = 0) -> Match:
    """A match of two in a tournament called "cup", handed out, with seeds of its own."""
    seeds = id_.encode().rjust(SEED_BYTES), id_.encode().ljust(SEED_BYTES)
    return Match(id_, "cup", 0, 0, (0, 1), *seeds, PLAYING, 1, voids, 0)


def handed_out_again(book: Book, match: Match) -> Match:
    """The match, after whoever played it has let go of it."""
    now = book.match(match.id)
    assert now is not None
    book.give_back(now)
    (again,) = book.hand_out(1, 60_000, match.tournament)
    assert again.id == match.id
    return again


@dataclass
class Run:
    """``rubble run`` as a process."""

    process: "subprocess.Popen[str]"
    folder: Path

    def end(self, patience_s: float = PATIENCE_S) -> tuple[int, str, str]:
        """Its exit code and what it said."""
        try:
            said, complained = self.process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            said, complained = self.process.communicate(timeout=patience_s)
            raise AssertionError(
                f"it did not end within {patience_s} s: {said}{complained}{logs(self.folder)}"
            ) from None
        return self.process.returncode, said, complained

    def standings(self) -> dict[str, Any]:
        """What it wrote."""
        found: dict[str, Any] = json.loads((self.folder / "standings.json").read_text())
        return found


def start_run(folder: Path, *arguments: str) -> Run:
    """``rubble run`` with these arguments; ``folder`` is where it writes."""
    process = subprocess.Popen(
        ends_with_us([sys.executable, "-m", "cli.main", "run", *arguments]),
        cwd=HOME,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_")} | {"COLUMNS": "200"},
    )
    return Run(process, folder)


def start_roster(folder: Path, roster: str, *arguments: str) -> Run:
    """``rubble run`` of this roster into a new folder ``out`` of ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "roster.toml").write_text(roster)
    return start_run(folder / "out", str(folder / "roster.toml"), "--out", str(folder / "out"), *arguments)


def logs(folder: Path) -> str:
    """The ends of all logs under a folder, for a test that fails."""
    found = [path for path in sorted(folder.rglob("*.log")) if path.stat().st_size]
    return "".join(f"\n--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in found)


def child_of(pid: int, word: str) -> int:
    """The process id of a child with this word in its command line; 0 if there is none."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if word in Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                return int(child)
    return 0


def alive_with(word: str | Path) -> dict[int, str]:
    """The processes in whose command line or environment this word occurs, apart from ours."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (folder / "environ").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (OSError, ProcessLookupError):
            continue
        if re.search(rf"{re.escape(str(word))}\b", command + " " + environment):
            found[int(folder.name)] = command
    return found


class Arena:
    """Redis, copies of the service and workers, each of which can be killed and started again. Use it as a context.

    Workers and copies are called ``worker``, ``worker-2``, … and ``service``, ``service-2``, …; each worker and its bots
    connect to one copy, in turn. Who asks for a ``beat`` has matches handed out; the others hand them out themselves.
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
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.redis = EmbeddedRedis(folder)
        self.workers = _numbered("worker", workers)
        self.services = _numbered("service", services)
        self._beats = ("beat",) if has_beat else ()
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._concurrency = concurrency
        self._book = book or f"sqlite:///{(folder / 'book.sqlite').resolve()}"
        self._broker = broker or f"redis+socket://{self.redis.socket}?virtual_host=1"
        self._addresses = dict.fromkeys(self.services, "127.0.0.1:0")

    @property
    def settings(self) -> Settings:
        """The settings of the first worker."""
        return self._settings(self.services[0])

    def _settings(self, service: str) -> Settings:
        token = (self.folder / "service" / "operator_token").read_text().strip()
        return Settings(
            book=self._book,
            broker=self._broker,
            door=Door(self._addresses[service], token),
            folder=(self.folder / "bots").resolve(),
            concurrency=self._concurrency,
            window=2 * self._concurrency * max(1, len(self.workers)),
        )

    def __enter__(self) -> "Arena":
        try:
            self.redis.start()
            for name in (*self.services, *self.workers, *self._beats):
                self.start(name)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop everything, in order."""
        for name in (*self._beats, *self.workers, *self.services):
            process = self._processes.pop(name, None)
            if process is None:
                continue
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self.redis.stop()

    def pid(self, name: str) -> int:
        """The process id of a copy of the service or of a worker."""
        return self._processes[name].pid

    def start(self, name: str) -> None:
        """Start one of them; a copy of the service always at the same address, and it serves."""
        if name in self.services:
            self._start_service(name)
        elif name in self._beats:
            self._start(name, ["orchestrator", "beat"], self.settings.to_env())
        else:
            number = self.workers.index(name)
            settings = self._settings(self.services[number % len(self.services)])
            self._start(name, ["orchestrator"], settings.to_env())

    def _start_service(self, name: str) -> None:
        state = self.folder / "service"  # the copies share their token
        address = self._addresses[name]
        arguments = ["serve", "--listen", address, "--state-dir", str(state), "--redis", self.redis.url]
        process = self._start(name, ["cli.main", *arguments], {})
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("serving on "):
                self._addresses[name] = line.split()[-1]
                break
        else:
            raise AssertionError(f"the service does not start: {logs(self.folder)}")

    def _start(self, name: str, module: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[str]":
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_")}
        with (self.folder / f"{name}.log").open("a") as log:
            self._processes[name] = process = subprocess.Popen(
                ends_with_us([sys.executable, "-m", *module]),
                cwd=HOME,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if name in self.services else log,
                stderr=log,
                text=True,
                env={**inherited, **env},
                start_new_session=True,
            )
        return process

    def kill(self, name: str, *, again: bool = True) -> None:
        """Kill a copy of the service, a worker or Redis as a power cut would, and start it again."""
        if name == "redis":
            self.redis.kill()
            self.redis.start()
            return
        process = self._processes.pop(name)
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        if again:
            self.start(name)

    def empty_broker(self) -> None:
        """Lose all messages."""
        with self.broker() as client:
            client.flushdb()

    def broker(self) -> "redis.Redis":
        """The broker, to look into."""
        return redis.Redis.from_url(f"{self.redis.url}?db=1")


def _numbered(word: str, count: int) -> tuple[str, ...]:
    return tuple(word if number == 1 else f"{word}-{number}" for number in range(1, count + 1))


def assert_replays_are_good(folder: Path, count: int) -> None:
    """As many replays as matches, all of them complete and with seeds that fit."""
    replays = sorted((folder / "replays").glob("*.jsonl"))
    assert len(replays) == count
    for path in replays:
        verdict = verify_replay(path.read_text())
        assert verdict.ok and verdict.is_replayed, f"{path}: {verdict}"
