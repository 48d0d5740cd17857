"""A bot's own namespaces: a file system with only what it needs, its own processes, and no shared memory of others.

Linux lets an ordinary user create them in a user namespace, unless the administrator forbids it. ``offered`` returns why this
machine does not; then the sandbox has only its other parts.
"""

import contextlib
import ctypes
import json
import os
import re
import signal
import struct
import sys
from collections.abc import Callable, Collection
from functools import cache
from typing import Final

from orchestrator.bot_processes.system import CANNOT_START, checked, libc, prctl, write_text
from orchestrator.bot_processes.view import View, is_inside, view_for

_CLONE: Final = {"x86_64": 56, "aarch64": 220}
_MOUNT_SETATTR, _PIVOT_ROOT = 442, {"x86_64": 155, "aarch64": 41}
_NEW_MOUNTS, _NEW_NAME, _NEW_IPC, _NEW_USER, _NEW_PIDS = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000
_NEW_NETWORK: Final = 0x40000000
_READ_ONLY, _NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 1, 2, 4, 8  # the same for mount and for mount_setattr
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_AT_RECURSIVE: Final = 0x8000
_DETACH: Final = 2
_PR_SET_DUMPABLE: Final = 4
_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
#: Parts of /proc that the kernel shows only to root: a bot started by root has that user id.
_KERNEL_STATE: Final = (
    "iomem", "ioports", "interrupts", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount",
    "kpageflags", "latency_stats", "modules", "pagetypeinfo", "sched_debug", "slabinfo", "timer_list", "timer_stats",
    "vmallocinfo",
)  # fmt: skip
#: Where the machine's own file system is while the view is built, and where the bot's own files are.
_OLD, _STORE = "/.old", "/.store"
#: Folders that a bot may write in besides its scratch folder: they are private and deleted with it.
WRITABLE: Final = ("/tmp", "/dev/shm")
#: The kernel accepts no lower limit on process ids.
_LEAST_PIDS: Final = 301
#: The first Linux version in which each process namespace has its own limit.
_OWN_PID_MAX: Final = (6, 14)
#: A bot's files cost kernel memory, however small they are.
_FILES_PER_MIB: Final = 64
_PROBE_S: Final = 20.0
_PROBE_PORT: Final = 1


def start_in_namespaces(run: Callable[[], None], *, has_network: bool) -> int:
    """Fork a child as the first process of its own namespaces. It calls ``run``, which must not return."""
    flags = _NEW_USER | _NEW_MOUNTS | _NEW_PIDS | _NEW_IPC | _NEW_NAME | signal.SIGCHLD
    flags |= _NEW_NETWORK if has_network else 0
    user, group = os.geteuid(), os.getegid()
    child = int(libc().syscall(ctypes.c_long(_CLONE[os.uname().machine]), *map(ctypes.c_long, (flags, 0, 0, 0, 0))))
    if child < 0:
        raise OSError(ctypes.get_errno(), f"namespaces: {os.strerror(ctypes.get_errno())}")
    if child == 0:
        try:
            write_text("/proc/self/setgroups", "deny")
            write_text("/proc/self/uid_map", f"{user} {user} 1")
            write_text("/proc/self/gid_map", f"{group} {group} 1")
            prctl(_PR_SET_DUMPABLE, 0)  # the bot must not read its memory
            run()
        except OSError as error:
            print(f"cannot start: {error.strerror} {error.filename or ''}".rstrip(), file=sys.stderr, flush=True)
        except BaseException:  # in any case this process must not continue as its parent
            import traceback

            traceback.print_exc()
        finally:
            os._exit(CANNOT_START)
    return child


def enter_view(view: View, scratch: str, hidden: Collection[str], cwd: str, disk_mb: int, processes: int) -> None:
    """Make this the only file system of this process, the first of its namespaces. ``hidden`` paths are never in it."""
    _mount("", "/", "", _RECURSIVE | _PRIVATE)
    _mount("tmpfs", scratch, "tmpfs", _NO_SETUID | _NO_DEVICES, "size=16m,mode=0755")  # any folder will do
    os.chdir(scratch)
    os.mkdir(f".{_OLD}")
    checked(libc().syscall(_PIVOT_ROOT[os.uname().machine], b".", f".{_OLD}".encode()), "pivot_root")
    os.chdir("/")
    writable = (scratch, *WRITABLE)
    _make_store(len(writable), disk_mb)
    _make_devices()
    for place in ("/tmp", "/proc", "/dev/shm"):
        os.makedirs(place, exist_ok=True)
    _mount(f"{_STORE}/1", "/tmp", "", _BIND)
    divided = []
    for path in view.shown:
        if any(is_inside(path, secret) for secret in hidden):
            continue
        if any(is_inside(secret, path) for secret in hidden):
            os.makedirs(path, exist_ok=True)
            _mount("tmpfs", path, "tmpfs", _NO_SETUID | _NO_DEVICES, "size=16m,mode=0755")
            _show_all_but(hidden, path)
            divided.append(path)
        else:
            _show(path)
    for link, target in view.links.items():
        if not any(is_inside(link, path) for path in view.shown) and not os.path.lexists(link):
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(target, link)
    for at, place in enumerate(writable):
        if place != "/tmp":
            os.makedirs(place, exist_ok=True)
            _mount(f"{_STORE}/{at}", place, "", _BIND)
    os.makedirs(cwd, exist_ok=True)
    _mount("proc", "/proc", "proc", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS)
    if has_own_pid_max(os.uname().release):  # a second limit: processes are also counted or limited by a cgroup
        write_text("/proc/sys/kernel/pid_max", str(max(_LEAST_PIDS, processes + 10)))
    for name in _KERNEL_STATE:
        if os.path.exists(f"/proc/{name}"):
            _mount("/dev/null", f"/proc/{name}", "", _BIND)
    for place in (_OLD, _STORE):
        checked(libc().umount2(place.encode(), _DETACH), f"umount {place}")
        os.rmdir(place)
    for place in ("/", "/dev", "/proc", *divided):
        _set_attributes(place, _READ_ONLY, 0)


