"""Replay files: their content, and that no change goes unnoticed."""

import json
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from service.games import all_games
from service.games.chance import seeds_of
from service.sessions.clock import LAG_MS
from service.sessions.entries import Acted, AnswerRefused
from service.sessions.replay import (
    NO_HASH,
    BadReplay,
    canonical,
    chain,
    decode_replay,
    hash_of,
    read_replay,
    write_replay,
)
from service.sessions.replay_verify import HELD_BACK, RUNNING, Verification, tables, verify_replay
from service.sessions.session import commitment
from tests.sessions.scripted_sessions import CONTROL, ScriptedSession

Lines = list[dict[str, Any]]
WHOLE_BANK = CONTROL.move_ms + CONTROL.bank_ms + LAG_MS


def written(table: ScriptedSession) -> str:
    return write_replay(table.session, table.entries)


def lines_of(text: str) -> Lines:
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]  # a note may hold a U+2028


def rechained(text: str, change: Callable[[Lines], Any]) -> str:
    """The file as a forger would write it: lines changed, and the chain computed again."""
    lines = lines_of(text)
    change(lines)
    return chain([{name: value for name, value in line.items() if name not in {"prev", "hash"}} for line in lines])


def first(lines: Lines, kind: str, place: int = 0) -> dict[str, Any]:
    return [line for line in lines if line["kind"] == kind][place]


@cache
def eventful() -> str:
    """A game of three seats with everything that can happen: notes, secrets, refusals, a late seat, the automaton."""
    table = ScriptedSession("relief", 3)
    table.seat_all()
    table.answer(note="north, then a park – why not?\nsecond line\u2028third")
    table.play(6)
    table.answer_wrongly(table.open[0])
    table.play(20)
    table.play_until(lambda session: len(session.open_seats()) == 1)
    table.expire(WHOLE_BANK + 1, table.open[0])
    assert not table.is_over
    text = written(table.finish())
    assert {line["kind"] for line in lines_of(text)} == {
        "header", "seated", "act", "refused", "fault", "house", "end", "outcome", "seeds",
    }  # fmt: skip
    return text


@cache
def duel() -> str:
    """A quick game of two seats without special events."""
    return written(ScriptedSession("sf1906-2e", 2).finish())


def refused(verification: Verification) -> str:
    assert not verification.ok
    assert verification.line >= 1
    assert not verification.is_replayed
    return verification.reason


def short() -> str:
    """The example of docs/replays.md: two moves, then seat 1 resigns."""
    table = ScriptedSession("sf1906-2e", 2, id="example", bots=("ada", "bob"))
    table.seat_all()
    table.answer(0, 0, after=412, note="money first")
    table.answer(0, 0, after=95)
    table.now += 1_300
    table.resign(1)
    return written(table)


# --------------------------------------------------------------------------------------------------------- what is written
@pytest.mark.parametrize(("game", "seats"), [(g.id, seats) for g in all_games().values() for seats in g.seats])
def test_a_replay_of_any_game_is_valid(game: str, seats: int) -> None:
    table = ScriptedSession(game, seats).finish()
    verification = verify_replay(written(table))

    assert (verification.ok, verification.reason.endswith("actions replayed"), verification.is_replayed) == (
        True,
        True,
        True,
    )
    assert verification.actions == len(table.actions)
    assert (verification.session, verification.game, verification.lines) == (
        table.session.header.id,
        game,
        len(table.entries) + 2,
    )


def test_a_replay_with_every_kind_of_event_is_valid() -> None:
    assert verify_replay(eventful()).is_replayed


def test_lines_are_canonical_and_chained() -> None:
    prev = NO_HASH
    for text in eventful().removesuffix("\n").split("\n"):
        line = json.loads(text)
        assert canonical(line).decode() == text
        assert line["prev"] == prev
        prev = line.pop("hash")
        assert prev == hash_of(line)


