"""A bot that takes as much as it can gets no more than its limits; each limit has a default."""

import os
import re
import sys
from pathlib import Path

import pytest

from orchestrator.bot_processes import namespaces
from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.sandbox import SandboxPolicy
from tests.harness.processes import HOME, alive_with
from tests.harness.waiting import wait_for

_LIMITS = {"memory_mb": 96, "processes": 40, "disk_mb": 48, "files": 1024}
#: What it tries to take, in MiB or processes: far more than each limit.
_MOST = 400
_PID_MAX = Path("/proc/sys/kernel/pid_max")


def _take(folder: Path, kind: str, limit: int, *, has_view: bool) -> tuple[int, str]:
    """Return how much a bot got, or 0 if the arena ended it, and its output."""
    scratch = folder / "scratch"
    scratch.mkdir()
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(scratch)}
    command = [sys.executable, str(HOME / "tests" / "hostile" / "bots" / "hog.py"), kind, str(_MOST)]
    policy = SandboxPolicy.for_bot(scratch, "127.0.0.1:1")
    policy = policy._replace(has_view=policy.has_view and has_view)
    bot = BotProcess("hog", command, env, HOME, folder / "output.log", _LIMITS, policy)
    bot.look_after()
    wait_for(lambda: "got " in bot.last_words() or not bot.pid, "the bot to take all it can get")
    got = re.search(r"got (\d+) of", bot.last_words())
    if got is not None and ("refused" not in bot.last_words() or int(got[1]) > limit):
        wait_for(lambda: not bot.pid, "its end")
    bot.end()
    assert not alive_with(scratch)
    words = bot.last_words()
    return (0 if "ended by the arena" in words or got is None else int(got[1])), words


@pytest.mark.parametrize("has_view", [True, False], ids=["namespaces", "counted"])
@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        ("processes", "processes"),
        ("memory", "memory_mb"),
        ("shared memory", "memory_mb"),
        ("memory of nobody", "memory_mb"),
        ("files in memory", "memory_mb"),
        ("socket buffers", "memory_mb"),
        ("large socket buffers", "memory_mb"),
        ("page tables", "memory_mb"),
        ("disk", "disk_mb"),
        ("deleted files", "disk_mb"),
    ],
)
def test_a_greedy_process_gets_no_more_than_its_limit(tmp_path: Path, kind: str, limit: str, has_view: bool) -> None:
    got, words = _take(tmp_path, kind, _LIMITS[limit], has_view=has_view)
    assert got <= _LIMITS[limit], words
    assert "ended by the arena: it " in words or "refused: " in words


@pytest.mark.parametrize(
    ("release", "is_own"),
    [
        ("6.14.0", True),
        ("6.14-rc1", True),
        ("6.18.44-fc-v490", True),
        ("7.0.0-1-generic", True),
        ("6.13.12-200.fc41.x86_64", False),
        ("6.8.0-45-generic", False),
        ("5.15.153.1-microsoft-standard-WSL2", False),
        ("", False),
        ("unknown", False),
    ],
)
def test_pid_max_is_set_only_where_it_belongs_to_the_bot(release: str, is_own: bool) -> None:
    """Before Linux 6.14 there is one pid_max for the whole machine, which root would change for all."""
    assert namespaces.has_own_pid_max(release) == is_own


@pytest.mark.skipif(bool(namespaces.offered()), reason=f"no namespaces: {namespaces.offered()}")
def test_a_bot_does_not_change_the_pid_max_of_the_machine(tmp_path: Path) -> None:
    before = _PID_MAX.read_text()
    _take(tmp_path, "processes", _LIMITS["processes"], has_view=True)
    assert _PID_MAX.read_text() == before
