"""Workers, copies of the service and Redis are killed during a tournament: no result is lost or counted twice."""

import os
import random
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import create_engine, select

from cli.export import write_export
from orchestrator.archive import Archive
from orchestrator.book import Book, Progress
from orchestrator.book.tables import PLAYING, slots
from orchestrator.celery_app import MATCH_QUEUE
from orchestrator.client import ArenaClient
from orchestrator.tournaments import Tournaments
from tests.harness.processes import alive_with, logs
from tests.harness.tournaments import TournamentArena, assert_replays_are_good
from tests.harness.waiting import wait_for
from tests.orchestrator.steady_tournaments import assert_same_logs, assert_undisturbed, enter, play_out

#: `make kills` plays more: RUBBLE_KILL_MATCHES=500.
_MATCHES: Final = int(os.environ.get("RUBBLE_KILL_MATCHES", "102"))
_PATIENCE_S: Final = 240 + 2.0 * _MATCHES
_VICTIMS: Final = ("worker", "worker-2", "service", "service-2", "redis", "broker")


@pytest.mark.slow
def test_no_result_is_lost_or_counted_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(1906)
    with TournamentArena(tmp_path / "arena", workers=2, services=2) as arena:
        book = Book(arena.settings.book)
        tournament = enter(book, _MATCHES, "kills")
        planned = tournament.planned
        assert planned >= _MATCHES
        victims = [*_VICTIMS] * max(1, planned // 120)
        chance.shuffle(victims)
        moments = sorted(chance.sample(range(2, planned * 9 // 10), len(victims)))
        plan = list(zip(moments, victims, strict=True))
        longest_queue = 0

        def look(progress: Progress) -> None:
            nonlocal longest_queue
            with arena.broker() as broker:
                longest_queue = max(longest_queue, int(str(broker.llen(MATCH_QUEUE))))
            if plan and progress.recorded >= plan[0][0]:
                _, victim = plan.pop(0)
                arena.empty_broker() if victim == "broker" else arena.kill(victim)

        took = play_out(arena, book, tournament, _PATIENCE_S, look)
        assert not plan, "everything must be killed before the end"
        assert longest_queue <= arena.settings.window
        with ArenaClient(arena.settings.access) as client:
            Archive(book, client).keep_all(tournament.id)
    assert_undisturbed(book, tournament)
    assert_same_logs(book, tournament)
    write_export(Tournaments(book), tournament.id, tmp_path / "report")
    assert_replays_are_good(tmp_path / "report", planned)
    with capsys.disabled():
        print(f"\n{planned} matches, {len(victims)} kills, {took:.0f} s, {book.progress(tournament.id).voids} void")
    book.close()
    wait_for(lambda: not alive_with(tmp_path), "all processes to end")


@pytest.mark.slow
def test_other_workers_continue_the_matches_of_a_dead_worker(tmp_path: Path) -> None:
    """Another worker takes its slot and restarts its bots under the same names."""
    with TournamentArena(tmp_path / "arena", concurrency=4, workers=3) as arena:
        book = Book(arena.settings.book)
        tournament = enter(book, 60, "adoption")
        slot_of: dict[int, int] = {}  # by process id, before any worker dies
        left_behind: dict[str, int] = {}

        def look(progress: Progress) -> None:
            if len(slot_of) < 3:
                slot_of.update(_slots(book))
                return
            dead = len(set(left_behind.values()))
            if dead == 2 or progress.recorded < 10 * (dead + 1):
                return
            slot = slot_of[arena.pid(arena.workers[dead])]
            matches = [match for block in range(tournament.planned) for match in book.block(tournament.id, block)]
            playing = {match.id: slot for match in matches if match.state == PLAYING and match.slot == slot}
            if playing:
                arena.kill(arena.workers[dead], again=False)
                left_behind.update(playing)

        play_out(arena, book, tournament, _PATIENCE_S, look)
        assert len(set(left_behind.values())) == 2, f"two workers must die while they play{logs(tmp_path)}"
        for id_, slot in left_behind.items():
            match = book.match(id_)
            assert match is not None and (match.slot, match.voids) == (slot, 0), "it continued where it was"
        assert book.progress(tournament.id).voids == 0
    assert_undisturbed(book, tournament)
    assert_same_logs(book, tournament)
    book.close()
    wait_for(lambda: not alive_with(tmp_path), "all processes to end")


def _slots(book: Book) -> dict[int, int]:
    """Return the slot of each process."""
    engine = create_engine(book.url)
    with engine.begin() as connection:
        held = {int(row.owner.rsplit(":", 1)[1]): int(row.slot) for row in connection.execute(select(slots))}
    engine.dispose()
    return held