def test_canonical_json_sorts_keys_leaves_no_spaces_and_keeps_letters() -> None:
    assert (
        canonical({"b": [1, "ü\n"], "a": {"d": True, "c": None}}).decode() == '{"a":{"c":null,"d":true},"b":[1,"ü\\n"]}'
    )


def test_a_replay_describes_its_session() -> None:
    table = ScriptedSession("relief", 2, bots=("ada", ""), options={"objectives": "own"}).finish()
    header, *_, outcome, seeds = lines_of(written(table))

    assert header["bots"] == ["ada", ""]
    assert header["options"] == {"end_on_discard": "full_round", "objectives": "own"}
    assert header["time_control"] == {"move_ms": 1_000, "bank_ms": 5_000, "increment_ms": 0, "seating_ms": 20_000}
    assert header["commitments"]["deck"] == commitment(table.session.header.deck_seed).hex()
    assert outcome["ranks"] == list(table.ranks)
    assert seeds["table"] == table.session.header.table_seed.hex()


def test_a_replay_is_read_as_it_was_written() -> None:
    table = ScriptedSession("relief", 3)
    table.seat_all()
    table.answer(note="a note")
    table.resign(1)
    table.finish()
    replay = read_replay(written(table))

    assert list(replay.entries) == table.entries[:-1]
    assert replay.sheet() == table.session.outcome
    assert replay.header().seeds == table.session.header.seeds
    assert replay.time_control == CONTROL


def test_the_tables_of_a_replay_are_those_of_the_game() -> None:
    table = ScriptedSession("relief", 2).finish()
    states = list(tables(read_replay(written(table))))

    assert len(states) == len(table.entries)  # one before the first entry, none for the reveal
    plain = table.session.game.to_plain
    assert plain(states[-1]) == plain(table.session.state)


def test_a_longer_log_than_the_session_knows_is_cut() -> None:
    """The log may have grown after the session was loaded."""
    table = ScriptedSession("sf1906-2e", 2)
    table.play(5)
    text = written(table)
    table.entries += table.session.answer(table.open[0], table.turn(table.open[0]), 0, "", table.now)[1]
    table.session.revision = 5

    assert written(table) == text


def test_a_log_with_holes_cannot_be_written() -> None:
    table = ScriptedSession("sf1906-2e", 2)
    table.play(5)

    with pytest.raises(ValueError, match="revision 5"):
        write_replay(table.session, table.entries[:4])


# ------------------------------------------------------------------------------------------------------------ while it runs
def test_a_file_only_ever_grows() -> None:
    """A hash noted during the game is found in the finished file."""
    table = ScriptedSession("relief", 3, hold_seeds=True)
    table.seat_all()
    before = ""
    while not table.is_over:
        for _ in range(5):
            if not table.is_over:
                table.answer()
        text = written(table)
        assert text.startswith(before)
        before = text
    held = written(table)
    assert held.startswith(before)
    table.wrote(table.session.reveal(table.now + 5))
    whole = written(table)

    assert whole.startswith(held)
    assert (verify_replay(held).reason, verify_replay(held).is_replayed) == (HELD_BACK, False)
    assert verify_replay(whole).is_replayed
    noted = json.loads(held.splitlines()[-1])["hash"]
    assert verify_replay(whole, pin=noted).pinned == len(held.splitlines())


def test_a_running_game_has_no_outcome_and_no_seeds() -> None:
    table = ScriptedSession("sf1906-2e", 2)
    table.play(12)
    text = written(table)

    assert {line["kind"] for line in lines_of(text)} == {"header", "act"}
    assert table.session.header.deck_seed.hex() not in text
    assert "stops before the outcome" in refused(verify_replay(text))
    assert (verify_replay(text, allow_partial=True).ok, verify_replay(text, allow_partial=True).reason) == (
        True,
        RUNNING,
    )


def test_a_game_that_has_just_begun_has_a_header() -> None:
    assert verify_replay(written(ScriptedSession()), allow_partial=True).lines == 1


