"""A whole tournament with its book on PostgreSQL and its messages on RabbitMQ; a worker is killed."""

from pathlib import Path

from orchestrator.book import Book, Progress
from tests.harness.processes import alive_with
from tests.harness.tournaments import TournamentArena
from tests.harness.waiting import wait_for
from tests.orchestrator.steady_tournaments import assert_same_logs, assert_undisturbed, enter, play_out


def test_a_tournament_on_postgresql_and_rabbitmq_survives_a_killed_worker(
    tmp_path: Path, postgres_book: str, rabbitmq: str
) -> None:
    with TournamentArena(tmp_path / "arena", concurrency=4, book=postgres_book, broker=rabbitmq) as arena:
        book = Book(postgres_book)
        tournament = enter(book, 12)
        killed: list[int] = []

        def look(progress: Progress) -> None:
            if not killed and progress.recorded >= 3:
                killed.append(arena.pid("worker"))
                arena.kill("worker")

        play_out(arena, book, tournament, 240, look)
        assert killed, "the worker must be killed during the tournament"
        assert_undisturbed(book, tournament)
        assert_same_logs(book, tournament)
        book.close()
    wait_for(lambda: not alive_with(tmp_path), "all processes to end")
