"""A worker of Celery's as it is, that plays its matches in memory: for tests of thousands of them."""

from collections import Counter

from orchestrator import referee, tasks, worker
from orchestrator.book import Match, Recorded, Tournament
from orchestrator.celery_app import MATCH_QUEUE
from orchestrator.settings import read_settings
from tests.orchestrator.cups import played_in_memory


class QuickWorker(worker.Worker):
    """Has no service and no bots; all else is what every worker does."""

    def _play(
        self,
        tournament: Tournament,
        match: Match,
        before: tuple[int, Counter[int]],
        *,
        is_new: bool,
        has_changed_hands: bool,
    ) -> referee.Played:
        self._watch(match)()
        outcome, _ = played_in_memory(tournament, match)
        seats = len(match.seats)
        recorded = Recorded(tuple(outcome.ranks), tuple(outcome.scores), ("",) * seats, (0,) * seats, outcome.ending, 0)
        return referee.Played(recorded, "")


def main() -> None:
    settings = read_settings()
    worker.archive_block = lambda book, client, tournament, block: True  # there is no session to archive
    tasks.MatchTask.worker_class = QuickWorker
    command = ["worker", "--queues", MATCH_QUEUE, "--concurrency", str(settings.concurrency), "--loglevel", "warning"]
    tasks.app.worker_main([*command, "--without-gossip", "--without-mingle"])


if __name__ == "__main__":
    main()
