"""Control work: hands out matches and maintains tournaments, once per tick."""

from celery import Celery

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.dispatch import Dispatcher
from orchestrator.settings import Settings
from orchestrator.upkeep import Upkeep


class Control:
    """Keeps what control work needs between ticks. Two of them may share a book: the book decides which one hands out."""

    def __init__(self, app: Celery, settings: Settings) -> None:
        self._book = Book(settings.book)
        self._client = ArenaClient(settings.access)
        self._dispatcher = Dispatcher(app, self._book, settings.window)
        self._upkeep = Upkeep(self._book, self._client)

    def tick(self) -> None:
        """Hand out matches until the window is full, and maintain tournaments."""
        with metrics.TICK_SECONDS.time():
            self._dispatcher.hand_out()
            self._upkeep.look_after_all()

    def close(self) -> None:
        """Close the book and the channel to the service."""
        self._client.close()
        self._book.close()
