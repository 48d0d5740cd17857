"""From a roster to messages in a real broker: no duplicates, never beyond the window, nothing lost with the broker."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import redis
from celery import Celery

from orchestrator import planning
from orchestrator.book import Book
from orchestrator.book.tables import CANCELLED, PAUSED, RUNNING
from orchestrator.celery_app import CONTROL_QUEUE, MATCH_QUEUE, make_app
from orchestrator.client import ServiceAccess
from orchestrator.control import Control
from orchestrator.dispatch import RESEND_MS, Dispatcher
from orchestrator.match_runner import MatchRunner
from orchestrator.roster import GameFacts, Roster, read_roster
from orchestrator.settings import BadSetting, Settings, read_settings
from orchestrator.tasks import ControlTask
from orchestrator.worker import Worker
from service.embedded import EmbeddedRedis
from tests.harness.books import Clock
from tests.harness.processes import PYTHON, Process, clean_env, run_command
from tests.harness.tournaments import broker_of, roster_text, settings_for
from tests.harness.waiting import wait_for

_RELIEF = GameFacts("relief", 1, (2, 3))
_WINDOW = 6


def _roster(**changes: object) -> Roster:
    settings = {"name": "cup", "game": "relief", "players": 2, "deals": 5, "seed": 7} | changes
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    return read_roster(roster_text({"a": "random", "b": "greedy", "c": "random"}, **given), [_RELIEF])


# ------------------------------------------------------------------------------------------------------------- planning
def test_entering_a_roster_twice_makes_one_tournament(tmp_path: Path) -> None:
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    first, second = planning.enter(book, _roster()), planning.enter(book, _roster())
    assert first == second and len(book.tournaments()) == 1
    assert book.progress(first.id).planned == first.planned == 3 * 2 * 5
    blocks = [book.block(first.id, block) for block in range(15)]
    assert all(len({match.table_seed for match in block}) == 1 for block in blocks), "rotations share the table"
    assert len({match.table_seed for block in blocks for match in block}) == 15
    assert all(len({match.deck_seed for match in block}) == len(block) for block in blocks), "but not the cards"
    other = planning.enter(book, _roster(seed=8))
    ids = [{match.id for block in range(15) for match in book.block(id_, block)} for id_ in (first.id, other.id)]
    assert len(ids[0]) == len(ids[1]) == 30 and not ids[0] & ids[1]
    book.close()


def test_a_roster_under_changed_rules_is_a_different_tournament(tmp_path: Path) -> None:
    """Its matches have different ids: in the same tournament every match would be played twice."""
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    text = _roster().text
    first, second = (planning.enter(book, read_roster(text, [replace(_RELIEF, version=version)])) for version in (1, 2))
    assert first.id != second.id
    assert [book.progress(found.id).planned for found in (first, second)] == [30, 30]
    assert planning.find(book, read_roster(text, [_RELIEF])) == first
    book.close()


def test_without_a_seed_every_tournament_is_different(tmp_path: Path) -> None:
    book = Book(f"sqlite:///{tmp_path / 'book.sqlite'}")
    first, second = planning.enter(book, _roster(seed=None)), planning.enter(book, _roster(seed=None))
    assert first.id != second.id
    assert {bot.seed for bot in first.spec.bots}.isdisjoint(bot.seed for bot in second.spec.bots)
    book.close()


# ---------------------------------------------------------------------------------------------------------- dispatching
@dataclass
class IdleBroker:
    """A broker without workers, and a tournament of thirty matches."""

    book: Book
    clock: Clock
    broker: "redis.Redis"
    settings: Settings
    tournament: str
    app: Celery

    def dispatch(self) -> int:
        return Dispatcher(self.app, self.book, _WINDOW).hand_out()

    def waiting(self) -> int:
        return int(str(self.broker.llen(MATCH_QUEUE)))

    def start(self, *arguments: str) -> Process:
        """Start a process with the settings of this broker."""
        return Process(PYTHON, "-m", *arguments, env=clean_env(self.settings.to_env()))


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[IdleBroker]:
    with EmbeddedRedis(tmp_path) as server:
        settings = settings_for(tmp_path, server, 2, _WINDOW)
        clock = Clock()
        book = Book(settings.book, clock)
        tournament = planning.enter(book, _roster())
        with broker_of(server) as broker:
            yield IdleBroker(book, clock, broker, settings, tournament.id, make_app(settings.broker))
        book.close()


def test_the_queue_stays_within_the_window_while_no_worker_runs(broker: IdleBroker) -> None:
    assert broker.dispatch() == _WINDOW
    for _ in range(5):
        assert broker.dispatch() == 0
        broker.clock.ms += RESEND_MS + 1
        assert broker.waiting() <= _WINDOW
    broker.broker.flushdb()
    assert broker.dispatch() == _WINDOW == broker.waiting(), "lost messages are published again"
    assert broker.book.progress(broker.tournament).queued == _WINDOW


def test_two_control_workers_hand_out_no_more_than_one(broker: IdleBroker) -> None:
    controls = [Control(broker.app, broker.settings) for _ in range(2)]
    try:
        with ThreadPoolExecutor(2) as pool:
            for _ in range(3):
                list(pool.map(Control.tick, controls))
        assert broker.waiting() == _WINDOW == broker.book.progress(broker.tournament).queued
    finally:
        for control in controls:
            control.close()


def test_beat_hands_out_matches_while_all_workers_are_busy(broker: IdleBroker) -> None:
    """Otherwise nothing would notice that a worker has died while the others are busy."""
    beat = broker.start("orchestrator", "beat")
    try:
        wait_for(lambda: broker.waiting() == _WINDOW, "beat to hand matches out")
        broker.broker.delete(MATCH_QUEUE)
        with broker.book._engine.begin() as connection:  # as if their workers had died a while ago
            values = "state = 'playing', lease_until_ms = 1, slot = 0, published_ms = NULL, queued_ms = NULL"
            connection.exec_driver_sql(f"UPDATE matches SET {values} WHERE state = 'queued'")
        wait_for(lambda: broker.waiting() == _WINDOW, "matches of dead workers to be handed out again")
    finally:
        assert beat.stop() == 0


def test_ticks_that_are_not_taken_in_time_expire(broker: IdleBroker) -> None:
    """A beat keeps sending without a control worker; a later worker does not run all the old ticks."""
    for _ in range(3):
        broker.app.send_task("rubble.tick", expires=-1)
    assert int(str(broker.broker.llen(CONTROL_QUEUE))) == 3 and broker.waiting() == 0
    control = broker.start("celery", "-A", "orchestrator.tasks", "worker", "--queues", CONTROL_QUEUE)
    try:
        wait_for(lambda: broker.broker.llen(CONTROL_QUEUE) == 0, "the old ticks to be taken")
        assert broker.waiting() == 0
        broker.app.send_task("rubble.tick")
        wait_for(lambda: broker.waiting() == _WINDOW, "a tick that is in time")
    finally:
        assert control.stop() == 0


def test_pause_and_cancel_take_effect_at_the_next_tick(broker: IdleBroker) -> None:
    broker.book.set_state(broker.tournament, PAUSED)
    assert broker.dispatch() == 0 == broker.waiting()
    broker.book.set_state(broker.tournament, RUNNING)
    assert broker.dispatch() == _WINDOW
    broker.book.set_state(broker.tournament, CANCELLED)
    broker.broker.flushdb()
    assert broker.dispatch() == 0 == broker.waiting()


def test_a_worker_ignores_a_message_that_is_out_of_date(broker: IdleBroker) -> None:
    """The service of this worker does not exist, so playing the match would block."""
    worker = Worker(broker.settings)
    try:
        (first, *_) = broker.book.hand_out(1, 1000)
        broker.clock.ms += 1001
        assert [match.id for match in broker.book.hand_out(1, 1000)] == [first.id]
        worker.play(first.id, 1)  # handed out again since
        worker.play("nobody knows it", 1)
        second = broker.book.match(first.id)
        assert second is not None and second.slot is None, "the match has not begun"
        worker.leave()
        worker.play(first.id, 2)
        again = broker.book.match(first.id)
        assert again is not None and again.state == "planned", "a stopping worker gives its matches back"
    finally:
        worker.close()


class _Held(MatchRunner):
    """Plays a match until the test ends it."""

    over: ClassVar[dict[str, threading.Event]] = {}

    def play(self, match_id: str, delivery: int) -> None:
        self.over[match_id].wait()


def test_a_worker_requests_matches_when_an_eighth_of_it_is_idle(broker: IdleBroker) -> None:
    """A request per match would cost too much; without requests, capacity stays unused until the next tick."""
    worker = Worker(replace(broker.settings, concurrency=16), _Held)
    names = [str(number) for number in range(16)]
    _Held.over.update({name: threading.Event() for name in names})
    try:
        with ThreadPoolExecutor(16) as threads:
            playing = [threads.submit(worker.play, name, 1) for name in names]
            asked = []
            for name, match in zip(names, playing, strict=True):
                wait_for(lambda: all(one.running() or one.done() for one in playing), "all to be played")
                _Held.over[name].set()
                asked.append(match.result())
    finally:
        worker.close()
    assert asked == [False, True] * 8


class _SlowControl(Control):
    """Its first tick lasts until the test releases it."""

    begun, rest, rounds = threading.Event(), threading.Event(), 0

    def tick(self) -> bool:
        type(self).rounds += 1
        self.begun.set()
        self.rest.wait()
        return False


def test_a_tick_that_arrives_during_another_one_is_not_lost(
    broker: IdleBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The running tick may have looked before the change for which the new one was sent."""
    for name, value in broker.settings.to_env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(ControlTask, "control_class", _SlowControl)
    task = ControlTask()
    try:
        with ThreadPoolExecutor(1) as threads:
            first = threads.submit(task.tick)
            _SlowControl.begun.wait()
            for _ in range(3):
                task.tick()
            _SlowControl.rest.set()
            first.result()
    finally:
        task.close()
    assert _SlowControl.rounds == 2, "one more tick for all three"


