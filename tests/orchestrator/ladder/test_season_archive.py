"""The archive of a season: the same everywhere, and no change in it goes unnoticed."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.export import write_files
from cli.ladder_verify import command
from orchestrator.ladder.draws import commitment
from orchestrator.ladder.model import UNOPPOSED, BuildState
from orchestrator.ladder.season_archive import hash_of, read_files, read_manifest, season_files
from orchestrator.ladder.season_documents import season_documents
from orchestrator.ladder_export import export, read_record
from orchestrator.planning import rules_of
from service.sessions.replay import chain
from tests.orchestrator.ladder.closed_season import SPEC, WHOLE, SeasonInABook

pytestmark = pytest.mark.slow
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> SeasonInABook:
    season = SeasonInABook(tmp_path_factory.mktemp("season"))
    season.challenge()
    season.qualify()
    for number in range(24):
        season.draw(with_trial=number % 3 == 0)
    season.close()
    return season


@pytest.fixture(scope="module")
def archive(played: SeasonInABook, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    write_files(export(played.book, played.season), folder)
    return folder


@pytest.fixture
def copy(archive: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(archive, tmp_path / "copy"))


def verify(folder: Path, capsys: pytest.CaptureFixture[str], noted: str = "") -> tuple[int, dict[str, list[str]]]:
    """The exit code, and the problems of each check that failed."""
    code = command(str(folder), json=True, noted=noted)
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] == (code != 1)
    return code, {check["name"]: check["problems"] for check in told["checks"] if not check["holds"]}


# A forger changes files and computes all hashes again.


def rows(folder: Path, name: str) -> Rows:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def forge(folder: Path, name: str, data: bytes) -> None:
    (folder / name).write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"][name] = hash_of(data)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def forge_rows(folder: Path, name: str, change: Callable[[Rows], Any]) -> None:
    changed = rows(folder, name)
    change(changed)
    forge(folder, name, b"".join(msgspec.json.encode(row, order="sorted") + b"\n" for row in changed))


def forge_documents(folder: Path) -> None:
    """Compute everything again that follows from the changed files."""
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.parent.name != "replays"]
    files = {name: (folder / name).read_bytes() for name in names if name != "manifest.json"}
    record = read_files(read_manifest((folder / "manifest.json").read_bytes()), files)
    for name, data in season_files(replace(record, documents=season_documents(record))):
        (folder / name).write_bytes(data)


def forge_manifest(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def whole_match(folder: Path) -> dict[str, Any]:
    """A rated match that was played to its end without a fault, and is not a tie."""
    played = (row for row in rows(folder, "results.jsonl")[2:] if row["order"] % WHOLE == 0)
    return next(row for row in played if len(set(row["result"]["ranks"])) > 1 and not any(row["result"]["faults"]))


def set_in(id_: str, change: Callable[[dict[str, Any]], Any]) -> Callable[[Rows], None]:
    def change_rows(found: Rows) -> None:
        change(next(row for row in found if row["id"] == id_))

    return change_rows


def test_an_archive_holds(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(str(archive)) == 0

    told = capsys.readouterr().out
    assert told.count("✓") == 14 and "✗" not in told
    assert "everything holds" in told
    assert "finals: 3 builds against the table, and 6 matches against the secret" in told
    assert "Not proven by this folder alone, only by the hash of the manifest: " in told
    assert (archive / "README.md").read_text().startswith("# Season 1 of the ladder spring")


def test_the_same_season_gives_the_same_bytes(played: SeasonInABook, archive: Path) -> None:
    again = dict(export(played.book, played.season))

    assert again == {path.relative_to(archive).as_posix(): path.read_bytes() for path in archive.rglob("*.*")}
    assert read_record(played.book, played.season).rules == rules_of(played.spec)


def test_the_table_of_the_finals_has_what_decides_a_tie(archive: Path) -> None:
    first, *others = json.loads((archive / "finals" / "table.json").read_bytes())

    assert first["behind_by"] is None
    assert all({"mean_points", "faults", "wins", "mean_margin", "behind_by"} <= line.keys() for line in others)
    before = [first["mean_points"], *(line["mean_points"] for line in others)]
    for above, line in zip(before, others, strict=False):
        assert (line["behind_by"] == "points") == (line["mean_points"] < above)


def test_what_was_published_is_what_follows_from_the_files(played: SeasonInABook) -> None:
    record = read_record(played.book, played.season)

    assert record.documents == season_documents(record)


def test_a_match_that_was_void_has_its_last_cards(archive: Path) -> None:
    assert sum(row["voids"] for row in rows(archive, "results.jsonl")) == 27


def test_builds_that_change_later_do_not_change_the_archive(played: SeasonInABook, archive: Path) -> None:
    """Nor does a decision, such as one that publishes the hash of the manifest."""
    played.now += 1
    played.book.retire(played.book.build("spring", "eve/one"), "")
    played.book.tell("spring", "decision", "The hash of the manifest is 1f.")

    assert read_record(played.book, played.season).builds[6].state == BuildState.ACTIVE
    assert dict(export(played.book, played.season))["manifest.json"] == (archive / "manifest.json").read_bytes()


def test_a_changed_byte_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("events.jsonl", "README.md", "builds.json"):
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(data.replace(b"eve", b"eva") + b" ")
        assert any(name in problem for problem in verify(copy, capsys)[1]["files"])
        (copy / name).write_bytes(data)


def test_a_check_that_failed_is_not_worded_as_a_success(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "README.md").write_text("another")
    forge_manifest(copy, lambda manifest: manifest.update(commitment="0" * 64))

    assert command(str(copy)) == 1

    told = capsys.readouterr().out
    assert "✗ files: 12 files against their hashes in manifest.json\n" in told
    assert f"✗ secret: its commitment {'0' * 64}; compare that with what was published\n" in told


def test_a_missing_file_and_one_that_does_not_belong_there_are_found(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "events.jsonl").unlink()
    (copy / "more.json").write_text("{}")

    assert verify(copy, capsys)[1]["files"] == ["events.jsonl is missing", "more.json does not belong to a season"]


def test_a_changed_result_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    match = whole_match(copy)
    change = set_in(match["id"], lambda row: row["result"].update(ranks=row["result"]["ranks"][::-1]))
    forge_rows(copy, "results.jsonl", change)
    assert {"table", "replays"} <= set(verify(copy, capsys)[1])

    forge_documents(copy)
    code, failed = verify(copy, capsys)

    assert code == 1 and set(failed) - {"finals"} == {"replays"}
    assert match["id"] in failed["replays"][0] and "ranks" in failed["replays"][0]


def test_a_changed_seat_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    match = whole_match(copy)
    forge_rows(copy, "results.jsonl", set_in(match["id"], lambda row: row.update(seats=row["seats"][::-1])))
    forge_documents(copy)

    failed = verify(copy, capsys)[1]

    assert "the seats" in failed["matches"][0] and "bots" in failed["replays"][0]


@pytest.mark.parametrize(
    ("file", "check"),
    [
        ("table.json", "table"),
        ("pairs.json", "pairs"),
        ("verdicts.json", "trials"),
        ("finals/table.json", "finals table"),
    ],
)
def test_a_changed_document_is_found(copy: Path, capsys: pytest.CaptureFixture[str], file: str, check: str) -> None:
    """A rank, the number of blocks, a lead, the games of the finals."""
    data = (copy / file).read_bytes()
    changed = next(text for text in (b'"rank": 1', b'"lead": ', b'"blocks": ') if text in data)
    forge(copy, file, data.replace(changed, changed + b"1", 1))

    code, failed = verify(copy, capsys)

    assert code == 1 and set(failed) == {check} and file in failed[check][0]


def test_a_changed_draw_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge_rows(copy, "draws.jsonl", lambda found: found[5]["field"]["builds"].pop(3))

    (told,) = verify(copy, capsys)[1]["draws"]

    assert told.startswith("draw 5, drawn again, gives another table for block ")
    assert told.endswith("candidates without ada/one") or "candidates without ada/one;" in told
    assert not any(word in told for word in ("DrawnTable", "Kind", "None", "("))


def test_a_table_with_other_players_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [build["name"] for build in json.loads((copy / "builds.json").read_bytes())]
    one, other = (names[number] for number in rows(copy, "tables.jsonl")[7]["seats"])
    forge_rows(copy, "tables.jsonl", lambda found: found[7].update(seats=found[7]["seats"][::-1]))

    failed = verify(copy, capsys)[1]

    assert {"draws", "matches"} <= set(failed)
    assert failed["draws"] == [
        f"draw 0, drawn again, gives another table for block 7: seats {one}, {other} instead of {other}, {one}"
    ]


def test_a_removed_block_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = rows(copy, "tables.jsonl")[-1]["block"]
    gone = [row["id"] for row in rows(copy, "results.jsonl") if row["block"] == last]
    forge_rows(copy, "tables.jsonl", lambda found: found.pop())
    forge_rows(copy, "results.jsonl", lambda found: found.__setitem__(slice(None), found[: -len(gone)]))
    for id_ in gone:
        (copy / "replays" / f"{id_}.jsonl").unlink()
    forge_documents(copy)

    assert verify(copy, capsys)[1]["draws"] == ["draw 23, drawn again, gives 4 tables, not 3"]


def test_a_removed_draw_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With all its tables and matches, and the places in the schedule numbered again."""
    gone = {row["block"] for row in rows(copy, "tables.jsonl") if row["draw"] == 20}

    def keep(found: Rows) -> None:
        found[:] = [row for row in found if row["block"] not in gone]
        for order, row in enumerate(found):
            if "order" in row:
                row["order"] = order

    forge_rows(copy, "draws.jsonl", lambda found: found.pop(20))
    forge_rows(copy, "tables.jsonl", keep)
    forge_rows(copy, "results.jsonl", keep)

    failed = verify(copy, capsys)[1]

    assert failed["draws"][:2] == [
        f"block {min(gone)} is missing, or not at its place",
        "a draw is missing, or not at its place",
    ]


