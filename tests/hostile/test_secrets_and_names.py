"""Names that could be used as paths, and secrets that bots or other users could read."""

import contextlib
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import grpc
import pytest

from cli.app import run as rubble
from cli.keys import read_key, write_key
from cli.roster import read_text
from orchestrator.book import Book
from orchestrator.bot_processes.pool import BotPool
from orchestrator.bot_processes.sandbox import SandboxPolicy, missing
from orchestrator.client import ArenaClient, ServiceAccess
from orchestrator.entrants import file_name
from orchestrator.private import private_paths
from orchestrator.roster import BadRoster
from orchestrator.settings import Settings, read_settings
from orchestrator.spec import Entry
from rubble.v1 import tournament_pb2
from service.embedded import EmbeddedRedis
from tests.certificates import OPENSSL, Authority
from tests.harness.processes import HOME, alive_with, logs
from tests.harness.tournaments import Host, TournamentArena, roster_text, script, start_roster
from tests.harness.waiting import wait_for

_GAPS: Final = missing(SandboxPolicy.for_bot(Path.cwd(), "127.0.0.1:1"))
#: Names that are not one file in a folder, look like another name, or are too long for a file system.
_ODD_NAMES: Final = (
    "", ".", "..", "...", "/", "a/b", "../a", "/etc/passwd", "a\0b", "a\nb", "~", "-rf", ".env", "a#2", "a.copy2", "a%232",
    "%2E", "%", "a" * 300, "a" * 299 + "b", "é", "\udcff", "a b", "$(id)", "a\\b", "con",
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- names
@pytest.mark.parametrize("name", [".", "..", "a/b", "../a", ".hidden", "-rf", "_a", "", "a b", "a" * 41, "a#2", "a\n"])
def test_a_roster_refuses_names_that_could_be_paths_or_options(name: str) -> None:
    text = roster_text({"good": "random", name: "random"}, game="relief", players=2, deals=1)
    with pytest.raises(BadRoster) as refused:
        read_text(text)
    assert f"bots[1].name = {name!r}"[:50] in str(refused.value)
    assert "a letter or digit, then up to 39 of [A-Za-z0-9._-]" in str(refused.value)


@pytest.mark.parametrize(
    ("first", "second"), [("a", "A"), ("Mine", "mINE"), ("a", "a.1"), ("a.0", "A"), ("b", "b.copy2")]
)
def test_two_names_that_could_be_confused_are_refused(first: str, second: str) -> None:
    """In the arena a bot's name gets a suffix after a dot; some file systems do not distinguish a from A."""
    with pytest.raises(BadRoster) as refused:
        read_text(roster_text({first: "random", second: "random"}, game="relief", players=2, deals=1))
    assert f"bots[1].name = {second!r}; expected " in str(refused.value)


def test_names_that_only_share_a_prefix_are_accepted() -> None:
    read_text(roster_text({"a": "random", "a1": "random", "a-b.1": "random"}, game="relief", players=2, deals=1))


def test_every_name_becomes_one_file_of_its_own(tmp_path: Path) -> None:
    names = [file_name(name) for name in _ODD_NAMES]
    assert len({name.lower() for name in names}) == len(_ODD_NAMES)
    for name in names:
        (tmp_path / f"{name}.copy").write_text(name)
        (tmp_path / name).write_text(name)
    assert sum(1 for _ in tmp_path.rglob("*")) == 2 * len(names)


@pytest.fixture(scope="module")
def bare_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TournamentArena]:
    with TournamentArena(tmp_path_factory.mktemp("arena"), workers=0) as opened:
        yield opened


def _said(folder: Path) -> list[str]:
    """Return the output of the bots of a folder."""
    return [log.read_text() for log in folder.rglob("output.log")]


