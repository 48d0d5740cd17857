"""The bench's side of the protocol: one process per variant, driven in turns over pipes."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parent.parent
#: The environment of the games of other projects.
RIVALS_PYTHON = ROOT / ".venv-bench" / "bin" / "python"


class WorkerFailed(Exception):
    """A worker does not answer. Its standard error is already on the terminal."""


class Worker:
    """One process with cases to run."""

    def __init__(self, python: Path, module: str, environment: dict[str, str]) -> None:
        self._name = f"{python} -m {module}"
        self._process = subprocess.Popen(
            [str(python), "-m", module],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        hello = self._answer()
        self.cases: list[str] = hello["cases"]
        self.about: dict[str, str] = hello["about"]

    def run(self, case: str, seconds: float) -> dict[str, float]:
        """Returns the counts of the case per second."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"case": case, "seconds": seconds}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(f"{self._name} ended with code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closing its input is the signal to stop
