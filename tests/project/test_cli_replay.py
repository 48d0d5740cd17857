"""``rubble replay``, as a person or a script uses it."""

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from cli.app import run
from service.games import all_games
from service.sessions.entries import ACTIONS, Acted
from service.sessions.replay import chain, read_replay, write_replay
from tests.sessions.scripted_sessions import ScriptedSession

ROOT = Path(__file__).parents[2]
RUBBLE = [sys.executable, "-m", "cli.main", "replay"]
QUIET = os.environ | {"RUBBLE_PURE": "1"}


def save(path: Path, table: ScriptedSession) -> str:
    """Write the session's replay into a file and return its name."""
    path.write_bytes(write_replay(table.session, table.entries).encode())
    return str(path)


@pytest.fixture
def good(tmp_path: Path) -> str:
    table = ScriptedSession("relief", 3, bots=("ada", "bob", ""))
    table.seat_all()
    table.answer(note="a \x1b[2J note\nof two lines")
    table.play(30)
    table.resign(2)
    return save(tmp_path / "good.jsonl", table.finish())


@pytest.fixture
def bad(tmp_path: Path, good: str) -> str:
    lines = Path(good).read_text().split("\n")
    lines[9] = lines[9].replace('"turn":', '"turn":1')
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    return str(tmp_path / "bad.jsonl")


@pytest.fixture
def held(tmp_path: Path) -> str:
    return save(tmp_path / "held.jsonl", ScriptedSession("sf1906-2e", 2, hold_seeds=True).finish())


@pytest.fixture
def running(tmp_path: Path) -> str:
    table = ScriptedSession("sf1906-2e", 2)
    table.play(9)
    return save(tmp_path / "running.jsonl", table)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(["replay", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


# ---------------------------------------------------------------------------------------------------------------- verify
def test_good_replays_end_with_0(capsys: pytest.CaptureFixture[str], good: str) -> None:
    code, out, err = asked(capsys, "verify", good)

    assert (code, err) == (0, "")
    assert out.startswith(f"{good}: good: relief · session relief-1 · ")
    assert "actions replayed" in out


def test_a_replay_without_its_seeds_proves_nothing_by_itself(capsys: pytest.CaptureFixture[str], held: str) -> None:
    """Anybody could have changed the game, computed a new chain and left the seeds out."""
    last = read_replay(Path(held).read_text()).hashes[-1]

    code, out, _ = asked(capsys, "verify", held)
    assert code == 1
    assert f"{held}: NOT PROVEN: " in out
    assert "seeds held back: game not replayed" in out
    assert "--partial accepts it" in out
    assert [each["proven"] for each in json.loads(asked(capsys, "verify", "--json", held)[1])] == [False]
    assert asked(capsys, "verify", "--partial", held)[0] == asked(capsys, "verify", "--hash", last, held)[0] == 0


def test_a_good_replay_whose_seeds_were_cut_off_is_not_proven(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, good: str
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_text("".join(Path(good).read_text().splitlines(keepends=True)[:-1]))
    assert asked(capsys, "verify", str(cut))[0] == 1


def test_a_bad_one_ends_with_1_and_names_file_line_and_reason(
    capsys: pytest.CaptureFixture[str], good: str, bad: str
) -> None:
    code, out, _ = asked(capsys, "verify", good, bad, good)

    assert code == 1
    assert len(out.splitlines()) == 3
    assert f"{bad}: BAD: line 10: the line was changed" in out


def test_a_folder_stands_for_the_replays_in_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, good: str, bad: str
) -> None:
    exported = tmp_path / "run" / "replays"
    exported.mkdir(parents=True)
    (exported / "2.jsonl").write_bytes(Path(bad).read_bytes())
    (exported / "1.jsonl").write_bytes(Path(good).read_bytes())
    (exported.parent / "other.jsonl").write_text("no replay\n")

    code, out, _ = asked(capsys, "verify", str(tmp_path / "run"))
    assert code == 1
    assert [line.split(": ")[:2] for line in out.splitlines()] == [
        [f"{exported}/1.jsonl", "good"],
        [f"{exported}/2.jsonl", "BAD"],
    ]
    (tmp_path / "empty").mkdir()
    code, out, err = asked(capsys, "verify", str(tmp_path / "empty"))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"'{tmp_path}/empty'" in err and ".jsonl" in err


def test_json_has_exactly_these_keys(capsys: pytest.CaptureFixture[str], good: str, bad: str) -> None:
    code, out, _ = asked(capsys, "verify", "--json", good, bad)
    told: list[dict[str, Any]] = json.loads(out)

    assert code == 1
    for each in told:
        assert list(each) == [
            "file", "ok", "line", "reason", "replayed", "session", "game", "lines", "actions", "pinned", "hash",
            "proven",
        ]  # fmt: skip
    assert [(each["file"], each["ok"], each["line"]) for each in told] == [(good, True, 0), (bad, False, 10)]
    assert told[0]["hash"] == read_replay(Path(good).read_text()).hashes[-1]


def test_a_known_hash_pins_the_file(capsys: pytest.CaptureFixture[str], good: str) -> None:
    hashes = read_replay(Path(good).read_text()).hashes

    code, out, _ = asked(capsys, "verify", "--hash", hashes[-1], good)
    assert (code, f"pinned up to line {len(hashes)} of {len(hashes)}" in out) == (0, True)
    code, out, _ = asked(capsys, "verify", good, "--hash", "0" * 64)
    assert (code, "no line has the hash" in out) == (1, True)


def test_a_running_game_is_bad_without_partial(capsys: pytest.CaptureFixture[str], running: str) -> None:
    assert asked(capsys, "verify", running)[0] == 1
    assert asked(capsys, "verify", "--partial", running)[0] == 0


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"\0" * 100, b"hello\n", b"{}\n", b'{"format":9,"kind":"header"}\n']
)
def test_a_file_that_is_not_a_replay_gets_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "file").write_bytes(content)

    for command in ("verify", "show"):
        code, out, err = asked(capsys, command, str(tmp_path / "file"))
        assert (code, len((out + err).splitlines())) == (1, 1)
        assert "line 1: " in out + err


