"""A worker: plays the matches it receives, with the bots of its slot, and records the results."""

import threading
from typing import Final

from orchestrator.archive import Archive
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.match_runner import MatchRunner
from orchestrator.settings import Settings
from orchestrator.slots import Slots

#: Matches are asked for each time another share of this size of the worker's concurrency is idle.
_IDLE_SHARE: Final = 1 / 8


class Worker:
    """What one worker process keeps between matches. Safe to use from several threads."""

    def __init__(self, settings: Settings, runner: type[MatchRunner] = MatchRunner) -> None:
        self.book = Book(settings.book)
        self._client = ArenaClient(settings.access)
        self._slots = Slots(self.book, self._client, settings)
        self.runner = runner(self.book, self._client, self._slots, Archive(self.book, self._client))
        self._concurrency = settings.concurrency
        self._lock = threading.Lock()
        self._playing = 0

    def play(self, match_id: str, delivery: int) -> bool:
        """Play one match to its end. Safe to run twice: a match that is not queued, or was handed out again, is ignored.

        True if more should be handed out now: no match is left here, or another share of the concurrency is idle.
        """
        with self._lock:
            self._playing += 1
        try:
            self.runner.play(match_id, delivery)
        finally:
            with self._lock:
                self._playing -= 1
                idle = self._concurrency - self._playing
        return idle == self._concurrency or idle % max(1, int(self._concurrency * _IDLE_SHARE)) == 0

    def start_bots(self, tournament_id: str) -> None:
        """Start the bots of a tournament that run here and wait until they are connected. Raises BotCannotStart if one fails."""
        tournament = self._slots.tournament(tournament_id)
        local = [entry.name for entry in tournament.spec.bots if not entry.remote]
        bot_pool = self._slots.bot_pool(tournament, self._slots.own)
        try:
            bot_pool.wait_until_ready(local)
        finally:
            bot_pool.stop_after_game(local, "")  # stops those that are restarted for every game

    def leave(self) -> None:
        """Begin no more matches, and stop watching the current ones within seconds. Must be called before ``close``."""
        self.runner.leave()

    def close(self) -> None:
        """Stop the bots and release the slots."""
        self.runner.close()
        self._slots.close()
        self._client.close()
        self.book.close()
