"""The sandbox of a bot and the limits of all its processes, under attack."""

import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.bot_processes import namespaces, sandbox
from orchestrator.bot_processes.calls import missing_filter
from orchestrator.bot_processes.launcher import OVER_LIMIT
from orchestrator.bot_processes.pool import unconfined
from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.sandbox import SandboxPolicy
from orchestrator.settings import read_settings
from tests.harness.processes import HOME, Process, alive_with
from tests.harness.tournaments import script
from tests.harness.waiting import wait_for
from tests.orchestrator.hostile.attacker import ALLOWED_ACTIONS, FORBIDDEN_ACTIONS

_LANDLOCK = 6
whole = pytest.mark.skipif(
    sandbox.landlock_version() < _LANDLOCK or bool(namespaces.offered() or missing_filter()),
    reason=f"this machine has no complete sandbox: {namespaces.offered()} {missing_filter()}",
)


@dataclass
class Target:
    """What an attacker tries to reach."""

    scratch: Path
    outside: Path
    secret: Path
    arena: int
    elsewhere: int
    victim: int

    @property
    def policy(self) -> SandboxPolicy:
        return SandboxPolicy.for_bot(self.scratch, f"127.0.0.1:{self.arena}", [self.secret.parent])

    def attack(self, policy: SandboxPolicy | None) -> set[str]:
        """Run the attacks; return those that worked."""
        facts = json.dumps(
            {name: str(value) if isinstance(value, Path) else value for name, value in vars(self).items()}
        )
        bot = _bot(self.scratch, script("attacker"), policy, FACTS=facts)
        bot.look_after()
        wait_for(lambda: "worked: " in bot.last_words(), "the end of its attacks")
        bot.end()
        return set(json.loads(bot.last_words().split("worked: ")[1]))


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    folders = [tmp_path / name for name in ("scratch", "outside", "private")]
    for folder in folders:
        folder.mkdir()
    scratch, outside, private = folders
    for path in (outside / "kept", outside / "rubbish", private / "seeds"):
        path.write_text("ours")
    with ExitStack() as open_, Process("sleep", "1000") as victim:
        arena, elsewhere = (open_.enter_context(socket.create_server(("127.0.0.1", 0), backlog=50)) for _ in range(2))
        ports = arena.getsockname()[1], elsewhere.getsockname()[1]
        yield Target(scratch, outside, private / "seeds", *ports, victim.pid)


def _bot(
    folder: Path,
    command: list[str],
    policy: SandboxPolicy | None = None,
    limits: Mapping[str, int] | None = None,
    **env: str,
) -> BotProcess:
    env |= {"PATH": os.environ["PATH"], "TMPDIR": str(folder), "PYTHONPATH": str(HOME)}
    return BotProcess("bot", command, env, HOME, folder / "output.log", limits or {}, policy)


@whole
@pytest.mark.parametrize("has_view", [True, False], ids=["namespaces", "without"])
def test_a_bot_in_its_sandbox_can_play_but_do_no_harm(target: Target, has_view: bool) -> None:
    assert target.attack(target.policy._replace(has_view=has_view)) == set(ALLOWED_ACTIONS)
    assert sorted(path.name for path in target.outside.iterdir()) == ["kept", "rubbish"]
    assert (target.outside / "kept").read_text() == "ours"


def test_without_a_sandbox_nearly_all_attacks_work(target: Target) -> None:
    """Otherwise the test above would prove nothing. Some attacks depend on kernel settings and on our user."""
    perhaps = {"connect by sending", "have powers of root", "set up an io_uring"}
    assert target.attack(None) | perhaps == {*FORBIDDEN_ACTIONS, *ALLOWED_ACTIONS}


