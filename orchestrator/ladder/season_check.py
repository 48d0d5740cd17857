"""Checks the files of a season: everything that follows from something else is computed again and compared. Pure.

Replays are checked by ``cli/ladder_verify.py``, which knows the games.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from orchestrator.ladder.draws import commitment
from orchestrator.ladder.extension import Past, block_matches, extend
from orchestrator.ladder.model import UNOPPOSED, BuildState, DrawnTable, Kind
from orchestrator.ladder.season_archive import (
    ArchivedBuild,
    ArchivedMatch,
    ArchivedTable,
    Manifest,
    SeasonRecord,
    expected_files,
    hash_of,
    libraries,
)
from orchestrator.ladder.season_documents import drawn_table, season_documents, verdicts
from orchestrator.ladder.season_table import Entrant, TableDocument, finalists
from orchestrator.ladder.seasons import finals_id, finals_plan, finals_secret, season_id
from orchestrator.ratings.verdict import Verdict
from orchestrator.schedule import Seeds, redealt

RECORDED: Final = "recorded"
DROPPED: Final = "dropped"
#: A match is void at most this often.
_MOST_VOIDS: Final = 100
_ID: Final = re.compile(r"[0-9a-f]{32}")
#: What the files say and nothing else in them proves.
NOT_PROVEN: Final = (
    "who could be drawn",
    "that no draws are left out at the end",
    "which matches were not played",
    "who was removed from the finals",
    "that the bots chose these moves themselves",
    "events and decisions",
    "owners and parents of builds",
    "states of builds",
    "sign-up",
    "quotas",
    "the longest time of a match",
    "dates",
)
#: A difference names at most this many entrants.
_NAMED: Final = 5


@dataclass(frozen=True)
class Check:
    """One check: what was compared, in words that fit whether it holds or not, and what does not hold."""

    name: str
    compared: str
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.problems


def check_files(manifest: Manifest, files: Mapping[str, bytes]) -> Check:
    """Whether all files are there and have the hashes of the manifest."""
    expected = expected_files(manifest)
    problems = [f"{name} is missing" for name in expected if name not in files]
    problems += [f"{name} is not in the manifest" for name in expected if name not in manifest.files]
    problems += [f"{name} does not belong to a season" for name in sorted({*files, *manifest.files} - {*expected})]
    problems += [
        f"{name} has the hash {hash_of(data)}, the manifest says {manifest.files[name]}"
        for name, data in sorted(files.items())
        if name in manifest.files and hash_of(data) != manifest.files[name]
    ]
    return Check("files", f"{len(expected)} files against their hashes in manifest.json", tuple(problems))


def check_manifest(found: str, noted: str) -> Check:
    """Whether the manifest has the hash that was published or noted earlier."""
    problems = () if found == noted else (f"it has the hash {found}, not {noted}",)
    return Check("manifest", f"its hash against {noted}", problems)


def check_form(record: SeasonRecord) -> Check:
    """Whether the numbers in the files refer to each other as they should. Without this the other checks make no sense."""
    problems: list[str] = []
    count, seats = len(record.builds), record.ladder.players
    states = {state.value for state in BuildState}
    names = {build.name for build in record.builds}
    if len(names) < count:
        problems.append("builds.json: a name occurs twice")
    for build in record.builds:
        is_known = build.state in states if build.owner is not None else build.state == "bundled"
        if not is_known or (build.owner is not None and build.name != f"{build.bot}/{build.label}"):
            problems.append(
                f"builds.json: {build.name} has state {build.state!r}, bot {build.bot!r}, label {build.label!r}"
            )
    for table in record.tables:
        numbers = [*table.seats, *table.candidates, *([] if table.trial is None else [table.trial])]
        if not _are_entrants(numbers, count) or len(table.seats) != seats or len(set(table.seats)) != seats:
            problems.append(
                f"tables.jsonl: block {table.block} has seats {table.seats}, {count} entrants, {seats} seats"
            )
        if table.kind not in {kind.value for kind in Kind}:
            problems.append(f"tables.jsonl: block {table.block} has kind {table.kind!r}")
        if table.trial is not None and 0 <= table.trial < count:
            build = record.builds[table.trial]
            if table.kind != Kind.RATED or f"{build.bot}/{build.parent}" not in names:
                problems.append(
                    f"tables.jsonl: block {table.block} is a trial of {build.name}, which has no parent here"
                )
    for draw in record.draws:
        numbers = [build.number for build in draw.field.builds] + [each for both in draw.field.trials for each in both]
        if not _are_entrants(numbers, count):
            problems.append(f"draws.jsonl: draw {draw.number} names an entrant that is not in builds.json")
    problems += _match_problems("results.jsonl", record.matches, count, seats)
    if record.finals is not None:
        finals = len(record.finals.spec.entrants)
        problems += _match_problems("finals/results.jsonl", record.finals_matches, finals, seats)
        if record.finals.spec.players != seats or not _are_entrants(record.finals.removed, finals):
            problems.append("finals/spec.json: its seats or removed entrants do not belong to this season")
    return Check(
        "form",
        f"the numbers of {count} entrants, {len(record.tables)} tables and {len(record.matches)} matches against each other",
        tuple(problems),
    )


def _are_entrants(numbers: Sequence[int], count: int) -> bool:
    return all(0 <= number < count for number in numbers)


def _match_problems(file: str, matches: Sequence[ArchivedMatch], count: int, seats: int) -> Iterator[str]:
    for at, match in enumerate(matches):
        result = match.result
        if not _ID.fullmatch(match.id):
            yield f"{file}: line {at + 1} has the match {match.id!r}, expected 32 hexadecimal digits"
        if match.order != at:
            yield f"{file}: line {at + 1} is match {match.order} of the schedule"
        if not _are_entrants(match.seats, count) or len(match.seats) != seats or not 0 <= match.voids <= _MOST_VOIDS:
            yield f"{file}: match {match.id} has seats {match.seats} and {match.voids} voids"
        if match.state not in (RECORDED, DROPPED) or (result is not None) != (match.state == RECORDED):
            yield f"{file}: match {match.id} is {match.state} and has {'a' if result else 'no'} result"
        if result is not None and {
            len(each) for each in (result.ranks, result.scores, result.faults, result.think_ms)
        } != {seats}:
            yield f"{file}: the result of match {match.id} does not have {seats} seats"


def check_secret(manifest: Manifest, record: SeasonRecord) -> Check:
    """Whether the secret is the one that was committed to, and the season's id follows from it."""
    problems = []
    if (found := commitment(record.secret)) != manifest.commitment:
        problems.append(f"the secret has the commitment {found}, the manifest says {manifest.commitment}")
    season = manifest.season
    if (id_ := season_id(manifest.ladder.name, season.number, record.secret)) != season.tournament:
        problems.append(f"the secret gives the season the id {id_}, the manifest says {season.tournament}")
    if record.rules != manifest.rules:
        problems.append(f"the game and its options give the rules {record.rules}, the manifest says {manifest.rules}")
    return Check(
        "secret", f"its commitment {manifest.commitment}; compare that with what was published", tuple(problems)
    )


