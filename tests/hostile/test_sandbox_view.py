"""A bot sees the files that it needs and its own processes, and nothing of other bots."""

import json
import os
import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest

from orchestrator.bot_processes import namespaces
from orchestrator.bot_processes.pool import protections, unconfined
from orchestrator.bot_processes.process import BotProcess
from orchestrator.bot_processes.sandbox import SandboxPolicy
from orchestrator.bot_processes.view import is_inside, view_for
from tests.harness.processes import HOME, Process, alive_with
from tests.harness.waiting import wait_for
from tests.hostile.bots.peeper import HONEST

viewed = pytest.mark.skipif(bool(namespaces.offered()), reason=f"no namespaces: {namespaces.offered()}")


def _bot(folder: Path, scratch: Path, command: list[str], **env: str) -> BotProcess:
    scratch.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(Path.home()), "TMPDIR": str(scratch)} | env
    return BotProcess(
        "bot", command, env, folder, scratch.with_suffix(".log"), {}, SandboxPolicy.for_bot(scratch, "127.0.0.1:1")
    )


@viewed
def test_a_bot_sees_only_what_it_needs(tmp_path: Path) -> None:
    folder, home = tmp_path / "bot", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    shutil.copy(HOME / "tests" / "hostile" / "bots" / "peeper.py", folder)
    for path in (folder / "data", tmp_path / "secret", home / "secret"):
        path.write_text("ours")
    with Process("sleep", "1000") as victim:
        facts = {"victim": victim.pid, "secret": tmp_path / "secret", "home_secret": home / "secret", "folder": folder}
        env = {"FACTS": json.dumps(facts, default=str), "HOME": str(home)}
        bot = _bot(folder, tmp_path / "scratch", [sys.executable, "peeper.py"], **env)
        bot.look_after()
        wait_for(lambda: "worked: " in bot.last_words() or not bot.pid, "the end of its attacks")
        bot.end()
    assert set(json.loads(bot.last_words().removeprefix("worked: "))) == set(HONEST)
    assert not Path("/tmp/rubble-peeper").exists() and not Path("/dev/shm/rubble-peeper").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["data", "peeper.py"]


@viewed
def test_a_bot_in_a_shared_folder_sees_only_the_file_that_its_command_names(tmp_path: Path) -> None:
    """For example a roster in /tmp whose command names a file in /etc."""
    with ExitStack() as made:
        script, others = (Path(made.enter_context(NamedTemporaryFile(dir="/tmp")).name) for _ in range(2))
        others.write_text("of another user")
        script.write_text(
            f"test -r {others.name} && echo other\ntest -r /etc/shadow && echo shadow\ntest -r /etc/fstab && echo named\n"
            f"echo /tmp/*\necho mine > /tmp/notes && echo wrote\ntest -w /dev/null && echo nothing > /dev/null && echo done\n"
            "sleep 99"
        )
        command = ["/bin/sh", script.name, "--table=/etc/fstab", "--log=/dev/null"]
        bot = _bot(Path("/tmp"), tmp_path / "scratch", command)
        bot.look_after()
        wait_for(lambda: bot.last_words().endswith("done") or not bot.pid, "the end of its attempts")
        bot.end()
    tmp = Path("/tmp")
    own = {tmp / path.relative_to(tmp).parts[0] for path in (script, tmp_path, HOME) if path.is_relative_to(tmp)}
    assert bot.last_words().splitlines() == ["named", " ".join(sorted(map(str, own))), "wrote", "done"]


@viewed
def test_all_processes_of_a_bot_end_with_their_supervisor(tmp_path: Path) -> None:
    """Even if it is killed, and they have left its process group."""
    code = "setsid sleep 1000 & setsid setsid sleep 1000 & echo started; wait"
    bot = _bot(tmp_path, tmp_path / "scratch", ["/bin/sh", "-c", code])
    bot.look_after()
    wait_for(lambda: "started" in bot.last_words(), "its start")
    wait_for(lambda: len(alive_with(tmp_path / "scratch")) >= 3, "all its processes")
    os.kill(bot.pid, signal.SIGKILL)
    wait_for(lambda: not alive_with(tmp_path / "scratch"), "all its processes to be gone")
    bot.end()


