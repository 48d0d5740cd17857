"""``rubble health`` as probes use it, on a real service with and without its Redis."""

import http.server
import subprocess
import threading

import pytest

from cli.app import run as rubble
from tests.harness.processes import RUBBLE, run_command
from tests.harness.service import arena
from tests.harness.waiting import wait_for


def _health(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return run_command(*RUBBLE, "health", *arguments)


def test_a_service_is_healthy_until_its_redis_dies() -> None:
    with arena(1) as opened:
        address = opened.copies[0].address
        well = _health(address, "--timeout", "30")
        assert (well.returncode, well.stdout) == (0, "well\n"), well.stderr
        assert _health(address, "--service", "rubble.v1.BotService", "--timeout", "30").returncode == 0
        unknown = _health(address, "--service", "no.such.Service", "--timeout", "30")
        assert unknown.returncode == 1 and "NOT_FOUND" in unknown.stderr
        opened.redis.kill()
        wait_for(
            lambda: "NOT_SERVING" in _health(address, "--timeout", "30").stderr,
            "the service reports that it is not healthy",
        )


def test_an_unreachable_address_is_one_line_of_error() -> None:
    for arguments in (("127.0.0.1:1",), ("--metrics", "127.0.0.1:1")):
        nobody = _health(*arguments, "--timeout", "2")
        assert nobody.returncode == 1 and len(nobody.stderr.splitlines()) == 1, nobody.stderr


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_a_process_with_only_metrics_is_checked_by_http(status: int, code: int) -> None:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert rubble(["health", "--metrics", f"127.0.0.1:{server.server_port}"]) == code
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("arguments", [[], ["127.0.0.1:1", "--metrics", "127.0.0.1:2"]])
def test_exactly_one_address_is_required(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert rubble(["health", *arguments]) == 2
    assert "one address" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "1e9"])
def test_an_invalid_timeout_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rubble(["health", "127.0.0.1:1", "--timeout", seconds]) == 2
    assert "--timeout" in capsys.readouterr().err
