"""Control work: hands out matches and maintains tournaments and ladders, once per tick."""

import threading
from typing import TYPE_CHECKING

from celery import Celery

from orchestrator import metrics
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.dispatch import Dispatcher
from orchestrator.settings import Settings
from orchestrator.upkeep import Upkeep

if TYPE_CHECKING:  # a process without ladders does not import the statistics
    from orchestrator.ladder_fits import LadderFits
    from orchestrator.ladder_upkeep import LadderUpkeep


class Control:
    """Keeps what control work needs between ticks. Two of them may share a book: the book decides which one hands out."""

    def __init__(self, app: Celery, settings: Settings) -> None:
        self._book = Book(settings.book)
        self._client = ArenaClient(settings.access)
        self._dispatcher = Dispatcher(app, self._book, settings.window)
        self._upkeep = Upkeep(self._book, self._client)
        self._window = settings.window
        self._has_ladders = settings.ladders
        self._ladders: LadderUpkeep | None = None
        self._fits: LadderFits | None = None
        self._fitting = threading.Lock()

    def tick(self) -> bool:
        """Maintain ladders and tournaments, and hand out matches until the window is full; True if a table is out of date."""
        with metrics.TICK_SECONDS.time():
            try:
                is_stale = self._look_after_ladders()
            finally:  # tournaments go on whatever happens to a ladder
                self._dispatcher.hand_out()
                self._upkeep.look_after_all()
        return is_stale

    def _look_after_ladders(self) -> bool:
        if self._ladders is None:
            if not self._has_ladders or not self._book.live_seasons():
                return False
            from orchestrator.ladder_upkeep import LadderUpkeep

            self._ladders = LadderUpkeep(self._book, self._client, self._window)
        return self._ladders.look_after_all()

    def fit_ladders(self) -> None:
        """Bring the tables of all ladders up to date; returns at once if that is being done."""
        if not self._fitting.acquire(blocking=False):
            return
        try:
            if self._fits is None:
                from orchestrator.ladder_fits import LadderFits

                self._fits = LadderFits(self._book)
            self._fits.fit_all()
        finally:
            self._fitting.release()

    def close(self) -> None:
        """Close the book and the channel to the service."""
        self._client.close()
        self._book.close()
