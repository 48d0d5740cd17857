"""Starts processes, reads their output and ends them."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from service.lifetime import ends_with_us
from tests.harness.waiting import PATIENCE_S, wait_for

HOME: Final = Path(__file__).parents[2]
PYTHON: Final = sys.executable
#: The command line of ``rubble``.
RUBBLE: Final = (PYTHON, "-m", "cli.main")


def clean_env(settings: Mapping[str, str] = {}, /, **more: str) -> dict[str, str]:
    """Return our environment with no RUBBLE_ settings except these and the choice of compiled rules."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_") or key == "RUBBLE_PURE"}
    return kept | dict(settings) | more


def run_command(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path = HOME,
    said: str | None = None,
    patience_s: float = PATIENCE_S,
) -> "subprocess.CompletedProcess[str]":
    """Run a command until it exits, with any exit code; ``said`` is its input."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=clean_env() if env is None else dict(env),
        input=said,
        stdin=subprocess.DEVNULL if said is None else None,
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )


def check_output(
    *command: str | Path, env: Mapping[str, str] | None = None, cwd: Path = HOME, patience_s: float = PATIENCE_S
) -> str:
    """Run a command that must succeed; return its output."""
    ended = run_command(*command, env=env, cwd=cwd, patience_s=patience_s)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


class Process:
    """A process that ends with the tests, even if they are killed. A with block kills it at its end."""

    def __init__(
        self,
        *command: str | Path,
        log: Path = Path(os.devnull),
        errors: Path | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path = HOME,
    ) -> None:
        """Output is appended to ``log``, and standard error to ``errors`` if given."""
        self.log = log
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(log.open("ab"))
            #: The offset in the log at which the output of this process starts.
            self._begin = output.tell()
            self._popen = subprocess.Popen(
                ends_with_us([str(word) for word in command]),
                cwd=cwd,
                env=clean_env() if env is None else dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output if errors is None else stack.enter_context(errors.open("ab")),
                start_new_session=True,
            )

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        return self._popen.poll()

    def said(self) -> str:
        """Return what this process has written to its log so far."""
        return self.log.read_bytes()[self._begin :].decode(errors="replace")

    def wait_for(self, words: str, patience_s: float = PATIENCE_S) -> str:
        """Wait until it writes these words; return the rest of the line. Raises AssertionError if the process exits first."""

        def is_said() -> bool:
            has_ended = self.poll() is not None
            found = words in self.said()
            assert found or not has_ended, f"it ended with {self.poll()} before it said {words!r}:\n{self.said()}"
            return found and "\n" in self.said().split(words, 1)[1]

        wait_for(is_said, lambda: f"{words!r} in\n{self.said()}", patience_s)
        return self.said().split(words, 1)[1].split("\n", 1)[0]

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        self._popen.send_signal(number)

    def wait(self, patience_s: float = PATIENCE_S) -> int:
        """Wait until it exits; return its exit code."""
        return self._popen.wait(patience_s)

    def stop(self, number: signal.Signals = signal.SIGTERM, patience_s: float = PATIENCE_S) -> int:
        """Stop it with a signal and return its exit code. A process that does not stop is killed, and the test fails."""
        self.send_signal(number)
        try:
            return self.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"it did not stop within {patience_s} s:\n{self.said()[-4000:]}") from None

    def kill(self) -> None:
        """kill -9."""
        self._popen.kill()
        self._popen.wait()


# ---------------------------------------------------------------------------------------------------------- other processes
def logs(folder: Path, pattern: str = "*.log") -> str:
    """Return the last lines of all logs under a folder, for the message of a failed test."""
    found = [path for path in sorted(folder.rglob(pattern)) if path.is_file() and path.stat().st_size]
    return "".join(f"\n--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in found)


def child_of(pid: int, word: str) -> int:
    """Return the process id of a child with this word in its command line, or 0."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if word in _words(Path(f"/proc/{child}/cmdline")):
                return int(child)
    return 0


def alive_with(word: str | Path) -> dict[int, str]:
    """Return the other processes with this word in their command line or environment."""
    found: dict[int, str] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # it has just ended
            command, environment = _words(folder / "cmdline"), _words(folder / "environ")
            if re.search(rf"{re.escape(str(word))}\b", f"{command} {environment}"):
                found[int(folder.name)] = command
    return found


def _words(file: Path) -> str:
    return file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
