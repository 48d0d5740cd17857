"""``rubble tournament`` with a book: commands and their output."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli.app import run
from orchestrator.api.client import TournamentClient
from orchestrator.book import Book, Match
from orchestrator.book.tables import DONE, PLANNED, RUNNING
from orchestrator.client import ServiceError
from orchestrator.ladder.states import SeasonState
from tests.harness.ladders import draw, make_ladder, play

ROSTER = """name = "small"
game = "relief"
players = 2
deals = 2
seed = 1
[[bots]]
name = "one"
bundled = "greedy"
[[bots]]
name = "other"
bundled = "random"
"""


@pytest.fixture
def book(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the address of a book with one tournament."""
    (tmp_path / "roster.toml").write_text(ROSTER)
    url = f"sqlite:///{tmp_path / 'book.sqlite'}"
    assert run(["tournament", "create", str(tmp_path / "roster.toml"), "--book", url]) == 0
    assert capsys.readouterr().out.endswith(" small: 4 matches\n")
    return url


def listed(capsys: pytest.CaptureFixture[str], book: str) -> list[dict[str, object]]:
    assert run(["tournament", "list", "--json", "--book", book]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_a_misspelt_book_is_not_created(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bok.sqlite"
    for command in (["list"], ["show", "small"], ["cancel", "small"]):
        assert run(["tournament", *command, "--book", f"sqlite:///{file}"]) == 2
        assert f"there is no book '{file}'" in capsys.readouterr().err
    assert not file.exists()


def test_the_same_roster_is_planned_once(book: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tournament", "create", str(tmp_path / "roster.toml"), "--book", book]) == 0
    capsys.readouterr()

    (only,) = listed(capsys, book)
    assert (only["name"], only["state"], only["planned"], only["played"]) == ("small", "running", 4, 0)


def test_a_tournament_is_paused_resumed_and_cancelled_by_its_name(
    book: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        assert run(["tournament", verb, "small", "--book", book]) == 0
        capsys.readouterr()
        assert listed(capsys, book)[0]["state"] == state


def test_errors_of_a_roster_that_the_api_refuses_name_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "night.toml"
    file.write_text(ROSTER)
    monkeypatch.setenv("RUBBLE_OPERATOR_TOKEN", "t" * 40)
    for told, shown in (
        ("roster.toml:3: no\nroster.toml:4: nor this", f"{file}:3: no\n{file}:4: nor this\n"),
        ("told in another way", "told in another way\n"),
    ):

        def refuse(*_: object, told: str = told, **__: object) -> None:
            raise ServiceError("BAD_ROSTER", told, is_passing=False)

        monkeypatch.setattr(TournamentClient, "create", refuse)
        assert run(["tournament", "create", str(file), "--api", "127.0.0.1:1"]) == 2
        assert capsys.readouterr().err == shown


def test_the_folder_of_a_run_is_a_book_too(book: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, str(tmp_path)) == listed(capsys, book)


def test_a_table_without_a_game_can_be_shown_and_reported(
    book: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tournament", "show", "small", "--json", "--book", book]) == 0
    assert [line["name"] for line in json.loads(capsys.readouterr().out)["entrants"]] == ["one", "other"]
    assert run(["tournament", "report", "small", "--out", str(tmp_path / "out"), "--book", book]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]
    assert run(["tournament", "export", "small", "--out", str(tmp_path / "all"), "--book", book]) == 0
    names = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert names == ["report.html", "results.csv", "roster.toml", "standings.json"], "no replays: nothing was played"
    assert (tmp_path / "all" / "report.html").read_bytes() == (tmp_path / "out" / "report.html").read_bytes()


def test_watching_a_tournament_that_is_over_ends_at_once(book: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tournament", "cancel", "small", "--book", book]) == 0
    capsys.readouterr()
    assert run(["tournament", "watch", "small", "--json", "--book", book]) == 1, "cancelled is not done"
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert (told["state"], told["planned"], told["dropped"], told["faults"]) == ("cancelled", 4, 4, 0)
    assert run(["tournament", "resume", "small", "--book", book]) == 2
    assert "it cannot be changed any more" in capsys.readouterr().err


def test_a_tournament_without_games_is_shown_as_new(book: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tournament", "show", "small", "--book", book]) == 0
    said = capsys.readouterr().out
    assert "No game is over yet." in said and "never met" not in said
    assert "running: 0 of 4 matches played, none under way" in said


def test_every_mistake_of_a_bad_roster_is_reported_on_its_own_line(
    book: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(ROSTER.replace("players = 2", "players = 7").replace('bundled = "random"', 'bundled = "wizard"'))
    assert run(["tournament", "create", str(file), "--book", book]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith(f"{file}:") for line in lines] == [True, True]
    file.write_bytes(b"\xff")
    assert run(["tournament", "create", str(file), "--book", book]) == 2
    assert "not UTF-8" in capsys.readouterr().err


def test_without_a_service_the_output_says_how_to_get_keys_of_remote_bots(
    book: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "remote.toml"
    file.write_text(ROSTER.replace('name = "small"', 'name = "far"').replace('bundled = "random"', "remote = true"))
    assert run(["tournament", "create", str(file), "--book", book]) == 0
    assert "rubble key issue" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["list", "--state-dir", "nowhere"], "no arena runs in 'nowhere' (--state-dir); start one with"),
        (["list", "--book", "nowhere"], "'nowhere' is neither an address nor the folder of a run"),
        (["list", "--book", "foo://x"], "cannot be opened"),
    ],
)
def test_a_bad_book_is_one_line(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RUBBLE_BOOK", "RUBBLE_API", "RUBBLE_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert run(["tournament", *arguments]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert len(said.splitlines()) == 1


def test_the_error_for_an_unknown_tournament_lists_the_known_ones(
    book: str, capsys: pytest.CaptureFixture[str]
) -> None:
    known = listed(capsys, book)[0]["name"]
    assert run(["tournament", "show", "large", "--book", book]) == 2
    assert f"there is no tournament 'large' in this book; it has {known}" in capsys.readouterr().err


def test_prune_removes_the_replays_of_ended_tournaments_and_keeps_their_results(
    book: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = Book(book)
    (tournament,) = opened.tournaments()
    for match, _ in opened.matches(tournament.id):
        recorded = match.result((1, 2), (9, 3), ("", ""), (5, 5), "COMPLETE", 40)
        begun = opened.begin(opened.hand_out(1, 1000)[0], 0, 60_000)
        assert begun is not None
        assert begun.id == match.id
        assert opened.record_once(begun, recorded, '{"kind":"header"}\n' * 100)
    prune = ["tournament", "prune", "--days", "0", "--book", book]

    assert run(prune) == 0
    assert "no replays of tournaments that ended" in capsys.readouterr().out, "it is not over yet"
    opened.set_state(tournament.id, DONE)
    assert run(prune) == 0
    assert "would be removed: 4 replays" in capsys.readouterr().out
    assert run([*prune[:2], "--book", book]) == 0
    assert "more than 30 days ago" in capsys.readouterr().out
    assert len(opened.archived(tournament.id)) == 4

    assert run([*prune, "--yes", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["name"], told["replays"], told["removed"]) == ("small", 4, True)
    assert opened.archived(tournament.id) == []
    assert len(opened.games(tournament.id)) == 4
    assert any("replays of this tournament were removed" in words for words in opened.notes(tournament.id))
    opened.close()


def test_prune_touches_a_season_of_a_ladder_only_when_it_is_closed_and_says_how_to_keep_it(
    book: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = Book(book)
    season = make_ladder(opened, "spring")
    draw(opened, "spring")
    play(opened, "spring")
    prune = ["tournament", "prune", "--days", "0", "--book", book]
    finals = replace(opened.tournament(season.tournament), id="finals", name="spring.1.finals", state=RUNNING)
    opened.plan(finals, [Match("f1", "finals", 0, 0, (0, 1), b"t" * 32, b"d" * 32, PLANNED, 0, 0)])
    season = opened.move_season(opened.move_season(season, SeasonState.CLOSING), SeasonState.FINALS)
    assert opened.set_finals(season, "finals")
    (final,) = (match for match, _ in opened.matches("finals"))
    opened.keep_replay(final, "{}", has_seeds=True)
    opened.set_state("finals", DONE)

    assert run([*prune, "--yes"]) == 0
    assert "no replays of tournaments that ended" in capsys.readouterr().out
    assert opened.drop_replays("finals", "") == opened.drop_replays(season.tournament, "") == 0
    opened.move_season(season, SeasonState.CLOSED)
    assert run(prune) == 0
    said = capsys.readouterr().out
    assert "would be removed: 3 replays" in said
    assert said.count("ladder export spring --season 1 --out DIR") == 1
    assert run([*prune, "--yes"]) == 0
    assert opened.archived(season.tournament) == opened.archived("finals") == []
    assert opened.season("spring").games == len(opened.games(season.tournament)) == 2, "results stay"
    opened.close()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--state-dir", "nowhere"], "there is no book in 'nowhere'"),
        (["--book", "nowhere"], "'nowhere' is neither"),
        (["--days", "-1"], "--days"),
    ],
)
def test_prune_needs_an_existing_book(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUBBLE_BOOK", raising=False)
    assert run(["tournament", "prune", *given]) == 2
    assert said in capsys.readouterr().err
