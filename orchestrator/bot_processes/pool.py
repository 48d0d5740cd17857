"""The bot pool: all bots of one tournament that this worker keeps, under names of their own.

A bot's name in the arena is ``tournament.entrant.slot``. The slot belongs to the worker: another worker has another one, so
that two copies of a bot never take each other's stream; a worker that takes over a dead one's slot brings its bots back
under the same names, and their games go on.
"""

import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from orchestrator.bot_processes.capacity import Capacity
from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.sandbox import SandboxPolicy, in_force, missing
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.entrants import arena_key, file_name
from orchestrator.roster import Limits
from orchestrator.spec import Entry

_LOG: Final = logging.getLogger(__name__)
_LOOK_S: Final = 0.2
START_S: Final = 30.0
#: A bot that was seen to be connected is not looked for again so soon, in seconds: matches begin many a second.
_SEEN_S: Final = 1.0
#: Between two looks whether a bot that plays for other workers too has room.
_CAPACITY_POLL_S: Final = 1.0
#: So much of an isolated bot's own name is in its name in the arena, which may have 64 characters.
_NAME_PART: Final = 30
#: What a tournament that was planned before there were defaults is played with, too.
_DEFAULT_LIMITS: Final = {
    name: value for name, value in asdict(Limits()).items() if value is not None and name != "match_seconds"
}


class BotCannotStart(Exception):
    """A bot did not turn up; says so with the bot's own words."""

    def __init__(self, name: str, why: str, words: str) -> None:
        super().__init__(f"bot {name!r} {why}" + (f"; it said:\n{words}" if words else "; it said nothing"))
        self.name = name
        self.why = why
        self.words = words


def command_of(entry: Entry) -> list[str]:
    """What starts the bot."""
    if not entry.bundled:
        return list(entry.command)
    # -P: a bundled bot loads our modules, and none that lie in the working directory.
    return [sys.executable, "-P", "-m", "bots.bundled", entry.bundled]


