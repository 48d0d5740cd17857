"""Simulated tournaments with fixed seeds, each written into its own book."""

import random
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec

from orchestrator.book import Book, Match, Tournament
from orchestrator.records import Game
from orchestrator.spec import Spec

#: 3 May 2026, noon UTC.
CREATED_MS = 1_777_809_600_000
NAMES = ("granite", "brick", "cedar", "plaster", "canvas", "driftwood", "gravel", "sand", "tin", "glass")
CAUSES = ("TIMEOUT", "DISCONNECTED", "REFUSED_ACTION")


def book_of(
    folder: Path,
    *,
    names: Sequence[str] = NAMES[:6],
    players: int = 3,
    blocks: int = 60,
    seed: int = 1906,
    faulty: dict[int, float] | None = None,
    all_tie: bool = False,
    circle: bool = False,
    spec: dict[str, Any] | None = None,
    played: int | None = None,
    slower: int = 1,
) -> tuple[Book, str]:
    """A book with one tournament: ``blocks`` deals over all tables in turn, each with every rotation of the seats."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    tournament = f"t-{seed}"
    roster = 'name = "Simulated cup"\ngame = "relief"\nseed = 1906\n' + "".join(
        f"\n[[bot]]\nname = {name!r}\n" for name in names
    )
    book = Book(f"sqlite:///{folder / 'book.sqlite'}", now_ms=lambda: CREATED_MS + 86_400_000)
    entrants = range(len(names))
    tables = list(combinations(entrants, min(players, len(names))))
    planned: list[Match] = []
    for block in range(blocks):
        table = list(tables[block % len(tables)])
        for turn in range(players):
            seats = tuple(table[turn:] + table[:turn])
            order = len(planned)
            planned.append(Match(f"{seed:04d}{order:012x}", tournament, order, block, seats, b"", b"", "planned", 0, 0))
    if players == 1:
        planned = [
            Match(f"{seed:04d}{order:012x}", tournament, order, order // len(names), (order % len(names),), b"", b"",
                  "planned", 0, 0)
            for order in range(blocks * len(names))
        ]  # fmt: skip
    plain = {"game": "relief", "players": players, "entrants": list(names), "seed": 1906, "format": "round-robin"}
    book.plan(
        Tournament(
            tournament, "Simulated cup", roster, msgspec.convert(plain | (spec or {}), Spec), "running", 0, CREATED_MS
        ),
        planned,
    )
    luck: dict[tuple[int, int], float] = {}
    for match in planned[: len(planned) if played is None else played]:
        book.record_once(match, _play(match, rng, luck, faulty or {}, all_tie=all_tie, circle=circle, slower=slower))
        if match.order < 3:
            book.keep_replay(match, f'{{"match":"{match.id}"}}\n', has_seeds=True)
    if played is None:
        book.set_state(tournament, "done")
    return book, tournament


def _play(
    match: Match, rng: random.Random, luck: dict[tuple[int, int], float], faulty: dict[int, float],
    *, all_tie: bool, circle: bool, slower: int,
) -> Game:  # fmt: skip
    scores, faults = [], []
    for seat, entrant in enumerate(match.seats):
        deal = luck.setdefault((match.block, seat), rng.gauss(0, 6))
        skill = 0.0 if circle else -3.5 * entrant
        if circle and entrant < 3:
            skill = 9.0 * sum((other - entrant) % 3 == 1 for other in match.seats if other < 3)
        scores.append(60 + round(skill + deal - 1.5 * seat + rng.gauss(0, 7)))
        faults.append(rng.choice(CAUSES) if rng.random() < faulty.get(entrant, 0.0) else "")
    if all_tie:
        scores = [50] * len(scores)
    rated = [-1000 if cause else score for score, cause in zip(scores, faults, strict=True)]
    ranks = tuple(1 + sum(other > own for other in rated) for own in rated)
    think = tuple(slower * round(rng.lognormvariate(6 + 0.2 * entrant, 0.5)) for entrant in match.seats)
    ending = "NORMAL" if not any(faults) else "FORFEIT"
    return match.result(ranks, tuple(scores), tuple(faults), think, ending, 80)
