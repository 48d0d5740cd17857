"""Checks of play: legal actions, refusals, notation, and whether a state can be copied, stored and repeated."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from service.games import core
from service.games.chance import Draws, seeds_of
from service.games.core import AnyGame, Plain, Refused, Seat, Unreadable
from tests.conformance.subjects import Setup
from tests.conformance.walks import Pool, Walk, answer, canonical, draws, play_out, remembered, stored, texts, viewers

REASON = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


# Legal actions


def check_offers(table: Setup, state: Any) -> None:
    """Only a seat to act has legal actions, in a stable order and without repeats."""
    game = table.game
    acting = list(game.to_act(state))
    assert len(set(acting)) == len(acting), f"{table}: to_act names a seat twice: {acting}"
    assert set(acting) <= set(range(table.seats)), f"{table}: to_act names no seat of this table: {acting}"
    for seat in range(table.seats):
        said = texts(game, state, seat)
        assert bool(said) == (seat in acting), f"{table}: seat {seat} is offered {said} and to act are {acting}"
        assert len(set(said)) == len(said), f"{table}: seat {seat} is offered something twice: {said}"
        actions = list(game.legal_actions(state, seat))
        assert len(set(actions)) == len(actions), f"{table}: seat {seat} is offered equal actions: {said}"
        assert texts(game, state, seat) == said, f"{table}: asked twice, the offer differs"
        assert texts(game, game.copy(state), seat) == said, f"{table}: a copy is offered something else"
        kept = game.from_plain(json.loads(stored(game, state)))
        assert texts(game, kept, seat) == said, f"{table}: a state out of the store is offered something else"


def check_every_offer_is_accepted(table: Setup, state: Any) -> None:
    """Each legal action is accepted on a copy, and the original is unchanged."""
    game = table.game
    before = stored(game, state)
    for seat in game.to_act(state):
        for action in game.legal_actions(state, seat):
            other = game.copy(state)
            refusal = answer(game, other, seat, action)
            assert refusal is None, f"{table}: {game.text(action)!r} is offered to seat {seat} and refused: {refusal}"
            assert stored(game, other) != before, f"{table}: {game.text(action)!r} changes nothing at all"
    assert stored(game, state) == before, f"{table}: playing on a copy changed the original"


# Refusals


def check_refusals(table: Setup, state: Any, foreign: Iterable[Any]) -> None:
    """Every action that is not legal is refused with a reason, a rule and a message, and the state is unchanged."""
    game = table.game
    before = stored(game, state)
    fresh = game.copy(state)
    foreign = list(foreign)
    refused = []
    for seat in [*range(table.seats), table.seats]:  # the last one does not exist
        offered = set(texts(game, state, seat)) if seat < table.seats else set()
        for action in foreign:
            if game.text(action) not in offered:
                check_refusal(table, state, seat, action)
                refused.append((seat, action))
    if stored(game, state) != before:
        for seat, action in refused:
            check_refusal(table, fresh, seat, action)
            said = f"{table}: {game.text(action)!r} by seat {seat}"
            assert stored(game, fresh) == before, f"{said} was refused and yet something moved"
        raise AssertionError(f"{table}: refusals left traces")


def check_refusal(table: Setup, state: Any, seat: Seat, action: Any) -> None:
    """This action is refused correctly."""
    game = table.game
    said = f"{table}: {game.text(action)!r} by seat {seat}"
    try:
        game.apply(state, seat, action)
    except Refused as refused:
        assert REASON.fullmatch(refused.reason), f"{said}: the reason {refused.reason!r} is not UPPER_SNAKE"
        assert refused.rule.strip(), f"{said}: {refused.reason} names no rule"
        assert refused.message.strip(), f"{said}: {refused.reason} has no message"
    else:
        raise AssertionError(f"{said} was not offered and yet accepted")


def check_the_end_refuses(table: Setup, walk: Walk, foreign: Iterable[Any]) -> None:
    """After the end no action is accepted from any seat."""
    assert not list(table.game.to_act(walk.end))
    check_refusals(table, walk.end, foreign)


# Notation


def check_notation(game: AnyGame, said: Iterable[str]) -> None:
    """A text gives its action and the action its text, with or without surrounding blanks."""
    for text in said:
        assert text and text == text.strip() and text.isprintable(), (
            f"{game.id}: {text!r} is no text a person could type"
        )
        action = game.read(text)
        assert game.text(action) == text, f"{game.id}: {text!r} comes back as {game.text(action)!r}"
        for padded in (f"  {text}", f"{text} ", f"\t{text}\n"):
            assert game.read(padded) == action, f"{game.id}: blanks change {text!r}"


def check_actions_come_back(table: Setup, state: Any) -> None:
    """Reading the text of a legal action gives the same action."""
    game = table.game
    for seat in game.to_act(state):
        for action in game.legal_actions(state, seat):
            back = game.read(game.text(action))
            assert back is action or back == action, f"{table}: {action!r} comes back as {back!r}"
            assert hash(back) == hash(action), f"{table}: {action!r} comes back equal and hashes differently"


def read_or_none(game: AnyGame, text: str) -> Any | None:
    """Returns the action of a text that may be invalid; no exception but Unreadable is allowed."""
    try:
        action = game.read(text)
    except Unreadable as unreadable:
        assert unreadable.expected.strip(), f"{game.id}: {text!r} is unreadable, and nobody says what was expected"
        return None
    again = game.text(action)
    assert game.read(again) == action, f"{game.id}: {text!r} is read as {again!r}, which does not come back"
    return action


def mutations(text: str, other: str, chance: Draws) -> Iterator[str]:
    """Yields texts that are almost actions."""
    words, others = text.split(), other.split()
    at = chance.below(len(words))
    yield " ".join(words[:at] + words[at + 1 :])
    yield " ".join([*words[: at + 1], *words[at:]])
    yield " ".join(reversed(words))
    yield f"{text} {others[-1]}"
    yield " ".join([words[0], *others[1:]])
    yield " ".join([*words[:-1], others[-1]])
    yield text.upper()
    yield text.lower()
    yield text.replace(" ", "")
    yield text[:-1]
    for strange in (
        "0",
        "-1",
        "+1",
        "99",
        "1_0",
        "1.0",
        "²",
        "٣",
        "1" * 5000,
        "\0",
    ):  # some are digits to str, some to int
        yield re.sub(r"\d+", strange, text, count=1)
        yield " ".join([*words[: at + 1], strange, *words[at + 1 :]])


def check_mutations(table: Setup, state: Any, pool: Pool, chance: Draws, count: int) -> None:
    """A text that is almost an action is unreadable, or an action that is legal or refused."""
    found = set()
    for text in pool.some(count, chance):
        other = pool.texts[chance.below(len(pool.texts))]
        for mutant in mutations(text, other, chance):
            action = read_or_none(table.game, mutant)
            if action is not None:
                found.add(action)
    check_refusals(table, state, sorted(found, key=table.game.text))


# Copies, stores, repetition


def check_plain_types(plain: Plain, allowed: tuple[type, ...], where: str) -> None:
    """Only the types of the contract occur: JSON would silently turn tuples into lists and number keys into texts."""
    assert type(plain) in allowed, f"{where} holds {plain!r}, a {type(plain).__name__}"
    if isinstance(plain, dict):
        for key, value in plain.items():
            assert type(key) is str, f"{where} has the key {key!r}, which is no text"
            check_plain_types(value, allowed, f"{where}.{key}")
    elif isinstance(plain, list):
        for index, value in enumerate(plain):
            check_plain_types(value, allowed, f"{where}[{index}]")


def check_plain(table: Setup, state: Any) -> None:
    """State and view are plain data, the state survives storing, and neither shares objects with the state."""
    game = table.game
    plain = game.to_plain(state)
    check_plain_types(plain, (list, int, str, type(None)), f"{table}: to_plain")
    before = canonical(plain)
    assert stored(game, game.from_plain(json.loads(before))) == before, f"{table}: the store changes the state"
    seen = {viewer: game.view(state, viewer) for viewer in viewers(table)}
    for viewer, view in seen.items():
        named = core.plain(view) if game.messages else view  # only a game with messages may use named tuples
        check_plain_types(named, (dict, list, str, int, bool, type(None)), f"{table}: view({viewer})")
    shown = {viewer: canonical(view) for viewer, view in seen.items()}

    moving, kept = game.copy(state), game.from_plain(plain)
    for viewer in viewers(table):
        assert canonical(game.view(kept, viewer)) == shown[viewer], (
            f"{table}: the store forgets what viewer {viewer} knows"
        )
    own = game.to_plain(moving), {viewer: game.view(moving, viewer) for viewer in viewers(table)}
    play_out(game, moving, draws("plain", before), limit=10**9)
    play_out(game, kept, draws("plain", before), limit=10**9)
    assert canonical(plain) == before, f"{table}: from_plain hands its input to the state"
    assert canonical(own[0]) == before, f"{table}: to_plain hands out parts of the state"
    for viewer in viewers(table):
        assert canonical(own[1][viewer]) == shown[viewer], f"{table}: view hands out parts of the state"
        assert canonical(game.view(state, viewer)) == shown[viewer], (
            f"{table}: a copy shares something with its original"
        )
    assert stored(game, moving) == stored(game, kept), f"{table}: a stored state plays on differently"


def check_copy(table: Setup, state: Any, chance: Draws) -> None:
    """Playing on with a state does not change its copy, and the reverse."""
    game = table.game
    before = stored(game, state)
    original, other = game.copy(state), game.copy(state)
    assert stored(game, other) == before, f"{table}: a copy differs from its original"
    play_out(game, other, chance)
    assert stored(game, original) == before, f"{table}: playing on a copy changed the original"
    other = game.copy(original)
    play_out(game, original, chance)
    assert stored(game, other) == before, f"{table}: playing on changed the copy"
    assert stored(game, state) == before, f"{table}: a copy of a copy shares something with the first"


def check_asking_changes_nothing(table: Setup, state: Any) -> None:
    """Every function except apply leaves the state unchanged."""
    game = table.game
    before = stored(game, state)
    for viewer in viewers(table):
        game.picture(game.view(state, viewer))
        game.redeal(state, viewer, draws("asking", before))
    for seat in game.to_act(state):
        for action in game.legal_actions(state, seat):
            game.stays_secret(state, seat, action)
        game.sample(game.view(state, seat), seat, draws("asking", before))
        for player in (game.automaton, *game.players.values()):
            player(state, seat, draws("asking", before))
    game.outcome(state)
    game.is_secret(state)
    assert stored(game, state) == before, f"{table}: asking changed the state"


def check_replay(table: Setup, walk: Walk, number: int) -> None:
    """A session is its seeds and its actions: replayed from their texts they give the same states, to the byte."""
    game = table.game
    state = game.new(table.seats, dict(table.options), seeds_of(number))
    for ply, (seat, text) in enumerate(walk.moves):
        assert stored(game, state) == stored(game, walk.states[ply]), f"{table}: the replay differs before ply {ply}"
        game.apply(state, seat, game.read(text))
    assert stored(game, state) == stored(game, walk.end), f"{table}: the replay ends differently"


def check_play(table: Setup, number: int, pool: Pool, positions: int, foreign: int) -> None:
    """Runs all checks of this file on one recorded game."""
    game = table.game
    walk = remembered(table, number)
    chance = draws("play", str(table), number)
    for ply in walk.choose(positions, "play", number):
        state = game.copy(walk.states[ply])
        check_offers(table, state)
        check_every_offer_is_accepted(table, state)
        check_refusals(table, state, [game.read(text) for text in pool.some(foreign, chance)])
    check_offers(table, walk.end)
    check_the_end_refuses(table, walk, [game.read(text) for text in pool.some(foreign, chance)])
