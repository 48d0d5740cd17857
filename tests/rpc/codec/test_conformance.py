"""Every game found, and the example game, through its codec: what went in comes out, whole. A new game is asked by itself."""

import pytest

from bots.house.views import plain as plain_of
from rubble.v1 import common_pb2
from service.rpc import codec
from tests.conformance.subjects import Table, all_tables, subjects
from tests.rpc.codec.compare import positions

TABLES = list(all_tables())


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_view_comes_back_whole(table: Table) -> None:
    """Nothing an eye knows is lost on the way, and nothing is added."""
    game = table.game
    fitting = codec.for_game(game)
    for ply, state in positions(table, 3):
        eyes = [*range(table.seats), None] if ply % 3 == 0 or not game.to_act(state) else list(game.to_act(state))
        for eye in eyes:
            view = game.view(state, eye)
            assert plain_of(common_pb2.View.FromString(fitting.view(view).SerializeToString())) == view


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_legal_action_comes_back_as_itself(table: Table) -> None:
    """The text survives; the typed form, without the text, says the same; and the game reads it as the very action."""
    game = table.game
    fitting = codec.for_game(game)
    for _, state in positions(table, 4):
        for seat in game.to_act(state):
            for action in game.legal_actions(state, seat):
                message = common_pb2.Action.FromString(fitting.action(action).SerializeToString())
                assert message.text == game.text(action)
                assert game.read(message.text) == action
                typed = common_pb2.Action()
                typed.CopyFrom(message)
                if typed.WhichOneof("game") is not None:
                    typed.text = ""
                assert fitting.text_of(typed) == game.text(action)


def test_games_with_messages_use_them_and_others_need_none() -> None:
    carried = {subject.game.id: _carrier(subject.game.id) for subject in subjects()}

    assert carried["relief"] == "relief"
    assert carried["sf1906-1e"] == carried["sf1906-2e"] == "sf1906"
    assert carried["salvage"] == "other"


def _carrier(game_id: str) -> str | None:
    game = next(subject.game for subject in subjects() if subject.game.id == game_id)
    table = Table(game, game.id, game.seats[0])
    _, state = next(positions(table, 0))
    return codec.for_game(game).view(game.view(state, 0)).WhichOneof("game")
