"""Parametrizes tests by table and game, so that the games of a table are played once."""

import pytest

from tests.conformance.subjects import Setup, Subject, all_tables, plain_tables, subjects


@pytest.fixture(scope="session", params=list(all_tables()), ids=str)
def table(request: pytest.FixtureRequest) -> Setup:
    """Every seat count of every game, and every other value of every option once."""
    found: Setup = request.param
    return found


@pytest.fixture(
    scope="session", params=[t for s in subjects() for t in plain_tables(s.game)], ids=lambda found: f"plain-{found}"
)
def plain_table(request: pytest.FixtureRequest) -> Setup:
    """Every seat count of every game, with the default options: for the slower checks."""
    found: Setup = request.param
    return found


@pytest.fixture(scope="session", params=subjects(), ids=lambda found: found.game.id)
def subject(request: pytest.FixtureRequest) -> Subject:
    """Every game."""
    found: Subject = request.param
    return found
