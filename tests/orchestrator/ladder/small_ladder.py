"""A small ladder in a book, on the clock of the test."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.book import Book, Match
from orchestrator.ladder.conduct import BuildChange
from orchestrator.ladder.model import Build, BuildState, DrawnTable, Kind, Ladder, Season
from orchestrator.ladder.names import arena_name
from orchestrator.ladder.spec import BundledBuild, LadderSpec, Quotas
from orchestrator.ladder_seasons import new_season, planned_matches
from orchestrator.ratings.verdict import Verdict
from orchestrator.records import Game
from orchestrator.roster import TimeControl

MANY = Quotas(1000, 1000, 1000, 1000)


def ladder_of(now_ms: int, name: str = "cup") -> Ladder:
    """A ladder for two seats with three bundled bots, the entrants 0, 1 and 2."""
    bundled = tuple(BundledBuild(f"bundled-{number}", "random") for number in range(3))
    spec = LadderSpec(
        name=name, game="relief", players=2, time_control=TimeControl(), match_seconds=60.0, bundled=bundled
    )
    return Ladder(name, f'name = "{name}"\n', spec, now_ms)


def make(book: Book, now_ms: int, name: str = "cup", owners: Sequence[str] = ("ann", "bob")) -> Season:
    """A ladder with an open season and these owners."""
    ladder = ladder_of(now_ms, name)
    tournament, season = new_season(ladder, 1)
    book.create_ladder(ladder, (tournament, replace(season, opened_ms=now_ms)))
    for owner in owners:
        book.sign_up(name, owner, MANY, is_new=book.owner(owner) is None)
    return book.season(name)


def a_build(now_ms: int, name: str = "quick/v1", owner: str = "ann", parent: str = "", ladder: str = "cup") -> Build:
    """A build as it is entered."""
    bot, _, label = name.partition("/")
    return Build(
        id=arena_name(ladder, bot, label),
        ladder=ladder,
        bot=bot,
        label=label,
        owner=owner,
        parent=parent,
        state=BuildState.ENTERED,
        reason="",
        entered_ms=now_ms,
        since_ms=now_ms,
        seen_ms=0,
        accepts_challenges=True,
        strikes=0,
        parkings=0,
        verdict=Verdict.RUNNING.value if parent else "",
    )


def enter(book: Book, build: Build, state: BuildState = BuildState.ACTIVE) -> Build:
    """The build, entered and in this state."""
    book.enter_build(build, MANY)
    known = book.build(build.ladder, build.name)
    book.change_builds(build.ladder, [BuildChange(replace(known, state=state))])
    return book.build(build.ladder, build.name)


def tables_for(season: Season, *seats: tuple[int, ...], kind: Kind = Kind.RATED) -> list[DrawnTable]:
    """Tables of these entrants, in the next blocks of a season."""
    rule = "uniform" if kind is Kind.RATED else ""
    return [
        DrawnTable(block, kind, rule, sitting, sitting, f"block {block}", season.next_draw, block)
        for block, sitting in enumerate(seats, season.next_block)
    ]


def draw(book: Book, *seats: tuple[int, ...], kind: Kind = Kind.RATED, ladder: str = "cup") -> list[DrawnTable]:
    """Draw tables of these entrants; their matches are held."""
    season = book.season(ladder)
    tables = tables_for(season, *seats, kind=kind)
    assert book.draw(season, b"{}" if kind is Kind.RATED else None, tables, planned(book, season, tables))
    return tables


def planned(book: Book, season: Season, tables: Sequence[DrawnTable]) -> list[Match]:
    """The matches of tables."""
    return planned_matches(season, book.tournament(season.tournament).spec, tables)


def result(match: Match, *faults: str) -> Game:
    """A result: the first seat wins."""
    return match.result((1, 2), (7, 3), faults or ("", ""), (10, 20), "over", 30)


def play(book: Book, tournament: str, blocks: Sequence[int]) -> None:
    """Record results of these blocks, with their seeds."""
    for block in blocks:
        for match in book.block(tournament, block):
            assert book.record_once(match, result(match))
            book.keep_replay(match, "{}\n", has_seeds=True)