def test_secret_actions_are_left_out_until_the_phase_is_over() -> None:
    table = ScriptedSession("relief", 3)
    table.seat_all()
    table.play_until(lambda session: len(session.open_seats()) == 3)
    before = written(table)
    while 1 in table.open:
        table.answer(1)
    table.wrote(table.session.refuse(0, table.turn(0), _no(), table.now))

    assert written(table) == before
    table.play_until(lambda session: not session.game.is_secret(session.state))
    assert any(line.get("secret") for line in lines_of(written(table)))


def test_a_secret_is_in_the_file_once_the_game_is_over() -> None:
    table = ScriptedSession("relief", 3)
    table.play_until(lambda session: len(session.open_seats()) == 3)
    table.answer(1)
    table.wrote(table.session.cancel("enough", table.now))

    assert lines_of(written(table))[-4]["secret"] is True
    assert verify_replay(written(table)).is_replayed


def test_a_refused_text_is_not_repeated_and_files_that_repeat_one_are_still_valid() -> None:
    """Version 0.1.0 wrote unreadable text into the note."""
    table = ScriptedSession("sf1906-2e", 2)
    table.answer_wrongly(table.open[0], "sing")
    table.finish()
    place = table.kinds.index(AnswerRefused)
    assert "sing" not in written(table)
    assert "expected one of the verbs" in table.last(AnswerRefused).note
    old = [*table.entries]
    old[place] = replace(
        table.last(AnswerRefused), note="cannot read 'sing' as an action; expected one of the verbs build, earn"
    )

    assert verify_replay(write_replay(table.session, old)).is_replayed


def _no() -> Any:
    from service.sessions.errors import ActionRefused

    return ActionRefused("NO", "", "no", readable=True)


# ----------------------------------------------------------------------------------------------------------- every ending
def resigned(table: ScriptedSession) -> None:
    table.resign(0)


def refused_thrice(table: ScriptedSession) -> None:
    for _ in range(3):
        table.answer_wrongly(table.open[0])


def never_came(table: ScriptedSession) -> None:
    table.expire(10**6)


def came_and_went(table: ScriptedSession) -> None:
    table.seat_all()
    table.expire(WHOLE_BANK + 1)


def all_late(table: ScriptedSession) -> None:
    table.seat_all()
    while not table.is_over:
        table.expire(10**6, 1)


def decided(table: ScriptedSession) -> None:
    table.adjudicate(*range(1, table.session.header.seats + 1))


def played_out(table: ScriptedSession) -> None:
    table.adjudicate()


def faulted_and_decided(table: ScriptedSession) -> None:
    table.resign(0)
    if not table.is_over:
        table.adjudicate()


def cancelled(table: ScriptedSession) -> None:
    table.wrote(table.session.cancel("the lights went out", table.now))


@pytest.mark.parametrize(
    "event",
    [
        resigned, refused_thrice, never_came, came_and_went, all_late, decided, played_out, faulted_and_decided, cancelled,
    ],
)  # fmt: skip
@pytest.mark.parametrize(("game", "seats"), [("relief", 3), ("sf1906-2e", 4), ("sf1906-1e", 2), ("sf1906-2e", 1)])
def test_every_ending_is_verified(event: Callable[[ScriptedSession], None], game: str, seats: int) -> None:
    for answers in (0, 9):
        table = ScriptedSession(game, seats)
        table.play(answers)
        event(table)
        table.finish()
        verification = verify_replay(written(table))
        assert (verification.ok, verification.reason) == (True, verification.reason)
        assert verification.is_replayed


def test_a_cancelled_session_has_an_outcome_without_ranks() -> None:
    table = ScriptedSession()
    cancelled(table)
    replay = read_replay(written(table))

    assert replay.outcome is not None
    assert (replay.outcome.status, replay.outcome.ranks, replay.sheet()) == ("CANCELLED", [], None)


