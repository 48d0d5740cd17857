"""``rubble up`` as a process, callers of its API, and bots that dial in by themselves."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]  # it carries none
from grpc_status import rpc_status
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.api.client import TournamentClient
from orchestrator.client import Door
from service.lifetime import ends_with_us
from tests.orchestrator.harness import HOME, PATIENCE_S, child_of, logs, wait_for

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def clean_env(**more: str) -> dict[str, str]:
    """Our environment without any setting of ours."""
    return {key: value for key, value in os.environ.items() if not key.startswith("RUBBLE_")} | more


class Host:
    """``rubble up`` in a folder of its own."""

    def __init__(self, folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        self.state = folder / "state"
        self._said = (folder / "up.out").open("w+")
        free = ("--listen", "127.0.0.1:0", "--api", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--concurrency", "4")
        self.process = subprocess.Popen(
            ends_with_us([sys.executable, "-m", "cli.main", "up", "--state-dir", str(self.state), *free, *arguments]),
            cwd=HOME,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            env=clean_env(COLUMNS="200", **(env or {})),
        )
        self.folder = folder

    def said(self) -> str:
        """Everything it has said so far."""
        return (self.folder / "up.out").read_text()

    def wait_until_up(self) -> None:
        """It says where everything is."""

        def is_up() -> bool:
            assert self.process.poll() is None, self.said() + logs(self.folder)
            return "Next:" in self.said()

        wait_for(is_up, "rubble up", 3 * PATIENCE_S)

    def card(self) -> dict[str, Any]:
        """What it tells other commands."""
        found: dict[str, Any] = json.loads((self.state / "arena.json").read_text())
        return found

    @property
    def token(self) -> str:
        return (self.state / "operator_token").read_text().strip()

    def door(self, *, is_operator: bool = True) -> Door:
        return Door(self.card()["api"], self.token if is_operator else "")

    def rubble(self, *arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> str:
        """One command at this arena; what it said."""
        command = [sys.executable, "-m", "cli.main", *arguments, "--state-dir", str(self.state)]
        ended = subprocess.run(
            command, cwd=HOME, env=clean_env(COLUMNS="200", **(env or {})), capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stdout + ended.stderr + logs(self.folder)
        return ended.stdout + ended.stderr

    def child(self, word: str) -> int:
        """The process id of a child with this word in its command line."""
        return child_of(self.process.pid, word)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self._said.close()
        return code


@contextmanager
def host(folder: Path, *arguments: str) -> Iterator[Host]:
    """An arena, up."""
    opened = Host(folder, *arguments)
    try:
        opened.wait_until_up()
        yield opened
    finally:
        opened.stop()


@contextmanager
def remote_bot(env_file: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The Python starter as its author would start it, with nothing but the file that the organiser sent."""
    given = dict(line.split("=", 1) for line in env_file.read_text().splitlines())
    with (env_file.parent / f"{env_file.stem}.out").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, str(HOME / "bots" / "python" / "bot.py")],
            cwd=HOME,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=clean_env(**given),
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def caller(found: Host, *, is_operator: bool = True) -> TournamentClient:
    """Somebody who asks the API."""
    return TournamentClient(found.door(is_operator=is_operator))


def reason_of(error: grpc.RpcError) -> tuple[grpc.StatusCode, str]:
    """Status and reason of a refusal."""
    call: Any = error
    status = rpc_status.from_call(call)
    for packed in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if packed.Unpack(info):
            return call.code(), str(info.reason)
    return call.code(), ""


def scrape(address: str) -> Samples:
    """Every sample that is told there."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def total(samples: Samples, name: str, **labels: str) -> float:
    """The sum over all samples of that name with these labels."""
    return sum(value for (sample, has), value in samples.items() if sample == name and set(labels.items()) <= set(has))