@whole
def test_an_arena_address_with_a_host_name_leaves_udp_open_with_a_warning(target: Target) -> None:
    policy = SandboxPolicy.for_bot(target.scratch, f"arena.example:{target.arena}", [target.secret.parent])
    assert target.attack(policy) == {*ALLOWED_ACTIONS, "open a UDP socket"}
    assert any("UDP is open" in words for words in sandbox.missing(policy))


@pytest.mark.parametrize(
    ("address", "ports", "asks_names", "uses_unix"),
    [
        ("127.0.0.1:8080", (8080,), False, False),
        ("[::1]:8080", (8080,), False, False),
        ("localhost:8080", (8080,), False, False),
        ("arena.example:8080", (8080,), True, False),
        ("arena.example", (443,), True, False),
        ("dns:///arena.example:9", (9,), True, False),
        ("ipv4:10.0.0.1:5,10.0.0.2:6", (5, 6), False, False),
        ("unix:/run/arena.sock", (), False, True),
    ],
)
def test_the_open_port_is_read_from_the_arenas_address(
    tmp_path: Path, address: str, ports: tuple[int, ...], asks_names: bool, uses_unix: bool
) -> None:
    policy = SandboxPolicy.for_bot(tmp_path, address)
    assert (policy.ports, policy.asks_names, policy.uses_unix) == (ports, asks_names, uses_unix)
    assert SandboxPolicy.from_plain(json.loads(json.dumps(policy.to_plain()))) == policy


_UNSEEN = "everything this user may read can be read"
_WRITTEN = "files outside its folder can be written"
_CUT = "files outside its folder can be truncated"
_ANY_PORT = "any TCP port can be reached"
_PORT = "port 1 of any machine can be reached"
_SIGNALS = "other processes of this user can be signalled"
_ABSTRACT = "abstract unix sockets of other programs can be reached"


@pytest.mark.parametrize(
    ("version", "has_namespaces", "address", "gaps"),
    [
        (0, False, "127.0.0.1:1", {_UNSEEN, _WRITTEN, _SIGNALS, _ANY_PORT}),
        (2, False, "127.0.0.1:1", {_UNSEEN, _CUT, _SIGNALS, _ANY_PORT}),
        (3, False, "127.0.0.1:1", {_UNSEEN, _SIGNALS, _ANY_PORT}),
        (5, False, "127.0.0.1:1", {_UNSEEN, _SIGNALS, _PORT}),
        (6, False, "127.0.0.1:1", {_UNSEEN, _PORT}),
        (0, True, "127.0.0.1:1", set()),
        (3, True, "10.0.0.1:1", {_ANY_PORT}),
        (5, True, "10.0.0.1:1", {_PORT}),
        (5, True, "unix:/run/arena.sock", {_ABSTRACT}),
        (6, True, "unix:/run/arena.sock", set()),
    ],
)
def test_a_warning_names_what_an_older_kernel_lacks_unless_namespaces_replace_it(
    monkeypatch: pytest.MonkeyPatch, version: int, has_namespaces: bool, address: str, gaps: set[str]
) -> None:
    monkeypatch.setattr(sandbox, "landlock_version", lambda: version)
    monkeypatch.setattr(sandbox, "missing_filter", lambda: "")
    monkeypatch.setattr(namespaces, "offered", lambda: "" if has_namespaces else "forbidden here")
    prefix = "The sandbox lacks a protection: "
    found = unconfined({}, address)
    assert all(words.startswith(prefix) for words in found)
    assert {next((gap for gap in gaps if words.removeprefix(prefix).startswith(gap)), words) for words in found} == gaps
    assert len(found) == len(gaps)


def test_a_roster_may_turn_the_sandbox_off_with_a_reason() -> None:
    assert unconfined({"unconfined": "asks a model on the same machine"}, "127.0.0.1:1") == (
        "Bots run without a sandbox, as the roster asks: asks a model on the same machine",
    )


