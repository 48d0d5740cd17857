"""A new book on either database, and an arena without workers for tests that act as the worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.book import Book
from orchestrator.client import ArenaClient
from tests.harness.books import Clock
from tests.harness.tournaments import TournamentArena


@pytest.fixture(scope="module")
def bare_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TournamentArena]:
    """Redis and a service."""
    with TournamentArena(tmp_path_factory.mktemp("arena"), workers=0) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(bare_arena: TournamentArena) -> Iterator[ArenaClient]:
    """A client with the operator's token."""
    with ArenaClient(bare_arena.settings.access) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new, empty book."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'book.sqlite'}"
    address: str = request.getfixturevalue("postgres_book")
    return address


@pytest.fixture
def clock() -> Clock:
    """The clock of the book."""
    return Clock()


@pytest.fixture
def book(url: str, clock: Clock) -> Iterator[Book]:
    """An open book."""
    opened = Book(url, clock)
    yield opened
    opened.close()
