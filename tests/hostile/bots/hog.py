"""``hog.py KIND MOST``: takes as much of one resource as it gets, at most MOST, prints the amount and keeps it.

Processes are counted by number, everything else in MiB. It stops at MOST, so that it cannot harm the machine if the
arena does not stop it.
"""

import mmap
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import IO, Final

_MIB: Final = 1 << 20
#: The bytes that one page table covers.
_TABLE_REACH: Final = 2 * _MIB
_TABLES_PER_MIB: Final = 256
_MAP_NORESERVE: Final = 0x4000
_KEPT: Final[list[object]] = []


def take_a_process() -> None:
    if os.fork() == 0:
        signal.pause()


def take_memory() -> None:
    _KEPT.append(b"x" * _MIB)


def take_shared_memory() -> None:
    shared = mmap.mmap(-1, _MIB)
    shared.write(b"x" * _MIB)
    _KEPT.append(shared)


def store(file: IO[bytes]) -> None:
    file.write(b"x" * _MIB)
    file.flush()
    _KEPT.append(file)


def take_memory_of_nobody() -> None:
    """Fill a file in memory that no process maps."""
    store(os.fdopen(os.memfd_create("hidden"), "wb"))


def take_memory_files() -> None:
    store(Path(f"/dev/shm/rubble-hog-{os.getpid()}-{len(_KEPT)}").open("wb"))  # noqa: SIM115  # kept open


def take_socket_buffers() -> None:
    """Send bytes that nobody reads: they count for no process."""
    sent = 0
    while sent < _MIB:
        ends = socket.socketpair()
        _KEPT.append(ends)
        for end in ends:
            end.setblocking(False)
            while (size := _sent(end)) > 0:
                sent += size


def take_large_socket_buffers() -> None:
    """Use buffers larger than the default, so that few sockets are enough."""
    ends = socket.socketpair()
    _KEPT.append(ends)
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _MIB)
    ends[0].setblocking(False)
    sent = 0
    while sent < _MIB and (size := _sent(ends[0])) > 0:
        sent += size


def _sent(end: socket.socket) -> int:
    try:
        return end.send(b"x" * 32768)
    except BlockingIOError:
        return 0


def take_page_tables() -> None:
    """Read one address per page table: each read allocates a table, but no page."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    wide = mmap.mmap(-1, _TABLES_PER_MIB * _TABLE_REACH, flags=flags, prot=mmap.PROT_READ)
    wide.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(wide), _TABLE_REACH):
        wide[at]
    _KEPT.append(wide)


def take_disk() -> None:
    descriptor, _ = tempfile.mkstemp()
    try:
        os.write(descriptor, b"x" * _MIB)
    finally:
        os.close(descriptor)


def take_deleted_disk() -> None:
    store(tempfile.TemporaryFile())  # noqa: SIM115  # kept open, without a name


KINDS: Final = {
    "processes": take_a_process,
    "memory": take_memory,
    "shared memory": take_shared_memory,
    "memory of nobody": take_memory_of_nobody,
    "files in memory": take_memory_files,
    "socket buffers": take_socket_buffers,
    "large socket buffers": take_large_socket_buffers,
    "page tables": take_page_tables,
    "disk": take_disk,
    "deleted files": take_deleted_disk,
}


def main() -> None:
    kind, most = sys.argv[1], int(sys.argv[2])
    got = 0
    try:
        while got < most:
            KINDS[kind]()
            got += 1
    except OSError as error:
        print(f"refused: {error.strerror}", flush=True)
    print(f"got {got} of {kind}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
