"""The beginning and the end of a season: its tournament in the book, its finals, and when it is closed."""

import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from orchestrator.archive import Archive
from orchestrator.book import Book, Match, Tournament
from orchestrator.book.tables import CANCELLED, DONE, PLANNED, RUNNING, WAITING
from orchestrator.ladder.extension import block_matches
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Ladder, Season
from orchestrator.ladder.season_table import Entrant, TableDocument, finalists
from orchestrator.ladder.seasons import finals_id, finals_plan, finals_secret, season_id
from orchestrator.ladder.spec import LadderSpec
from orchestrator.ladder.states import BadMove, SeasonState
from orchestrator.planning import matches_of, rules_of
from orchestrator.report.words import count, listed
from orchestrator.schedule import content_id
from orchestrator.spec import LADDER, Entry, Spec

if TYPE_CHECKING:
    from orchestrator.ratings.table import Standing

_LOG: Final = logging.getLogger(__name__)
_SECRET_BYTES: Final = 32
#: Finals whose builds are not all connected begin after this time without them.
_FINALS_WAIT_MS: Final = 600_000
#: This many builds are named at the end of the finals.
_TOLD: Final = 3
#: ``ratings.standings.Criterion``, in its order: the official one, and in words those that break ties.
_POINTS: Final = "points"
_TIE_BREAKS: Final = {
    "faults": "fewer faults",
    "against_each_other": "the points against each other",
    "sonneborn_berger": "the Sonneborn-Berger score",
    "wins": "wins",
    "mean_margin": "the mean margin",
}


def remote_entry(build: Build) -> Entry:
    """A build as an entrant. It keeps its key over all seasons."""
    return Entry(name=build.name, remote=True, arena=build.id)


def entrants_of(spec: Spec, builds: Mapping[str, Build]) -> list[Entrant]:
    """The entrants of a season by number; ``builds`` are those of its ladder by name."""
    return [Entrant(entry.name, None if entry.bundled else builds[entry.name].owner) for entry in spec.bots]


def _spec(ladder: LadderSpec, format_: str, bots: Sequence[Entry]) -> Spec:
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
        entrants=tuple(entry.name for entry in bots),
        bots=tuple(bots),
        ladder=ladder.name,
    )


def new_season(ladder: Ladder, number: int, builds: Iterable[Build] = ()) -> tuple[Tournament, Season]:
    """A season with the bundled bots and the builds that are not retired, and its tournament. The book opens it."""
    secret = secrets.token_bytes(_SECRET_BYTES)
    now = time.time_ns() // 1_000_000
    id_ = season_id(ladder.name, number, secret)
    bundled = [
        Entry(
            name=bot.name,
            bundled=bot.bundled,
            simulations=bot.simulations,
            seed=content_id(["bundled", secret.hex(), bot.name]),
        )
        for bot in ladder.spec.bundled
    ]
    entered = [remote_entry(build) for build in builds if build.state is not BuildState.RETIRED]
    spec = _spec(ladder.spec, LADDER, [*bundled, *entered])
    is_first = number == 1  # the dates of the file are those of the first season
    season = Season(
        tournament=id_,
        ladder=ladder.name,
        number=number,
        state=SeasonState.OPEN,
        secret=secret,
        opened_ms=now,
        closing_ms=ladder.spec.closing_ms if is_first else None,
        finals_ms=ladder.spec.finals_ms if is_first else None,
        closed_ms=None,
        finals="",
        next_block=0,
        next_order=0,
        next_draw=0,
        drawn_ms=0,
        blocks=0,
        games=0,
    )
    tournament = Tournament(id_, f"{ladder.name}.{number}", ladder.file, spec, RUNNING, 0, now)
    return tournament, season


def planned_matches(
    season: Season, spec: Spec, tables: Iterable[DrawnTable], games: Mapping[int, int] = MappingProxyType({})
) -> list[Match]:
    """The matches of drawn tables: every rotation of the seats, or as many as ``games`` says for a block."""
    rules = rules_of(spec)
    planned: list[Match] = []
    for table in tables:
        of_block = block_matches(season.tournament, season.secret, rules, spec.entrants, table, games.get(table.block))
        for match in of_block:
            planned.append(
                Match(
                    id=match.id,
                    tournament=season.tournament,
                    order=season.next_order + len(planned),
                    block=table.block,
                    seats=match.seats,
                    table_seed=match.seeds.table,
                    deck_seed=match.seeds.deck,
                    state=PLANNED,
                    deliveries=0,
                    voids=0,
                )
            )
    return planned


def finals_words(book: Book, season: Season) -> str:
    """Who has won the finals of a season, who comes next, what decided a tie on points, and where the table is."""
    from orchestrator.ratings.table import standings  # the statistics take a second to import

    finals = book.tournament(season.finals)
    games = book.games(finals.id)
    if not games:
        return f"The finals of season {season.number} ended without a game."
    table = standings(games, finals.spec.entrants, finals.spec.players, ladder=False, resamples=0)
    told = _order_words(table.entrants, f"the finals of season {season.number}", is_over=finals.state == DONE)
    return f"{told}. The whole table: rubble tournament show {finals.id}"