def check_bundled(record: SeasonRecord) -> Check:
    """Whether the bundled bots are those of the ladder."""
    found = [_plays(build.name, build.bundled, build.simulations) for build in record.builds if build.owner is None]
    expected = [_plays(bot.name, bot.bundled, bot.simulations) for bot in record.ladder.bundled]
    problems = [
        f"{one or 'nothing'} in builds.json, the manifest says {other or 'nothing'}"
        for one, other in zip_longest(found, expected)
        if one != other
    ]
    return Check("bundled bots", f"{len(found)} of builds.json against manifest.json", tuple(problems))


def _plays(name: str, bundled: str, simulations: int | None) -> str:
    return f"{name} is {bundled}" + ("" if simulations is None else f" with {simulations} simulations")


def qualifications(record: SeasonRecord) -> dict[tuple[int, int], list[ArchivedTable]]:
    """The tables of each qualification, by its build and its time: they are all drawn at once."""
    found: dict[tuple[int, int], list[ArchivedTable]] = {}
    for table in record.tables:
        if table.kind == Kind.QUALIFICATION:
            for entrant in table.seats:
                if record.builds[entrant].owner is not None:
                    found.setdefault((entrant, table.drawn_ms), []).append(table)
    return found


def check_qualification(record: SeasonRecord) -> Check:
    """Whether each qualification has as many games as the ladder asks for."""
    games = Counter(match.block for match in record.matches)
    expected = record.ladder.qualification_games
    problems = []
    attempts = qualifications(record)
    for (entrant, _), tables in attempts.items():
        played = sum(games[table.block] for table in tables)
        if played != expected:
            problems.append(
                f"{record.builds[entrant].name} has {played} games in the qualification from block {tables[0].block} on, "
                f"the manifest says {expected}"
            )
    return Check("qualification", f"the games of {len(attempts)} qualifications against manifest.json", tuple(problems))


