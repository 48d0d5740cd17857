"""Limits that the kernel enforces for a bot and its descendants: one cgroup (version 2) per bot, if we may create it.

That is allowed if our own group, or its parent, is delegated to us: systemd's ``Delegate=yes`` with ``DelegateSubgroup=``, or
root. Otherwise bots are counted (``counting``).
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from functools import cache
from glob import escape, glob
from typing import Any, Final

from orchestrator.bot_processes.system import read_text, write_text

#: The limits that the cgroup enforces, so that they need not be counted.
KEPT: Final = ("memory_mb", "processes")
#: The id of the supervisor and a random word follow, since process ids are reused.
_PREFIX: Final = "rubble-bot-"
_NEEDED: Final = ("memory", "pids")
_MIB: Final = 1 << 20
#: A group becomes empty shortly after its last process has ended.
_EMPTY_S: Final = 2.0


def own_group(mounts: str, groups: str) -> str:
    """The folder of our own group, from the contents of /proc/self/mountinfo and /proc/self/cgroup; empty if there is none."""
    path = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), "")
    for line in mounts.splitlines():
        fields, _, kind = line.partition(" - ")
        root, place = fields.split()[3:5]
        if kind.split()[0] == "cgroup2" and path and (path + "/").startswith(root.rstrip("/") + "/"):
            return os.path.normpath(f"{place}/{path[len(root.rstrip('/')) :]}")
    return ""


@cache
def divisible() -> tuple[str, str]:
    """The folder of the group in which we may create others; or "" and the reason why there is none."""
    try:
        own = own_group(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup"))
    except OSError as error:
        return "", f"no cgroups: {error.strerror}"
    return _first_divisible((own, os.path.dirname(own))) if own else ("", "no cgroup v2 is mounted")


def _first_divisible(folders: tuple[str, ...]) -> tuple[str, str]:
    why = ""
    for folder in folders:
        try:
            lacking = set(_NEEDED) - set(read_text(f"{folder}/cgroup.controllers").split())
            if lacking:
                why = why or f"cgroup v2 at {folder} has no controller for {' and '.join(sorted(lacking))}"
                continue
            write_text(f"{folder}/cgroup.subtree_control", " ".join(f"+{name}" for name in _NEEDED))
        except OSError as error:
            why = why or f"cgroup v2 at {folder} is not ours to divide: {error.strerror}"
        else:
            return folder, ""
    return "", why


class BotGroup:
    """The group of one bot: created by its supervisor, which starts the bot in it and moves back."""

    def __init__(self, parent: str, limits: Mapping[str, Any]) -> None:
        """``limits``: {memory_mb, processes}, each optional. Raises OSError if the group cannot be created."""
        _remove_leftovers(parent)
        self._folder = f"{parent}/{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        self._memory_mb = limits.get("memory_mb")
        os.mkdir(self._folder)
        if self._memory_mb:
            write_text(f"{self._folder}/memory.max", str(self._memory_mb * _MIB))
            write_text(f"{self._folder}/memory.oom.group", "1")
            with contextlib.suppress(FileNotFoundError):  # a kernel without swap
                write_text(f"{self._folder}/memory.swap.max", "0")
        if limits.get("processes"):
            write_text(f"{self._folder}/pids.max", str(limits["processes"] + 2))  # plus our own two

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Move this process into the group, so that its children start there, and back at the end."""
        before = own_group(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup"))
        write_text(f"{self._folder}/cgroup.procs", str(os.getpid()))
        try:
            yield
        finally:
            write_text(f"{before}/cgroup.procs", str(os.getpid()))

    def excess(self) -> str:
        """Why the kernel killed the bot; empty if it did not."""
        with contextlib.suppress(OSError):
            events = dict(line.split() for line in read_text(f"{self._folder}/memory.events").splitlines())
            if int(events.get("oom_kill", "0")):
                return f"it used more than its {self._memory_mb} MiB of memory"
        return ""

    def remove(self) -> None:
        """Remove the group, whose processes have all ended."""
        end = time.monotonic() + _EMPTY_S
        while True:
            try:
                os.rmdir(self._folder)
            except OSError:
                if time.monotonic() > end:
                    return  # the next group in the same folder removes it (``_remove_leftovers``)
                time.sleep(0.01)
            else:
                return


def _remove_leftovers(parent: str) -> None:
    """Remove groups whose supervisor was killed. The kernel refuses to remove one that is not empty."""
    for folder in glob(f"{escape(parent)}/{_PREFIX}*"):
        supervisor = os.path.basename(folder).removeprefix(_PREFIX).partition("-")[0]
        if not os.path.exists(f"/proc/{supervisor}"):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
