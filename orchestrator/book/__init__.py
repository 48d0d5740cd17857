"""The book of record: tournaments, matches, results and replays in SQL. It is the only store that must not be lost."""

from orchestrator.book.book import Book
from orchestrator.book.reading import UnknownTournament
from orchestrator.book.rows import ArenaCounts, Match, Pace, Progress, Tournament, Withdrawal

__all__ = [
    "ArenaCounts",
    "Book",
    "Match",
    "Pace",
    "Progress",
    "Tournament",
    "UnknownTournament",
    "Withdrawal",
]
