"""Celery's own commands find the application, and its events show what workers and tasks do."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from orchestrator import planning
from orchestrator.book import Book
from orchestrator.celery_app import CONTROL_QUEUE, MATCH_QUEUE, PLAY_MATCH, TICK, make_app
from orchestrator.roster import GameFacts, read_roster
from tests.harness.processes import PYTHON, clean_env, logs, run_command
from tests.harness.tournaments import TournamentArena, roster_text
from tests.harness.waiting import PATIENCE_S, wait_for

Event = dict[str, Any]


@dataclass
class Listening:
    """Receives the events of all workers, as Flower does."""

    arena: TournamentArena
    app: Celery
    heard: list[Event]

    def wait_for(self, **wanted: str) -> Event:
        """Wait for the first event with these values; the node matches by the start of its name."""

        def found() -> Event | None:
            return next((event for event in self.heard if all(map(partial(_has, event), wanted.items()))), None)

        wait_for(lambda: found() is not None, lambda: f"{wanted}: {self.heard[-20:]}{logs(self.arena.folder)}")
        return found() or {}

    def inspect(self, what: str) -> dict[str, Any]:
        """Return the output of ``celery inspect``, by node."""
        command = (PYTHON, "-m", "celery", "-A", "orchestrator.tasks", "inspect", what, "--json", "-t", "10")
        ended = run_command(*command, env=clean_env(RUBBLE_BROKER=self.arena.settings.broker))
        assert ended.returncode == 0, ended.stdout + ended.stderr
        found: dict[str, Any] = json.loads(ended.stdout)
        return {node.split(".")[0]: answer for node, answer in found.items()}


def _has(event: Event, wanted: tuple[str, str]) -> bool:
    name, value = wanted
    reply = str(event.get(name, ""))
    return reply.startswith(f"{value}.") if name == "hostname" else reply == value


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    folder: Path = tmp_path_factory.mktemp("celery")
    with TournamentArena(folder, concurrency=2, has_beat=True) as arena:
        app = make_app(arena.settings.broker)
        heard: list[Event] = []
        with app.connection_for_read() as connection:
            receiver = app.events.Receiver(connection, handlers={"*": heard.append})
            thread = threading.Thread(target=receiver.capture, kwargs={"limit": None}, daemon=True)
            thread.start()
            yield Listening(arena, app, heard)
            receiver.should_stop = True
            thread.join(PATIENCE_S)


def test_workers_send_heartbeats(listening: Listening) -> None:
    for role in ("worker", "beat"):
        listening.wait_for(type="worker-heartbeat", hostname=role)


def test_inspect_finds_each_worker_with_its_queue_and_tasks(listening: Listening) -> None:
    test_workers_send_heartbeats(listening)
    assert listening.inspect("ping") == {"worker": {"ok": "pong"}, "beat": {"ok": "pong"}}
    queues = {node: [queue["name"] for queue in found] for node, found in listening.inspect("active_queues").items()}
    assert queues == {"worker": [MATCH_QUEUE], "beat": [CONTROL_QUEUE]}
    assert {PLAY_MATCH, TICK} <= set(listening.inspect("registered")["worker"])


def test_the_events_of_ticks_and_matches_go_from_sent_to_succeeded(listening: Listening) -> None:
    book = Book(listening.arena.settings.book)
    text = roster_text({"a": "random", "b": "random"}, name="seen", game="relief", players=2, deals=1, seed=5)
    tournament = planning.enter(book, read_roster(text, [GameFacts("relief", 1, (2, 3))]))
    for task, role in ((TICK, "beat"), (PLAY_MATCH, "worker")):
        received = listening.wait_for(type="task-received", name=task, hostname=role)
        for kind in ("task-started", "task-succeeded"):
            listening.wait_for(type=kind, uuid=received["uuid"])
    listening.wait_for(type="task-sent", name=PLAY_MATCH)
    wait_for(lambda: book.progress(tournament.id).is_over, lambda: f"all is played{logs(listening.arena.folder)}")
    book.close()


def test_a_channel_keeps_its_redis_client_as_long_as_its_pool_of_connections(listening: Listening) -> None:
    with listening.app.connection_for_write() as connection:
        channel: Any = connection.default_channel

        def client() -> Any:
            with channel.conn_or_acquire() as found:
                return found

        first = client()
        assert first.ping()
        assert client() is first
        channel._disconnect_pools()  # as kombu does after a lost connection
        assert client() is not first
        assert client().ping()
