"""The wire format compared with protobuf itself, and the caches of bytes."""

import pytest
from google.protobuf.wrappers_pb2 import BytesValue, StringValue, UInt64Value
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from rubble.v1 import common_pb2, session_pb2, sf1906_pb2
from service.rpc.codec import bytes_cache, protobuf_wire


@given(st.integers(0, 2**64 - 1))
def test_numbers_are_written_as_protobuf_does(number: int) -> None:
    assert protobuf_wire.uint(1, number) == UInt64Value(value=number).SerializeToString()
    assert protobuf_wire.numbers(1)[number] == protobuf_wire.uint(1, number)


@given(st.integers(-(2**31), 2**31 - 1))
def test_signed_numbers_are_written_as_protobuf_does(number: int) -> None:
    field = protobuf_wire.fields(common_pb2.ScoreLine)["points"]
    assert (
        protobuf_wire.uint(field, protobuf_wire.zigzag(number))
        == common_pb2.ScoreLine(points=number).SerializeToString()
    )


@given(st.text())
def test_texts_are_written_as_protobuf_does(text: str) -> None:
    assert protobuf_wire.text(1, text) == StringValue(value=text).SerializeToString()


@given(st.binary(max_size=300))
def test_lengths_are_written_as_protobuf_does(payload: bytes) -> None:
    if payload:
        assert protobuf_wire.sub(1, payload) == BytesValue(value=payload).SerializeToString()
    assert protobuf_wire.frame(1)[len(payload)] + payload == protobuf_wire.sub(1, payload)


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_lists_of_numbers_are_packed_as_protobuf_does(numbers: list[int]) -> None:
    field = protobuf_wire.fields(session_pb2.Session)["to_act"]
    assert protobuf_wire.packed(field, numbers) == session_pb2.Session(to_act=numbers).SerializeToString()


def test_a_present_value_is_written_even_if_it_is_empty() -> None:
    pawn = protobuf_wire.fields(sf1906_pb2.Sf1906Player)["pawn"]
    assert protobuf_wire.present(pawn, 0) == sf1906_pb2.Sf1906Player(pawn=0).SerializeToString()
    row = protobuf_wire.fields(sf1906_pb2.Sf1906View)["permit_row"]
    assert protobuf_wire.item(row, "") == sf1906_pb2.Sf1906View(permit_row=[""]).SerializeToString()


@pytest.mark.parametrize("number", [-1, 2**64])
def test_a_number_that_does_not_fit_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        protobuf_wire.uint(1, number)


def test_a_full_cache_is_cleared() -> None:
    table: bytes_cache.BytesCache[int] = bytes_cache.BytesCache(lambda number: bytes((number,)), 3)

    for number in range(10):
        assert table[number] == bytes((number,))
        assert len(table) <= 3
    assert list(table) == [9]


def test_hits_are_counted_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytes_cache, "_COUNTED_CACHES", [])  # keeps this cache out of the metrics of other tests
    made: list[str] = []

    def make(text: str) -> bytes:
        made.append(text)
        return text.encode()

    words = bytes_cache.CountedCache("test.words", make, 10)
    for word in ("one", "two", "one", "one"):
        words.lookups += 1
        assert words[word] == word.encode()
    registry = CollectorRegistry()
    registry.register(bytes_cache.CacheCollector())
    shown = generate_latest(registry).decode()

    assert made == ["one", "two"]
    assert (words.hits, words.misses) == (2, 2)
    assert 'rubble_codec_lookups_total{result="hit",table="test.words"} 2.0' in shown
    assert 'rubble_codec_lookups_total{result="miss",table="test.words"} 2.0' in shown
    assert 'rubble_codec_entries{table="test.words"} 2.0' in shown
