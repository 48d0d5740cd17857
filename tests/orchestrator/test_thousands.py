"""Thousands of matches with killed workers, an emptied broker and a pause; the dispatcher's memory stays small."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import redis

from orchestrator import planning
from orchestrator.book import Book, Progress
from orchestrator.book.tables import PAUSED, RUNNING
from orchestrator.celery_app import MATCH_QUEUE, make_app
from orchestrator.dispatch import Dispatcher
from orchestrator.roster import GameFacts, read_roster
from orchestrator.settings import Settings
from service.embedded import EmbeddedRedis
from tests.harness.processes import PYTHON, Process, clean_env
from tests.harness.tournaments import broker_of, roster_text, settings_for
from tests.harness.waiting import wait_for
from tests.orchestrator.steady_tournaments import assert_undisturbed, enter, hand_out

_MATCHES: Final = 3000
_WINDOW: Final = 64
_MANY: Final = 100_000
_PATIENCE_S: Final = 1800.0


@contextmanager
def _broker_and_book(folder: Path) -> Iterator[tuple[Settings, "redis.Redis"]]:
    """Start a broker and a book, without a service."""
    with EmbeddedRedis(folder) as server, broker_of(server) as broker:
        yield settings_for(folder, server, 4, _WINDOW), broker


class Workers:
    """Two workers as processes."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._processes: list[Process] = []

    def start(self) -> None:
        for number in range(2):
            command, log = (PYTHON, "-m", "tests.orchestrator.quick_worker"), self._folder / f"worker-{number}.log"
            self._processes.append(Process(*command, log=log, env=clean_env(self._settings.to_env())))

    def kill(self) -> None:
        for process in self._processes:
            process.kill()
        self._processes.clear()


@pytest.mark.slow
def test_three_thousand_matches_survive_dead_workers_and_an_empty_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with _broker_and_book(tmp_path) as (settings, broker):
        book = Book(settings.book)
        tournament = enter(book, _MATCHES)
        assert tournament.planned == _MATCHES
        workers = Workers(settings, tmp_path)
        done: list[str] = []
        longest = 0

        def look(progress: Progress) -> None:
            nonlocal longest
            longest = max(longest, int(str(broker.llen(MATCH_QUEUE))))
            if progress.recorded >= 600 and not done:
                workers.kill()
                workers.start()
                done.append("workers killed")
            elif progress.recorded >= 1800 and len(done) == 1:
                broker.flushdb()
                done.append("broker emptied")
            elif progress.recorded >= 2400 and len(done) == 2:
                _pause(book, tournament.id, settings)
                done.append("paused")

        workers.start()
        try:
            took = hand_out(settings, book, tournament, _PATIENCE_S, look, tmp_path)
        finally:
            workers.kill()
        assert len(done) == 3 and longest <= settings.window
        assert_undisturbed(book, tournament)
        again = sum(max(0, match.deliveries - 1) for block in range(1500) for match in book.block(tournament.id, block))
        book.close()
    with capsys.disabled():
        print(f"\n{_MATCHES} matches in {took:.0f} s; {again} handed out again; at most {longest} in the queue")


def _pause(book: Book, tournament: str, settings: Settings) -> None:
    """Pause the tournament: running matches end, and no other match starts."""
    dispatcher = Dispatcher(make_app(settings.broker), book, settings.window)
    book.set_state(tournament, PAUSED)
    before = book.progress(tournament)

    def all_are_back() -> bool:
        # As beat does: a queued match whose message is lost becomes planned again, and nothing is handed out.
        assert dispatcher.hand_out(tournament) == 0
        return book.progress(tournament).out == 0

    wait_for(all_are_back, "running matches to end")
    for _ in range(3):
        assert dispatcher.hand_out(tournament) == 0
    after = book.progress(tournament)
    assert after.out == 0 and before.recorded <= after.recorded <= before.recorded + before.out
    book.set_state(tournament, RUNNING)


@pytest.mark.slow
def test_the_memory_of_the_dispatcher_does_not_grow_over_a_hundred_thousand_matches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bots = dict.fromkeys(("ann", "bob", "cat", "dan", "eve"), "random")
    text = roster_text(bots, name="many", game="relief", players=2, deals=_MANY // 20, seed=1)
    with _broker_and_book(tmp_path) as (settings, broker):
        book = Book(settings.book)
        dispatcher = Dispatcher(make_app(settings.broker), book, settings.window)
        started = time.process_time()
        tournament = planning.enter(book, read_roster(text, [GameFacts("relief", 1, (2, 3))]))
        planned_s = time.process_time() - started
        assert tournament.planned == _MANY
        sizes, ticks = [], []
        for window in range(120):
            if window == 60:
                book.set_state(tournament.id, PAUSED)
                assert dispatcher.hand_out() == 0
                book.set_state(tournament.id, RUNNING)
            started = time.process_time()
            assert dispatcher.hand_out() == _WINDOW
            ticks.append(time.process_time() - started)
            assert int(str(broker.llen(MATCH_QUEUE))) == _WINDOW
            broker.delete(MATCH_QUEUE)  # as if workers had taken them …
            with book._engine.begin() as connection:  # … and played them, all at once
                connection.exec_driver_sql("UPDATE matches SET state = 'recorded' WHERE state = 'queued'")
            sizes.append(_resident_kib())
        progress = book.progress(tournament.id)
        assert progress.recorded == 120 * _WINDOW and progress.planned == _MANY - progress.recorded
        book.close()
    grown = sizes[-1] - sizes[19]
    with capsys.disabled():
        print(
            f"\n{_MANY} planned in {planned_s:.1f} s of computing; {grown} KiB more after 100 windows; a tick took "
            f"{1000 * sum(ticks[:20]) / 20:.0f} ms of computing at first, {1000 * sum(ticks[-20:]) / 20:.0f} ms at last"
        )
    assert grown < 4096, f"the dispatcher grows with the matches it has handed out: {sizes}"


def _resident_kib() -> int:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0])
