"""An arena without workers, shared by tests that act as the worker."""

from collections.abc import Iterator

import pytest

from orchestrator.client import ArenaClient
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
