"""One bot as a process: its output is bounded, it is restarted when it fails, and ended with all its descendants."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

from orchestrator.bot_processes.cgroups import divisible
from orchestrator.bot_processes.launcher import LAUNCHER_ENV, launched
from orchestrator.bot_processes.output import OutputLog
from orchestrator.bot_processes.sandbox import SandboxPolicy
from orchestrator.bot_processes.system import CANNOT_START
from orchestrator.bot_processes.view import view_for

#: The supervisor needs less: see ``launcher.GRACE_S``.
_END_S: Final = 5.0
#: How long to wait for the rest of a bot's output, in seconds: a process that outlives the bot may hold it open.
_WORDS_S: Final = 0.5
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
#: A bot that ran for this long has started well: its next failure counts as the first.
_WELL_S: Final = 20.0


class BotProcess:
    """A bot that is restarted when it ends."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        output: Path,
        limits: Mapping[str, Any],
        policy: SandboxPolicy | None = None,
    ) -> None:
        self.name = name
        self._terms = {**limits, "supervise": 1, "env": dict(env), "cwd": str(cwd.absolute())}
        self._bot_command = list(command)
        self._policy = policy
        self._command = launched(*command)
        self._output = OutputLog(output)
        self._reader: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_ending = False
        self._started = 0.0
        self._pause = _FIRST_PAUSE_S
        self._next_start = 0.0
        self.starts = 0
        self.exit_code: int | None = None

    @property
    def pid(self) -> int:
        """The process id; 0 if it is not running."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else 0

    def look_after(self) -> None:
        """Start the bot if it is not running and its pause is over."""
        with self._lock:
            if self._is_ending:
                return
            now = time.monotonic()
            if self._process is not None:
                code = self._process.poll()
                if code is None:
                    return
                self.exit_code = code
                self._end_group(signal.SIGKILL)
                self._process = None
                self._pause = (
                    _FIRST_PAUSE_S if now - self._started > _WELL_S else min(self._pause * 2, _LONGEST_PAUSE_S)
                )
                self._next_start = now + self._pause
            if now >= self._next_start:
                self._start(now)

    def _start(self, now: float) -> None:
        self._started = now
        self.starts += 1
        try:
            self._process = subprocess.Popen(
                self._command,
                cwd="/",
                env={name: os.environ[name] for name in LAUNCHER_ENV if name in os.environ},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its own group, so that its children can be ended with it
            )
        except OSError as error:  # the machine is out of resources: treated as if the bot had ended
            self.exit_code = CANNOT_START
            self._pause = min(self._pause * 2, _LONGEST_PAUSE_S)
            self._next_start = now + self._pause
            self._output.write(f"cannot start {self.name!r}: {error.strerror}\n".encode())
            return
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as terms:  # it has died, which is noticed later
            terms.write(self._written_terms())
        self._reader = threading.Thread(target=self._keep_output, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def _written_terms(self) -> bytes:
        """The terms for the launcher. The bot's view is computed at every start, since a folder may have been created meanwhile."""
        terms = self._terms | {"cgroup": divisible()[0]}
        if self._policy is not None:
            terms["policy"] = self._policy.to_plain()
            if self._policy.has_view:
                shown = view_for(self._bot_command, self._terms["env"], self._terms["cwd"], self._policy.readable)
                terms["view"] = shown._asdict()
        return json.dumps(terms).encode()

    def _keep_output(self, pipe: IO[bytes]) -> None:
        """Store the output up to a limit; the rest is read and dropped, so that the bot never blocks."""
        with pipe:
            while chunk := pipe.read1(65536):  # type: ignore[attr-defined]  # a pipe is buffered
                self._output.write(chunk)

    def last_words(self) -> str:
        """The end of the bot's output; complete if the bot has ended."""
        if self._reader is not None and not self.pid:
            self._reader.join(_WORDS_S)
        return self._output.tail()

    def end(self) -> None:
        """End the bot and all its descendants."""
        with self._lock:
            self._is_ending = True
            process = self._process
            if process is not None:
                process.terminate()  # the supervisor ends the bot and its descendants
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
                self._end_group(signal.SIGKILL)
                process.wait()
            if self._reader is not None:
                self._reader.join(_END_S)  # reads the rest of the output
            self._output.close()

    def _end_group(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