def test_a_changed_move_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The chain of the replay is computed again, and its hash is put into the results."""
    id_ = whole_match(copy)["id"]
    lines = rows(copy, f"replays/{id_}.jsonl")
    moves = [line for line in lines if line["kind"] == "act"]
    assert moves[0]["action"] != moves[-1]["action"]
    moves[0]["action"] = moves[-1]["action"]
    text = chain([{name: value for name, value in line.items() if name not in ("prev", "hash")} for line in lines])
    (copy / "replays" / f"{id_}.jsonl").write_text(text)
    last = json.loads(text.splitlines()[-1])["hash"]
    forge_rows(copy, "results.jsonl", set_in(id_, lambda row: row.update(replay=last)))

    failed = verify(copy, capsys)[1]

    assert set(failed) == {"replays"} and f"match {id_}: its replay is wrong in line" in failed["replays"][0]


def test_a_swapped_replay_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = rows(copy, "results.jsonl")[4:6]
    paths = [copy / "replays" / f"{row['id']}.jsonl" for row in (one, other)]
    texts = [path.read_text() for path in paths]
    for path, text in zip(paths, reversed(texts), strict=True):
        path.write_text(text)
    forge_rows(copy, "results.jsonl", set_in(one["id"], lambda row: row.update(replay=other["replay"])))
    forge_rows(copy, "results.jsonl", set_in(other["id"], lambda row: row.update(replay=one["replay"])))

    failed = verify(copy, capsys)[1]

    assert set(failed) == {"replays"} and len(failed["replays"]) == 2
    assert "session" in failed["replays"][0]


def test_a_removed_replay_and_one_of_no_match_are_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    id_ = rows(copy, "results.jsonl")[9]["id"]
    (copy / "replays" / f"{id_}.jsonl").rename(copy / "replays" / "elsewhere.jsonl")

    problems = verify(copy, capsys)[1]["replays"]

    assert problems == ["replays/elsewhere.jsonl belongs to no match", f"match {id_}: it has a result, but no replay"]


def test_another_secret_is_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = json.loads((copy / "manifest.json").read_bytes())
    manifest["secret"] = bytes(32).hex()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    assert "commitment" in verify(copy, capsys)[1]["secret"][0]

    manifest["commitment"] = commitment(bytes(32))
    (copy / "manifest.json").write_text(json.dumps(manifest))

    assert {"secret", "draws", "matches", "finals"} <= set(verify(copy, capsys)[1])


@pytest.mark.parametrize("name", ["move_ms", "bank_ms", "increment_ms", "seating_ms"])
def test_other_clocks_are_found(copy: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    forge_manifest(copy, lambda manifest: manifest["ladder"]["time_control"].update({name: 1}))

    failed = verify(copy, capsys)[1]

    assert set(failed) == {"finals", "replays"}
    assert len(failed["replays"]) == len(rows(copy, "results.jsonl")) + len(rows(copy, "finals/results.jsonl"))
    assert "its replay has the clocks move_ms 10000, bank_ms 60000" in failed["replays"][0]
    assert f"{name} 1" in failed["replays"][0].partition("recorded is")[2]


@pytest.mark.parametrize("games", [1, 2, 4, 6])
def test_another_number_of_qualification_games_is_found(
    copy: Path, capsys: pytest.CaptureFixture[str], games: int
) -> None:
    forge_manifest(copy, lambda manifest: manifest["ladder"].update(qualification_games=games))

    assert verify(copy, capsys)[1] == {
        "qualification": [
            f"ada/one has 3 games in the qualification from block {block} on, the manifest says {games}"
            for block in (1, 3)
        ]
    }


def test_other_bundled_bots_are_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge_manifest(copy, lambda manifest: manifest["ladder"]["bundled"][0].update(bundled="greedy"))

    assert verify(copy, capsys)[1] == {
        "bundled bots": ["low is random in builds.json, the manifest says low is greedy"]
    }


def test_what_the_folder_cannot_prove_is_said(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """These forgeries hold, and only a hash that was noted before shows them."""
    noted = hash_of((copy / "manifest.json").read_bytes())
    assert verify(copy, capsys, noted) == (0, {})
    forge_rows(copy, "events.jsonl", lambda found: found.pop())
    forge_manifest(copy, lambda manifest: manifest["ladder"].update(signup="closed"))
    forge_manifest(copy, lambda manifest: manifest["ladder"]["quotas"].update(builds=99))
    forge_manifest(copy, lambda manifest: manifest["season"].update(opened_ms=1))

    assert command(str(copy), json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"events and decisions", "states of builds", "sign-up", "quotas", "dates"} <= set(told["not_proven"])
    assert not {"qualification games", "results", "clocks"} & set(told["not_proven"])

    code, failed = verify(copy, capsys, noted)
    assert code == 1
    assert failed == {"manifest": [f"it has the hash {hash_of((copy / 'manifest.json').read_bytes())}, not {noted}"]}


def test_games_that_are_said_not_to_have_been_played_are_counted(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An organiser can leave out results, and an entrant of the finals: nothing proves it, so it is said."""

    def leave_out(found: Rows) -> None:
        for row in found[-2:]:
            row.update(state="dropped", result=None, replay=None)

    for name in ("results.jsonl", "finals/results.jsonl"):
        for row in rows(copy, name)[-2:]:
            (copy / "replays" / f"{row['id']}.jsonl").unlink(missing_ok=True)
        forge_rows(copy, name, leave_out)
    spec = json.loads((copy / "finals" / "spec.json").read_bytes())
    forge(copy, "finals/spec.json", json.dumps(spec | {"removed": [0]}).encode())
    replays = len(list((copy / "replays").iterdir()))
    forge_manifest(copy, lambda manifest: manifest.update(replays=replays))
    forge_documents(copy)

    assert command(str(copy)) == 0
    told = capsys.readouterr().out
    assert told.count("; 2 of them were not played, which no check can prove") == 2
    assert f"; {spec['spec']['entrants'][0]} was removed, which no check can prove" in told
    assert "which matches were not played, who was removed from the finals" in told


