"""Whole games as text, for reviewers of rule changes.

``python -m tests.conformance.playthroughs`` rewrites all of them and prints what changed; a test compares them byte for byte.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from service.games.chance import Draws
from service.games.core import AnyGame, Outcome, Viewer
from tests.conformance.subjects import ROOT, Setup, Subject, subjects
from tests.conformance.walks import Walk, answer, draws, walk

COMMAND = "python -m tests.conformance.playthroughs"
NUMBER = 1906
PLAYERS = ("greedy", "random")
#: The smallest distance between pictures, and the largest number of pictures between the first and the last one.
PICTURE_EVERY = 40
MOST_PICTURES = 8
#: How often the views of all seats are drawn, and how often refusals are tried.
SEATS_LOOK = 3
REFUSALS_AT = 8
REFUSALS_EACH = 3


def write(table: Setup) -> str:
    """Returns the playthrough of a table."""
    return "\n".join(_lines(table)) + "\n"


def _lines(table: Setup) -> Iterator[str]:
    game = table.game
    told = walk(table, NUMBER, PLAYERS)
    plies = len(told.moves)
    yield f"{game.title}: a whole game, written by `{COMMAND}`."
    yield ""
    yield f"game     {game.id}, version {game.version}"
    yield f"seats    {table.seats}"
    yield f"seed     {NUMBER}"
    for name, value in game.complete(table.seats, {}).items():
        yield f"option   {name} = {value}"
    for seat in range(table.seats):
        yield f"player   seat {seat} is {PLAYERS[seat % len(PLAYERS)]}"
    yield ""
    every = max(PICTURE_EVERY, plies // MOST_PICTURES)
    looks = {plies * number // SEATS_LOOK for number in range(SEATS_LOOK)}
    tries = {plies * (2 * number + 1) // (2 * REFUSALS_AT) for number in range(REFUSALS_AT)}
    reasons: set[str] = set()
    chance = draws("playthrough", str(table))
    for ply, (seat, text) in enumerate(told.moves):
        state = told.states[ply]
        if ply % every == 0 or ply in looks:
            yield from _drawn(game, state)
        if ply in looks:
            for viewer in range(table.seats):
                yield from _seen(game, state, viewer)
        if ply in tries:
            yield from _refusals(told, ply, reasons, chance)
        secret = ", secret" if game.is_secret(state) else ""
        yield f"{ply + 1:>4}  seat {seat}  {text}   (of {len(told.offers[ply][seat])}{secret})"
    yield from _drawn(game, told.end, "the end")
    outcome = game.outcome(told.end)
    assert outcome is not None
    yield from _sheet(outcome)


def _picture(game: AnyGame, state: Any, viewer: Viewer) -> list[str]:
    return [("    " + "".join(text for text, _ in line)).rstrip() for line in game.picture(game.view(state, viewer))]


def _drawn(game: AnyGame, state: Any, title: str = "the table") -> Iterator[str]:
    yield from ("", f"--- {title}", *_picture(game, state, None), "")


def _seen(game: AnyGame, state: Any, viewer: Viewer) -> Iterator[str]:
    """Yields the lines in which the picture of a seat differs from that of a spectator."""
    public = set(_picture(game, state, None))
    yield f"--- seat {viewer} sees besides"
    yield from (line for line in _picture(game, state, viewer) if line not in public)
    yield ""


def _refusals(told: Walk, ply: int, reasons: set[str], chance: Draws) -> Iterator[str]:
    """Yields some earlier actions of this game that are refused now, new reasons first."""
    game, state = told.table.game, told.states[ply]
    seat = told.moves[ply][0]
    others = [other for other in range(told.table.seats) if other not in told.offers[ply]]
    said = sorted({text for offer in told.offers for options in offer.values() for text in options})
    chance.shuffle(order := list(range(len(said))))
    found: dict[str, str] = {}
    for who in [seat, *others[:1]]:
        for text in (said[index] for index in order):
            if text in told.offers[ply].get(who, ()):
                continue
            refusal = answer(game, game.copy(state), who, game.read(text))
            assert refusal is not None, f"{told.table}: {text!r} by seat {who} should have been refused"
            reason, rule, message = refusal
            found.setdefault(reason, f"      seat {who}  {text}   refused: {reason}, rule {rule}: {message}")
    for reason in sorted(found, key=lambda reason: reason in reasons)[:REFUSALS_EACH]:
        reasons.add(reason)
        yield found[reason]


def _sheet(outcome: Outcome) -> Iterator[str]:
    yield f"--- the score sheet; ending: {outcome.ending}"
    for result in [*outcome.seats, *outcome.house]:
        yield f"    {result.name}: rank {result.rank}, score {result.score}"
        for line in result.lines:
            yield f"        {line.points:>4}  {line.label}"


def expected(subject: Subject) -> dict[Path, str]:
    """Returns every playthrough of a game with its file."""
    game = subject.game
    return {subject.playthrough(seats): write(Setup(game, game.id, seats)) for seats in game.seats}


def strays(found: tuple[Subject, ...]) -> list[Path]:
    """Returns files that are no longer the playthrough of a game."""
    folders = {subject.playthroughs for subject in found}
    wanted = {subject.playthrough(seats) for subject in found for seats in subject.game.seats}
    return sorted(path for folder in folders for path in folder.glob("*/*-players.txt") if path not in wanted)


def main() -> int:
    """Rewrites all and prints what changed."""
    for subject in subjects():
        for path, text in expected(subject).items():
            before = path.read_text(encoding="utf-8") if path.exists() else None
            word = "unchanged" if before == text else "new" if before is None else "CHANGED"
            if before != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            print(f"{word:9}  {path.relative_to(ROOT)}  {len(text.encode()) / 1000:.0f} kB")
    for path in strays(subjects()):
        path.unlink()
        print(f"removed    {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