# ------------------------------------------------------------------------------------------------------------- settings
def test_settings_reach_another_process_unchanged(tmp_path: Path) -> None:
    settings = Settings("sqlite://", "redis://", ServiceAccess("here:1", "secret", "ca.pem"), tmp_path, 3, 9)
    read = read_settings(settings.to_env())
    assert replace(read, hidden=()) == settings
    assert tmp_path in read.hidden
    assert "secret" not in repr(settings)


@pytest.mark.parametrize("name", ["RUBBLE_BOOK", "RUBBLE_BROKER", "RUBBLE_ADDRESS", "RUBBLE_OPERATOR_TOKEN"])
def test_the_error_names_a_missing_setting(tmp_path: Path, name: str) -> None:
    env = Settings("sqlite://", "redis://", ServiceAccess("here:1", "secret"), tmp_path, 3, 9).to_env() | {name: ""}
    with pytest.raises(BadSetting, match=name):
        read_settings(env)


@pytest.mark.parametrize("value", ["0", "-1", "many", "9999", "٣"])
def test_a_number_out_of_bounds_is_refused(tmp_path: Path, value: str) -> None:
    env = Settings("sqlite://", "redis://", ServiceAccess("here:1", "secret"), tmp_path, 3, 9).to_env()
    with pytest.raises(BadSetting, match="RUBBLE_CONCURRENCY"):
        read_settings(env | {"RUBBLE_CONCURRENCY": value})