# ------------------------------------------------------------------------------------------------- changed, chain untouched
@given(st.data())
def test_any_byte_changed_added_or_dropped_is_caught(data: st.DataObject) -> None:
    whole = (duel() if data.draw(st.booleans()) else eventful()).encode()
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255))
    match data.draw(st.sampled_from(["change", "add", "drop", "cut", "flip"])):
        case "change":
            mutant = whole[:place] + bytes([byte]) + whole[place + 1 :]
        case "add":
            mutant = whole[:place] + bytes([byte]) + whole[place:]
        case "drop":
            mutant = whole[:place] + whole[place + 1 :]
        case "cut":
            mutant = whole[:place]
        case _:
            mutant = whole[:place] + bytes([whole[place] ^ (1 << byte % 8)]) + whole[place + 1 :]
    if mutant == whole:
        return
    try:
        verification = verify_replay(decode_replay(mutant))
    except BadReplay as bad:
        assert bad.line >= 1
    else:
        assert refused(verification)


@settings(max_examples=50)
@given(st.data())
def test_lines_dropped_doubled_swapped_or_moved_are_caught(data: st.DataObject) -> None:
    whole = eventful().removesuffix("\n").split("\n")
    one = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(0, len(whole) - 1).filter(lambda place: place != one))
    lines = list(whole)
    match data.draw(st.sampled_from(["drop", "double", "swap", "move", "empty"])):
        case "drop":
            del lines[one]
        case "double":
            lines.insert(other, lines[one])
        case "swap":
            lines[one], lines[other] = lines[other], lines[one]
        case "move":
            lines.insert(other, lines.pop(one))
        case _:
            lines.insert(one, "")
    assert refused(verify_replay("\n".join(lines) + "\n"))


def test_a_file_cut_at_any_line_is_caught() -> None:
    lines = duel().splitlines(keepends=True)

    for count in range(len(lines)):
        assert refused(verify_replay("".join(lines[:count])))


def test_a_cut_line_a_missing_last_newline_and_an_empty_file_are_named() -> None:
    assert "was cut" in refused(verify_replay(duel()[:-1]))
    assert "was cut" in refused(verify_replay(duel()[:-30]))
    assert "empty" in refused(verify_replay(""))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\n", "not JSON"),
        ("hello\n", "not JSON"),
        ("[]\n", "not a JSON object"),
        ("{}\n", "not a replay"),
        ('{"a": 1}\n', "canonical"),
        ('{"a":1,"a":1}\n', "canonical"),
        ('{"format":2,"kind":"header"}\n', "format 2"),
        ('{"format":1,"kind":"header"}\n', "without 'session'"),
        ('{"kind":"act"}\n', "not a replay"),
        ("[" * 100_000 + "\n", "not JSON"),
        ("1" * 10_000 + "\n", "not JSON"),
        ('{"a":NaN}\n', "not JSON"),
        ('{"a":"\\ud800"}\n', "canonical"),
        ("x" * 1_000_001 + "\n", "1,000,001 characters"),
    ],
)
def test_a_file_that_is_not_a_replay_is_reported_as_such(text: str, reason: str) -> None:
    verification = verify_replay(text)

    assert reason in refused(verification)
    assert verification.line == 1


def test_a_file_that_is_not_utf8_is_refused_with_its_line() -> None:
    with pytest.raises(BadReplay, match="line 3: this is not UTF-8"):
        decode_replay(b"{}\n{}\n\xff\n")


def test_the_first_bad_line_is_named() -> None:
    lines = duel().split("\n")
    lines[20] = lines[20].replace('"at_ms":', '"at_ms":1')

    assert verify_replay("\n".join(lines)).line == 21


# ------------------------------------------------------------------------------------------------- changed, chain recomputed
def change_action(lines: Lines) -> None:
    one = next(line for line in lines if line["kind"] == "act" and "house" not in line)
    other = next(line for line in lines if line["kind"] == "act" and line["action"] != one["action"])
    one["action"] = other["action"]


def say_it_with_blanks(lines: Lines) -> None:
    first(lines, "act")["action"] += " "


def change_seat(lines: Lines) -> None:
    line = first(lines, "act")
    line["seat"] = (line["seat"] + 1) % lines[0]["seats"]


