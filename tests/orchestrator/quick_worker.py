"""A real Celery worker that plays its matches in memory, for tests with thousands of matches."""

from orchestrator import archive, referee, tasks
from orchestrator.book import Match, Tournament
from orchestrator.celery_app import MATCH_QUEUE
from orchestrator.match_runner import MatchRunner, TakenUp
from orchestrator.settings import read_settings
from tests.orchestrator.steady_tournaments import played_in_memory


class QuickRunner(MatchRunner):
    """Plays without service and bots; everything else is as in every worker."""

    def play_session(self, tournament: Tournament, match: Match, taken_up: TakenUp) -> referee.Played:
        self.watch(match)()
        outcome, _ = played_in_memory(tournament, match)
        seats = len(match.seats)
        recorded = match.result(
            tuple(outcome.ranks), tuple(outcome.scores), ("",) * seats, (0,) * seats, outcome.ending, 0
        )
        return referee.Played(recorded, "")


def main() -> None:
    settings = read_settings()
    archive.Archive.keep_block = lambda *_: True  # type: ignore[method-assign]  # no session to archive
    tasks.MatchTask.runner_class = QuickRunner
    command = ["worker", "--queues", MATCH_QUEUE, "--concurrency", str(settings.concurrency), "--loglevel", "warning"]
    tasks.app.worker_main([*command, "--without-gossip", "--without-mingle"])


if __name__ == "__main__":
    main()
