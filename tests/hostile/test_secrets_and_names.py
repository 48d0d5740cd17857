"""Names that would like to be paths, and secrets that somebody else would like to read."""

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import grpc
import pytest

from cli.app import run as rubble
from cli.keys import read_key, write_key
from cli.roster import read_text
from orchestrator.client import ArenaClient
from orchestrator.entrants import file_name
from orchestrator.roster import BadRoster
from orchestrator.stable.stable import Entry, Stable
from rubble.v1 import tournament_pb2
from service.embedded import EmbeddedRedis
from tests.orchestrator.harness import Arena, alive_with, roster_text, script, start_roster, wait_for

#: What is no file of its own in a folder, or looks like another one, or is too long for a file system.
_ODD_NAMES: Final = (
    "", ".", "..", "...", "/", "a/b", "../a", "/etc/passwd", "a\0b", "a\nb", "~", "-rf", ".env", "a#2", "a.copy2", "a%232",
    "%2E", "%", "a" * 300, "a" * 299 + "b", "é", "\udcff", "a b", "$(id)", "a\\b", "con",
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------- names
@pytest.mark.parametrize("name", [".", "..", "a/b", "../a", ".hidden", "-rf", "_a", "", "a b", "a" * 41, "a#2", "a\n"])
def test_a_roster_has_no_names_that_could_be_paths_or_options(name: str) -> None:
    text = roster_text({"good": "random", name: "random"}, game="relief", players=2, deals=1)
    with pytest.raises(BadRoster) as refused:
        read_text(text)
    assert f"bots[1].name = {name!r}"[:50] in str(refused.value)
    assert "a letter or digit, then up to 39 of [A-Za-z0-9._-]" in str(refused.value)


@pytest.mark.parametrize(
    ("first", "second"), [("a", "A"), ("Mine", "mINE"), ("a", "a.1"), ("a.0", "A"), ("b", "b.copy2")]
)
def test_two_names_that_could_be_taken_for_each_other_are_refused(first: str, second: str) -> None:
    """A bot's name in the arena is its name here with more words behind a dot; file systems may not tell a from A."""
    with pytest.raises(BadRoster) as refused:
        read_text(roster_text({first: "random", second: "random"}, game="relief", players=2, deals=1))
    assert f"bots[1].name = {second!r}; expected " in str(refused.value)


def test_names_that_only_begin_alike_are_good() -> None:
    read_text(roster_text({"a": "random", "a1": "random", "a-b.1": "random"}, game="relief", players=2, deals=1))


def test_every_name_is_one_file_of_its_own(tmp_path: Path) -> None:
    names = [file_name(name) for name in _ODD_NAMES]
    assert len({name.lower() for name in names}) == len(_ODD_NAMES)
    for name in names:
        (tmp_path / f"{name}.copy").write_text(name)
        (tmp_path / name).write_text(name)
    assert sum(1 for _ in tmp_path.rglob("*")) == 2 * len(names)


@pytest.fixture(scope="module")
def bare_arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with Arena(tmp_path_factory.mktemp("arena"), workers=0) as opened:
        yield opened


def test_an_entrant_called_dot_stays_out_of_its_neighbours_files(bare_arena: Arena, tmp_path: Path) -> None:
    """A book of an earlier version may hold such names, whatever rosters say today."""
    write = "import os, pathlib; pathlib.Path(os.environ['TMPDIR'], 'mine').write_text('x'); print('wrote')"
    names = [".", "..", "a", "A", "a#2"]
    entries = [Entry(name, command=(sys.executable, "-c", write)) for name in names]
    folder = tmp_path / "work" / "cup" / "slot-0"
    with ArenaClient(bare_arena.settings.door) as client:
        stable = Stable(client, "cup", 0, entries, folder, {})
        try:
            stable.bring(names)
            wait_for(lambda: len(list(tmp_path.rglob("mine"))) == len(names), "a file of each of them")
        finally:
            stable.close()
    assert {path.parent.parent for path in tmp_path.rglob("mine")} == {folder}


def test_a_key_is_written_into_its_folder_whatever_the_server_calls_the_entrant(tmp_path: Path) -> None:
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
    """An API that names the second file of its export as it likes; its address."""

    def export(request: bytes, context: grpc.ServicerContext) -> Iterator[tournament_pb2.ExportTournamentResponse]:
        yield tournament_pb2.ExportTournamentResponse(path="roster.toml", data=b"good")
        yield tournament_pb2.ExportTournamentResponse(path=path, data=b"bad")

    serialize = tournament_pb2.ExportTournamentResponse.SerializeToString
    method = grpc.unary_stream_rpc_method_handler(export, response_serializer=serialize)
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
def test_an_export_writes_inside_its_folder_only(
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
    """What another user of this machine could read beneath a folder, had he come so far."""
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


def test_what_the_embedded_redis_writes_is_its_owners_alone() -> None:
    with tempfile.TemporaryDirectory() as folder, _usual_umask():  # pytest's own folders let nobody pass
        Path(folder).chmod(0o755)
        with EmbeddedRedis(Path(folder) / "state") as embedded:
            assert not _readable_by_others(embedded.folder)
            files = [str(path) for path in embedded.folder.rglob("*") if path.is_file()]
            assert any(file.endswith(".aof") for file in files)
            if os.geteuid() == 0:
                seen = _as_nobody("cat", *files)
                assert not seen.stdout and seen.stderr.count("Permission denied") == len(files)


def test_a_redis_folder_of_an_earlier_version_is_closed_to_others(tmp_path: Path) -> None:
    with _usual_umask():
        (tmp_path / "state" / "redis").mkdir(parents=True)
        with EmbeddedRedis(tmp_path / "state") as embedded:
            assert stat.S_IMODE(embedded.folder.stat().st_mode) == 0o700


def test_a_run_shows_other_users_nothing_and_its_command_lines_no_secret(tmp_path: Path) -> None:
    """Seeds, keys and tokens go by the environment: every user of a machine can read the command lines on it."""
    from orchestrator.book import Book

    bots = {"random": "random", "greedy": "greedy", "slow": script("steady", "slow")}
    roster = roster_text(bots, name="cup", game="relief", players=3, deals=2, seed=7)
    with _usual_umask():
        run = start_roster(tmp_path, roster, "--quiet")
    lines: set[str] = set()
    while run.process.poll() is None:
        lines.update(alive_with(tmp_path).values())
    code, said, complained = run.end()
    assert code == 0, said + complained
    assert any("bots.house" in line for line in lines)
    book = Book(f"sqlite:///{run.folder / 'book.sqlite'}")
    secrets = [bot["seed"] for bot in book.tournaments()[0].spec["bots"]]
    book.close()
    secrets += [(run.folder / "arena" / "service" / name).read_text().strip() for name in ("operator_token", "secrets")]
    assert all(secrets) and not any(secret in line for secret in [*secrets, "rb1."] for line in lines)
    assert not _readable_by_others(run.folder)
