"""A whole arena on this machine: Redis, the service and a worker, started for one tournament and stopped after it."""

import os
import secrets
import socket
import sys
from pathlib import Path
from types import TracebackType

from cli.children import Broken, Child, Command, Supervisor, inherited
from orchestrator.at_once import AtOnce
from orchestrator.client import Door
from orchestrator.private import private_paths
from orchestrator.settings import Settings
from service.config import CannotListen
from service.embedded import EmbeddedRedis, InUse

__all__ = ["Broken", "LocalArena"]


class LocalArena:
    """Everything one tournament needs, as processes of ours that are kept alive. Use it as a context.

    Service and worker start at the same time: both are told the address and the operator's token, and neither has to wait until
    the other says them.
    """

    def __init__(self, folder: Path, at_once: AtOnce, listen: str = "127.0.0.1:0") -> None:
        self._folder = folder
        self._redis = EmbeddedRedis(folder)
        self._kept = Supervisor(folder, self._redis)
        run = folder.parent
        hidden = (
            *private_paths(os.environ),  # of an arena that runs beside ours
            *(path.resolve() for path in (folder, run / "keys", run / "replays")),
        )
        self._port, address = _hold_port(listen)
        self.settings = Settings(
            book=f"sqlite:///{(run / 'book.sqlite').resolve()}",
            broker=f"redis+socket://{self._redis.socket}?virtual_host=1",
            door=Door(address, secrets.token_urlsafe(32)),
            folder=(folder / "bots").resolve(),
            concurrency=at_once.matches,
            window=at_once.window,
            hidden=hidden,
        )
        self.service: Child
        self.worker: Child

    def __enter__(self) -> "LocalArena":
        try:
            try:
                self._redis.start()
            except InUse:
                raise Broken(f"another process is playing in {self._folder.parent} this moment") from None
            self.service = self._kept.start("service", self._serve)
            self.worker = self._kept.start("worker", lambda: (["orchestrator"], inherited() | self.settings.to_env()))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self) -> Command:
        """Secrets go by the environment, where no other user sees them."""
        door = self.settings.door
        command = ["cli.main", "serve", "--listen", door.address, "--state-dir", str(self._folder / "service")]
        env = {"RUBBLE_OPERATOR_TOKEN": door.operator_token, "RUBBLE_REDIS": self._redis.url}
        return command, inherited() | env

    def keep(self, seconds: float) -> None:
        """For so long, or until a process ends: start again what has died. Broken when something keeps dying."""
        self._kept.keep(seconds)

    def stop(self) -> None:
        """Stop the worker and its bots, the service, then Redis."""
        self._kept.stop()
        self._port.close()


def _hold_port(listen: str) -> tuple[socket.socket, str]:
    """The address with a port of its own in place of 0, held by a socket that never listens, so that the service finds the port
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
    if sys.platform != "linux":
        held.close()
    return held, address
