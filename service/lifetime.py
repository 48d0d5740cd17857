"""Processes that end with the one that starts them, even if it is killed before they have begun."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Final

#: Becomes the command behind its first three arguments: the process it must not outlive, the signal it is then sent, and the user
#: it runs as (empty: the same). A process of its own does this, since after a fork in a process with threads nothing but exec
#: is safe. It looks at its parent after asking for the signal: one that died before could not send it. Changing the user would
#: cancel the request, so that comes first.
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
    """A command line for the same command, which is sent the signal when this process dies. Only Linux offers that.

    The kernel sends the signal when the starting thread ends. So only the main thread gets the wrapped command; any other thread
    gets the command unchanged.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        if user is not None:
            raise ValueError(f"user={user!r}; expected nobody, outside the main thread of a program on Linux")
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _BECOME, str(os.getpid()), str(int(number)), user or "", *command]
