"""Child processes that end with their parent, even if it is killed before they have started."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final

#: A wrapper that becomes the command after its first three arguments: the parent's process id, the signal to receive when it
#: dies, and the user to run as (empty: the same). It is a separate process because after a fork in a process with threads only exec
#: is safe. It checks its parent after requesting the signal, because a parent that died earlier cannot trigger it. Changing the
#: user would cancel the request, so that comes first.
_BECOME: Final = """\
import ctypes, os, sys
parent, number, user, *command = sys.argv[1:]
if user:
    import pwd
    entry = pwd.getpwnam(user)
    os.initgroups(user, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
if os.getppid() != int(parent):
    sys.exit(1)
try:
    os.execvp(command[0], command)
except OSError as error:
    sys.exit(f"cannot start {command[0]!r}: {error.strerror}")
"""


def ends_with_us(command: Sequence[str], number: signal.Signals = signal.SIGKILL, user: str | None = None) -> list[str]:
    """Return a command line that runs the command and sends it the signal when this process dies. Works only on Linux.

    The kernel sends the signal when the starting thread ends. So only the main thread gets the wrapped command; other threads
    get the command unchanged.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        if user is not None:
            raise ValueError(f"user={user!r}; expected None: a user can only be set in the main thread, on Linux")
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _BECOME, str(os.getpid()), str(int(number)), user or "", *command]


def when_parent_dies(act: Callable[[], None]) -> None:
    """In a child process of ``multiprocessing``: call ``act``, in a thread, when the parent dies or if it has died already."""
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("this process has no parent; expected a child process of multiprocessing")

    def wait() -> None:
        parent.join()
        act()

    threading.Thread(target=wait, daemon=True).start()
