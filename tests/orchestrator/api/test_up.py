"""``rubble up`` prints its addresses, restarts processes that die, and leaves none behind."""

import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from cli.arena_address import without_password
from cli.processes import last_sentence
from cli.up_flags import BadChoice, broker_beside
from orchestrator.api.client import TournamentClient
from orchestrator.client import ArenaClient, ServiceAccess, ServiceError
from tests.certificates import OPENSSL, Authority
from tests.harness.metrics import scrape, total
from tests.harness.processes import HOME, alive_with, logs, run_command
from tests.harness.tournaments import Host, host, roster_text
from tests.harness.waiting import PATIENCE_S, wait_for

_CUP = roster_text({"greedy": "greedy", "random": "random"}, name="cup", game="relief", players=2, deals=3, seed=11)


def test_it_prints_all_addresses(shared: Host) -> None:
    said, arena_address = shared.said(), shared.arena_address()
    for reply in (
        arena_address["service"],
        arena_address["api"],
        *arena_address["metrics"].values(),
        str(shared.state / "operator_token"),
    ):
        assert reply in said
    assert "Next: rubble roster new roster.toml && rubble tournament create roster.toml" in said
    assert f"sqlite:///{shared.state.resolve() / 'book.sqlite'}" in said
    assert shared.token not in said + (shared.state / "arena.json").read_text()
    assert "another folder" in _second(shared.state)


def test_an_arena_without_ladders_says_so_at_once_and_to_who_creates_one(shared: Host, tmp_path: Path) -> None:
    assert "No ladders are played, and none can be created: --no-ladder" in shared.said()
    (tmp_path / "ladder.toml").write_text('name = "spring"\ngame = "relief"\nplayers = 2\n')
    refused = shared.rubble("ladder", "create", str(tmp_path / "ladder.toml"), code=2)
    assert "plays no ladders; start `rubble up` without --no-ladder" in refused


def test_the_address_of_redis_is_on_no_command_line(shared: Host) -> None:
    """It may contain a password, and every user of the machine can read command lines."""
    for word in ("cli.main serve", "orchestrator worker", "orchestrator beat", "orchestrator api"):
        line = Path(f"/proc/{shared.child(word)}/cmdline").read_text()
        assert word.split()[-1] in line and "redis" not in line


def test_the_api_also_reports_every_error_of_a_bad_roster(shared: Host, tmp_path: Path) -> None:
    roster = tmp_path / "bad.toml"
    roster.write_text('name = "bad"\ngame = "chess"\nplayers = 2\ndealz = 1\n')
    lines = shared.rubble("tournament", "create", str(roster), code=2).splitlines()
    assert len(lines) > 1 and all(line.startswith(f"{roster}:") for line in lines)
    assert not any("BAD_ROSTER" in line for line in lines)


def test_key_commands_use_the_arena_of_the_state_folder(shared: Host) -> None:
    key = shared.rubble("key", "issue", "mine").strip()
    assert key.startswith("rb1.")
    with ArenaClient(ServiceAccess(shared.arena_address()["service"], shared.token)) as client:
        assert "revoked all keys of mine up to generation 1" in shared.rubble("key", "revoke", "mine")
        there = ", ".join(sorted(client.connected())) or "no bot"
    reply = shared.rubble("key", "revoke", "yours", code=2)
    assert "no dot first" in shared.rubble("key", "issue", ".", code=2)
    assert f"no key of 'yours' is on record; connected: {there}" in reply
    listed = shared.rubble("key", "connected")  # bots of another test may still be disconnecting
    assert "no bot is connected" in listed or "sdk" in listed


def test_only_the_exception_of_a_traceback_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "ready\nTraceback (most recent call last):\n  File x\n    y()\nValueError: 7 is no seat\n(Background on x)\n"
    )
    assert last_sentence(log) == "ValueError: 7 is no seat"
    assert last_sentence(tmp_path / "none") == ""


def _second(state: Path) -> str:
    """Try to start a second arena in the same folder."""
    command = [sys.executable, "-m", "cli.main", "up", "--state-dir", str(state)]
    ended = run_command(*command)
    assert ended.returncode == 2, ended.stdout
    return ended.stderr