@pytest.mark.parametrize(
    ("arguments", "value", "expected"),
    [
        (["verify"], "FILE", "--help"),
        (["verify", "/nowhere/x"], "'/nowhere/x'", "No such file"),
        (["verify", "--hash", "abc", "/"], "'abc'", "64 hexadecimal digits"),
        (["verify", "--hash", "0" * 64, "a", "b"], "'a b'", "one file"),
        (["verify", "--loud", "a"], "--loud", "--partial"),
        (["show"], "FILE", "--help"),
        (["show", "a", "b"], "b", "--viewer"),
        (["show", "/nowhere/x"], "'/nowhere/x'", "No such file"),
        (["show", "x", "--at", "1", "--all"], "--all", "one of the two"),
        (["sing"], "'sing'", "show, verify"),
    ],
)
def test_wrong_usage_gets_one_line_and_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], value: str, expected: str
) -> None:
    code, out, err = asked(capsys, *arguments)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert value in err
    assert expected in err


@pytest.mark.parametrize(
    ("option", "expected"),
    [(["--at", "-1"], "from 0 to"), (["--at", "x"], "from 0"), (["--viewer", "9"], "seat from 0 to 2")],
)
def test_a_revision_that_does_not_exist_is_reported(
    capsys: pytest.CaptureFixture[str], good: str, option: list[str], expected: str
) -> None:
    code, out, err = asked(capsys, "show", good, *option)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert expected in err


@pytest.mark.parametrize("command", [[], ["--help"], ["verify", "--help"], ["show", "-h"]])
def test_help_has_examples(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert "$ rubble replay " in asked(capsys, *command)[1]


# ------------------------------------------------------------------------------------------------------------------ show
@pytest.mark.parametrize("game", list(all_games()))
def test_without_a_terminal_every_entry_and_the_sheet_are_printed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, game: str
) -> None:
    table = ScriptedSession(game, 2).finish()
    code, out, _ = asked(capsys, "show", save(tmp_path / "x.jsonl", table))

    assert code == 0
    assert all(f"{place:>5}  " in out for place in range(1, len(table.entries)))
    assert table.ending in out
    assert "rank" in out


def test_events_are_listed_and_a_note_cannot_control_the_terminal(
    capsys: pytest.CaptureFixture[str], good: str
) -> None:
    _, out, _ = asked(capsys, "show", good, "--plain")

    assert "seats: 0: ada, 1: bob, 2: an open seat" in out
    assert "a [2J note of two lines" in out
    assert "\x1b" not in out
    assert "  Seat 2 resigned" in out
    assert "by the automaton" in out


@pytest.mark.parametrize("arguments", [(), ("--at", "1000000"), ("--viewer", "2", "--all")])
def test_the_end_tells_the_official_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], good: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    replay = read_replay(Path(good).read_text())
    assert replay.outcome is not None and replay.outcome.ranks[2] == 3
    winner = ("ada", "bob")[replay.outcome.ranks.index(1)]
    last = str(len(replay.entries))

    out = asked(capsys, "show", good, *(last if word == "1000000" else word for word in arguments))[1]

    assert f"{last:>5}  The game is over" in out
    assert f"       · {winner} wins with " in out
    assert (
        f"       · Seat 2 is ranked 3rd with {replay.outcome.scores[2]} points, because the seat was forfeited" in out
    )


