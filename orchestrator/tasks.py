"""Celery, thin: tasks carry ids, hold no rules and are safe to repeat. The book decides what is played and what counts."""

import logging
import threading
from typing import Any, Final

from celery import Celery, signals
from celery.beat import Scheduler
from kombu import pools
from kombu.exceptions import OperationalError
from sqlalchemy.exc import SQLAlchemyError

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.settings import Settings, read_settings
from orchestrator.upkeep import Upkeep
from orchestrator.worker import QUEUE_LEASE_MS, Worker

_LOG: Final = logging.getLogger(__name__)
QUEUE: Final = "rubble"
TICK_S: Final = 2.0


def make_app(broker: str) -> Celery:
    """A Celery application on this broker. Results go to the book, never to a result backend."""
    app = Celery("rubble", broker=broker)
    app.conf.update(
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_serializer="json",
        accept_content=["json"],
        worker_prefetch_multiplier=1,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_transport_options=_transport(broker),
        beat_schedule={"tick": {"task": "rubble.tick", "schedule": TICK_S}},
    )
    return app


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


app: Final = make_app("")
_lock: Final = threading.Lock()
_worker: Worker | None = None
_settings: Settings | None = None
_office: "_Office | None" = None


class _Office:
    """What handing out needs, kept from one round to the next."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.book = Book(settings.book)
        self._client = ArenaClient(settings.door)
        self.upkeep = Upkeep(self.book, self._client)

    def close(self) -> None:
        self._client.close()
        self.book.close()


def configure(settings: Settings) -> Celery:
    """The application of this process."""
    global _settings  # noqa: PLW0603  # one process is one worker; Celery finds it through this module
    if _settings is not None and _settings.broker != settings.broker:
        pools.reset()  # connections to the broker before
        app.close()
        app.__dict__.pop("amqp", None)
    _settings = settings
    app.conf.update(broker_url=settings.broker, broker_transport_options=_transport(settings.broker))
    return app


def _own_settings() -> Settings:
    return _settings if _settings is not None else read_settings()


def worker() -> Worker:
    """The worker of this process, made when the first task comes."""
    global _worker  # noqa: PLW0603  # see configure
    with _lock:
        if _worker is None:
            _worker = Worker(_own_settings())
        return _worker


def office() -> _Office:
    """The office of this process, opened for the first round."""
    global _office  # noqa: PLW0603  # see configure
    settings = _own_settings()
    with _lock:
        if _office is not None and _office.settings != settings:
            _office.close()
            _office = None
        if _office is None:
            _office = _Office(settings)
        return _office


def queue_length() -> int:
    """Messages that no worker has taken yet."""
    with app.connection_for_read() as connection:
        channel: Any = connection.default_channel
        return _declared(channel)


@signals.worker_ready.connect
def _say_ready(**_: object) -> None:
    print("worker ready", flush=True)


@signals.beat_init.connect
def _say_beat(**_: object) -> None:
    print("beat ready", flush=True)


@signals.worker_shutting_down.connect
def _leave(**_: object) -> None:
    if _worker is not None:
        _worker.leave()


@signals.worker_shutdown.connect
def _shut_down(**_: object) -> None:
    if _worker is not None:
        _worker.close()


@app.task(name="rubble.play_match")
def play_match(match_id: str, delivery: int) -> None:
    """Play one match to its end, unless it was handed out again since."""
    worker().play(match_id, delivery)


class Clockwork(Scheduler):
    """Celery's clock, which does what is due here and now. It keeps nothing between two starts: the book does.

    A round that went through the queue would wait there behind the matches: with every worker busy nobody would notice that
    one of them has died, and the queue would be filled again only when it is empty.
    """

    producer = None  # type: ignore[assignment]  # nothing is sent on its behalf

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """One round. What is away will be back, and the next round comes in any case."""
        del entry, producer
        try:
            tick()
        except (OperationalError, SQLAlchemyError, OSError) as error:
            _LOG.warning("nothing is handed out: book or broker does not answer (%s); trying again", error)
        except Exception:
            _LOG.exception("a bug of ours in handing out; trying again")


def tick() -> None:
    """Hand out matches until the window is full, and look after tournaments."""
    opened = office()
    with metrics.TICK_SECONDS.time():
        dispatch(opened.book, opened.settings.window)
        opened.upkeep.look_after_all()


def dispatch(book: Book, window: int, tournament: str | None = None) -> int:
    """Lease matches and publish them; how many. A crash in between is healed by the lease.

    There are never more than ``window`` messages in the queue, also while no worker takes them.
    """
    with app.producer_pool.acquire(block=True) as producer:
        channel: Any = producer.channel  # every transport's channel can do this, which the types do not know
        waiting = _declared(channel)
        leased = book.lease(window, QUEUE_LEASE_MS, tournament, most=window - waiting)
        for kind, count in book.take_expiries().items():
            metrics.LEASE_EXPIRIES.labels(kind).inc(count)
        for match in leased:
            delivery = match.deliveries + 1
            task_id = f"{match.id}.{match.voids}.{delivery}"
            play_match.apply_async((match.id, delivery), task_id=task_id, producer=producer)
            metrics.MATCHES_DISPATCHED.inc()
    return len(leased)


def _declared(channel: Any) -> int:
    """The queue is there; how many messages wait in it."""
    return int(channel.queue_declare(queue=QUEUE, durable=True, auto_delete=False).message_count)
