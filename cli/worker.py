"""``rubble worker``, ``rubble beat`` and ``rubble api``: the separate processes of the orchestrator."""

import os
from typing import Annotated

import typer

Metrics = Annotated[
    str,
    typer.Option(
        "--metrics", metavar="ADDR", help="host:port of the Prometheus metrics (RUBBLE_METRICS); see docs/metrics.md."
    ),
]


def _start(arguments: list[str], **settings: str) -> int:
    from cli.processes import keep_private
    from orchestrator.__main__ import main

    keep_private()
    os.environ.update({name: value for name, value in settings.items() if value})
    main(arguments)
    return 0


def worker(metrics: Metrics = "") -> int:
    """Play the matches of tournaments in a book, until SIGTERM.

    Settings come from the environment: RUBBLE_BOOK, RUBBLE_BROKER (redis://, redis+socket:// or amqp://), RUBBLE_ADDRESS of
    the service, RUBBLE_OPERATOR_TOKEN, RUBBLE_WORK_DIR, RUBBLE_CONCURRENCY. Those with a secret can be given as …_FILE.
    """
    return _start(["worker"], RUBBLE_METRICS=metrics)


def beat(metrics: Metrics = "") -> int:
    """Hand out matches to workers and manage tournaments, until SIGTERM. An arena has exactly one.

    It is Celery's beat together with the worker of the queue `control`. It has the same settings as a worker, and
    RUBBLE_WINDOW: how many matches may be handed out at once.
    """
    return _start(["beat"], RUBBLE_METRICS=metrics)


def api(
    listen: Annotated[
        str, typer.Option("--listen", metavar="ADDR", help="host:port to listen on (RUBBLE_API_LISTEN).")
    ] = "",
    metrics: Metrics = "",
) -> int:
    """Serve TournamentService, until SIGTERM.

    Settings come from the environment: RUBBLE_BOOK, RUBBLE_ADDRESS of the service, RUBBLE_OPERATOR_TOKEN (callers need it too),
    RUBBLE_BOT_ADDRESS if remote bots connect to another address, RUBBLE_TLS_CERT and RUBBLE_TLS_KEY. When ready it prints one
    line: api on ADDR.
    """
    return _start(["api"], RUBBLE_API_LISTEN=listen, RUBBLE_METRICS=metrics)
