"""A network of a bot's own in which there is nothing but the arena: what is sent to its address in there is forwarded.

Only for an arena on this machine's loopback, whose address can exist inside as well. The bot then reaches neither the same port
of another machine nor anything else of the network.
"""

import contextlib
import fcntl
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Final

_CHUNK: Final = 1 << 16
#: Connections of one bot at a time; an honest one has one or two.
_MOST_CONNECTIONS: Final = 64
_CONNECT_S: Final = 10.0
_SET_FLAGS: Final = 0x8914  # SIOCSIFFLAGS
_UP: Final = 0x41  # IFF_UP, IFF_RUNNING
_LOOPBACK: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def listen_inside(ports: Sequence[int], forwarder: socket.socket) -> None:
    """Bring this network up, and give the forwarder the sockets at which the bot connects."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
    listeners = [_listen(family, host, port) for family, host in _LOOPBACK for port in ports]
    socket.send_fds(forwarder, [b"x"], [each.fileno() for each in listeners if each is not None])
    for each in listeners:
        if each is not None:
            each.close()
    forwarder.close()


def _listen(family: socket.AddressFamily, host: str, port: int) -> socket.socket | None:
    try:
        listener = socket.socket(family)
    except OSError:
        return None  # a machine without IPv6
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind((host, port))
    listener.listen(_MOST_CONNECTIONS)
    return listener


def forward(inside: socket.socket) -> None:
    """Take the connections from inside and make the same ones outside, until this process is ended."""
    _, given, _, _ = socket.recv_fds(inside, 1, _MOST_CONNECTIONS)
    free = threading.Semaphore(_MOST_CONNECTIONS)
    takers = [
        threading.Thread(target=_take, args=(socket.socket(fileno=descriptor), free), daemon=True)
        for descriptor in given
    ]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()


def _take(listener: socket.socket, free: threading.Semaphore) -> None:
    while True:
        bot, _ = listener.accept()
        if not free.acquire(blocking=False):
            bot.close()
            continue
        threading.Thread(target=_connect, args=(bot, listener.getsockname()[:2], free), daemon=True).start()


def _connect(bot: socket.socket, address: tuple[str, int], free: threading.Semaphore) -> None:
    """One connection, from its beginning to its end. An arena that does not answer looks to the bot as it would outside."""
    with bot, contextlib.suppress(OSError), socket.create_connection(address, _CONNECT_S) as arena:
        arena.settimeout(None)
        for end in (bot, arena):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=_pass_on, args=(arena, bot), daemon=True)
        back.start()
        _pass_on(bot, arena)
        back.join()
    free.release()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Everything from one end to the other; when one direction ends, so does the other."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
