"""The text bot: a turn as a prompt, an answer as a choice, and whole games with a fake model."""

import json
import sys

import pytest
from rubble_bot import Turn

from rubble.v1 import common_pb2, game_pb2, relief_pb2
from service.games import all_games
from service.games.chance import seeds_of
from service.games.core import AnyGame
from service.games.playing import play_on, player_draws
from service.rpc import codec
from tests.bots import stand_in
from tests.harness.bot_processes import BotArena
from tests.harness.processes import HOME

sys.path.append(str(HOME / "bots" / "python"))  # where text_bot lies; it is no part of a distribution

from text_bot.models import BadModel, NoAnswer, from_command, from_function
from text_bot.prompt import prompt
from text_bot.reading import Unclear, read
from text_bot.talk import Talk

TEXT_BOT = str(HOME / "bots" / "python" / "text_bot")
STAND_IN = ("--model", "tests.bots.stand_in:answer")
TEXTS = ["place 2 act", "place 2 buy 0", "place 20 act", "permit deck", "use @1", "use @11", "trade W1 K2", "pass"]


def rules_of(name: str) -> game_pb2.GetGameResponse:
    """Returns the arena's description of a game."""
    game = all_games()[name]
    response = game_pb2.GetGameResponse(game=game_pb2.GameSummary(id=name, title=game.title))
    for component in game.components:
        told = response.components.add(file=component.file, kind=component.kind, id=component.id)
        for key, value in component.values.items():
            told.values.add(name=key, json=json.dumps(value))
    for text, meaning in game.notation:
        response.notation.add(text=text, meaning=meaning)
    return response


def turn_in(game: AnyGame, seats: int, plies: int, move_ms: int = 60_000) -> Turn:
    """Returns a question after ``plies`` plies of greedy play."""
    state = game.new(seats, {}, seeds_of(3))
    play_on(game, state, [game.players["greedy"]] * seats, player_draws(3, 0, seats), plies=plies)
    seat = game.to_act(state)[0]
    envelope = codec.view_message(game, state, seat)
    view = getattr(envelope, envelope.WhichOneof("game") or "other")
    actions = [codec.action_message(game, action) for action in game.legal_actions(state, seat)]
    return Turn("s", game.id, seat, seats, plies, view, actions, common_pb2.Clock(move_ms=move_ms))


# ------------------------------------------------------------------------------------------------------------- reading
@pytest.mark.parametrize(
    ("answer", "meant"),
    [
        ("4", "permit deck"),
        (" #1. \n", "place 2 act"),
        ("**(8)**", "pass"),
        ("PLACE  2   ACT", "place 2 act"),
        ("`use @1`.", "use @1"),
        ("4. permit deck", "permit deck"),
        ("I have 3 permits and 2 dollars.\nSo: answer: 6", "use @11"),
        ("Answer: 1\nNo, wait.\nAnswer: 2", "place 2 buy 0"),
        ("my action is trade w1 k2.", "trade W1 K2"),
        ("Best is place 20 act, because it is far right.", "place 20 act"),
        ("Nothing beats 'use @11' in round 4!", "use @11"),
        ("1906\nanswer: pass", "pass"),
    ],
)
def test_an_answer_may_be_a_number_an_action_or_a_talk_with_one_in_it(answer: str, meant: str) -> None:
    assert TEXTS[read(answer, TEXTS)] == meant


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("", "it was empty"),
        ("\n ``` \n", "it was empty"),
        ("9", "'9' is neither a number from 1 to 8 nor one of the actions"),
        ("0", "'0' is neither a number from 1 to 8"),
        ("-1", "'-1' is neither"),
        ("earn 4", "'earn 4' is neither"),
        ("I own 4 permits.", "'i own 4 permits.' is neither"),
        ("either pass or permit deck", "it names several actions ('permit deck', 'pass'); name one"),
    ],
)
def test_any_other_answer_is_unclear_with_a_reason(answer: str, complaint: str) -> None:
    with pytest.raises(Unclear) as unclear:
        read(answer, TEXTS)

    assert complaint in str(unclear.value)


