"""``rubble ladder verify``: checks the folder of a closed season, from the secret to the last rank."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.progress import Progress
from rich.text import Text

from cli.arguments import Json
from cli.terminal import console, count_of, error_console, print_json
from service.games.core import BadSetup

if TYPE_CHECKING:
    from orchestrator.ladder.season_archive import ArchivedMatch, Manifest, SeasonRecord
    from orchestrator.ladder.season_check import Check

#: Exit codes. Bad input is 2, as everywhere.
GOOD, BAD, WITHOUT_REPLAYS = 0, 1, 3
#: The largest file that is read, in bytes.
LARGEST_FILE: Final = 2**30
LARGEST_REPLAY: Final = 64 * 2**20
#: This many problems of a check are shown.
SHOWN: Final = 5
#: With fewer replays than this, starting more processes takes longer than it saves.
_FEW_REPLAYS: Final = 200


def command(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of a closed season.", show_default=False)],
    json: Json = False,
) -> int:
    """Check a closed season: its draws, cards, games, table and finals are made again and compared.

    Exit code 0: everything holds. 1: something does not; what differs is printed. 2: this is not the folder of a season.
    3: everything else holds, but the folder was exported without replays, so that the results are not proven.

    [dim]$[/] rubble ladder export spring --out spring-1
    [dim]$[/] rubble ladder verify spring-1
    """
    from orchestrator.ladder.season_archive import BadArchive, hash_of, read_manifest

    path = Path(folder)
    if not (path / "manifest.json").is_file():
        raise BadSetup(
            "FOLDER", folder, "the folder of a season, with a manifest.json; `rubble ladder export` writes it"
        )
    data = _read(path / "manifest.json", LARGEST_FILE)
    try:
        manifest = read_manifest(data)
    except BadArchive as error:
        raise BadSetup("FOLDER", folder, f"the folder of a season ({error})") from None
    checks: list[Check] = []
    for check in _checks(path, manifest):
        checks.append(check)
        if not json:
            _print(check)
    is_good = all(check.holds for check in checks)
    code = (GOOD if manifest.has_replays else WITHOUT_REPLAYS) if is_good else BAD
    if json:
        _print_json(manifest, hash_of(data), checks, code)
    else:
        _print_end(manifest, hash_of(data), checks, code)
    return code


def _checks(folder: Path, manifest: "Manifest") -> "Iterator[Check]":
    """All checks, one by one."""
    from orchestrator.ladder.season_archive import BadArchive, read_files
    from orchestrator.ladder.season_check import Check, check_files, season_checks

    files = {name: _read(path, LARGEST_FILE) for name, path in sorted(_found(folder).items())}
    yield check_files(manifest, files)
    try:
        record = read_files(manifest, files)
    except BadArchive as error:
        yield Check("form", "every file can be read", (str(error),))
        return
    are_fit = True
    for check in season_checks(manifest, record):
        are_fit = are_fit and (check.holds or check.name != "form")
        yield check
    if are_fit:
        yield _check_replays(folder, manifest, record)


def _found(folder: Path) -> dict[str, Path]:
    """The files of the folder without the manifest and the replays, by their names in the manifest."""
    found = {path.name: path for path in folder.iterdir() if path.is_file() and path.name != "manifest.json"}
    finals = folder / "finals"
    if finals.is_dir():
        found |= {f"finals/{path.name}": path for path in finals.iterdir() if path.is_file()}
    return found


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as opened:
            data = opened.read(most + 1)
    except OSError as error:
        raise BadSetup("FOLDER", str(path), f"a file that can be read ({error.strerror})") from None
    if len(data) > most:
        raise BadSetup("FOLDER", str(path), f"a file of at most {most // 2**20} MiB")
    return data


# --------------------------------------------------------------------------------------------------------------- replays
@dataclass(frozen=True)
class _Expected:
    """What the replay of a match must be."""

    path: str
    match: "ArchivedMatch"
    game: str
    version: int
    options: dict[str, str | int]
    #: The names in the keys of the builds, by seat; empty for bundled bots.
    arenas: tuple[str, ...]


def _check_replays(folder: Path, manifest: "Manifest", record: "SeasonRecord") -> "Check":
    from orchestrator.ladder.season_check import Check

    expected = list(_expected(folder, record))
    here = {path.name for path in (folder / "replays").glob("*")} if (folder / "replays").is_dir() else set()
    if not manifest.has_replays and not here:
        return Check("replays", f"NOT CHECKED: the export has none of the {count_of(len(expected), 'replay')}")
    problems = [
        f"replays/{name} belongs to no match" for name in sorted(here - {Path(each.path).name for each in expected})
    ]
    if manifest.replays != sum(each.match.replay is not None for each in expected):
        problems.append(f"the manifest says {count_of(manifest.replays, 'replay')}")
    with _progress(len(expected)) as advance:
        for each, problem in zip(expected, _replay_problems(expected), strict=True):
            advance()
            if problem:
                problems.append(f"match {each.match.id}: {problem}")
    what = f"{count_of(len(expected), 'game')} played again from the seeds, with the recorded results"
    adjudicated = sum(each.match.result is not None and each.match.result.ending == "ADJUDICATED" for each in expected)
    if adjudicated:
        what += f"; {adjudicated:,} of them ended by a decision of the operator, which no check can prove"
    return Check("replays", what, tuple(problems))


def _expected(folder: Path, record: "SeasonRecord") -> Iterator[_Expected]:
    """The replays of all matches that have a result."""
    arena = {build.name: build.arena for build in record.builds}
    names = [build.name for build in record.builds]
    finalists = record.finals.spec.entrants if record.finals is not None else ()
    ladder = record.ladder
    for matches, entrants in ((record.matches, names), (record.finals_matches, finalists)):
        for match in matches:
            if match.result is not None:
                path = str(folder / "replays" / f"{match.id}.jsonl")
                arenas = tuple(arena.get(entrants[entrant], "") for entrant in match.seats)
                yield _Expected(path, match, ladder.game, ladder.game_version, dict(ladder.options), arenas)


def _replay_problems(expected: Sequence[_Expected]) -> Iterator[str]:
    if len(expected) < _FEW_REPLAYS or (os.cpu_count() or 1) < 2:
        yield from map(_replay_problem, expected)
        return
    with ProcessPoolExecutor() as pool:
        yield from pool.map(_replay_problem, expected, chunksize=20)


def _replay_problem(expected: _Expected) -> str:
    """What is wrong with the replay of a match; empty if it is good."""
    from orchestrator.referee import WITHDRAWN, think_times
    from service.sessions.replay import BadReplay, decode_replay, read_replay
    from service.sessions.replay_verify import game_of, verify_replay

    match, result = expected.match, expected.match.result
    assert result is not None
    if match.replay is None or not Path(expected.path).is_file():
        return "it has a result, but no replay"
    try:
        text = decode_replay(_read(Path(expected.path), LARGEST_REPLAY))
        verification = verify_replay(text)
        if not verification.ok:
            return f"its replay is wrong in line {verification.line}: {verification.reason}"
        replay = read_replay(text)
    except BadReplay as error:
        return f"its replay is wrong in {error}"
    if not verification.is_replayed or replay.seeds is None or replay.outcome is None:
        return f"its replay has no seeds: {verification.reason}"
    think, decisions = think_times(text, len(match.seats))
    resigned = tuple("RESIGNED" if fault == WITHDRAWN else fault for fault in result.faults)
    for what, found, recorded in (
        ("hash", verification.hash, match.replay),
        ("session", replay.session, match.session),
        ("game", (replay.game, replay.version), (expected.game, expected.version)),
        ("options", replay.options, game_of(replay).complete(len(replay.bots), expected.options)),
        ("table seed", replay.seeds.table, match.table_seed),
        ("deck seed", replay.seeds.deck, match.deck_seed),
        ("bots", tuple(own and bot for bot, own in zip(replay.bots, expected.arenas, strict=False)), expected.arenas),
        ("status", replay.outcome.status.value, "FINISHED"),
        ("ranks", tuple(replay.outcome.ranks), result.ranks),
        ("scores", tuple(replay.outcome.scores), result.scores),
        ("faults", tuple(fault.value for fault in replay.outcome.faults), resigned),
        ("ending", replay.outcome.ending, result.ending),
        ("think times", think, result.think_ms),
        ("decisions", decisions, result.decisions),
    ):
        if found != recorded:
            return f"its replay has the {what} {found}; recorded is {recorded}"
    return ""


# --------------------------------------------------------------------------------------------------------------- showing
@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """Show the progress on standard error, if that is a terminal."""
    out = error_console()
    with Progress(console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("playing games again", total=total)
        yield lambda: progress.advance(task)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _print(check: "Check") -> None:
    is_skipped = check.compared.startswith("NOT CHECKED")
    mark = ("- ", "bold yellow") if is_skipped else ("✓ ", "green") if check.holds else ("✗ ", "bold red")
    console().print(Text.assemble(mark, (check.name, "bold"), f": {_printable(check.compared)}"), soft_wrap=True)
    for problem in check.problems[:SHOWN]:
        console().print(Text(f"    {_printable(problem)}", style="red"), soft_wrap=True)
    if len(check.problems) > SHOWN:
        console().print(Text(f"    and {len(check.problems) - SHOWN:,} more", style="red"))


def _print_end(manifest: "Manifest", hash_: str, checks: "Sequence[Check]", code: int) -> None:
    failed = sum(not check.holds for check in checks)
    season = f"Season {manifest.season.number} of {manifest.ladder.name}"
    words = {
        GOOD: "everything holds",
        BAD: f"{failed} of {count_of(len(checks), 'check')} failed",
        WITHOUT_REPLAYS: "everything holds except the games, which were not checked: the folder has no replays",
    }[code]
    style = {GOOD: "bold green", BAD: "bold red", WITHOUT_REPLAYS: "bold yellow"}[code]
    console().print(
        Text.assemble(_printable(f"{season}: "), (words, style), f". Hash of the manifest: {hash_}"), soft_wrap=True
    )


def _print_json(manifest: "Manifest", hash_: str, checks: "Sequence[Check]", code: int) -> None:
    print_json(
        {
            "ladder": manifest.ladder.name,
            "season": manifest.season.number,
            "commitment": manifest.commitment,
            "manifest": hash_,
            "holds": code != BAD,
            "replays_checked": manifest.has_replays and any(check.name == "replays" for check in checks),
            "checks": [
                {
                    "name": check.name,
                    "compared": check.compared,
                    "holds": check.holds,
                    "problems": list(check.problems[:1000]),
                }
                for check in checks
            ],
        }
    )