def test_one_table_or_all_of_them(capsys: pytest.CaptureFixture[str], good: str) -> None:
    last = len(read_replay(Path(good).read_text()).entries)

    _, out, _ = asked(capsys, "show", good, "--at", "0")
    assert f"revision 0 of {last}" in out
    assert "rank" not in out
    _, out, _ = asked(capsys, "show", good, "--at", str(last))
    assert "rank" in out
    _, out, _ = asked(capsys, "show", good, "--all", "--viewer", "1")
    assert out.count("seen by seat 1") == last + 1


def test_a_secret_action_is_hidden_from_other_viewers_while_it_is_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], good: str
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    replay = read_replay(Path(good).read_text())
    place, said = next(
        (place, entry) for place, entry in enumerate(replay.entries, 1) if isinstance(entry, ACTIONS) and entry.secret
    )

    name = ("ada", "bob", "Seat 2")[said.seat]
    others = asked(capsys, "show", good, "--at", str(place))[1]
    assert f"{place:>5}  {name} acts in secret" in others
    assert said.action not in others.split(f"{place:>5}  ")[1]
    own = asked(capsys, "show", good, "--at", str(place), "--viewer", str(said.seat))[1]
    assert "acts in secret" not in own
    assert re.search(rf"{place:>5}  {name} places a leader on .*  {said.action}  ", own)


def test_a_card_that_one_seat_has_drawn_is_told_to_it_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = ScriptedSession("sf1906-2e", 2)
    table.play_until(lambda session: "objective deck" in session.legal_texts(session.open_seats()[0]))
    owner = table.open[0]
    table.answer(owner, "objective deck")
    place = next(at for at, entry in enumerate(table.entries, 1) if entry == table.last(Acted))
    file = save(tmp_path / "x.jsonl", table.finish())

    def told(viewer: str) -> str:
        return asked(capsys, "show", file, "--at", str(place), "--viewer", viewer)[1].split(f"{place:>5}  bot-")[1]

    assert "· The card is objective O" in told(str(owner))
    for other in (str(1 - owner), "spectator"):
        assert "objective deck" in told(other)
        assert "· The card is objective" not in told(other)


def test_a_list_for_one_viewer_has_only_what_that_viewer_may_know(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without --viewer it has everything, and says so."""
    table = ScriptedSession("sf1906-2e", 2)
    table.play_until(lambda session: "objective deck" in session.legal_texts(session.open_seats()[0]))
    owner = table.open[0]
    table.answer(owner, "objective deck")
    place = next(at for at, entry in enumerate(table.entries, 1) if entry == table.last(Acted))
    file = save(tmp_path / "x.jsonl", table.finish())
    expected = (
        ("", "all seats", True),
        (str(owner), f"seat {owner}", True),
        (str(1 - owner), f"seat {1 - owner}", False),
    )
    for viewer, seen_by, is_told in (*expected, ("spectator", "a spectator", False)):
        out = asked(capsys, "show", file, *(["--viewer", viewer] if viewer else []))[1]
        assert f" · seen by {seen_by}" in out.replace("\n", " ")
        card = out.split(f"\n{place:>5}  ")[1].split(f"\n{place + 1:>5}  ")[0]
        assert ("· The card is objective O" in card) is is_told


def test_a_game_that_was_cancelled_while_seats_chose_secretly_has_no_secrets_any_more(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = ScriptedSession("relief", 2)
    table.play_until(lambda session: session.game.is_secret(session.state))
    table.answer(table.open[0])
    table.wrote(table.session.cancel("the power failed", table.now))
    file = save(tmp_path / "x.jsonl", table)
    last = len(read_replay(Path(file).read_text()).entries)
    for place, is_secret in ((last - 1, True), (last, False)):
        out = asked(capsys, "show", file, "--at", str(place))[1]
        assert ("acts in secret" in out) is is_secret


def test_a_replay_may_come_from_a_pipe(good: str) -> None:
    show = [*RUBBLE, "show", "--at", "3"]
    run_shell = ["bash", "-c", 'cat "$0" | "$@"', good]
    told = [
        subprocess.run(command, capture_output=True, text=True, env=QUIET, check=True).stdout
        for command in ([*show, good], [*run_shell, *show, "/dev/stdin"])
    ]
    assert told[0] == told[1] and "ada" in told[0]


def test_every_step_says_its_sentence_notation_time_note_and_events(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A solo game: what the Committee does in its turn is told below the action before it."""
    monkeypatch.setenv("COLUMNS", "140")
    table = ScriptedSession("sf1906-2e", 1, bots=("ada",))
    table.answer(0, "earn 4", after=1234, note="money first")
    table.answer(0, "permit 1")
    file = save(tmp_path / "x.jsonl", table.finish())

    for arguments in ((), ("--at", "2")):
        lines = asked(capsys, "show", file, *arguments)[1].splitlines()
        place = next(place for place, line in enumerate(lines) if line.startswith("    1  "))
        assert re.fullmatch(
            r" {4}1  ada moves to the \$4 earnings space, .*  earn 4  1,234 ms  money first", lines[place]
        )
        assert re.match(r" {4}2  ada takes permit P\d\d \(.*\) from the row  permit 1  10 ms", lines[place + 1])
        assert any(line.startswith("       · The Committee moves to the ") for line in lines[place + 2 : place + 6])


def test_the_steps_fit_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], good: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = asked(capsys, "show", good)[1]
    log = out[out.index("    1  ") : out.index("\nRelief  round")]

    assert [line for line in log.splitlines() if cell_len(line) > 80] == []
    assert all(re.match(r" {0,4}\d+  \S| {7}(?:  )?\S", line) for line in log.splitlines()), (
        "further lines are indented"
    )


