"""Tournaments written as text: one game per line, ``block: a>b=c>d``, best first; a fault is ``a!timeout``."""

import re

from orchestrator.ratings.results import Results, in_schedule_order, read
from orchestrator.records import Game


def drawn(text: str, entrants: str, scores: dict[str, int] | None = None) -> list[Game]:
    """Games in the order written. Seats follow the order of the entrants' letters, rotated by one each game."""
    games = []
    for order, line in enumerate(filter(None, (line.strip() for line in text.splitlines()))):
        block, _, result = line.partition(":")
        places: dict[str, int] = {}
        faults: dict[str, str] = {}
        for rank, tied in enumerate(result.replace(" ", "").split(">"), start=1):
            for name, _, cause in re.findall(r"(\w)(!(\w+))?", tied):
                places[name] = rank
                faults[name] = cause
        names = sorted(places)
        names = names[order % len(names) :] + names[: order % len(names)]
        games.append(
            Game(
                order,
                int(block),
                tuple(entrants.index(name) for name in names),
                tuple(places[name] for name in names),
                tuple((scores or {}).get(name, 10 - places[name]) for name in names),
                tuple(faults[name] for name in names),
                (100,) * len(names),
            )
        )
    return games


def results(text: str, entrants: str) -> Results:
    """The games as columns."""
    games = drawn(text, entrants)
    players = len(games[0].seats)
    return read(in_schedule_order(games, len(entrants), players), len(entrants), players)