def test_an_entrant_called_dot_cannot_write_into_the_folders_of_others(
    bare_arena: TournamentArena, tmp_path: Path
) -> None:
    """A book of an earlier version may have such names, although rosters refuse them now."""
    write = (
        "import os, pathlib; pathlib.Path(os.environ['TMPDIR'], 'mine').write_text('x'); print(os.environ['TMPDIR'])"
    )
    names = [".", "..", "a", "A", "a#2"]
    entries = [Entry(name, command=(sys.executable, "-c", write)) for name in names]
    folder = tmp_path / "work" / "cup" / "slot-0"
    with ArenaClient(bare_arena.settings.access) as client:
        bot_pool = BotPool(client, "cup", 0, entries, folder, {})
        try:
            bot_pool.start(names)
            wait_for(lambda: len(list(filter(None, _said(tmp_path)))) == len(names), "output of each bot")
        finally:
            bot_pool.close()
    scratches = [Path(said.split()[0]) for said in _said(tmp_path)]
    assert {path.parent.parent for path in scratches} == {folder}
    assert len({path.parent for path in scratches}) == len(names)


def test_a_key_is_written_inside_its_folder_for_any_name_from_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    for name in _ODD_NAMES:
        assert write_key(folder, name, "127.0.0.1:1", f"key-{_ODD_NAMES.index(name)}").parent == folder
    assert [read_key(folder, name) for name in _ODD_NAMES] == [f"key-{at}" for at in range(len(_ODD_NAMES))]
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]
    assert write_key(folder, "mine", "127.0.0.1:1", "a").name == "mine.env"
    with pytest.raises(ValueError, match="key"):
        write_key(folder, "mine", "127.0.0.1:1", "a\nPATH=/tmp")


@contextlib.contextmanager
def _hostile_api(path: str) -> Iterator[str]:
    """Run an API whose export has a second file with this name; yields its address."""

    def export(request: bytes, context: grpc.ServicerContext) -> Iterator[tournament_pb2.ExportTournamentResponse]:
        yield tournament_pb2.ExportTournamentResponse(path="roster.toml", data=b"good")
        yield tournament_pb2.ExportTournamentResponse(path=path, data=b"bad")

    serialize = tournament_pb2.ExportTournamentResponse.SerializeToString
    method: Any = grpc.unary_stream_rpc_method_handler(export, response_serializer=serialize)
    server = grpc.server(ThreadPoolExecutor(2))
    service = tournament_pb2.DESCRIPTOR.services_by_name["TournamentService"].full_name
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"ExportTournament": method}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None)


@pytest.mark.parametrize(
    "path",
    ["../bad", "/tmp/bad", "replays/../../bad", ".bashrc", "replays/.x", ".", "a\0b", "a//b", "a/b/c/d", "x" * 300, "-x",
     "replays", "roster.toml/bad", "\x1b[2J", "ä"],
)  # fmt: skip
def test_an_export_writes_only_inside_its_folder(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", "a" * 32)
    (tmp_path / "out" / "replays").mkdir(parents=True)
    with _hostile_api(path) as api:
        code = rubble(["tournament", "export", "cup", "--api", api, "--out", str(tmp_path / "out")])
    complaint = capsys.readouterr().err
    assert code in (1, 2) and "bug" not in complaint and len(complaint.splitlines()) == 1, complaint
    assert "\x1b" not in complaint and "\0" not in complaint
    found = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*")}
    assert found == {"out", "out/roster.toml", "out/replays"}


# -------------------------------------------------------------------------------------------------- what others can see
def _readable_by_others(folder: Path) -> list[str]:
    """Return what the modes under a folder let other users read."""
    modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in [folder, *folder.rglob("*")] if not path.is_symlink()}
    return [f"{path} {mode:04o}" for path, mode in modes.items() if mode & 0o077]


def _as_nobody(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command, user=65534, group=65534, extra_groups=[], capture_output=True, text=True, check=False
    )


@contextlib.contextmanager
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def test_only_the_owner_can_read_what_the_embedded_redis_writes() -> None:
    with tempfile.TemporaryDirectory() as folder, _usual_umask():  # pytest's own folders are closed to other users
        Path(folder).chmod(0o755)
        with EmbeddedRedis(Path(folder) / "state") as embedded:
            assert not _readable_by_others(embedded.folder)
            files = [str(path) for path in embedded.folder.rglob("*") if path.is_file()]
            assert any(file.endswith(".aof") for file in files)
            if os.geteuid() == 0:
                seen = _as_nobody("cat", *files)
                assert not seen.stdout and seen.stderr.count("Permission denied") == len(files)


