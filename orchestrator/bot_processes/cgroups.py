"""Limits that the kernel keeps for a bot and all it starts: a cgroup (version 2) each, where we may make one.

We may where our own group, or the one above it, is ours to divide: systemd's ``Delegate=yes`` with ``DelegateSubgroup=``, or
root. Elsewhere bots are counted (``counting``).
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from functools import cache
from glob import escape, glob
from typing import Any, Final

from orchestrator.bot_processes.system import read_text, write_text

#: The limits of a bot that its group keeps, so that nobody has to count.
KEPT: Final = ("memory_mb", "processes")
#: Then the id of the supervisor, and a word that makes it the only one: ids are used again.
_PREFIX: Final = "rubble-bot-"
_NEEDED: Final = ("memory", "pids")
_MIB: Final = 1 << 20
#: A group is empty a moment after its last process has ended.
_EMPTY_S: Final = 2.0


def own_group(mounts: str, groups: str) -> str:
    """The folder of our own group, from the texts of /proc/self/mountinfo and /proc/self/cgroup; empty: there is none."""
    path = next((line[3:] for line in groups.splitlines() if line.startswith("0::")), "")
    for line in mounts.splitlines():
        fields, _, kind = line.partition(" - ")
        root, place = fields.split()[3:5]
        if kind.split()[0] == "cgroup2" and path and (path + "/").startswith(root.rstrip("/") + "/"):
            return os.path.normpath(f"{place}/{path[len(root.rstrip('/')) :]}")
    return ""


@cache
def divisible() -> tuple[str, str]:
    """The folder of the group in which we may make others; or "" and why there is none."""
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
    """The group of one bot: made by its supervisor, which starts the bot in it and leaves."""

    def __init__(self, parent: str, limits: Mapping[str, Any]) -> None:
        """``limits``: {memory_mb, processes}, each may be missing. OSError if the group cannot be made."""
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
            write_text(f"{self._folder}/pids.max", str(limits["processes"] + 2))  # with our own two

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Move this process into the group, so that its children begin there, and back again at the end."""
        before = own_group(read_text("/proc/self/mountinfo"), read_text("/proc/self/cgroup"))
        write_text(f"{self._folder}/cgroup.procs", str(os.getpid()))
        try:
            yield
        finally:
            write_text(f"{before}/cgroup.procs", str(os.getpid()))

    def excess(self) -> str:
        """Why the kernel ended the bot, in words; empty: it did not."""
        with contextlib.suppress(OSError):
            events = dict(line.split() for line in read_text(f"{self._folder}/memory.events").splitlines())
            if int(events.get("oom_kill", "0")):
                return f"it used more than its {self._memory_mb} MiB of memory"
        return ""

    def remove(self) -> None:
        """All its processes have ended."""
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
    """Remove groups whose supervisor was killed. One that is not empty stays: the kernel refuses."""
    for folder in glob(f"{escape(parent)}/{_PREFIX}*"):
        supervisor = os.path.basename(folder).removeprefix(_PREFIX).partition("-")[0]
        if not os.path.exists(f"/proc/{supervisor}"):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
