"""Dispatch: a match that may be played becomes a message that a worker takes."""

from typing import Any, Final

from celery import Celery

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.celery_app import MATCH_QUEUE, PLAY_MATCH

#: A match that has been queued for this long is published again: its message is lost or waits behind long matches.
RESEND_MS: Final = 30_000


class Dispatcher:
    """Queues matches in the book and publishes them."""

    def __init__(self, app: Celery, book: Book, window: int) -> None:
        """At most ``window`` matches are handed out at a time, and as many messages queued, even while no worker takes them."""
        self._app = app
        self._book = book
        self._window = window

    def hand_out(self, tournament: str | None = None) -> int:
        """Queue and publish matches, of one tournament or all; returns how many. After a crash in between they are sent again."""
        with self._app.producer_pool.acquire(block=True) as producer:
            waiting = _declared(producer.channel)
            queued = self._book.hand_out(self._window, RESEND_MS, tournament, most=self._window - waiting)
            for kind, count in self._book.take_expiries().items():
                metrics.LEASE_EXPIRIES.labels(kind).inc(count)
            for match in queued:
                task_id = f"{match.id}.{match.voids}.{match.deliveries}"
                self._app.send_task(PLAY_MATCH, (match.id, match.deliveries), task_id=task_id, producer=producer)
                metrics.MATCHES_DISPATCHED.inc()
        return len(queued)


def queue_length(app: Celery) -> int:
    """Messages that no worker has taken yet."""
    with app.connection_for_read() as connection:
        return _declared(connection.default_channel)


def _declared(channel: Any) -> int:
    """Declare the match queue and return its number of messages. Every channel can do this, but the types do not say so."""
    return int(channel.queue_declare(queue=MATCH_QUEUE, durable=True, auto_delete=False).message_count)
