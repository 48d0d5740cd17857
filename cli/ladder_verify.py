"""``rubble ladder verify``: checks the folder of a closed season, from the secret to the last rank."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.progress import Progress
from rich.text import Text

from cli.arguments import Json
from cli.ladder_calls import refuse
from cli.terminal import console, count_of, error_console, print_json
from service.games.core import BadSetup
from service.lifetime import when_parent_dies

if TYPE_CHECKING:
    from orchestrator.ladder.season_archive import ArchivedMatch, Manifest, SeasonRecord
    from orchestrator.ladder.season_check import Check
    from orchestrator.roster import TimeControl
    from service.sessions.clock import TimeControl as Clocks

#: Exit codes. Bad input is 2, as everywhere.
GOOD, BAD, WITHOUT_REPLAYS = 0, 1, 3
#: The largest file that is read, in bytes.
LARGEST_FILE: Final = 2**30
LARGEST_REPLAY: Final = 64 * 2**20
#: This many problems of a check are shown.
SHOWN: Final = 5
#: With fewer replays than this, starting more processes takes longer than it saves.
_FEW_REPLAYS: Final = 200
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def command(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The folder of a closed season.", show_default=False)],
    noted: Annotated[
        str,
        typer.Option(
            "--manifest", metavar="HASH", help="The hash of the manifest that was published, or that you noted earlier."
        ),
    ] = "",
    json: Json = False,
) -> int:
    """Check a closed season: its draws, cards, games, table and finals are made again and compared.

    Exit code 0: everything holds. 1: something does not; what differs is printed. 2: this is not the folder of a season.
    3: everything else holds, but the folder was exported without replays, so that the results are not proven.

    Events, states of builds, dates and some more follow from nothing else: only the hash of the manifest shows whether they were
    changed after it was published.

    [dim]$[/] rubble ladder export spring --out spring-1
    [dim]$[/] rubble ladder verify spring-1
    [dim]$[/] rubble ladder verify spring-1 --manifest HASH
    """
    try:
        return _verify(folder, noted, json)
    except BadSetup as error:
        return refuse(json, "BAD_INPUT", str(error))


def _verify(folder: str, noted: str, json: bool) -> int:
    from orchestrator.ladder.season_archive import BadArchive, hash_of, read_manifest
    from orchestrator.ladder.season_check import check_manifest

    if noted and not _HASH.fullmatch(noted):
        raise BadSetup(
            "--manifest", noted, "a hash as `rubble ladder export` prints it: 64 digits 0-9 and a-f (BLAKE2b, 32 bytes)"
        )
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
    verified = _Verified(manifest, hash_of(data))

    def add(check: "Check") -> None:
        verified.checks.append(check)
        if not json:
            _print(check)

    if noted:
        add(check_manifest(verified.hash, noted))
    _check_all(path, verified, add)
    if json:
        _print_json(verified)
    else:
        _print_end(verified, is_noted=noted == verified.hash)
    return verified.code


@dataclass
class _Verified:
    """A folder, its checks so far, and what it cannot prove."""

    manifest: "Manifest"
    #: Of the manifest.
    hash: str
    checks: "list[Check]" = field(default_factory=list)
    not_proven: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code."""
        if not all(check.holds for check in self.checks):
            return BAD
        return GOOD if self.manifest.has_replays else WITHOUT_REPLAYS