def test_a_redis_folder_of_an_earlier_version_is_closed_to_other_users(tmp_path: Path) -> None:
    with _usual_umask():
        (tmp_path / "state" / "redis").mkdir(parents=True)
        with EmbeddedRedis(tmp_path / "state") as embedded:
            assert stat.S_IMODE(embedded.folder.stat().st_mode) == 0o700


@pytest.mark.slow
def test_a_run_has_no_readable_files_and_no_secrets_on_command_lines(tmp_path: Path) -> None:
    """Seeds, keys and tokens are passed by environment, because every user of a machine can read its command lines."""
    from orchestrator.book import Book

    bots = {"random": "random", "greedy": "greedy", "slow": script("steady", "slow")}
    roster = roster_text(bots, name="cup", game="relief", players=3, deals=2, seed=7)
    with _usual_umask():
        run = start_roster(tmp_path, roster, "--quiet")
    lines: set[str] = set()
    tokens: set[str] = set()
    while run.process.poll() is None:
        found = alive_with(tmp_path)
        lines.update(found.values())
        for pid in found:
            with contextlib.suppress(OSError):  # it has just ended
                reply = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
                tokens.update(re.findall(r"\0RUBBLE_OPERATOR_TOKEN=([^\0]+)", reply))
    code, said, complained = run.end()
    assert code == 0, said + complained
    assert any("bots.bundled" in line for line in lines)
    assert len(tokens) == 1, "service and worker have the operator's token from the environment"
    book = Book(f"sqlite:///{run.folder / 'book.sqlite'}")
    secrets = [bot.seed for bot in book.tournaments()[0].spec.bots]
    book.close()
    secrets += [*tokens, (run.folder / "arena" / "service" / "secrets").read_text().strip()]
    assert all(secrets) and not any(secret in line for secret in [*secrets, "rb1."] for line in lines)
    assert not _readable_by_others(run.folder)


def test_only_the_owner_can_read_an_export(tmp_path: Path) -> None:
    """Its roster has commands and environments. Files left by an interrupted export do not keep their modes."""
    book, out = f"sqlite:///{tmp_path / 'book.sqlite'}", tmp_path / "new" / "out"
    roster = roster_text({"one": "random", "other": "greedy"}, name="cup", game="relief", players=2, deals=1)
    (tmp_path / "roster.toml").write_text(roster)
    assert rubble(["tournament", "create", str(tmp_path / "roster.toml"), "--book", book]) == 0
    for _ in range(2):
        with _usual_umask():
            assert rubble(["tournament", "export", "cup", "--out", str(out), "--book", book]) == 0
            assert not _readable_by_others(out)
            (out / ".roster.toml.part").touch()


# ----------------------------------------------------------------------------------------------- what bots must not read
#: Variables whose value is not a path, or is a path that bots may read.
_NOT_PRIVATE: Final = {
    # addresses, numbers, words
    "ADDRESS", "API", "API_LISTEN", "BOT_ADDRESS", "BOT_NAME", "CHECK", "CONCURRENCY", "DEBUG", "LISTEN", "LOG_FORMAT",
    "LOG_LEVEL", "MAX_MESSAGE_BYTES", "METRICS", "PRICE", "PROCESSES", "PURE", "REFUSALS_PER_SECOND", "REQUEST_BYTES",
    "LIVE_SESSIONS", "REQUEST_BYTES_PER_CALLER", "SESSIONS_PER_CALLER", "SIMULATION_MS_PER_SECOND", "STREAMS_PER_BOT",
    "TEST_POSTGRES", "TEST_RABBITMQ", "THERE", "WATCHERS_PER_CALLER", "WATCHERS_PER_SESSION", "WINDOW",
    # secrets that are not paths: a bot's environment has only its own key and seed
    "BOT_KEY", "BOT_SEED", "OPERATOR_TOKEN", "OWNER_KEY", "SECRETS",
    # a switch
    "LADDERS",
    # certificates, and the Python that runs everything
    "CA", "TLS_CERT", "TLS_CLIENT_CA", "PYTHON",
}  # fmt: skip
_ROOTS: Final = ("service", "orchestrator", "cli", "bots/bundled", "bots/python", "deploy", "tools")
#: Files in the state folder of an embedded arena that bots may read; any other new file fails the test.
_PUBLIC_STATE: Final = {"arena.json", "arena.lock"}


