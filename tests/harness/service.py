"""Runs copies of the service as processes on one Redis; each can be killed and restarted."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from service.embedded import EmbeddedRedis
from tests.harness.client import Client
from tests.harness.processes import RUBBLE, Process, clean_env, logs


class Copy(Process):
    """One ``rubble serve``."""

    def __init__(
        self, log: Path, state: Path, *flags: str, listen: str = "127.0.0.1:0", settings: Mapping[str, str] = {}
    ) -> None:
        """``state`` is the folder with the operator's token; copies share it."""
        command = (*RUBBLE, "serve", "--listen", listen, "--state-dir", str(state), *flags)
        super().__init__(*command, log=log, env=clean_env({"RUBBLE_LOG_LEVEL": "info"} | dict(settings)))
        self._token = state / "operator_token"
        self._address = ""

    @property
    def address(self) -> str:
        """The address; waits until the copy serves."""
        self._address = self._address or self.wait_for("serving on ").split()[0]
        return self._address

    @property
    def token(self) -> str:
        """The operator's token."""
        return self._token.read_text().strip()

    def operator(self) -> Client:
        """Return a client with the operator's token."""
        return Client(self.address, self.token)


class Arena:
    """Copies of the service on one Redis. Use it in a with block."""

    def __init__(
        self,
        folder: Path,
        copies: int = 1,
        *flags: str,
        redis_url: str | None = None,
        fsync: str = "everysec",
        settings: Mapping[str, str] = {},
    ) -> None:
        """``redis_url``: an existing Redis; empty: the service starts its own."""
        self.folder = folder
        #: The copies' own files: the operator's token and the signing secrets.
        self.state = folder / "service"
        self.copies: list[Copy] = []
        self._count = copies
        self._settings = settings
        self._has_redis = redis_url is None
        folder.mkdir(parents=True, exist_ok=True)
        if redis_url is None:
            self.redis = EmbeddedRedis(folder, fsync=fsync)
            redis_url = self.redis.url
        self._flags = ("--redis", redis_url, *flags) if redis_url else flags

    def __enter__(self) -> "Arena":
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Start everything, and wait until all copies serve."""
        if self._has_redis:
            self.redis.start()
        for _ in range(self._count):
            self.start_copy()
        assert all(self.addresses)

    def start_copy(self, number: int | None = None) -> Copy:
        """Start one more copy; or restart the one with this number, which has ended, at its old address."""
        number = len(self.copies) if number is None else number
        listen = self.copies[number].address if number < len(self.copies) else "127.0.0.1:0"
        log = self.folder / f"service-{number + 1}.log"
        copy = Copy(log, self.state, *self._flags, listen=listen, settings=self._settings)
        self.copies[number : number + 1] = [copy]
        return copy

    @property
    def addresses(self) -> list[str]:
        """The addresses of the copies."""
        return [copy.address for copy in self.copies]

    def operator(self, copy: int = 0) -> Client:
        """Return a client to a copy, with the operator's token."""
        return self.copies[copy].operator()

    def client(self, token: str = "", copy: int = 0, *, deaf: bool = False) -> Client:
        """Return a client to a copy. ``deaf``: with small buffers, so that the copy soon notices that it does not read."""
        return Client(self.copies[copy].address, token, deaf=deaf)

    def logs(self) -> str:
        """Return the logs of all copies."""
        return "".join(copy.log.read_text() for copy in self.copies)

    def check_logs(self) -> None:
        """Assert that no copy has logged a traceback."""
        text = self.logs()
        at = text.find("Traceback")
        assert at < 0, text[max(0, at - 2000) : at + 6000]

    def close(self) -> None:
        """Stop everything."""
        for copy in self.copies:
            copy.kill()
        if self._has_redis:
            self.redis.stop()


@contextlib.contextmanager
def arena(
    copies: int = 1,
    *flags: str,
    redis_url: str | None = None,
    fsync: str = "everysec",
    settings: Mapping[str, str] = {},
) -> Iterator[Arena]:
    """Run an arena in a temporary folder. At the end no copy may have logged a traceback."""
    folder = Path(tempfile.mkdtemp(prefix="rubble-"))
    try:
        with Arena(folder, copies, *flags, redis_url=redis_url, fsync=fsync, settings=settings) as opened:
            yield opened
            opened.check_logs()
    except BaseException:
        print(logs(folder))  # pytest shows it with the failure
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
