"""Measures what a bot and its descendants use together: processes, memory, disk. Read from outside, ten times a second.

Process limits (rlimits) cover neither descendants nor root, and a limit on address space would stop every virtual machine that
reserves more memory than it uses.
"""

import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from orchestrator.bot_processes.system import read_of_process

#: The cost of a file in addition to its contents, in bytes: a million empty files are not free.
_FILE_BYTES: Final = 1024
#: Reading a large folder takes time: at most this share of ours.
_DISK_SHARE: Final = 0.1
_DISK_S: Final = 0.2
#: The kernel memory that a socket and a pipe can use, in KiB: a bot cannot enlarge their buffers (``calls``).
_SOCKET_KIB: Final = 256
_PIPE_KIB: Final = 64
#: This many sockets and pipes of a bot and its descendants are not charged.
_FREE_BUFFERS: Final = 64
#: This many open files of a bot and its descendants are inspected; each one beyond costs as much as a socket.
_MOST_LOOKED_AT: Final = 4096


class Account:
    """The account of one bot. Limits: {processes, memory_mb, disk_mb}, each optional."""

    def __init__(self, us: int, limits: Mapping[str, Any], scratch: str | None) -> None:
        """``us``: the process whose descendants are counted; ``scratch``: the folder to measure, or None."""
        self._us = us
        self._limits = limits
        self._scratch = scratch if limits.get("disk_mb") else None
        self._next_disk = 0.0

    @property
    def counts(self) -> bool:
        """Whether there is anything to count."""
        return bool(self._limits.get("processes") or self._limits.get("memory_mb") or self._scratch)

    def excess(self, not_counted: Collection[int] = ()) -> str:
        """Which limit the bot exceeds, as text; empty if none. Our own processes are ``not_counted``."""
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
    """All descendants of a process, each with its threads. Orphans become our children, so none is missed."""
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
    """The private memory of processes, without program code and memory that is only reserved.

    Kernel memory is included: page tables and buffers. Buffers are read only if they could raise the total above
    ``most``.
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
    """The most that the sockets and pipes of these processes can hold. ``slots``: the size of each one's table of open files."""
    looked_at = 0
    costs: dict[tuple[int, int], int] = {}  # a shared one counts once
    unseen = 0
    for pid, free in slots.items():
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except PermissionError:  # the process has made itself unreadable
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
    """The size of a folder. Links are not followed."""
    total = 0
    waiting = [folder]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:  # it has just been deleted
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += _FILE_BYTES + entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total


def _deleted_bytes(descendants: Collection[int]) -> int:
    """The size of files that are deleted but still open."""
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
