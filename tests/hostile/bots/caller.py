"""``caller.py HOST PORT MIB``: sends MIB to the arena, reads it back, tries other addresses, and prints the results."""

import contextlib
import hashlib
import signal
import socket
import sys
import threading

_MIB = 1 << 20


def main() -> None:
    address, port, sent = sys.argv[1], int(sys.argv[2]), bytes(range(256)) * 4096 * int(sys.argv[3])
    for _ in range(100):  # more connections than may be open at a time
        socket.create_connection((address, port)).close()
    with socket.create_connection((address, port)) as arena:
        threading.Thread(target=arena.sendall, args=(sent,)).start()
        found, read = hashlib.sha256(), 0
        while read < len(sent) and (data := arena.recv(_MIB)):
            found.update(data)
            read += len(data)
    reached = []
    for host in ("127.0.0.2", "127.0.0.3", "192.0.2.1"):
        with contextlib.suppress(OSError):
            socket.create_connection((host, port), 1).close()
            reached.append(host)
    is_same = found.digest() == hashlib.sha256(sent).digest()
    print(f"same: {is_same}, reached: {reached}, networks: {[name for _, name in socket.if_nameindex()]}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
