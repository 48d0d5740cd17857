"""Salvage: a complete small game, as a template and to test the conformance checks."""

from typing import Final

from service.games.core import Game, Option, never_secret
from tests.example_game import actions, box, players, rules, scoring, state, view
from tests.example_game.actions import Action
from tests.example_game.state import State

GAME: Final = Game[State, Action](
    id="salvage",
    title="Salvage",
    version=1,
    seats=range(2, 4),
    options=(Option("rounds", 4, "how many finds are fought over", range=(2, 5)),),
    setup=rules.setup,
    to_act=rules.to_act,
    legal_actions=rules.legal_actions,
    apply=rules.apply,
    outcome=scoring.outcome,
    view=view.view,
    text=actions.text,
    read=actions.read,
    sample=view.sample,
    redeal=view.redeal,
    automaton=players.greedy,
    copy=state.copy,
    to_plain=state.to_plain,
    from_plain=state.from_plain,
    is_secret=rules.is_secret,
    stays_secret=never_secret,
    picture=view.picture,
    components=box.COMPONENTS,
    notation=actions.NOTATION,
    players={"random": players.random, "greedy": players.greedy},
)
GAMES: Final = (GAME,)
