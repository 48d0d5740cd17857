"""Tries everything a bot must not do, and a few things that it may; prints what worked as JSON.

The variable FACTS is JSON: {scratch, outside, secret, arena, elsewhere, victim}; the last three are two ports and a process id.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_FACTS: Final[dict[str, Any]] = json.loads(os.environ.get("FACTS", '{"scratch": "", "outside": ""}'))
_SCRATCH: Final = Path(_FACTS["scratch"])
_OUTSIDE: Final = Path(_FACTS["outside"])
_MSG_FASTOPEN: Final = 0x20000000
_IO_URING_SETUP: Final = 425


def connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=5).close()


def open_socket(*kind: int) -> None:
    socket.socket(*kind).close()


def listen() -> None:
    with socket.socket() as mine:
        mine.bind(("127.0.0.1", 0))
        mine.listen()


def connect_by_sending(port: int) -> None:
    with socket.socket() as mine:
        mine.sendto(b"hello", _MSG_FASTOPEN, ("127.0.0.1", port))


def write_through_a_link() -> None:
    link = _SCRATCH / "link"
    link.symlink_to(_OUTSIDE / "kept")
    link.write_text("mine")


def move_in() -> None:
    (_OUTSIDE / "kept").rename(_SCRATCH / "taken")
    (_SCRATCH / "taken").rename(_OUTSIDE / "kept")


def set_up_a_ring() -> None:
    given = ctypes.create_string_buffer(120)
    ring = ctypes.CDLL(None, use_errno=True).syscall(_IO_URING_SETUP, 4, given)
    if ring < 0:
        raise OSError(ctypes.get_errno(), "io_uring")
    os.close(ring)


def has_power() -> None:
    status = Path("/proc/self/status").read_text()
    held = {line.split(":")[0]: int(line.split()[1], 16) for line in status.splitlines() if line.startswith("Cap")}
    if not any(held.values()):
        raise OSError("none")


FORBIDDEN_ACTIONS: Final[dict[str, Callable[[], object]]] = {
    "write a file": lambda: (_OUTSIDE / "new").write_text("mine"),
    "write into a file": lambda: (_OUTSIDE / "kept").open("a").close(),
    "cut a file off": lambda: os.truncate(_OUTSIDE / "kept", 1),
    "write through a link": write_through_a_link,
    "remove a file": (_OUTSIDE / "rubbish").unlink,
    "make a folder": (_OUTSIDE / "folder").mkdir,
    "move a file": move_in,
    "change a mode": lambda: (_OUTSIDE / "kept").chmod(0o777),
    "read a secret": lambda: Path(_FACTS["secret"]).read_text(),
    "read another's environment": lambda: Path(f"/proc/{_FACTS['victim']}/environ").read_bytes(),
    "connect elsewhere": lambda: connect(_FACTS["elsewhere"]),
    "connect by sending": lambda: connect_by_sending(_FACTS["elsewhere"]),
    "listen": listen,
    "open a UDP socket": lambda: open_socket(socket.AF_INET, socket.SOCK_DGRAM),
    "open a unix socket": lambda: open_socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "set up an io_uring": set_up_a_ring,
    "signal another process": lambda: os.kill(_FACTS["victim"], signal.SIGCONT),
    "have powers of root": has_power,
}
ALLOWED_ACTIONS: Final[dict[str, Callable[[], object]]] = {
    "connect to the arena": lambda: connect(_FACTS["arena"]),
    "write in its folder": lambda: (_SCRATCH / "notes").write_text("mine"),
    "tidy its folder": lambda: (_SCRATCH / "notes").rename(_SCRATCH / "old"),
    "read its folder": (_SCRATCH / "old").read_text,
    "read the machine": lambda: Path("/etc/passwd").read_text(),
    "throw away": lambda: Path("/dev/null").write_text("nothing"),
    "talk to itself": lambda: [end.fileno() for end in socket.socketpair()],
    "start a child": lambda: os.waitpid(os.spawnlp(os.P_NOWAIT, "true", "true"), 0),
}


def main() -> None:
    worked = []
    for name, action in (FORBIDDEN_ACTIONS | ALLOWED_ACTIONS).items():
        with contextlib.suppress(OSError):
            action()
            worked.append(name)
    print("worked: " + json.dumps(worked), flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
