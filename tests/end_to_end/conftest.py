"""What the end-to-end tests share: one arena of two copies for all tests that disturb nobody."""

from collections.abc import Iterator

import pytest

from tests.harness.service import Arena
from tests.harness.service import arena as open_arena


@pytest.fixture(scope="session")
def shared() -> Iterator[Arena]:
    """Two copies on one Redis. Tests use names of their own and leave the processes alone."""
    with open_arena(2) as opened:
        yield opened
