"""Runs a command with temporary PostgreSQL and RabbitMQ servers: ``python -m tools.servers -- COMMAND…``

Starts each server that is installed, in a temporary folder and on free ports, runs the command with RUBBLE_TEST_POSTGRES and
RUBBLE_TEST_RABBITMQ set to their addresses, and stops them afterwards. If a server is not installed, a message says so and its
variable is not set; the tests that need it are then skipped and say why. Other servers of the machine are not touched.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from service.lifetime import ends_with_us

POSTGRES: Final = "RUBBLE_TEST_POSTGRES"
RABBITMQ: Final = "RUBBLE_TEST_RABBITMQ"
#: RabbitMQ takes a few seconds on an idle machine, and many more on a busy one.
_START_S: Final = 120.0
_STOP_S: Final = 30.0
_LOOK_S: Final = 0.1
#: Debian's own script starts the server of the whole machine; this is the one it wraps.
_RABBIT_SERVER: Final = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class CannotStart(Exception):
    """A server is not installed or does not start; the message says which and why."""


# ----------------------------------------------------------------------------------------------------------- PostgreSQL
@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Runs PostgreSQL on a unix socket and yields its SQLAlchemy URL. Raises CannotStart if it is missing or fails."""
    initdb, server = _postgres_binary("initdb"), _postgres_binary("postgres")
    user = _not_root("postgres", "PostgreSQL")
    with _folder("rubble-pg-", user) as folder:
        made = subprocess.run(
            [initdb, "--pgdata", str(folder / "data"), "--username", "rubble", "--auth", "trust", "--no-sync"],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            user=user,
        )
        if made.returncode != 0:
            raise CannotStart(f"PostgreSQL's initdb failed: {made.stderr.strip()}")
        # The data is deleted after the tests, so fsync is off.
        command = [server, "-D", str(folder / "data"), "-k", str(folder), "-c", "listen_addresses=", "-c", "fsync=off"]
        with _running("PostgreSQL", command, folder, user, {}, signal.SIGINT) as process:
            _wait_until(process, "PostgreSQL", folder, lambda: _listens_at(folder / ".s.PGSQL.5432"))
            yield f"postgresql+psycopg://rubble@/postgres?host={folder}"


def _postgres_binary(name: str) -> str:
    """Returns the path of a PostgreSQL program; Debian keeps each version in a folder that is not on the PATH."""
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    found = str(versions[-1]) if versions else shutil.which(name)
    if found is None:
        raise CannotStart(f"PostgreSQL is not installed here ({name} is missing; Debian's package is postgresql)")
    return found


# ------------------------------------------------------------------------------------------------------------- RabbitMQ
@contextlib.contextmanager
def rabbitmq() -> Iterator[str]:
    """Runs RabbitMQ on a free port and yields its Celery URL. Raises CannotStart if it is missing or fails."""
    epmd = shutil.which("epmd")
    if not _RABBIT_SERVER.exists() or epmd is None:
        raise CannotStart(f"RabbitMQ is not installed here ({_RABBIT_SERVER} and epmd are needed)")
    with _folder("rubble-mq-", None) as folder, contextlib.ExitStack() as servers:
        port, distribution, names = _free_ports(3)
        env = {
            "HOME": str(folder),  # the cookie is written there
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": str(names),
            "RABBITMQ_NODENAME": f"rubble-{os.getpid()}@localhost",  # a name that resolves wherever localhost does
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_BASE": str(folder),
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "config"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none",  # it shares the machine with the tests
        }
        (folder / "plugins").write_text("[].\n")
        (folder / "rabbitmq.conf").write_text(
            "disk_free_limit.absolute = 50MB\nvm_memory_high_watermark.absolute = 1GB\n"
        )
        # By default the server starts an epmd that outlives it; this one is stopped with the server.
        command = [epmd, "-port", str(names), "-address", "127.0.0.1"]
        names_service = servers.enter_context(_running("epmd", command, folder, None, env, signal.SIGTERM))
        _wait_until(names_service, "epmd", folder, lambda: _answers(names))
        server = servers.enter_context(_running("RabbitMQ", [str(_RABBIT_SERVER)], folder, None, env, signal.SIGTERM))
        _wait_until(server, "RabbitMQ", folder, lambda: _speaks_amqp(port))
        yield f"amqp://guest:guest@127.0.0.1:{port}//"


def _speaks_amqp(port: int) -> bool:
    """Returns whether the server answers a greeting: the port is open before the server is ready."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as talk:
            talk.sendall(b"AMQP\x00\x00\x09\x01")
            return talk.recv(1) == b"\x01"  # the frame of connection.start
    except OSError:
        return False


# ---------------------------------------------------------------------------------------------------------- shared code
def _not_root(name: str, server: str) -> str | None:
    """Returns the user to run as, if the server refuses to run as root."""
    if os.geteuid() != 0:
        return None
    if name not in {entry.pw_name for entry in pwd.getpwall()}:
        raise CannotStart(f"{server} does not run as root, and there is no user {name!r}")
    return name


@contextlib.contextmanager
def _folder(prefix: str, user: str | None) -> Iterator[Path]:
    """Makes a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        if user is not None:
            shutil.chown(folder, user)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a server that is still stopping may write once more


@contextlib.contextmanager
def _running(
    name: str, command: Sequence[str], folder: Path, user: str | None, env: Mapping[str, str], stop: signal.Signals
) -> Iterator["subprocess.Popen[bytes]"]:
    """Runs a server with a log in the folder, and stops it with all its children."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            ends_with_us(command, stop, user),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, **env},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.send_signal(stop)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            print(f"{name} did not stop within {_STOP_S:.0f} s and was killed", file=sys.stderr)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until(process: "subprocess.Popen[bytes]", name: str, folder: Path, is_ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _START_S
    while not is_ready():
        if process.poll() is not None or time.monotonic() > end:
            said = (folder / f"{name}.log").read_text(errors="replace").strip()[-2000:]
            raise CannotStart(f"{name} does not start; its log:\n{said}")
        time.sleep(_LOOK_S)  # polling interval


def _listens_at(path: Path) -> bool:
    """Returns whether PostgreSQL accepts connections: its pid file says so; the socket exists earlier."""
    pid_file = path.parent / "data" / "postmaster.pid"
    try:
        lines = pid_file.read_text().splitlines()
    except OSError:
        return False
    return path.exists() and len(lines) > 7 and lines[7].strip() == "ready"


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


# ----------------------------------------------------------------------------------------------------------------- main
def main(arguments: Sequence[str]) -> int:
    """Runs a command with both servers and returns its exit code."""
    if not arguments or arguments[0] != "--" or len(arguments) < 2:
        print("usage: python -m tools.servers -- COMMAND…", file=sys.stderr)
        return 2
    with contextlib.ExitStack() as servers:
        env = dict(os.environ)
        for variable, server in ((POSTGRES, postgres), (RABBITMQ, rabbitmq)):
            try:
                env[variable] = servers.enter_context(server())
            except CannotStart as error:
                print(f"!! {error}\n!! The tests that need it will be skipped.", file=sys.stderr, flush=True)
                continue
            print(f"{variable}={env[variable]}", file=sys.stderr, flush=True)
        process = subprocess.Popen(ends_with_us(arguments[1:]), env=env)

        def pass_on(number: int, frame: object) -> None:
            process.send_signal(number)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pass_on)
        code = process.wait()
        return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
