"""The engine and the naive rules offer the same actions and reach the same position, decision by decision."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from service.games.core import OptionValue
from service.games.sf1906 import actions, box, rules
from service.games.sf1906.scoring import outcome
from service.games.sf1906.state import State
from tests.games.sf1906 import naive_rules
from tests.games.sf1906.drawing import fresh

TABLES: Final = [("1e", 2), ("1e", 3), ("1e", 4), ("2e", 1), ("2e", 2), ("2e", 3), ("2e", 4)]
GAMES: Final = 12


def anything(_: State, __: str) -> int:
    """Has no preference."""
    return 0


def building(state: State, said: str) -> int:
    """Fills the map: builds, or else collects what building needs."""
    player = state.players[state.current()]
    wishes = {
        "build": 3,
        "grant-build": 3,
        "materials": 2 * (player.stock == 0),
        "permit": 2 * (len(player.permits) < 3),
    }
    return wishes.get(_kind(state, said), int(_kind(state, said) == "earnings" or said == "earn 4"))


def hoarding(state: State, said: str) -> int:
    """Collects as much as possible: money up to the cap, five permits, the last objective."""
    return int(
        _kind(state, said) in ("objective", "earnings", "money", "cash") or said.startswith(("earn 4", "permit"))
    )


def developing(state: State, said: str) -> int:
    """Goes to the top-right space, keeps stepping there, and builds with two permits."""
    if said.startswith(("clear", "reward", "discard")):
        return len(said.split()) - said.endswith("none")
    return 1 + (_kind(state, said) in ("clear-up", "urban-development", "development", "build", "grant-build"))


def _kind(state: State, said: str) -> str:
    """The action that a placement carries out, cash or pass, or the benefit that is taken; "" for other actions."""
    first, *words = said.split()
    if first != "place" or words[1] in ("cash", "pass"):
        return words[-1] if first in ("benefit", "place") else ""
    kind, _ = state.face[state.ring[state.card]][int(words[-1]) if words[1] == "buy" else int(words[0])]
    return box.ACTIONS[kind]


MANNERS: Final[tuple[Callable[[State, str], int], ...]] = (anything, building, hoarding, developing)


def play_both(edition: str, seats: int, number: int, seen: Counter[str]) -> None:
    """Plays one game with both, and compares them before every decision and at the end."""
    chance = Random(number)
    switches: dict[str, OptionValue] = {"map": chance.choice(["pairs", "free"])}
    if seats == 1:
        switches |= {"solo_aid": chance.choice(["normal", "hard"]), "solo_blocked": chance.choice([1, 4])}
    state = fresh(edition, seats, number, **switches)
    naive = naive_rules.read(state)
    manner = MANNERS[number % len(MANNERS)]
    going = naive_rules.course(naive)
    asked = next(going, None)
    while asked is not None:
        who, options = asked
        assert rules.to_act(state) == (who,)
        assert sorted(action.text for action in rules.legal_actions(state, who)) == sorted(options)
        assert naive_rules.written(state) == naive_rules.said_by(naive)
        wishes = {text: manner(state, text) for text in sorted(options)}
        best = [text for text in wishes if wishes[text] == max(wishes.values())]
        said = chance.choice(best if chance.random() < 0.85 else list(wishes))
        rules.apply(state, who, actions.read(said))
        try:
            asked = going.send(said)
        except StopIteration:
            asked = None
    result = outcome(state)
    assert result is not None
    assert naive_rules.written(state) == naive_rules.said_by(naive)
    seen[result.ending] += 1
    seen["reshuffles"] += naive.reshuffles
    seen["no objective left"] += naive.objective_row == ["", "", ""]
    seen["top right"] += any((area.column, area.row) == (5, 5) for area in naive.areas)


@pytest.mark.parametrize(("edition", "seats"), TABLES)
def test_engine_and_naive_rules_agree_at_every_decision(edition: str, seats: int) -> None:
    """R63, R67: the seat that is asked, its legal actions and the whole table are the same; with four styles of play."""
    seen: Counter[str] = Counter()
    for number in range(GAMES):
        play_both(edition, seats, number, seen)

    assert seen["FINAL_YEAR"]
    assert seen["top right"]
    assert seen["reshuffles"] or seats in (2, 3)  # few permits are used up there
    assert seen["no objective left"] or seats == 2