def test_draws_that_are_left_out_at_the_end_are_not_proven(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(str(copy), json=True) == 0
    assert "that no draws are left out at the end" in json.loads(capsys.readouterr().out)["not_proven"]


def test_a_block_with_results_that_is_said_to_be_withdrawn_is_found(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge_rows(copy, "draws.jsonl", lambda found: found[-1]["field"].update(withdrawn=[4]))

    assert "says that block 4 was withdrawn, but it has results" in verify(copy, capsys)[1]["draws"][0]


def test_options_that_the_game_does_not_have_are_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge_manifest(copy, lambda manifest: manifest["ladder"].update(options={"nonsense": 3}))

    failed = verify(copy, capsys)[1]
    assert "manifest.json has options that its game does not have: " in failed["replays"][0]
    assert "nonsense" in failed["replays"][0]


def test_with_the_noted_hash_the_rest_is_said_to_be_unchanged(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = hash_of((archive / "manifest.json").read_bytes())

    assert command(str(archive), noted=noted) == 0

    told = capsys.readouterr().out
    assert f"✓ manifest: its hash against {noted}" in told
    assert "Not proven by this folder, but unchanged since that hash was noted: who could be drawn" in told


@pytest.mark.parametrize("noted", ["1f", "0" * 63, "G" * 64, "A" * 64, "0" * 65])
@pytest.mark.parametrize("is_json", [False, True])
def test_a_noted_hash_of_another_form_is_bad_input(
    archive: Path, capsys: pytest.CaptureFixture[str], noted: str, is_json: bool
) -> None:
    assert command(str(archive), noted=noted, json=is_json) == 2

    told = capsys.readouterr()
    assert told.out == "" and "--manifest" in told.err and "64 digits 0-9 and a-f" in told.err
    assert not is_json or json.loads(told.err)["error"] == "BAD_INPUT"


@pytest.mark.parametrize("verdict", ["better", UNOPPOSED])
def test_a_verdict_that_was_not_reached_is_found(copy: Path, capsys: pytest.CaptureFixture[str], verdict: str) -> None:
    builds = json.loads((copy / "builds.json").read_bytes())
    assert builds[7]["verdict"] == "running"
    builds[7]["verdict"] = verdict
    forge(copy, "builds.json", json.dumps(builds).encode())
    forge_documents(copy)

    assert f"'{verdict}', its trials give 'running'" in verify(copy, capsys)[1]["verdicts"][0]


def test_finals_of_other_builds_are_found(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = json.loads((copy / "finals" / "spec.json").read_bytes())
    spec["spec"]["entrants"][0] = "cleo/one"
    forge(copy, "finals/spec.json", json.dumps(spec).encode())
    forge_documents(copy)

    assert verify(copy, capsys)[1]["finals"][0].startswith("their entrants are cleo/one")


def test_a_result_of_the_finals_is_proven_by_its_replay(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forge_rows(copy, "finals/results.jsonl", lambda found: found[0]["result"].update(ranks=[1, 1]))
    forge_documents(copy)

    assert set(verify(copy, capsys)[1]) == {"replays"}


def test_without_replays_nothing_is_said_to_be_proven(
    played: SeasonInABook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(export(played.book, played.season, without_replays=True), tmp_path)

    assert verify(tmp_path, capsys) == (3, {})
    assert command(str(tmp_path)) == 3
    told = capsys.readouterr().out
    assert "NOT CHECKED" in told
    assert "only by the hash of the manifest: results, clocks, " in told


@pytest.mark.parametrize("name", ["nowhere", "empty", "other"])
def test_another_folder_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text('{"format": "something"}')

    assert command(str(tmp_path / name)) == 2
    assert "the folder of a season" in capsys.readouterr().err
    assert command(str(tmp_path / name), json=True) == 2
    told = capsys.readouterr()
    assert told.out == "" and json.loads(told.err)["error"] == "BAD_INPUT"


def broken() -> Iterator[tuple[str, bytes]]:
    yield "results.jsonl", b"no JSON\n"
    yield "tables.jsonl", b'{"block": 0}\n'
    yield "builds.json", b"[]"
    yield "finals/spec.json", b"\xff"


@pytest.mark.parametrize(("file", "data"), list(broken()))
def test_a_file_that_cannot_be_read_is_named(
    copy: Path, capsys: pytest.CaptureFixture[str], file: str, data: bytes
) -> None:
    forge(copy, file, data)

    code, failed = verify(copy, capsys)

    assert code == 1 and set(failed) == {"form"}
    if data != b"[]":
        assert failed["form"][0].startswith(file)


def test_a_season_of_which_nothing_was_stored_is_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A short season: too few games for finals."""
    season = SeasonInABook(tmp_path)
    season.draw()
    season.close(are_documents_kept=False)
    write_files(export(season.book, season.season), tmp_path / "out")

    assert verify(tmp_path / "out", capsys) == (0, {})
    assert not (tmp_path / "out" / "finals").exists()


def test_what_happens_between_two_seasons_is_in_the_archive_of_the_second(tmp_path: Path) -> None:
    season = SeasonInABook(tmp_path)
    first = season.close(are_documents_kept=False)
    season.now += 1
    season.book.tell("spring", "decision", "Between them.")
    season.now += 1
    second = season.open_second()

    assert read_record(season.book, first).events[-1].words == "Season 1 is closed."
    assert [event.words for event in read_record(season.book, second).events] == ["Between them.", "Season 2 is open."]


def test_a_season_without_a_game_can_be_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    season = SeasonInABook(tmp_path)
    season.close(are_documents_kept=False)
    write_files(export(season.book, season.season), tmp_path / "out")

    assert verify(tmp_path / "out", capsys) == (0, {})
    assert SPEC.name == json.loads((tmp_path / "out" / "manifest.json").read_bytes())["ladder"]["name"]
