"""The sandbox of a bot: what it may write, read, connect to and call, as far as this machine can enforce it.

It uses four mechanisms of Linux. None needs a privilege, and the bot cannot undo them:

- Namespaces, if the machine offers them (``namespaces``, ``network``): the bot has its own files, processes and network.
- Landlock: the bot writes only in its own folders and cannot read the arena's private files; it can connect only to the
  arena's TCP port and cannot listen (kernel 6.7); signals and abstract sockets stay inside (kernel 6.12).
- seccomp: no sockets but TCP, the only ones that Landlock restricts; no calls that reach other processes, create memory that
  belongs to no process, create namespaces, or change the attributes of files (``calls`` has the table).
- Capabilities: a bot started by root has none.

Landlock restricts ports, not addresses: without its own network, a bot can reach the same port on other machines. ``missing``
lists what a machine cannot enforce, at the start of a run and in its report.
"""

import ctypes
import errno
import os
import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from orchestrator.bot_processes import namespaces
from orchestrator.bot_processes.calls import Sockets, filter_calls, missing_filter
from orchestrator.bot_processes.cgroups import divisible
from orchestrator.bot_processes.system import checked, libc

if TYPE_CHECKING:
    from pathlib import Path

# ------------------------------------------------------------------------------------------------------------- Landlock
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_ASK_VERSION: Final = 1
_PATH_BENEATH, _NET_PORT = 1, 2
_WRITE_FILE, _READ_FILE = 1 << 1, 1 << 2
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14  # versions 2 and 3
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1  # version 4
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1  # version 6
_INSIDE: Final = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
#: Devices that programs write to and that store nothing.
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# --------------------------------------------------------------------------------------------------------- capabilities
_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _CLEAR_ALL = 24, 47, 4
_CAPABILITIES_3: Final = 0x20080522


#: An arena at one of these addresses can be reached from a bot's own network.
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class SandboxPolicy(NamedTuple):
    """What one bot may do. Passed to the launcher as JSON."""

    #: The only folder it may write in; it may read there too.
    scratch: str
    #: The only TCP ports it may connect to.
    ports: tuple[int, ...]
    #: Files and folders it may not read.
    hidden: tuple[str, ...] = ()
    #: The arena's address is a name that must be resolved.
    asks_names: bool = False
    #: The arena's address is a Unix socket.
    uses_unix: bool = False
    #: It has its own namespaces, and sees only the files that it needs.
    has_view: bool = False
    #: Additional paths that it sees.
    readable: tuple[str, ...] = ()
    #: It has its own network, which contains only the arena.
    has_network: bool = False

    @classmethod
    def for_bot(
        cls, scratch: "Path", address: str, hidden: Iterable["Path"] = (), readable: Iterable[str] = ()
    ) -> "SandboxPolicy":
        """The policy of a bot that connects to the arena at this address and has this folder."""
        ports, asks_names, uses_unix = _read_address(address)
        secret = tuple(str(path.resolve()) for path in hidden)
        sockets = [address.removeprefix("unix:").removeprefix("//")] if uses_unix else []
        has_view = not namespaces.offered()
        has_network = has_view and bool(ports) and {host for host, _ in _hosts_and_ports(address)} <= _LOOPBACK
        shown = (*readable, *sockets)
        return cls(str(scratch.resolve()), ports, secret, asks_names, uses_unix, has_view, shown, has_network)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "SandboxPolicy":
        """Read what ``to_plain`` returned."""
        given = dict(plain)
        return cls(**given | {name: tuple(given[name]) for name in ("ports", "hidden", "readable")})

    def to_plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return self._asdict()


def _read_address(address: str) -> tuple[tuple[int, ...], bool, bool]:
    """The ports, whether a name must be resolved, and whether it is a Unix socket; gRPC addresses have many forms."""
    if address.startswith("unix"):
        return (), False, True
    found = _hosts_and_ports(address)
    return tuple(port for _, port in found), not all(host == "localhost" or _is_ip(host) for host, _ in found), False


def _hosts_and_ports(address: str) -> list[tuple[str, int]]:
    found = []
    for one in re.sub(r"^(ipv4:|ipv6:|dns:(//[^/]*/)?)", "", address).split(","):
        parts = re.fullmatch(r"\[?(?P<host>.*?)\]?(?::(?P<port>\d+))?", one)
        assert parts is not None  # the pattern matches any text
        found.append((parts["host"], int(parts["port"] or 443)))
    return found


def _is_ip(host: str) -> bool:
    import ipaddress  # the launcher starts often and does not need it

    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


# ----------------------------------------------------------------------------------------------- what the machine offers
def missing(policy: SandboxPolicy) -> tuple[str, ...]:
    """What a bot under this policy could still do here although it should not, as text."""
    if sys.platform != "linux":
        return ("bots can do what this user can: only Linux has a sandbox for them",)
    lacking = [*_missing_for_files(policy), *_missing_for_network(policy)]
    if reason := missing_filter():
        others = "" if policy.has_view else ", so other processes limited"
        lacking.append(f"any system call can be made{others}: {reason}")
    return tuple(lacking)


def _missing_for_files(policy: SandboxPolicy) -> Iterator[str]:
    """Gaps for files and processes: namespaces close them all; Landlock depends on its version."""
    if policy.has_view:
        return
    yield f"everything this user may read can be read, and processes be seen: no namespaces ({namespaces.offered()})"
    version = landlock_version()
    if version < 1:
        yield "files outside its folder can be written, and the arena's own files read: no Landlock here"
    elif version < 3:
        yield f"files outside its folder can be truncated: Landlock {version} here, 3 is needed"
    if version < 6:
        yield f"other processes of this user can be signalled: Landlock {version} here, 6 is needed"


