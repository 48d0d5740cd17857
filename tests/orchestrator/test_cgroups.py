"""Cgroups of bots: where ours is, whether it can be divided, and who is in which."""

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
writable = pytest.mark.skipif(not _OWN or not os.access(_OWN, os.W_OK), reason="no cgroup here is ours to write")


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
def test_our_own_group_is_found_in_the_table_of_mounts(mount: str, group: str, folder: str) -> None:
    assert own_group(mount, group) == folder


def test_this_machine_is_asked_and_a_refusal_has_a_reason() -> None:
    folder, why = cgroups.divisible()
    assert bool(folder) != bool(why)
    assert not folder or Path(folder, "cgroup.subtree_control").exists()


@writable
def test_a_bot_is_in_its_group_from_the_beginning_and_we_are_not() -> None:
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


def test_a_killed_supervisors_group_is_in_nobodys_way_and_removed(tmp_path: Path) -> None:
    """Its process id may be ours now."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    left = [tmp_path / f"rubble-bot-{pid}" for pid in (os.getpid(), ended.pid)]
    for folder in left:
        folder.mkdir()
    groups = [BotGroup(str(tmp_path), {}) for _ in range(2)]
    assert [folder.exists() for folder in left] == [True, False], "a living process may be about to enter its group"
    assert len(list(tmp_path.glob(f"rubble-bot-{os.getpid()}-*"))) == len(groups)


@writable
def test_what_a_group_keeps_is_not_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The group here is an ordinary folder, which keeps nothing: who gets more than its limits was not counted."""
    parent = tmp_path / "cgroup"
    parent.mkdir()
    monkeypatch.setattr(process, "divisible", lambda: (str(parent), ""))
    env = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path), "PYTHONPATH": str(HOME)}
    limits = {"processes": 5, "memory_mb": 1}
    bot = process.BotProcess("bot", script("glutton", "children", "20"), env, HOME, tmp_path / "log", limits)
    bot.look_after()
    wait_for(lambda: "has its children" in bot.last_words() or not bot.pid, "all it wants")
    assert {path.read_text() for path in parent.glob("*/pids.max")} == {"7"}
    assert {path.read_text() for path in parent.glob("*/memory.max")} == {str(1 << 20)}
    assert bot.pid, bot.last_words()
    bot.end()
    assert "ended by the arena" not in bot.last_words()
