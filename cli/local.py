"""A whole arena on this machine: Redis, the service and a worker, started for one tournament and stopped after it."""

import os
from pathlib import Path
from types import TracebackType

import redis

from cli.children import Broken, Child, inherited, undisturbed
from orchestrator.client import Door
from orchestrator.private import private_paths
from orchestrator.settings import Settings
from service.embedded import EmbeddedRedis, InUse

__all__ = ["Broken", "LocalArena"]


class LocalArena:
    """Everything one tournament needs, as processes of ours. Use it as a context."""

    def __init__(self, folder: Path, concurrency: int, listen: str = "127.0.0.1:0") -> None:
        self._folder = folder
        self._concurrency = concurrency
        self._listen = listen
        self._redis = EmbeddedRedis(folder)
        self._children: list[Child] = []
        self.settings: Settings

    def __enter__(self) -> "LocalArena":
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            try:
                self._redis.start()
            except InUse:
                raise Broken(f"another process is playing in {self._folder.parent} this moment") from None
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        state = self._folder / "service"
        serve = ["cli.main", "serve", "--listen", self._listen, "--state-dir", str(state), "--redis", self._redis.url]
        address = self._run("service", serve, {}).wait_for("serving on ")
        token = (state / "operator_token").read_text(encoding="utf-8").strip()
        book = (self._folder.parent / "book.sqlite").resolve()
        self.settings = Settings(
            book=f"sqlite:///{book}",
            broker=f"redis+socket://{self._redis.socket}?virtual_host=1",
            door=Door(address, token),
            folder=(self._folder / "bots").resolve(),
            concurrency=self._concurrency,
            window=2 * self._concurrency,
            hidden=(
                *private_paths(os.environ),  # of an arena that runs beside ours
                self._folder.resolve(),
                (self._folder.parent / "keys").resolve(),
                (self._folder.parent / "replays").resolve(),
            ),
        )
        self._run("worker", ["orchestrator"], self.settings.to_env())

    def _run(self, name: str, command: list[str], env: dict[str, str]) -> Child:
        """A process that writes its log into our folder. Secrets go by the environment, where no other user sees them."""
        child = Child(name, command, inherited() | env, self._folder / f"{name}.log")
        self._children.append(child)
        return child

    def check(self) -> None:
        """Broken if one of them has died."""
        try:
            with redis.Redis.from_url(self._redis.url) as client:
                client.ping()
        except redis.ConnectionError:
            raise Broken(f"Redis has stopped (see {self._redis.folder / 'redis.log'})") from None
        for child in self._children:
            child.check()

    def stop(self) -> None:
        """Stop the worker and its bots, the service, then Redis. Who presses Ctrl-C again waits for it all the same."""
        with undisturbed():
            for child in reversed(self._children):
                child.stop()
            self._children.clear()
            self._redis.stop()
