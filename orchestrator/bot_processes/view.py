"""The files that a bot sees: the system's programs, its own folder, and what its command and environment name.

It lists what is shown, not what is hidden, so that an unknown secret is not shown. Everything is read-only. Paths are the same
as on the machine, so that a command means the same inside and outside.
"""

import os
import pwd
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import glob
from typing import Final, NamedTuple

#: Programs, their libraries, and what runtimes read to find the number of processors and the amount of memory.
_SYSTEM: Final = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/nix/store", "/gnu/store",
    "/run/current-system", "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
#: The parts of /etc that programs need to start, resolve names and check certificates.
_ETC: Final = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "debian_version", "default/locale",
    "fonts", "gai.conf", "group", "host.conf", "hostname", "hosts", "java-*", "ld.so.cache", "ld.so.conf",
    "ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd",
    "pki/ca-trust/extracted", "pki/java", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf", "protocols",
    "python3*", "resolv.conf", "services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone",
)  # fmt: skip
#: Folders whose parent is the installation folder of a program.
_PROGRAM_FOLDERS: Final = ("bin", "sbin", "shims")
#: If that folder is directly in a home folder (~/.cargo, ~/.local), only these are shown: passwords may be beside them.
_PROGRAM_PARTS: Final = (
    "bin", "sbin", "shims", "lib", "lib64", "libexec", "include", "versions", "installs", "plugins", "envs", "version",
    "pyvenv.cfg",
)  # fmt: skip
#: Our packages that a bot may use; an installed Rubble has them among the libraries.
_OUR_PACKAGES: Final = ("bots", "rubble", "service")
#: Folders with files of many users and programs, and those in which every folder is such a folder.
_SHARED: Final = ("/", "/home", "/media", "/mnt", "/srv", "/tmp", "/var")
_PARENTS_OF_SHARED: Final = ("/home", "/media", "/var")
#: Folders that belong to the system with all their contents.
_SYSTEM_TREES: Final = ("/boot", "/dev", "/etc", "/proc", "/run", "/sys")
#: A bot has its own, so the machine's are not shown.
_MADE_ANEW: Final = ("/dev", "/proc")
#: Links may form a cycle.
_MOST_LINKS: Final = 40
_MOST_PARTS: Final = 1000


class View(NamedTuple):
    """The shown paths, as on the machine."""

    #: Files and folders, with links resolved and none inside another.
    shown: tuple[str, ...]
    #: Links that lead to them, each with its target.
    links: Mapping[str, str]


def view_for(command: Sequence[str], env: Mapping[str, str], cwd: str, readable: Iterable[str] = ()) -> View:
    """The view of a bot with this command; ``readable`` is shown in addition."""
    homes = _homes(env)
    wanted: list[str] = [*_SYSTEM, *(path for name in _ETC for path in glob(f"/etc/{name}")), *_our_own(homes)]
    wanted += [*readable, *([] if _is_too_wide(cwd, homes) else [cwd])]
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        wanted += _around_program(os.path.join(cwd, folder, "any"), homes)
    for folder in [""] if "/" in command[0] else folders:
        for path in _hops(os.path.join(cwd, folder, command[0])):
            wanted += _around_program(path, homes)
    for word in command[1:]:
        wanted += [path for named in _paths_in(word, cwd) for path in _around_file(named, homes)]
    for name, value in env.items():
        if name not in ("PATH", "HOME", "TMPDIR"):
            wanted += [path for path in _paths_in(value, cwd) if not _is_too_wide(path, homes)]
    return _resolved(path for path in wanted if os.path.lexists(path))


def _homes(env: Mapping[str, str]) -> tuple[str, ...]:
    """Home folders, which may contain anything."""
    try:
        ours = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # the user of a container may not be listed
        ours = "/root"
    return tuple(os.path.realpath(path) for path in ("/root", ours, env.get("HOME") or ours))


def _is_too_wide(path: str, homes: Sequence[str]) -> bool:
    """Whether it is a folder with files of others: of users, of other programs, or of the system."""
    real = os.path.realpath(path)
    if not os.path.isdir(real):
        return False
    if real in _SHARED or os.path.dirname(real) in _PARENTS_OF_SHARED:
        return True
    return any(is_inside(real, tree) for tree in _SYSTEM_TREES) or any(is_inside(home, real) for home in homes)


def _our_own(homes: Sequence[str]) -> list[str]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    packages = [os.path.join(root, name) for name in _OUR_PACKAGES]
    python = [path for hop in _hops(sys.executable) for path in _around_program(hop, homes)]
    return [sys.base_prefix, *python, *packages, *glob(f"{root}/*.so")]


def _around_program(program: str, homes: Sequence[str]) -> list[str]:
    """The installation folder of a program, if it has one, else its folder."""
    folder = os.path.normpath(os.path.dirname(program))
    prefix = os.path.dirname(folder)
    if os.path.basename(folder) not in _PROGRAM_FOLDERS or _is_too_wide(prefix, homes):
        return _around_file(program, homes)
    if os.path.realpath(os.path.dirname(prefix)) in homes:
        return [os.path.join(prefix, part) for part in _PROGRAM_PARTS]
    return [prefix]


def _around_file(path: str, homes: Sequence[str]) -> list[str]:
    """A folder; or a file with those beside it, unless that folder is too wide: then the file alone."""
    is_folder = os.path.isdir(path)
    folder = path if is_folder else os.path.dirname(path)
    if _is_too_wide(folder, homes):
        return [] if is_folder else [path]
    return [folder]


def _paths_in(word: str, cwd: str) -> Iterator[str]:
    """The paths that an argument or a variable names: ``a.jar:lib``, ``--model=x.bin``."""
    for part in (word, *re.split(r"[=:,;]", word)):
        path = os.path.normpath(os.path.join(cwd, part))
        if part and path != cwd and os.path.exists(path):
            yield path


def _hops(path: str) -> list[str]:
    """A path and, if it is a link, every path on the way to its target."""
    found: list[str] = []
    while os.path.lexists(path) and path not in found and len(found) < _MOST_LINKS:
        found.append(path)
        if os.path.islink(path):
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    return found


def _resolved(wanted: Iterable[str]) -> View:
    """Resolve links, which are created again, and leave out paths inside other paths."""
    links: dict[str, str] = {}
    real: set[str] = set()
    for path in wanted:
        real.add(_follow(os.path.abspath(path), links))
    shown: list[str] = []
    for path in sorted(real, key=lambda path: path.split("/")):
        if any(is_inside(path, place) for place in _MADE_ANEW):
            continue
        if os.path.exists(path) and not (shown and is_inside(path, shown[-1])):
            shown.append(path)
    return View(tuple(shown), links)


def _follow(path: str, links: dict[str, str]) -> str:
    """The real path; links on the way are added to ``links``."""
    done, rest = "/", [part for part in path.split("/") if part]
    for _ in range(_MOST_PARTS):
        if not rest:
            break
        at = os.path.join(done, rest.pop(0))
        if os.path.islink(at):
            links[at] = os.readlink(at)
            target = os.path.normpath(os.path.join(done, links[at]))
            done, rest = "/", [part for part in target.split("/") if part] + rest
        else:
            done = at
    return done


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is the folder or inside it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
