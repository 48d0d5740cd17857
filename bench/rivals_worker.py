"""The worker that plays the games of other projects, in their own environment. Games that are not installed are left out."""

import random
from importlib.metadata import version

from bench.serving import Turn, serve

SPIEL_GAMES = ("gin_rummy", "backgammon", "hearts")


def spiel_turn(name: str) -> Turn:
    """A turn is one game of OpenSpiel by random choice, driven from Python. Chance nodes count as steps."""
    import pyspiel

    game = pyspiel.load_game(name)
    chance = random.Random(1906)

    def turn() -> dict[str, int]:
        state = game.new_initial_state()
        steps = 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(chance.choices(outcomes, weights)[0])
            else:
                actions = state.legal_actions()
                state.apply_action(actions[int(chance.random() * len(actions))])
            steps += 1
        return {"decisions": steps, "games": 1}

    return turn


def catan_turn() -> Turn:
    """A turn is one game of Catanatron's four random players."""
    from catanatron import Color, Game, RandomPlayer

    def turn() -> dict[str, int]:
        game = Game([RandomPlayer(color) for color in (Color.RED, Color.BLUE, Color.WHITE, Color.ORANGE)])
        game.play()
        return {"games": 1}

    return turn


def main() -> None:
    cases: dict[str, Turn] = {}
    about: dict[str, str] = {}
    try:
        cases |= {name: spiel_turn(name) for name in SPIEL_GAMES}
        about["open_spiel"] = version("open_spiel")
    except ImportError as error:
        about["open_spiel"] = f"not installed ({error})"
    try:
        cases["catanatron"] = catan_turn()
        about["catanatron"] = version("catanatron")
    except ImportError as error:
        about["catanatron"] = f"not installed ({error})"
    serve(cases, about)


if __name__ == "__main__":
    main()
