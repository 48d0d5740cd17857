"""In a bot's network only the arena can be reached, not even the same port at another address."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from orchestrator.bot_processes import namespaces
from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.sandbox import SandboxPolicy, missing
from tests.harness.processes import HOME, PYTHON, run_command
from tests.harness.waiting import wait_for

viewed = pytest.mark.skipif(bool(namespaces.offered()), reason=f"no namespaces: {namespaces.offered()}")
_MIB = 8


def _echo(listener: socket.socket) -> None:
    """Send everything back to its sender, until the listener is closed."""
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


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture
def port() -> Iterator[int]:
    """The port of an arena at 127.0.0.1 and ::1; other servers listen at the same port of other addresses."""
    with ExitStack() as opened:
        arenas = [opened.enter_context(closing(socket.create_server(("127.0.0.1", 0), backlog=200)))]
        port = arenas[0].getsockname()[1]
        if _has_ipv6():
            ipv6 = socket.create_server(("::1", port), family=socket.AF_INET6, backlog=200)
            arenas.append(opened.enter_context(closing(ipv6)))
        for host in ("127.0.0.2", "127.0.0.3"):
            opened.enter_context(closing(socket.create_server((host, port))))
        for arena in arenas:
            threading.Thread(target=_echo, args=(arena,), daemon=True).start()
        yield port
        for arena in arenas:
            arena.shutdown(socket.SHUT_RDWR)


def _caller(folder: Path, host: str, port: int, address: str) -> BotProcess:
    scratch = folder / "scratch"
    scratch.mkdir()
    command = [sys.executable, str(HOME / "tests" / "hostile" / "bots" / "caller.py"), host, str(port), str(_MIB)]
    policy = SandboxPolicy.for_bot(scratch, address)
    bot = BotProcess("bot", command, {"PATH": os.environ["PATH"]}, HOME, folder / "output.log", {}, policy)
    bot.look_after()
    wait_for(lambda: "reached: " in bot.last_words() or not bot.pid, "the end of its calls")
    return bot


@viewed
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_bot_reaches_the_arena_but_not_its_port_on_other_machines(tmp_path: Path, port: int, host: str) -> None:
    if host == "::1" and not _has_ipv6():
        pytest.skip("there is no IPv6 here")
    bot = _caller(tmp_path, host, port, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    bot.end()
    assert bot.last_words() == "same: True, reached: [], networks: ['lo']"


@viewed
def test_an_address_that_lists_the_same_port_twice_works(tmp_path: Path, port: int) -> None:
    bot = _caller(tmp_path, "127.0.0.1", port, f"ipv4:127.0.0.1:{port},127.0.0.1:{port}")
    bot.end()
    assert bot.last_words() == "same: True, reached: [], networks: ['lo']"


@viewed
def test_a_bot_that_loses_its_forwarder_is_ended_and_its_log_says_why(tmp_path: Path, port: int) -> None:
    bot = _caller(tmp_path, "127.0.0.1", port, f"127.0.0.1:{port}")
    children = map(int, Path(f"/proc/{bot.pid}/task/{bot.pid}/children").read_text().split())
    ours = os.stat("/proc/self/ns/net").st_ino
    (forwarder,) = (pid for pid in children if os.stat(f"/proc/{pid}/ns/net").st_ino == ours)
    os.kill(forwarder, signal.SIGKILL)
    wait_for(lambda: not bot.pid, "its end")
    bot.end()
    assert bot.last_words().endswith("\nthe connection to the arena was lost: its forwarder was ended by signal 9")


#: Listens in a network of its own, after a first step.
_LISTEN = """
import os, socket, sys
from orchestrator.bot_processes.namespaces import start_in_namespaces
from orchestrator.bot_processes.network import listen_inside

def run():
    {first}
    listen_inside([7, 7], there)
    os._exit(0)

here, there = socket.socketpair()
child = start_in_namespaces(run, has_network=True)
there.close()
print(sorted(socket.socket(fileno=each).getsockname()[0] for each in socket.recv_fds(here, 1, 9)[1]))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@viewed
@pytest.mark.parametrize("has_ipv6", [True, False])
def test_a_machine_without_ipv6_also_has_a_network_for_bots(has_ipv6: bool) -> None:
    if has_ipv6 and not _has_ipv6():
        pytest.skip("there is no IPv6 here")
    first = "pass" if has_ipv6 else "open('/proc/sys/net/ipv6/conf/all/disable_ipv6', 'w').write('1')"
    if not has_ipv6 and not Path("/proc/sys/net/ipv6").exists():
        first = "pass"
    done = run_command(PYTHON, "-c", _LISTEN.format(first=first))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == ("['127.0.0.1', '::1']" if has_ipv6 else "['127.0.0.1']")


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
def test_a_remote_arena_is_reached_by_the_machines_network_with_a_warning(
    tmp_path: Path, address: str, has_network: bool
) -> None:
    policy = SandboxPolicy.for_bot(tmp_path, address)
    assert policy.has_network == (has_network and not namespaces.offered())
    assert any("no network of their own" in words for words in missing(policy)) == (not policy.has_network)