def check_draws(record: SeasonRecord) -> Check:
    """Whether the recorded fields give the recorded tables, when they are drawn again."""
    problems: list[str] = []
    blocks = [table.block for table in record.tables]
    if blocks != list(range(len(blocks))):
        at = next(at for at, block in enumerate(blocks) if block != at)
        problems.append(f"block {at} is missing, or not at its place")
    if [draw.number for draw in record.draws] != list(range(len(record.draws))):
        problems.append("a draw is missing, or not at its place")
    owners = [build.owner for build in record.builds]
    names = [build.name for build in record.builds]
    rated: dict[int, list[ArchivedTable]] = {}
    for table in record.tables:
        if table.kind == Kind.RATED:
            rated.setdefault(table.draw, []).append(table)
    if unknown := set(rated) - {draw.number for draw in record.draws}:
        problems.append(f"the tables of draw {min(unknown)} have no draw")
    dropped = {match.block for match in record.matches if match.state == DROPPED}
    dropped -= {match.block for match in record.matches if match.state == RECORDED}
    past = Past()
    following = 0
    for draw in record.draws:
        tables = rated.get(draw.number, [])
        first = tables[0].block if tables else following
        if played := sorted(set(draw.field.withdrawn) - dropped):
            problems.append(f"draw {draw.number} says that block {played[0]} was withdrawn, but it has results")
        drawn = extend(draw.field, owners, past, record.ladder.players, record.secret, first, draw.number)
        recorded = [drawn_table(table) for table in tables]
        if drawn != recorded:
            at = next((at for at, both in enumerate(zip(drawn, recorded, strict=False)) if both[0] != both[1]), -1)
            told = (
                f"gives another table for block {recorded[at].block}: {_table_differences(drawn[at], recorded[at], names)}"
                if at >= 0
                else f"gives {len(drawn)} tables, not {len(recorded)}"
            )
            problems.append(f"draw {draw.number}, drawn again, {told}")
            break  # everything after it depends on it
        following = first + len(tables)
    drawn_count = sum(map(len, rated.values()))
    what = f"{len(record.draws)} draws, drawn again, against {drawn_count} rated tables"
    return Check("draws", what, tuple(problems))


def _table_differences(drawn: DrawnTable, recorded: DrawnTable, names: Sequence[str]) -> str:
    """What a table that was drawn again has instead of what is recorded."""

    def trial(table: DrawnTable) -> str:
        return "of no build" if table.trial is None else f"of {names[table.trial]}"

    def seats(table: DrawnTable) -> str:
        return ", ".join(names[entrant] for entrant in table.seats)

    told = [
        f"{what} {one} instead of {other}"
        for what, one, other in (
            ("block", drawn.block, recorded.block),
            ("seats", seats(drawn), seats(recorded)),
            ("rule", repr(drawn.rule), repr(recorded.rule)),
            ("trial", trial(drawn), trial(recorded)),
            ("cards of block", drawn.deal, recorded.deal),
            ("stream", repr(drawn.stream), repr(recorded.stream)),
        )
        if one != other
    ]
    more, fewer = ([names[at] for at in sorted(each)] for each in _only_in(drawn.candidates, recorded.candidates))
    told += [f"candidates with {_listed(more)} too"] if more else []
    told += [f"candidates without {_listed(fewer)}"] if fewer else []
    if drawn.candidates != recorded.candidates and not more and not fewer:
        told.append("candidates in another order")
    return "; ".join(told)


