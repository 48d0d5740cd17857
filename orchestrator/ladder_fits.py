"""Computes what is published of a ladder: its table, the verdicts of new builds, and the pairs. Runs beside the ticks."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.ladder.conduct import counted
from orchestrator.ladder.model import Build, Season
from orchestrator.ladder.pairs_table import pairs_document
from orchestrator.ladder.ratings import Ratings
from orchestrator.ladder.season_games import SeasonGames
from orchestrator.ladder.season_table import Entrant, history_points, season_table, trial_verdict
from orchestrator.ladder.states import SeasonState
from orchestrator.ladder.verdicts import BuildVerdict
from orchestrator.ladder_export import BUILDS, builds_document
from orchestrator.ladder_seasons import entrants_of
from orchestrator.ratings.verdict import Verdict
from orchestrator.spec import Spec

_LOG: Final = logging.getLogger(__name__)
#: A season is fitted at most once in this time, in seconds, and for at most this share of the time.
_PAUSE_S: Final = 2.0
_SHARE: Final = 0.1
#: Its pairs at most once in this time, in seconds, and for at most this share of the time.
_PAIRS_PAUSE_S: Final = 30.0
_PAIRS_SHARE: Final = 0.02


@dataclass
class _Known:
    """What is kept of a season between two fits."""

    games: SeasonGames
    ratings: Ratings | None = None
    #: When it may be fitted again, and its pairs computed again, on the monotonic clock.
    due: float = 0.0
    pairs_due: float = 0.0


@dataclass(frozen=True)
class _Field:
    """The entrants of a season, by number."""

    spec: Spec
    builds: Mapping[str, Build]
    entrants: list[Entrant]
    #: Those that have a rank: the bundled bots, and the build by which each bot counts.
    counted: list[int]


class LadderFits:
    """Keeps the games of live seasons, so that only new blocks are read."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._known: dict[str, _Known] = {}

    def fit_all(self) -> None:
        """Bring the table of every live season up to date, if it is due."""
        seasons = self._book.live_seasons()
        for gone in self._known.keys() - {season.tournament for season in seasons}:
            del self._known[gone]
        failures: list[Exception] = []
        for season in seasons:
            try:
                self._fit_if_due(season)
            except Exception as error:
                _LOG.error("the table of %s cannot be computed: %s", season.ladder, type(error).__name__)
                failures.append(error)
        if failures:
            raise failures[0]  # after the others: a ladder that fails every time stops no other one

    def _fit_if_due(self, season: Season) -> None:
        is_over = season.state is SeasonState.FINALS and not self._book.tables(season.tournament, is_open=True)
        is_final = is_over and self._book.document(season.tournament, "final") is None
        if not is_final and season.blocks <= self._book.fitted_blocks(season.tournament):
            return
        known = self._known.setdefault(
            season.tournament, _Known(SeasonGames(self._book.tournament(season.tournament).spec.players))
        )
        began = time.monotonic()
        if began < known.due and not is_final:
            return
        with metrics.LADDER_REFIT_SECONDS.time():
            self._fit(season, known, is_final=is_final)
        ended = time.monotonic()
        known.due = ended + max(_PAUSE_S, (ended - began) / _SHARE)

    def _fit(self, season: Season, known: _Known, *, is_final: bool) -> None:
        id_ = season.tournament
        known.games.add(self._book.games_of(id_, sorted(set(self._book.over_blocks(id_)) - known.games.blocks)))
        blocks = max(season.blocks, len(known.games.blocks))
        self._judge(season, blocks)
        field = self._field(season)
        table, known.ratings = season_table(
            field.entrants,
            field.counted,
            known.games,
            field.spec.players,
            season.secret,
            known.ratings,
            is_final=is_final,
        )
        began = time.monotonic()
        if known.ratings is not None and (began >= known.pairs_due or is_final):
            pairs = pairs_document(field.entrants, field.counted, known.games, field.spec.players, known.ratings)
            self._book.keep_document(id_, "pairs", blocks, pairs.to_json())
            ended = time.monotonic()
            known.pairs_due = ended + max(_PAIRS_PAUSE_S, (ended - began) / _PAIRS_SHARE)
        self._book.keep_points(id_, history_points(table, self._book.last_points(id_), time.time_ns() // 1_000_000))
        self._book.keep_document(id_, "standings", blocks, table.to_json())
        if is_final:
            self._book.keep_document(id_, BUILDS, blocks, builds_document(field.spec, field.builds))
            self._book.keep_document(id_, "final", blocks, table.to_json())

    def _field(self, season: Season) -> _Field:
        spec = self._book.tournament(season.tournament).spec
        builds = self._book.builds(season.ladder)
        by_name = {build.name: build for build in builds}
        ranked = {build.name for build in counted(builds).values()}
        return _Field(
            spec,
            by_name,
            entrants_of(spec, by_name),
            [number for number, entry in enumerate(spec.bots) if entry.bundled or entry.name in ranked],
        )

    def _judge(self, season: Season, blocks: int) -> None:
        """Compute the verdicts of all builds that are still compared with their parents."""
        field = self._field(season)
        numbers = {name: number for number, name in enumerate(field.spec.entrants)}
        known = self._book.document(season.tournament, "verdicts")
        verdicts = {} if known is None else read_verdicts(known.data)
        for build in field.builds.values():
            parent = f"{build.bot}/{build.parent}"
            if build.verdict != Verdict.RUNNING or build.name not in numbers or parent not in numbers:
                continue
            new = numbers[build.name]
            tables = self._book.trial_tables(season.tournament, new)
            games = self._book.games_of(season.tournament, [table.block for table in tables])
            found = trial_verdict(new, numbers[parent], tables, games, field.spec.players, field.spec.entrants)
            verdicts[build.name] = found
            if found.verdict is not Verdict.RUNNING and self._book.set_verdict(build, found.verdict, found.sentence):
                _LOG.info("%s: %s", season.ladder, found.sentence)
        self._book.keep_document(season.tournament, "verdicts", blocks, msgspec.json.encode(verdicts))


def read_verdicts(data: bytes) -> dict[str, BuildVerdict]:
    """The verdicts of a season by build, from the book."""
    return msgspec.json.decode(data, type=dict[str, BuildVerdict])
