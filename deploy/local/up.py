"""Runs the arena of compose.yaml without containers: ``deploy/local/up FOLDER``.

Starts every process of compose.yaml, with its command and its environment, on free ports of this machine; logs and data are in
FOLDER. When all are healthy it prints one line of JSON with their addresses and process ids. A process that dies is restarted,
as by Compose. Ctrl-C or SIGTERM stops all of them. Only Grafana is left out.
"""

import http.client
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import IO, Final

from deploy.local.compose import Compose, Service
from service.lifetime import ends_with_us

HOME: Final = Path(__file__).resolve().parents[2]
TOOLS: Final = HOME / ".rubble" / "tools" / "bin"
PYTHON: Final = Path(os.environ.get("RUBBLE_PYTHON", str(HOME / ".venv" / "bin" / "python")))
_READY_S: Final = 180.0
_STOP_S: Final = 30.0
_LOOK_S: Final = 0.2
_PAUSE_S: Final = 1.0


class CannotStart(Exception):
    """A process does not start; the message says which and why."""


def _kind(service: Service) -> str:
    """Returns rubble, valkey, postgres, haproxy, prometheus or grafana."""
    return service.image.partition(":")[0].rpartition("/")[2]


class Local:
    """All processes, by the names of compose.yaml."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.compose = Compose(folder)
        self.services = [service for service in self.compose.services() if _kind(service) != "grafana"]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: dict[str, IO[bytes]] = {}
        self._is_ending = False

    # ------------------------------------------------------------------------------------------------------ beginning
    def start(self) -> None:
        """Makes the secrets, then starts all in order, each when its dependencies are healthy. Raises CannotStart if one fails."""
        hosts = {
            "REDIS_HOST": self.compose.address("redis", 6379),
            "POSTGRES_HOST": self.compose.address("postgres", 5432),
        }
        command = [HOME / "deploy" / "compose" / "make-secrets", self.compose.secrets]
        subprocess.run(command, env={**os.environ, **hosts}, check=True, stdout=subprocess.DEVNULL)
        waiting: dict[str, Service] = {}
        for service in self.services:
            for name in [name for name in service.after if name in waiting]:
                self._wait(waiting.pop(name))
            self.run(service)
            waiting[service.name] = service
        for service in waiting.values():
            self._wait(service)

    def run(self, service: Service) -> None:
        """Starts or restarts one process."""
        (service.folder / "data").mkdir(exist_ok=True)
        command, environment, user = self._command(service)
        log = self._logs.get(service.name) or (service.folder / "log").open("ab")
        self._logs[service.name] = log
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_")}
        self.processes[service.name] = subprocess.Popen(
            ends_with_us(command, signal.SIGINT if _kind(service) == "postgres" else signal.SIGTERM, user),
            cwd=service.folder if _kind(service) != "rubble" else HOME,
            env={**inherited, "PATH": f"{PYTHON.parent}:{TOOLS}:{os.environ['PATH']}", **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C reaches only this process, which stops the others in order
            umask=0o077,
        )

    def _command(self, service: Service) -> tuple[list[str], dict[str, str], str | None]:
        """Returns the command, the environment and the user of a process."""
        kind = _kind(service)
        environment = dict(service.environment)
        match kind:
            case "rubble":
                # Here all secrets are in one folder.
                environment["RUBBLE_HIDDEN"] = json.dumps([str(self.folder)])
                return [str(PYTHON), "-m", "cli.main", *service.command], environment, None
            case "valkey":
                port = self.compose.address("redis", 6379).rpartition(":")[2]
                binary = _ask("from service.embedded import find_binary; print(find_binary())")
                here = ["--bind", "127.0.0.1", "--port", port]
                return [binary, *service.command[1:], *here], environment, None
            case "postgres":
                return self._postgres(service)
            case "haproxy" | "prometheus":
                binary = shutil.which(kind, path=f"{TOOLS}:{os.environ['PATH']}") or ""
                if not binary:
                    raise CannotStart(f"{kind} is not installed; deploy/tools.sh fetches it")
                words = service.command[1:] if kind == "haproxy" else service.command
                return [binary, *words], environment, None
        raise CannotStart(f"compose.yaml: running {service.image} here is not supported")

    def _postgres(self, service: Service) -> tuple[list[str], dict[str, str], str | None]:
        """Makes the database if its folder is empty, as the image does."""
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[-2]))
        if not found:
            raise CannotStart("PostgreSQL is not installed (Debian's package is postgresql)")
        user = None
        if os.geteuid() == 0:
            if "postgres" not in {entry.pw_name for entry in pwd.getpwall()}:
                raise CannotStart("PostgreSQL does not run as root, and there is no user postgres")
            user = "postgres"
        data = service.folder / "data"
        if not (data / "PG_VERSION").exists():
            password = service.folder / "password"
            password.write_text(Path(service.environment["POSTGRES_PASSWORD_FILE"]).read_text(encoding="utf-8"))
            if user:
                for path in (service.folder, data, password):
                    shutil.chown(path, user)
                self.folder.chmod(0o711)  # PostgreSQL's user must be able to enter
            name = service.environment["POSTGRES_USER"]
            made = subprocess.run(
                [found[-1] / "initdb", "-D", data, "-U", name, "-A", "scram-sha-256", f"--pwfile={password}", "-N"],
                capture_output=True,
                text=True,
                check=False,
                user=user,
                cwd=service.folder,
            )
            password.unlink()
            if made.returncode:
                raise CannotStart(f"PostgreSQL's initdb failed: {made.stderr.strip()}")
        port = self.compose.address("postgres", 5432).rpartition(":")[2]
        command = [str(found[-1] / "postgres"), "-D", str(data), "-p", port, "-k", str(service.folder)]
        return [*command, "-c", "listen_addresses=127.0.0.1"], {}, user

    # ------------------------------------------------------------------------------------------------------- watching
    def _wait(self, service: Service) -> None:
        end = time.monotonic() + _READY_S
        while not self.is_well(service):
            process = self.processes[service.name]
            if process.poll() is not None:
                raise CannotStart(f"{service.name} ended with {process.returncode}: {self.last_words(service)}")
            if time.monotonic() > end:
                raise CannotStart(f"{service.name} is not healthy after {_READY_S:.0f} s: {self.last_words(service)}")
            time.sleep(_LOOK_S)  # polling interval

    def is_well(self, service: Service) -> bool:
        """Returns the result of its health check; for other images, of an equivalent check from here."""
        match _kind(service):
            case "rubble":
                command = [str(PYTHON), "-m", "cli.main", *service.health[2:]]
                return subprocess.run(command, cwd=HOME, capture_output=True, check=False).returncode == 0
            case "valkey":
                return _says(_PING, self.compose.secrets / "redis_url")
            case "postgres":
                return _says(_MAKE_DATABASE, self.compose.secrets / "book_url")
            case "haproxy":
                return _answers(self.compose.address("balancer", 8404), "/metrics")
            case _:
                return _answers(self.compose.address("prometheus", 9090), "/-/ready")

    def last_words(self, service: Service) -> str:
        """Returns the end of its log."""
        log = service.folder / "log"
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        return f"{' | '.join(lines[-3:]) or 'its log is empty'} (see {log})"

    def facts(self) -> dict[str, object]:
        """Returns the addresses and process ids to print."""
        return {
            "bots": self.compose.address("balancer", 50051),
            "api": self.compose.address("balancer", 50052),
            "prometheus": self.compose.address("prometheus", 9090),
            "token_file": str(self.compose.secrets / "operator_token"),
            "secrets": str(self.compose.secrets),
            "pids": {name: process.pid for name, process in self.processes.items()},
        }

    def watch(self) -> None:
        """Restarts every process that dies, until a signal comes."""
        while not self._is_ending:
            for service in self.services:
                process = self.processes[service.name]
                if process.poll() is not None and not self._is_ending:
                    print(f"{service.name} ended with {process.returncode}; starting it again", file=sys.stderr)
                    time.sleep(_PAUSE_S)  # as Compose does, not faster
                    self.run(service)
                    print(json.dumps(self.facts()), flush=True)
            time.sleep(_LOOK_S)  # polling interval

    # --------------------------------------------------------------------------------------------------------- ending
    def end(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        del number, frame
        self._is_ending = True

    def stop(self) -> None:
        """Stops all of them, the last first."""
        for service in reversed(self.services):
            process = self.processes.get(service.name)
            if process is None or process.poll() is not None:
                continue
            process.send_signal(signal.SIGINT if _kind(service) == "postgres" else signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                print(f"{service.name} does not stop", file=sys.stderr)
                process.kill()
                process.wait()
        for log in self._logs.values():
            log.close()


_PING: Final = "import redis, sys; redis.Redis.from_url(sys.stdin.read().strip()).ping()"
#: The image's entrypoint makes the database that POSTGRES_DB names; ``initdb`` alone does not.
_MAKE_DATABASE: Final = """
import sys, psycopg
url = sys.stdin.read().strip().replace("+psycopg", "")
server, _, name = url.rpartition("/")
with psycopg.connect(server + "/postgres", autocommit=True) as connection:
    if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
        connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
psycopg.connect(url).close()
"""


def _ask(program: str) -> str:
    done = subprocess.run([str(PYTHON), "-c", program], cwd=HOME, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _says(program: str, secret: Path) -> bool:
    """Returns whether a short program that reads this file succeeds; the secret is never on a command line."""
    with secret.open("rb") as given:
        command = [str(PYTHON), "-c", program]
        return subprocess.run(command, cwd=HOME, stdin=given, capture_output=True, check=False).returncode == 0


def _answers(address: str, path: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main(arguments: list[str]) -> int:
    """Runs until stopped."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    local = Local(Path(arguments[0]).resolve())
    handle: Callable[[int, FrameType | None], None] = local.end
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    try:
        local.start()
        print(json.dumps(local.facts()), flush=True)
        local.watch()
    except CannotStart as error:
        print(f"deploy/local/up: {error}", file=sys.stderr)
        return 1
    finally:
        local.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
