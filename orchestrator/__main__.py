"""``python -m orchestrator [worker [--beat] | beat | api]``: the processes of the orchestrator.

A worker plays matches. ``beat`` runs Celery's beat, which sends a tick every two seconds, and the control worker, which handles
the ticks: it hands out matches and maintains tournaments and ladders. ``worker --beat`` runs both in one process. ``api`` serves
TournamentService and LadderService.
"""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from celery import Celery, signals
from sqlalchemy.exc import SQLAlchemyError

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.celery_app import CONTROL_QUEUE, MATCH_QUEUE
from orchestrator.dispatch import queue_length
from orchestrator.settings import BadSetting, Settings, read_settings
from service import logs

_LOG: Final = logging.getLogger(__name__)
_BAD_SETTING: Final = 2
_CANNOT_START: Final = 1
#: One for ticks, and one for the tables of ladders.
_CONTROL_THREADS: Final = 2
#: Before beat is started again, in seconds.
_BEAT_PAUSE_S: Final = 1.0


def main(arguments: Sequence[str]) -> None:
    """Run until stopped. If that is not possible, the last line on standard error is one sentence that says why."""
    role = "worker" if not arguments or arguments[0].startswith("-") else arguments[0]
    try:
        _run(role, arguments)
    except SQLAlchemyError as error:
        print(f"rubble {role}: the book cannot be used: {str(error).splitlines()[0]}", file=sys.stderr)
        sys.exit(_CANNOT_START)
    except Exception as error:
        _LOG.exception("internal error")
        first_line = (str(error).splitlines() or [""])[0]
        print(
            f"rubble {role}: internal error (please report it): {type(error).__name__}: {first_line}", file=sys.stderr
        )
        sys.exit(_CANNOT_START)


def _run(role: str, arguments: Sequence[str]) -> None:
    try:
        if role == "api":
            from orchestrator.api.serve import serve

            sys.exit(serve())
        settings = read_settings()
    except BadSetting as error:
        print(f"rubble {role}: {error}", file=sys.stderr)
        sys.exit(_BAD_SETTING)
    logs.configure("info", "logfmt", [settings.access.operator_token])
    stop = _serve_metrics(settings, role)
    try:
        _beat() if role == "beat" else _work(settings, is_beat="--beat" in arguments)
    finally:
        stop()


def _work(settings: Settings, *, is_beat: bool) -> None:
    from orchestrator.tasks import app

    metrics.WORKER_CONCURRENCY.set(settings.concurrency)
    if not is_beat:
        _consume(app, "worker", [MATCH_QUEUE], settings.concurrency)
    _start_beat(app)
    # The window must be no larger than the concurrency: then one thread is always left for ticks.
    _consume(app, "worker", [MATCH_QUEUE, CONTROL_QUEUE], settings.concurrency + 1)


def _beat() -> None:
    from orchestrator.tasks import app

    _start_beat(app)
    _consume(app, "beat", [CONTROL_QUEUE], _CONTROL_THREADS)


def _start_beat(app: Celery) -> None:
    """Start beat in a thread: a process forked by Celery's own --beat would survive if this process is killed."""
    threading.Thread(target=_send_ticks, args=(app,), daemon=True, name="beat").start()


def _send_ticks(app: Celery) -> None:
    """Run Celery's beat, and start it again if a tick cannot be sent: the bots of this process play on while the broker is away.

    If it fails otherwise, end this process so that its supervisor restarts it.
    """
    from celery.beat import SchedulingError, Service

    while True:
        try:
            Service(app, scheduler_cls=app.conf.beat_scheduler).start()
            return
        except SchedulingError as error:
            _LOG.warning("a tick cannot be sent (%s); trying again", error)
            time.sleep(_BEAT_PAUSE_S)
        except Exception:
            _LOG.exception("beat failed")
            os.kill(os.getpid(), signal.SIGTERM)
            return


def _consume(app: Celery, role: str, queues: Sequence[str], concurrency: int) -> NoReturn:
    """Run the tasks of these queues until stopped. The process id is in the hostname: several of a role may run on a host."""

    def say_ready(**_: object) -> None:
        print(f"{role} ready", flush=True)

    signals.worker_ready.connect(say_ready, weak=False)
    # Starts the worker directly, because the command line of `celery worker` takes 0.1 s to import.
    worker = app.Worker(
        hostname=f"{role}.{os.getpid()}@{socket.gethostname()}",
        queues=list(queues),
        concurrency=concurrency,
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,  # workers coordinate through the book
        without_mingle=True,
    )
    worker.start()
    sys.exit(worker.exitcode)


def _serve_metrics(settings: Settings, role: str) -> Callable[[], None]:
    """Serve metrics to Prometheus if an address is set, and return the function that stops it."""
    if not settings.metrics:
        return lambda: None
    book = None
    if role == "beat":
        from orchestrator.tasks import app

        book = Book(settings.book)
        metrics.BEAT.register(
            metrics.ArenaCollector(book, settings.window, lambda: queue_length(app), has_ladders=settings.ladders)
        )
    try:
        address, stop = metrics.serve(settings.metrics, role)
    except OSError as error:
        print(f"rubble {role}: cannot serve metrics on {settings.metrics}: {error.strerror}", file=sys.stderr)
        sys.exit(_CANNOT_START)
    print(f"metrics on {address}", flush=True)

    def end() -> None:
        stop()
        if book is not None:
            book.close()

    return end


if __name__ == "__main__":
    main(sys.argv[1:])
