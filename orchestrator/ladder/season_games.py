"""The rated games of a season as columns, to which new blocks are added: reading all of them again takes longer than a fit."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

import numpy as np

from orchestrator.ratings.points import Flags, Ints
from orchestrator.ratings.results import Results, tables
from orchestrator.records import Game

_COLUMNS: Final = ("seats", "ranks", "scores")


class SeasonGames:
    """Games of a season at two seats or more. The order in which blocks are added does not matter."""

    def __init__(self, seats: int, games: Sequence[Game] = ()) -> None:
        self.seats = seats
        self._order: Ints = np.zeros(0, dtype=np.int64)
        self._block: Ints = np.zeros(0, dtype=np.int64)
        self._by_seat: dict[str, Ints] = {name: np.zeros((0, seats), dtype=np.int64) for name in _COLUMNS}
        self._faulted: Flags = np.zeros((0, seats), dtype=np.bool_)
        self.add(games)

    def __len__(self) -> int:
        return len(self._order)

    @property
    def blocks(self) -> frozenset[int]:
        """The blocks that have a game here."""
        return frozenset(np.unique(self._block).tolist())

    def add(self, games: Sequence[Game]) -> None:
        """Add finished games. Raises ValueError if one has another number of seats, or its position is taken."""
        for game in games:
            if len(game.seats) != self.seats:
                raise ValueError(f"game {game.order} has {len(game.seats)} seats in a season for {self.seats}")
        order = np.concatenate([self._order, _column(game.order for game in games)])
        at = np.argsort(order, kind="stable")
        taken = order[at][1:][np.diff(order[at]) == 0]
        if len(taken):
            raise ValueError(f"two games have place {int(taken[0])} in the schedule")
        self._order = order[at]
        self._block = np.concatenate([self._block, _column(game.block for game in games)])[at]
        for name in _COLUMNS:
            new = _column(chain.from_iterable(getattr(game, name) for game in games)).reshape(-1, self.seats)
            self._by_seat[name] = np.concatenate([self._by_seat[name], new])[at]
        faults = np.fromiter((cause != "" for game in games for cause in game.faults), dtype=np.bool_)
        self._faulted = np.concatenate([self._faulted, faults.reshape(-1, self.seats)])[at]

    def results(self, entrants: int) -> Results:
        """All games in schedule order. Raises ValueError if somebody sits in one who is not among the entrants."""
        sitting = self._by_seat["seats"]
        if sitting.min(initial=0) < 0 or sitting.max(initial=-1) >= entrants:
            wrong = int(sitting.max(initial=-1)) if sitting.min(initial=0) >= 0 else int(sitting.min(initial=0))
            raise ValueError(f"entrant {wrong} has a game, but there are {entrants} entrants")
        return tables(
            entrants,
            sitting,
            self._by_seat["ranks"],
            self._block,
            scores=self._by_seat["scores"],
            faulted=self._faulted,
        )


def _column(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)
