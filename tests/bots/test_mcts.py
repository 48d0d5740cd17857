"""The mcts bot: legal whole games, its clock, its seed, and that it is stronger than the greedy one."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from rubble_bot import Turn

from bots.bundled import PLAYERS
from bots.bundled.deadline_queue import DeadlineQueue
from bots.bundled.evaluation import FEATURES, evaluator_for
from bots.bundled.mcts import WIDTH, Search, SimulationBudget, TimeBudget, lead
from bots.bundled.players import BundledPlayers
from orchestrator.roster import BUNDLED
from rubble.v1 import bot_pb2, common_pb2
from service.games import all_games
from service.games.chance import SEED_BYTES, Draws, seeds_of
from service.games.core import AnyGame, Seat
from service.games.playing import Player, play_on, player_draws
from service.rpc import codec
from tests.example_game import GAME as SALVAGE
from tests.harness.bot_processes import BotArena

TABLES = [(game, seats) for game in all_games().values() for seats in game.seats]
NAMES = [f"{game.id}-{seats}" for game, seats in TABLES]


def searcher(game: AnyGame, seats: int, simulations: int) -> Player:
    """Returns a player that gets only its view."""

    def choose(state: Any, seat: Seat, draws: Draws) -> Any:
        return Search(game, game.view(state, seat), seat, seats, draws).think(SimulationBudget(simulations)).action

    return choose


def table_after(game: AnyGame, seats: int, plies: int, number: int = 5, least: int = 4) -> Any:
    """Returns a table after ``plies`` plies or a few more, with at least ``least`` legal actions."""
    state = game.new(seats, {}, seeds_of(number))
    players, draws_by_seat = [game.players["greedy"]] * seats, player_draws(number, 0, seats)
    play_on(game, state, players, draws_by_seat, plies=plies)
    while len(game.legal_actions(state, game.to_act(state)[0])) < least:
        play_on(game, state, players, draws_by_seat, plies=1)
    return state


def turn_at(game: AnyGame, state: Any, seats: int, **clock: int) -> Turn:
    seat = game.to_act(state)[0]
    envelope = codec.view_message(game, state, seat)
    view = getattr(envelope, envelope.WhichOneof("game") or "other")
    actions = [codec.action_message(game, action) for action in game.legal_actions(state, seat)]
    return Turn("s", game.id, seat, seats, 1, view, actions, common_pb2.Clock(**clock))


def stream_of(number: int) -> Draws:
    return Draws(bytes([number]) * SEED_BYTES, "test")


# -------------------------------------------------------------------------------------------------------------- search
@pytest.mark.parametrize(("game", "seats"), TABLES, ids=NAMES)
def test_it_plays_legal_whole_games_at_every_table(game: AnyGame, seats: int) -> None:
    state = game.new(seats, {}, seeds_of(8))
    players = [searcher(game, seats, 2), *[game.players["greedy"]] * (seats - 1)]

    play_on(game, state, players, player_draws(8, 0, seats))  # apply refuses what is not legal

    assert game.outcome(state) is not None


def test_a_game_without_a_judge_is_played_to_its_end() -> None:
    state = SALVAGE.new(2, {}, seeds_of(1))
    assert evaluator_for(SALVAGE.id, 2) is None

    play_on(SALVAGE, state, [searcher(SALVAGE, 2, 8)] * 2, player_draws(1, 0, 2))

    assert SALVAGE.outcome(state) is not None


@pytest.mark.parametrize("name", FEATURES)
def test_the_same_seed_and_budget_give_the_same_answer(name: str) -> None:
    game = all_games()[name]
    turn = turn_at(game, table_after(game, 2, 30), 2)

    def answers(seed: str) -> list[object]:
        players = BundledPlayers(seed)
        found: list[object] = []
        for number in range(3):
            turn.number = number
            found += [players.searched_action(turn, lambda: 0.0, 24), turn.note]
        return found

    assert answers("a") == answers("a")
    assert answers("a") != answers("b")  # other worlds: at least the worth in the note differs


@pytest.mark.parametrize("name", FEATURES)
def test_it_knows_no_more_than_its_seat(name: str) -> None:
    """The same view gets the same answer, whatever the hidden cards are."""
    game = all_games()[name]
    state = table_after(game, 3, 50)
    seat = game.to_act(state)[0]
    other = game.redeal(state, seat, stream_of(9))
    assert game.to_plain(other) != game.to_plain(state)

    found = [
        Search(game, game.view(world, seat), seat, 3, stream_of(1)).think(SimulationBudget(20))
        for world in (state, other)
    ]

    assert found[0] == found[1]


def test_the_secret_leaders_of_others_change_nothing() -> None:
    game = all_games()["relief"]
    state = game.new(2, {}, seeds_of(2))
    assert game.is_secret(state)
    spoken = game.copy(state)
    game.apply(spoken, 1, game.legal_actions(spoken, 1)[-1])

    found = [searcher(game, 2, 12)(world, 0, stream_of(3)) for world in (state, spoken)]

    assert found[0] in game.legal_actions(state, 0)
    assert found[0] is found[1]


def test_a_budget_is_kept_and_only_some_of_many_actions_are_tried() -> None:
    game = all_games()["relief"]
    state = table_after(game, 2, 60, least=WIDTH + 1)
    seat = game.to_act(state)[0]
    search = Search(game, game.view(state, seat), seat, 2, stream_of(4))

    thought = search.think(SimulationBudget(60))

    assert len(search.in_question()) == WIDTH
    assert 40 < thought.simulations <= 60
    assert thought.is_whole


def test_without_any_time_it_answers_as_the_greedy_player_does() -> None:
    game = all_games()["sf1906-2e"]
    state = table_after(game, 2, 40)
    seat = game.to_act(state)[0]

    thought = Search(game, game.view(state, seat), seat, 2, stream_of(5)).think(TimeBudget(lambda: 1.0))

    assert thought.simulations == 0
    assert not thought.is_whole
    assert thought.action is game.players["greedy"](state, seat, stream_of(5))


def test_a_lead_counts_ever_less_and_alone_the_score_counts() -> None:
    assert lead([10, 10], 0) == 0
    assert lead([12, 10], 0) == -lead([12, 10], 1) > 0
    assert lead([40, 10], 0) - lead([30, 10], 0) < lead([20, 10], 0) - lead([10, 10], 0)
    assert lead([40, 10, 70], 0) == pytest.approx(0)
    assert lead([77], 0) == 77


@pytest.mark.parametrize(("name", "seats", "games"), [("relief", 2, 4), ("sf1906-2e", 2, 6)])
def test_it_beats_the_greedy_player(name: str, seats: int, games: int) -> None:
    """A few games with fixed seeds, so no luck is involved; bots/README.md has the figures."""
    game = all_games()[name]
    ahead = 0
    for number in range(games):
        own = number % seats
        players = [searcher(game, seats, 32) if seat == own else game.players["greedy"] for seat in range(seats)]
        state = game.new(seats, {}, seeds_of(21, number // seats))
        play_on(game, state, players, player_draws(21, number, seats))
        outcome = game.outcome(state)
        assert outcome is not None
        ahead += outcome.scores[own] - max(score for seat, score in enumerate(outcome.scores) if seat != own)
    assert ahead > 0


def test_rosters_know_all_bundled_bots() -> None:
    assert BUNDLED == PLAYERS


# ---------------------------------------------------------------------------------------------------------------- deadline queue
RELIEF = all_games()["relief"]


@pytest.mark.parametrize(
    ("move_ms", "bank_ms", "increment_ms", "expected"),
    [
        (1000, 0, 0, 750),  # a quarter is kept
        (200, 0, 0, 100),  # at least a tenth of a second
        (80, 0, 0, 0),
        (0, 0, 0, 0),
        (60_000, 0, 0, 5000),  # no longer than --think-ms
        (0, 52_000, 0, 900),  # a fiftieth of the bank, without the part that is kept
        (0, 1000, 200, 60),  # the increment may be spent
    ],
)
def test_the_time_for_an_answer_follows_from_the_clock(
    move_ms: int, bank_ms: int, increment_ms: int, expected: int
) -> None:
    queue = DeadlineQueue(lambda turn, passed: 0, most_ms=5000)
    control = common_pb2.TimeControl(increment_ms=increment_ms)
    queue.on_start(bot_pb2.GameStart(session="s", time_control=control))
    turn = turn_at(RELIEF, RELIEF.new(2, {}, seeds_of(1)), 2, move_ms=move_ms, bank_ms=bank_ms)

    assert queue.time_ms(turn) == pytest.approx(expected)


def test_questions_that_wait_shorten_a_thought_and_the_most_urgent_comes_first() -> None:
    turn = turn_at(RELIEF, RELIEF.new(2, {}, seeds_of(1)), 2)
    urgent, relaxed = (
        Turn("u", turn.game, 0, 2, 1, turn.view, turn.legal_actions, common_pb2.Clock(move_ms=100_000)),
        Turn("r", turn.game, 0, 2, 1, turn.view, turn.legal_actions, common_pb2.Clock(move_ms=900_000)),
    )
    order: list[str] = []
    all_asked, first_begun = threading.Event(), threading.Event()
    shares: list[float] = []

    def answer(turn: Turn, passed: Callable[[], float]) -> int:
        order.append(turn.session)
        if turn.session == "first":
            first_begun.set()
            before = passed()
            assert all_asked.wait(60)
            shares.extend((before, passed()))
        return 0

    async def ask() -> None:
        queue = DeadlineQueue(answer, most_ms=1_000_000)
        first = Turn("first", turn.game, 0, 2, 1, turn.view, turn.legal_actions, common_pb2.Clock(move_ms=1_000_000))
        asked = [asyncio.create_task(queue.choose(first))]
        await asyncio.to_thread(first_begun.wait, 60)
        for each in (relaxed, urgent):
            asked.append(asyncio.create_task(queue.choose(each)))
            await asyncio.sleep(0)  # lets it run until it waits
        all_asked.set()
        assert await asyncio.gather(*asked) == [0, 0, 0]

    asyncio.run(ask())

    assert order == ["first", "u", "r"]
    assert shares[1] > shares[0]


def test_an_error_in_a_search_reaches_the_caller_and_the_queue_continues() -> None:
    turn = turn_at(RELIEF, RELIEF.new(2, {}, seeds_of(1)), 2, move_ms=60_000)
    errors = [ZeroDivisionError("oh")]

    def answer(turn: Turn, passed: Callable[[], float]) -> int:
        if errors:
            raise errors.pop()
        return 3

    async def ask() -> int | str:
        queue = DeadlineQueue(answer, most_ms=10)
        with pytest.raises(ZeroDivisionError, match="oh"):
            await queue.choose(turn)
        return await queue.choose(turn)

    assert asyncio.run(ask()) == 3


# ------------------------------------------------------------------------------------------------------- at a service
def test_it_keeps_its_clock_with_many_games_at_once(arena: BotArena) -> None:
    """The time for a move is hardly more than a round trip; the bank is for a busy machine."""
    arena.bot("searcher", "-m", "bots.bundled", "mcts", "--seed", "clock", "--think-ms", "50")
    tables = [("relief", 2), ("sf1906-2e", 1), ("sf1906-1e", 2), ("sf1906-2e", 1)]
    sessions = [
        arena.session(game, ["searcher", "rival"][:seats], move_ms=150, bank_ms=30_000) for game, seats in tables
    ]

    for session in sessions:
        assert arena.finish(session).ending not in ("", "FORFEIT", "ADJUDICATED")

    assert arena.stop_bots() == [0]
    assert "ERROR" not in arena.log_of("searcher").read_text()