def search_path() -> str:
    """Where the program of a command is looked for. "python3" in a roster means the Python that we run with ourselves."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def unconfined(limits: Mapping[str, Any], address: str) -> tuple[str, ...]:
    """What the bots of a tournament could do here and should not, in words: for a log, and for whoever reads the table."""
    if reason := limits.get("unconfined"):
        return (f"Bots run without a sandbox, as the roster wants it: {reason}",)
    lacking = missing(SandboxPolicy.for_bot(Path.cwd(), address))
    return tuple(f"The sandbox lacks a protection: {words}" for words in lacking)


def protections(limits: Mapping[str, Any], address: str) -> str:
    """What protects this machine from the bots of a tournament, in words; empty if the roster wants nothing of it."""
    if limits.get("unconfined"):
        return ""
    return in_force(SandboxPolicy.for_bot(Path.cwd(), address), {**_DEFAULT_LIMITS, **limits})


@cache
def _say_once(words: str, level: int = logging.WARNING) -> None:
    _LOG.log(level, "%s", words)


class BotPool:
    """Bots as processes. Call ``ready`` before a match; ``close`` ends them all."""

    def __init__(
        self,
        client: ArenaClient,
        tournament: str,
        slot: int,
        entries: Sequence[Entry],
        folder: Path,
        limits: Mapping[str, Any],
        hidden: Sequence[Path] = (),
    ) -> None:
        """``limits`` as the roster has them; with ``unconfined``, a reason, there is no sandbox. ``hidden`` are files and folders
        that bots may not read; each other's folders they never may."""
        self._client = client
        self._tournament = tournament
        self._slot = slot
        self._entries = {entry.name: entry for entry in entries}
        self._folder = folder
        self._hidden = (folder, *hidden)
        self._limits = {**_DEFAULT_LIMITS, **limits}
        self._limits.pop("unconfined", None)
        self._readable = tuple(self._limits.pop("readable", ()))
        self._is_confined = not limits.get("unconfined")
        for words in unconfined(limits, client.access.address):
            _say_once(words)
        if words := protections(limits, client.access.address):
            _say_once(words, logging.INFO)
        self._bots: dict[str, BotProcess] = {}
        #: Since when a bot has not been connected, by its name in the arena. Whoever is here is not in it.
        self._away: dict[str, float] = {}
        #: When a bot was last seen to be connected, by the same name.
        self._seen: dict[str, float] = {}
        self._capacity = Capacity()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True, name=f"bot-pool-{tournament}")
        self._keeper.start()

    def arena_name(self, entrant: str, session: str = "") -> str:
        """The bot's name in the arena. A remote bot has one key, and so one name, wherever it runs; an isolated one has a name
        for every session."""
        key = arena_key(entrant)
        entry = self._entries[entrant]
        if entry.remote:
            return f"{self._tournament}.{key}"
        if entry.isolated:
            game = blake2b(f"{key}/{self._slot}/{session}".encode(), digest_size=8).hexdigest()
            return f"{self._tournament}.{key[:_NAME_PART]}.{game}"
        return f"{self._tournament}.{key}.{self._slot}"

    def wait_until_ready(
        self,
        entrants: Sequence[str],
        session: str = "",
        *,
        timeout_s: float = START_S,
        heartbeat: Callable[[], None] = lambda: None,
    ) -> None:
        """All of these bots are connected, or BotCannotStart within the time. ``heartbeat`` is called while we wait.

        The time counts from when a bot was first missed, and not anew for every match: who does not come at all is waited for once,
        and has the time to be seated for the rest.
        """
        self.start(entrants, session)
        now = time.monotonic()
        names = [self.arena_name(entrant, session) for entrant in entrants]
        if all(now - self._seen.get(name, -_SEEN_S) < _SEEN_S for name in names):
            return  # a bot that has left since could as well leave after we asked
        failed: dict[str, BotCannotStart] = {}
        while True:
            connected = self._client.connected()
            now = time.monotonic()
            missing = []
            for entrant in entrants:
                name = self.arena_name(entrant, session)
                if name in connected:
                    self._seen[name] = now
                    self._away.pop(name, None)
                    self._capacity.learn(name, connected[name].max_parallel_games)
                    continue
                missing.append(entrant)
                self._seen.pop(name, None)
                away_s = now - self._away.setdefault(name, now)
                bot = self._bots.get(name)
                if bot is not None and bot.starts >= 2 and not bot.pid:  # one retry
                    why = f"ended twice with exit code {bot.exit_code}"
                    failed[entrant] = BotCannotStart(entrant, why, bot.last_words())
                elif away_s > timeout_s:
                    words = bot.last_words() if bot is not None else ""
                    failed[entrant] = BotCannotStart(entrant, f"did not connect within {timeout_s:.0f} s", words)
            gone = [failed[entrant] for entrant in missing if entrant in failed]
            if len(gone) == len(missing):  # the others are here
                if gone:
                    raise gone[0]
                return
            heartbeat()
            self._closing.wait(0.05)

    @contextmanager
    def game(
        self,
        entrants: Sequence[str],
        session: str,
        *,
        was_handed_out: bool = False,
        heartbeat: Callable[[], None] = lambda: None,
    ) -> Iterator[None]:
        """Within it these bots play one game more; entering waits until each of them has room for it.

        ``was_handed_out``: somebody had the match before. If the game goes on already, its clocks do too, and nothing is waited
        for; but the worker that had it may have waited for room itself.
        """
        bots = [self.arena_name(entrant, session) for entrant in entrants]
        is_begun = was_handed_out and self._is_begun(session)
        if is_begun:
            self._capacity.take_anyway(session, bots)
        else:
            self._capacity.take(session, bots, heartbeat)
        try:
            if not is_begun:
                self._wait_for_remote([entrant for entrant in entrants if self._entries[entrant].remote], heartbeat)
            yield
        finally:
            self._capacity.give(session, bots)

    def _is_begun(self, session: str) -> bool:
        try:
            self._client.session(session)
        except ServiceError as error:
            if not error.is_passing and error.reason != "UNKNOWN_SESSION":
                raise
            return error.is_passing  # a service that is away may well have it
        return True

    def _wait_for_remote(self, entrants: Sequence[str], heartbeat: Callable[[], None]) -> None:
        """Bots that dial in by themselves play for other workers too: only the service knows whether they have room."""
        bots = [self.arena_name(entrant) for entrant in entrants]
        while bots and not self._closing.is_set() and not self._have_capacity(bots):
            heartbeat()
            self._closing.wait(_CAPACITY_POLL_S)

    def _have_capacity(self, bots: Sequence[str]) -> bool:
        try:
            connected = self._client.connected()
        except ServiceError as error:
            if not error.is_passing:
                raise
            return False  # it is away, and plays nothing
        here = [connected[bot] for bot in bots if bot in connected]
        return all(bot.games < bot.max_parallel_games for bot in here)

    def start(self, entrants: Sequence[str], session: str = "") -> None:
        """Start those that are not running; nobody is waited for."""
        for entrant in entrants:
            if not self._entries[entrant].remote:
                self._start(entrant, session)

    def _start(self, entrant: str, session: str) -> None:
        name = self.arena_name(entrant, session)
        with self._lock:
            if name in self._bots or self._closing.is_set():
                return
            entry = self._entries[entrant]
            folder = self._folder / file_name(entrant)
            scratch = folder / (name if entry.isolated else "scratch")  # the bot writes here, and its log lies outside
            scratch.mkdir(parents=True, exist_ok=True)
            env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}
            env["PATH"] = search_path()
            env |= {"TMPDIR": str(scratch), "XDG_CACHE_HOME": str(scratch), **entry.env}
            env["RUBBLE_ADDRESS"] = self._client.access.address
            env["RUBBLE_BOT_KEY"] = self._client.issue_key(name)
            env["RUBBLE_BOT_NAME"] = entrant
            if self._client.access.ca_file:
                env["RUBBLE_CA"] = self._client.access.ca_file
            if entry.bundled:
                env["OPENBLAS_NUM_THREADS"] = "1"
                env["RUBBLE_BOT_SEED"] = entry.seed  # every user of a machine can read the command lines on it
            cwd = Path(entry.cwd) if entry.cwd else Path.cwd()
            policy = None
            if self._is_confined:
                policy = SandboxPolicy.for_bot(scratch, env["RUBBLE_ADDRESS"], self._hidden, self._readable)
            bot = BotProcess(entrant, command_of(entry), env, cwd, folder / "output.log", self._limits, policy)
            self._bots[name] = bot
            bot.look_after()

    def stop_after_game(self, entrants: Sequence[str], session: str) -> None:
        """The game is over: those that play only one go, and what they left in their folders goes too."""
        for entrant in entrants:
            if self._entries[entrant].isolated:
                name = self.arena_name(entrant, session)
                self._away.pop(name, None)
                self._seen.pop(name, None)
                with self._lock:
                    bot = self._bots.pop(name, None)
                if bot is not None:
                    bot.end()
                    self._capacity.forget(name)
                    shutil.rmtree(self._folder / file_name(entrant) / name, ignore_errors=True)

    def _keep(self) -> None:
        while not self._closing.wait(_LOOK_S):
            for bot in list(self._bots.values()):
                bot.look_after()

    def close(self) -> None:
        """End all bots."""
        self._closing.set()
        with self._lock, ThreadPoolExecutor(max(1, len(self._bots))) as pool:
            list(pool.map(BotProcess.end, self._bots.values()))
