"""Legal actions are accepted and others refused; notation, copies, stores and replays work."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from service.games.chance import seeds_of
from service.games.core import AnyGame
from tests.conformance import checks_play as ask
from tests.conformance.subjects import Setup, Subject, plain_tables
from tests.conformance.walks import PLY_LIMIT, draws, play_out, pool_of, remembered, stored, texts


def test_each_legal_action_is_accepted_and_nothing_else(table: Setup) -> None:
    ask.check_play(table, 0, pool_of(table), positions=12, foreign=60)


def test_what_is_nearly_an_action_is_unreadable_or_refused(plain_table: Setup) -> None:
    walk, chance = remembered(plain_table), draws("mutations", str(plain_table))
    for ply in walk.choose(4, "mutations"):
        ask.check_mutations(plain_table, plain_table.game.copy(walk.states[ply]), pool_of(plain_table), chance, 12)


def test_a_text_and_its_action_are_one_thing(table: Setup) -> None:
    walk = remembered(table)
    said = {text for offer in walk.offers for options in offer.values() for text in options}
    ask.check_notation(table.game, sorted(said))
    for ply in walk.choose(20, "notation"):
        ask.check_actions_come_back(table, walk.states[ply])


def test_copies_are_independent(table: Setup) -> None:
    walk = remembered(table)
    for ply in walk.choose(3, "copies"):
        ask.check_copy(table, walk.states[ply], draws("copies", str(table), ply))


def test_states_and_views_are_plain_data_and_survive_the_store(table: Setup) -> None:
    walk = remembered(table)
    for ply in walk.choose(5, "plain"):
        ask.check_plain(table, walk.states[ply])
    ask.check_plain(table, walk.end)


def test_asking_changes_nothing(table: Setup) -> None:
    walk = remembered(table)
    for state in [*(walk.states[ply] for ply in walk.choose(5, "asking")), walk.end]:
        ask.check_asking_changes_nothing(table, state)


def test_seeds_and_actions_give_the_same_session(table: Setup) -> None:
    ask.check_replay(table, remembered(table), 0)


@st.composite
def any_table(draw: st.DrawFn, game: AnyGame) -> Setup:
    """Draws any seat count with any options that have an effect there."""
    seats = draw(st.sampled_from(list(game.seats)))
    chosen = []
    for option in game.options:
        if not option.seats or seats in option.seats:
            values = st.sampled_from(option.choices) if option.range is None else st.integers(*option.range)
            chosen.append((option.name, draw(values)))
    return Setup(game, game.id, seats, tuple(chosen))


@settings(max_examples=12)
@given(data=st.data())
def test_any_interleaving_of_any_legal_actions_is_a_game(subject: Subject, data: st.DataObject) -> None:
    """Hypothesis chooses seeds, options and the first choices, so that a failure shrinks to a short game."""
    found = data.draw(any_table(subject.game), label="table")
    game = found.game
    state = game.new(found.seats, dict(found.options), seeds_of(data.draw(st.integers(0, 10**6), label="seed")))
    chance = draws("interleaving", str(found))
    for choice in data.draw(st.lists(st.integers(0, 999), max_size=25), label="choices"):
        acting = list(game.to_act(state))
        if not acting:
            break
        seat = acting[choice % len(acting)]
        offered = texts(game, state, seat)
        game.apply(state, seat, game.read(offered[choice // len(acting) % len(offered)]))
        ask.check_offers(found, state)
    twin = game.from_plain(json.loads(stored(game, state)))
    for line in play_out(game, state, chance, PLY_LIMIT):
        speaker, text = line.split(" ", 1)
        game.apply(twin, int(speaker), game.read(text))
    assert stored(game, twin) == stored(game, state)


@settings(max_examples=60)
@given(garbage=st.text(max_size=30))
def test_garbage_is_unreadable(subject: Subject, garbage: str) -> None:
    ask.read_or_none(subject.game, garbage)


@settings(max_examples=60)
@given(data=st.data())
def test_a_changed_text_is_unreadable_or_an_action(subject: Subject, data: st.DataObject) -> None:
    pool = pool_of(plain_tables(subject.game)[0])
    words = sorted({word for text in pool.texts for word in text.split()})
    strange = st.one_of(st.sampled_from(words), st.text(max_size=4), st.integers(-3, 99).map(str))
    ask.read_or_none(subject.game, " ".join(data.draw(st.lists(strange, max_size=6), label="words")))
