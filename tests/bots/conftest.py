"""One service for all tests of bots; a test that stops its service has its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.bot_processes import BotArena, bot_env
from tests.harness.processes import PYTHON, Process


@pytest.fixture(scope="session")
def shared_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BotArena]:
    """Runs a service, and a bot called rival that plays against any bot."""
    with BotArena(tmp_path_factory.mktemp("arena")) as arena:
        command = (PYTHON, "-m", "bots.bundled", "random", "--seed", "rival")
        with Process(*command, log=arena.log_of("rival"), env=bot_env(arena.settings("rival"))) as rival:
            yield arena
            arena.stop_bots()
            assert rival.stop() == 0
        assert arena.stop_service() == 0


@pytest.fixture
def arena(shared_arena: BotArena) -> Iterator[BotArena]:
    """The shared service, without bots of other tests."""
    yield shared_arena
    shared_arena.stop_bots()


@pytest.fixture
def own_arena(tmp_path: Path) -> Iterator[BotArena]:
    """A service that the test may stop."""
    with BotArena(tmp_path) as arena:
        yield arena