# --------------------------------------------------------------------------------------------------------------- limits
@pytest.mark.parametrize(
    ("kind", "count", "limit", "words"),
    [
        ("children", 40, {"processes": 20}, "processes and threads, and may have 20"),
        ("threads", 40, {"processes": 20}, "processes and threads, and may have 20"),
        ("memory", 200, {"memory_mb": 300}, "MiB of memory, and may use 300"),
    ],
)
def test_a_bot_over_its_limits_is_ended_with_its_children_and_its_log_says_why(
    tmp_path: Path, kind: str, count: int, limit: dict[str, int], words: str
) -> None:
    bot = _bot(tmp_path, script("glutton", kind, str(count)), limits=limit)
    bot.look_after()
    wait_for(lambda: not bot.pid, "its end")
    assert words in bot.last_words() and "ended by the arena: it " in bot.last_words()
    wait_for(lambda: not alive_with(tmp_path), "everything it started to end")
    bot.look_after()
    assert bot.exit_code == OVER_LIMIT
    bot.end()


@pytest.mark.parametrize(
    ("kind", "count", "limit"),
    [
        ("children", 10, {"processes": 20}),
        ("threads", 10, {"processes": 20}),
        ("memory", 100, {"memory_mb": 300}),
    ],
)
def test_a_bot_within_its_limits_is_not_ended(tmp_path: Path, kind: str, count: int, limit: dict[str, int]) -> None:
    bot = _bot(tmp_path, script("glutton", kind, str(count)), limits=limit)
    bot.look_after()
    wait_for(lambda: f"has its {kind}" in bot.last_words(), "all it wants")
    assert bot.pid
    bot.end()
    assert "ended by the arena" not in bot.last_words()
    assert not alive_with(tmp_path)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("node", ["-e", "console.log('it runs'); setInterval(() => 0, 1000)"]),
        ("java", ["-XX:-UsePerfData", "Main.java"]),
    ],
)
def test_runtimes_that_reserve_more_memory_than_they_use_run_within_limits(
    tmp_path: Path, program: str, arguments: list[str]
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed here")
    (tmp_path / "Main.java").write_text(
        "class Main { public static void main(String[] a) throws Exception {"
        ' System.out.println("it runs"); Thread.sleep(100000); } }'
    )
    command = [program, *(str(tmp_path / word) if word.endswith(".java") else word for word in arguments)]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    bot = _bot(
        scratch,
        command,
        SandboxPolicy.for_bot(scratch, "127.0.0.1:1"),
        {"memory_mb": 512, "processes": 100, "files": 1024},
    )
    bot.look_after()
    wait_for(lambda: "it runs" in bot.last_words() or not bot.pid, "its first words")
    assert bot.pid, bot.last_words()
    bot.end()


def test_the_limits_of_each_process_are_set(tmp_path: Path) -> None:
    code = "import resource as r; print(*(r.getrlimit(k)[0] for k in (r.RLIMIT_CPU, r.RLIMIT_NOFILE, r.RLIMIT_CORE)))"
    bot = _bot(tmp_path, [sys.executable, "-c", code], limits={"cpu_seconds": 77, "files": 99})
    bot.look_after()
    wait_for(lambda: bot.last_words() == "77 99 0", "its limits")
    bot.end()


def test_a_workers_own_files_are_hidden_from_its_bots(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    env = {
        "RUBBLE_BOOK": f"sqlite:///{tmp_path / 'book.sqlite'}",
        "RUBBLE_BROKER": "redis://",
        "RUBBLE_ADDRESS": "127.0.0.1:1",
        "RUBBLE_OPERATOR_TOKEN_FILE": str(token),
        "RUBBLE_HIDDEN": f"{tmp_path / 'state'}{os.pathsep}{tmp_path / 'keys'}",
        "RUBBLE_WORK_DIR": str(tmp_path / "work"),
    }
    private = read_settings(env).private
    names = ("work", "book.sqlite", "book.sqlite-wal", "state", "keys", "token")
    assert {tmp_path / name for name in names} <= set(private)
