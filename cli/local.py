"""An arena on this machine, for ``rubble run`` and ``rubble up``: Redis, the service and the processes of the orchestrator."""

import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from cli.arena_address import operator_token
from cli.processes import ChildProcess, Command, ProcessDied, Supervisor, inherited
from orchestrator.api.settings import ApiSettings
from orchestrator.client import ServiceAccess
from orchestrator.settings import Settings
from service.config import CannotListen
from service.embedded import EmbeddedRedis

__all__ = ["ArenaSettings", "LocalArena", "ProcessDied"]

#: The line that each process prints when it is ready begins so.
_READY: Final = {"service": "serving on ", "worker": "worker ready", "beat": "beat ready", "api": "api on "}


@dataclass(frozen=True)
class ArenaSettings:
    """What an arena runs, and where."""

    #: Where the service keeps its secrets.
    state_dir: Path
    logs: Path
    #: Folder for scratch folders and output of bots.
    work_dir: Path
    book: str
    #: Folder of the embedded Redis, if ``redis`` is empty.
    redis_dir: Path
    #: host:port where bots connect; port 0 picks a free one.
    listen: str
    concurrency: int
    window: int
    #: Paths that no bot may read.
    hidden: tuple[Path, ...]
    #: Address of another Redis, and of Celery's broker; by default the broker is the next database of the embedded Redis.
    redis: str = ""
    broker: str = ""
    #: If empty, the service creates one in its state folder.
    operator_token: str = ""
    #: host:port of the API. If empty, there is no API, and the worker is beat too, which saves a process.
    api: str = ""
    #: host:port of the metrics, by process.
    metrics: Mapping[str, str] = field(default_factory=dict)
    #: Copies of the service.
    processes: int = 1
    #: Certificate and key of service and API, and the CA with which the arena's own processes verify them; empty without TLS.
    tls_cert: str = ""
    tls_key: str = ""
    ca: str = ""
    #: Whether the ladders of the book go on.
    ladders: bool = True
    #: Variables that the service takes from this process's environment.
    service_env: tuple[str, ...] = ()


class LocalArena:
    """All processes of an arena, restarted when they die. Entering it as a context manager starts Redis and the service.

    Ports are chosen and reserved here, so that processes need not wait for each other's addresses, and a restarted process
    keeps its own.
    """

    def __init__(self, wanted: ArenaSettings) -> None:
        self._wanted = wanted
        self._own_redis = None if wanted.redis else EmbeddedRedis(wanted.redis_dir)
        self._redis, self.broker, self.book = wanted.redis, wanted.broker, wanted.book
        if self._own_redis is not None:
            self._redis = self._own_redis.url
            self.broker = wanted.broker or f"redis+socket://{self._own_redis.socket}?virtual_host=1"
        self._kept = Supervisor(wanted.logs, self._own_redis)
        self.roles = ("worker", "beat", "api") if wanted.api else ("worker",)
        self._ports: list[socket.socket] = []
        try:
            self.service_address = self._hold_port(wanted.listen)
            self.api_address = self._hold_port(wanted.api) if wanted.api else ""
            self.metrics = {name: self._hold_port(address) for name, address in wanted.metrics.items()}
        except CannotListen:
            self.stop()
            raise

    def __enter__(self) -> "LocalArena":
        try:
            self._wanted.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._own_redis is not None:
                self._own_redis.start()
            self._kept.start("service", self._serve)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start_orchestrator(self) -> None:
        """Start the processes that hand out and play matches. If the service creates the operator's token, it must be ready."""
        for name in self.roles:
            self._kept.start(name, partial(self._command, name))

    def wait_until_ready(self, *names: str) -> None:
        """Wait until these processes are ready; raises ProcessDied if one ends before."""
        for name in names:
            child = self.child(name)
            child.wait_for(_READY[name])
            if name in self.metrics:
                child.wait_for("metrics on ")

    def child(self, name: str) -> ChildProcess:
        """Return the current process of that name."""
        return self._kept.child(name)

    def keep(self, seconds: float) -> None:
        """Wait up to these seconds, or until a process ends, and restart what has died; raises ProcessDied if it keeps dying."""
        self._kept.keep(seconds)

    def dismiss_worker(self) -> None:
        """Let the worker and its bots end while the caller goes on, because no match is left. ``stop`` waits for them."""
        self.child("worker").process.terminate()

    def stop(self) -> None:
        """Stop everything: bots and their worker before the service, Redis last."""
        self._kept.stop()
        for port in self._ports:
            port.close()

    # -------------------------------------------------------------------------------------------------------- processes
    @property
    def access(self) -> ServiceAccess:
        """How the arena's own processes reach the service; raises NoToken before the service has created its token."""
        token = self._wanted.operator_token or operator_token(self._wanted.state_dir.resolve())
        return ServiceAccess(self.service_address, token, self._wanted.ca)

    def _serve(self) -> Command:
        """Secrets are in the environment, because every user of a machine can read its command lines."""
        wanted = self._wanted
        command = ["cli.main", "serve", "--listen", self.service_address, "--state-dir", str(wanted.state_dir)]
        command += ["--processes", str(wanted.processes)]
        if wanted.tls_cert:
            command += ["--tls-cert", wanted.tls_cert, "--tls-key", wanted.tls_key]
        if "service" in self.metrics:
            command += ["--metrics", self.metrics["service"]]
        env = inherited(*wanted.service_env) | {"RUBBLE_REDIS": self._redis}
        return command, env | ({"RUBBLE_OPERATOR_TOKEN": wanted.operator_token} if wanted.operator_token else {})

    def _command(self, name: str) -> Command:
        env = (self._api_settings() if name == "api" else self._settings(name)).to_env()
        alone = ["--beat"] if self.roles == ("worker",) else []
        return ["orchestrator", name, *alone], inherited() | env

    def _settings(self, name: str) -> Settings:
        wanted = self._wanted
        return Settings(
            book=wanted.book,
            broker=self.broker,
            access=self.access,
            folder=wanted.work_dir.resolve(),
            concurrency=wanted.concurrency,
            window=wanted.window,
            metrics=self.metrics.get(name, ""),
            ladders=wanted.ladders,
            hidden=wanted.hidden,
        )

    def _api_settings(self) -> ApiSettings:
        cert, key = self._wanted.tls_cert, self._wanted.tls_key
        return ApiSettings(
            book=self._wanted.book,
            access=self.access,
            listen=self.api_address,
            bot_address=self.service_address,
            metrics=self.metrics.get("api", ""),
            ladders=self._wanted.ladders,
            tls_cert=Path(cert) if cert else None,
            tls_key=Path(key) if key else None,
        )

    def _hold_port(self, listen: str) -> str:
        """Return the address with a free port in place of 0, and reserve the port; raises CannotListen.

        A bound socket that never listens holds the port: on Linux another socket can still listen on it.
        """
        host, _, port = listen.rpartition(":")
        held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((host.strip("[]"), int(port)))
        except OSError:
            held.close()
            raise CannotListen(listen) from None
        address = f"{host}:{held.getsockname()[1]}"
        if sys.platform == "linux":
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # copies of the service share the port
            self._ports.append(held)
        else:
            held.close()
        return address