def _only_in(one: Sequence[int], other: Sequence[int]) -> tuple[set[int], set[int]]:
    return set(one) - set(other), set(other) - set(one)


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def check_matches(record: SeasonRecord) -> Check:
    """Whether ids, seats and seeds of all matches follow from the tables and the secret."""
    names = [build.name for build in record.builds]
    of_block: dict[int, list[ArchivedMatch]] = {}
    for match in record.matches:
        of_block.setdefault(match.block, []).append(match)
    problems = []
    order = 0
    for table in record.tables:
        found = of_block.pop(table.block, [])
        games = None if table.kind == Kind.RATED else min(len(found), len(table.seats)) or None
        drawn = drawn_table(table)
        planned = block_matches(record.season.tournament, record.secret, record.rules, names, drawn, games)
        if len(found) != len(planned):
            problems.append(f"block {table.block} has {len(found)} matches, expected {len(planned)}")
            continue
        for match, plan in zip(found, planned, strict=True):
            problems += _differences(match, order, plan.id, plan.seats, plan.seeds)
            order += 1
    problems += [f"block {block} has matches, but was not drawn" for block in sorted(of_block)]
    what = f"ids, seats and seeds of {len(record.matches)} matches against the secret{_not_played(record.matches)}"
    return Check("matches", what, tuple(problems))


def _not_played(matches: Sequence[ArchivedMatch]) -> str:
    """How many of these were not played. Nothing proves that: an organiser can leave out a result."""
    dropped = sum(match.state == DROPPED for match in matches)
    return f"; {dropped} of them were not played, which no check can prove" if dropped else ""


def _differences(match: ArchivedMatch, order: int, id_: str, seats: tuple[int, ...], seeds: Seeds) -> Iterator[str]:
    deck = seeds.deck
    for void in range(1, match.voids + 1):
        deck = redealt(deck, id_, void)
    for what, found, expected in (
        ("the id", match.id, id_),
        ("the place in the schedule", match.order, order),
        ("the seats", match.seats, seats),
        ("the table seed", match.table_seed, seeds.table.hex()),
        ("the deck seed", match.deck_seed, deck.hex()),
    ):
        if found != expected:
            yield f"match {match.id}: {what} is {found}, the secret and the table give {expected}"


def check_verdicts(record: SeasonRecord) -> Check:
    """Whether the verdicts by which bots count are those of the trials."""
    problems = []
    tried = {found.new: found for found in verdicts(record)}
    by_name = {build.name: build for build in record.builds}
    for build in record.builds:
        found = tried.get(build.name)
        if build.owner is None or not build.parent:
            possible = {""}
        elif found is not None and found.verdict is not Verdict.RUNNING:
            possible = {found.verdict.value}
        elif found is not None or record.season.number == 1:
            possible = {Verdict.RUNNING.value}
        else:
            continue  # decided in an earlier season
        if build.parent and _is_retired(by_name.get(f"{build.bot}/{build.parent}")):
            possible.add(UNOPPOSED)
        if build.verdict not in possible:
            problems.append(f"{build.name} has the verdict {build.verdict!r}, its trials give {min(possible)!r}")
    return Check("verdicts", f"the verdicts of {len(tried)} builds against their trials", tuple(problems))


def _is_retired(build: ArchivedBuild | None) -> bool:
    return build is None or build.state == BuildState.RETIRED


def check_documents(manifest: Manifest, record: SeasonRecord) -> Iterator[Check]:
    """Whether the table, pairs, verdicts and the table of the finals are computed again, to the byte."""
    found, expected = record.documents, season_documents(record)
    other = [
        f"{name} {version}" for name, version in manifest.computed_with.items() if libraries().get(name) != version
    ]
    hint = f" (it was computed with {', '.join(other)})" if other else ""
    for name, file, one, again in (
        ("table", "table.json", found.table, expected.table),
        ("pairs", "pairs.json", found.pairs, expected.pairs),
        ("trials", "verdicts.json", found.verdicts, expected.verdicts),
        ("finals table", "finals/table.json", found.finals_table, expected.finals_table),
    ):
        if again is not None:
            problem = _first_difference(file, one or b"", again)
            problems = (f"{problem}{hint}",) if problem else ()
            yield Check(name, f"{file} against what the results give, to the byte", problems)
    yield check_finals(record, TableDocument.from_json(expected.table))


