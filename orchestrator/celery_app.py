"""How Celery is set up: two queues, so that control work never waits behind matches. Results go to the book, to no backend."""

import contextlib
from collections.abc import Callable
from typing import Any, Final

from celery import Celery
from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

PLAY_MATCH: Final = "rubble.play_match"
#: Sent by ``rubble run``, whose only worker plays all matches.
START_BOTS: Final = "rubble.start_bots"
TICK: Final = "rubble.tick"
#: Consumed by workers, which play one match per thread.
MATCH_QUEUE: Final = "matches"
#: Consumed by the control worker, which beat's ticks are for.
CONTROL_QUEUE: Final = "control"
TICK_S: Final = 2.0
#: A tick that nobody has taken for this long is dropped. Long enough for machines whose clocks differ by some seconds.
_TICK_EXPIRES_S: Final = 30.0


def make_app(broker: str | Callable[[], str]) -> Celery:
    """A Celery application on this broker; a function is asked for the address when it is first needed."""
    app = Celery("rubble", set_as_current=False)
    app.add_defaults(lambda: _configuration(broker if isinstance(broker, str) else broker()))
    return app


def send_tick(app: Celery) -> None:
    """Have matches handed out now. Where the broker is away nothing is sent: beat's next tick does the same."""
    with contextlib.suppress(OperationalError):
        app.send_task(TICK, expires=_TICK_EXPIRES_S, retry=False)


def _configuration(broker: str) -> dict[str, Any]:
    return {
        "broker_url": broker,
        "broker_transport_options": _transport(broker),
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # a broker that is away is waited for
        "task_queues": [Queue(name, Exchange(name), routing_key=name) for name in (MATCH_QUEUE, CONTROL_QUEUE)],
        "task_default_queue": MATCH_QUEUE,
        "task_routes": {task: {"queue": MATCH_QUEUE} for task in (PLAY_MATCH, START_BOTS)}
        | {TICK: {"queue": CONTROL_QUEUE}},
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_send_sent_event": True,
        "worker_send_task_events": True,
        "worker_pool": "threads",  # a worker keeps its bots between matches: its tasks share one process
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "beat_scheduler": "celery.beat:Scheduler",  # nothing is kept between two starts: the book does
        "beat_schedule": {"tick": {"task": TICK, "schedule": TICK_S, "options": {"expires": _TICK_EXPIRES_S}}},
    }


def _transport(broker: str) -> dict[str, Any]:
    """Redis gives an unacknowledged task to another worker after the visibility timeout; kombu looks for them every second.

    Matches last longer than that, so a task may be delivered twice: that is harmless, and how a match of a killed worker goes on.
    The lease in the book heals whatever the broker loses.
    """
    if not broker.startswith("redis"):
        return {}
    return {
        "visibility_timeout": 3600,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    }
