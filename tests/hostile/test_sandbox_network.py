"""A bot's network: the arena is in it, and nothing else, not even the arena's port at another address."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from orchestrator.stable import namespaces
from orchestrator.stable.process import BotProcess
from orchestrator.stable.sandbox import Walls, missing
from tests.orchestrator.harness import HOME, wait_for

viewed = pytest.mark.skipif(bool(namespaces.offered()), reason=f"no namespaces: {namespaces.offered()}")
_MIB = 8


def _echo(listener: socket.socket) -> None:
    """Answer everybody with their own words, until the listener is closed."""
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(caller,), daemon=True).start()


def _answer(caller: socket.socket) -> None:
    with caller:
        while data := caller.recv(1 << 16):
            caller.sendall(data)


@pytest.fixture
def port() -> Iterator[int]:
    """An arena at 127.0.0.1, and others at the same port of other addresses."""
    with ExitStack() as opened:
        arena = opened.enter_context(closing(socket.create_server(("127.0.0.1", 0), backlog=200)))
        port = arena.getsockname()[1]
        for host in ("127.0.0.2", "127.0.0.3"):
            opened.enter_context(closing(socket.create_server((host, port))))
        threading.Thread(target=_echo, args=(arena,), daemon=True).start()
        yield port
        arena.shutdown(socket.SHUT_RDWR)


def _call(folder: Path, port: int, address: str) -> str:
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [sys.executable, str(HOME / "tests" / "hostile" / "bots" / "caller.py"), str(port), str(_MIB)]
    walls = Walls.around(scratch, address)
    bot = BotProcess("bot", command, {"PATH": os.environ["PATH"]}, HOME, folder / "output.log", {}, walls)
    bot.look_after()
    wait_for(lambda: "reached: " in bot.last_words() or not bot.pid, "the end of its calls")
    bot.end()
    return bot.last_words()


@viewed
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_bot_reaches_the_arena_and_no_other_machine_at_its_port(tmp_path: Path, port: int, host: str) -> None:
    assert _call(tmp_path, port, f"{host}:{port}") == "same: True, reached: [], networks: ['lo']"


@pytest.mark.parametrize(
    ("address", "has_network"),
    [
        ("127.0.0.1:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("10.0.0.1:1", False),
        ("arena.example:1", False),
    ],
)
def test_an_arena_elsewhere_is_reached_by_the_machines_network_and_that_is_said(
    tmp_path: Path, address: str, has_network: bool
) -> None:
    walls = Walls.around(tmp_path, address)
    assert walls.has_network == (has_network and not namespaces.offered())
    assert any("no network of their own" in words for words in missing(walls)) == (not walls.has_network)