def change_turn(lines: Lines) -> None:
    first(lines, "act", 3)["turn"] += 1


def unmask(lines: Lines) -> None:
    next(line for line in lines if line.get("secret"))["secret"] = None
    line = next(line for line in lines if "secret" in line and line["secret"] is None)
    del line["secret"]


def mask(lines: Lines) -> None:
    next(line for line in lines if line["kind"] == "act" and not line.get("secret"))["secret"] = True


def change_house(lines: Lines) -> None:
    texts = [line["action"] for line in lines if line["kind"] == "house"]
    line = first(lines, "house")
    line["action"] = next(text for text in texts if text != line["action"])


def house_becomes_answer(lines: Lines) -> None:
    line = first(lines, "house")
    line |= {"kind": "act", "turn": 99, "think_ms": 1}


def answer_becomes_house(lines: Lines) -> None:
    line = first(lines, "act")
    line["kind"] = "house"
    del line["turn"], line["think_ms"]
    line.pop("note", None)


def drop_fault(lines: Lines) -> None:
    lines.remove(first(lines, "fault"))
    renumber(lines)


def drop_house(lines: Lines) -> None:
    lines.remove(first(lines, "house"))
    renumber(lines)


def drop_answer(lines: Lines) -> None:
    lines.remove(first(lines, "act"))
    renumber(lines)


def double_answer(lines: Lines) -> None:
    line = first(lines, "act")
    lines.insert(lines.index(line), dict(line))
    renumber(lines)


def swap_answers(lines: Lines) -> None:
    one, other = lines.index(first(lines, "act", 0)), lines.index(first(lines, "act", 1))
    lines[one], lines[other] = lines[other], lines[one]
    renumber(lines)


def third_refusal_without_fault(lines: Lines) -> None:
    line = first(lines, "refused")
    at = lines.index(line)
    lines[at:at] = [dict(line), dict(line)]
    renumber(lines)


def early_fault(lines: Lines) -> None:
    first(lines, "fault")["at_ms"] -= 10_000


def fault_of_another_seat(lines: Lines) -> None:
    line = first(lines, "fault")
    line["seat"] = (line["seat"] + 1) % 3


def no_show_of_the_seated(lines: Lines) -> None:
    first(lines, "fault")["fault"] = "NO_SHOW"


def refused_instead_of_late(lines: Lines) -> None:
    first(lines, "fault")["fault"] = "REFUSED_ACTIONS"


def seated_twice(lines: Lines) -> None:
    lines.insert(2, dict(lines[1]))
    renumber(lines)


def change_scores(lines: Lines) -> None:
    first(lines, "outcome")["scores"][0] += 1


def change_ranks(lines: Lines) -> None:
    first(lines, "outcome")["ranks"].reverse()


def change_score_line(lines: Lines) -> None:
    first(lines, "outcome")["sheet"][0]["lines"][0][1] += 1


def change_ending(lines: Lines) -> None:
    first(lines, "outcome")["ending"] = "ADJUDICATED"


def forget_fault(lines: Lines) -> None:
    first(lines, "outcome")["faults"] = ["", "", ""]


def change_status(lines: Lines) -> None:
    first(lines, "outcome")["status"] = "CANCELLED"


def end_early(lines: Lines) -> None:
    del lines[40:-3]
    renumber(lines)


def end_early_by_decree(lines: Lines) -> None:
    """Cut and marked as adjudicated: the score sheet shows the forgery."""
    end_early(lines)
    change_ending(lines)


def replace_seed(lines: Lines) -> None:
    lines[-1]["deck"] = seeds_of(99).deck.hex()


def replace_table_commitment(lines: Lines) -> None:
    lines[0]["commitments"]["table"] = commitment(seeds_of(99).table).hex()


def replace_deck_commitment(lines: Lines) -> None:
    lines[0]["commitments"]["deck"] = commitment(seeds_of(99).deck).hex()