def test_a_token_may_come_from_a_file(tmp_path: Path) -> None:
    env = Settings("sqlite://", "redis://", ServiceAccess("here:1", "x"), tmp_path, 3, 9).to_env() | {
        "RUBBLE_OPERATOR_TOKEN": ""
    }
    (tmp_path / "token").write_text("secret\n")
    assert (
        read_settings(env | {"RUBBLE_OPERATOR_TOKEN_FILE": str(tmp_path / "token")}).access.operator_token == "secret"
    )
    with pytest.raises(BadSetting, match="can be read"):
        read_settings(env | {"RUBBLE_OPERATOR_TOKEN_FILE": str(tmp_path / "nothing")})


@pytest.mark.parametrize(("name", "read"), [("RUBBLE_BOOK", "book"), ("RUBBLE_BROKER", "broker")])
def test_addresses_with_passwords_may_come_from_a_file(tmp_path: Path, name: str, read: str) -> None:
    env = Settings("sqlite://", "redis://", ServiceAccess("here:1", "x"), tmp_path, 3, 9).to_env()
    file = tmp_path / "address"
    file.write_text("redis://:hunter2@host/1\n")
    assert getattr(read_settings(env | {name: "", f"{name}_FILE": str(file)}), read) == "redis://:hunter2@host/1"
    with pytest.raises(BadSetting, match="not both"):
        read_settings(env | {f"{name}_FILE": str(file)})
    file.write_text("\n")
    with pytest.raises(BadSetting, match="something in it"):
        read_settings(env | {name: "", f"{name}_FILE": str(file)})


def test_a_worker_without_settings_says_what_is_missing() -> None:
    ended = run_command(PYTHON, "-m", "orchestrator")
    assert ended.returncode == 2 and ended.stderr.startswith("rubble worker: RUBBLE_OPERATOR_TOKEN=")
