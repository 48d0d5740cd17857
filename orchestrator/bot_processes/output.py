"""The output of a bot, kept in a bounded file that the bot cannot reach."""

import contextlib
import os
import stat
import threading
from pathlib import Path
from typing import Final

_MOST_BYTES: Final = 1 << 20
_TAIL_BYTES: Final = 4000


class OutputLog:
    """A file that grows up to a limit. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._fd: int | None = _open_plain(path)
        self._last_tail = ""

    def write(self, data: bytes) -> None:
        """Append data up to the limit; the rest is dropped, so that the bot never waits for us."""
        with self._lock:
            if self._fd is None:
                return
            free = _MOST_BYTES - os.fstat(self._fd).st_size  # other processes of the same bot may write to it too
            if free > 0:
                with contextlib.suppress(OSError):  # our disk is full, which is not the bot's fault
                    os.write(self._fd, data[:free])

    def tail(self) -> str:
        """The end of the output; after ``close``, as it was then."""
        with self._lock:
            return self._last_tail if self._fd is None else _read_tail(self._fd)

    def close(self) -> None:
        """Stop writing."""
        with self._lock:
            if self._fd is not None:
                self._last_tail = _read_tail(self._fd)
                os.close(self._fd)
                self._fd = None


def _read_tail(fd: int) -> str:
    size = os.fstat(fd).st_size
    return os.pread(fd, _TAIL_BYTES, max(0, size - _TAIL_BYTES)).decode(errors="replace").strip()


def _open_plain(path: Path) -> int:
    """Open for appending. A link, a pipe or a file with a second name, which a bot could have put there, is replaced."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with contextlib.suppress(OSError):
        fd = os.open(path, flags, 0o600)
        found = os.fstat(fd)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return fd
        os.close(fd)
    path.unlink(missing_ok=True)
    return os.open(path, flags | os.O_EXCL, 0o600)
