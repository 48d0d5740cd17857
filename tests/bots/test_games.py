"""Bots as processes with a real service, from the first question to the outcome."""

import pytest
from rubble_bot import Turn

from bots.bundled.players import BundledPlayers
from rubble.v1 import common_pb2
from service.games import all_games
from service.games.chance import seeds_of
from service.rpc import codec
from tests.harness.bot_processes import STARTER, BotArena

TABLES = [(game.id, seats) for game in all_games().values() for seats in game.seats]


def test_bundled_bots_finish_every_game_at_every_table(arena: BotArena) -> None:
    names = ["greedy-a", "random-b", "greedy-c", "random-d"]
    for name in names:
        arena.bundled_bot(name, name.partition("-")[0])
    sessions = {(game, seats): arena.session(game, names[:seats]) for game, seats in TABLES}

    outcomes = {table: arena.finish(session) for table, session in sessions.items()}

    for (game, seats), outcome in outcomes.items():
        assert len(outcome.seats) == seats
        assert outcome.ending not in ("", "FORFEIT", "ADJUDICATED")
        if seats == 2:
            assert [result.rank for result in outcome.seats] == [1, 2], f"greedy beats random in {game}"
    assert arena.stop_bots() == [0, 0, 0, 0]
    for name in names:
        log = arena.log_of(name).read_text()
        assert "WARNING" not in log
        assert "ERROR" not in log


def test_the_starter_plays_all_games_and_beats_chance_over_a_few(arena: BotArena) -> None:
    arena.bot("starter", STARTER)
    games = list(all_games())
    sessions = [arena.session(game, ["starter", "rival"]) for game in games for _ in range(3)]

    outcomes = [arena.finish(session) for session in sessions]

    scores = [(outcome.seats[0].score, outcome.seats[1].score) for outcome in outcomes]
    assert sum(own > other for own, other in scores) > len(scores) / 2
    replay = arena.replay(sessions[0])
    assert "worth " in replay  # the starter's notes
    arena.stop_bots()
    assert "WARNING" not in arena.log_of("starter").read_text()


@pytest.mark.parametrize("method", ["any_action", "greedy_action"])
def test_the_same_seed_gives_the_same_answers(method: str) -> None:
    game = all_games()["relief"]
    state = game.new(2, {}, seeds_of(4))
    actions = [codec.action_message(game, action) for action in game.legal_actions(state, 0)]
    view = codec.view_message(game, state, 0).relief
    turns = [Turn("s", "relief", 0, 2, number, view, actions, common_pb2.Clock()) for number in range(40)]

    first = [getattr(BundledPlayers("a"), method)(turn) for turn in turns]

    assert first == [getattr(BundledPlayers("a"), method)(turn) for turn in turns]
    assert (len(set(first)) > 3) == (method == "any_action")
