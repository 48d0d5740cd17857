"""GameService through a real channel: what a client can learn about the games without reading the code."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

import grpc
import pytest

from rubble.v1 import game_pb2, game_pb2_grpc
from service.games import all_games, get
from service.games.core import BadSetup
from service.rpc.games import GameService, describe
from tests.conformance.subjects import subjects
from tests.harness.in_process import grpc_server

T = TypeVar("T")


def asked(question: "Callable[[game_pb2_grpc.GameServiceAsyncStub], Awaitable[T]]") -> T:  # known to the stubs only
    """The answer of a server that runs during the request."""

    async def ask() -> T:
        add = partial(game_pb2_grpc.add_GameServiceServicer_to_server, GameService())
        async with grpc_server(add) as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            return await question(game_pb2_grpc.GameServiceStub(channel))

    return asyncio.run(ask())


def test_every_game_is_listed_with_its_seats_and_version() -> None:
    listed = asked(lambda stub: stub.ListGames(game_pb2.ListGamesRequest()))

    assert [(game.id, game.title, game.min_seats, game.max_seats, game.version) for game in listed.games] == [
        (game.id, game.title, game.seats[0], game.seats[-1], game.version) for game in all_games().values()
    ]


def test_options_come_with_their_defaults_and_valid_values() -> None:
    listed = asked(lambda stub: stub.ListGames(game_pb2.ListGamesRequest()))
    solo = next(game for game in listed.games if game.id == "sf1906-2e")
    options = {option.name: option for option in solo.options}

    assert options["map"].default_value.text == "pairs"
    assert [choice.text for choice in options["map"].choices] == ["pairs", "free"]
    assert options["solo_blocked"].default_value.number == 1
    assert [choice.number for choice in options["solo_blocked"].choices] == [1, 4]
    assert not options["map"].HasField("range")
    assert options["map"].about


def test_a_range_has_its_limits() -> None:
    salvage = next(subject.game for subject in subjects() if subject.game.id == "salvage")
    (rounds,) = describe(salvage).game.options

    assert (rounds.range.low, rounds.range.high) == (2, 5)
    assert not rounds.choices
    assert rounds.default_value.number == 4


@pytest.mark.parametrize("game_id", list(all_games()))
def test_all_components_are_listed_value_by_value_with_their_marks(game_id: str) -> None:
    told = asked(lambda stub: stub.GetGame(game_pb2.GetGameRequest(game=game_id)))
    game = get(game_id)

    back = [
        (
            component.file,
            component.kind,
            component.id,
            {value.name: json.loads(value.json) for value in component.values},
            {value.name: game_pb2.Mark.Name(value.mark).removeprefix("MARK_").lower() for value in component.values},
        )
        for component in told.components
    ]
    assert back == [(entry.file, entry.kind, entry.id, entry.values, entry.marks) for entry in game.components]
    assert [(row.text, row.meaning) for row in told.notation] == list(game.notation)
    assert told.game.id == game_id


def test_an_unknown_game_is_refused_with_the_valid_ids() -> None:
    with pytest.raises(BadSetup, match="sf1906-2e"):
        asyncio.run(GameService().GetGame(game_pb2.GetGameRequest(game="chess"), None))
