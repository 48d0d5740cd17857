"""Runs the arena of compose.yaml without containers, with ``deploy/local/up``."""

import json
import os
import signal
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from orchestrator.book import Book
from tests.deploy.tools import tool, tools_python
from tests.harness.processes import PYTHON, RUBBLE, Process, clean_env, logs, run_command
from tests.harness.waiting import wait_for


class Local:
    """Everything in compose.yaml except Grafana. Use it in a with block."""

    def __init__(self, folder: Path) -> None:
        for name in ("haproxy", "prometheus"):
            tool(name)
        if not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
            pytest.skip("PostgreSQL is not installed (Debian's package is postgresql)")
        self.folder = folder
        self._errors = folder.parent / "up.log"
        command = (tools_python(), "-m", "deploy.local.up", folder)
        env = clean_env(RUBBLE_PYTHON=PYTHON)
        self._process = Process(*command, log=folder.parent / "up.out", errors=self._errors, env=env)

    @property
    def facts(self) -> dict[str, Any]:
        """The last addresses and process ids that it printed."""
        reply: dict[str, Any] = json.loads(self._process.said().rpartition("\n")[0].splitlines()[-1])
        return reply

    def __enter__(self) -> "Local":
        try:
            self._process.wait_for("{")
        except BaseException as error:
            self.stop()
            if isinstance(error, AssertionError):
                raise AssertionError(f"{error}{self.said()}") from None
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        """Stop everything in order; return the exit code."""
        return self._process.stop()

    def said(self) -> str:
        """Return its error output and the last lines of all logs."""
        return self._errors.read_text() + logs(self.folder, "log")

    def kill(self, name: str) -> None:
        """Kill one process with SIGKILL, and wait until a new one has replaced it."""
        victim = self.facts["pids"][name]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: self.facts["pids"][name] != victim, f"another {name}")

    def rubble(self, *arguments: str, is_ok: bool = True) -> str:
        """Run an organiser's command through the balancer; return its output."""
        env = clean_env(
            RUBBLE_API=self.facts["api"],
            RUBBLE_ADDRESS=self.facts["bots"],
            RUBBLE_OPERATOR_TOKEN_FILE=self.facts["token_file"],
            COLUMNS="200",
        )
        done = run_command(*RUBBLE, *arguments, env=env)
        assert (done.returncode == 0) is is_ok, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def book(self) -> Book:
        """Open the book directly."""
        return Book((Path(self.facts["secrets"]) / "book_url").read_text().strip())

    def ask_prometheus(self, path: str, **arguments: str) -> Any:
        """Call the HTTP API of Prometheus."""
        query = urllib.parse.urlencode(arguments)
        url = f"http://{self.facts['prometheus']}/api/v1/{path}?{query}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{arguments}: {error.read().decode()}") from None
