"""Copies of the service as processes on one Redis, all of which can be killed and started again."""

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
        """``state`` has the operator's token; copies share it."""
        command = (*RUBBLE, "serve", "--listen", listen, "--state-dir", str(state), *flags)
        super().__init__(*command, log=log, env=clean_env({"RUBBLE_LOG_LEVEL": "info"} | dict(settings)))
        self._token = state / "operator_token"
        self._address = ""

    @property
    def address(self) -> str:
        """Where it serves; waits until it does."""
        self._address = self._address or self.wait_for("serving on ").split()[0]
        return self._address

    @property
    def token(self) -> str:
        """The operator's token."""
        return self._token.read_text().strip()

    def operator(self) -> Client:
        """The operator's client."""
        return Client(self.address, self.token)


class Arena:
    """Some copies of the service on one Redis. Use it as a context."""

    def __init__(
        self,
        folder: Path,
        copies: int = 1,
        *flags: str,
        redis_url: str | None = None,
        fsync: str = "everysec",
        settings: Mapping[str, str] = {},
    ) -> None:
        """``redis_url``: a Redis that somebody else runs; empty: the service runs its own."""
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
        """Start everything; all copies serve then."""
        if self._has_redis:
            self.redis.start()
        for _ in range(self._count):
            self.start_copy()
        assert all(self.addresses)

    def start_copy(self, number: int | None = None) -> Copy:
        """One copy more; or, by its number, one that has ended, at the address it had."""
        number = len(self.copies) if number is None else number
        listen = self.copies[number].address if number < len(self.copies) else "127.0.0.1:0"
        log = self.folder / f"service-{number + 1}.log"
        copy = Copy(log, self.state, *self._flags, listen=listen, settings=self._settings)
        self.copies[number : number + 1] = [copy]
        return copy

    @property
    def addresses(self) -> list[str]:
        """Where the copies serve."""
        return [copy.address for copy in self.copies]

    def operator(self, copy: int = 0) -> Client:
        """The operator's client to a copy."""
        return self.copies[copy].operator()

    def client(self, token: str = "", copy: int = 0, *, deaf: bool = False) -> Client:
        """Anybody's client to a copy. ``deaf``: hardly anything fits in between, so that not reading is noticed soon."""
        return Client(self.copies[copy].address, token, deaf=deaf)

    def logs(self) -> str:
        """What all copies have said."""
        return "".join(copy.log.read_text() for copy in self.copies)

    def check_logs(self) -> None:
        """No copy may have logged a traceback."""
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
    """An arena in a folder that is gone with the block. Whatever happened in it, no copy may have met a bug of ours."""
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