def test_every_process_has_metrics(shared: Host, tmp_path: Path) -> None:
    (tmp_path / "roster.toml").write_text(_CUP)
    shared.rubble("tournament", "create", str(tmp_path / "roster.toml"))
    lines = shared.rubble("tournament", "watch", "cup", "--json").splitlines()
    assert '"state": "done"' in lines[-1]
    metrics = shared.arena_address()["metrics"]
    worker, beat, service = (scrape(metrics[name]) for name in ("worker", "beat", "service"))
    assert total(worker, "rubble_matches_recorded_total", game="relief") >= 6
    assert total(worker, "rubble_match_seconds_count", game="relief") >= 6
    assert total(worker, "rubble_queue_wait_seconds_count") >= 6
    assert total(beat, "rubble_matches_dispatched_total") >= 6
    assert total(worker, "rubble_bot_games_total", bot="greedy") >= 6
    assert total(worker, "rubble_sessions_forgotten_total") >= 6
    assert total(beat, "rubble_tick_seconds_count") > 0
    assert total(worker, "rubble_worker_concurrency") == 4
    assert ("rubble_lease_expiries_total", (("kind", "playing"),)) in beat, "present before the first event"
    assert total(beat, "rubble_tournaments", state="done") >= 1
    assert total(beat, "rubble_dispatch_window") == 16
    assert total(beat, "rubble_book_up") == total(beat, "rubble_broker_up") == 1
    for name in ("rubble_queue_age_seconds", "rubble_queue_messages", "rubble_entrants_withdrawn"):
        assert (name, ()) in beat, name
    assert {dict(labels)["state"] for name, labels in beat if name == "rubble_matches"} == {
        "planned", "queued", "playing", "recorded", "dropped",
    }  # fmt: skip
    assert total(service, "rubble_sessions_created_total", game="relief") >= 6
    listed = (HOME / "docs" / "metrics.md").read_text()
    families = {name for samples in (worker, beat) for name, _ in samples if name.startswith("rubble_")}
    for suffix in ("_bucket", "_count", "_sum", "_created"):
        families = {name.removesuffix(suffix) for name in families}
    missing = [name for name in families if f"`{name}`" not in listed and f"`{name}_total`" not in listed]
    assert missing == [], "docs/metrics.md has all of them"


def test_the_table_is_followed_by_the_bots_that_cannot_start(shared: Host, tmp_path: Path) -> None:
    bots = {"random": "random", "broken": [sys.executable, "-c", "import sys; sys.exit(3)"]}
    clocks = "[time_control]\nmove_ms = 500\nbank_ms = 0\nseating_ms = 500\n"
    (tmp_path / "roster.toml").write_text(roster_text(bots, clocks, name="sad", game="relief", players=2, deals=1))
    shared.rubble("tournament", "create", str(tmp_path / "roster.toml"))
    watched = " ".join(shared.rubble("tournament", "watch", "sad").split())
    shown = " ".join(shared.rubble("tournament", "show", "sad").split())
    for reply in (watched, shown):
        assert "Bot 'broken' ended twice with exit code 3; its output is in its worker's log." in reply
    assert "sad done: 2/2 matches" in watched


@pytest.mark.slow
def test_processes_that_die_are_restarted_and_the_tournament_is_played(tmp_path: Path) -> None:
    with host(tmp_path) as opened:
        (tmp_path / "roster.toml").write_text(_CUP.replace("deals = 3", "deals = 15"))
        opened.rubble("tournament", "create", str(tmp_path / "roster.toml"))
        before = opened.arena_address()
        with opened.caller() as operator:
            for word in ("orchestrator worker", "cli.main serve", "orchestrator beat", "valkey"):
                _kill(opened, word, operator)
        wait_for(lambda: _is_done(opened), "the tournament is over", 4 * PATIENCE_S)
        assert opened.arena_address() == before, "all addresses are the same"
        with opened.caller() as operator:
            found = operator.tournament("cup")
            assert found.progress.played == 30 and found.progress.faults == 0, logs(tmp_path)
        assert opened.said().count("starting it again") == 4
    assert opened.process.poll() == 0
    wait_for(lambda: not alive_with(opened.state), "all processes end")
    assert not (opened.state / "arena.json").exists()
    assert "no arena runs" in opened.rubble("tournament", "list", code=2)


def _kill(opened: Host, word: str, operator: TournamentClient) -> None:
    """Kill a child with SIGKILL, and wait until it is back and games are played."""
    played = operator.tournament("cup").progress.played
    victim = opened.child(word)
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: opened.child(word) not in (0, victim), f"{word} is back", 2 * PATIENCE_S)
    wait_for(
        lambda: operator.tournament("cup").progress.played > played or _is_done(opened), "it goes on", 3 * PATIENCE_S
    )


def _is_done(opened: Host) -> bool:
    with opened.caller() as operator:
        return operator.tournament("cup").ended_at_ms > 0


@pytest.mark.parametrize(
    ("redis", "broker"),
    [
        ("redis://:secret@host:1/3", "redis://:secret@host:1/4"),
        ("redis://host", "redis://host/1"),
        ("unix:///tmp/a.sock", "redis+socket:///tmp/a.sock?virtual_host=1"),
    ],
)
def test_the_broker_is_the_next_database_of_the_same_redis(redis: str, broker: str) -> None:
    assert broker_beside(redis) == broker
    assert "secret" not in without_password(redis)


