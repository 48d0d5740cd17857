"""Maintains ladders, once per tick: settles blocks, admits builds, draws tables and lets matches begin.

The book decides: two control processes may do this at once, and a killed one leaves nothing half done.
"""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Final

import msgspec

from orchestrator import metrics
from orchestrator.archive import Archive
from orchestrator.book import Book
from orchestrator.book.ladder_reading import OpenMatch
from orchestrator.client import ArenaClient, ServiceError
from orchestrator.ladder.conduct import BuildChange, after_block, changed, may_try, running_trials
from orchestrator.ladder.draws import Draws
from orchestrator.ladder.extension import Field, FieldBuild, Past, extend, rounded
from orchestrator.ladder.matchmaking import BUNDLED_ALONE, BUNDLED_PAUSE_MS
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Kind, Season
from orchestrator.ladder.season_table import TableDocument
from orchestrator.ladder.states import BadMove, SeasonState
from orchestrator.ladder_seasons import SeasonEnd, planned_matches
from orchestrator.ratings.davidson_luce import ELO
from orchestrator.spec import Spec
from rubble.v1.bot_pb2 import ConnectedBot

_LOG: Final = logging.getLogger(__name__)
#: How often it is written down that a build is connected.
_SEEN_MS: Final = 60_000
#: A build that has been gone for this long does not take its seat: its matches begin without it.
_GONE_MS: Final = 30_000
#: A match that has waited this long for its bots comes before later ones.
_PATIENT_MS: Final = 20_000
#: Blocks that a bundled bot, and any other build, plays at once. Few, so that tables are drawn with recent strengths.
_BUNDLED_BLOCKS: Final = 64
_MOST_BLOCKS: Final = 4
#: A share of the places of all builds stays free, so that a build whose block has ended meets others than bundled bots. A build
#: without any table waits for others at most this long, in milliseconds.
_FREE_SHARE: Final = 0.25
_ALONE_MS: Final = 5_000

Connected = Mapping[str, ConnectedBot]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _steady_ms() -> int:
    return time.monotonic_ns() // 1_000_000


@dataclass
class SeasonNow:
    """A season as one tick sees it."""

    season: Season
    spec: Spec
    #: By name.
    builds: dict[str, Build]
    #: The tables that are not over, by block, and their unfinished matches.
    tables: dict[int, DrawnTable]
    matches: list[OpenMatch]
    now_ms: int

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each entrant, by name."""
        return {name: number for number, name in enumerate(self.spec.entrants)}

    def build(self, entrant: int) -> Build | None:
        """The build of an entrant; None for a bundled bot."""
        return self.builds.get(self.spec.entrants[entrant])

    @property
    def bundled(self) -> list[int]:
        return [number for number, entry in enumerate(self.spec.bots) if entry.bundled]

    @cached_property
    def owners(self) -> list[str | None]:
        """The owner of each entrant; None for bundled bots."""
        return [None if entry.bundled else self.builds[entry.name].owner for entry in self.spec.bots]

    def sits(self, entrant: int, *kinds: Kind) -> bool:
        """Whether an entrant has an open table of these kinds."""
        return any(entrant in table.seats for table in self.tables.values() if table.kind in kinds)


@dataclass
class _Known:
    """What a season's draws so far mean for the next one."""

    #: The tables before this block are in ``past``.
    up_to: int = 0
    past: Past = field(default_factory=Past)
    #: The withdrawn blocks that a draw has named.
    told: set[int] = field(default_factory=set)


