"""GameService: the games that can be played here, and their components."""

import json
from typing import Any, Final

from rubble.v1 import game_pb2, game_pb2_grpc
from service import games
from service.games.components import MARKS, Component
from service.games.core import AnyGame
from service.rpc import codec

_MARK: Final = {mark: game_pb2.Mark.Value(f"MARK_{mark.upper()}") for mark in MARKS}


def _component(component: Component) -> game_pb2.Component:
    return game_pb2.Component(
        file=component.file,
        kind=component.kind,
        id=component.id,
        values=[
            game_pb2.ComponentValue(
                name=name,
                json=json.dumps(value, ensure_ascii=False, separators=(",", ":")),
                mark=_MARK[component.marks[name]],
            )
            for name, value in component.values.items()
        ],
    )


def describe(game: AnyGame) -> game_pb2.GetGameResponse:
    """Return the full description of one game."""
    return game_pb2.GetGameResponse(
        game=codec.summary_message(game),
        components=[_component(component) for component in game.components],
        notation=[game_pb2.NotationRow(text=text, meaning=meaning) for text, meaning in game.notation],
        board_css=game.board.css if game.board is not None else "",
    )


class GameService(game_pb2_grpc.GameServiceServicer):
    """Responses never change while the process runs, so each is made once."""

    def __init__(self) -> None:
        self._list = game_pb2.ListGamesResponse(
            games=[codec.summary_message(game) for game in games.all_games().values()]
        )
        self._described: dict[str, game_pb2.GetGameResponse] = {}

    async def ListGames(self, request: game_pb2.ListGamesRequest, context: Any) -> game_pb2.ListGamesResponse:
        """Return a summary of every game."""
        return self._list

    async def GetGame(self, request: game_pb2.GetGameRequest, context: Any) -> game_pb2.GetGameResponse:
        """Return one game; BadSetup lists the valid ids."""
        game = games.get(request.game)
        if game.id not in self._described:
            self._described[game.id] = describe(game)
        return self._described[game.id]
