"""The worker that plays Rubble's own games; ``RUBBLE_PURE`` decides which rules."""

import copy
from itertools import count

from bench.serving import Turn, serve
from service.engine import engine_kind
from service.games import all_games
from service.games.chance import seeds_of
from service.games.core import AnyGame
from service.games.playing import play_on, player_draws

#: The tables that are measured: game and seats.
TABLES = (("sf1906-2e", 4), ("relief", 3))
SEED = 1906
COPIES = 100


def random_games(game: AnyGame, seats: int) -> Turn:
    """A turn is one game, dealt and played at random, every choice from the full list of legal actions."""
    options = game.complete(seats, {})
    players = [game.players["random"]] * seats
    indexes = count()

    def turn() -> dict[str, int]:
        index = next(indexes)
        state = game.setup(seats, options, seeds_of(SEED, index))
        return {"decisions": play_on(game, state, players, player_draws(SEED, index, seats)), "games": 1}

    return turn


def copies(game: AnyGame, seats: int, *, deep: bool) -> Turn:
    """A turn copies one state from the middle of a game a hundred times."""
    state = game.new(seats, {}, seeds_of(SEED))
    players = [game.players["random"]] * seats
    length = play_on(game, game.copy(state), players, player_draws(SEED, 0, seats))
    play_on(game, state, players, player_draws(SEED, 0, seats), plies=length // 2)

    def turn() -> dict[str, int]:
        for _ in range(COPIES):
            if deep:
                copy.deepcopy(state)
            else:
                game.copy(state)
        return {"copies": COPIES}

    return turn


def beat() -> dict[str, int]:
    """Does a fixed amount of plain Python work, so that two machines can be compared."""
    seen: dict[int, int] = {}
    row = list(range(100))
    total = 0
    for step in range(1000):
        at = (step * 37) % 100
        row[at] += step & 7
        seen[row[at]] = step
        total += len(seen) if row[at] > 50 else at
    return {"beats": 1}


def main() -> None:
    games = all_games()
    cases: dict[str, Turn] = {"beat": beat}
    for name, seats in TABLES:
        if name in games:
            cases[f"{name} {seats}p"] = random_games(games[name], seats)
            cases[f"copy {name} {seats}p"] = copies(games[name], seats, deep=False)
            cases[f"deepcopy {name} {seats}p"] = copies(games[name], seats, deep=True)
    serve(cases, {"engine": engine_kind()})


if __name__ == "__main__":
    main()
