"""A real service and real bots, as processes, for tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grpc

from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, session_pb2, session_pb2_grpc
from service.lifetime import ends_with_us

ROOT = Path(__file__).parents[2]
STARTER = str(ROOT / "bots" / "python" / "bot.py")
#: The longest wait in these tests.
PATIENCE_S = 60.0
STOP_S = 20.0


def clean_environment(settings: Mapping[str, str] = {}) -> dict[str, str]:
    """Returns an environment with only these Rubble settings, in which the rules run uncompiled."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_")}
    return kept | {"RUBBLE_PURE": "1"} | dict(settings)


def start(
    *command: str, log: Path, stdout: int | None = None, settings: Mapping[str, str] = {}
) -> subprocess.Popen[str]:
    """Starts a Python process; its standard error goes to the log."""
    with log.open("a") as stderr:
        return subprocess.Popen(
            ends_with_us([sys.executable, *command]),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            env=clean_environment(settings),
            cwd=ROOT,
        )


def stop(process: subprocess.Popen[str]) -> int:
    """Stops a process as an operator would; returns its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()


class Arena:
    """A service in a folder; after a restart it finds its sessions there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = ""
        self._service: subprocess.Popen[str] | None = None
        self._bots: list[subprocess.Popen[str]] = []
        self._channel: grpc.Channel | None = None

    def open(self) -> None:
        """Starts serving; a restart uses the same address."""
        listen = self.address or "127.0.0.1:0"
        command = ("-m", "cli.main", "serve", "--listen", listen, "--state-dir", str(self.folder / "state"))
        self._service = start(*command, log=self.folder / "service.log", stdout=subprocess.PIPE)
        assert self._service.stdout is not None
        for line in self._service.stdout:
            if line.startswith("serving on "):
                self.address = line.split()[-1]
                break
        else:
            raise AssertionError((self.folder / "service.log").read_text())
        self._channel = grpc.insecure_channel(self.address)
        token = (self.folder / "state" / "operator_token").read_text().strip()
        self.operator = (("authorization", f"Bearer {token}"),)
        self.bots = bot_pb2_grpc.BotServiceStub(self._channel)
        self.sessions = session_pb2_grpc.SessionServiceStub(self._channel)

    def close(self) -> int:
        """Drains and stops the service; returns its exit code."""
        assert self._service is not None
        assert self._channel is not None
        self._channel.close()
        return stop(self._service)

    def key(self, bot: str) -> str:
        """Returns a key for a bot of that name."""
        return self.bots.IssueKey(bot_pb2.IssueKeyRequest(bot=bot), metadata=self.operator).bot_key

    def settings(self, name: str) -> dict[str, str]:
        """Returns the settings of a bot of that name."""
        return {"RUBBLE_ADDRESS": self.address, "RUBBLE_BOT_KEY": self.key(name)}

    def bot(self, name: str, *command: str, **settings: str) -> subprocess.Popen[str]:
        """Starts a bot as a process, connected to this service."""
        process = start(*command, log=self.log_of(name), settings=self.settings(name) | settings)
        self._bots.append(process)
        return process

    def house_bot(self, name: str, player: str) -> subprocess.Popen[str]:
        """Starts a bundled bot."""
        return self.bot(name, "-m", "bots.house", player, "--seed", name)

    def log_of(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def stop_bots(self) -> list[int]:
        """Stops every bot that was started here; returns their exit codes."""
        codes = [stop(process) for process in self._bots]
        self._bots = []
        return codes

    def session(self, game: str, bots: Sequence[str], *, move_ms: int = 30_000, bank_ms: int = 30_000) -> str:
        """Creates a session of these bots."""
        request = session_pb2.CreateSessionRequest(
            game=game,
            seats=[session_pb2.SeatRequest(bot=bot) for bot in bots],
            time_control=common_pb2.TimeControl(move_ms=move_ms, bank_ms=bank_ms),
        )
        return self.sessions.CreateSession(request, metadata=self.operator).session.session

    def watch(self, session: str, from_revision: int = 0) -> Iterator[session_pb2.WatchEvent]:
        """Yields the events of a session, to its end."""
        request = session_pb2.WatchRequest(session=session, from_revision=from_revision)
        for response in self.sessions.Watch(request, metadata=self.operator, timeout=PATIENCE_S):
            yield from response.events

    def finish(self, session: str) -> common_pb2.Outcome:
        """Returns the outcome of a session without faults."""
        for event in self.watch(session):
            assert event.WhichOneof("event") != "fault", event
            if event.WhichOneof("event") == "end":
                assert event.end.status == session_pb2.SESSION_STATUS_FINISHED
                return event.end.outcome
        raise AssertionError("the stream ended before the game")