# -------------------------------------------------------------------------------------------------------------- prompt
@pytest.mark.parametrize(("game", "seats"), [(game, seats) for game in all_games().values() for seats in game.seats])
def test_a_prompt_is_compact_and_names_rules_table_and_actions(game: AnyGame, seats: int) -> None:
    turn = turn_in(game, seats, 41)

    told = prompt(turn, rules_of(game.id))

    assert stand_in.actions(told) == turn.texts
    assert "most points win" in told
    assert f"You are player {turn.seat} of {seats}" in told
    assert "UNSPECIFIED" not in told
    assert len(told) < 9000
    assert "could not be used: it was empty." in prompt(turn, rules_of(game.id), "it was empty")


def test_cards_in_sight_are_explained_and_others_are_not() -> None:
    turn = turn_in(all_games()["relief"], 2, 8)
    assert isinstance(turn.view, relief_pb2.ReliefView)
    tiles = [component.id for component in all_games()["relief"].components if component.kind == "building"]

    told = prompt(turn, rules_of("relief"))

    explained = [tile for tile in tiles if f"\n{tile}: building, name " in told]
    assert set(turn.view.row) <= set(explained)
    assert len(explained) < len(tiles) / 2


# ---------------------------------------------------------------------------------------------------------------- talk
def test_nonsense_is_asked_about_again_and_then_something_legal_is_played() -> None:
    turn = turn_in(all_games()["relief"], 2, 20)
    prompts: list[str] = []

    def model(told: str, seconds: float) -> str:
        assert 0 < seconds <= 60
        prompts.append(told)
        return "hm" if len(prompts) < 3 else "answer: 2"

    assert Talk(model, rules_of).choose(turn) == 1
    assert ["could not be used: 'hm' is neither" in told for told in prompts] == [False, True, True]
    assert turn.note == "attempt 3: answer: 2"

    assert Talk(from_function("tests.bots.stand_in:nonsense"), rules_of, tries=2).choose(turn) == 0
    assert turn.note.startswith("no usable answer ('buy low, sell high.' is neither a number from 1 to ")
    assert turn.note.endswith(f"played {turn.texts[0]!r} instead")


def test_a_model_that_fails_or_has_no_time_costs_no_game() -> None:
    turn = turn_in(all_games()["relief"], 2, 20)
    assert Talk(from_function("tests.bots.stand_in:broken"), rules_of).choose(turn) == 0
    assert "ConnectionError: no model for" in turn.note

    late = turn_in(all_games()["relief"], 2, 20, move_ms=100)
    assert Talk(from_function("tests.bots.stand_in:answer"), rules_of).choose(late) == 0
    assert "the time is up" in late.note


def test_a_program_is_a_model_too() -> None:
    turn = turn_in(all_games()["relief"], 2, 20)
    program = from_command([sys.executable, str(HOME / "tests" / "bots" / "stand_in.py")])
    assert Talk(program, rules_of).choose(turn) == len(turn.texts) - 1

    with pytest.raises(NoAnswer, match=r"ended with exit code 3: oh"):
        from_command([sys.executable, "-c", "import sys; sys.stderr.write('oh'); sys.exit(3)"])("?", 60)
    with pytest.raises(NoAnswer, match=r"no-such-program cannot be started: No such file"):
        from_command(["no-such-program"])("?", 60)
    with pytest.raises(NoAnswer, match=r"took longer than 0\.2 s"):
        from_command([sys.executable, "-c", "input(); import threading; threading.Event().wait()"])("?\n", 0.2)


@pytest.mark.parametrize(
    "name", ["stand_in", "no_such_module:f", "tests.bots.stand_in:no_such", "tests.harness.bot_processes:STARTER"]
)
def test_a_model_that_cannot_be_had_is_named(name: str) -> None:
    with pytest.raises(BadModel, match=name):
        from_function(name)


# ------------------------------------------------------------------------------------------------------- whole games
def test_the_text_bot_plays_every_game_at_a_real_service(arena: BotArena) -> None:
    arena.bot("texter", TEXT_BOT, *STAND_IN)
    sessions = [arena.session(game, ["texter", "rival"]) for game in all_games()]

    outcomes = [arena.finish(session) for session in sessions]

    assert all(outcome.ending not in ("", "FORFEIT", "ADJUDICATED") for outcome in outcomes)
    replay = arena.replay(sessions[0])
    assert "attempt 1: " in replay
    assert "attempt 2: Sorry. answer: " in replay
    assert "no usable answer" not in replay
    log = arena.log_of("texter").read_text()
    assert "attempt 1: 'i am sorry, as a stand-in i cannot play games.' is neither a number" in log
    assert "ERROR" not in log
    assert arena.stop_bots() == [0]
