"""Control work: matches are handed out and tournaments looked after, round after round."""

from celery import Celery

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.dispatch import Dispatcher
from orchestrator.settings import Settings
from orchestrator.upkeep import Upkeep


class Control:
    """What control work keeps from one round to the next. Two of them on one book do no harm: the book decides who hands out."""

    def __init__(self, app: Celery, settings: Settings) -> None:
        self._book = Book(settings.book)
        self._client = ArenaClient(settings.access)
        self._dispatcher = Dispatcher(app, self._book, settings.window)
        self._upkeep = Upkeep(self._book, self._client)

    def tick(self) -> None:
        """Hand out matches until the window is full, and look after tournaments."""
        with metrics.TICK_SECONDS.time():
            self._dispatcher.hand_out()
            self._upkeep.look_after_all()

    def close(self) -> None:
        """Let go of book and service."""
        self._client.close()
        self._book.close()
