"""Tries system calls that reach other processes, leave something behind or make namespaces; prints what worked as JSON.

The variable VICTIM is the id of another process of the same user. No call harms the victim if it works.
"""

import ctypes
import fcntl
import json
import os
import platform
import resource
import signal
import socket
from collections.abc import Callable
from typing import Final

_ON_X86: Final = platform.machine() == "x86_64"
_VICTIM: Final = int(os.environ.get("VICTIM", "0"))
_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long
_NEW_USER: Final = 0x10000000
_RMID: Final = 0
_SET_PIPE_SIZE: Final = 1031


def call(x86: int, arm: int, *arguments: int | bytes | None) -> int:
    """Make a system call by its number. Raises OSError if it fails."""
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(_LIBC.syscall(ctypes.c_long(x86 if _ON_X86 else arm), *given))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def leave_a_segment() -> None:
    segment = call(29, 194, 0, 4096, 0o600)
    call(31, 195, segment, _RMID, None)


def leave_a_semaphore() -> None:
    call(66, 191, call(64, 190, 0, 1, 0o600), 0, _RMID, None)


def leave_messages() -> None:
    call(71, 187, call(68, 186, 0, 0o600), _RMID, None)


def leave_a_queue() -> None:
    call(240, 180, b"rubble-test", os.O_CREAT | os.O_RDWR, 0o600, None)
    call(241, 181, b"rubble-test")


def lease_a_file() -> None:
    """Take a lease on a file: a process that opens it for writing must wait."""
    with open(__file__) as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)


def watch_a_folder() -> None:
    folder = os.open(os.path.dirname(__file__), os.O_RDONLY)
    fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_MULTISHOT | fcntl.DN_DELETE)


def enlarge_a_pipe() -> None:
    fcntl.fcntl(os.pipe()[1], _SET_PIPE_SIZE, 1 << 18)


def listen_without_an_address() -> None:
    with socket.socket() as listener:
        listener.listen()


def own_namespace() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0 if _LIBC.unshare(_NEW_USER) == 0 else 1)
    if os.waitpid(child, 0)[1]:
        raise OSError("refused")


def clone_into_a_namespace() -> None:
    child = call(56, 220, _NEW_USER | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


ATTACKS: Final[dict[str, Callable[[], object]]] = {
    "prlimit64": lambda: resource.prlimit(_VICTIM, resource.RLIMIT_CORE, (0, 0)),
    "sched_setaffinity": lambda: os.sched_setaffinity(_VICTIM, os.sched_getaffinity(0)),
    "sched_setscheduler": lambda: os.sched_setscheduler(_VICTIM, os.SCHED_OTHER, os.sched_param(0)),
    "sched_setparam": lambda: os.sched_setparam(_VICTIM, os.sched_param(0)),
    "sched_setattr": lambda: call(314, 274, _VICTIM, (48).to_bytes(4, "little") + bytes(44), 0),
    "setpriority": lambda: os.setpriority(os.PRIO_PROCESS, _VICTIM, 19),
    "ioprio_set": lambda: call(251, 30, 1, _VICTIM, 0x4004),
    "kcmp": lambda: call(312, 272, _VICTIM, _VICTIM, 2, 0, 0),
    "process_vm_readv": lambda: call(310, 270, _VICTIM, None, 0, None, 0, 0),
    "move_pages": lambda: call(279, 239, _VICTIM, 0, None, None, None, 0),
    "pidfd_open": lambda: os.close(os.pidfd_open(_VICTIM)),
    "memfd_create": lambda: os.close(os.memfd_create("hidden")),
    "shmget": leave_a_segment,
    "semget": leave_a_semaphore,
    "msgget": leave_messages,
    "mq_open": leave_a_queue,
    "add_key": lambda: call(248, 217, b"user", b"rubble-test", b"x", 1, -2 & 0xFFFFFFFF),
    "userfaultfd": lambda: os.close(call(323, 282, 1)),
    "perf_event_open": lambda: os.close(call(298, 241, (1).to_bytes(4, "little") + bytes(124), 0, -1, -1, 0)),
    "io_setup": lambda: call(206, 0, 1, bytes(8)),
    "inotify_init1": lambda: os.close(call(294, 26, 0)),
    "F_SETLEASE": lease_a_file,
    "F_NOTIFY": watch_a_folder,
    "F_SETPIPE_SZ": enlarge_a_pipe,
    "listen": listen_without_an_address,
    "unshare": own_namespace,
    "clone": clone_into_a_namespace,
    "name_to_handle_at": lambda: call(303, 264, -100, b"/", (128).to_bytes(4, "little") + bytes(132), bytes(4), 0),
}
#: Some kernels do not have these, or allow them only to root.
PERHAPS: Final = {
    "ioprio_set",
    "kcmp",
    "move_pages",
    "sched_setattr",
    "mq_open",
    "add_key",
    "userfaultfd",
    "perf_event_open",
    "io_setup",
    "F_SETLEASE",
    "unshare",
    "clone",
    "name_to_handle_at",
}


def main() -> None:
    worked = []
    for name, attack in ATTACKS.items():
        try:
            attack()
        except OSError:
            continue
        worked.append(name)
    resource.prlimit(0, resource.RLIMIT_CORE)  # calls on itself must work
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    os.nice(1)
    print(f"worked: {json.dumps(worked)} and it is well", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
