"""What a roster says, checked and with its defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from orchestrator.roster.facts import OptionValue
from orchestrator.schedule import Duplicate, Format, Plan, PlanInput, content_id, plan

#: What every reader of a reproducible run is told.
UNPROTECTED: Final = (
    "Reproducible and unprotected: every card of this run follows from the seed in its roster, "
    "so anybody who knows or guesses that number knows all cards."
)


#: More answers than one seat gives in a long game of those that are here (a test plays them).
LONG_GAME: Final = 200
#: What seating_ms = 0 means at the service.
_SEATING_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class TimeControl:
    """How long a seat may think, in milliseconds."""

    move_ms: int = 10_000
    bank_ms: int = 60_000
    increment_ms: int = 0
    seating_ms: int = _SEATING_MS

    @property
    def shortest_ms(self) -> int:
        """What one seat may take until its first answer without breaking any rule."""
        return (self.seating_ms or _SEATING_MS) + self.bank_ms + self.move_ms

    def longest_ms(self, players: int, answers: int | None = None) -> int:
        """What a game of this many answers in all, by default a long one, may take if every seat uses all the time it has."""
        answers = players * LONG_GAME if answers is None else answers
        return (self.seating_ms or _SEATING_MS) + players * self.bank_ms + answers * (self.move_ms + self.increment_ms)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a bot that we start may use, and how long a match may last."""

    #: None: without a limit.
    cpu_seconds: int | None = None
    #: Enough for a Java or Node bot with a large heap.
    memory_mb: int | None = 2048
    #: Processes and threads together. Runtimes start a thread or two a core, and gRPC some more.
    processes: int | None = 256
    files: int | None = 1024
    disk_mb: int | None = 512
    #: Files and folders that bots may read beside those that their commands name.
    readable: tuple[str, ...] = ()
    #: By default as long as its clocks allow, and at least this.
    match_seconds: int = 3_600
    #: Why bots run without a sandbox; None: they have one.
    unconfined: str | None = None


@dataclass(frozen=True, slots=True)
class Sequential:
    """When a comparison stops: the chances of either error, and the effects between which it decides."""

    alpha: float = 0.05
    beta: float = 0.05
    t0: float = 0.0
    t1: float = 0.2


@dataclass(frozen=True)
class Bot:
    """One bot of a roster: a command to start, one of ours, or one that dials in by itself."""

    name: str
    command: tuple[str, ...] = ()
    bundled: str = ""
    remote: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    #: Started anew for every game, so that nothing is remembered.
    isolated: bool = False
    challenger: bool = False
    #: A word of the author; another word is another version.
    version: str = ""

    @property
    def fingerprint(self) -> str:
        """A hash of what the roster says about the program. What the program's files hold is not in it."""
        env = dict(self.env)
        return content_id([list(self.command), self.bundled, self.remote, env, self.cwd, self.version])


@dataclass(frozen=True)
class Roster:
    """A tournament as its organiser wrote it, checked and with its defaults."""

    name: str
    game: str
    game_version: int
    options: Mapping[str, OptionValue]
    players: int
    format: Format
    #: For compare: the most blocks there can be.
    deals: int | None
    budget: int | None
    #: Joins the secret from which all cards follow; alone it decides them only in a reproducible run.
    seed: int | None
    time_control: TimeControl
    duplicate: Duplicate
    rotations: str
    trusted: bool
    limits: Limits
    #: Only for compare.
    sequential: Sequential | None
    bots: tuple[Bot, ...]
    #: The file as it was written.
    text: str = field(repr=False)
    #: The seed alone decides every card: the run can be repeated, and nothing in it is secret.
    reproducible: bool = False

    @property
    def challengers(self) -> frozenset[str]:
        return frozenset(bot.name for bot in self.bots if bot.challenger)

    @property
    def longest_s(self) -> int:
        """How long a match may last by its clocks, in seconds."""
        return -(-self.time_control.longest_ms(self.players) // 1000)

    @property
    def caution(self) -> str:
        """Where a match may reach its limit before its clocks run out: what that means. Empty where it may not."""
        if self.limits.match_seconds >= self.longest_s:
            return ""
        return (
            f"limits.match_seconds = {self.limits.match_seconds}, and the clocks allow a match {self.longest_s} s: "
            "one that reaches the limit is lost by the seat that used the most time. "
            f"match_seconds = {self.longest_s}, or shorter clocks, would rule that out."
        )

    @property
    def rules(self) -> str:
        """Game, version and options in words that change whenever results might."""
        return content_id([self.game, self.game_version, dict(self.options)])

    def plan(self, id_: str, secret: bytes, versions: Mapping[str, str] | None = None) -> Plan:
        """The schedule, or BadPlan. ``versions`` may know more about a bot than its fingerprint tells."""
        known = versions or {}
        return plan(
            PlanInput(
                id=id_,
                secret=secret,
                rules=self.rules,
                bots=tuple((bot.name, known.get(bot.name, bot.fingerprint)) for bot in self.bots),
                players=self.players,
                format=self.format,
                deals=self.deals,
                budget=self.budget,
                challengers=self.challengers,
                duplicate=self.duplicate,
                rotate=self.rotations == "all",
            )
        )
