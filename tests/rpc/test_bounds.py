"""Limits of requests: checked on their bytes alone, and never stricter than what the calls allow."""

import random

import pytest
from google.protobuf.message import DecodeError, Message

from rubble.v1 import bot_pb2, session_pb2, simulation_pb2
from service.rpc.bounds import MOST_FIELDS, Shape
from service.sessions.errors import BadRequest

_PLAY = Shape.of(bot_pb2.PlayRequest.DESCRIPTOR)


@pytest.mark.parametrize(
    "message",
    [
        bot_pb2.PlayRequest(),
        bot_pb2.PlayRequest(
            choices=[bot_pb2.Choice(session="s" * 64, turn=2**32 - 1, text="t", note="é" * 1000)] * 1024
        ),
        simulation_pb2.SimulateRequest(
            simulations=[simulation_pb2.Simulation(world=b"w" * 3000, actions=["plot A1"] * 100, seed=2**64 - 1)] * 256
        ),
        session_pb2.AdjudicateRequest(session="s", ranks=[1, 2, 3, 4]),
        session_pb2.CreateSessionRequest(seats=[session_pb2.SeatRequest(bot="b" * 64)] * 4),
        session_pb2.CancelSessionRequest(session="s", reason="r" * 10_000),
    ],
)
def test_every_request_that_a_call_allows_is_within_bounds(message: Message) -> None:
    Shape.of(message.DESCRIPTOR).check(message.SerializeToString())


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (bot_pb2.PlayRequest(choices=[bot_pb2.Choice()] * 1025), "choices"),
        (bot_pb2.PlayRequest(choices=[bot_pb2.Choice(session="s" * 1025)]), "session"),
        (bot_pb2.PlayRequest(choices=[bot_pb2.Choice(note="n" * 5000)]), "note"),
        (bot_pb2.PlayRequest(hello=bot_pb2.Hello(bot_key="k" * 1025)), "bot_key"),
        (simulation_pb2.SimulateRequest(simulations=[simulation_pb2.Simulation()] * 257), "simulations"),
        (simulation_pb2.SimulateRequest(simulations=[simulation_pb2.Simulation(actions=["a"] * 1001)]), "actions"),
        (simulation_pb2.SimulateRequest(simulations=[simulation_pb2.Simulation(actions=["a"] * 999)] * 34), "message"),
        (session_pb2.AdjudicateRequest(ranks=[1] * 10_000), "ranks"),
    ],
)
def test_the_first_field_beyond_its_bounds_is_named_and_shown_shortened(message: Message, field: str) -> None:
    with pytest.raises(BadRequest) as caught:
        Shape.of(message.DESCRIPTOR).check(message.SerializeToString())
    assert caught.value.facts["field"] == field
    assert len(str(caught.value)) < 400


def test_unknown_fields_count_and_groups_are_refused() -> None:
    with pytest.raises(BadRequest):
        _PLAY.check(b"\xf8\x01\x00" * (MOST_FIELDS + 1))  # field 31, a number
    with pytest.raises(IndexError):
        _PLAY.check(b"\xfb\x01\xfc\x01")  # field 31, a group


def test_the_check_of_any_bytes_ends_and_accepts_what_can_be_parsed() -> None:
    """The parser may refuse a message that the check accepts, but not the other way round."""
    chance = random.Random(1906)
    good = bot_pb2.PlayRequest(
        hello=bot_pb2.Hello(bot_key="key", sdk="sdk"),
        choices=[bot_pb2.Choice(session=f"s{number}", turn=number, text="t", note="n") for number in range(20)],
    ).SerializeToString()
    torn = 0
    for _ in range(3000):
        data = bytearray(good)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        data = data[: chance.randrange(len(data) + 1)] if chance.random() < 0.5 else data
        try:
            _PLAY.check(bytes(data))
        except BadRequest:
            continue
        except IndexError:
            torn += 1
            with pytest.raises(DecodeError):
                bot_pb2.PlayRequest.FromString(bytes(data))
    assert torn > 100
