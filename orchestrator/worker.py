"""A worker: plays matches as they are handed to it, with bots of its own slot, and writes down what came of them."""

from orchestrator.archive import Archive
from orchestrator.book import Book
from orchestrator.client import ArenaClient
from orchestrator.match_runner import MatchRunner
from orchestrator.settings import Settings
from orchestrator.slots import Slots


class Worker:
    """Everything one worker process keeps between matches. Safe to use from several threads."""

    def __init__(self, settings: Settings, runner: type[MatchRunner] = MatchRunner) -> None:
        self.book = Book(settings.book)
        self._client = ArenaClient(settings.door)
        self._slots = Slots(self.book, self._client, settings)
        self.runner = runner(self.book, self._client, self._slots, Archive(self.book, self._client))

    def play(self, match_id: str, delivery: int) -> None:
        """Play one match to its end. Safe to run twice: what is not queued, or was handed out again since, is left alone."""
        self.runner.play(match_id, delivery)

    def start_bots(self, tournament_id: str) -> None:
        """Start the bots of a tournament that run here and wait until they are connected, or BotCannotStart."""
        tournament = self._slots.tournament(tournament_id)
        local = [entry.name for entry in tournament.spec.bots if not entry.remote]
        stable = self._slots.stable(tournament, self._slots.own)
        try:
            stable.ready(local)
        finally:
            stable.dismiss(local, "")  # those that are started anew for every game

    def leave(self) -> None:
        """Begin nothing more, and let go of what is being played within seconds. To be called before ``close``."""
        self.runner.leave()

    def close(self) -> None:
        """End the bots and give the slots back."""
        self.runner.close()
        self._slots.close()
        self._client.close()
        self.book.close()
