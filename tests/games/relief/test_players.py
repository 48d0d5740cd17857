"""The bundled players."""

from service.games.relief import RELIEF
from tests.games.relief.tables import A, draws, ended, new, offers, relief


def game(seats: int, number: int, names: list[str]) -> tuple[int, ...]:
    """Returns the scores of a game between bundled players."""
    table = new(seats, number)
    chance = draws(f"game {number}")
    while RELIEF.to_act(table):
        seat = RELIEF.to_act(table)[0]
        RELIEF.apply(table, seat, RELIEF.players[names[seat]](table, seat, chance))
    return ended(table).scores


def test_greedy_beats_random_in_every_seat() -> None:
    for seats in (2, 3):
        for number in range(6):
            names = ["random"] * seats
            names[number % seats] = "greedy"
            scores = game(seats, number, names)
            assert scores[number % seats] == max(scores)


def test_greedy_among_its_own_scores_as_the_design_expects() -> None:
    for seats, mean in ((2, 100), (3, 92)):
        scores = [score for number in range(12) for score in game(seats, number, ["greedy"] * seats)]
        assert sum(scores) / len(scores) > mean


def test_the_bundled_player_of_a_forfeited_seat_is_the_greedy_one() -> None:
    assert RELIEF.automaton is RELIEF.players["greedy"]
    assert set(RELIEF.players) == {"random", "greedy"}


def test_greedy_builds_what_scores_most() -> None:
    table = relief("row: T33 T01 T07 T10 T04 | pile: | trigger: build | level: 2 | A* W1 F1 S4 K3 m1 X1 | B m0")
    assert RELIEF.automaton(table, A, draws()).text in ("build T33 @7", "build T33 @8")
    assert RELIEF.automaton(table, A, draws()).text in offers(table, A)
