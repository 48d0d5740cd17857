"""One arena, shared by all tests of this folder that do not disturb it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.tournaments import Host, host


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder: Path = tmp_path_factory.mktemp("up")
    with host(folder) as opened:
        yield opened
