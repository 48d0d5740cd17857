"""Starts a service, and bots as separate processes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import grpc

from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, session_pb2, session_pb2_grpc
from tests.harness.processes import HOME, PYTHON, Process, clean_env
from tests.harness.service import Arena
from tests.harness.waiting import PATIENCE_S

STARTER: Final = str(HOME / "bots" / "python" / "bot.py")
#: Uses the rules in Python instead of the compiled ones.
PURE: Final = {"RUBBLE_PURE": "1"}


def bot_env(settings: Mapping[str, str] = {}, /, **more: str) -> dict[str, str]:
    """Returns the environment of a bot, with no RUBBLE_ settings except these."""
    return clean_env(PURE | dict(settings), **more)


@contextmanager
def remote_bot(env_file: Path) -> Iterator[Process]:
    """Runs the Python starter as its author does, with only the settings file from the organiser."""
    given = dict(line.split("=", 1) for line in env_file.read_text().splitlines())
    bot = Process(PYTHON, STARTER, log=env_file.with_suffix(".out"), env=clean_env(given))
    try:
        yield bot
    finally:
        bot.stop()


class BotArena(Arena):
    """A service with its own Redis, which keeps the sessions when the service restarts. Use it in a with block."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, redis_url="", settings=PURE)
        self._bots: list[Process] = []

    def __enter__(self) -> "BotArena":
        super().__enter__()
        return self

    def open(self) -> None:
        super().open()
        self._connect()

    def _connect(self) -> None:
        self.address = self.addresses[0]
        self._channel = grpc.insecure_channel(self.address, [("grpc.enable_retries", 0)])
        self.operator_metadata = (("authorization", f"Bearer {self.copies[0].token}"),)
        self.sessions = session_pb2_grpc.SessionServiceStub(self._channel)

    def close(self) -> None:
        self.stop_bots()
        super().close()

    def stop_service(self) -> int:
        """Drain and stop the service; return its exit code."""
        self._channel.close()
        return self.copies[0].stop()

    def restart_service(self) -> None:
        """Start the service again at the same address."""
        self.start_copy(0)
        self._connect()

    def key(self, bot: str) -> str:
        """Issue a key for the bot with this name."""
        stub = bot_pb2_grpc.BotServiceStub(self._channel)
        return stub.IssueKey(bot_pb2.IssueKeyRequest(bot=bot), metadata=self.operator_metadata).bot_key

    def settings(self, name: str) -> dict[str, str]:
        """Return the address and the key that the bot with this name needs."""
        return {"RUBBLE_ADDRESS": self.address, "RUBBLE_BOT_KEY": self.key(name)}

    def start_bot(self, name: str, *command: str | Path, cwd: Path = HOME, settings: Mapping[str, str] = {}) -> Process:
        """Start a bot with this name as a process; settings with an empty value are left out."""
        known = {key: value for key, value in (self.settings(name) | dict(settings)).items() if value}
        process = Process(*command, log=self.log_of(name), env=bot_env(known), cwd=cwd)
        self._bots.append(process)
        return process

    def bot(self, name: str, *arguments: str, **settings: str) -> Process:
        """Start a bot written in Python."""
        return self.start_bot(name, PYTHON, *arguments, settings=settings)

    def bundled_bot(self, name: str, player: str) -> Process:
        """Start one of the bundled bots."""
        return self.bot(name, "-m", "bots.bundled", player, "--seed", name)

    def log_of(self, name: str) -> Path:
        """Return the file that receives the bot's output."""
        return self.folder / f"{name}.log"

    def stop_bots(self) -> list[int]:
        """Stop every bot that was started here; return their exit codes."""
        bots, self._bots = self._bots, []
        return [bot.stop() for bot in bots]

    def session(self, game: str, bots: Sequence[str], *, move_ms: int = 30_000, bank_ms: int = 30_000) -> str:
        """Create a session of these bots."""
        request = session_pb2.CreateSessionRequest(
            game=game,
            seats=[session_pb2.SeatRequest(bot=bot) for bot in bots],
            time_control=common_pb2.TimeControl(move_ms=move_ms, bank_ms=bank_ms),
        )
        return self.sessions.CreateSession(request, metadata=self.operator_metadata).session.session

    def watch(
        self, session: str, from_revision: int = 0, patience_s: float = PATIENCE_S
    ) -> Iterator[session_pb2.WatchEvent]:
        """Yield the events of a session until it ends."""
        request = session_pb2.WatchRequest(session=session, from_revision=from_revision)
        for response in self.sessions.Watch(request, metadata=self.operator_metadata, timeout=patience_s):
            yield from response.events

    def finish(self, session: str, patience_s: float = PATIENCE_S) -> common_pb2.Outcome:
        """Wait until the session ends without a fault; return its outcome."""
        for event in self.watch(session, patience_s=patience_s):
            assert event.WhichOneof("event") != "fault", event
            if event.WhichOneof("event") == "end":
                assert event.end.status == session_pb2.SESSION_STATUS_FINISHED
                return event.end.outcome
        raise AssertionError("the stream ended before the game")

    def replay(self, session: str) -> str:
        """Return the replay of a finished session."""
        request = session_pb2.GetReplayRequest(session=session)
        return self.sessions.GetReplay(request, metadata=self.operator_metadata).jsonl
