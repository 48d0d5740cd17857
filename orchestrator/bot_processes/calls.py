"""The system calls that bots may not make, as a seccomp filter: one table, with the numbers of each architecture.

A refused call returns an ordinary error. Calls that are newer than this table look as if the kernel did not have them.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from orchestrator.bot_processes.system import checked, libc

#: Name of a call -> its number on x86_64 and on aarch64; None: the architecture does not have it.
_Numbers = dict[str, tuple[int | None, int | None]]
_MACHINES: Final = ("x86_64", "aarch64")
_ARCH: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
#: The last call that this table covers (file_setattr, Linux 6.17).
_NEWEST: Final = 469

#: Reading, stopping or moving other processes, and their open files.
_OTHER_PROCESSES: Final[_Numbers] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
}
#: Memory and queues that belong to no process: no account includes them, and they outlive the run.
_OUTLIVING: Final[_Numbers] = {
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
}
#: Parts of the kernel that no game needs and that this filter cannot inspect.
_KERNEL_PARTS: Final[_Numbers] = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "fanotify_init": (300, 262),
    "syslog": (103, 116),
    "lookup_dcookie": (212, 18),
    "modify_ldt": (154, None),
    "uselib": (134, None),
}
#: Namespaces, mounts, and ways around them.
_MOUNTS: Final[_Numbers] = {
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
}
#: The machine as a whole. Most of these need root's capabilities, which a bot does not have; this is a second protection.
_MACHINE: Final[_Numbers] = {
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "acct": (163, 89),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
}
#: Owners, modes and attributes of files, which Landlock does not restrict.
_ATTRIBUTES: Final[_Numbers] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}
DENIED: Final[_Numbers] = _OTHER_PROCESSES | _OUTLIVING | _KERNEL_PARTS | _MOUNTS | _MACHINE | _ATTRIBUTES
#: Answered as by a kernel without them, for which libraries have a fallback: memory without an owner, a call whose flags the
#: filter cannot read (it could make namespaces), and resources of which a user or a machine has only a few hundred.
_UNKNOWN: Final[_Numbers] = {
    "memfd_create": (319, 279),
    "clone3": (435, 435),
    "io_setup": (206, 0),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
}
#: Can open a port even where Landlock forbids bind.
_LISTEN: Final[_Numbers] = {"listen": (50, 201)}
_FCNTL: Final[_Numbers] = {"fcntl": (72, 25)}
#: F_SETLEASE and F_NOTIFY, with which a reader of a file can delay or watch its writers; F_SETPIPE_SZ.
_FILE_COMMANDS: Final = (1024, 1026, 1031)
_SETSOCKOPT: Final[_Numbers] = {"setsockopt": (54, 208)}
_SOCKET_LEVEL: Final = 1
#: SO_SNDBUF and SO_RCVBUF: only hints, so the filter reports success and ignores them.
_BUFFER_SIZES: Final = (7, 8)
#: Limits and priorities, which a process may set only for itself. Name -> the required first arguments; in each the
#: last is a process id, and 0 means the caller.
_OWN_ONLY: Final[_Numbers] = {
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
_OWN_ONLY_KIND: Final[_Numbers] = {"setpriority": (141, 140), "ioprio_set": (251, 30)}
#: The value for "a process" in each of these two calls.
_A_PROCESS: Final = {"setpriority": 0, "ioprio_set": 1}
_CLONE: Final[_Numbers] = {"clone": (56, 220)}
_NEW_NAMESPACES: Final = 0x7E020000
_IOCTL: Final[_Numbers] = {"ioctl": (16, 29)}
#: Inserts input into a terminal, as if its user typed it.
_TERMINAL_INPUT: Final = (0x5412, 0x541C)
_SOCKET: Final[_Numbers] = {"socket": (41, 198)}
#: Calls that can connect without the call that Landlock checks, and the index of their flags argument.
_SENDS: Final[_Numbers] = {"sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269)}
_FLAGS_AT: Final = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}
_FAST_OPEN: Final = 0x20000000

#: All calls that the filter knows.
KNOWN: Final[_Numbers] = (
    DENIED | _UNKNOWN | _OWN_ONLY | _OWN_ONLY_KIND | _CLONE | _IOCTL | _LISTEN | _FCNTL | _SETSOCKOPT | _SOCKET | _SENDS
)

_PR_SET_SECCOMP, _FILTER_MODE = 22, 2
_LOAD_WORD, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_SET, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM, _TYPE_MASK = 1, 2, 0xF
_TCP: Final = 6

#: (operation, steps to skip if true, steps to skip if false, value)
_Step = tuple[int, int, int, int]
_ALLOW: Final[_Step] = (_RETURN, 0, 0, 0x7FFF0000)
_REFUSE: Final[_Step] = (_RETURN, 0, 0, 0x00050000 | errno.EACCES)
_FORBID: Final[_Step] = (_RETURN, 0, 0, 0x00050000 | errno.EPERM)
#: Reports success and does nothing.
_PASS_OVER: Final[_Step] = (_RETURN, 0, 0, 0x00050000)
_ABSENT: Final[_Step] = (_RETURN, 0, 0, 0x00050000 | errno.ENOSYS)


class Sockets(NamedTuple):
    """The kinds of sockets that a bot may open in addition to TCP."""

    #: UDP, to resolve the arena's name.
    asks_names: bool
    #: Unix sockets, if the arena's address is one.
    uses_unix: bool


def missing_filter() -> str:
    """Why this machine has no system call filter; empty if it has one."""
    if os.uname().machine not in _MACHINES:
        return f"no filter for {os.uname().machine}"
    libc().prctl(_PR_SET_SECCOMP, _FILTER_MODE, None, 0, 0)
    # An empty address gives EFAULT; a kernel without filters gives EINVAL.
    return "" if ctypes.get_errno() in (errno.EFAULT, errno.EACCES) else "no seccomp filters here"


def filter_calls(sockets: Sockets) -> None:
    """Refuse the calls of the table to this process and its descendants, permanently. It must not be able to gain privileges."""
    program = _program(sockets, os.uname().machine)
    code = b"".join(struct.pack("HBBI", *step) for step in program)
    kept = ctypes.create_string_buffer(code, len(code))
    given = struct.pack("HxxxxxxP", len(program), ctypes.addressof(kept))
    checked(libc().prctl(_PR_SET_SECCOMP, _FILTER_MODE, given, 0, 0), "seccomp")


def _program(sockets: Sockets, machine: str) -> list[_Step]:
    at = _MACHINES.index(machine)

    def numbers(table: _Numbers) -> Iterator[tuple[str, int]]:
        for name, both in table.items():
            if (number := both[at]) is not None:
                yield name, number

    def on(number: int, *steps: _Step) -> list[_Step]:
        """Run these steps if the call has this number."""
        return [(_JUMP_EQUAL, 0, len(steps), number), *steps]

    program: list[_Step] = [
        (_LOAD_WORD, 0, 0, _ARCH_AT),
        (_JUMP_EQUAL, 1, 0, _ARCH[machine]),
        _FORBID,
        (_LOAD_WORD, 0, 0, _NUMBER_AT),
        (_JUMP_ABOVE, 0, 1, _NEWEST),  # also the calls of x32, which are the same calls with other numbers
        _ABSENT,
    ]
    for _, number in numbers(DENIED):
        program += on(number, _FORBID)
    for _, number in numbers(_UNKNOWN):
        program += on(number, _ABSENT)
    for _, number in numbers(_OWN_ONLY):
        program += on(number, _argument(0), (_JUMP_EQUAL, 0, 1, 0), _ALLOW, _FORBID)
    for name, number in numbers(_OWN_ONLY_KIND):
        is_process = [_argument(0), (_JUMP_EQUAL, 1, 0, _A_PROCESS[name]), _FORBID]
        program += on(number, *is_process, _argument(1), (_JUMP_EQUAL, 0, 1, 0), _ALLOW, _FORBID)
    for _, number in numbers(_CLONE):
        program += on(number, _argument(0), (_JUMP_SET, 0, 1, _NEW_NAMESPACES), _FORBID, _ALLOW)
    for _, number in numbers(_IOCTL):
        typing = [step for request in _TERMINAL_INPUT for step in ((_JUMP_EQUAL, 0, 1, request), _FORBID)]
        program += on(number, _argument(1), *typing, _ALLOW)
    for _, number in numbers(_LISTEN):
        program += on(number, _REFUSE)
    for _, number in numbers(_FCNTL):
        refused = [step for command in _FILE_COMMANDS for step in ((_JUMP_EQUAL, 0, 1, command), _FORBID)]
        program += on(number, _argument(1), *refused, _ALLOW)
    for _, number in numbers(_SETSOCKOPT):
        passed = [step for option in _BUFFER_SIZES for step in ((_JUMP_EQUAL, 0, 1, option), _PASS_OVER)]
        program += on(number, _argument(1), (_JUMP_EQUAL, 1, 0, _SOCKET_LEVEL), _ALLOW, _argument(2), *passed, _ALLOW)
    for name, number in numbers(_SENDS):
        program += on(number, _argument(_FLAGS_AT[name]), (_JUMP_SET, 0, 1, _FAST_OPEN), _REFUSE, _ALLOW)
    for _, number in numbers(_SOCKET):
        program += on(number, *_on_socket(sockets))
    return [*program, _ALLOW]


def _argument(number: int) -> _Step:
    """Load the lower half of an argument, which is enough for process ids and flags."""
    return (_LOAD_WORD, 0, 0, _ARGUMENTS_AT + 8 * number)


def _on_socket(sockets: Sockets) -> list[_Step]:
    """TCP over IPv4 and IPv6; netlink to list the own addresses, which name resolution needs."""
    steps: list[_Step] = [_argument(0)]
    if sockets.uses_unix:
        steps += [(_JUMP_EQUAL, 0, 1, _AF_UNIX), _ALLOW]
    steps += [(_JUMP_EQUAL, 0, 4, _AF_NETLINK), _argument(2), (_JUMP_EQUAL, 0, 1, 0), _ALLOW, _REFUSE]
    steps += [(_JUMP_EQUAL, 2, 0, _AF_INET), (_JUMP_EQUAL, 1, 0, _AF_INET6), _REFUSE]
    steps += [_argument(1), (_AND, 0, 0, _TYPE_MASK)]
    if sockets.asks_names:
        steps += [(_JUMP_EQUAL, 0, 1, _DATAGRAM), _ALLOW]
    steps += [(_JUMP_EQUAL, 1, 0, _STREAM), _REFUSE]
    return [*steps, _argument(2), (_JUMP_EQUAL, 2, 0, 0), (_JUMP_EQUAL, 1, 0, _TCP), _REFUSE, _ALLOW]
