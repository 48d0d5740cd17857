"""``python -m orchestrator [worker | beat | api] [--beat]``: the processes of the orchestrator.

A worker plays matches; ``--beat`` also hands them out. ``beat`` does only that, every two seconds. ``api`` answers
TournamentService.
"""

import logging
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from orchestrator import (
    bot_starts,  # noqa: F401  # its task is known once it is imported
    metrics,
    tasks,
)
from orchestrator.book import Book
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
    logs.configure("info", "logfmt", [settings.door.operator_token])
    stop = _serve_metrics(settings, role, hands_out=role == "beat" or "--beat" in arguments)
    try:
        _beat(settings) if role == "beat" else _work(settings, is_beat="--beat" in arguments)
    finally:
        stop()


def _work(settings: Settings, *, is_beat: bool) -> None:
    metrics.WORKER_CONCURRENCY.set(settings.concurrency)
    app = tasks.configure(settings)
    if is_beat:  # in a thread: Celery's own --beat would fork, and what is counted there nobody would see
        from celery.beat import Service

        threading.Thread(target=Service(app, scheduler_cls=tasks.Clockwork).start, daemon=True, name="beat").start()
    # As `celery worker` does it; its command line takes a tenth of a second to import.
    worker = app.Worker(
        pool_cls="threads",
        concurrency=settings.concurrency,
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    sys.exit(worker.exitcode)


def _beat(settings: Settings) -> None:
    beat = tasks.configure(settings).Beat(scheduler="orchestrator.tasks:Clockwork", loglevel="WARNING", quiet=True)
    beat.run()  # it ends the process itself


def _serve_metrics(settings: Settings, role: str, *, hands_out: bool) -> Callable[[], None]:
    """Answer Prometheus, if it is wanted; what to call at the end."""
    if not settings.metrics:
        return lambda: None
    book = Book(settings.book) if hands_out else None
    if book is not None:
        metrics.show_arena(role, metrics.ArenaCollector(book, settings.window, tasks.queue_length))
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
