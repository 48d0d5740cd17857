"""Cgroups of bots: where ours is, whether it can be divided, and who is in which."""

import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.stable import cgroups
from orchestrator.stable.cgroups import BotGroup, own_group

_OWN = own_group(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())


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


@pytest.mark.skipif(not _OWN or not os.access(_OWN, os.W_OK), reason="no cgroup here is ours to write")
def test_a_bot_is_in_its_group_from_the_beginning_and_we_are_not() -> None:
    group = BotGroup(_OWN, {})
    with group.entered():
        bot = subprocess.Popen(["sleep", "1000"])
    try:
        assert f"/rubble-bot-{os.getpid()}" in Path(f"/proc/{bot.pid}/cgroup").read_text()
        assert "/rubble-bot-" not in Path("/proc/self/cgroup").read_text()
        assert group.excess() == ""
    finally:
        bot.kill()
        bot.wait()
        group.remove()
    assert not Path(_OWN, f"rubble-bot-{os.getpid()}").exists()
