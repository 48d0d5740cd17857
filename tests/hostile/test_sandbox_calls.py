"""System calls by which a bot could reach other processes, leave something behind, or escape the sandbox."""

import json
import os
import platform
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.bot_processes import calls
from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.sandbox import SandboxPolicy
from tests.harness.processes import HOME, Process
from tests.harness.waiting import wait_for
from tests.hostile.bots.meddler import ATTACKS, PERHAPS

filtered = pytest.mark.skipif(bool(calls.missing_filter()), reason=calls.missing_filter())


@pytest.fixture
def victim() -> Iterator[int]:
    with Process("sleep", "1000") as process:
        yield process.pid


def _meddle(folder: Path, victim: int, *, is_confined: bool) -> set[str]:
    """Run the attacks; return those that worked."""
    scratch = folder / "scratch"
    scratch.mkdir()
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(scratch), "VICTIM": str(victim)}
    command = [sys.executable, str(HOME / "tests" / "hostile" / "bots" / "meddler.py")]
    policy = SandboxPolicy.for_bot(scratch, "127.0.0.1:1") if is_confined else None
    bot = BotProcess("meddler", command, env, HOME, folder / "output.log", {}, policy)
    bot.look_after()
    wait_for(lambda: "it is well" in bot.last_words() or not bot.pid, "the end of its attacks")
    bot.end()
    assert "worked: " in bot.last_words(), bot.last_words()
    return set(json.loads(bot.last_words().split("worked: ")[1].split(" and it is well")[0]))


@filtered
def test_a_bot_reaches_no_other_process_and_leaves_nothing_behind(tmp_path: Path, victim: int) -> None:
    before = resource.prlimit(victim, resource.RLIMIT_CORE), os.getpriority(os.PRIO_PROCESS, victim)
    assert _meddle(tmp_path, victim, is_confined=True) == set()
    assert (resource.prlimit(victim, resource.RLIMIT_CORE), os.getpriority(os.PRIO_PROCESS, victim)) == before


def test_without_a_sandbox_the_attacks_work(tmp_path: Path, victim: int) -> None:
    """Otherwise the test above would prove nothing."""
    assert _meddle(tmp_path, victim, is_confined=False) | PERHAPS == set(ATTACKS)


def test_the_numbers_of_system_calls_match_the_headers_of_this_kernel() -> None:
    header = Path(f"/usr/include/{platform.machine()}-linux-gnu/asm/unistd_64.h")
    if platform.machine() != "x86_64" or not header.exists():
        pytest.skip("there are no headers of an x86_64 kernel here")
    defined = dict(line.split()[1:3] for line in header.read_text().splitlines() if line.startswith("#define __NR_"))
    for name, (number, _) in calls.KNOWN.items():
        assert defined.get(f"__NR_{name}", str(number)) == str(number), name
