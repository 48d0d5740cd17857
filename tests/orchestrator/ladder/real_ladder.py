"""A ladder in a real arena, its builds as real processes, and what an anonymous caller can check of it from outside."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from orchestrator.api.ladder_client import LadderClient
from rubble.v1 import ladder_pb2, tournament_pb2
from tests.harness.processes import PYTHON, Process, clean_env, logs
from tests.harness.tournaments import Host
from tests.harness.waiting import wait_for

#: An observer lists this many of the latest matches, at most once in this time.
_LISTED: Final = 150
_PAUSE_S: Final = 1.0
_OVER: Final = (tournament_pb2.MATCH_STATE_RECORDED, tournament_pb2.MATCH_STATE_DROPPED)

Command = Sequence[str | Path]


def bundled(player: str) -> Command:
    """The command of a bundled bot that is started by hand."""
    return (PYTHON, "-m", "bots.bundled", player, "--games", "12")


def own_bot(name: str, *arguments: str) -> Command:
    """The command of a bot in the folder ``bots`` beside this file."""
    return (PYTHON, "-m", f"{__package__}.bots.{name}", *arguments)


@dataclass
class Observer:
    """Compares what anybody is told of the latest matches with what the operator is told."""

    ladder: str
    anybody: LadderClient
    operator: LadderClient
    #: The owner of each build.
    owners: dict[str, str] = field(default_factory=dict)
    #: The rated games that had ended when each build was first seen in the state "active", and in a rated match.
    active: dict[str, int] = field(default_factory=dict)
    first_rated: dict[str, int] = field(default_factory=dict)
    #: How many matches of open blocks were listed without names.
    nameless: int = 0
    looks: int = 0
    _looked: float = -_PAUSE_S

    def look(self) -> bool:
        """Check the latest matches; False if that was done just now."""
        if time.monotonic() - self._looked < _PAUSE_S:
            return False
        games = self.anybody.ladder(self.ladder).season.games
        for build in self.anybody.builds(self.ladder):
            if build.state == ladder_pb2.BUILD_STATE_ACTIVE:
                self.active.setdefault(build.name, games)
        told = list(self.anybody.matches(self.ladder, 0, "", _LISTED))
        known = list(self.operator.matches(self.ladder, 0, "", _LISTED))  # afterwards: what is open now was open before
        self.check_nameless(told, {entry.match.block for entry in known if entry.match.state not in _OVER})
        for name in self.check_owners(known):
            self.first_rated.setdefault(name, games)
        self.looks += 1
        self._looked = time.monotonic()
        return True

    def check_nameless(self, told: Sequence[ladder_pb2.LadderMatch], open_blocks: set[int]) -> None:
        """Nobody is told who sits in a block that is not over."""
        for entry in told:
            if entry.match.block in open_blocks:
                assert not any(seat.entrant for seat in entry.match.seats), entry
                assert not entry.kind and not entry.rule, entry
                self.nameless += 1

    def waited(self, build: str) -> int:
        """The rated games that ended between the qualification of a build and its first rated table."""
        return max(0, self.first_rated[build] - self.active[build])

    def check_owners(self, known: Sequence[ladder_pb2.LadderMatch]) -> set[str]:
        """Two builds of one owner never sit in one rated block. Returns all that sit in one."""
        found: set[str] = set()
        for entry in known:
            if entry.kind == ladder_pb2.LADDER_MATCH_KIND_RATED:
                sitting = [seat.entrant for seat in entry.match.seats]
                owners = [self.owners[build] for build in sitting if build in self.owners]
                assert len(owners) == len(set(owners)), entry
                found.update(sitting)
        return found


class RealLadder:
    """``rubble up`` with one ladder. Use it in a with block."""

    def __init__(self, folder: Path, file: str, limit_s: float) -> None:
        """Everything must be seen within the limit."""
        self.folder = folder
        self._end = time.monotonic() + limit_s
        self._stack = ExitStack()
        self._file = file
        self._owners: dict[str, LadderClient] = {}
        self._keys: dict[str, ladder_pb2.BuildKey] = {}
        self.bots: dict[str, Process] = {}

    def __enter__(self) -> "RealLadder":
        self.host = Host(self.folder, "--concurrency", "12", ladder=True)
        self._stack.callback(self.host.stop)
        try:
            self.host.wait_until_up()
            self.operator = self._stack.enter_context(LadderClient(self.host.access()))
            self.anybody = self._stack.enter_context(LadderClient(self.host.access(is_operator=False)))
            for default in self.operator.ladders():  # it draws no more tables
                for state in (ladder_pb2.SEASON_STATE_CLOSING, ladder_pb2.SEASON_STATE_FINALS):
                    self.operator.move_season(default.name, state)
            self.name = self.operator.create(self._file).name
            self.observer = Observer(self.name, self.anybody, self.operator)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    # --------------------------------------------------------------------------------------------------------------- builds
    def enter(self, owner: str, build: str) -> None:
        """Enter a build of an owner, who signs up with its first one."""
        if owner not in self._owners:
            key = self.anybody.sign_up(self.name, owner, "").owner_key
            access = self.host.access(is_operator=False)
            self._owners[owner] = self._stack.enter_context(LadderClient(access, key))
        bot, label = build.split("/")
        entered = self._owners[owner].enter(self.name, bot, label, parent="", accepts_challenges=True)
        assert entered.build.name == build
        self._keys[build] = entered
        self.observer.owners[build] = owner

    def start(self, build: str, command: Command, settings: Mapping[str, str] = {}) -> None:
        """Start the process of a build with its key."""
        key = self._keys[build]
        env = {"RUBBLE_ADDRESS": key.address, "RUBBLE_BOT_KEY": key.bot_key} | dict(settings)
        log = self.folder / f"{build.replace('/', '-')}.log"
        process = Process(*command, log=log, env=clean_env(env))
        self._stack.callback(process.kill)
        self.bots[build] = process

    def enter_and_start(self, owner: str, build: str, command: Command) -> None:
        """Enter a build and start its process."""
        self.enter(owner, build)
        self.start(build, command)

    def key(self, build: str) -> str:
        """The key of a build."""
        return self._keys[build].bot_key

    # ------------------------------------------------------------------------------------------------------------ questions
    def builds(self) -> dict[str, ladder_pb2.Build]:
        """All builds by name."""
        return {build.name: build for build in self.anybody.builds(self.name)}

    def lines(self) -> dict[str, ladder_pb2.LadderLine]:
        """The lines of the table by build."""
        return {line.build: line for line in self.anybody.standings(self.name).lines}

    def events(self, kind: "ladder_pb2.LadderEventKind.ValueType", build: str = "") -> list[ladder_pb2.LadderEvent]:
        """The events of a kind, of one build if it is given; the earliest first."""
        found = [event for event in self.anybody.events(self.name, 1000) if event.kind == kind]
        return [event for event in reversed(found) if build in ("", event.build)]

    def season(self) -> ladder_pb2.Season:
        """The current season."""
        return self.anybody.ladder(self.name).season

    def rated(self) -> Iterator[ladder_pb2.LadderMatch]:
        """All rated matches of the season, as anybody sees them."""
        return (
            entry
            for entry in self.anybody.matches(self.name, 0, "", 1_000_000)
            if entry.kind == ladder_pb2.LADDER_MATCH_KIND_RATED
        )

    # -------------------------------------------------------------------------------------------------------------- waiting
    @property
    def left_s(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def until(self, conditions: Mapping[str, Callable[[], bool]]) -> None:
        """Observe the ladder until all conditions have held; one that has held is not asked again."""
        left = dict(conditions)

        def all_hold() -> bool:
            if not self.observer.look():
                return False
            for name in [name for name, condition in left.items() if condition()]:
                del left[name]
                print(f"{self.season().games:6} games: {name}", flush=True)
            return not left

        self.wait(all_hold, lambda: ", ".join(left))

    def wait(self, condition: Callable[[], bool], what: str | Callable[[], str]) -> None:
        """Wait for a condition; a failure tells the state of the ladder, and what its processes wrote."""

        def told() -> str:
            return f"{what if isinstance(what, str) else what()}\n{self.told()}{logs(self.folder)}"

        wait_for(condition, told, self.left_s)

    def told(self) -> str:
        """The state of the ladder, for the message of a failed test."""
        builds = [f"{build.name} {build.state} {build.games} {build.reason}" for build in self.builds().values()]
        flagged = [
            f"{pair.one} {pair.other} {pair.gain:.2f}" for pair in self.anybody.pairs(self.name, flagged=True).builds
        ]
        return "\n".join([str(self.season()), *builds, *flagged])
