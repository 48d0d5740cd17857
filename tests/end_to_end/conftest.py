"""One arena of two copies, shared by all end-to-end tests that do not disturb it."""

from collections.abc import Iterator

import pytest

from tests.harness.service import Arena
from tests.harness.service import arena as open_arena


@pytest.fixture(scope="session")
def shared() -> Iterator[Arena]:
    """Two copies on one Redis. Tests use unique names and do not touch the processes."""
    with open_arena(2) as opened:
        yield opened
