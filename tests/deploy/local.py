"""The arena of compose.yaml without containers, for tests: started by ``deploy/local/up``, asked through its doors."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from orchestrator.book import Book
from tests.deploy.tools import HOME, tool, tools_python
from tests.orchestrator.harness import PATIENCE_S, wait_for


class Local:
    """Everything compose.yaml names, but Grafana. Use it as a context."""

    def __init__(self, folder: Path) -> None:
        for name in ("haproxy", "prometheus"):
            tool(name)
        if not list(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
            pytest.skip("PostgreSQL is not installed (Debian's package is postgresql)")
        self.folder = folder
        self._complaints = (folder.parent / "up.log").open("w+")
        self._process = subprocess.Popen(
            [tools_python(), "-m", "deploy.local.up", str(folder)],
            cwd=HOME,
            env={**os.environ, "RUBBLE_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
        )
        #: What it told last: addresses and process ids.
        self.facts: dict[str, Any] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.facts = json.loads(line)

    def __enter__(self) -> "Local":
        try:
            wait_for(lambda: bool(self.facts) or self._process.poll() is not None, "everything is well")
            assert self.facts, self.said()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> int:
        """Stop everything, in order; the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._complaints.close()
        return code

    def said(self) -> str:
        """What it complained of, and the ends of all logs."""
        self._complaints.flush()
        logs = "".join(
            f"\n--- {path}\n{path.read_text(errors='replace')[-1500:]}" for path in self.folder.glob("*/log")
        )
        return Path(self._complaints.name).read_text() + logs

    def kill(self, name: str) -> None:
        """kill -9 one of them, and wait until another has taken its place."""
        victim = self.facts["pids"][name]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: self.facts["pids"][name] != victim, f"another {name}")

    def rubble(self, *arguments: str, is_ok: bool = True) -> str:
        """An organiser's command, through the balancer."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_")}
        env |= {
            "RUBBLE_API": self.facts["api"],
            "RUBBLE_ADDRESS": self.facts["bots"],
            "RUBBLE_OPERATOR_TOKEN_FILE": self.facts["token_file"],
            "COLUMNS": "200",
        }
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", *arguments],
            cwd=HOME,
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (done.returncode == 0) is is_ok, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def book(self) -> Book:
        """The book of record itself, for a look that takes no time."""
        return Book((Path(self.facts["secrets"]) / "book_url").read_text().strip())

    def ask_prometheus(self, path: str, **arguments: str) -> Any:
        """Prometheus's own API."""
        query = urllib.parse.urlencode(arguments)
        url = f"http://{self.facts['prometheus']}/api/v1/{path}?{query}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{arguments}: {error.read().decode()}") from None