@viewed
def test_a_bot_gets_sigterm_before_it_is_killed(tmp_path: Path) -> None:
    bot = _bot(
        tmp_path, tmp_path / "scratch", ["/bin/sh", "-c", "trap 'echo goodbye; exit 3' TERM; echo up; sleep 99 & wait"]
    )
    bot.look_after()
    wait_for(lambda: bot.last_words() == "up", "its start")
    bot.end()
    assert bot.last_words() == "up\ngoodbye"


@viewed
def test_hidden_files_in_the_bots_own_folder_are_not_visible(tmp_path: Path) -> None:
    """For example in a tournament started in a bot's folder. The scratch folder is inside a hidden folder."""
    arena, book, scratch = tmp_path / "arena", tmp_path / "book.sqlite", tmp_path / "arena" / "bots" / "scratch"
    scratch.mkdir(parents=True)
    for path in (arena / "token", book, tmp_path / "data"):
        path.write_text(f"contents of {path.name}\n")
    policy = SandboxPolicy.for_bot(scratch, "127.0.0.1:1", [arena, book])
    code = "cat arena/token book.sqlite arena/bots/other data; echo notes > arena/bots/scratch/notes; ls -R arena; sleep 99"
    bot = BotProcess("bot", ["/bin/sh", "-c", code], {"PATH": "/usr/bin:/bin"}, tmp_path, tmp_path / "log", {}, policy)
    bot.look_after()
    wait_for(lambda: bot.last_words().endswith("notes") or not bot.pid, "the end of its attempts")
    bot.end()
    words = bot.last_words()
    assert "contents of data" in words and "contents of token" not in words and "contents of book" not in words
    assert "\ntoken" not in words and not list(scratch.iterdir())


@viewed
def test_hidden_files_stay_hidden_when_they_are_created_or_replaced_later(tmp_path: Path) -> None:
    """Landlock does not help here: it does not restrict /tmp."""
    token, book, scratch = tmp_path / "bot" / "keys" / "token", tmp_path / "bot" / "book.sqlite", tmp_path / "scratch"
    token.parent.mkdir(parents=True)
    scratch.mkdir()
    for path in (token, token.with_name("public"), tmp_path / "bot" / "data"):
        path.write_text(f"contents of {path.name}\n")
    (tmp_path / "bot" / "link").symlink_to("data")
    policy = SandboxPolicy.for_bot(scratch, "127.0.0.1:1", [token, book])
    code = (
        "trap 'cat keys/token book.sqlite; cat keys/public link; echo x > new; exit 3' TERM; echo up; sleep 99 & wait"
    )
    command, log = ["/bin/sh", "-c", code], tmp_path / "log"
    bot = BotProcess("bot", command, {"PATH": "/usr/bin:/bin"}, tmp_path / "bot", log, {}, policy)
    bot.look_after()
    wait_for(lambda: bot.last_words() == "up", "its start")
    book.write_text("contents of book\n")
    token.with_name("fresh").write_text("contents of token\n")
    token.with_name("fresh").replace(token)
    bot.end()
    words = bot.last_words()
    assert "contents of token" not in words and "contents of book" not in words
    assert "contents of public\ncontents of data\n" in words and "Read-only file system" in words


def test_without_namespaces_a_warning_says_what_bots_can_see(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "offered", lambda: "forbidden here")
    (words,) = [words for words in unconfined({}, "127.0.0.1:1") if "be seen" in words]
    assert words.endswith("can be read, and processes be seen: no namespaces (forbidden here)")
    assert "(namespaces)" not in protections({}, "127.0.0.1:1")


