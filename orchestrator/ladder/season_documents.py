"""What follows from a closed season: its table, pairs, verdicts and the table of its finals, as the archive has them. Pure."""

from collections.abc import Sequence
from typing import Final

import msgspec

from orchestrator.ladder.conduct import counted
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Kind
from orchestrator.ladder.names import build_name
from orchestrator.ladder.pairs_table import pairs_document
from orchestrator.ladder.season_archive import (
    ArchivedBuild,
    ArchivedFinals,
    ArchivedMatch,
    ArchivedTable,
    SeasonDocuments,
    SeasonRecord,
    as_file,
)
from orchestrator.ladder.season_games import SeasonGames
from orchestrator.ladder.season_table import Entrant, rounded, season_table, trial_verdict
from orchestrator.ladder.verdicts import BuildVerdict
from orchestrator.ratings.table import Standing, standings
from orchestrator.records import Game

_DECIMALS: Final = 4


class FinalsLine(msgspec.Struct, frozen=True):
    """One line of the table of the finals. The rank is by mean points, and by tie-breaks among equals.

    ``orchestrator/ratings/table.py`` explains the rest.
    """

    name: str
    rank: int
    rank_low: int
    rank_high: int
    games: int
    blocks: int
    mean_points: float | None
    low: float | None
    high: float | None
    elo: float | None
    faults: int
    wins: float
    mean_margin: float | None
    #: What puts it behind the line above, as ``Criterion``; None for the first line, and for one that shares its rank.
    behind_by: str | None


class VerdictLine(msgspec.Struct, frozen=True):
    """Whether a new build is better than its parent, as ``BuildVerdict``, rounded."""

    new: str
    parent: str
    verdict: str
    trials: int
    lead: float | None
    half_width: float | None
    llr: float
    sentence: str


def season_documents(record: SeasonRecord, *, is_published: bool = False) -> SeasonDocuments:
    """Everything that follows from the results of a season. Takes up to a minute for 300 builds and 100,000 games.

    ``is_published``: the table and the pairs are known, and left empty here.
    """
    of_finals = None if record.finals is None else finals_table(record.finals, record.finals_matches)
    if is_published:
        return SeasonDocuments(b"", b"", verdicts_file(record), of_finals)
    entrants = [Entrant(build.name, build.owner) for build in record.builds]
    ranked = counted_entrants(record.builds)
    games = SeasonGames(record.ladder.players, rated_games(record))
    table, ratings = season_table(
        entrants, ranked, games, record.ladder.players, record.secret, is_final=True
    )  # fmt: skip
    pairs = pairs_document(entrants, ranked, games, record.ladder.players, ratings)
    return SeasonDocuments(
        table=as_file(table.to_json()),
        pairs=as_file(pairs.to_json()),
        verdicts=verdicts_file(record),
        finals_table=of_finals,
    )


def verdicts_file(record: SeasonRecord) -> bytes:
    """The verdicts of a season as a file."""
    return as_file(msgspec.json.encode([_verdict_line(found) for found in verdicts(record)]))


def counted_entrants(builds: Sequence[ArchivedBuild]) -> list[int]:
    """The entrants that have a rank, by number: the bundled bots, and the build by which each bot counts."""
    entered = sorted(
        (build for build in builds if build.owner is not None),
        key=lambda build: (build.bot, build.entered_ms, build.arena),
    )
    ranked = {build.name for build in counted([_build(build) for build in entered]).values()}
    return [at for at, build in enumerate(builds) if build.owner is None or build.name in ranked]


def _build(build: ArchivedBuild) -> Build:
    return Build(
        id=build.arena,
        ladder="",
        bot=build.bot,
        label=build.label,
        owner=build.owner or "",
        parent=build.parent,
        state=BuildState(build.state),
        reason="",
        entered_ms=build.entered_ms,
        since_ms=0,
        seen_ms=0,
        accepts_challenges=False,
        strikes=0,
        parkings=0,
        verdict=build.verdict,
    )


def rated_games(record: SeasonRecord) -> list[Game]:
    """The results of all rated blocks."""
    rated = {table.block for table in record.tables if table.kind == Kind.RATED}
    found = (match.game() for match in record.matches if match.block in rated)
    return [game for game in found if game is not None]


def verdicts(record: SeasonRecord) -> list[BuildVerdict]:
    """The verdict of every build that was compared with its parent in this season, by number."""
    numbers = {build.name: at for at, build in enumerate(record.builds)}
    games: dict[int, list[Game]] = {}
    for game in rated_games(record):
        games.setdefault(game.block, []).append(game)
    trials: dict[int, list[DrawnTable]] = {}
    for table in record.tables:
        if table.trial is not None:
            trials.setdefault(table.trial, []).append(drawn_table(table))
    found = []
    for new, tables in sorted(trials.items()):
        build = record.builds[new]
        of_trials = [game for table in tables for game in games.get(table.block, [])]
        names = [build.name for build in record.builds]
        parent = numbers[build_name(build.bot, build.parent)]
        found.append(trial_verdict(new, parent, tables, of_trials, record.ladder.players, names))
    return found


def drawn_table(table: ArchivedTable) -> DrawnTable:
    """A table as it was drawn."""
    return DrawnTable(
        table.block,
        Kind(table.kind),
        table.rule,
        table.seats,
        table.candidates,
        table.stream,
        table.draw,
        table.deal,
        table.trial,
    )


def finals_table(finals: ArchivedFinals, matches: Sequence[ArchivedMatch]) -> bytes:
    """The table of the finals as a file."""
    played = (match.game() for match in matches)
    games = [game for game in played if game is not None and not set(finals.removed) & set(game.seats)]
    spec = finals.spec
    table = standings(games, spec.entrants, spec.players, ladder=False, resamples=0)
    return as_file(msgspec.json.encode([_finals_line(line) for line in table.entrants]))


def _finals_line(line: Standing) -> FinalsLine:
    low, high = line.ci95 or (None, None)
    return FinalsLine(
        name=line.name,
        rank=line.rank,
        rank_low=line.rank_range[0],
        rank_high=line.rank_range[1],
        games=line.games,
        blocks=line.blocks,
        mean_points=_rounded(line.mean_points),
        low=_rounded(low),
        high=_rounded(high),
        elo=_rounded(line.elo, 1),
        faults=sum(line.faults.values()),
        wins=rounded(line.wins, _DECIMALS),
        mean_margin=_rounded(line.mean_margin),
        behind_by=line.behind_by,
    )


def _verdict_line(found: BuildVerdict) -> VerdictLine:
    return VerdictLine(
        new=found.new,
        parent=found.parent,
        verdict=found.verdict.value,
        trials=found.trials,
        lead=_rounded(found.lead),
        half_width=_rounded(found.half_width),
        llr=rounded(found.llr, _DECIMALS),
        sentence=found.sentence,
    )


def _rounded(value: float | None, decimals: int = _DECIMALS) -> float | None:
    return None if value is None else rounded(value, decimals)
