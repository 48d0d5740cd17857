"""``python -m bots.bundled.evaluation.fit``: fits the weights of the evaluation to finished games and writes weights.toml.

Greedy players, which sometimes take a random action, play each other. At half of the stages the features of every seat are
recorded with the points it scores afterwards. The weights are those of a ridge regression of these points on the features.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bots.bundled.evaluation import FEATURES, POWERS, WEIGHTS, GameFeatures
from service import games
from service.games.chance import Draws, seeds_of
from service.games.core import AnyGame

Floats = npt.NDArray[np.float64]
#: One decision in this many is random: the evaluator must also know positions a greedy player avoids.
WHIM = 12
#: The ridge penalty, per row and in units of each feature's standard deviation.
RIDGE = 1e-3
#: One game in this many is kept for testing the weights.
TEST = 5


def rows(game: AnyGame, game_features: GameFeatures, seats: int, number: int) -> Iterator[tuple[list[float], int, int]]:
    """Yields (features, left, points still scored) from one game."""
    state = game.new(seats, {}, seeds_of(1906, number))
    draws = Draws(number.to_bytes(32, "little"), "fit")
    seen: list[tuple[int, int, list[float], int]] = []
    stage = game_features.stage(state)
    while acting := game.to_act(state):
        seat = acting[0]
        player = "greedy" if draws.below(WHIM) else "random"
        game.apply(state, seat, game.players[player](state, seat, draws))
        if game_features.stage(state) != stage and game.to_act(state):
            stage = game_features.stage(state)
            if draws.below(2):
                seen += [(who, *game_features.features(state, who), game_features.left(state)) for who in range(seats)]
    outcome = game.outcome(state)
    assert outcome is not None
    for who, points, features, left in seen:
        yield features, left, outcome.scores[who] - points


def solve(inputs: Floats, wanted: Floats) -> Floats:
    """Returns the weights of a ridge regression."""
    spread = inputs.std(axis=0) + 1e-9
    scaled = inputs / spread
    penalty = RIDGE * len(inputs) * np.eye(inputs.shape[1])
    weights: Floats = np.linalg.solve(scaled.T @ scaled + penalty, scaled.T @ wanted) / spread
    return weights


def fit(game: AnyGame, seats: int, count: int) -> list[list[float]]:
    """Returns the weights for one game and number of seats: a row per feature, a column per power of what is left."""
    game_features = FEATURES[game.id]
    found = [(number, *row) for number in range(count) for row in rows(game, game_features, seats, number)]
    features = np.array([row[1] for row in found], dtype=np.float64)
    share = np.array([row[2] for row in found], dtype=np.float64) / game_features.whole
    wanted = np.array([row[3] for row in found], dtype=np.float64)
    powers = np.stack([share**power for power in range(POWERS)], axis=1)
    inputs = (features[:, :, None] * powers[:, None, :]).reshape(len(found), -1)
    test = np.array([row[0] % TEST == 0 for row in found])
    error = wanted[test] - inputs[test] @ solve(inputs[~test], wanted[~test])
    explained = 1 - error.var() / wanted[test].var()
    print(
        f"{game.id}/{seats}: {len(found)} rows, explains {explained:.2f} of the variance in games not learnt from",
        flush=True,
    )
    weights: list[list[float]] = solve(inputs, wanted).reshape(features.shape[1], POWERS).round(5).tolist()
    return weights


def main(arguments: Sequence[str] | None = None) -> None:
    """Fits every game and number of seats."""
    parser = argparse.ArgumentParser(prog="python -m bots.bundled.evaluation.fit", description=__doc__)
    parser.add_argument("--games", type=int, default=500, help="games to learn from, for each number of seats")
    count = parser.parse_args(arguments).games
    tables = [(games.get(name), seats) for name in FEATURES for seats in games.get(name).seats]
    weights = {f"{game.id}/{seats}": fit(game, seats, count) for game, seats in tables}
    write(count, weights)


def write(count: int, weights: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Writes one block per table, one line per feature."""
    lines = [f"# Written by `python -m bots.bundled.evaluation.fit --games {count}`; one line a feature.", "[weights]"]
    for table, rows in weights.items():
        lines += [f'"{table}" = [', *(f"  {list(row)}," for row in rows), "]"]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