def _check_all(folder: Path, verified: _Verified, add: "Callable[[Check], None]") -> None:
    """Make all checks, one by one."""
    from orchestrator.ladder.season_archive import BadArchive, read_files
    from orchestrator.ladder.season_check import Check, check_files, not_proven, season_checks

    manifest = verified.manifest
    verified.not_proven = not_proven(None, has_replays=False)
    files = {name: _read(path, LARGEST_FILE) for name, path in sorted(_found(folder).items())}
    add(check_files(manifest, files))
    try:
        record = read_files(manifest, files)
    except BadArchive as error:
        add(Check("form", "the files that have to be read", (str(error),)))
        return
    for check in season_checks(manifest, record):
        add(check)
        if check.name == "form" and not check.holds:
            return
    verified.not_proven = not_proven(record, has_replays=manifest.has_replays)
    add(_check_replays(folder, manifest, record))


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
    clocks: str
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
    there = sum(Path(each.path).name in here for each in expected)
    games = count_of(len(expected), "game")
    what = f"{games if there == len(expected) else f'{there:,} of {games}'} played again from the seeds, against the recorded "
    what += "results and the clocks"
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
    clocks = _clock_words(ladder.time_control)
    for matches, entrants in ((record.matches, names), (record.finals_matches, finalists)):
        for match in matches:
            if match.result is not None:
                path = str(folder / "replays" / f"{match.id}.jsonl")
                arenas = tuple(arena.get(entrants[entrant], "") for entrant in match.seats)
                yield _Expected(path, match, ladder.game, ladder.game_version, dict(ladder.options), clocks, arenas)


def _clock_words(control: "TimeControl | Clocks") -> str:
    """A time control in words; without a time to connect it is the service's."""
    from service.sessions.clock import TimeControl as Clocks

    names = ("move_ms", "bank_ms", "increment_ms", "seating_ms")
    times = {name: int(getattr(control, name)) for name in names}
    times["seating_ms"] = times["seating_ms"] or Clocks().seating_ms
    return ", ".join(f"{name} {time}" for name, time in times.items())


def _replay_problems(expected: Sequence[_Expected]) -> Iterator[str]:
    if len(expected) < _FEW_REPLAYS or (os.cpu_count() or 1) < 2:
        yield from map(_replay_problem, expected)
        return
    with ProcessPoolExecutor(initializer=when_parent_dies, initargs=(end_now,)) as pool:
        yield from pool.map(_replay_problem, expected, chunksize=20)


def end_now() -> None:
    """End this process at once: nobody waits for its answers."""
    os._exit(1)


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
    except BadSetup as error:
        return f"its replay cannot be read: {error}"
    if not verification.is_replayed or replay.seeds is None or replay.outcome is None:
        return f"its replay has no seeds: {verification.reason}"
    try:
        options = game_of(replay).complete(len(replay.bots), expected.options)
    except BadSetup as error:
        return f"manifest.json has options that its game does not have: {error}"
    think, decisions = think_times(text, len(match.seats))
    resigned = tuple("RESIGNED" if fault == WITHDRAWN else fault for fault in result.faults)
    for what, found, recorded in (
        ("hash", verification.hash, match.replay),
        ("session", replay.session, match.session),
        ("game", (replay.game, replay.version), (expected.game, expected.version)),
        ("options", replay.options, options),
        ("clocks", _clock_words(replay.time_control), expected.clocks),
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


def _print_end(verified: _Verified, *, is_noted: bool) -> None:
    manifest, checks, code = verified.manifest, verified.checks, verified.code
    failed = sum(not check.holds for check in checks)
    season = f"Season {manifest.season.number} of {manifest.ladder.name}"
    words = {
        GOOD: "everything holds",
        BAD: f"{failed} of {count_of(len(checks), 'check')} failed",
        WITHOUT_REPLAYS: "everything holds except the games, which were not checked: the folder has no replays",
    }[code]
    style = {GOOD: "bold green", BAD: "bold red", WITHOUT_REPLAYS: "bold yellow"}[code]
    console().print(
        Text.assemble(_printable(f"{season}: "), (words, style), f". Hash of the manifest: {verified.hash}"),
        soft_wrap=True,
    )
    how = "but unchanged since that hash was noted" if is_noted else "only by the hash of the manifest"
    which = "by this folder" if is_noted else "by this folder alone"
    console().print(Text(f"Not proven {which}, {how}: {', '.join(verified.not_proven)}."), soft_wrap=True)


def _print_json(verified: _Verified) -> None:
    manifest, checks = verified.manifest, verified.checks
    print_json(
        {
            "ladder": manifest.ladder.name,
            "season": manifest.season.number,
            "commitment": manifest.commitment,
            "manifest": verified.hash,
            "holds": verified.code != BAD,
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
            "not_proven": list(verified.not_proven),
        }
    )