def test_bots_of_the_terminal_have_short_names_in_sentences(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    names = ("greedy-1-ab12", "", "greedy-2-ab12")
    table = ScriptedSession("sf1906-1e", 3, id="play-sf1906-1e-0123abcd", bots=names).finish()

    out = asked(capsys, "show", save(tmp_path / "x.jsonl", table))[1]

    assert "seats: 0: greedy 1 (orange), 1: an open seat (black), 2: greedy 2 (blue)" in out
    for name in ("greedy 1", "Black", "greedy 2"):
        assert f"  {name} moves to the $" in out


def test_a_replay_without_seeds_is_listed_but_has_no_table(
    capsys: pytest.CaptureFixture[str], held: str, running: str
) -> None:
    code, out, _ = asked(capsys, "show", held)
    assert (code, "seeds held back" in out, "rank" in out) == (0, True, True)
    code, out, _ = asked(capsys, "show", running)
    assert (code, "still running" in out) == (0, True)
    code, _, err = asked(capsys, "show", held, "--at", "3")
    assert (code, len(err.splitlines()), "seeds held back" in err) == (2, 1, True)


@pytest.mark.parametrize("words", ["[/nope]", "[bold]x", "[link=nowhere]x[/link]"])
def test_what_a_file_calls_things_is_no_markup(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, held: str, words: str
) -> None:
    """A file whose seeds are held back is not played again, so that its sheet may say anything."""
    lines = [json.loads(line) for line in Path(held).read_text().splitlines()]
    for line in lines:
        del line["hash"]
    lines[-1]["ending"] = words
    lines[-1]["sheet"][0]["name"] = words
    lines[-1]["sheet"][0]["lines"][0][0] = words
    odd = tmp_path / "odd.jsonl"
    odd.write_text(chain(lines))

    code, out, err = asked(capsys, "show", str(odd), "--plain")

    assert (code, err) == (0, "")
    assert out.count(words) >= 3 and f"over: {words}" in out


def test_a_bad_replay_is_not_shown(capsys: pytest.CaptureFixture[str], bad: str) -> None:
    code, out, err = asked(capsys, "show", bad)

    assert (code, out) == (1, "")
    assert f"{bad}: line 10: " in err


def test_keys_step_through_a_game(good: str) -> None:
    """Next in three ways, previous, go to 20 with a typing error, a bad revision, several keys at once."""
    ours, theirs = pty.openpty()
    environment = QUIET | {"TERM": "xterm", "COLUMNS": "200", "LINES": "60"}
    process = subprocess.Popen(
        [*RUBBLE, "show", good], cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = ""

    def until(text: str) -> None:
        nonlocal seen
        while text not in seen:
            is_ready = select.select([ours], [], [], 20)[0]
            assert is_ready, f"{text!r} never came; the end was {seen[-2000:]!r}"
            seen += os.read(ours, 65536).decode(errors="replace")
        seen = seen[seen.index(text) + len(text) :]

    try:
        for key, place in (("", 0), ("\r", 1), ("n", 2), (" ", 3), ("p", 2)):
            os.write(ours, key.encode())
            until(f"revision {place} of ")
            until("q quit")
        os.write(ours, b"g")
        until("go to revision: ")
        os.write(ours, b"27\x7f0\n")
        until("revision 20 of ")
        until("q quit")
        os.write(ours, b"g")
        until("go to revision: ")
        os.write(ours, b"x\n")
        until("expected a whole number")
        os.write(ours, b"?nnq")  # typed ahead
        until("revision 22 of ")
        assert process.wait(timeout=30) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
