"""A ladder whose ticks the test runs: a real book on the clock of the test, and a service that only says who is connected."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from orchestrator.book import Book, Match
from orchestrator.book.ladder_reading import OpenMatch
from orchestrator.book.tables import RECORDED
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Kind, Ladder, Season
from orchestrator.ladder_seasons import new_season
from orchestrator.ladder_upkeep import LadderUpkeep
from rubble.v1 import session_pb2
from rubble.v1.bot_pb2 import ConnectedBot
from tests.harness.books import Clock
from tests.orchestrator.ladder import small_ladder

#: The names of the bundled bots of ``small_ladder``.
BUNDLED = {"bundled-0", "bundled-1", "bundled-2"}


class Arena(ArenaClient):
    """Stands in for the service."""

    def __init__(self) -> None:
        self.bots: dict[str, ConnectedBot] = {}
        self.is_away = False
        #: Sessions whose seeds were published.
        self.revealed: list[str] = []

    def connected(self) -> dict[str, ConnectedBot]:
        self._answer()
        return dict(self.bots)

    def reveal(self, session: str) -> session_pb2.RevealSeedsResponse:
        self._answer()
        self.revealed.append(session)
        return session_pb2.RevealSeedsResponse()

    def replay(self, session: str) -> str:
        self._answer()
        return "{}\n"

    def forget(self, session: str) -> None:
        self._answer()

    def _answer(self) -> None:
        if self.is_away:
            raise ServiceError("UNAVAILABLE", "nobody answers", is_passing=True)


@dataclass
class Ticking:
    """One ladder, called cup, in a book of its own."""

    folder: Path
    clock: Clock
    arena: Arena
    window: int
    book: Book = field(init=False)
    upkeep: LadderUpkeep = field(init=False)

    def __post_init__(self) -> None:
        self.open(Book(self.url, self.clock))

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'book.sqlite'}"

    def open(self, book: Book) -> None:
        """Go on with this book, as a new process."""
        self.book = book
        self.upkeep = self.another(book)

    def another(self, book: Book) -> LadderUpkeep:
        """What another control process has."""
        return LadderUpkeep(book, self.arena, self.window, self.clock, self.clock)

    def copy(self, folder: Path) -> "Ticking":
        """The same ladder at this moment, in a book of its own."""
        folder.mkdir()
        self.book.close()  # the last connection writes everything into the file
        shutil.copy(self.folder / "book.sqlite", folder / "book.sqlite")
        clock = Clock()
        clock.ms = self.clock.ms
        arena = Arena()
        arena.bots = dict(self.arena.bots)
        return Ticking(folder, clock, arena, self.window)

    # ------------------------------------------------------------------------------------------------------- what happens
    def tick(self, after_ms: int = 0) -> bool:
        """Run a tick, this much later."""
        self.clock.ms += after_ms
        return self.upkeep.look_after_all()

    def enter(
        self, name: str, owner: str, state: BuildState = BuildState.ACTIVE, *, parent: str = "", games: int = 4
    ) -> Build:
        """A build in this state that is connected; ``games``: it plays as many at once, 0: it is not connected."""
        if self.book.owner(owner) is None:
            self.book.sign_up("cup", owner, small_ladder.MANY, is_new=True)
        self.clock.ms += 1  # builds are in the order of their entry
        build = small_ladder.enter(self.book, small_ladder.a_build(self.clock.ms, name, owner, parent), state)
        if games:
            self.connect(name, games)
        return build

    def connect(self, name: str, games: int = 4) -> None:
        """The build connects now."""
        id_ = self.build(name).id
        self.arena.bots[id_] = ConnectedBot(bot=id_, max_parallel_games=games, since_ms=self.clock.ms)

    def leave(self, name: str) -> None:
        """The build is not connected any more."""
        del self.arena.bots[self.build(name).id]

    def play(
        self,
        faults: Mapping[str, str] = {},
        *,
        of: Sequence[Match] | None = None,
        has_seeds: bool = True,
    ) -> list[Match]:
        """Play the matches that may begin, or these; the entrant with the lowest number wins. ``faults`` are by name."""
        played = self.released() if of is None else list(of)
        for match in played:
            ranks = tuple(1 + sorted(match.seats).index(entrant) for entrant in match.seats)
            causes = tuple(faults.get(name, "") for name in self.names(match.seats))
            assert self.book.record_once(match, match.result(ranks, ranks, causes, ranks, "over", 30), "{}\n")
            if has_seeds:
                self.book.keep_replay(match, "{}\n", has_seeds=True)
        return played

    # ------------------------------------------------------------------------------------------------------ what is there
    @property
    def season(self) -> Season:
        return self.book.season("cup")

    def season_state(self) -> str:
        return self.season.state.value

    def build(self, name: str) -> Build:
        return self.book.build("cup", name)

    def state(self, name: str) -> str:
        return self.build(name).state.value

    def names(self, entrants: Sequence[int]) -> list[str]:
        known = self.book.tournament(self.season.tournament).spec.entrants
        return [known[entrant] for entrant in entrants]

    def tables(self, kind: Kind | None = None, *, is_open: bool | None = None) -> list[DrawnTable]:
        return self.book.tables(self.season.tournament, kind=kind, is_open=is_open)

    def open_matches(self) -> list[OpenMatch]:
        return self.book.open_matches(self.season.tournament)

    def released(self) -> list[Match]:
        return [match for one in self.open_matches() if not one.is_held and (match := self.book.match(one.id))]

    def events(self) -> list[str]:
        """What was told, the earliest first."""
        return [event.words for event in reversed(self.book.events("cup"))]

    def outcome(self) -> dict[str, Any]:
        """Everything that ticks decide, to be compared."""
        season = self.season
        matches = [match for match, _ in self.book.matches(season.tournament, limit=10_000)]
        held = {match.id: match.is_held for match in self.open_matches()}
        finals = [self.book.tournament(season.finals)] if season.finals else []
        return {
            "season": season,
            "builds": self.book.builds("cup"),
            "tables": self.tables(),
            "matches": [(match.id, match.state, held.get(match.id)) for match in matches],
            "draws": self.book.draws(season.tournament),
            "events": self.events(),
            "finals": [(one.id, one.state, one.planned, one.spec) for one in finals],
        }

    def recorded(self, kind: Kind) -> int:
        """The games of a kind that were played."""
        blocks = {table.block for table in self.tables(kind)}
        return sum(
            match.state == RECORDED and match.block in blocks
            for match, _ in self.book.matches(self.season.tournament, limit=10_000)
        )


def ticking(folder: Path, window: int = 8, **changes: Any) -> Ticking:
    """A ladder for two seats with three bundled bots and no builds; ``changes`` are those of its specification."""
    made = Ticking(folder, Clock(), Arena(), window)
    made.clock.ms = 1_000_000_000
    plain = small_ladder.ladder_of(made.clock.ms)
    ladder = Ladder(plain.name, plain.file, msgspec.structs.replace(plain.spec, **changes), plain.created_ms)
    made.book.create_ladder(ladder, new_season(ladder, 1))
    return made
