"""``hog.py KIND MOST``: takes as much of one thing as it gets, at most MOST, says how much that was, and keeps it.

Processes are counted by number, everything else in MiB. It stops by itself at MOST, so that it cannot harm the machine
where the arena does not stop it.
"""

import mmap
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import IO, Final

_MIB: Final = 1 << 20
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
    """A file in memory that no process maps."""
    store(os.fdopen(os.memfd_create("hidden"), "wb"))


def take_memory_files() -> None:
    store(Path(f"/dev/shm/rubble-hog-{os.getpid()}-{len(_KEPT)}").open("wb"))  # noqa: SIM115  # it stays open


def take_disk() -> None:
    descriptor, _ = tempfile.mkstemp()
    try:
        os.write(descriptor, b"x" * _MIB)
    finally:
        os.close(descriptor)


def take_deleted_disk() -> None:
    store(tempfile.TemporaryFile())  # noqa: SIM115  # it stays open, without a name


KINDS: Final = {
    "processes": take_a_process,
    "memory": take_memory,
    "shared memory": take_shared_memory,
    "memory of nobody": take_memory_of_nobody,
    "files in memory": take_memory_files,
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
