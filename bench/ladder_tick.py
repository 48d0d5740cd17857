"""A tick of a large ladder with its book: 300 builds of 60 owners, 4 seats, 1,000 open matches, in SQLite on disk."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.ladder.conduct import BuildChange
from orchestrator.ladder.model import Build, BuildState, Ladder
from orchestrator.ladder.names import arena_name
from orchestrator.ladder.spec import BundledBuild, LadderSpec, Quotas
from orchestrator.ladder_seasons import new_season
from orchestrator.ladder_upkeep import LadderUpkeep
from orchestrator.roster import TimeControl
from rubble.v1.bot_pb2 import ConnectedBot

_MANY = Quotas(1000, 1000, 1000, 1000)
_SEATS = 4
#: Blocks that end between two ticks: 20 games a second and a tick every two seconds.
_ENDED = 10


class _Connected:
    """In place of the service: every build is connected. What the service costs is not the tick's."""

    def __init__(self, bots: dict[str, ConnectedBot]) -> None:
        self._bots = bots

    def connected(self) -> dict[str, ConnectedBot]:
        return self._bots


@contextmanager
def _ladder(builds: int, owners: int, matches: int) -> Iterator[tuple[Book, LadderUpkeep]]:
    """A ladder in which all builds are active and connected, and its upkeep."""
    now_ms = time.time_ns() // 1_000_000
    bundled = tuple(BundledBuild(f"bundled-{number}", "random") for number in range(_SEATS))
    spec = LadderSpec(
        name="bench", game="relief", players=_SEATS, time_control=TimeControl(), match_seconds=60.0, bundled=bundled
    )
    with tempfile.TemporaryDirectory() as folder:
        book = Book(f"sqlite:///{Path(folder) / 'book.sqlite'}")
        try:
            ladder = Ladder("bench", "", spec, now_ms)
            book.create_ladder(ladder, new_season(ladder, 1))
            for owner in range(owners):
                book.sign_up("bench", f"owner-{owner}", _MANY, is_new=True)
            bots = {}
            for number in range(builds):
                name = f"bot{number}"
                id_ = arena_name("bench", name, "v1")
                entered = Build(
                    id_, "bench", name, "v1", f"owner-{number % owners}", "", BuildState.ENTERED, "",
                    now_ms, now_ms, now_ms, False, 0, 0, "",
                )  # fmt: skip
                book.enter_build(entered, _MANY)
                known = book.build("bench", entered.name)
                book.change_builds("bench", [BuildChange(replace(known, state=BuildState.ACTIVE))])
                bots[id_] = ConnectedBot(bot=id_, max_parallel_games=16, since_ms=now_ms)
            yield book, LadderUpkeep(book, cast("ArenaClient", cast("Any", _Connected(bots))), matches)
        finally:
            book.close()


def _end_blocks(book: Book, tournament: str, count: int) -> None:
    """Record the results of the oldest open blocks, with their seeds."""
    for table in book.tables(tournament, is_open=True)[:count]:
        for match in book.block(tournament, table.block):
            order = tuple(range(1, _SEATS + 1))
            game = match.result(order, order, ("",) * _SEATS, (1,) * _SEATS, "over", 9)
            book.record_once(match, game)
            book.keep_replay(match, "{}\n", has_seeds=True)


def tick_seconds(builds: int = 300, owners: int = 60, matches: int = 1000, ticks: int = 15) -> list[float]:
    """The computing time of ticks that each settle and draw as many blocks as end in two seconds at 20 games a second."""
    times = []
    with _ladder(builds, owners, matches) as (book, upkeep):
        upkeep.look_after_all()  # fills the window
        tournament = book.season("bench").tournament
        for _ in range(ticks):
            _end_blocks(book, tournament, _ENDED)
            start = time.process_time()
            upkeep.look_after_all()
            times.append(time.process_time() - start)
    return times
