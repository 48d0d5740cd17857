"""``rubble worker``, ``rubble beat`` and ``rubble api``: the processes of the orchestrator, one by one."""

import os
from typing import Annotated

import typer

Metrics = Annotated[
    str, typer.Option("--metrics", metavar="ADDR", help="host:port for Prometheus (RUBBLE_METRICS); docs/metrics.md.")
]


def _start(arguments: list[str], **settings: str) -> int:
    from cli.processes import keep_private
    from orchestrator.__main__ import main

    keep_private()
    os.environ.update({name: value for name, value in settings.items() if value})
    main(arguments)
    return 0


def worker(metrics: Metrics = "") -> int:
    """Play matches of a book's tournaments, until SIGTERM.

    Settings come from the environment: RUBBLE_BOOK, RUBBLE_BROKER (redis://, redis+socket:// or amqp://), RUBBLE_ADDRESS of
    the service, RUBBLE_OPERATOR_TOKEN, RUBBLE_WORK_DIR, RUBBLE_CONCURRENCY. Those that may carry a secret can be given as …_FILE.
    """
    return _start(["worker"], RUBBLE_METRICS=metrics)


def beat(metrics: Metrics = "") -> int:
    """Hand out matches to workers and look after tournaments, until SIGTERM. One of these in the whole arena.

    It is Celery's beat together with the worker of the queue `control`. It takes the same settings as a worker, and
    RUBBLE_WINDOW: how many matches may be out at once.
    """
    return _start(["beat"], RUBBLE_METRICS=metrics)


def api(
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDR", help="host:port to listen on (RUBBLE_API_LISTEN).")
    ] = "",
    metrics: Metrics = "",
) -> int:
    """Answer TournamentService, until SIGTERM.

    Settings come from the environment: RUBBLE_BOOK, RUBBLE_ADDRESS of the service, RUBBLE_OPERATOR_TOKEN (also the callers'),
    RUBBLE_BOT_ADDRESS where remote bots dial in, if that is another one, RUBBLE_TLS_CERT and RUBBLE_TLS_KEY. When ready it
    prints one line: api on ADDR.
    """
    return _start(["api"], RUBBLE_API_LISTEN=listen, RUBBLE_METRICS=metrics)
