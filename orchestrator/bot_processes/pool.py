"""The bot pool: all bots of one tournament that run in this worker.

A bot's arena name is ``tournament.entrant.slot``. Each worker has its own slot, so that two copies of a bot never take each
other's stream. A worker that takes over the slot of a dead worker restarts its bots under the same names, and their games
go on.
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
from orchestrator.entrants import ISOLATED_NAME_PART, arena_key, file_name, remote_name
from orchestrator.roster import Limits
from orchestrator.spec import Entry

_LOG: Final = logging.getLogger(__name__)
_LOOK_S: Final = 0.2
START_S: Final = 30.0
#: A connected bot is not checked again within this time, in seconds: many matches begin per second.
_SEEN_S: Final = 1.0
#: The time between two checks whether a bot that also plays for other workers has capacity.
_CAPACITY_POLL_S: Final = 1.0
#: The defaults, also for tournaments that were planned before there were any.
_DEFAULT_LIMITS: Final = {
    name: value for name, value in asdict(Limits()).items() if value is not None and name != "match_seconds"
}


class BotCannotStart(Exception):
    """A bot did not connect; the message includes the bot's own output."""

    def __init__(self, name: str, why: str, words: str) -> None:
        super().__init__(f"bot {name!r} {why}" + (f"; it said:\n{words}" if words else "; it said nothing"))
        self.name = name
        self.why = why
        self.words = words


def command_of(entry: Entry) -> list[str]:
    """The command that starts the bot."""
    if not entry.bundled:
        return list(entry.command)
    # -P: a bundled bot loads our modules, not those in the working directory.
    thinking = [] if entry.simulations is None else ["--simulations", str(entry.simulations)]
    return [sys.executable, "-P", "-m", "bots.bundled", entry.bundled, *thinking]


def search_path() -> str:
    """Where the program of a command is looked up. "python3" in a roster means the Python that runs us."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def unconfined(limits: Mapping[str, Any], address: str) -> tuple[str, ...]:
    """What bots could do here although they should not, as sentences for the log and for readers of the table."""
    if reason := limits.get("unconfined"):
        return (f"Bots run without a sandbox, as the roster asks: {reason}",)
    lacking = missing(SandboxPolicy.for_bot(Path.cwd(), address))
    return tuple(f"The sandbox lacks a protection: {words}" for words in lacking)


def protections(limits: Mapping[str, Any], address: str) -> str:
    """What protects this machine from the bots of a tournament, as text; empty if the roster turns it off."""
    if limits.get("unconfined"):
        return ""
    return in_force(SandboxPolicy.for_bot(Path.cwd(), address), {**_DEFAULT_LIMITS, **limits})


@cache
def _log_once(words: str, level: int = logging.WARNING) -> None:
    _LOG.log(level, "%s", words)


class BotPool:
    """The bots of one tournament as processes. Call ``wait_until_ready`` before a match; ``close`` ends them all."""

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
        """``limits`` come from the roster; ``unconfined``, a reason, turns the sandbox off. ``hidden`` lists files and folders that
        bots may not read; they can never read each other's folders."""
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
            _log_once(words)
        if words := protections(limits, client.access.address):
            _log_once(words, logging.INFO)
        self._bots: dict[str, BotProcess] = {}
        #: Since when a bot has been missing, by arena name. Connected bots are not listed.
        self._away: dict[str, float] = {}
        #: When a bot was last seen connected, by arena name.
        self._seen: dict[str, float] = {}
        self._capacity = Capacity()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True, name=f"bot-pool-{tournament}")
        self._keeper.start()

    def learn(self, entries: Sequence[Entry]) -> None:
        """Add the entrants that a ladder has got since this pool was made."""
        self._entries = {entry.name: entry for entry in entries}

    def arena_name(self, entrant: str, session: str = "") -> str:
        """The bot's arena name. A remote bot has one key, and so one name, wherever it runs; an isolated bot has one name per
        session."""
        key = arena_key(entrant)
        entry = self._entries[entrant]
        if entry.remote:
            return remote_name(self._tournament, entry)
        if entry.isolated:
            game = blake2b(f"{key}/{self._slot}/{session}".encode(), digest_size=8).hexdigest()
            return f"{self._tournament}.{key[:ISOLATED_NAME_PART]}.{game}"
        return f"{self._tournament}.{key}.{self._slot}"

    def wait_until_ready(
        self,
        entrants: Sequence[str],
        session: str = "",
        *,
        timeout_s: float = START_S,
        heartbeat: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait until all of these bots are connected, calling ``heartbeat``. Raises BotCannotStart if one is not in time.

        The time counts from when a bot was first missing, not again for every match: a bot that never connects delays one match,
        and can still be seated in later ones. Builds of a ladder are not waited for: their seating time begins at once.
        """
        entrants = [entrant for entrant in entrants if not self._entries[entrant].arena]
        self.start(entrants, session)
        now = time.monotonic()
        names = [self.arena_name(entrant, session) for entrant in entrants]
        if all(now - self._seen.get(name, -_SEEN_S) < _SEEN_S for name in names):
            return  # a check now would not help against a bot that leaves just after it
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
            if len(gone) == len(missing):  # the others are connected
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
        """A context in which these bots play one more game; entering it waits until each has capacity.

        ``was_handed_out``: another worker had the match before. If the game has begun, its clocks run and nothing is waited for;
        but that worker may have been waiting for capacity too.
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
            return error.is_passing  # an unavailable service may have it
        return True

    def _wait_for_remote(self, entrants: Sequence[str], heartbeat: Callable[[], None]) -> None:
        """Wait for remote bots, which also play for other workers: only the service knows whether they have capacity."""
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
            return False  # it is not connected
        here = [connected[bot] for bot in bots if bot in connected]
        return all(bot.games < bot.max_parallel_games for bot in here)

    def start(self, entrants: Sequence[str], session: str = "") -> None:
        """Start the bots that are not running, without waiting for them."""
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
            scratch = folder / (name if entry.isolated else "scratch")  # the bot writes here; its log is outside
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
                env["RUBBLE_BOT_SEED"] = entry.seed  # not in the command line, which every user of the machine can read
            cwd = Path(entry.cwd) if entry.cwd else Path.cwd()
            policy = None
            if self._is_confined:
                policy = SandboxPolicy.for_bot(scratch, env["RUBBLE_ADDRESS"], self._hidden, self._readable)
            bot = BotProcess(entrant, command_of(entry), env, cwd, folder / "output.log", self._limits, policy)
            self._bots[name] = bot
            bot.look_after()

    def stop_after_game(self, entrants: Sequence[str], session: str) -> None:
        """Stop the bots that play only one game, and delete their folders."""
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