def replace_seeds_and_commitments(lines: Lines) -> None:
    seeds = seeds_of(99)
    lines[-1] |= {"table": seeds.table.hex(), "deck": seeds.deck.hex()}
    lines[0]["commitments"] = {"table": commitment(seeds.table).hex(), "deck": commitment(seeds.deck).hex()}


def drop_seeds(lines: Lines) -> None:
    lines.pop()


def drop_outcome(lines: Lines) -> None:
    del lines[-2]


def drop_end(lines: Lines) -> None:
    del lines[-3]
    renumber(lines)


def hold_back(lines: Lines) -> None:
    """A session that holds its seeds back does not reveal them in the same step, so this change alone is not noticed."""
    lines[0]["hold_seeds"] = True
    lines[-1]["revision"] += 1


def other_version(lines: Lines) -> None:
    lines[0]["version"] = 99


def other_game(lines: Lines) -> None:
    lines[0]["game"] = "chess"


def other_option(lines: Lines) -> None:
    lines[0]["options"]["objectives"] = "most"


def no_option(lines: Lines) -> None:
    del lines[0]["options"]["objectives"]


def fewer_seats(lines: Lines) -> None:
    lines[0]["seats"] = 2


def fewer_bots(lines: Lines) -> None:
    lines[0]["seats"] = 2
    lines[0]["bots"].pop()


def wrong_revision(lines: Lines) -> None:
    first(lines, "act", 2)["revision"] += 1


def a_fraction(lines: Lines) -> None:
    first(lines, "act")["turn"] = 1.0


def a_truth_for_a_number(lines: Lines) -> None:
    first(lines, "act")["seat"] = False


def negative_time(lines: Lines) -> None:
    first(lines, "act")["think_ms"] = -1


def too_long_a_note(lines: Lines) -> None:
    first(lines, "act")["note"] = "x" * 1_001


def a_new_field(lines: Lines) -> None:
    first(lines, "act")["mood"] = "good"


def a_second_header(lines: Lines) -> None:
    lines.insert(4, dict(lines[0]))


def a_second_outcome(lines: Lines) -> None:
    lines.insert(-1, dict(lines[-2]))


def something_after_the_seeds(lines: Lines) -> None:
    lines.append(dict(lines[1]) | {"revision": lines[-1]["revision"] + 1})


def another_kind(lines: Lines) -> None:
    lines[3]["kind"] = "sing"


def renumber(lines: Lines) -> None:
    place = 0
    for line in lines:
        if "revision" in line:
            place += 1
            line["revision"] = place


@pytest.mark.parametrize(
    "forge",
    [
        change_action, say_it_with_blanks, change_seat, change_turn, unmask, mask, change_house, house_becomes_answer,
        answer_becomes_house, drop_fault, drop_house, drop_answer, double_answer, swap_answers, third_refusal_without_fault,
        early_fault, fault_of_another_seat, no_show_of_the_seated, refused_instead_of_late, seated_twice, change_scores,
        change_ranks, change_score_line, change_ending, forget_fault, change_status, end_early, end_early_by_decree,
        replace_seed, replace_table_commitment, replace_deck_commitment, replace_seeds_and_commitments, drop_seeds,
        drop_outcome, drop_end, hold_back, other_version,
        other_game, other_option, no_option, fewer_seats, fewer_bots, wrong_revision, a_fraction, a_truth_for_a_number,
        negative_time, too_long_a_note, a_new_field, a_second_header, a_second_outcome, something_after_the_seeds,
        another_kind,
    ],
)  # fmt: skip
def test_a_forgery_with_a_valid_chain_is_caught(forge: Callable[[Lines], None]) -> None:
    forged = rechained(eventful(), forge)

    assert forged != eventful()
    assert refused(verify_replay(forged))


