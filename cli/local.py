"""An arena on this machine: Redis, the service and the processes of the orchestrator. ``rubble run`` and ``rubble up`` use it."""

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

#: What each process says when it is ready.
_READY: Final = {"service": "serving on ", "worker": "worker ready", "beat": "beat ready", "api": "api on "}


@dataclass(frozen=True)
class ArenaSettings:
    """What runs, and where."""

    #: Where the service keeps its secrets.
    state_dir: Path
    logs: Path
    #: Scratch folders and output of bots.
    work_dir: Path
    book: str
    #: Where a Redis is started, unless another is named.
    redis_dir: Path
    #: host:port where bots dial in; port 0 takes a free one.
    listen: str
    concurrency: int
    window: int
    #: What no bot may read.
    hidden: tuple[Path, ...]
    #: The address of another Redis, and Celery's broker: by default the next database of the Redis that is started here.
    redis: str = ""
    broker: str = ""
    #: Empty: the service makes one in its folder.
    operator_token: str = ""
    #: host:port of the API. Empty: there is none, and the worker is beat too, which saves a process.
    api: str = ""
    #: host:port where a process answers Prometheus, by process.
    metrics: Mapping[str, str] = field(default_factory=dict)
    #: Copies of the service.
    processes: int = 1
    #: Certificate and key of service and API, and the authority by which our own processes know them; empty: no TLS.
    tls_cert: str = ""
    tls_key: str = ""
    ca: str = ""
    #: Settings that the service takes from our own environment.
    service_env: tuple[str, ...] = ()


class LocalArena:
    """Everything of an arena, as processes of ours that are kept alive. Use it as a context, which starts Redis and the service.

    The ports are chosen and held here, so that nobody has to wait until another says where it listens, and a process that is
    started again is where it was.
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
        """Start what hands out and plays matches. The service must be ready if it is to make the operator's token."""
        for name in self.roles:
            self._kept.start(name, partial(self._command, name))

    def wait_until_ready(self, *names: str) -> None:
        """Until these processes say that they are; ProcessDied if one ends before."""
        for name in names:
            child = self.child(name)
            child.wait_for(_READY[name])
            if name in self.metrics:
                child.wait_for("metrics on ")

    def child(self, name: str) -> ChildProcess:
        """One of the processes, as it runs now."""
        return self._kept.child(name)

    def keep(self, seconds: float) -> None:
        """For so long, or until a process ends: start again what has died. ProcessDied when something keeps dying."""
        self._kept.keep(seconds)

    def stop(self) -> None:
        """Stop everything: bots and their worker before the service, Redis last."""
        self._kept.stop()
        for port in self._ports:
            port.close()

    # -------------------------------------------------------------------------------------------------------- processes
    @property
    def access(self) -> ServiceAccess:
        """Where our own processes find the service; NoToken before it has made its token."""
        token = self._wanted.operator_token or operator_token(self._wanted.state_dir.resolve())
        return ServiceAccess(self.service_address, token, self._wanted.ca)

    def _serve(self) -> Command:
        """Secrets go by the environment: every user of a machine can read the command lines on it."""
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
            tls_cert=Path(cert) if cert else None,
            tls_key=Path(key) if key else None,
        )

    def _hold_port(self, listen: str) -> str:
        """The address with a port of its own in place of 0, held by a socket that never listens, so that a process finds the port
        free whenever it starts: on Linux one that listens may share it with one that does not. CannotListen."""
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
