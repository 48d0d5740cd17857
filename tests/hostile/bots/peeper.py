"""Tries to read everything outside its own files and processes; prints what worked as JSON.

The variable FACTS is JSON: {victim, secret, home_secret, folder}: a process of the same user, a file next to the bot's folder, a
file in the user's home, and the bot's folder.
"""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_FACTS: Final[dict[str, Any]] = json.loads(os.environ["FACTS"]) if "FACTS" in os.environ else {}

#: Files in /proc with kernel addresses, timers and keys.
KERNEL_STATE: Final = ("timer_list", "vmallocinfo", "keys", "key-users", "kallsyms", "interrupts", "slabinfo", "iomem")


def refuse_unless(holds: bool) -> None:
    if not holds:
        raise OSError("no")


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def command_lines() -> list[bytes]:
    return [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes() if pid not in (1, os.getpid())]


ATTACKS: Final[dict[str, Callable[[], object]]] = {
    "list other processes": lambda: refuse_unless(bool(set(processes()) - {1, os.getpid(), os.getppid()})),
    "read other command lines": lambda: refuse_unless(any(b"sleep" in line for line in command_lines())),
    "read a victim's environment": lambda: refuse_unless(
        b"=" in Path(f"/proc/{_FACTS['victim']}/environ").read_bytes()
    ),
    "signal a victim": lambda: os.kill(_FACTS["victim"], 0),
    "read a file beside its folder": lambda: Path(_FACTS["secret"]).read_bytes(),
    "read a file in the home": lambda: Path(_FACTS["home_secret"]).read_bytes(),
    "list the home": lambda: refuse_unless(Path(_FACTS["home_secret"]).name in os.listdir(Path.home())),
    "read passwords": lambda: Path("/etc/shadow").read_bytes(),
    "see a disk": lambda: refuse_unless(
        any(name.startswith(("sd", "vd", "nvme", "tty")) for name in os.listdir("/dev"))
    ),
    "see what runs": lambda: refuse_unless(bool(os.listdir("/run"))),
    "write in its own folder": lambda: Path(_FACTS["folder"], "new").write_text("mine"),
    "read the kernel's own state": lambda: refuse_unless(
        any(Path("/proc", name).read_bytes() for name in KERNEL_STATE if Path("/proc", name).exists())
    ),
    "set a switch of the kernel": lambda: Path("/proc/sys/kernel/hostname").write_text(os.uname().nodename),
}
HONEST: Final[dict[str, Callable[[], object]]] = {
    "read its own folder": lambda: Path(_FACTS["folder"], "data").read_text(),
    "write in its scratch folder": lambda: Path(os.environ["TMPDIR"], "notes").write_text("mine"),
    "write in /tmp": lambda: Path("/tmp/rubble-peeper").write_text("mine"),
    "share memory": lambda: Path("/dev/shm/rubble-peeper").write_text("mine"),
    "find its processes": lambda: refuse_unless(os.getpid() in processes()),
    "look up users": lambda: Path("/etc/passwd").read_text(),
}


def main() -> None:
    worked = []
    for name, action in (ATTACKS | HONEST).items():
        try:
            action()
        except OSError:
            continue
        worked.append(name)
    print(f"worked: {json.dumps(worked)}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
