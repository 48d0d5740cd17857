"""A whole season in a book, with real games: drawn by the matchmaker, won more often by the stronger bot."""

from collections.abc import Mapping
from dataclasses import astuple, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from orchestrator.book import Book, Match, Tournament
from orchestrator.book.tables import DONE, PLANNED, RUNNING
from orchestrator.ladder.draws import Draws
from orchestrator.ladder.extension import Field, FieldBuild, Past, block_matches, extend
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Kind, Ladder, Season
from orchestrator.ladder.names import arena_name
from orchestrator.ladder.season_documents import counted_entrants
from orchestrator.ladder.season_table import Entrant, finalists, season_table
from orchestrator.ladder.seasons import finals_id, finals_plan, finals_secret, season_id
from orchestrator.ladder.spec import BundledBuild, LadderSpec, Quotas
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder_export import BUILDS, archived_builds, builds_document
from orchestrator.planning import matches_of, rules_of
from orchestrator.ratings.verdict import Verdict
from orchestrator.referee import think_times
from orchestrator.roster import TimeControl
from orchestrator.schedule import redealt
from orchestrator.spec import Entry, Spec
from service.sessions.clock import TimeControl as Clocks
from service.sessions.replay import write_replay
from tests.sessions.scripted_sessions import ScriptedSession

GAME: Final = "sf1906-2e"
SECRET: Final = bytes(range(32))
SPEC: Final = LadderSpec(
    name="spring",
    game=GAME,
    players=2,
    time_control=TimeControl(),
    match_seconds=600,
    qualification_games=3,
    bundled=(BundledBuild("low", "random"), BundledBuild("middle", "random"), BundledBuild("high", "greedy")),
    finals_builds=3,
    finals_deals=1,
)
#: Every game of this many is played to its end; the others are adjudicated after a few moves.
WHOLE: Final = 16
#: Builds of four owners, the last one a new build of eve's, which is better than its parent.
BUILDS_OF: Final = (
    ("ada", "one", ""),
    ("bob", "one", ""),
    ("cleo", "one", ""),
    ("eve", "one", ""),
    ("eve", "two", "one"),
)
#: The entrants from the strongest to the weakest, and how often the stronger of two wins.
WEAKNESS: Final = {
    name: at
    for at, name in enumerate(("ada/one", "high", "bob/one", "eve/two", "middle", "cleo/one", "low", "eve/one"))
}
FAVOURITE: Final = 0.93


def season_spec(ladder: LadderSpec, bots: tuple[Entry, ...], format_: str) -> Spec:
    return Spec(
        game=ladder.game,
        game_version=ladder.game_version,
        options=dict(ladder.options),
        players=ladder.players,
        format=format_,
        reproducible=False,
        duplicate="table",
        time_control=ladder.time_control,
        match_seconds=ladder.match_seconds,
        entrants=tuple(bot.name for bot in bots),
        bots=bots,
        ladder=ladder.name,
    )