class LadderUpkeep:
    """Remembers who was there, and the tables so far of each season."""

    def __init__(
        self,
        book: Book,
        client: ArenaClient,
        window: int,
        now_ms: Callable[[], int] = _now_ms,
        steady_ms: Callable[[], int] = _steady_ms,
    ) -> None:
        """``window``: about this many matches of a ladder are open at a time. The clocks are those of the book."""
        self._book = book
        self._client = client
        self._archive = Archive(book, client)
        self._end = SeasonEnd(book, self._archive, now_ms)
        self._window = window
        self._now_ms = now_ms
        self._steady_ms = steady_ms
        #: By season.
        self._known: dict[str, _Known] = {}
        #: When each build was last connected, on the steady clock, by arena name.
        self._here: dict[str, int] = {}

    def look_after_all(self) -> bool:
        """Maintain all ladders whose season is not closed; True if there are results that are not in a table yet."""
        seasons = self._book.live_seasons()
        for gone in self._known.keys() - {season.tournament for season in seasons}:
            del self._known[gone]
        if not seasons:
            return False
        with metrics.LADDER_TICK_SECONDS.time():
            try:
                connected: Connected | None = self._client.connected()
            except ServiceError as error:
                _LOG.warning("ladders draw no tables: %s", error)
                connected = None
            is_stale = False
            failures: list[Exception] = []
            for season in seasons:
                try:
                    is_stale |= self._look_after(season, connected)
                except Exception as error:
                    _LOG.error("the ladder %s cannot be maintained: %s", season.ladder, type(error).__name__)
                    failures.append(error)
        if failures:
            raise failures[0]  # after the others: a ladder that fails in every tick stops no other one
        return is_stale

    def _look_after(self, season: Season, connected: Connected | None) -> bool:
        season = self._move_by_date(season)
        if season.state is SeasonState.CLOSED:
            return False  # another process was faster
        if season.state is SeasonState.FINALS:
            self._book.drop_planned(season.tournament)
        now = self._read(season)
        if not self._settle(now):
            return True  # another process settles: its states are read in the next tick
        if connected is not None:
            self._see(now, connected)
            if season.state is not SeasonState.FINALS:
                self._admit(now, connected)
                self._extend(now, connected)
            self._release(now, connected)
        if season.state is SeasonState.FINALS and not now.tables:
            return self._end.look_after(now.season, now.spec)
        return now.season.blocks > self._book.fitted_blocks(season.tournament)

    def _move_by_date(self, season: Season) -> Season:
        """Move a season on whose date has come."""
        planned = {
            SeasonState.OPEN: (season.closing_ms or season.finals_ms, SeasonState.CLOSING),
            SeasonState.CLOSING: (season.finals_ms, SeasonState.FINALS),
        }
        moment, to = planned.get(season.state, (None, season.state))
        if moment is None or self._now_ms() < moment:
            return season
        try:
            return self._book.move_season(season, to)
        except BadMove:
            return self._book.season_of(season.tournament)  # another process was faster

    def _read(self, season: Season) -> SeasonNow:
        tables = self._book.tables(season.tournament, is_open=True, with_candidates=False)
        return SeasonNow(
            season=season,
            spec=self._book.tournament(season.tournament).spec,
            builds={build.name: build for build in self._book.builds(season.ladder)},
            tables={table.block: table for table in tables},
            matches=self._book.open_matches(season.tournament),
            now_ms=self._now_ms(),
        )

    # ------------------------------------------------------------------------------------------------------ ended blocks
    def _settle(self, now: SeasonNow) -> bool:
        """Close the tables whose matches are all over, and draw the consequences for their builds.

        Returns False if another process has written meanwhile.
        """
        going_on = {match.block for match in now.matches}
        # The two tables of a trial have the same opponents and opening cards: the names of both are told when both are over.
        deals = {table.deal for block, table in now.tables.items() if block in going_on}
        ended = [table for table in now.tables.values() if table.deal not in deals]
        if not ended:
            return True
        id_ = now.season.tournament
        # A worker adds the seeds at the end of a block, unless it was killed just then or the block is one of a trial.
        lacking = self._book.unfinished(id_, [table.block for table in ended])
        unkept = {
            table.deal for table in ended if table.block in lacking and not self._archive.keep_block(id_, table.block)
        }
        ended = [table for table in ended if table.deal not in unkept]
        games = self._book.games_of(id_, [table.block for table in ended])
        changes: dict[str, BuildChange] = {}
        for table in sorted(ended, key=lambda table: table.block):
            del now.tables[table.block]
            of_block = [game for game in games if game.block == table.block]
            has_fault = any(any(game.faults) for game in of_block)
            block = self._book.block(id_, table.block) if has_fault else ()
            names = {match.order: match.id for match in block}
            for entrant in table.seats:
                build = now.build(entrant)
                if build is None or not (of_block or build.reason):
                    continue  # matches that were dropped show nothing, but a fault before them counts
                faults = [game.faults[game.seats.index(entrant)] for game in of_block]
                at = [names[game.order] for game, fault in zip(of_block, faults, strict=True) if fault]
                is_last = not (table.kind is Kind.QUALIFICATION and now.sits(entrant, Kind.QUALIFICATION))
                change = after_block(
                    build,
                    table.kind,
                    faults,
                    now.now_ms,
                    is_last=is_last,
                    drawn_ms=table.drawn_ms,
                    game=at[-1] if at else "",
                )
                if change is not None:
                    now.builds[build.name] = change.build
                    earlier = changes.get(build.name)
                    event = change.event or (earlier.event if earlier else None)
                    changes[build.name] = replace(change, event=event)
        rated = {table.block for table in ended if table.kind is Kind.RATED}
        counted = [game for game in games if game.block in rated]
        blocks = len({game.block for game in counted})
        if not ended:
            return True
        if not self._book.settle(now.season, ended, blocks, len(counted), changes.values()):
            return False
        now.season = replace(now.season, blocks=now.season.blocks + blocks, games=now.season.games + len(counted))
        return True

    # ---------------------------------------------------------------------------------------------------------- presence
    def _see(self, now: SeasonNow, connected: Connected) -> None:
        here = [build for build in now.builds.values() if build.id in connected]
        self._here |= dict.fromkeys((build.id for build in here), self._steady_ms())
        stale = [build.id for build in here if now.now_ms - build.seen_ms >= _SEEN_MS]
        if stale:
            self._book.saw(stale, now.now_ms)

    def _admit(self, now: SeasonNow, connected: Connected) -> None:
        """Begin the qualification of builds that have connected, and the return of parked ones."""
        states = {Kind.QUALIFICATION: BuildState.QUALIFYING, Kind.RETURN: BuildState.RETURNING}
        begun: list[BuildChange] = []
        wanted: list[tuple[int, Kind]] = []
        for build in now.builds.values():
            entrant = now.numbers.get(build.name)
            kind = Kind.RETURN if build.state in (BuildState.PARKED, BuildState.RETURNING) else Kind.QUALIFICATION
            if entrant is None or build.state in (BuildState.ACTIVE, BuildState.RETIRED):
                continue
            bot = connected.get(build.id)
            if build.state is states[kind]:
                if bot is not None and not now.sits(entrant, kind):
                    wanted.append((entrant, kind))  # its tables were dropped with the season before
                continue
            if now.sits(entrant, kind):  # its table was written, and then this process was killed
                begun.append(BuildChange(changed(build, states[kind], now.now_ms)))
            elif bot is not None and may_try(build, bot.since_ms, now.now_ms):
                wanted.append((entrant, kind))
                begun.append(BuildChange(changed(build, states[kind], now.now_ms)))
        if wanted and not self._draw(now, None, *self._unrated(now, wanted)):
            return
        if begun:
            self._book.change_builds(now.season.ladder, begun)
            now.builds |= {change.build.name: change.build for change in begun}

    def _unrated(self, now: SeasonNow, wanted: Sequence[tuple[int, Kind]]) -> tuple[list[DrawnTable], dict[int, int]]:
        """Tables of these builds against bundled bots, and the number of games of each by its block."""
        tables: list[DrawnTable] = []
        games: dict[int, int] = {}
        for entrant, kind in wanted:
            left = self._book.ladder(now.season.ladder).spec.qualification_games if kind is Kind.QUALIFICATION else 1
            while left > 0:
                block = now.season.next_block + len(tables)
                draws = Draws(now.season.secret, f"block {block}")
                opponents = draws.shuffled(now.bundled)[: now.spec.players - 1]
                seats = tuple(draws.shuffled([entrant, *opponents]))
                tables.append(DrawnTable(block, kind, "", seats, tuple(now.bundled), draws.name, -1, block))
                games[block] = min(left, now.spec.players)
                left -= games[block]
        return tables, games

    # ------------------------------------------------------------------------------------------------------------ tables
    def _extend(self, now: SeasonNow, connected: Connected) -> None:
        """Draw rated tables until the window is full or nobody is free."""
        drawn_from = self._field(now, connected)
        if drawn_from.tables <= 0:
            return
        id_ = now.season.tournament
        known = self._known.pop(id_, None) or _Known()
        drawn = self._book.tables(id_, since_block=known.up_to, kind=Kind.RATED, with_candidates=False)
        known.past.add(drawn)
        season = now.season
        withdrawn = self._book.withdrawn(id_) - known.told
        drawn_from = msgspec.structs.replace(drawn_from, withdrawn=tuple(sorted(withdrawn)))
        tables = extend(
            drawn_from, now.owners, known.past, now.spec.players, season.secret, season.next_block, season.next_draw
        )
        if not tables:  # nothing is written, so the next draw has to name the withdrawn blocks again
            known.up_to = drawn[-1].block + 1 if drawn else known.up_to
        elif self._draw(now, drawn_from.to_json(), tables):
            known.up_to = now.season.next_block
            known.told |= withdrawn
        else:
            return
        self._known[id_] = known

    def _field(self, now: SeasonNow, connected: Connected) -> Field:
        """Everybody who can be drawn now."""
        players = now.spec.players
        playing = Counter(chain.from_iterable(table.seats for table in now.tables.values()))
        strengths = self._strengths(now.season)
        here: dict[int, int] = {}
        builds = []
        for entrant, name in enumerate(now.spec.entrants):
            build = now.builds.get(name)
            if build is None:
                places = _BUNDLED_BLOCKS
            elif build.state is BuildState.ACTIVE and build.id in connected:
                places = min(_MOST_BLOCKS, math.ceil(connected[build.id].max_parallel_games / players))
            else:
                continue
            here[entrant] = places
            if places > playing[entrant]:
                builds.append(FieldBuild(entrant, places - playing[entrant], strengths.get(entrant, 0.0)))
        trials = [
            (now.numbers[new.name], now.numbers[parent.name])
            for new, parent in running_trials(list(now.builds.values()))
            if new.name in now.numbers and parent.name in now.numbers
        ]
        trials = [
            (new, parent)
            for new, parent in trials
            if {new, parent} <= here.keys() and not any(table.trial == new for table in now.tables.values())
        ]
        tables = max(1, self._window // players) - len(now.tables)
        tables = min(tables, self._well_mixed(now, here, playing))
        if all(now.build(build.number) is None for build in builds):
            tables = 0 if now.tables else 1
            if now.season.blocks >= BUNDLED_ALONE and now.now_ms - now.season.drawn_ms < BUNDLED_PAUSE_MS:
                tables = 0
        return Field(tuple(builds), tuple(trials), tables)

    def _well_mixed(self, now: SeasonNow, places: Mapping[int, int], playing: Counter[int]) -> int:
        """How many tables can be drawn from builds of several owners; ``places`` are those of everybody who is here."""
        owners = now.owners
        owned = {entrant: count for entrant, count in places.items() if owners[entrant] is not None}
        seats = min(now.spec.players, len({owners[entrant] for entrant in owned}))
        if seats < 2:
            return self._window
        free = sum(max(0, count - playing[entrant]) for entrant, count in owned.items())
        tables = (free - int(_FREE_SHARE * sum(owned.values()))) // seats
        is_patient = now.now_ms - now.season.drawn_ms < _ALONE_MS
        return max(tables, 0 if is_patient else sum(not playing[entrant] for entrant in owned))

    def _strengths(self, season: Season) -> dict[int, float]:
        """The strengths of the last fit."""
        known = self._book.document(season.tournament, "standings")
        if known is None:
            return {}
        lines = TableDocument.from_json(known.data).lines
        return {line.entrant: rounded(line.elo / ELO) for line in lines if line.elo is not None}

    def _draw(
        self,
        now: SeasonNow,
        drawn_from: bytes | None,
        tables: Sequence[DrawnTable],
        games: Mapping[int, int] = MappingProxyType({}),
    ) -> bool:
        """Write tables and their matches; False if another process has drawn meanwhile."""
        planned = planned_matches(now.season, now.spec, tables, games)
        if not self._book.draw(now.season, drawn_from, tables, planned):
            return False
        for table in tables:
            metrics.LADDER_TABLES_DRAWN.labels(table.rule or table.kind.value).inc()
        now.season = self._book.season_of(now.season.tournament)
        now.tables |= {table.block: replace(table, drawn_ms=now.now_ms) for table in tables}
        now.matches += [OpenMatch(match.id, match.block, match.seats, is_held=True) for match in planned]
        return True

    # ----------------------------------------------------------------------------------------------------------- matches
    def _release(self, now: SeasonNow, connected: Connected) -> None:
        """Let the matches begin whose bots are free, in their order. Tables that have not begun are withdrawn if a bot is gone."""
        withdrawn = self._without(now, connected)
        if withdrawn:
            self._book.drop_planned(now.season.tournament, withdrawn)  # they are settled in the next tick
        busy = Counter(chain.from_iterable(match.seats for match in now.matches if not match.is_held))
        released = []
        for match in now.matches:
            if not match.is_held or match.block in withdrawn:
                continue
            if all(self._can_begin(now, entrant, busy, connected) for entrant in match.seats):
                released.append(match.id)
                busy.update(match.seats)
            elif match.block in now.tables and now.now_ms - now.tables[match.block].drawn_ms > _PATIENT_MS:
                busy.update(match.seats)  # the places are kept for it
        if released:
            self._book.release(released)

    def _without(self, now: SeasonNow, connected: Connected) -> set[int]:
        """The rated blocks that have not begun, nor has the other one of their trial, and that somebody will not come to."""
        held = Counter(match.block for match in now.matches if match.is_held)
        rated = [table for table in now.tables.values() if table.kind is Kind.RATED]
        begun = {table.deal for table in rated if held[table.block] < len(table.seats)}
        gone = {
            table.deal
            for table in rated
            if table.deal not in begun and any(self._is_gone(now, entrant, connected) for entrant in table.seats)
        }
        return {table.block for table in rated if table.deal in gone}

    def _can_begin(self, now: SeasonNow, entrant: int, busy: Counter[int], connected: Connected) -> bool:
        """Whether a match need not wait for this entrant: it has capacity, or is gone for good."""
        build = now.build(entrant)
        if build is not None and build.id in connected:
            return busy[entrant] < connected[build.id].max_parallel_games
        return build is None or self._is_gone(now, entrant, connected)

    def _is_gone(self, now: SeasonNow, entrant: int, connected: Connected) -> bool:
        """Whether this entrant will not take its seat."""
        build = now.build(entrant)
        if build is None or build.id in connected:
            return False
        if build.state in (BuildState.RETIRED, BuildState.PARKED, BuildState.FAILED):
            return True
        return self._steady_ms() - self._here.setdefault(build.id, self._steady_ms()) >= _GONE_MS
