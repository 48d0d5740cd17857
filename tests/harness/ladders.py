"""Ladders in a book, without a service: owners, builds, drawn tables and results."""

import time

from orchestrator.api.owner_keys import SECRET, OwnerKeys
from orchestrator.book import Book
from orchestrator.ladder.extension import Field, FieldBuild, Past, extend
from orchestrator.ladder.model import Build, BuildState, Ladder, Season
from orchestrator.ladder.names import arena_name
from orchestrator.ladder.spec import BundledBuild, LadderSpec, Quotas
from orchestrator.ladder_seasons import entrants_of, new_season, planned_matches
from orchestrator.roster import TimeControl

BUNDLED = (BundledBuild("random", "random"), BundledBuild("greedy", "greedy"), BundledBuild("mcts-8", "mcts", 8))


def make_ladder(book: Book, name: str) -> Season:
    """Make a ladder for two seats with three bundled bots, and open its first season."""
    spec = LadderSpec(
        name=name, game="relief", players=2, time_control=TimeControl(), match_seconds=600.0, bundled=BUNDLED
    )
    ladder = Ladder(name, "", spec, now_ms())
    book.create_ladder(ladder, new_season(ladder, 1))
    return book.season(name)


def sign_up(book: Book, ladder: str, owner: str) -> str:
    """Make an owner and return its key."""
    return owner_keys(book).key(owner, book.sign_up(ladder, owner, Quotas(), is_new=True))


def owner_keys(book: Book) -> OwnerKeys:
    """What signs and reads the keys of owners, as the API makes it."""
    return OwnerKeys(book.shared_secret(SECRET))


def enter(book: Book, ladder: str, owner: str, bot: str, state: BuildState = BuildState.ACTIVE) -> Build:
    """Enter the build ``bot``/v1 in a state; an active one is connected."""
    now = now_ms()
    build = Build(
        id=arena_name(ladder, bot, "v1"),
        ladder=ladder,
        bot=bot,
        label="v1",
        owner=owner,
        parent="",
        state=state,
        reason="",
        entered_ms=now,
        since_ms=now,
        seen_ms=now if state is BuildState.ACTIVE else 0,
        accepts_challenges=True,
        strikes=0,
        parkings=0,
        verdict="",
    )
    book.enter_build(build, Quotas())
    return build


def draw(book: Book, ladder: str, tables: int = 1) -> list[int]:
    """Draw rated tables from all entrants, release their matches, and return their blocks."""
    season = book.season(ladder)
    spec = book.tournament(season.tournament).spec
    builds = {build.name: build for build in book.builds(ladder)}
    field = Field(tuple(FieldBuild(number, 10, 0.0) for number in range(len(spec.entrants))), tables=tables)
    past = Past()
    past.add(book.tables(season.tournament))
    owners = [entrant.owner for entrant in entrants_of(spec, builds)]
    drawn = extend(field, owners, past, spec.players, season.secret, season.next_block, season.next_draw)
    planned = planned_matches(season, spec, drawn)
    assert book.draw(season, field.to_json(), drawn, planned)
    book.release([match.id for match in planned])
    return [table.block for table in drawn]


def play(book: Book, ladder: str) -> None:
    """Record results of all open matches, the first seat wins, and settle their blocks."""
    season = book.season(ladder)
    tables = book.tables(season.tournament, is_open=True)
    for table in tables:
        for match in book.block(season.tournament, table.block):
            book.keep_replay(match, '{"kind":"header"}\n', has_seeds=True)
            assert book.record_once(match, match.result((1, 2), (7, 3), ("", ""), (10, 20), "over", 30))
    games = sum(len(table.seats) for table in tables)
    assert book.settle(season, tables, len(tables), games, [])


def now_ms() -> int:
    """The time now."""
    return time.time_ns() // 1_000_000
