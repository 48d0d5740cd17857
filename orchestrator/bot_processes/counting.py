"""What a bot and all it started use together: processes, memory, disk. Counted from outside, ten times a second.

The limits of a process bind neither a process with its descendants nor root, and a limit on addresses would stop every virtual
machine that reserves more than it uses.
"""

import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.bot_processes.system import read_of_process

#: What a file costs beside its contents, in bytes: a million empty files are not free.
_FILE_BYTES: Final = 1024
#: Looking through a large folder takes time: at most this part of ours.
_DISK_SHARE: Final = 0.1
_DISK_S: Final = 0.2
#: What a socket and a pipe can keep in the kernel, in KiB: their buffers stay as the kernel makes them (``calls``).
_SOCKET_KIB: Final = 256
_PIPE_KIB: Final = 64
#: This many sockets and pipes of a bot and its descendants are free.
_FREE_BUFFERS: Final = 64
#: This many open files of a bot and its descendants are looked at; each beyond them costs as much as a socket.
_MOST_LOOKED_AT: Final = 4096


class Account:
    """The account of one bot. Limits: {processes, memory_mb, disk_mb}, each may be missing."""

    def __init__(self, us: int, limits: Mapping[str, Any], scratch: str | None) -> None:
        """``us``: the process beneath which everybody is counted; ``scratch``: the folder to measure, None: none."""
        self._us = us
        self._limits = limits
        self._scratch = scratch if limits.get("disk_mb") else None
        self._next_disk = 0.0

    @property
    def counts(self) -> bool:
        """Whether there is anything to count."""
        return bool(self._limits.get("processes") or self._limits.get("memory_mb") or self._scratch)

    def excess(self, not_counted: Collection[int] = ()) -> str:
        """What the bot has too much of, in words; empty if nothing. Our own processes are ``not_counted``."""
        descendants = {pid: tasks for pid, tasks in descendants_of(self._us).items() if pid not in not_counted}
        if most := self._limits.get("processes"):
            count = sum(len(tasks) for tasks in descendants.values())
            if count > most:
                return f"it had {count} processes and threads, and may have {most}"
        if most := self._limits.get("memory_mb"):
            used = _memory_kib(descendants, most << 10) >> 10
            if used > most:
                return f"it used {used} MiB of memory, and may use {most}"
        if self._scratch is not None and time.monotonic() >= self._next_disk:
            started = time.monotonic()
            used = (_folder_bytes(self._scratch) + _deleted_bytes(descendants)) >> 20
            ended = time.monotonic()
            self._next_disk = ended + max(_DISK_S, (ended - started) / _DISK_SHARE)
            if used > self._limits["disk_mb"]:
                return f"it used {used} MiB of disk, and may use {self._limits['disk_mb']}"
        return ""


def descendants_of(us: int) -> dict[int, list[str]]:
    """Everybody beneath a process, each with its threads. Who loses its parent becomes our child, so nobody gets away."""
    found: dict[int, list[str]] = {}
    waiting = _children(us, [str(us)])
    while waiting:
        pid = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue  # it has just ended
        found[pid] = threads
        waiting += _children(pid, threads)
    return found


def _children(pid: int, threads: Sequence[str]) -> list[int]:
    children: list[int] = []
    for thread in threads:
        children += map(int, read_of_process(f"/proc/{pid}/task/{thread}/children").split())
    return children


def _memory_kib(descendants: Collection[int], most: int) -> int:
    """What processes keep in memory for themselves: not their programs, and not what they only reserved.

    What the kernel keeps for them belongs to it: tables of pages, and buffers. The latter are looked at only where they could
    make it more than ``most``.
    """
    used, slots = 0, {}
    for pid in descendants:
        fields = dict(
            line.split(b":", 1) for line in read_of_process(f"/proc/{pid}/status").splitlines() if b":" in line
        )
        used += sum(int(fields[name].split()[0]) for name in (b"RssAnon", b"RssShmem", b"VmPTE") if name in fields)
        slots[pid] = int(fields.get(b"FDSize", b"0"))
    return used + (_buffers_kib(slots) if used + sum(slots.values()) * _SOCKET_KIB > most else 0)


def _buffers_kib(slots: Mapping[int, int]) -> int:
    """The most that the sockets and pipes of these processes can hold. ``slots``: how many open files each has room for."""
    looked_at = 0
    costs: dict[tuple[int, int], int] = {}  # one that several share is there once
    unseen = 0
    for pid, free in slots.items():
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except PermissionError:  # it has made itself unreadable
            unseen += free
            continue
        except OSError:
            continue  # it has just ended
        seen = names[: max(0, _MOST_LOOKED_AT - looked_at)]
        looked_at += len(seen)
        unseen += len(names) - len(seen)
        for name in seen:
            with contextlib.suppress(OSError):  # it has just been closed
                file = os.stat(f"/proc/{pid}/fd/{name}")
                if stat.S_ISSOCK(file.st_mode):
                    costs[file.st_dev, file.st_ino] = _SOCKET_KIB
                elif stat.S_ISFIFO(file.st_mode):
                    costs[file.st_dev, file.st_ino] = _PIPE_KIB
    dearest = sorted(costs.values(), reverse=True)
    return sum(dearest[_FREE_BUFFERS:]) + unseen * _SOCKET_KIB


def _folder_bytes(folder: str) -> int:
    """What is stored in a folder. Links are not followed."""
    total = 0
    waiting = [folder]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:  # it has just gone
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += _FILE_BYTES + entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total


def _deleted_bytes(descendants: Collection[int]) -> int:
    """Files that have no name any more, but are still open."""
    found: dict[tuple[int, int], int] = {}
    for pid in descendants:
        for file in _open_files(pid):
            if stat.S_ISREG(file.st_mode) and file.st_nlink == 0:
                found[file.st_dev, file.st_ino] = file.st_blocks * 512
    return sum(found.values())


def _open_files(pid: int) -> Iterator[os.stat_result]:
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:  # it has just ended
        for entry in entries:
            with contextlib.suppress(OSError):
                yield os.stat(entry.path)