def _first_difference(file: str, found: bytes, expected: bytes) -> str:
    if found == expected:
        return ""
    lines, again = found.splitlines(), expected.splitlines()
    for number, (one, other) in enumerate(zip(lines, again, strict=False), start=1):
        if one != other:
            there, here = (line.decode(errors="replace").strip() for line in (one, other))
            return f"{file} line {number} is {there!r:.80}, the results give {here!r:.80}"
    return f"{file} has {len(lines)} lines, the results give {len(again)}"


def check_finals(record: SeasonRecord, table: TableDocument) -> Check:
    """Whether the finals were played by the right builds, on the cards that follow from the secret."""
    ladder, season = record.ladder, record.season
    entrants = [Entrant(build.name, build.owner) for build in record.builds]
    field = finalists(table, entrants, ladder.finals_builds)
    if record.finals is None:
        problems = [] if len(field) < ladder.players else [f"{len(field)} builds qualified, but there are no finals"]
        return Check("finals", "none; the builds that qualified by the table against the seats", tuple(problems))
    problems = []
    if (id_ := finals_id(season.tournament)) != season.finals:
        problems.append(f"their id is {season.finals}, the season's gives {id_}")
    names = tuple(record.builds[entrant].name for entrant in field)
    spec = record.finals.spec
    if spec.entrants != names:
        problems.append(f"their entrants are {', '.join(spec.entrants)}; by the table they are {', '.join(names)}")
    else:
        versions = [(record.builds[entrant].name, record.builds[entrant].arena) for entrant in field]
        plan = finals_plan(
            id_, finals_secret(record.secret), record.rules, versions, ladder.players, ladder.finals_deals
        )
        number = {name: at for at, name in enumerate(names)}
        planned = [(block.ord, match) for block in plan for match in block.matches]
        if len(planned) != len(record.finals_matches):
            problems.append(f"they have {len(record.finals_matches)} matches, expected {len(planned)}")
        for match, (block, expected) in zip(record.finals_matches, planned, strict=False):
            seats = tuple(number[entrant.name] for entrant in expected.seats)
            problems += _differences(match, expected.ord, expected.id, seats, expected.seeds)
            if match.block != block:
                problems.append(f"match {match.id} is in block {match.block}, expected {block}")
    for what, found, expected_ in (
        ("game", (spec.game, spec.game_version, spec.options), (ladder.game, ladder.game_version, ladder.options)),
        ("clocks", spec.time_control, ladder.time_control),
        ("longest time of a match", spec.match_seconds, ladder.match_seconds),
    ):
        if found != expected_:
            problems.append(f"finals/spec.json has another {what} than manifest.json")
    what = (
        f"{len(names)} builds against the table, and {len(record.finals_matches)} matches against the secret"
        f"{_not_played(record.finals_matches)}"
    )
    if removed := [spec.entrants[entrant] for entrant in record.finals.removed]:
        what += f"; {_listed(removed)} {'was' if len(removed) == 1 else 'were'} removed, which no check can prove"
    return Check("finals", what, tuple(problems))


def not_proven(record: SeasonRecord | None, *, has_replays: bool) -> tuple[str, ...]:
    """What the folder says and does not prove. ``record`` is None if it could not be read."""
    played = () if has_replays else ("results", "clocks")
    qualified = () if record is not None and qualifications(record) else ("qualification games",)
    return (*played, *NOT_PROVEN, *qualified)


def season_checks(manifest: Manifest, record: SeasonRecord) -> Iterator[Check]:
    """All checks but those of the files themselves and of replays. After a wrong form the others are left out."""
    form = check_form(record)
    yield form
    if not form.holds:
        return
    one_by_one: tuple[Callable[[], Check], ...] = (
        lambda: check_secret(manifest, record),
        lambda: check_bundled(record),
        lambda: check_draws(record),
        lambda: check_matches(record),
        *([lambda: check_qualification(record)] if qualifications(record) else []),
        lambda: check_verdicts(record),
    )
    for check in one_by_one:
        yield check()
    yield from check_documents(manifest, record)