def _missing_for_network(policy: SandboxPolicy) -> Iterator[str]:
    if policy.has_network:
        return
    version = landlock_version()
    if version < 4:
        yield f"any TCP port can be reached: Landlock {version} here, 4 is needed"
    elif policy.ports:
        ports = ", ".join(map(str, policy.ports))
        why = "the arena is not on this machine's loopback" if policy.has_view else "no namespaces"
        yield f"port {ports} of any machine can be reached: no network of their own ({why})"
    if version < 6 and (policy.uses_unix or missing_filter()):
        yield f"abstract unix sockets of other programs can be reached: Landlock {version} here, 6 is needed"
    if policy.asks_names and not missing_filter():
        yield "UDP is open: the arena's address is a name that must be resolved"
    elif missing_filter():
        yield f"other sockets than TCP can be opened: {missing_filter()}"


def in_force(policy: SandboxPolicy, limits: Mapping[str, Any]) -> str:
    """What protects this machine from its bots, and by which mechanism: for the start of a run. See docs/sandbox.md."""
    means = []
    if policy.has_view:
        own = "files, processes and network" if policy.has_network else "files and processes"
        means.append(f"{own} of their own (namespaces)")
    if version := landlock_version() if sys.platform == "linux" else 0:
        ports = f", TCP to port {', '.join(map(str, policy.ports))} only" if version >= 4 and policy.ports else ""
        means.append(f"writing in their own folders only{ports} (Landlock {version})")
    if sys.platform == "linux" and not missing_filter():
        means.append("a filter of system calls (seccomp)")
    group, why = divisible()
    kept = "kept by cgroup v2" if group else f"counted; {why}"
    return (
        f"The sandbox of bots: {'; '.join(means) or 'none'}. Limits for each: {limits['memory_mb']} MiB of memory and "
        f"{limits['processes']} processes and threads ({kept}), {limits['disk_mb']} MiB of files, {limits['files']} open "
        "files in each process."
    )


def landlock_version() -> int:
    """The version of the Landlock interface; 0 if there is none."""
    return max(0, int(libc().syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


# ------------------------------------------------------------------------------------------------------------- building
def build(policy: SandboxPolicy) -> None:
    """Enforce the policy on this process permanently, as far as this machine can. It must have no threads and no new privileges."""
    if os.geteuid() == 0:
        _give_up_power()
    if landlock_version() >= 1:
        _restrict_files_and_ports(policy, landlock_version())
    if not missing_filter():
        filter_calls(Sockets(policy.asks_names, policy.uses_unix))


def _restrict_files_and_ports(policy: SandboxPolicy, version: int) -> None:
    inside = _INSIDE | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled = inside | _MAKE_CHAR | _MAKE_BLOCK | (_READ_FILE if policy.hidden else 0)
    ruleset = struct.pack("Q", handled)
    if version >= 4:
        ruleset += struct.pack("Q", _BIND_TCP | _CONNECT_TCP)
    if version >= 6:
        ruleset += struct.pack("Q", _ABSTRACT_SOCKETS | _SIGNALS)
    rules = checked(libc().syscall(_CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), 0), "landlock")
    on_file = handled & (_WRITE_FILE | _READ_FILE | _TRUNCATE)
    for folder in (policy.scratch, *(namespaces.WRITABLE if policy.has_view else ())):
        _allow_path(rules, folder, handled & ~(_MAKE_CHAR | _MAKE_BLOCK))
    for device in _DEVICES:
        if os.path.exists(device):
            _allow_path(rules, device, on_file)
    if policy.hidden:
        for path in _all_but("/", frozenset(policy.hidden)):
            _allow_path(rules, path, _READ_FILE)
    if version >= 4:
        for port in policy.ports:
            rule = struct.pack("QQ", _CONNECT_TCP, port)
            checked(libc().syscall(_ADD_RULE, rules, _NET_PORT, rule, 0), f"landlock, port {port}")
    checked(libc().syscall(_RESTRICT_SELF, rules, 0), "landlock")
    os.close(rules)


def _allow_path(rules: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return  # it has just been deleted
    try:
        rule = struct.pack("=Qi", rights, place)
        checked(libc().syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0), f"landlock, {path}")
    finally:
        os.close(place)


def _all_but(folder: str, hidden: frozenset[str]) -> Iterator[str]:
    """All paths except the hidden ones, as few as possible: Landlock can only allow.

    Files created later beside a hidden one are not included. Links are left out; their targets are allowed separately.
    """
    for entry in os.scandir(folder):
        if entry.path in hidden or entry.is_symlink():
            continue
        if any(path.startswith(entry.path + "/") for path in hidden):
            yield from _all_but(entry.path, hidden)
        else:
            yield entry.path


def _give_up_power() -> None:
    """Drop all capabilities of root, also after exec: the bounding set is empty."""
    capability = 0
    while libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    if capability == 0 and ctypes.get_errno() != errno.EPERM:  # root of a container may have none
        raise OSError(ctypes.get_errno(), f"capabilities: {os.strerror(ctypes.get_errno())}")
    libc().prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITIES_3, 0)
    checked(libc().capset(header, bytes(24)), "capabilities")