def has_own_pid_max(release: str) -> bool:
    """Whether kernel.pid_max belongs to a process namespace (since Linux 6.14). Before, root would set it for the machine."""
    version = re.match(r"(\d+)\.(\d+)", release)
    return version is not None and (int(version[1]), int(version[2])) >= _OWN_PID_MAX


def _make_store(count: int, disk_mb: int) -> None:
    """Create one file system for everything the bot writes, so that one limit covers it."""
    os.mkdir(_STORE)
    size = f"size={disk_mb}m,nr_inodes={1000 + _FILES_PER_MIB * disk_mb},mode=0700"
    _mount("tmpfs", _STORE, "tmpfs", _NO_SETUID | _NO_DEVICES, size)
    for at in range(count):
        os.mkdir(f"{_STORE}/{at}", 0o700)


def _make_devices() -> None:
    os.mkdir("/dev")
    _mount("tmpfs", "/dev", "tmpfs", _NO_SETUID | _NO_PROGRAMS, "size=64k,mode=0755")
    for name in _DEVICES:
        with open(f"/dev/{name}", "x"):
            _mount(f"{_OLD}/dev/{name}", f"/dev/{name}", "", _BIND)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")


def _show(path: str) -> None:
    """Mount a file or folder of the machine read-only, with all mounts inside it."""
    if os.path.isdir(_OLD + path):
        os.makedirs(path, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a"):
            pass
    _mount(_OLD + path, path, "", _BIND | _RECURSIVE)
    _set_attributes(path, _READ_ONLY | _NO_SETUID | _NO_DEVICES, _AT_RECURSIVE)


def _show_all_but(hidden: Collection[str], folder: str) -> None:
    """Mount every entry of a folder separately, so that entries created or replaced later are not shown."""
    for entry in os.scandir(_OLD + folder):
        path = entry.path.removeprefix(_OLD)
        if path in hidden:
            continue
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), path)
        elif entry.is_dir() and any(is_inside(secret, path) for secret in hidden):
            os.mkdir(path)
            _show_all_but(hidden, path)
        else:
            with contextlib.suppress(FileNotFoundError):  # it has just gone
                _show(path)


# ----------------------------------------------------------------------------------------------- what the machine offers
@cache
def offered() -> str:
    """Why this machine does not let us create namespaces; empty if it does. Tried once, in a separate process."""
    if sys.platform != "linux":
        return "only Linux has them"
    if os.uname().machine not in _CLONE:
        return f"not supported on {os.uname().machine}"
    import subprocess  # the launcher, which starts often, does not need these
    import tempfile

    from orchestrator.bot_processes.launcher import launched

    try:
        with tempfile.TemporaryDirectory(prefix="rubble-probe-") as folder:
            terms = json.dumps({"probe": folder, "view": view_for(["sh"], {}, "/")._asdict()})
            done = subprocess.run(
                launched(), input=terms, capture_output=True, text=True, timeout=_PROBE_S, env={}, check=False
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"they cannot be tried out: {error}"
    output = done.stderr.strip().splitlines()
    return (
        "" if done.returncode == 0 else output[-1].removeprefix("cannot start: ") if output else "they do not isolate"
    )


def probe(folder: str, view: View) -> int:
    """Create namespaces like those of a bot and check that they isolate; returns the exit code."""
    import socket  # the launcher, which starts often, does not need these

    from orchestrator.bot_processes.network import listen_inside

    def look() -> None:
        ours, theirs = socket.socketpair()
        listen_inside([_PROBE_PORT], theirs)
        ours.close()
        enter_view(view, folder, (), "/", 1, 1)
        os._exit(0 if os.getpid() == 1 and os.path.exists("/proc/1/stat") and not os.path.exists(_OLD) else 1)

    _, status = os.waitpid(start_in_namespaces(look, has_network=True), 0)
    return os.waitstatus_to_exitcode(status)


# --------------------------------------------------------------------------------------------------------------- system
def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    given = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None)
    checked(libc().mount(*given), f"mount {target}")


def _set_attributes(path: str, attributes: int, flags: int) -> None:
    given = struct.pack("QQQQ", attributes, 0, 0, 0)
    size = ctypes.c_size_t(len(given))
    checked(libc().syscall(_MOUNT_SETATTR, -100, path.encode(), flags, given, size), f"mount_setattr {path}")
