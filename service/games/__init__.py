"""The rules. Every folder beside this file is a game or a family of editions and exports a tuple called GAMES."""

import importlib
import pkgutil
from functools import cache

from service.games.core import AnyGame, BadSetup


@cache
def all_games() -> dict[str, AnyGame]:
    """Returns every game found, by id."""
    found: dict[str, AnyGame] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__) if info.ispkg):
        for game in importlib.import_module(f"{__name__}.{module}").GAMES:
            if game.id in found:
                raise ImportError(f"two games have the id {game.id!r}; the second is in the folder {module}")
            found[game.id] = game
    return found


def get(game_id: str) -> AnyGame:
    """Returns the game with that id; raises BadSetup, which lists the valid ids, if there is none."""
    games = all_games()
    if game_id not in games:
        raise BadSetup("game", game_id, "one of " + ", ".join(games))
    return games[game_id]