NOT_HEX = r"Expected `str` matching regex '\\A[0-9a-f]{64}\\Z'"


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("act", {"note": ""}, "'note' of 'act' cannot be ''"),
        ("act", {"secret": False}, "'secret' of 'act' cannot be False"),
        ("act", {"turn": 0}, "'turn' of 'act' cannot be 0: Expected `int` >= 1"),
        ("act", {"seat": True}, "'seat' of 'act' cannot be True: Expected `int`, got `bool`"),
        ("act", {"mood": "good"}, "'act' has no 'mood'"),
        ("act", {"kind": "sing"}, "'sing' is not a kind of line"),
        ("fault", {"fault": "BORED"}, "'fault' of 'fault' cannot be 'BORED': Invalid enum value 'BORED'"),
        ("fault", {"fault": ""}, "'fault': a seat is forfeited for a fault, and 'fault' is ''"),
        ("end", {"status": "ACTIVE"}, "'end': a session ends as FINISHED or CANCELLED, and 'status' is 'ACTIVE'"),
        ("outcome", {"faults": [1]}, "'faults' of 'outcome' cannot be [1]: Expected `str`, got `int`"),
        ("outcome", {"ranks": [0]}, "'ranks' of 'outcome' cannot be [0]: Expected `int` >= 1"),
        ("seeds", {"deck": "G"}, f"'deck' of 'seeds' cannot be 'G': {NOT_HEX}"),
        ("seeds", {"deck": "0" * 64 + "\n"}, f"'deck' of 'seeds' cannot be '{'0' * 59}: {NOT_HEX}"),
        ("header", {"time_control": {"move_ms": 1}}, "'time_control' of 'header' cannot be {'move_ms': 1}"),
        (
            "header",
            {"options": {"map": True}},
            "'options' of 'header' cannot be {'map': True}: Expected `int | str`, got `bool`",
        ),
        (
            "header",
            {"commitments": {}},
            "'commitments' of 'header' cannot be {}: Object missing required field `table`",
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_value_and_what_was_expected(
    kind: str, change: dict[str, Any], reason: str
) -> None:
    """The form is checked even if the game cannot be replayed."""
    number = 1 + lines_of(eventful()).index(first(lines_of(eventful()), kind))
    verification = verify_replay(rechained(eventful(), lambda lines: first(lines, kind).update(change)))

    assert (verification.line, verification.reason) == (number, reason)


def test_a_chain_recomputed_over_the_same_lines_is_the_same_chain() -> None:
    assert rechained(eventful(), lambda lines: None) == eventful()


@settings(max_examples=40)
@given(st.data())
def test_another_legal_action_anywhere_is_caught(data: st.DataObject) -> None:
    """Any other action of the seat contradicts the file, at the latest in the next move or in the score."""
    text = duel()
    replay = read_replay(text)
    place = data.draw(st.integers(0, len(replay.entries) - 2))
    entry = replay.entries[place]
    assert isinstance(entry, Acted)
    game = all_games()[replay.game]
    state = next(islice(tables(replay), place, None))
    others = [said for action in game.legal_actions(state, entry.seat) if (said := game.text(action)) != entry.action]
    if not others:
        return
    other = data.draw(st.sampled_from(others))

    def change(lines: Lines) -> None:
        lines[place + 1]["action"] = other

    verification = verify_replay(rechained(text, change))
    if verification.ok:  # two actions with the same effect: then only the pinned hash shows the change
        assert not verify_replay(rechained(text, change), pin=read_replay(text).hashes[-1]).ok
    else:
        assert verification.line > place


# --------------------------------------------------------------------------------------- what only a known hash can catch
#: As listed in docs/replays.md.
UNPROVEN = {"at_ms", "think_ms", "note", "reason", "bots", "session", "created_ms", "time_control", "hold_seeds"}


@settings(max_examples=60)
@given(st.data())
def test_any_other_value_changed_is_caught_even_with_a_valid_chain(data: st.DataObject) -> None:
    lines = lines_of(eventful())
    line = lines[data.draw(st.one_of(st.integers(0, len(lines) - 1), st.sampled_from([0, len(lines) - 2])))]
    name = data.draw(st.sampled_from(sorted(line.keys() - {"prev", "hash"})))
    place: Any = line
    key: Any = name
    while isinstance(place[key], (dict, list)) and place[key]:
        place = place[key]
        key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
    match place[key]:
        case bool(value):
            place[key] = not value
        case int(value):
            place[key] = value + data.draw(st.sampled_from([-1, 1, 5_000]))
        case str(value):
            place[key] = value + "x"
        case value:
            place[key] = [*value, 1]

    assert name in UNPROVEN or refused(
        verify_replay(rechained(eventful(), lambda old: old.__setitem__(slice(None), lines)))
    )


def quicker(lines: Lines) -> None:
    first(lines, "act", 1)["think_ms"] = 3


def another_note(lines: Lines) -> None:
    first(lines, "act")["note"] = "I saw it coming"


def another_bot(lines: Lines) -> None:
    lines[0]["bots"][0] = "somebody else"


def another_session(lines: Lines) -> None:
    lines[0]["session"] = "another"


def another_reason(lines: Lines) -> None:
    first(lines, "refused")["reason"] = "UNREADABLE"


def disconnected(lines: Lines) -> None:
    """Only the fault and the outcome say whether the bot was connected when its clock ran out."""
    first(lines, "fault")["fault"] = "DISCONNECTED"
    faults = first(lines, "outcome")["faults"]
    faults[faults.index("TIMEOUT")] = "DISCONNECTED"


@pytest.mark.parametrize("forge", [quicker, another_note, another_bot, another_session, another_reason, disconnected])
def test_a_change_without_a_contradiction_is_caught_by_the_pinned_hash(forge: Callable[[Lines], None]) -> None:
    """As docs/replays.md says."""
    hashes = read_replay(eventful()).hashes
    forged = rechained(eventful(), forge)

    assert verify_replay(forged).ok
    assert "no line has the hash" in refused(verify_replay(forged, pin=hashes[-1]))
    assert verify_replay(eventful(), pin=hashes[-1].upper()).pinned == len(hashes)


def test_without_seeds_only_form_and_chain_are_checked() -> None:
    table = ScriptedSession("sf1906-2e", 2, hold_seeds=True).finish()
    text = written(table)
    forged = rechained(text, change_scores)

    assert verify_replay(text).reason == verify_replay(forged).reason == HELD_BACK
    assert refused(verify_replay(forged, pin=read_replay(text).hashes[-1]))
    assert refused(verify_replay(text.replace('"think_ms":10', '"think_ms":11', 1)))


def test_a_revealed_replay_without_its_last_line_says_that_nothing_was_replayed() -> None:
    table = ScriptedSession("sf1906-2e", 2, hold_seeds=True).finish()
    table.wrote(table.session.reveal(table.now))
    whole = written(table)
    cut = "".join(whole.splitlines(keepends=True)[:-1])

    assert (verify_replay(cut).reason, verify_replay(cut).is_replayed) == (HELD_BACK, False)
    assert refused(verify_replay(cut, pin=read_replay(whole).hashes[-1]))


def test_the_example_in_the_docs_is_a_real_replay() -> None:
    """If the format or the game has changed, put ``short()`` into docs/replays.md."""
    page = (Path(__file__).parents[2] / "docs" / "replays.md").read_text(encoding="utf-8")
    example = page.split("```jsonl\n")[1].split("```")[0]

    assert example == short()
    assert verify_replay(example).is_replayed


def test_a_made_up_end_is_caught_by_the_pinned_hash_or_not_at_all() -> None:
    """As docs/replays.md says: the file cannot prove what only its writer knew."""
    whole = ScriptedSession("sf1906-2e", 2)
    whole.play(20)
    noted = read_replay(written(whole)).hashes[-1]
    last = read_replay(written(whole.finish())).hashes[-1]
    made_up = ScriptedSession("sf1906-2e", 2)
    made_up.play(20)
    made_up.resign(0)

    assert verify_replay(written(made_up)).is_replayed
    assert verify_replay(written(made_up), pin=noted).pinned == 21
    assert refused(verify_replay(written(made_up), pin=last))