def _variables() -> set[str]:
    """Return every RUBBLE_ variable that occurs in the source."""
    text = "\n".join(file.read_text() for root in _ROOTS for file in (HOME / root).rglob("*.py"))
    return set(re.findall(r"\bRUBBLE_([A-Z]+(?:_[A-Z]+)*)\b", text))


def test_every_setting_that_names_a_private_path_is_hidden_from_bots(tmp_path: Path) -> None:
    """A new variable fails this test until it is hidden, or listed above as not private."""
    named = _variables()
    assert {"SECRETS_FILE", "REDIS_FILE", "OPERATOR_TOKEN_FILE", "TLS_KEY", "STATE_DIR", "BOOK", "HIDDEN"} <= named
    for name in sorted(named - _NOT_PRIVATE):
        path = tmp_path / name
        value = f"unix://{path}" if name in ("BOOK", "BROKER", "REDIS") else str(path)
        private = private_paths({f"RUBBLE_{name}": value})
        assert any(path in (hidden, hidden.parent) for hidden in private), f"RUBBLE_{name} is not hidden from bots"


def test_every_flag_that_names_a_secret_file_has_a_variable() -> None:
    """Otherwise private_paths would miss it: --tls-key is RUBBLE_TLS_KEY, --owner-key is RUBBLE_OWNER_KEY_FILE."""
    text = "\n".join(file.read_text() for file in (HOME / "cli").glob("*.py"))
    flags = set(re.findall(r'"--([a-z-]*(?:key|secret|token|password|file)[a-z-]*)"', text))
    assert flags == {"key", "keys", "owner-key", "tls-key"}  # --key is a text, --keys is an output folder


@pytest.mark.parametrize(
    ("variable", "address", "files"),
    [
        ("BOOK", "sqlite:////srv/b.sqlite", ["/srv/b.sqlite", "/srv/b.sqlite-wal", "/srv/b.sqlite-journal"]),
        ("BOOK", "postgresql+psycopg://u@h/n?sslkey=/srv/k&passfile=/srv/p", ["/srv/k", "/srv/p", "~/.pgpass"]),
        ("REDIS", "rediss://h:1/0?ssl_keyfile=/srv/k", ["/srv/k"]),
        ("REDIS", "unix:///srv/redis.sock", ["/srv/redis.sock"]),
        ("BROKER", "redis+socket:///srv/redis.sock?virtual_host=1", ["/srv/redis.sock"]),
    ],
)
def test_files_named_in_an_address_are_private_too(
    variable: str, address: str, files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "url").write_text(f"{address}\n")
    for env in ({f"RUBBLE_{variable}": address}, {f"RUBBLE_{variable}_FILE": str(tmp_path / "url")}):
        assert {Path(file).expanduser() for file in files} <= set(private_paths(env))


def test_a_relative_private_path_is_resolved_in_the_working_directory() -> None:
    address = "postgresql+psycopg://u@h/n?sslkey=client.key&passfile=pw&sslpassword=hush&service=prod"
    hidden = set(private_paths({"RUBBLE_BOOK": address}))
    assert {Path.cwd() / "client.key", Path.cwd() / "pw"} <= hidden
    assert not {Path.cwd() / "hush", Path.cwd() / "prod"} & hidden, "a password and a service name are not paths"
    settings = Settings(address, "redis://h?ssl_keyfile=k", ServiceAccess("127.0.0.1:1", "t"), Path("work"), 1, 1)
    assert {Path.cwd() / name for name in ("client.key", "k", "work")} <= set(settings.private)


@pytest.mark.parametrize("name", ["12:30", '["', "a\\:b", "\udce4"])
def test_a_private_path_with_any_name_reaches_other_processes(name: str, tmp_path: Path) -> None:
    settings = Settings(
        "sqlite://", "redis://", ServiceAccess("127.0.0.1:1", "t"), tmp_path, 1, 1, hidden=(tmp_path / name,)
    )
    assert tmp_path / name in read_settings(settings.to_env()).hidden


