"""Relief, from an untitled rules booklet: two or three players rebuild a city after a natural disaster."""

from service.games.core import Game, Option, never_secret, random_player
from service.games.relief import (
    actions,
    board,
    box,
    greedy,
    legal,
    picture,
    rules,
    sample,
    scoring,
    sentences,
    state,
    view,
)

RELIEF: Game[state.State, actions.Action] = Game(
    id="relief",
    title="Relief",
    version=1,
    seats=range(2, 4),
    options=(
        Option(
            name="end_on_discard",
            default="full_round",
            about="the last tile enters in the end-of-round refill: play one more full round, or stop and score",
            choices=("full_round", "stop"),
        ),
        Option(
            name="objectives",
            default="all",
            about="every player scores all objectives in play, or only the own and the face-up one",
            choices=("all", "own"),
        ),
    ),
    setup=rules.setup,
    to_act=rules.to_act,
    legal_actions=legal.legal_actions,
    apply=rules.apply,
    outcome=scoring.outcome,
    view=view.view,
    text=lambda action: action.text,
    read=actions.read,
    sample=sample.sample,
    redeal=sample.redeal,
    automaton=greedy.greedy,
    copy=state.copy,
    to_plain=state.to_plain,
    from_plain=state.from_plain,
    is_secret=rules.is_secret,
    stays_secret=never_secret,
    picture=picture.picture,
    components=box.BOX.components,
    notation=actions.NOTATION,
    players={"random": random_player(legal.legal_actions), "greedy": greedy.greedy},
    messages="relief",
    typed=lambda action: action.typed,
    say=sentences.say,
    tell=sentences.tell,
    points=sentences.points,
    together=view.together,
    board=board.BOARD,
)

GAMES = (RELIEF,)
