"""The embedded Redis: one server per folder."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis

from service.embedded import EmbeddedError, EmbeddedRedis, InUse


def test_a_folder_has_one_server(tmp_path: Path) -> None:
    """The error of the second one says how to use the first."""
    with EmbeddedRedis(tmp_path) as first, pytest.raises(EmbeddedError, match=f"join it with --redis {first.url}"):
        EmbeddedRedis(tmp_path).start()


def test_written_data_survives_a_stop_and_a_power_cut(tmp_path: Path) -> None:
    server = EmbeddedRedis(tmp_path, fsync="always")
    server.start()
    redis.Redis.from_url(server.url).set("kept", "yes")
    server.stop()
    server = EmbeddedRedis(tmp_path, fsync="always")
    server.start()
    redis.Redis.from_url(server.url).set("also", "yes")
    server.kill()
    server.stop()

    with EmbeddedRedis(tmp_path) as server:
        client = redis.Redis.from_url(server.url)
        assert (client.get("kept"), client.get("also")) == (b"yes", b"yes")


@contextmanager
def _killed_owner(folder: Path) -> Iterator[int]:
    """The process id of a server whose owner has just been killed."""
    script = (
        "import sys; from pathlib import Path; import redis; from service.embedded import EmbeddedRedis\n"
        "server = EmbeddedRedis(Path(sys.argv[1])); server.start(); redis.Redis.from_url(server.url).set('kept', 'yes')\n"
        "print(server.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        server = int(owner.stdout.readline())
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        yield server


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_a_server_ends_with_its_owner_even_if_the_owner_is_killed(tmp_path: Path) -> None:
    """No written data is lost."""
    with _killed_owner(tmp_path) as server, suppress(ProcessLookupError):  # ended already
        descriptor = os.pidfd_open(server)
        assert select.select([descriptor], [], [], 30)[0], "the server is still running"
        os.close(descriptor)

    with EmbeddedRedis(tmp_path) as again:
        assert redis.Redis.from_url(again.url).get("kept") == b"yes"


def test_a_server_whose_owner_was_killed_is_stopped_before_another_one_starts(tmp_path: Path) -> None:
    """Two servers would write the same file."""
    with _killed_owner(tmp_path) as orphan, EmbeddedRedis(tmp_path) as server:
        assert server.pid != orphan
        assert redis.Redis.from_url(server.url).ping()


def test_a_second_start_while_a_server_is_starting_stops_no_process(tmp_path: Path) -> None:
    """The folder's last server was killed with its owner, and its process id now belongs to another process."""
    bystander = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    starting, late = EmbeddedRedis(tmp_path), EmbeddedRedis(tmp_path)
    (starting.folder / "lock").write_text(f"{bystander.pid} {dead.pid}\n")
    try:
        starting._take_lock()
        with pytest.raises(InUse):
            late.start()
        assert bystander.poll() is None
    finally:
        starting.stop()
        bystander.communicate()
    assert bystander.returncode == 0
