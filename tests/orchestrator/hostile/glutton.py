"""``glutton.py KIND COUNT``: starts COUNT children or threads, or takes COUNT MiB in each of two processes; then waits."""

import os
import signal
import sys
import threading


def main() -> None:
    kind, count = sys.argv[1], int(sys.argv[2])
    kept = b""
    if kind == "children":
        for _ in range(count):
            if os.fork() == 0:
                signal.pause()
    elif kind == "threads":
        for _ in range(count):
            threading.Thread(target=threading.Event().wait, daemon=True).start()
    elif kind == "memory":
        os.fork()
        kept = b"x" * (count << 20)
    print(f"has its {kind}{kept[:0].decode()}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
