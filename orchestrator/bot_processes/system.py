"""Calls of the C library that Python does not offer, and small files of /proc and /sys."""

import ctypes
import os
from functools import cache
from typing import Any, Final

#: The exit code of a process that could not execute the bot, as in a shell.
CANNOT_START: Final = 127
_FILE_BYTES: Final = 1 << 20


@cache
def libc() -> Any:
    """The C library. ``ctypes.get_errno`` has the error of the last call."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def checked(result: int, what: str) -> int:
    """The result of a call. Raises OSError if it failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process. Raises OSError if that fails."""
    checked(libc().prctl(option, value, 0, 0, 0), f"prctl({option})")


def read_text(path: str) -> str:
    """Read a whole file."""
    with open(path) as file:
        return file.read()


def write_text(path: str, text: str) -> None:
    """Write a kernel file in one call."""
    with open(path, "w") as file:
        file.write(text)


def read_of_process(path: str) -> bytes:
    """Read a file of /proc; empty if its process has just ended. Called very often, so it avoids the overhead of ``open``."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, _FILE_BYTES)
    except OSError:
        return b""
    finally:
        os.close(file)
