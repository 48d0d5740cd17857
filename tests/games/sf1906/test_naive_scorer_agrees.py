"""The engine and the naive scorer agree on every line of every sheet.

The positions are finished random games and synthetic ones: crowded maps, any development, any money, all objectives handed out.
"""

from random import Random
from typing import Final

import pytest

from service.games.chance import Draws, seeds_of
from service.games.core import Line, Outcome
from service.games.sf1906 import box, editions, rules, scoring, table
from service.games.sf1906.building import take_urbanism
from service.games.sf1906.editions import Edition
from service.games.sf1906.state import NOBODY, OVER, State
from tests.games.sf1906 import naive_scorer

PLAYED: Final = 300
DRAWN_UP: Final = 700
EDITIONS: Final = [pytest.param(edition, id=edition.id) for edition in editions.EDITIONS]


def set_up(edition: Edition, number: int) -> State:
    """Returns a table with the seat counts and options of the edition in turn."""
    chance = Random(number)
    seats = edition.seats[number % len(edition.seats)]
    options = {option.name: option.default for option in table.options_of(edition)}
    options["map"] = chance.choice(["pairs", "free"])
    if seats == 1:
        options["solo_divisor"] = chance.choice([3, 4])
    return table.setup(edition, seats, options, seeds_of(1906, number))


def played(edition: Edition, number: int) -> State:
    """A random game, played to its end."""
    state = set_up(edition, number)
    draws = Draws(state.deck_seed, "test/random-play")
    while seats := rules.to_act(state):
        actions = rules.legal_actions(state, seats[0])
        rules.apply(state, seats[0], actions[draws.below(len(actions))])
    return state


def drawn_up(edition: Edition, number: int) -> State:
    """Returns a crowded table with random pieces of everything that scores."""
    state = set_up(edition, number)
    chance = Random(number)
    tokens = len(state.site.rubble)
    spaces = chance.sample(state.site.reading, len(state.site.reading))
    for who, player in enumerate(state.players):
        built = chance.choice([chance.randint(0, 8), 7, 8])  # crowded rather than empty
        for _ in range(min(built, len(spaces))):
            state.owner[spaces.pop()] = who
        player.pool = box.BUILDINGS - state.owner.count(who)
        player.stock = 0
        player.rubble = chance.randint(0, tokens)
        tokens -= player.rubble
        player.money = chance.randint(0, min(edition.money_cap, 40))
        player.column = chance.randint(0, box.TOP)
        player.row = chance.randint(0, box.TOP)
    for icon in range(len(box.ICONS)):
        for _ in range(chance.randint(0, state.urbanism[icon])):
            take_urbanism(state, chance.choice(state.players), icon)
    _hand_out_objectives(state, chance)
    state.best_builder = chance.choice([NOBODY, *range(len(state.players))])
    state.phase = OVER
    return state


def _hand_out_objectives(state: State, chance: Random) -> None:
    """Lays three common cards; deals the other 21 of O01-O24 to all players, to one player, or only in part."""
    state.common = chance.sample(box.INITIAL, 3)
    rest = [card for card in [*box.GREEN, *box.INITIAL] if card not in state.common]
    chance.shuffle(rest)
    takers = [*state.players, None] if chance.random() < 0.8 else [chance.choice(state.players)]
    for player in state.players:
        player.objectives = []
    for card in rest:
        taker = chance.choice(takers)
        if taker is not None:
            taker.objectives.append(card)
    for player in state.players:
        player.known = [False] * len(player.objectives)


def heading(line: Line) -> str:
    """The card's number for an objective, else the heading itself."""
    words = line.label.split()
    if words[0] in ("common", "own"):
        return words[1]
    return "O25" if line.label == "Best Builder" else line.label


def agree(state: State) -> naive_scorer.Table:
    """Compares lines, then ranks; returns the table as the naive scorer read it."""
    outcome = scoring.outcome(state)
    assert isinstance(outcome, Outcome)
    naive = naive_scorer.read(state)
    results = (*outcome.seats, *outcome.house)
    assert len(results) == len(naive.areas)
    for who, result in enumerate(results):
        expected = list(naive_scorer.lines(naive, who))
        assert [(heading(line), line.points) for line in result.lines] == expected, (who, naive)
        assert result.score == sum(points for _, points in expected)
    assert [result.rank for result in results] == naive_scorer.ranks(naive)
    return naive


@pytest.mark.parametrize("edition", EDITIONS)
def test_both_scorers_agree_line_by_line_on_finished_random_games(edition: Edition) -> None:
    """R32-R43, R78, R79"""
    for number in range(PLAYED):
        agree(played(edition, number))


@pytest.mark.parametrize("edition", EDITIONS)
def test_both_scorers_agree_line_by_line_on_crowded_tables(edition: Edition) -> None:
    """R32-R43, R57, R78, R79: every objective pays at every seat count, since agreeing on zeroes would prove nothing."""
    paid: set[tuple[int, str]] = set()
    for number in range(DRAWN_UP):
        naive = agree(drawn_up(edition, number))
        seats = 1 if naive.divisor is not None else len(naive.areas)
        for who in range(len(naive.areas)):
            paid |= {(seats, card) for card in naive.areas[who].personal if naive_scorer.objective(naive, who, card)}
            paid |= {(seats, card) for card in naive.common if naive_scorer.objective(naive, who, card)}
        if naive.best_builder is not None:
            paid.add((seats, "O25"))

    assert paid == {(seats, f"O{card:02}") for seats in edition.seats for card in range(1, 26)}


def test_the_naive_map_has_twenty_plots_and_sixty_spaces() -> None:
    """R32, R36: the drawings of the cards say the same as the list of spaces."""
    assert sorted(naive_scorer.SPOTS) == sorted(box.SPACE_IDS)
    assert len({space[:2] for space in naive_scorer.SPOTS}) == 20
    corners = [space for space in naive_scorer.SPOTS if naive_scorer.bends(space)]
    assert [len([space for space in corners if space[0] == colour]) for colour in "YGRP"] == [7, 6, 7, 6]
    assert naive_scorer.neighbours("Y5c") == ("Y5a", "Y5d")
    assert naive_scorer.neighbours("R1a") == ()
    assert not naive_scorer.bends("R5c")  # between two others, but in a straight line
