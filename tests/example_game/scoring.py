"""4: who won, by how much, and why it ended."""

from service.games.core import Line, Outcome, Result, rank
from tests.example_game.box import CREWS, FINDS
from tests.example_game.state import OVER, State


def outcome(state: State) -> Outcome | None:
    """None while the game goes on."""
    if state.phase != OVER:
        return None
    left = [max(CREWS[crew].strength for crew in hand) for hand in state.hands]
    sheets = [
        (
            Line("finds", sum(FINDS[find].worth for find in state.won[seat])),
            Line("strongest crew left", int(left[seat] == max(left))),
        )
        for seat in range(state.seats)
    ]
    scores = [sum(line.points for line in sheet) for sheet in sheets]
    ranks = rank([(score,) for score in scores])
    results = [Result(f"seat {seat}", ranks[seat], scores[seat], sheets[seat]) for seat in range(state.seats)]
    return Outcome(tuple(results), ending="ROUNDS_PLAYED")
