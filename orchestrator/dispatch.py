"""Handing out: a match that may be played becomes a message that a worker takes."""

from typing import Any

from celery import Celery

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.celery_app import MATCH_QUEUE, PLAY_MATCH
from orchestrator.worker import QUEUE_LEASE_MS


class Dispatcher:
    """Leases matches in the book and publishes them."""

    def __init__(self, app: Celery, book: Book, window: int) -> None:
        """There are never more than ``window`` matches out, nor messages in the queue, also while no worker takes them."""
        self._app = app
        self._book = book
        self._window = window

    def hand_out(self, tournament: str | None = None) -> int:
        """Lease matches, of one tournament or of all, and publish them; how many. The lease heals a crash in between."""
        with self._app.producer_pool.acquire(block=True) as producer:
            waiting = _declared(producer.channel)
            leased = self._book.lease(self._window, QUEUE_LEASE_MS, tournament, most=self._window - waiting)
            for kind, count in self._book.take_expiries().items():
                metrics.LEASE_EXPIRIES.labels(kind).inc(count)
            for match in leased:
                delivery = match.deliveries + 1
                task_id = f"{match.id}.{match.voids}.{delivery}"
                self._app.send_task(PLAY_MATCH, (match.id, delivery), task_id=task_id, producer=producer)
                metrics.MATCHES_DISPATCHED.inc()
        return len(leased)


def queue_length(app: Celery) -> int:
    """Messages that no worker has taken yet."""
    with app.connection_for_read() as connection:
        return _declared(connection.default_channel)


def _declared(channel: Any) -> int:
    """The queue of matches is there; how many messages wait in it. Every channel can do this, which the types do not know."""
    return int(channel.queue_declare(queue=MATCH_QUEUE, durable=True, auto_delete=False).message_count)
