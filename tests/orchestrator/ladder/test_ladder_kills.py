"""Every process of an arena is killed while a ladder plays: no block is lost, no result counts twice, nobody is parked for it."""

import os
import signal
import time
from pathlib import Path
from typing import Final

import pytest

from orchestrator.book import Book
from orchestrator.ladder.model import BuildState, Kind
from orchestrator.ladder.season_check import check_draws, check_form, check_matches
from orchestrator.ladder_export import read_record
from tests.harness.processes import alive_with
from tests.harness.waiting import wait_for
from tests.orchestrator.ladder.real_ladder import RealLadder, bundled

_LIMIT_S: Final = float(os.environ.get("RUBBLE_LADDER_LIMIT_S", "300"))
#: Words in the command lines of the victims, and the order in which they are killed.
_WORKER, _SERVICE, _BEAT, _API, _REDIS = (
    "orchestrator worker", "cli.main serve", "orchestrator beat", "orchestrator api", "valkey"
)  # fmt: skip
_VICTIMS: Final = (_WORKER, _SERVICE, _BEAT, _REDIS, _API, _SERVICE, _REDIS, _WORKER, _BEAT)
#: So many blocks are drawn between two kills.
_BLOCKS: Final = 3
_BOTS: Final = {"ann": "one/v1", "bob": "two/v1", "cat": "three/v1"}
_LADDER: Final = """
name = "kills"
game = "relief"
players = 2
qualification_games = 1
[time_control]
move_ms = 10000
bank_ms = 120000
[[bundled]]
name = "random"
bundled = "random"
[[bundled]]
name = "greedy"
bundled = "greedy"
[[bundled]]
name = "mcts-1"
bundled = "mcts"
simulations = 1
"""


@pytest.mark.slow
def test_no_block_is_lost_or_counted_twice_and_nobody_is_parked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    with RealLadder(tmp_path, _LADDER, _LIMIT_S) as ladder:
        book = Book(f"sqlite:///{ladder.host.state.resolve() / 'book.sqlite'}")
        for owner, build in _BOTS.items():
            ladder.enter_and_start(owner, build, bundled("random"))

        def drawn() -> int:
            return book.season(ladder.name).next_block

        def wait_for_blocks(number: int, what: str) -> None:
            ladder.wait(lambda: drawn() >= number, what)

        ladder.wait(
            lambda: all(build.state is BuildState.ACTIVE for build in book.builds(ladder.name)), "all builds to qualify"
        )
        for victim in _VICTIMS:
            wait_for_blocks(drawn() + _BLOCKS, f"more blocks before the death of {victim}")
            _kill(ladder, victim)
        last = drawn()
        id_ = book.season(ladder.name).tournament
        wait_for_blocks(last + _BLOCKS, "new tables after the last kill")
        ladder.wait(
            lambda: all(table.is_over for table in book.tables(id_) if table.block < last),
            "all blocks that were drawn before the last kill to be settled",
        )
    _check(book, ladder.name)
    season = book.season(ladder.name)
    voids = sum(match.voids for match, _ in book.matches(id_, after=-1, limit=100_000))
    with capsys.disabled():
        took = time.monotonic() - started
        told = f"{season.games} rated games, {season.next_block} blocks, {len(_VICTIMS)} kills, {voids} void"
        print(f"\n{told}, {took:.0f} s")
    book.close()
    wait_for(lambda: not alive_with(tmp_path), "all processes to end")


def _kill(ladder: RealLadder, victim: str) -> None:
    """Kill a process of the arena; it is started again by itself."""
    pid = ladder.host.child(victim)
    assert pid, f"{victim} runs"
    os.kill(pid, signal.SIGKILL)
    ladder.wait(lambda: ladder.host.child(victim) not in (0, pid), f"{victim} is back")


def _check(book: Book, name: str) -> None:
    season = book.season(name)
    id_ = season.tournament
    record = read_record(book, season)
    for check in (check_form(record), check_draws(record), check_matches(record)):
        assert check.holds, check.problems
    games = book.games(id_)
    assert len({game.order for game in games}) == len(games)
    assert [game for game in games if any(game.faults)] == []
    tables = book.tables(id_)
    played = {game.order for game in games}
    for table in tables:
        results = [match.order in played for match in book.block(id_, table.block)]
        assert all(results) or not table.is_over, f"block {table.block} is over without all its results"
    rated = {table.block for table in tables if table.kind is Kind.RATED and table.is_over}
    assert season.blocks == len(rated)
    assert season.games == sum(game.block in rated for game in games)
    assert [build for build in book.builds(name) if build.parkings or build.strikes] == []
    assert [event for event in book.events(name) if event.kind in ("parked", "failed")] == []
