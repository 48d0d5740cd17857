"""A view that travelled comes back as it was, for every eye of every game."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.house.views import plain, plain_view
from service.games import all_games
from service.games.chance import seeds_of
from service.games.core import AnyGame
from service.games.playing import play_on, player_streams
from service.rpc import codec
from service.rpc.codec import plain as any_game
from tests.example_game import GAMES as EXAMPLES

GAMES = [*all_games().values(), *EXAMPLES]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.id)
@settings(max_examples=12)
@given(data=st.data())
def test_every_view_comes_back_as_it_was(game: AnyGame, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, 10**6), label="seed")
    seats = data.draw(st.sampled_from(game.seats), label="seats")
    player = game.players[data.draw(st.sampled_from(["random", "greedy"]), label="player")]
    step = data.draw(st.integers(5, 40), label="plies between two looks")
    state = game.new(seats, {}, seeds_of(number))
    streams = player_streams(number, 0, seats)
    encode = codec.for_game(game).view
    while True:
        for eye in (None, *range(seats)):
            view = game.view(state, eye)
            message = encode(view)
            assert plain(message) == view
            assert plain_view(getattr(message, message.WhichOneof("game") or "")) == view
        if not play_on(game, state, [player] * seats, streams, plies=step):
            break


def test_plain_data_of_any_shape_comes_back_as_it_was() -> None:
    view = {
        "n": -3,
        "big": 2**40,
        "text": "",
        "yes": True,
        "nothing": None,
        "list": [1, [False, None], {}],
        "table": {"a": 0},
    }

    back = plain(any_game.view(view))

    assert back == view
    assert [type(back[name]) for name in ("n", "yes")] == [int, bool]