@pytest.mark.slow
@pytest.mark.skipif(OPENSSL is None, reason="openssl, which makes the certificates, is not installed")
def test_all_parts_of_an_arena_use_tls(tmp_path: Path) -> None:
    """Worker, bots, API and `rubble tournament` trust the authority of --ca."""
    authority = Authority(tmp_path, "ours")
    cert, key = authority.certify("arena")
    tls = ["--tls-cert", str(cert), "--tls-key", str(key)]
    with host(tmp_path, *tls, "--ca", str(authority.cert)) as opened:
        (tmp_path / "roster.toml").write_text(_CUP.replace("deals = 3", "deals = 1"))
        opened.rubble("tournament", "create", str(tmp_path / "roster.toml"))
        assert '"state": "done"' in opened.rubble("tournament", "watch", "cup", "--json").splitlines()[-1]
        with (
            ArenaClient(ServiceAccess(opened.arena_address()["service"], opened.token)) as plain,
            pytest.raises(ServiceError),
        ):
            plain.connected()
        with TournamentClient(opened.access()) as plain, pytest.raises(ServiceError):
            plain.tournament("cup")


@pytest.mark.skipif(OPENSSL is None, reason="openssl, which makes the certificates, is not installed")
def test_a_certificate_that_the_worker_cannot_trust_prevents_the_start(tmp_path: Path) -> None:
    cert, key = Authority(tmp_path, "ours").certify("arena")
    command = [
        sys.executable,
        "-m",
        "cli.main",
        "up",
        "--state-dir",
        str(tmp_path / "state"),
        "--listen",
        "127.0.0.1:0",
    ]
    command += [
        "--metrics",
        "",
        "--tls-cert",
        str(cert),
        "--tls-key",
        str(key),
        "--ca",
        str(Authority(tmp_path, "b").cert),
    ]
    ended = run_command(*command)
    assert ended.returncode == 1 and "expected a --tls-cert that names the host of --listen" in ended.stderr, (
        ended.stderr
    )
    assert not alive_with(tmp_path / "state")


@pytest.mark.parametrize("redis", ["redis+cluster://a:1,b:2", "redis+sentinel://a:1/main"])
def test_a_redis_cluster_cannot_be_the_broker(redis: str) -> None:
    with pytest.raises(BadChoice, match="--broker=''; expected an address"):
        broker_beside(redis)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "here"], "--listen='here'; expected host:port"),
        (["--api", "1.2.3.4:99999"], "--api='1.2.3.4:99999'; expected a port"),
        (["--concurrency", "0"], "--concurrency"),
        (["--tls-cert", "pyproject.toml"], "--tls-key=''; expected the key of --tls-cert"),
        (
            ["--tls-cert", "/nowhere", "--tls-key", "pyproject.toml"],
            "--tls-cert='/nowhere'; expected a file that can be",
        ),
        (["--tls-cert", "pyproject.toml", "--tls-key", "README.md"], "pyproject.toml'; expected a certificate in PEM"),
        (["--redis", "nosuch://x"], "--redis='nosuch://x'; expected an address that begins with one of redis://"),
        (["--broker", "nosuch://x"], "--broker='nosuch://x'; expected an address that begins with redis://"),
        (["--book", "nosuch://x"], "--book='nosuch://x'; expected a book that can be opened"),
        (["--book", "x.sqlite"], "--book='x.sqlite'; expected a book that can be opened"),
        (["--book", "sqlite:////proc/nowhere/book.sqlite"], "--book='sqlite:////proc/nowhere/book.sqlite'; expected a"),
        (
            ["--book", "postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=2"],
            "--book='postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=2'; expected a book",
        ),
        (["--metrics", "127.0.0.1:65533"], "--metrics='127.0.0.1:65533'; expected a port up to 65532"),
        (
            ["--tls-cert", "pyproject.toml", "--tls-key", "/nowhere"],
            "--tls-key='/nowhere'; expected a file that can be",
        ),
        (["--ca", "pyproject.toml"], "--ca='pyproject.toml'; expected --tls-cert and --tls-key with it"),
        (["--state-dir", "/proc/nowhere"], "--state-dir='/proc/nowhere'; expected a folder that can be written"),
    ],
)
def test_an_invalid_flag_is_one_line_of_error(arguments: list[str], message: str, tmp_path: Path) -> None:
    free = ["--listen", "127.0.0.1:0", "--api", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]
    command = [sys.executable, "-m", "cli.main", "up", "--state-dir", str(tmp_path), *free, *arguments]
    ended = run_command(*command)
    assert ended.returncode == 2 and message in ended.stderr and len(ended.stderr.splitlines()) == 1, ended.stderr


@pytest.mark.parametrize(("flag", "place"), [("--listen", 0), ("--api", 0), ("--metrics", 0), ("--metrics", 3)])
def test_a_busy_port_is_reported_with_its_flag_before_the_start(flag: str, place: int, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1] - place}"
        given = {"--listen": "127.0.0.1:0", "--api": "127.0.0.1:0", "--metrics": "127.0.0.1:0"} | {flag: address}
        flags = [word for pair in given.items() for word in pair]
        command = [sys.executable, "-m", "cli.main", "up", "--state-dir", str(tmp_path), *flags]
        ended = run_command(*command)
    assert ended.returncode == 2 and f"{flag}={address!r}; expected a free port" in ended.stderr, ended.stderr
    assert not list(tmp_path.iterdir())
