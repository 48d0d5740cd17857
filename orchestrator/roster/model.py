"""The contents of a roster, checked and with defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from orchestrator.roster.facts import OptionValue
from orchestrator.schedule import Duplicate, Format, Plan, PlanInput, content_id, plan

#: The note for readers of a reproducible run.
UNPROTECTED: Final = (
    "Reproducible and unprotected: every card of this run is derived from the seed in its roster, "
    "so anyone who knows or guesses this number knows all cards."
)


#: More answers than one seat gives in a long game of the bundled games (a test plays them).
LONG_GAME: Final = 200
#: The service's default for seating_ms = 0.
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
        """How long one seat may take until its first answer without breaking a rule."""
        return (self.seating_ms or _SEATING_MS) + self.bank_ms + self.move_ms

    def longest_ms(self, players: int, answers: int | None = None) -> int:
        """How long a game with this number of answers, by default a long game, takes if every seat uses all its time."""
        answers = players * LONG_GAME if answers is None else answers
        return (self.seating_ms or _SEATING_MS) + players * self.bank_ms + answers * (self.move_ms + self.increment_ms)

    def longest_s(self, players: int) -> int:
        """The longest time that the clocks allow for a match, in seconds."""
        return -(-self.longest_ms(players) // 1000)

    def caution(self, players: int, match_seconds: int, key: str = "match_seconds") -> str:
        """A warning if a match can reach its time limit before its clocks run out; else empty. ``key`` has the limit."""
        longest = self.longest_s(players)
        if match_seconds >= longest:
            return ""
        return (
            f"{key} = {match_seconds}, but the clocks allow {longest} s: "
            "a match that reaches the limit is lost by the seat that used the most time. "
            f"match_seconds = {longest}, or shorter clocks, would avoid that."
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """What a local bot may use, and how long a match may last."""

    #: None: no limit.
    cpu_seconds: int | None = None
    #: Enough for a Java or Node bot with a large heap.
    memory_mb: int | None = 2048
    #: Processes and threads together. Runtimes start one or two threads per core, and gRPC some more.
    processes: int | None = 256
    files: int | None = 1024
    disk_mb: int | None = 512
    #: Files and folders that bots may read in addition to those that their commands name.
    readable: tuple[str, ...] = ()
    #: By default as long as the clocks allow, and at least this.
    match_seconds: int = 3_600
    #: Why bots run without a sandbox; None: they have one.
    unconfined: str | None = None


@dataclass(frozen=True, slots=True)
class Sequential:
    """When a comparison stops: the probabilities of both errors, and the effects between which it decides."""

    alpha: float = 0.05
    beta: float = 0.05
    t0: float = 0.0
    t1: float = 0.2


@dataclass(frozen=True)
class Bot:
    """One bot of a roster: a command to start, a bundled bot, or a remote bot that connects by itself."""

    name: str
    command: tuple[str, ...] = ()
    bundled: str = ""
    remote: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    #: Restarted for every game, so that it remembers nothing.
    isolated: bool = False
    challenger: bool = False
    #: The author's version; another text is another version.
    version: str = ""

    @property
    def fingerprint(self) -> str:
        """A hash of what the roster says about the program, without the contents of the program's files."""
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
    #: For compare: the largest number of blocks.
    deals: int | None
    budget: int | None
    #: Added to the secret from which all cards are derived; only in a reproducible run it decides them alone.
    seed: int | None
    time_control: TimeControl
    duplicate: Duplicate
    rotations: str
    trusted: bool
    limits: Limits
    #: Only for compare.
    sequential: Sequential | None
    bots: tuple[Bot, ...]
    #: The text of the file.
    text: str = field(repr=False)
    #: The seed alone decides every card: the run can be repeated, and its cards are not secret.
    reproducible: bool = False

    @property
    def challengers(self) -> frozenset[str]:
        return frozenset(bot.name for bot in self.bots if bot.challenger)

    @property
    def longest_s(self) -> int:
        """The longest time that the clocks allow for a match, in seconds."""
        return self.time_control.longest_s(self.players)

    @property
    def caution(self) -> str:
        """A warning if a match can reach its time limit before its clocks run out; else empty."""
        return self.time_control.caution(self.players, self.limits.match_seconds, "limits.match_seconds")

    @property
    def rules(self) -> str:
        """Game, version and options as text that changes whenever results might."""
        return content_id([self.game, self.game_version, dict(self.options)])

    def plan(self, id_: str, secret: bytes, versions: Mapping[str, str] | None = None) -> Plan:
        """Make the schedule; ``versions`` may replace the fingerprints of bots. Raises BadPlan if it is not possible."""
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
