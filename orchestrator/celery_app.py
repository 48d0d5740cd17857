"""The Celery configuration: two queues, so that control work never waits behind matches. Results go to the book only."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from celery import Celery
from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

from orchestrator import redis_broker

PLAY_MATCH: Final = "rubble.play_match"
#: Sent by ``rubble run``, whose only worker plays all matches.
START_BOTS: Final = "rubble.start_bots"
TICK: Final = "rubble.tick"
#: Sent by a tick that finds a ladder with results that are not in its table.
FIT_LADDERS: Final = "rubble.fit_ladders"
#: Consumed by workers, which play one match per thread.
MATCH_QUEUE: Final = "matches"
#: Consumed by the control worker, which handles the ticks of beat.
CONTROL_QUEUE: Final = "control"
TICK_S: Final = 2.0
#: A tick that no worker takes within this time is dropped. Long enough for machines whose clocks differ by some seconds.
_TICK_EXPIRES_S: Final = 30.0


def make_app(broker: str | Callable[[], str]) -> Celery:
    """Make a Celery application for this broker; if ``broker`` is a function, it is called when the address is first needed."""
    redis_broker.register()
    app = Celery("rubble", set_as_current=False)
    app.add_defaults(lambda: _configuration(broker if isinstance(broker, str) else broker()))
    return app


def send_tick(app: Celery) -> None:
    """Ask for matches to be handed out now. If the broker is unavailable, nothing is sent: beat's next tick does the same."""
    with contextlib.suppress(OperationalError):
        app.send_task(TICK, expires=_TICK_EXPIRES_S, retry=False)


def send_fit(app: Celery) -> None:
    """Ask for the tables of ladders to be computed. If the broker is unavailable, a later tick asks again."""
    with contextlib.suppress(OperationalError):
        app.send_task(FIT_LADDERS, expires=_TICK_EXPIRES_S, retry=False)


def _configuration(broker: str) -> dict[str, Any]:
    return {
        "broker_url": broker,
        "broker_transport_options": _transport(broker),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # waits for a broker that is unavailable
        "task_queues": [Queue(name, Exchange(name), routing_key=name) for name in (MATCH_QUEUE, CONTROL_QUEUE)],
        "task_default_queue": MATCH_QUEUE,
        "task_routes": {task: {"queue": MATCH_QUEUE} for task in (PLAY_MATCH, START_BOTS)}
        | {task: {"queue": CONTROL_QUEUE} for task in (TICK, FIT_LADDERS)},
        "task_ignore_result": True,
        # A task is acknowledged when it begins: the lease in the book brings back the match of a worker that dies. A late
        # acknowledgement adds nothing to that, and kombu cannot send it over a connection that was lost meanwhile.
        "task_acks_late": False,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_send_sent_event": True,
        "worker_send_task_events": True,
        "worker_pool": "threads",  # a worker keeps its bots between matches: its tasks share one process
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "beat_scheduler": "celery.beat:Scheduler",  # keeps no state between restarts: the book does
        "beat_schedule": {"tick": {"task": TICK, "schedule": TICK_S, "options": {"expires": _TICK_EXPIRES_S}}},
    }


def _transport(broker: str) -> dict[str, Any]:
    """Redis gives a task that a worker took and has not begun to another one after the visibility timeout.

    A task may be delivered twice, which is harmless: the book decides. If the broker loses a task, it is sent again.
    """
    if not broker.startswith("redis"):
        return {}
    return {
        "visibility_timeout": 3600,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }
