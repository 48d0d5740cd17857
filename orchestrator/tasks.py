"""The Celery tasks: they carry ids, contain no rules and are safe to repeat. The book decides what is played and what counts.

``celery -A orchestrator.tasks …`` finds the application here; its broker is RUBBLE_BROKER, or in the file RUBBLE_BROKER_FILE.
"""

import logging
import os
import threading
from typing import Final

from celery import Task, signals
from kombu.exceptions import OperationalError
from sqlalchemy.exc import SQLAlchemyError

from orchestrator.bot_processes.pool import BotCannotStart
from orchestrator.bot_starts import Started
from orchestrator.celery_app import FIT_LADDERS, PLAY_MATCH, START_BOTS, TICK, make_app, send_fit, send_tick
from orchestrator.control import Control
from orchestrator.match_runner import MatchRunner
from orchestrator.settings import BROKER_EXPECTED, read_settings, secret
from orchestrator.worker import Worker

_LOG: Final = logging.getLogger(__name__)
#: Temporary failures: the next tick tries again.
_AWAY: Final = (OperationalError, SQLAlchemyError, OSError)


def _broker() -> str:
    """Return the broker of our settings, or the one that ``celery -b`` names."""
    named = os.environ.get("CELERY_BROKER_URL", "")
    if named and not os.environ.get("RUBBLE_BROKER") and not os.environ.get("RUBBLE_BROKER_FILE"):
        return named
    return secret(os.environ, "RUBBLE_BROKER", BROKER_EXPECTED)


app: Final = make_app(_broker)


class MatchTask(Task):  # type: ignore[type-arg]  # Celery's own class takes no argument when it runs
    """Keeps the worker of this process between matches; the first match creates it."""

    runner_class: type[MatchRunner] = MatchRunner

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        with self._lock:
            if self._worker is None:
                self._worker = Worker(read_settings(), self.runner_class)
            return self._worker

    def leave(self, **_: object) -> None:
        """Begin no more matches, and stop watching the current ones."""
        if self._worker is not None:
            self._worker.leave()

    def close(self, **_: object) -> None:
        """Stop the bots of this process."""
        if self._worker is not None:
            self._worker.close()


class ControlTask(Task):  # type: ignore[type-arg]  # as above
    """Keeps what ticks need in between."""

    control_class: type[Control] = Control

    def __init__(self) -> None:
        self._alone = threading.Lock()
        self._is_due = threading.Event()
        self._making = threading.Lock()
        self._control: Control | None = None

    @property
    def control(self) -> Control:
        with self._making:
            if self._control is None:
                self._control = self.control_class(self.app, read_settings())
            return self._control

    def tick(self) -> None:
        """Run one round. Requests that arrive while a round runs in this process are answered by one more round."""
        self._is_due.set()
        while self._is_due.is_set() and self._alone.acquire(blocking=False):
            try:
                self._is_due.clear()
                if self.control.tick():
                    send_fit(self.app)
            finally:
                self._alone.release()

    def close(self, **_: object) -> None:
        """Close the book and the channel to the service."""
        if self._control is not None:
            self._control.close()


@app.task(name=PLAY_MATCH, base=MatchTask, bind=True)
def play_match(self: MatchTask, match_id: str, delivery: int) -> None:
    """Play one match to its end, unless it was handed out again. Then ask for more matches if this worker has enough free slots."""
    if self.worker.play(match_id, delivery):
        send_tick(self.app)


@app.task(name=START_BOTS)
def start_bots(tournament: str) -> None:
    """Start the bots of a tournament that run here, wait until they are connected, and print the result."""
    result = Started()
    try:
        play_match.worker.start_bots(tournament)
    except BotCannotStart as error:
        result = Started(error.name, error.why, error.words)
    except Exception as error:
        result = Started(why=f"{type(error).__name__}: {error}")
        raise
    finally:
        print(result.line(tournament), flush=True)


@app.task(name=TICK, base=ControlTask, bind=True, throws=_AWAY)
def tick(self: ControlTask) -> None:
    """Hand out matches until the window is full, and maintain tournaments."""
    try:
        self.tick()
    except _AWAY as error:
        _LOG.warning("nothing is handed out: book or broker does not answer (%s); trying again", error)
        raise


@app.task(name=FIT_LADDERS, throws=_AWAY)
def fit_ladders() -> None:
    """Bring the tables of ladders up to date. Ticks go on meanwhile."""
    tick.control.fit_ladders()


@signals.worker_shutting_down.connect
def _leave(**_: object) -> None:
    play_match.leave()


@signals.worker_shutdown.connect
def _close(**_: object) -> None:
    play_match.close()
    tick.close()
