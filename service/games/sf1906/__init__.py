"""1906 San Francisco in both editions; the second also solo against the Committee of Fifty."""

from functools import partial

from service.games.core import Game, never_secret, random_player
from service.games.sf1906 import (
    actions,
    board,
    box,
    greedy,
    picture,
    rules,
    sample,
    scoring,
    sentences,
    state,
    table,
    view,
)
from service.games.sf1906.editions import EDITIONS, Edition

_random = random_player(rules.legal_actions)


def _game(edition: Edition) -> Game[state.State, actions.Action]:
    return Game(
        id=edition.id,
        title=edition.title,
        version=edition.version,
        seats=range(min(edition.seats), max(edition.seats) + 1),
        options=table.options_of(edition),
        setup=partial(table.setup, edition),
        to_act=rules.to_act,
        legal_actions=rules.legal_actions,
        apply=rules.apply,
        outcome=scoring.outcome,
        view=view.view,
        text=lambda action: action.text,
        read=actions.read,
        sample=sample.sample,
        redeal=sample.redeal,
        automaton=greedy.choose,
        copy=lambda table: table.copy(),
        to_plain=state.to_plain,
        from_plain=state.from_plain,
        is_secret=lambda _: False,
        stays_secret=never_secret,
        picture=picture.picture,
        components=box.COMPONENTS,
        notation=actions.NOTATION,
        players={"random": _random, "greedy": greedy.choose},
        messages="sf1906",
        typed=lambda action: action.typed,
        say=sentences.say,
        tell=sentences.tell,
        points=sentences.points,
        together=view.together,
        board=board.BOARD,
        seat_names=box.PLAYER_COLOURS,
    )


GAMES = tuple(_game(edition) for edition in EDITIONS)
