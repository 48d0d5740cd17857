"""Plays whole games with bundled players: the loop that simulations, benchmarks and tests share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from service.games.chance import SEED_BYTES, Draws, seeds_of
from service.games.core import AnyGame, Options, Outcome, Seat

#: (state, seat, the player's own random stream) -> an action.
Player = Callable[[Any, Seat, Draws], Any]


@dataclass(frozen=True)
class Played:
    """One finished game. Equal digests mean the same actions in the same order with the same outcome."""

    outcome: Outcome
    decisions: int
    digest: str


def player_draws(number: int, index: int, seats: int) -> list[Draws]:
    """Returns one random stream for each seat in game ``index`` of a series, independent of the cards and of each other."""
    return [
        Draws(
            blake2b(f"{number}/{index}/{seat}".encode(), digest_size=SEED_BYTES, person=b"rubble-player").digest(),
            "player",
        )
        for seat in range(seats)
    ]


def play_on(
    game: AnyGame,
    state: Any,
    players: Sequence[Player],
    draws_by_seat: Sequence[Draws],
    *,
    plies: int | None = None,
    apply: Callable[[Any, Seat, Any], None] | None = None,
) -> int:
    """Lets the players decide until the game is over or ``plies`` decisions are made; returns the number of decisions.

    Where several seats may act they are asked in order. ``apply`` may replace the game's own, for example to keep a log.
    """
    to_act = game.to_act
    act = game.apply if apply is None else apply
    decisions = 0
    while plies is None or decisions < plies:
        acting = to_act(state)
        if not acting:
            break
        seat = acting[0]
        act(state, seat, players[seat](state, seat, draws_by_seat[seat]))
        decisions += 1
    return decisions


def play_one(game: AnyGame, seats: int, options: Options, players: Sequence[Player], number: int, index: int) -> Played:
    """Plays game ``index`` of the series with that number, from the deal to the outcome."""
    state = game.new(seats, options, seeds_of(number, index))
    log: list[str] = []

    def apply(state: Any, seat: Seat, action: Any) -> None:
        game.apply(state, seat, action)
        log.append(f"{seat} {game.text(action)}")

    decisions = play_on(game, state, players, player_draws(number, index, seats), apply=apply)
    outcome = game.outcome(state)
    if outcome is None:
        raise RuntimeError(f"{game.id}: no seat is to act after {decisions} decisions, but the game is not over")
    log.append(f"{outcome.ending} {outcome.scores} {outcome.ranks}")
    return Played(outcome, decisions, blake2b("\n".join(log).encode(), digest_size=16).hexdigest())
