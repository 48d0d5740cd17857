"""Whole games, recorded ply by ply, and small functions that compare them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from service.games.chance import SEED_BYTES, Draws, seeds_of
from service.games.core import AnyGame, Plain, Refused, Seat, Viewer
from service.games.log import History, LoggedAction
from tests.conformance.subjects import Setup, tables

#: Far more than any game has; a game that does not end is stopped here.
PLY_LIMIT = 5000


def draws(*words: object) -> Draws:
    """Returns a separate stream for every purpose."""
    return Draws(blake2b(repr(words).encode(), digest_size=SEED_BYTES).digest(), "conformance")


def canonical(plain: Plain) -> str:
    """Returns equal bytes for equal knowledge. The order of the keys counts too, since a bot can see it."""
    return json.dumps(plain, separators=(",", ":"), allow_nan=False)


def stored(game: AnyGame, state: Any) -> str:
    """The bytes a store would keep of a state."""
    return canonical(game.to_plain(state))


def texts(game: AnyGame, state: Any, seat: Seat) -> list[str]:
    """The legal actions of a seat, in their order and notation."""
    return [game.text(action) for action in game.legal_actions(state, seat)]


def viewers(table: Setup) -> list[Viewer]:
    """Returns all viewers of a table."""
    return [*range(table.seats), None]


def answer(game: AnyGame, state: Any, seat: Seat, action: Any) -> tuple[str, str, str] | None:
    """Returns reason, rule and message of a refusal, or None if the action was accepted; changes the given state."""
    try:
        game.apply(state, seat, action)
    except Refused as refused:
        return refused.reason, refused.rule, refused.message
    return None


@dataclass
class Walk:
    """One whole game: the state before every ply, who acted, the action, and the legal actions."""

    table: Setup
    states: list[Any] = field(default_factory=list)
    moves: list[tuple[Seat, str]] = field(default_factory=list)
    #: All legal actions of all seats to act, by ply.
    offers: list[dict[Seat, list[str]]] = field(default_factory=list)
    #: The history before every ply.
    entries: list[list[LoggedAction]] = field(default_factory=list)
    end: Any = None

    def history(self, ply: int) -> History[Any, Any]:
        return History(self.table.game, list(self.entries[ply]))

    @property
    def positions(self) -> list[Any]:
        """Returns every state, including the last one."""
        return [*self.states, self.end]

    def kinds(self) -> dict[tuple[object, ...], list[int]]:
        """Returns the plies by the kind of decision: who may act, secretly or openly, and with which verbs."""
        found: dict[tuple[object, ...], list[int]] = {}
        for ply, offer in enumerate(self.offers):
            verbs = sorted({text.split()[0] for options in offer.values() for text in options})
            found.setdefault((self.table.game.is_secret(self.states[ply]), len(offer), *verbs), []).append(ply)
        return found

    def choose(self, count: int, *words: object) -> list[int]:
        """Returns ``count`` plies in order, including the first, with one of every kind of decision before a second of any."""
        chance = draws("choose", str(self.table), *words)
        piles = []
        for plies in self.kinds().values():
            order = list(plies)
            chance.shuffle(order)
            piles.append(order)
        chosen = {0} if self.states else set()
        while len(chosen) < count and any(piles):
            for pile in piles:
                if pile and len(chosen) < count:
                    chosen.add(pile.pop())
        return sorted(chosen)


def walk(table: Setup, number: int, players: Sequence[str] = ("random",)) -> Walk:
    """Plays and records a whole game with bundled players, by seat in turn. Where several may act, a random one does."""
    game = table.game
    chance = draws("walk", str(table), number, *players)
    state = game.new(table.seats, dict(table.options), seeds_of(number))
    result = Walk(table)
    history: History[Any, Any] = History(game)
    while acting := list(game.to_act(state)):
        assert len(result.moves) < PLY_LIMIT, f"{table}: game {number} has not ended after {PLY_LIMIT} plies"
        seat = acting[chance.below(len(acting))]
        result.states.append(game.copy(state))
        result.offers.append({other: texts(game, state, other) for other in acting})
        result.entries.append(list(history.entries))
        action = game.players[players[seat % len(players)]](state, seat, chance)
        history.play(state, seat, action)
        result.moves.append((seat, game.text(action)))
    result.end = state
    return result


#: The players of the recorded games: random alone, then both kinds.
MIXES = (("random",), ("greedy", "random"), ("random", "greedy"), ("greedy",))


@lru_cache(maxsize=16)
def remembered(table: Setup, number: int = 0) -> Walk:
    """Returns walk ``number`` at a table, played once for all checks."""
    return walk(table, number, MIXES[number % len(MIXES)])


class Pool:
    """Texts of actions seen anywhere in a game; at another moment or table they may be refused."""

    def __init__(self, walks: Iterable[Walk]) -> None:
        seen = {text for walk in walks for offer in walk.offers for options in offer.values() for text in options}
        self.texts = sorted(seen)
        self.verbs = sorted({text.split()[0] for text in self.texts})

    def some(self, count: int, chance: Draws) -> list[str]:
        """Returns ``count`` of them, every verb once first."""
        by_verb: dict[str, list[str]] = {}
        for text in self.texts:
            by_verb.setdefault(text.split()[0], []).append(text)
        chosen = [options[chance.below(len(options))] for options in by_verb.values()]
        rest = list(range(len(self.texts)))
        chance.shuffle(rest)
        return list(dict.fromkeys(chosen + [self.texts[index] for index in rest]))[: max(count, len(chosen))]


@lru_cache(maxsize=32)
def _pool(all_tables: tuple[Setup, ...]) -> Pool:
    return Pool(walk(table, 100 + number, MIXES[number % 2]) for number, table in enumerate(all_tables))


def pool_of(table: Setup) -> Pool:
    """Returns the actions of this game, at any table."""
    return _pool(tuple(tables(table.game)))


def play_out(game: AnyGame, state: Any, chance: Draws, limit: int = PLY_LIMIT) -> list[str]:
    """Plays random actions on this state until the game is over; returns the actions."""
    said: list[str] = []
    while acting := list(game.to_act(state)):
        assert len(said) < limit, f"{game.id}: no end after {limit} plies"
        seat = acting[chance.below(len(acting))]
        actions = game.legal_actions(state, seat)
        action = actions[chance.below(len(actions))]
        said.append(f"{seat} {game.text(action)}")
        game.apply(state, seat, action)
    return said
