"""What ``rubble play`` starts for one game: a service and bots, as processes that end with it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cli.children import last_sentence
from service.lifetime import ends_with_us

_STOP_S: Final = 10.0


class Broken(Exception):
    """Something we started has died."""


class Household:
    """Every process started for one game, and a folder for what they write. All of it is gone when the game is."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="rubble-play-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        self._processes: list[tuple[str, subprocess.Popen[str]]] = []

    def __enter__(self) -> "Household":
        return self

    def __exit__(self, *_: object) -> None:
        for _name, process in reversed(self._processes):  # the bots leave before the house closes
            process.terminate()
        for _name, process in reversed(self._processes):
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self._folder.cleanup()

    def start(self, name: str, command: Sequence[str], **settings: str) -> subprocess.Popen[str]:
        """A process that knows only these of our settings and writes its log into the folder."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_")}
        for kept in ("RUBBLE_PURE", "RUBBLE_CA"):
            if kept in os.environ:
                environment[kept] = os.environ[kept]
        with (self.path / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                # -P: modules in the working directory are not loaded.
                ends_with_us([sys.executable, "-P", "-m", *command]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environment | settings,
                start_new_session=True,  # Ctrl-C is for us: we stop them when we are done with them
            )
        self._processes.append((name, process))
        return process

    def check(self) -> None:
        """Broken if one of them has died."""
        for name, process in self._processes:
            if process.poll() is not None:
                raise Broken(f"{name} stopped with exit code {process.returncode}; {self._last_words(name)}")

    def _last_words(self, name: str) -> str:
        return f"it said: {last_sentence(self.path / f'{name}.log') or 'nothing'}"

    def serve(self) -> tuple[str, str]:
        """A service of our own: its address and its operator's token."""
        folder = self.path / "service"
        command = ["cli.main", "serve", "--listen", "127.0.0.1:0", "--state-dir", str(folder)]
        process = self.start("the service", command, RUBBLE_LOG_LEVEL="warning")
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("serving on "):
                return line.split()[-1], (folder / "operator_token").read_text().strip()
        process.wait(_STOP_S)
        self.check()
        raise Broken("the service does not say where it serves")
