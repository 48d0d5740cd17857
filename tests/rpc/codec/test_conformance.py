"""Encodes and decodes views and actions of every registered game and of the example game. A new game is included by itself."""

from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct

from bots.bundled.decoder import decoded, view_of
from rubble.v1 import common_pb2
from service.rpc import codec
from tests.conformance.subjects import Setup, all_tables, subjects
from tests.conformance.walks import draws
from tests.rpc.codec.compare import positions

TABLES = list(all_tables())


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_view_comes_back_whole(table: Setup) -> None:
    """Nothing a viewer knows is lost or added."""
    game = table.game
    for ply, state in positions(table, 3):
        viewers = [*range(table.seats), None] if ply % 3 == 0 or not game.to_act(state) else list(game.to_act(state))
        for viewer in viewers:
            assert view_of(codec.view_message(game, state, viewer)) == game.view(state, viewer)


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_the_decoded_view_gives_the_same_sample_and_the_same_picture(table: Setup) -> None:
    """A bot reads the decoded view by the names of its fields."""
    game = table.game
    for ply, state in positions(table, 5):
        for seat in game.to_act(state) if ply % 5 == 0 else ():
            message = codec.view_message(game, state, seat)
            back = decoded(getattr(message, message.WhichOneof("game") or ""))
            assert game.picture(back) == game.picture(game.view(state, seat))
            worlds = [game.sample(view, seat, draws("sample", ply)) for view in (back, game.view(state, seat))]
            assert game.to_plain(worlds[0]) == game.to_plain(worlds[1])


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_every_legal_action_comes_back_as_itself(table: Setup) -> None:
    """The text survives, and the game reads it as the same action."""
    game = table.game
    for _, state in positions(table, 4):
        for seat in game.to_act(state):
            for action in game.legal_actions(state, seat):
                message = codec.action_message(game, action)
                assert message.text == game.text(action)
                assert game.read(message.text) == action
                assert (message.WhichOneof("game") or "") == game.messages


def test_games_with_messages_use_them_and_others_need_none() -> None:
    carried = {subject.game.id: _carrier(subject.game.id) for subject in subjects()}

    assert carried["relief"] == "relief"
    assert carried["sf1906-1e"] == carried["sf1906-2e"] == "sf1906"
    assert carried["salvage"] == "other"


def _carrier(game_id: str) -> str | None:
    game = next(subject.game for subject in subjects() if subject.game.id == game_id)
    table = Setup(game, game.id, game.seats[0])
    _, state = next(positions(table, 0))
    return codec.view_message(game, state, 0).WhichOneof("game")


def test_plain_data_of_any_shape_comes_back_as_it_was() -> None:
    view: dict[str, Any] = {
        "n": -3,
        "big": 2**40,
        "text": "",
        "yes": True,
        "nothing": None,
        "list": [1, [False, None], {}],
        "table": {"a": 0},
    }
    struct = Struct()
    struct.update(view)

    back = view_of(common_pb2.View(other=struct))

    assert back == view
    assert [type(back[name]) for name in ("n", "yes")] == [int, bool]