@pytest.mark.parametrize("value", ['["/srv', "[1]", '[["/srv"]]'])
def test_an_invalid_list_of_private_paths_prevents_the_start(
    value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUBBLE_HIDDEN", value)
    for command in (["run", "--out", str(tmp_path / "out")], ["up", "--state-dir", str(tmp_path / "up")]):
        assert rubble(command) == 2
        assert "RUBBLE_HIDDEN=" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--redis", "--broker", "--book"])
def test_a_password_on_a_command_line_is_refused(flag: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for url in ("redis://:hush@127.0.0.1:1/0", "redis://127.0.0.1:1/0?password=hush"):
        assert rubble(["up", flag, url, "--state-dir", str(tmp_path)]) == 2
        said = capsys.readouterr().err
        assert "expected no password" in said and f"RUBBLE_{flag[2:].upper()}_FILE" in said and "hush" not in said
    assert rubble(["tournament", "list", "--book", "postgresql+psycopg://u:hush@127.0.0.1:1/n"]) == 2
    said = capsys.readouterr().err
    assert "expected no password" in said and "RUBBLE_BOOK_FILE" in said and "hush" not in said
    assert rubble(["serve", "--redis", "redis://:hush@127.0.0.1:1/0", "--state-dir", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "without a password" in said and "RUBBLE_REDIS_FILE" in said and "hush" not in said
    assert rubble(["up", flag, "redis://[", "--state-dir", str(tmp_path)]) == 2
    assert f"{flag}=" in capsys.readouterr().err


def test_the_address_of_the_book_may_come_from_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/book.sqlite"
    Book(url).close()
    (tmp_path / "url").write_text(f"{url}\n")
    monkeypatch.setenv("RUBBLE_BOOK_FILE", str(tmp_path / "url"))
    assert rubble(["tournament", "list"]) == 0
    assert "no tournaments" in capsys.readouterr().out
    monkeypatch.setenv("RUBBLE_BOOK_FILE", str(tmp_path / "gone"))
    assert rubble(["tournament", "list"]) == 2
    assert "RUBBLE_BOOK_FILE=" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(bool(_GAPS), reason="; ".join(_GAPS))
@pytest.mark.skipif(OPENSSL is None, reason="openssl, which makes the certificates, is not installed")
def test_a_bot_of_rubble_up_cannot_read_secrets_from_files_or_flags(tmp_path: Path) -> None:
    """Token, secrets and the address of Redis come from files named by variables, the TLS key from a flag."""
    private = tmp_path / "private"
    private.mkdir()
    token, secret = "operator-" + "t" * 32, "signing-" + "s" * 32
    with EmbeddedRedis(tmp_path / "r") as redis:
        given = {"OPERATOR_TOKEN": token, "SECRETS": secret, "REDIS": redis.url}
        for name, value in given.items():
            (private / name).write_text(value)
        env = {f"RUBBLE_{name}_FILE": str(private / name) for name in given}
        authority = Authority(tmp_path, "ours")
        cert, key = authority.certify("arena")
        tls = ("--tls-cert", str(cert), "--tls-key", str(key), "--ca", str(authority.cert))
        opened = Host(tmp_path, *tls, env=env)
        try:
            opened.wait_until_up()
            targets = [private, key, opened.state, redis.socket]
            bots = {"snoop": [sys.executable, str(Path(__file__).parent / "snoop.py"), *map(str, targets)]}
            roster = roster_text({**bots, "random": "random"}, name="cup", game="relief", players=2, deals=1, seed=1)
            (tmp_path / "roster.toml").write_text(roster)
            opened.rubble("tournament", "create", str(tmp_path / "roster.toml"), env=env)

            def words() -> str:
                found = [log.read_text() for log in opened.state.rglob("snoop/output.log")]
                return found[0] if found else ""

            wait_for(lambda: "\n" in words(), lambda: f"the output of the bot; {logs(tmp_path)}")
            seen = json.loads(words().splitlines()[0])
            unlisted = {path.name for path in opened.state.iterdir()} - _PUBLIC_STATE
        finally:
            opened.stop()
    assert not [file for file in seen["files"] if Path(file).name not in _PUBLIC_STATE]
    assert seen["environments"] == [] and seen["sockets"] == []
    assert not [name for name, value in seen["own"].items() if token in value or secret in value or "redis" in value]
    assert unlisted <= {path.name for path in private_paths({"RUBBLE_STATE_DIR": str(opened.state)})}
