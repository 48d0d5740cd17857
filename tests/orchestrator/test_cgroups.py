"""Cgroups of bots: finding our own group, dividing it, and placing bots in it."""

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.bot_processes import cgroups, process
from orchestrator.bot_processes.cgroups import BotGroup, own_group
from tests.harness.processes import HOME
from tests.harness.tournaments import script
from tests.harness.waiting import wait_for

_OWN = own_group(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
writable = pytest.mark.skipif(not _OWN or not os.access(_OWN, os.W_OK), reason="no writable cgroup on this machine")


@pytest.mark.parametrize(
    ("mount", "group", "folder"),
    [
        (
            "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "0::/user.slice/x.scope",
            "/sys/fs/cgroup/user.slice/x.scope",
        ),
        ("31 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup2 rw", "0::/", "/sys/fs/cgroup"),
        ("31 23 0:28 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw", "0::/docker/1/a", "/sys/fs/cgroup/a"),
        ("41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw", "9:pids:/\n0::/", "/sys/fs/cgroup/unified"),
        ("41 31 0:38 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids", "9:pids:/", ""),
        ("31 23 0:28 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw", "0::/docker/12", ""),
    ],
)
def test_our_own_cgroup_is_found_in_the_mount_table(mount: str, group: str, folder: str) -> None:
    assert own_group(mount, group) == folder


def test_a_machine_without_a_divisible_cgroup_gives_a_reason() -> None:
    folder, why = cgroups.divisible()
    assert bool(folder) != bool(why)
    assert not folder or Path(folder, "cgroup.subtree_control").exists()


@writable
def test_a_bot_starts_in_its_group_and_we_are_not_in_it() -> None:
    group = BotGroup(_OWN, {})
    with group.entered():
        bot = subprocess.Popen(["sleep", "1000"])
    try:
        assert f"/rubble-bot-{os.getpid()}-" in Path(f"/proc/{bot.pid}/cgroup").read_text()
        assert "/rubble-bot-" not in Path("/proc/self/cgroup").read_text()
        assert group.excess() == ""
    finally:
        bot.kill()
        bot.wait()
        group.remove()
    assert not list(Path(_OWN).glob(f"rubble-bot-{os.getpid()}-*"))


def test_the_group_of_a_killed_supervisor_is_removed(tmp_path: Path) -> None:
    """A group that has our own process id, reused, does not prevent new groups."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    left = [tmp_path / f"rubble-bot-{pid}" for pid in (os.getpid(), ended.pid)]
    for folder in left:
        folder.mkdir()
    groups = [BotGroup(str(tmp_path), {}) for _ in range(2)]
    assert [folder.exists() for folder in left] == [True, False], "a live process may be about to enter its group"
    assert len(list(tmp_path.glob(f"rubble-bot-{os.getpid()}-*"))) == len(groups)


@writable
def test_limits_that_a_cgroup_enforces_are_not_also_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The group here is a plain folder, which enforces nothing: the bot exceeds its limits and is not ended."""
    parent = tmp_path / "cgroup"
    parent.mkdir()
    monkeypatch.setattr(process, "divisible", lambda: (str(parent), ""))
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path), "PYTHONPATH": str(HOME)}
    limits = {"processes": 5, "memory_mb": 1}
    bot = process.BotProcess("bot", script("glutton", "children", "20"), env, HOME, tmp_path / "log", limits)
    bot.look_after()
    wait_for(lambda: "has its children" in bot.last_words() or not bot.pid, "the bot to have all its children")
    assert {path.read_text() for path in parent.glob("*/pids.max")} == {"7"}
    assert {path.read_text() for path in parent.glob("*/memory.max")} == {str(1 << 20)}
    assert bot.pid, bot.last_words()
    bot.end()
    assert "ended by the arena" not in bot.last_words()
