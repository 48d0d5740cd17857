"""One service for all tests of bots; a test that stops its service has its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bots.arena import Arena, start, stop


@pytest.fixture(scope="session")
def shared_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """Runs a service, and a bot called rival that plays against any bot."""
    arena = Arena(tmp_path_factory.mktemp("arena"))
    arena.open()
    command = ("-m", "bots.house", "random", "--seed", "rival")
    rival = start(*command, log=arena.log_of("rival"), settings=arena.settings("rival"))
    yield arena
    arena.stop_bots()
    assert stop(rival) == 0
    assert arena.close() == 0


@pytest.fixture
def arena(shared_arena: Arena) -> Iterator[Arena]:
    """The shared service, without bots of other tests."""
    yield shared_arena
    shared_arena.stop_bots()


@pytest.fixture
def own_arena(tmp_path: Path) -> Iterator[Arena]:
    """A service that the test may stop."""
    arena = Arena(tmp_path)
    arena.open()
    yield arena
    arena.stop_bots()
    arena.close()