# ------------------------------------------------------------------------------------------------------ what is shown
def _shown(home: Path, path: Path, *command: str, cwd: Path, **env: str) -> bool:
    """Whether a path is visible to a bot of a user with this home."""
    view = view_for(command, {"HOME": str(home), "PATH": "/usr/bin"} | env, str(cwd))
    return any(is_inside(str(path.resolve()), shown) for shown in view.shown)


def test_what_a_command_names_is_visible_but_never_a_home(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "me", tmp_path / "data"
    files = [
        home / name
        for name in (".ssh/key", "bot.py", "notes", "bots/one/bot.py", "bots/one/net.bin", "bots/two/bot.py")
    ]
    tools = [home / name for name in (".cargo/bin/tool", ".cargo/credentials", ".nvm/v20/bin/node", ".nvm/v20/lib/npm")]
    for path in (*files, *tools, elsewhere / "model", elsewhere / "other" / "model"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    key, script, notes, bot, net, other = files
    tool, credentials, node, npm = tools
    one = bot.parent

    assert _shown(home, bot, "python3", "bot.py", cwd=one) and _shown(home, net, "python3", "bot.py", cwd=one)
    assert not any(_shown(home, path, "python3", "bot.py", cwd=one) for path in (key, notes, other))
    assert _shown(home, script, "python3", "bot.py", cwd=home), "a file in the home, without its neighbours"
    assert not any(_shown(home, path, "python3", "bot.py", cwd=home) for path in (key, notes, bot))
    assert not _shown(home, key, "python3", str(home), cwd=one, EXTRA=str(home))

    assert _shown(home, tool, str(tool), cwd=one) and not _shown(home, credentials, str(tool), cwd=one)
    assert _shown(home, npm, "node", cwd=one, PATH=str(node.parent))
    assert _shown(home, elsewhere / "model", "x", f"--model={elsewhere / 'model'}", cwd=one)
    assert _shown(home, elsewhere / "model", "x", cwd=one, MODEL=str(elsewhere / "model"))
    assert not _shown(home, elsewhere / "other" / "model", "x", cwd=one, MODEL=str(elsewhere / "model"))


@pytest.mark.parametrize(
    "folder", ["/", "/home", "/home/other", "/tmp", "/var", "/var/tmp", "/etc", "/etc/ssl", "/run", "/dev", "/proc"]
)
def test_a_system_folder_is_not_visible_as_the_bots_folder(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setattr("os.path.isdir", lambda path: str(path) == folder)
    monkeypatch.setattr("os.path.exists", lambda path: True)
    monkeypatch.setattr("os.path.lexists", lambda path: True)
    home, secret = Path("/data/home"), Path(folder, "secret")
    assert not _shown(home, secret, "x", cwd=Path(folder))
    assert not _shown(home, secret, "x", folder, str(Path(folder, "beside")), cwd=home, FOLDER=folder)
    assert _shown(home, secret, "x", str(secret), cwd=home) == (folder not in ("/dev", "/proc"))


def test_links_have_the_same_target_inside_the_sandbox(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "bot", tmp_path / "link"
    real.mkdir(parents=True)
    link.symlink_to("real")
    view = view_for(["./run"], {}, str(link / "bot"))
    assert view.links[str(link)] == "real" and str(real) in view.shown


def test_the_start_of_a_run_says_what_protects_the_machine() -> None:
    words = protections({"memory_mb": 77}, "127.0.0.1:1906")
    assert "77 MiB of memory and 256 processes and threads (" in words and "512 MiB of files, " in words
    assert ("(namespaces)" in words) == (not namespaces.offered())
    assert protections({"unconfined": "asks a model on the same machine"}, "127.0.0.1:1906") == ""


def test_a_roster_can_make_more_paths_readable(tmp_path: Path) -> None:
    model = tmp_path / "models" / "model"
    assert not _shown(tmp_path, model, "x", cwd=tmp_path)
    model.parent.mkdir()
    model.write_text("")
    assert str(model.parent) in view_for(["x"], {}, "/", [str(model.parent)]).shown
