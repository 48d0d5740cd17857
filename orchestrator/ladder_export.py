"""Reads a closed season from the book, for its archive."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from orchestrator.book import Book
from orchestrator.book.rows import Match
from orchestrator.book.tables import DROPPED, RECORDED
from orchestrator.ladder.extension import Field
from orchestrator.ladder.model import Build, Event, Season
from orchestrator.ladder.season_archive import (
    ArchivedBuild,
    ArchivedDraw,
    ArchivedEvent,
    ArchivedFinals,
    ArchivedMatch,
    ArchivedSeason,
    ArchivedTable,
    Result,
    SeasonRecord,
    as_file,
    season_files,
)
from orchestrator.ladder.season_documents import season_documents
from orchestrator.records import Game
from orchestrator.spec import Spec

#: The document of a season with its entrants as they were when its final table was computed.
BUILDS: Final = "builds"
_PAGE: Final = 1000


def archived_builds(spec: Spec, builds: Mapping[str, Build]) -> tuple[ArchivedBuild, ...]:
    """The entrants of a season by number; ``builds`` are those of its ladder by name."""
    found = []
    for entry in spec.bots:
        if entry.bundled:
            bot = ArchivedBuild(entry.name, None, bundled=entry.bundled, simulations=entry.simulations)
        else:
            build = builds[entry.name]
            bot = ArchivedBuild(
                name=build.name,
                owner=build.owner,
                bot=build.bot,
                label=build.label,
                parent=build.parent,
                state=build.state.value,
                verdict=build.verdict,
                entered_ms=build.entered_ms,
                arena=build.id,
            )
        found.append(bot)
    return tuple(found)


def builds_document(spec: Spec, builds: Mapping[str, Build]) -> bytes:
    """The document that is kept beside the final table: builds change in the next season, and the archive must not."""
    return msgspec.json.encode(archived_builds(spec, builds))


def builds_at_end(book: Book, season: Season) -> tuple[ArchivedBuild, ...]:
    """The entrants of a closed season by number, as they were when its final table was computed."""
    kept = book.document(season.tournament, BUILDS)
    if kept is not None:
        return msgspec.json.decode(kept.data, type=tuple[ArchivedBuild, ...])
    spec = book.tournament(season.tournament).spec
    return archived_builds(spec, {build.name: build for build in book.builds(season.ladder)})


def read_record(book: Book, season: Season) -> SeasonRecord:
    """Read a closed season. The table and pairs are those that were published; what was not stored is computed."""
    id_ = season.tournament
    finals = None
    if season.finals:
        removed = tuple(found.entrant for found in book.withdrawals(season.finals) if found.is_removed)
        finals = ArchivedFinals(book.tournament(season.finals).spec, removed)
    record = SeasonRecord(
        ladder=book.ladder(season.ladder).spec,
        season=ArchivedSeason(
            number=season.number,
            tournament=id_,
            opened_ms=season.opened_ms,
            closing_ms=season.closing_ms,
            finals_ms=season.finals_ms,
            closed_ms=season.closed_ms,
            finals=season.finals,
        ),
        secret=season.secret,
        builds=builds_at_end(book, season),
        draws=tuple(ArchivedDraw(number, Field.from_json(field)) for number, field in book.draws(id_)),
        tables=tuple(
            ArchivedTable(
                block=table.block,
                kind=table.kind.value,
                rule=table.rule,
                seats=table.seats,
                candidates=table.candidates,
                stream=table.stream,
                draw=table.draw,
                deal=table.deal,
                trial=table.trial,
                drawn_ms=table.drawn_ms,
            )
            for table in book.tables(id_)
        ),
        matches=tuple(_matches(book, id_)),
        events=tuple(_events(book, season)),
        finals=finals,
        finals_matches=tuple(_matches(book, season.finals)) if season.finals else (),
    )
    return _with_documents(book, record)


def _with_documents(book: Book, record: SeasonRecord) -> SeasonRecord:
    table, pairs = (book.document(record.season.tournament, name) for name in ("final", "pairs"))
    computed = season_documents(record, is_published=table is not None and pairs is not None)
    if table is not None and pairs is not None:
        computed = replace(computed, table=as_file(table.data), pairs=as_file(pairs.data))
    return replace(record, documents=computed)


def export(book: Book, season: Season, *, without_replays: bool = False) -> Iterator[tuple[str, bytes]]:
    """A closed season as files, one by one: path and contents. The replays come last."""
    yield from season_files(read_record(book, season), without_replays=without_replays)
    for tournament in () if without_replays else filter(None, (season.tournament, season.finals)):
        for match, replay in book.replays(tournament):
            yield f"replays/{match}.jsonl", replay.encode()


def _matches(book: Book, tournament: str) -> Iterator[ArchivedMatch]:
    replays = {match: _last_hash(text) for match, text in book.replays(tournament)}
    after = -1
    while page := book.matches(tournament, after=after, limit=_PAGE):
        for match, game in page:
            yield _match(match, game, replays.get(match.id))
        after = page[-1][0].order


def _match(match: Match, game: Game | None, replay: str | None) -> ArchivedMatch:
    return ArchivedMatch(
        id=match.id,
        order=match.order,
        block=match.block,
        seats=match.seats,
        voids=match.voids,
        table_seed=match.table_seed.hex(),
        deck_seed=match.deck_seed.hex(),
        state=DROPPED if game is None else RECORDED,
        result=None
        if game is None
        else Result(game.ranks, game.scores, game.faults, game.think_ms, game.ending, game.decisions),
        replay=None if game is None else replay,
    )


def _last_hash(replay: str) -> str:
    """The hash of the last line of a replay, which covers the whole file."""
    return str(json.loads(replay.splitlines()[-1])["hash"])


def _events(book: Book, season: Season) -> list[ArchivedEvent]:
    """What happened since the season before was closed and until this one was closed, the earliest first.

    What happens later must not change the archive, and belongs to the next one.
    """
    moments = {each.number: each for each in book.seasons(season.ladder)}
    before_it, after_it = moments.get(season.number - 1), moments.get(season.number + 1)

    def is_of_season(event: Event) -> bool:
        if event.kind == "season":  # the one that tells of the end is written just after it
            return event.at_ms >= season.opened_ms and (after_it is None or event.at_ms < after_it.opened_ms)
        start = season.opened_ms if before_it is None or before_it.closed_ms is None else before_it.closed_ms + 1
        return event.at_ms >= start and (season.closed_ms is None or event.at_ms <= season.closed_ms)

    found: list[ArchivedEvent] = []
    before = None
    while page := book.events(season.ladder, before=before, limit=_PAGE):
        for event in page:
            if is_of_season(event):
                found.append(ArchivedEvent(event.at_ms, event.kind, event.build, event.owner, event.words))
        before = page[-1].id
    return found[::-1]
