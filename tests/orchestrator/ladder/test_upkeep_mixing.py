"""Builds of a small ladder meet each other, not only bundled bots, although their blocks end one by one."""

from pathlib import Path

import pytest

from orchestrator.ladder.model import Kind
from tests.orchestrator.ladder.ticking import BUNDLED, Ticking, ticking

_OWNERS = ("ann", "bob", "cat")
_BLOCKS = 50


def _play_first_block(cup: Ticking) -> None:
    """Play the matches of the earliest open block as they may begin."""
    first = min(table.block for table in cup.tables(is_open=True))
    while any(table.block == first for table in cup.tables(is_open=True)):
        cup.play(of=[match for match in cup.released() if match.block == first])
        cup.tick(1000)


@pytest.mark.parametrize("games", [3, 12], ids=["one block at once", "four blocks at once"])
def test_builds_of_different_owners_keep_meeting_each_other(tmp_path: Path, games: int) -> None:
    cup = ticking(tmp_path, window=48, players=3)
    for owner in _OWNERS:
        cup.enter(f"{owner}s/v1", owner, games=games)
        cup.tick(60_000)  # the others come later, when this one plays bundled bots
    for _ in range(_BLOCKS):
        _play_first_block(cup)

    latest = cup.tables(Kind.RATED)[-_BLOCKS // 2 :]
    met = [table for table in latest if len(set(cup.names(table.seats)) - BUNDLED) > 1]
    assert len(met) >= len(latest) // 4, (
        f"in {len(latest) - len(met)} of {len(latest)} blocks one sat with bundled bots"
    )
    cup.book.close()


def test_a_build_without_a_table_does_not_wait_for_the_others(tmp_path: Path) -> None:
    cup = ticking(tmp_path, window=48, players=3)
    for owner in ("ann", "bob"):
        cup.enter(f"{owner}s/v1", owner, games=3)
    cup.tick(1000)
    cup.enter("cats/v1", "cat", games=3)
    for _ in range(5):
        cup.tick(1000)

    assert any("cats/v1" in cup.names(table.seats) for table in cup.tables(Kind.RATED)), "nobody else is free"
    cup.book.close()
