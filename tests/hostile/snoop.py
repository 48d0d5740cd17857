"""A bot that tries to read the given files, the environments of all processes, and every unix socket.

Its arguments are paths. It prints what it could read as one line of JSON, then waits.
"""

import json
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path


def _readable(path: Path) -> list[str]:
    """Return the files at or under a path that are readable and not empty."""
    found = []
    for file in [path, *(path.rglob("*") if path.is_dir() else ())]:
        with suppress(OSError):
            if file.read_bytes():
                found.append(str(file))
    return found


def _connects(path: str) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    except OSError:
        return False
    return True


def main() -> None:
    """Try everything once and print what worked."""
    paths = [Path(word) for word in sys.argv[1:]]
    environments = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(folder.name) != os.getpid():
                environments.append((folder / "environ").read_text(errors="replace"))
    seen = {
        "files": sorted({file for path in paths for file in _readable(path)}),
        "environments": [text for text in environments if "RUBBLE_" in text],
        "sockets": [str(path) for path in paths if path.suffix == ".sock" and _connects(str(path))],
        "own": dict(os.environ),
    }
    print(json.dumps(seen), flush=True)
    time.sleep(600)  # until the arena ends it


if __name__ == "__main__":
    main()
