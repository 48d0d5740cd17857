"""Calls of the C library that Python does not offer, and the small files with which Linux answers about processes."""

import ctypes
import os
from functools import cache
from typing import Any, Final

#: Exit code of a process that could not become the bot, as a shell has it.
CANNOT_START: Final = 127
_FILE_BYTES: Final = 1 << 20


@cache
def libc() -> Any:
    """The C library. ``ctypes.get_errno`` has the error of the last call."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def checked(result: int, what: str) -> int:
    """The result of a call, or the OSError that it means."""
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def prctl(option: int, value: int) -> None:
    """Set something of this process, or OSError."""
    checked(libc().prctl(option, value, 0, 0, 0), f"prctl({option})")


def read_text(path: str) -> str:
    """A whole file."""
    with open(path) as file:
        return file.read()


def write_text(path: str, text: str) -> None:
    """Write a file of the kernel's in one piece."""
    with open(path, "w") as file:
        file.write(text)


def read_of_process(path: str) -> bytes:
    """A file of /proc; empty if its process has just ended. Called very often, so without the layers of ``open``."""
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
