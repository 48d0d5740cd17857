"""``python -m orchestrator [worker [--beat] | beat | api]``: the processes of the orchestrator.

A worker plays matches. ``beat`` is Celery's beat, which sends a tick every two seconds, and the control worker, which carries
ticks out: it hands out matches and looks after tournaments. ``worker --beat`` is both in one process. ``api`` answers
TournamentService.
"""

import logging
import os
import signal
import socket
import sys
import threading
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


def main(arguments: Sequence[str]) -> None:
    """Work until told to stop. Why that is not possible is the last line on standard error, in one sentence."""
    role = "worker" if not arguments or arguments[0].startswith("-") else arguments[0]
    try:
        _run(role, arguments)
    except SQLAlchemyError as error:
        print(f"rubble {role}: the book cannot be used: {str(error).splitlines()[0]}", file=sys.stderr)
        sys.exit(_CANNOT_START)
    except Exception as error:
        _LOG.exception("a bug of ours")
        told = (str(error).splitlines() or [""])[0]
        print(f"rubble {role}: this is a bug of ours: {type(error).__name__}: {told}", file=sys.stderr)
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
    _consume(app, "beat", [CONTROL_QUEUE], 1)


def _start_beat(app: Celery) -> None:
    """In a thread: a process that Celery's own --beat forks would outlive one that is killed."""
    threading.Thread(target=_send_ticks, args=(app,), daemon=True, name="beat").start()


def _send_ticks(app: Celery) -> None:
    """Celery's beat. Where it cannot go on, the process ends, for its supervisor to start it again."""
    from celery.beat import Service

    try:
        Service(app, scheduler_cls=app.conf.beat_scheduler).start()
    except Exception:
        _LOG.exception("beat cannot go on")
        os.kill(os.getpid(), signal.SIGTERM)


def _consume(app: Celery, role: str, queues: Sequence[str], concurrency: int) -> NoReturn:
    """Carry out the tasks of these queues until told to stop. Several of a role may run on a host: each has a name of its own."""

    def say_ready(**_: object) -> None:
        print(f"{role} ready", flush=True)

    signals.worker_ready.connect(say_ready, weak=False)
    # As `celery worker` does it, whose command line takes a tenth of a second to import.
    worker = app.Worker(
        hostname=f"{role}.{os.getpid()}@{socket.gethostname()}",
        queues=list(queues),
        concurrency=concurrency,
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,  # workers agree through the book, and need no second to meet
        without_mingle=True,
    )
    worker.start()
    sys.exit(worker.exitcode)


def _serve_metrics(settings: Settings, role: str) -> Callable[[], None]:
    """Answer Prometheus, if it is wanted; what to call at the end."""
    if not settings.metrics:
        return lambda: None
    book = None
    if role == "beat":
        from orchestrator.tasks import app

        book = Book(settings.book)
        metrics.BEAT.register(metrics.ArenaCollector(book, settings.window, lambda: queue_length(app)))
    try:
        address, stop = metrics.serve(settings.metrics, role)
    except OSError as error:
        print(f"rubble {role}: cannot answer scrapes on {settings.metrics}: {error.strerror}", file=sys.stderr)
        sys.exit(_CANNOT_START)
    print(f"metrics on {address}", flush=True)

    def end() -> None:
        stop()
        if book is not None:
            book.close()

    return end


if __name__ == "__main__":
    main(sys.argv[1:])