def _order_words(lines: Sequence["Standing"], finals: str, *, is_over: bool) -> str:
    """Who is first by mean points and who follows; of those tied with the first, what puts one before the others."""
    tied = [lines[0], *takewhile(lambda line: line.behind_by != _POINTS, lines[1:])]
    following = lines[len(tied) : max(_TOLD, len(tied))]
    ahead = f", ahead of {listed([line.name for line in following])}" if following else ""
    if len(following) > 1 and following[-1].behind_by != _POINTS:
        ahead += ", who are tied on points"
    stopped = f"T{finals[1:]} were stopped; "
    if len(tied) == 1:
        return (f"{lines[0].name} has won {finals}" if is_over else f"{stopped}{lines[0].name} has led them") + ahead
    names = [line.name for line in tied]
    if len(names) > _TOLD:
        names[_TOLD:] = [f"{len(names) - _TOLD} more"]
    told = (
        f"{listed(names)} are tied on points in {finals}" if is_over else f"{stopped}{listed(names)} are tied on points"
    )
    first = [line.name for line in tied if line.rank == 1]
    if len(first) == len(tied):
        return f"{told}{ahead}; every tie-break leaves them equal, and they share the first rank"
    rules = " and then ".join(_TIE_BREAKS[found] for found in _decided_by(tied))
    return f"{told}{ahead}; by {rules} {listed(first)} {'is' if len(first) == 1 else 'are'} first"


def _decided_by(tied: Sequence["Standing"]) -> list[str]:
    """The tie-breaks that put the first before all that are tied with it, in the order in which they are asked."""
    asked = list(_TIE_BREAKS)
    found: list[str] = []
    for line in tied:
        if line.behind_by and (not found or asked.index(line.behind_by) < asked.index(found[0])):
            found.insert(0, line.behind_by)
    return found


class SeasonEnd:
    """Plays the finals of a season whose tables are all over, and closes it."""

    def __init__(self, book: Book, archive: Archive, now_ms: Callable[[], int]) -> None:
        self._book = book
        self._archive = archive
        self._now_ms = now_ms

    def look_after(self, season: Season, spec: Spec) -> bool:
        """Take the next step; True if the final table is not computed yet."""
        final = self._book.document(season.tournament, "final")
        if final is None:
            return True
        if not season.finals:
            self._begin_finals(season, spec, TableDocument.from_json(final.data))
            return False
        finals = self._book.tournament(season.finals)
        if finals.state == WAITING and self._now_ms() - finals.created_ms > _FINALS_WAIT_MS:
            self._book.set_state(finals.id, RUNNING, only_from=(WAITING,))
        if finals.state in (DONE, CANCELLED):
            close_after_finals(self._book, self._archive, season)
        return False

    def _begin_finals(self, season: Season, spec: Spec, table: TableDocument) -> None:
        ladder = self._book.ladder(season.ladder)
        builds = {build.name: build for build in self._book.builds(season.ladder)}
        field = finalists(table, entrants_of(spec, builds), ladder.spec.finals_builds)
        if len(field) < ladder.spec.players:
            qualified = f"builds of {count(len(field), 'owner')} qualified, and a table has {ladder.spec.players} seats"
            _close(self._book, season, f"Season {season.number} has no finals: {qualified}.")
            return
        bots = [spec.bots[entrant] for entrant in field]
        id_ = finals_id(season.tournament)
        finals = _spec(ladder.spec, "round_robin", bots)
        versions = [(entry.name, entry.arena) for entry in bots]
        plan = finals_plan(
            id_,
            finals_secret(season.secret),
            rules_of(finals),
            versions,
            ladder.spec.players,
            ladder.spec.finals_deals,
        )
        tournament = Tournament(
            id_, f"{season.ladder}.{season.number}.finals", ladder.file, finals, WAITING, 0, self._now_ms()
        )
        self._book.plan(tournament, matches_of(plan, finals.entrants))
        names = ", ".join(entry.name for entry in bots)
        self._book.set_finals(season, id_, f"The finals of season {season.number} begin: {names}.")


def close_after_finals(book: Book, archive: Archive, season: Season) -> bool:
    """Close a season whose finals are over or were stopped, and tell how they ended.

    Returns False if the service is unavailable: seeds that are not archived are lost with its sessions, so the end waits.
    """
    if not archive.keep_all(season.finals):
        return False
    _close(book, season, finals_words(book, season))
    return True


def _close(book: Book, season: Season, told: str) -> None:
    try:
        book.move_season(season, SeasonState.CLOSED, told)
    except BadMove:
        _LOG.info("season %s of %s was closed by another process", season.number, season.ladder)
