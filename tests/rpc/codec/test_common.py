"""Messages that all sessions share: nothing is shown too early, and nothing is silently accepted."""

import pytest
from msgspec.structs import replace

from rubble.v1 import common_pb2, session_pb2
from service.games.chance import seeds_of
from service.games.core import Line, Outcome, Result
from service.rpc import codec
from service.sessions.clock import TimeControl
from service.sessions.entries import Fault, Status
from service.sessions.errors import BadRequest
from service.sessions.session import Header, Session, commitment, new_session

SEEDS = seeds_of(9)
HEADER = Header(
    "s-9",
    "sf1906-2e",
    1,
    {"map": "free", "solo_blocked": 1},
    SEEDS.table,
    SEEDS.deck,
    TimeControl(1000, 2000, 30, 4000),
    ("anna", ""),
    hold_seeds=True,
    created_ms=77,
)


def finished(hold_seeds: bool) -> Session:
    session = new_session(replace(HEADER, hold_seeds=hold_seeds), 100)
    session.resign(1, 200)
    return session


def test_options_go_there_and_back() -> None:
    message = session_pb2.Session(options=codec.options_message(HEADER.options))

    assert codec.options_from(session_pb2.Session.FromString(message.SerializeToString()).options) == HEADER.options


def test_an_option_without_a_value_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"options\[map\]"):
        codec.options_from({"map": common_pb2.OptionValue()})


def test_every_fault_and_status_has_the_number_that_the_contract_gives_its_name() -> None:
    faults = {codec.fault_value(fault): f"FAULT_{fault or 'UNSPECIFIED'}" for fault in Fault}
    statuses = {codec.status_value(status): f"SESSION_STATUS_{status}" for status in Status}

    assert faults == {value.number: value.name for value in common_pb2.Fault.DESCRIPTOR.values}
    assert {0: "SESSION_STATUS_UNSPECIFIED"} | statuses == {
        value.number: value.name for value in session_pb2.SessionStatus.DESCRIPTOR.values
    }
    assert not Fault.NONE and all(fault for fault in Fault if fault is not Fault.NONE)


def test_an_outcome_carries_its_score_sheet() -> None:
    outcome = Outcome(
        (Result("orange", 2, -3, (Line("development", -7), Line("buildings", 4))),),
        "FINAL_YEAR",
        (Result("Committee of Fifty", 1, 20, ()),),
    )

    message = common_pb2.Outcome.FromString(codec.outcome_message(outcome).SerializeToString())

    assert message.ending == "FINAL_YEAR"
    assert [(result.name, result.rank, result.score) for result in message.seats] == [("orange", 2, -3)]
    assert [(line.label, line.points) for line in message.seats[0].lines] == [("development", -7), ("buildings", 4)]
    assert message.house[0].name == "Committee of Fifty"


def test_a_running_session_shows_what_is_public() -> None:
    session = new_session(HEADER, 100)

    message = codec.session_message(session, 0, is_operator=False)

    assert (message.session, message.game, message.game_version) == ("s-9", "sf1906-2e", 1)
    assert message.status == session_pb2.SESSION_STATUS_ACTIVE
    assert [seat.bot for seat in message.seats] == ["anna", ""]
    assert [seat.bank_ms for seat in message.seats] == [2000, 2000]
    assert list(message.to_act) == session.open_seats() != []
    assert message.commitments.deck == commitment(SEEDS.deck)
    assert not message.HasField("seeds")
    assert not message.HasField("outcome")
    assert (message.created_at_ms, message.ended_at_ms) == (77, 0)
    for seed in (SEEDS.table, SEEDS.deck):
        assert seed not in message.SerializeToString()


def test_the_seeds_are_shown_once_they_are_revealed() -> None:
    held, open_ended = finished(hold_seeds=True), finished(hold_seeds=False)

    assert not codec.session_message(held, 0, is_operator=False).HasField("seeds")
    assert codec.session_message(open_ended, 0, is_operator=False).seeds == codec.seeds_message(HEADER)
    held.reveal(300)
    assert codec.session_message(held, 0, is_operator=False).seeds == codec.seeds_message(HEADER)


def test_the_bots_of_a_nameless_session_are_shown_to_the_operator_and_with_the_seeds_to_everybody() -> None:
    def shown(session: Session, *, is_operator: bool) -> list[str]:
        return [seat.bot for seat in codec.session_message(session, 0, is_operator=is_operator).seats]

    session = new_session(replace(HEADER, nameless=True), 100)
    assert (shown(session, is_operator=True), shown(session, is_operator=False)) == (["anna", ""], ["", ""])
    session.resign(1, 200)
    assert (shown(session, is_operator=True), shown(session, is_operator=False)) == (["anna", ""], ["", ""])
    session.reveal(300)
    assert (shown(session, is_operator=True), shown(session, is_operator=False)) == (["anna", ""], ["anna", ""])


def test_an_ended_session_names_fault_and_outcome() -> None:
    message = codec.session_message(finished(hold_seeds=True), 0, is_operator=False)

    assert message.status == session_pb2.SESSION_STATUS_FINISHED
    assert message.seats[1].fault == common_pb2.FAULT_RESIGNED
    assert message.seats[0].fault == common_pb2.FAULT_UNSPECIFIED
    assert [result.rank for result in message.outcome.seats] == [1, 2]
    assert list(message.to_act) == []
    assert message.ended_at_ms == 200
