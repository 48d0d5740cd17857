"""A bot cannot write to the file of its log, and reading the end of a log costs the same at any size."""

import os
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.bot_processes.output import OutputLog
from orchestrator.bot_processes.pool import BotCannotStart, BotPool
from orchestrator.client import ArenaClient
from orchestrator.spec import Entry
from tests.harness.tournaments import TournamentArena

_THIEF = Path(__file__).parent / "bots" / "log_thief.py"
_SPARSE_BYTES = 400 << 20
_LITTLE_BYTES = 8 << 20


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TournamentArena]:
    with TournamentArena(tmp_path_factory.mktemp("arena"), workers=0) as opened:
        yield opened


def _end_of(arena: TournamentArena, folder: Path, victim: str) -> BotCannotStart:
    """Return the worker's error about a bot that attacks its log and exits, twice."""
    entry = Entry("thief", (sys.executable, str(_THIEF), victim))
    with ArenaClient(arena.settings.access) as client:
        bot_pool = BotPool(client, "cup", 0, [entry], folder, {})
        try:
            with pytest.raises(BotCannotStart) as caught:
                bot_pool.wait_until_ready(["thief"])
        finally:
            bot_pool.close()
    return caught.value


def test_a_link_in_place_of_the_log_is_not_followed(arena: TournamentArena, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("ours")
    reply = _end_of(arena, tmp_path / "bots", str(victim))
    assert victim.read_text() == "ours"
    assert reply.words.count("said by the bot") == 2
    log = tmp_path / "bots" / "thief" / "output.log"
    assert log.read_text() == "said by the bot\n" * 2 and log.stat().st_mode & 0o077 == 0


def test_a_huge_log_does_not_fill_the_workers_memory(arena: TournamentArena, tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        reply = _end_of(arena, tmp_path / "bots", "sparse")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reply.words.count("said by the bot") == 2
    assert peak < _LITTLE_BYTES


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "output.log"
    path.touch()
    os.truncate(path, _SPARSE_BYTES)
    log = OutputLog(path)
    tracemalloc.start()
    try:
        log.tail()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    log.close()
    assert peak < _LITTLE_BYTES


@pytest.mark.parametrize("kind", ["link", "second name", "pipe"])
def test_a_log_that_is_not_a_plain_file_is_replaced(tmp_path: Path, kind: str) -> None:
    victim, path = tmp_path / "victim", tmp_path / "output.log"
    victim.write_text("ours")
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "second name":
        path.hardlink_to(victim)
    else:
        os.mkfifo(path)
    log = OutputLog(path)
    log.write(b"words")
    log.close()
    assert (victim.read_text(), path.read_text(), log.tail()) == ("ours", "words", "words")