class SeasonInABook:
    """A book with one ladder, whose season can be played and closed."""

    def __init__(self, folder: Path) -> None:
        self.now = 1_000_000
        self.book = Book(f"sqlite:///{folder / 'book.sqlite'}", now_ms=lambda: self.now, steady_ms=lambda: self.now)
        self.past = Past()
        self.book.create_ladder(Ladder("spring", "the file", SPEC, self.now))
        bundled = tuple(Entry(name=bot.name, bundled=bot.bundled) for bot in SPEC.bundled)
        id_ = season_id("spring", 1, SECRET)
        self.season = Season(
            id_, "spring", 1, SeasonState.OPEN, SECRET, self.now, None, None, None, "", 0, 0, 0, 0, 0, 0
        )  # fmt: skip
        spec = season_spec(SPEC, bundled, "ladder")
        assert self.book.open_season(Tournament(id_, "spring.1", "", spec, RUNNING, 0, self.now), self.season)
        for owner, label, parent in BUILDS_OF:
            self.now += 1000
            if not parent:
                self.book.sign_up("spring", owner, Quotas(), is_new=True)
            verdict = Verdict.RUNNING.value if parent else ""
            id_ = arena_name("spring", owner, label)
            state, now = BuildState.ACTIVE, self.now
            build = Build(id_, "spring", owner, label, owner, parent, state, "", now, now, 0, True, 0, 0, verdict)
            self.book.enter_build(build, Quotas())
        self.spec = self.book.tournament(self.season.tournament).spec

    def refresh(self) -> Season:
        self.season = self.book.season_of(self.season.tournament)
        return self.season

    # -------------------------------------------------------------------------------------------------------- playing
    def challenge(self) -> None:
        """Add a table that is not rated."""
        season = self.refresh()
        table = DrawnTable(season.next_block, Kind.CHALLENGE, "", (3, 4), (), "", -1, season.next_block)
        self._play(None, [table], {table.block: 1})

    def qualify(self) -> None:
        """Let ada's build qualify twice: each time a table of two games, and one of one game."""
        for _ in range(2):
            block = self.refresh().next_block
            self.now += 1000
            tables = [DrawnTable(at, Kind.QUALIFICATION, "", (0, 3), (), "", -1, at) for at in (block, block + 1)]
            self._play(None, tables, {block: 2, block + 1: 1})

    def draw(self, *, with_trial: bool = False) -> None:
        """Draw a few tables and play them; the first match of each draw is void once."""
        season = self.refresh()
        field = Field(
            tuple(FieldBuild(number, 2, 0.0) for number in range(len(self.spec.entrants))),
            ((7, 6),) if with_trial else (),
            4,
        )
        owners = [None] * 3 + [owner for owner, _, _ in BUILDS_OF]
        tables = extend(field, owners, self.past, 2, SECRET, season.next_block, season.next_draw)
        self._play(field.to_json(), tables)

    def _play(
        self, field: bytes | None, tables: list[DrawnTable], games: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        season, rules = self.season, rules_of(self.spec)
        planned: list[Match] = []
        for table in tables:
            of_table = games.get(table.block)
            for match in block_matches(season.tournament, SECRET, rules, self.spec.entrants, table, of_table):
                order = season.next_order + len(planned)
                seeds = match.seeds.table, match.seeds.deck
                planned.append(
                    Match(match.id, season.tournament, order, table.block, match.seats, *seeds, PLANNED, 0, 0)
                )
        assert self.book.draw(season, field, tables, planned)
        self.book.release([planned[0].id])
        (first,) = self.book.hand_out(1, 1000, season.tournament)
        assert self.book.void(first, redealt(first.deck_seed, first.id, 1))
        for each in planned:
            self._record(each.id, self.spec)
        rated = sum(table.kind is Kind.RATED for table in tables)
        assert self.book.settle(season, tables, rated, 2 * rated, [])

    def _record(self, id_: str, spec: Spec) -> None:
        match = self.book.match(id_)
        assert match is not None
        replay, session = played(match, spec)
        think, decisions = think_times(replay, 2)
        outcome = session.session.outcome
        assert outcome is not None
        faults = tuple(seat.fault.value for seat in session.session.seats)
        scores = tuple(seat.score for seat in outcome.seats)
        result = match.result(outcome.ranks, scores, faults, think, outcome.ending, decisions)
        assert self.book.record_once(match, result)
        self.book.keep_replay(match, replay, has_seeds=True)

    # -------------------------------------------------------------------------------------------------------- the end
    def close(self, *, are_documents_kept: bool = True) -> Season:
        """Compute the final table, play the finals and close the season."""
        self.season = self.book.move_season(self.refresh(), SeasonState.CLOSING)
        self.season = self.book.move_season(self.season, SeasonState.FINALS)
        id_ = self.season.tournament
        by_name = {build.name: build for build in self.book.builds("spring")}
        builds = archived_builds(self.spec, by_name)
        entrants = [Entrant(build.name, build.owner) for build in builds]
        games = self.book.games_of(id_, self.book.over_blocks(id_))
        table, _ = season_table(entrants, counted_entrants(builds), games, 2, SECRET, is_final=True)
        if are_documents_kept:
            self.book.keep_document(id_, "final", table.blocks, table.to_json())
            self.book.keep_document(id_, BUILDS, table.blocks, builds_document(self.spec, by_name))
        field = finalists(table, entrants, SPEC.finals_builds)
        if len(field) >= SPEC.players:
            self._finals([self.spec.bots[entrant] for entrant in field])
        self.season = self.book.move_season(self.refresh(), SeasonState.CLOSED)
        return self.season

    def open_second(self) -> Season:
        """Open the next season; nothing is played in it."""
        id_ = season_id("spring", 2, SECRET)
        season = replace(
            self.season, tournament=id_, number=2, state=SeasonState.OPEN, opened_ms=self.now, closed_ms=None
        )
        spec = season_spec(SPEC, tuple(self.spec.bots), "ladder")
        assert self.book.open_season(Tournament(id_, "spring.2", "", spec, RUNNING, 0, self.now), season)
        return self.book.season_of(id_)

    def _finals(self, bots: list[Entry]) -> None:
        spec = season_spec(SPEC, tuple(bots), "round_robin")
        id_ = finals_id(self.season.tournament)
        versions = [(bot.name, bot.arena) for bot in bots]
        plan = finals_plan(id_, finals_secret(SECRET), rules_of(spec), versions, 2, SPEC.finals_deals)
        planned = list(matches_of(plan, spec.entrants))
        self.book.plan(Tournament(id_, "spring.1.finals", "", spec, RUNNING, 0, self.now), planned)
        assert self.book.set_finals(self.season, id_)
        for match in planned:
            self._record(match.id, spec)
        self.book.set_state(id_, DONE)


def played(match: Match, spec: Spec) -> tuple[str, ScriptedSession]:
    """A real game of this match, with its replay."""
    names = [spec.entrants[entrant] for entrant in match.seats]
    arenas = {entry.name: entry.arena or f"{match.tournament}.{entry.name}.0" for entry in spec.bots}
    session = ScriptedSession(
        spec.game,
        2,
        match.order,
        id=match.session,
        table_seed=match.table_seed,
        deck_seed=match.deck_seed,
        bots=tuple(arenas[name] for name in names),
        version=spec.game_version,
        time_control=Clocks(*astuple(spec.time_control)),
    )
    session.seat_all()
    session.play(4)
    draws = Draws(b"who loses", match.id)
    weaker = max(range(2), key=lambda seat: WEAKNESS[names[seat]])
    loser = weaker if draws.unit() < FAVOURITE else 1 - weaker
    if match.order % WHOLE:
        session.adjudicate(*(2 if seat == loser else 1 for seat in range(2)))
    else:
        if match.order % (2 * WHOLE):
            session.resign(loser)
        session.finish()
    return write_replay(session.session, session.entries), session
