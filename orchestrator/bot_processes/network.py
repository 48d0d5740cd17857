"""A bot's own network that contains only the arena: connections to the arena's address in it are forwarded.

Used only for an arena on this machine's loopback, whose address can exist inside as well. The bot can then reach neither the
same port on another machine nor anything else on the network.
"""

import contextlib
import fcntl
import select
import socket
import struct
import threading
from collections.abc import Collection
from typing import Final, NoReturn

_CHUNK: Final = 1 << 16
#: Connections of one bot at a time; an ordinary bot has one or two.
_MOST_CONNECTIONS: Final = 64
_CONNECT_S: Final = 10.0
_SET_FLAGS: Final = 0x8914  # SIOCSIFFLAGS
_UP: Final = 0x41  # IFF_UP, IFF_RUNNING


def listen_inside(ports: Collection[int], forwarder: socket.socket) -> None:
    """Bring this network up, and send the forwarder the sockets to which the bot connects."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
    with contextlib.ExitStack() as opened:
        listeners = []
        for port in sorted(set(ports)):
            listeners.append(opened.enter_context(socket.create_server(("127.0.0.1", port), backlog=_MOST_CONNECTIONS)))
            with contextlib.suppress(OSError):  # a machine without IPv6, or where it is switched off
                ipv6 = socket.create_server(("::1", port), family=socket.AF_INET6, backlog=_MOST_CONNECTIONS)
                listeners.append(opened.enter_context(ipv6))
        socket.send_fds(forwarder, [b"x"], [each.fileno() for each in listeners])
    forwarder.close()


def forward(inside: socket.socket) -> NoReturn:
    """Accept the connections from inside and connect each to the arena, until this process is ended.

    A bot that fails before it listens sends no sockets; then this waits to be ended.
    """
    _, given, _, _ = socket.recv_fds(inside, 1, _MOST_CONNECTIONS)
    listeners = [socket.socket(fileno=descriptor) for descriptor in given]
    for listener in listeners:
        listener.setblocking(False)
    free = threading.Semaphore(_MOST_CONNECTIONS)
    while True:
        for listener in select.select(listeners, [], [])[0]:
            with contextlib.suppress(
                BlockingIOError, ConnectionAbortedError
            ):  # the bot has closed the connection already
                bot, _ = listener.accept()
                _take(bot, listener.getsockname()[:2], free)


def _take(bot: socket.socket, address: tuple[str, int], free: threading.Semaphore) -> None:
    if free.acquire(blocking=False):
        threading.Thread(target=_connect, args=(bot, address, free), daemon=True).start()
    else:
        bot.close()


def _connect(bot: socket.socket, address: tuple[str, int], free: threading.Semaphore) -> None:
    """Forward one connection until it ends. If the arena refuses it, the bot's connection is closed."""
    try:
        with bot, contextlib.suppress(OSError), socket.create_connection(address, _CONNECT_S) as arena:
            arena.settimeout(None)
            for end in (bot, arena):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = threading.Thread(target=_pass_on, args=(arena, bot), daemon=True)
            back.start()
            _pass_on(bot, arena)
            back.join()
    finally:
        free.release()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Copy everything from one end to the other; when one direction ends, so does the other."""
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
