"""Pebbles: three heaps; players take from one of them, and the player who takes the last pebble wins. Nothing is hidden.

The example game has every kind of secret; this one has none, and the checks must not require any.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from service.games.chance import Draws, Seeds
from service.games.core import (
    Game,
    Line,
    Options,
    Outcome,
    Picture,
    Plain,
    Refused,
    Result,
    Seat,
    Unreadable,
    Viewer,
    never_secret,
    random_player,
    rank,
)
from tests.example_game import GAME as SALVAGE

HEAPS: Final = 3
MOST: Final = 4


@dataclass(slots=True)
class State:
    """The heaps, whose turn it is, who took last, how many play."""

    heaps: list[int]
    turn: Seat
    last: Seat
    seats: int


@dataclass(frozen=True)
class Take:
    """Takes some pebbles of one heap."""

    count: int
    heap: int


TAKES: Final = {f"take {n} {heap}": Take(n, heap) for heap in range(HEAPS) for n in range(1, MOST + 1)}


def _setup(seats: int, options: Options, seeds: Seeds) -> State:
    chance = Draws(seeds.table, "heaps")
    return State([1 + chance.below(MOST) for _ in range(HEAPS)], 0, 0, seats)


def _to_act(state: State) -> list[Seat]:
    return [state.turn] if any(state.heaps) else []


def _legal_actions(state: State, seat: Seat) -> Sequence[Take]:
    return [take for take in TAKES.values() if seat in _to_act(state) and take.count <= state.heaps[take.heap]]


def _apply(state: State, seat: Seat, take: Take) -> None:
    if take not in _legal_actions(state, seat):
        raise Refused("NOT_POSSIBLE", rule="1", message=f"{_text(take)} is not possible for seat {seat}")
    state.heaps[take.heap] -= take.count
    state.turn, state.last = (seat + 1) % state.seats, seat


def _outcome(state: State) -> Outcome | None:
    if any(state.heaps):
        return None
    scores = [int(seat == state.last) for seat in range(state.seats)]
    ranks = rank([(score,) for score in scores])
    results = [Result(f"seat {s}", ranks[s], scores[s], (Line("last", scores[s]),)) for s in range(state.seats)]
    return Outcome(tuple(results), "LAST_PEBBLE")


def _text(take: Take) -> str:
    return f"take {take.count} {take.heap}"


def _read(line: str) -> Take:
    try:
        return TAKES[" ".join(line.split())]
    except KeyError:
        raise Unreadable(line, "take 2 1") from None


def _to_plain(state: State) -> Plain:
    return [list(state.heaps), state.turn, state.last, state.seats]


def _from_plain(plain: Plain) -> State:
    heaps, turn, last, seats = plain
    return State(list(heaps), turn, last, seats)


def _view(state: State, viewer: Viewer) -> Plain:
    return {"viewer": viewer, "table": _to_plain(state)}


def _sample(seen: Plain, seat: Seat, chance: Draws) -> State:
    return _from_plain(seen["table"])


def _copy(state: State) -> State:
    return replace(state, heaps=list(state.heaps))


def _redeal(state: State, viewer: Viewer, chance: Draws) -> State:
    return _copy(state)


def _is_secret(state: State) -> bool:
    return False


def _picture(seen: Plain) -> Picture:
    return [[(f"heaps {seen['table'][0]}", "bold")]]


def _greedy(state: State, seat: Seat, chance: Draws) -> Take:
    return max(_legal_actions(state, seat), key=lambda take: take.count)


PEBBLES: Final = Game[State, Take](
    id="pebbles",
    title="Pebbles",
    version=1,
    seats=range(2, 4),
    options=(),
    setup=_setup,
    to_act=_to_act,
    legal_actions=_legal_actions,
    apply=_apply,
    outcome=_outcome,
    view=_view,
    text=_text,
    read=_read,
    sample=_sample,
    redeal=_redeal,
    automaton=_greedy,
    copy=_copy,
    to_plain=_to_plain,
    from_plain=_from_plain,
    is_secret=_is_secret,
    stays_secret=never_secret,
    picture=_picture,
    components=SALVAGE.components,
    notation=(("take 2 1", "take two pebbles of heap 1"),),
    players={"random": random_player(_legal_actions), "greedy": _greedy},
)
