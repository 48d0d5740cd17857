"""Checks of hidden information: re-dealing what a viewer cannot see must not change anything it is sent.

Two states are *alike* for a viewer if its views of them are the same bytes. A view holds all that a player with perfect
memory knows, so alike states must agree in everything: who is to act, the legal actions of the viewer's seat, its refusals, the
choice of the bundled player in that seat. What happens next may differ: a card that is turned up is another card. So two alike
states are played in parallel with the same actions, and compared as long as they stay alike.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from bots.bundled.decoder import view_of
from rubble.v1 import common_pb2
from service.games.chance import Draws, Seeds, seeds_of
from service.games.core import AnyGame, Plain, Seat, Viewer
from service.games.log import History
from service.rpc import codec
from tests.conformance.subjects import Setup
from tests.conformance.walks import (
    PLY_LIMIT,
    Pool,
    Walk,
    answer,
    canonical,
    draws,
    play_out,
    remembered,
    stored,
    texts,
    viewers,
)

Path = tuple[int, ...]


def shown(game: AnyGame, state: Any, viewer: Viewer) -> str:
    """Returns what a viewer sees, as canonical text."""
    return canonical(game.view(state, viewer))


# Alike states


def check_alike(table: Setup, one: Any, other: Any, viewer: Viewer, foreign: Sequence[Any], which: str) -> None:
    """Two states with the same view give this viewer the same answers too."""
    game = table.game
    said = f"{table}: viewer {viewer}, {which}"
    assert list(game.to_act(one)) == list(game.to_act(other)), f"{said}: who is to act depends on hidden cards"
    assert game.is_secret(one) == game.is_secret(other), f"{said}: whether it is secret depends on hidden cards"
    assert (game.outcome(one) is None) == (game.outcome(other) is None), f"{said}: the end depends on hidden cards"
    if viewer is None:
        return
    offered = texts(game, one, viewer)
    assert offered == texts(game, other, viewer), f"{said}: the legal actions depend on hidden cards"
    here, there = game.copy(one), game.copy(other)
    for action in foreign:
        if game.text(action) not in offered:
            first, second = answer(game, here, viewer, action), answer(game, there, viewer, action)
            assert first == second, f"{said}: how {game.text(action)!r} is refused depends on hidden cards"


def check_redeal(table: Setup, state: Any, viewer: Viewer, foreign: Sequence[Any], chance: Draws) -> None:
    """After a redeal this viewer gets the same bytes and the same answers."""
    game = table.game
    before = stored(game, state)
    other = game.redeal(state, viewer, chance)
    assert stored(game, state) == before, f"{table}: redeal changes the state it is given"
    seen, again = shown(game, state, viewer), shown(game, other, viewer)
    assert seen == again, (
        f"{table}: viewer {viewer} can see hidden cards: {difference(json.loads(seen), json.loads(again))}"
    )
    check_alike(table, state, other, viewer, foreign, "dealt anew")


def difference(one: Plain, other: Plain, where: str = "") -> str:
    """Returns the first place where two plain values differ."""
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        pairs: Iterator[tuple[str, Plain, Plain]] = ((f"{where}.{key}", one[key], other[key]) for key in one)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = ((f"{where}[{index}]", a, b) for index, (a, b) in enumerate(zip(one, other, strict=True)))
    else:
        return "" if one == other and type(one) is type(other) else f"{where or 'all of it'}: {one!r}, then {other!r}"
    return next((found for path, a, b in pairs if (found := difference(a, b, path))), "")


def check_players(table: Setup, state: Any, seat: Seat, chance: Draws) -> None:
    """Automaton and bundled players choose legal actions, repeatably, and independently of what they cannot see."""
    game = table.game
    offered = texts(game, state, seat)
    seed = chance.seed()
    other = game.redeal(state, seat, chance)
    for name, player in {"automaton": game.automaton, **game.players}.items():
        said = f"{table}: {name} in seat {seat}"
        choice = game.text(player(state, seat, Draws(seed, name)))
        assert choice in offered, f"{said} chooses {choice!r}, which is not offered"
        assert game.text(player(state, seat, Draws(seed, name))) == choice, f"{said} does not repeat itself"
        kept = game.from_plain(json.loads(stored(game, state)))
        assert game.text(player(kept, seat, Draws(seed, name))) == choice, f"{said} differs after the store"
        assert game.text(player(other, seat, Draws(seed, name))) == choice, f"{said} peeks at hidden cards"


# Alike states, played on


def check_in_step(table: Setup, walk: Walk, ply: int, viewer: Viewer, pool: Pool, chance: Draws, limit: int) -> int:
    """Plays a state and its redealt copy with the same actions while the views are equal; returns how many plies.

    Actions that the viewer may not read are chosen separately in each state. At every step the logs are compared: while the
    states are alike, the viewer reads the same log. So the log must not show a choice that the view does not show after the
    secret phase.
    """
    game = table.game
    one, other = game.copy(walk.states[ply]), game.redeal(walk.states[ply], viewer, chance)
    logs = walk.history(ply), walk.history(ply)
    for step in range(limit):
        foreign = [game.read(text) for text in pool.some(8, chance)]
        check_alike(table, one, other, viewer, foreign, f"{step} plies after a redeal")
        read = logs[0].shown_to(one, viewer)
        assert read == logs[1].shown_to(other, viewer), (
            f"{table}: the log tells viewer {viewer} what its view does not: {read[-3:]}"
        )
        acting = list(game.to_act(one))
        if not acting:
            return step
        seat = acting[chance.below(len(acting))]
        if seat != viewer:
            check_log(table, one, other, seat, viewer)
        here, there = unread(game, one, seat, viewer), unread(game, other, seat, viewer)
        common = [text for text in texts(game, one, seat) if text in texts(game, other, seat)]
        if here and there:
            said = here[chance.below(len(here))], there[chance.below(len(there))]
        elif common:
            said = (common[chance.below(len(common))],) * 2
        else:
            return step
        logs[0].play(one, seat, game.read(said[0]))
        logs[1].play(other, seat, game.read(said[1]))
        if shown(game, one, viewer) != shown(game, other, viewer):
            return step
    return limit


def unread(game: AnyGame, state: Any, seat: Seat, viewer: Viewer) -> list[str]:
    """Returns the actions of a seat that this viewer may not read at once."""
    if seat == viewer:
        return []
    is_secret = game.is_secret(state)
    offered = game.legal_actions(state, seat)
    return [game.text(action) for action in offered if is_secret or game.stays_secret(state, seat, action)]


def check_log(table: Setup, one: Any, other: Any, seat: Seat, viewer: Viewer) -> None:
    """An action that this viewer reads reveals no more than its view afterwards.

    Suppose one action is legal in one state only, because of cards this viewer does not know, and another action in the other
    state, and both lead to the same view. Then the log reveals more than the view.
    """
    game = table.game
    here, there = texts(game, one, seat), texts(game, other, seat)
    hidden = {*unread(game, one, seat, viewer), *unread(game, other, seat, viewer)}
    only_here = [text for text in here if text not in there and text not in hidden]
    only_there = [text for text in there if text not in here and text not in hidden]
    if not only_here or not only_there:
        return
    sights = {_sight(game, one, seat, text, viewer): text for text in only_here}
    for text in only_there:
        twin = sights.get(_sight(game, other, seat, text, viewer))
        assert twin is None, (
            f"{table}: the log tells viewer {viewer} {twin!r} or {text!r} of seat {seat}, and its view does not"
        )


def _sight(game: AnyGame, state: Any, seat: Seat, text: str, viewer: Viewer) -> str:
    after = game.copy(state)
    game.apply(after, seat, game.read(text))
    return shown(game, after, viewer)


# Secret choices


def check_secrecy(table: Setup, walk: Walk) -> int:
    """Several seats act only in secret, and a secret phase ends only with the last of them. Returns the number of secret plies."""
    game = table.game
    count = 0
    for ply, state in enumerate(walk.states):
        acting = list(game.to_act(state))
        is_secret = game.is_secret(state)
        assert is_secret or len(acting) == 1, f"{table}: seats {acting} speak at once at ply {ply}, and not in secret"
        if is_secret:
            count += 1
            after = walk.positions[ply + 1]
            if not game.is_secret(after):
                assert len(acting) == 1, f"{table}: the secret is lifted at ply {ply}, before {acting} have all spoken"
    return count


def check_secret_choices(table: Setup, state: Any, history: History[Any, Any], chance: Draws, tries: int) -> int:
    """While choices are secret, views, legal actions and logs of others do not depend on them. Returns the comparisons made.

    Others may see that a seat has finished, so the number of questions must not depend on its choices. After the last seat has
    chosen, the log may distinguish only what the view distinguishes.
    """
    game = table.game
    compared = 0
    for seat in game.to_act(state):
        sights: dict[tuple[Viewer, bool], tuple[list[str], str]] = {}
        revealed: dict[tuple[Viewer, str], tuple[list[str], str]] = {}
        for is_whole, line in _lines(game, state, seat, chance, tries):
            after, log = game.copy(state), History(game, list(history.entries))
            for text in line:
                log.play(after, seat, game.read(text))
            for viewer in viewers(table):
                if viewer == seat:
                    continue
                if not game.is_secret(after):
                    read = canonical(log.shown_to(after, viewer))
                    said, first = revealed.setdefault((viewer, shown(game, after, viewer)), (line, read))
                    assert read == first, (
                        f"{table}: after the secret phase the log tells viewer {viewer} {line} of seat {seat} from {said},"
                        " and its view does not"
                    )
                    compared += said is not line
                    continue
                said, first = sights.setdefault((viewer, is_whole), (line, _secret_sight(table, after, log, viewer)))
                told = f"{table}: viewer {viewer} can tell {line} of seat {seat} from {said}, which is secret"
                assert len(line) == len(said), f"{told}: it is asked more often"
                assert _secret_sight(table, after, log, viewer) == first, told
                compared += said is not line
    return compared


def _secret_sight(table: Setup, state: Any, log: History[Any, Any], viewer: Viewer) -> str:
    """Returns all that a viewer is sent while others choose secretly."""
    game = table.game
    offered = [] if viewer is None else texts(game, state, viewer)
    return canonical([list(game.to_act(state)), shown(game, state, viewer), log.shown_to(state, viewer), offered])


def _lines(game: AnyGame, state: Any, seat: Seat, chance: Draws, tries: int) -> Iterator[tuple[bool, list[str]]]:
    """Yields every single choice of a seat, then some sequences of choices until it has finished."""
    for text in texts(game, state, seat):
        yield False, [text]
    for _ in range(tries):
        after, line = game.copy(state), []
        while seat in game.to_act(after) and game.is_secret(after):
            offered = texts(game, after, seat)
            line.append(offered[chance.below(len(offered))])
            game.apply(after, seat, game.read(line[-1]))
        yield True, line


def check_pending_choices_are_redealt(table: Setup, state: Any, chance: Draws, redeals: int) -> None:
    """A seat's secret choice is hidden from the others, so a redeal varies it."""
    game = table.game
    for seat in game.to_act(state):
        after = []
        for action in game.legal_actions(state, seat):
            moved, lasting = game.copy(state), game.stays_secret(state, seat, action)
            game.apply(moved, seat, action)
            if (lasting or game.is_secret(moved)) and seat not in game.to_act(moved):
                after.append(moved)
        if len(after) < 2:
            continue
        picked = varied([game.to_plain(one) for one in after])
        for viewer in viewers(table):
            if viewer != seat:
                dealt = [game.to_plain(game.redeal(after[0], viewer, chance)) for _ in range(redeals)]
                missing = picked - varied(dealt)
                assert not missing, (
                    f"{table}: a redeal for viewer {viewer} keeps the secret choice of seat {seat}: {missing}"
                )


# Completeness of redeals


def varied(plains: Sequence[Plain]) -> set[Path]:
    """Returns the places at which these plain values differ."""
    first, *others = [dict(_leaves(plain, ())) for plain in plains]
    found: set[Path] = set()
    for other in others:
        found |= {path for path in first.keys() | other.keys() if first.get(path) != other.get(path)}
    return found


def _leaves(plain: Plain, path: Path) -> Iterator[tuple[Path, Plain]]:
    if isinstance(plain, list):
        for index, value in enumerate(plain):
            yield from _leaves(value, (*path, index))
    else:
        yield path, plain


def check_redeal_deals(table: Setup, table_seed: bytes, chance: Draws, deals: int, redeals: int) -> None:
    """At the first position, everything that another deck seed changes is hidden, and a redeal varies all of it.

    A redeal that forgets a pile would make every other check of this file blind for that pile. What the table seed decides is
    known to a bot that played this opening before, in another seat of a duplicate; so it must not be hidden.
    """
    game = table.game
    states = [game.new(table.seats, dict(table.options), Seeds(table_seed, chance.seed())) for _ in range(deals)]
    for state in states[1:]:
        seen, first = shown(game, state, None), shown(game, states[0], None)
        assert seen == first, (
            f"{table}: the deck seed changes what lies open: {difference(json.loads(first), json.loads(seen))}"
        )
    hidden = varied([game.to_plain(state) for state in states])
    worlds = {
        viewer: [game.to_plain(game.redeal(states[0], viewer, chance)) for _ in range(redeals)]
        for viewer in viewers(table)
    }
    dealt = {viewer: varied(plains) for viewer, plains in worlds.items()}
    doubled = twins(worlds[None], hidden, redeals // 4) - twins([game.to_plain(state) for state in states], hidden, 1)
    assert not doubled, f"{table}: a redeal for a spectator holds one thing in two places: {sorted(doubled)[:3]}"
    foreseen = dealt[None] - hidden - _pending(game, states[0])
    assert not foreseen, f"{table}: hidden, and yet the deck seed does not decide it: {foreseen}"
    assert not hidden - dealt[None], f"{table}: a redeal for a spectator never touches {hidden - dealt[None]}"
    if table.seats > 1:
        missing = hidden.difference(*(dealt[seat] for seat in range(table.seats)))
        assert not missing, f"{table}: no redeal for any seat ever touches {missing}"
    else:
        assert dealt[0] or not hidden, f"{table}: a redeal for the only seat changes nothing"


def _pending(game: AnyGame, state: Any) -> set[Path]:
    """Returns the places that a secret choice changes: no seed decides them."""
    if not game.is_secret(state):
        return set()
    plains = [game.to_plain(state)]
    for seat in game.to_act(state):
        for action in game.legal_actions(state, seat):
            after = game.copy(state)
            game.apply(after, seat, action)
            plains.append(game.to_plain(after))
    return varied(plains)


def is_dealt_open(table: Setup, table_seed: bytes, chance: Draws) -> bool:
    """Returns whether the deck seed decides nothing: then there are no hidden cards, and only choices can be secret."""
    game = table.game
    states = [game.new(table.seats, dict(table.options), Seeds(table_seed, chance.seed())) for _ in range(8)]
    return not varied([game.to_plain(state) for state in states])


# Memory

#: The number of states on either side; a place that is fixed in all of one side and varies in a quarter of the other is a fault.
WORLDS = 32
OPEN = WORLDS // 4


def check_memory(table: Setup, walk: Walk, ply: int, viewer: Viewer, chance: Draws, tries: int) -> bool:
    """A viewer's earlier view plus the actions since then give exactly the knowledge of its new view.

    Samples of the earlier view are played on with the same actions; those that then match the new view must be the samples of
    the new view. A redeal that varies what is fixed in all of them has forgotten something; one that fixes what varies in them
    knows too much. Returns False if too few samples match the new view.
    """
    game = table.game
    before, after, (seat, text) = walk.states[ply], walk.positions[ply + 1], walk.moves[ply]
    if game.is_secret(before) or game.is_secret(after):
        return False  # others may have acted meanwhile: a view does not contain how often
    sight, action = shown(game, after, viewer), game.read(text)
    if seat != viewer and game.stays_secret(before, seat, action):
        return False  # the viewer does not know the action
    believed: list[Plain] = []
    for attempt in range(tries):
        world = game.redeal(before, viewer, chance)
        if answer(game, world, seat, action) is None and shown(game, world, viewer) == sight:
            believed.append(game.to_plain(world))
        if len(believed) == WORLDS or len(believed) + tries - attempt <= WORLDS:
            break  # enough, or out of reach
    if len(believed) < WORLDS:
        return False
    dealt = [game.to_plain(game.redeal(after, viewer, chance)) for _ in range(WORLDS)]
    said = f"{table}: after {text!r} of seat {seat} at ply {ply} viewer {viewer}"
    forgotten = opened(dealt) - varied(believed)
    assert not forgotten, f"{said} has forgotten what lies at {sorted(forgotten)[:5]}"
    betrayed = opened(believed) - varied(dealt)
    assert not betrayed, f"{said} believes to know what lies at {sorted(betrayed)[:5]}, and cannot"
    return True


def opened(plains: Sequence[Plain]) -> set[Path]:
    """Returns the places at which many of these plain values differ from the most common one."""
    leaves = [dict(_leaves(plain, ())) for plain in plains]
    found = set()
    for path in varied(plains):
        values = Counter(leaf.get(path) for leaf in leaves)
        if len(plains) - values.most_common(1)[0][1] >= OPEN:
            found.add(path)
    return found


# Samples


def check_sample(table: Setup, state: Any, seat: Seat, chance: Draws) -> None:
    """A sample has the same view and legal actions, can be played to its end, and is made from the view alone."""
    game = table.game
    said = f"{table}: a world sampled for seat {seat}"
    seed = chance.seed()
    view = game.view(state, seat)
    before = canonical(view)
    world = game.sample(view, seat, Draws(seed, "sample"))
    assert canonical(view) == before, f"{table}: sample changes the view it is given"
    seen = shown(game, world, seat)
    assert seen == before, f"{said} looks different: {difference(json.loads(before), json.loads(seen))}"
    check_alike(table, state, world, seat, (), "a sampled world")
    sent = common_pb2.View.FromString(codec.for_game(game).view_bytes(view))
    wired = game.sample(view_of(sent), seat, Draws(seed, "sample"))
    assert stored(game, wired) == stored(game, world), f"{said} depends on more than the bytes of the view"
    other = game.redeal(state, seat, chance)
    again = game.sample(game.view(other, seat), seat, Draws(seed, "sample"))
    assert stored(game, again) == stored(game, world), f"{said} depends on the hidden cards"
    kept = game.from_plain(json.loads(stored(game, world)))
    assert play_out(game, kept, Draws(seed, "out")) == play_out(game, world, Draws(seed, "out")), f"{said} is not whole"
    assert game.outcome(world) is not None, f"{said} ends without an outcome"
    assert canonical(view) == before, f"{said} keeps parts of the view it was made of"


def check_sample_varies(table: Setup, state: Any, seat: Seat, chance: Draws, redeals: int) -> None:
    """Redeal and sampler vary exactly the same places."""
    game = table.game
    view = game.view(state, seat)
    dealt = [game.to_plain(game.redeal(state, seat, chance)) for _ in range(8 * redeals)]
    sampled = [game.to_plain(game.sample(view, seat, chance)) for _ in range(8 * redeals)]
    fixed = varied(dealt[:redeals]) - varied(sampled)
    assert not fixed, f"{table}: sampled worlds of seat {seat} are all alike in {fixed}"
    fixed = varied(sampled[:redeals]) - varied(dealt)
    assert not fixed, f"{table}: redeals for seat {seat} are all alike in {fixed}"
    hidden = varied(dealt)
    doubled = twins(sampled, hidden, len(sampled) // 4) - twins(dealt, hidden, 1)
    assert not doubled, f"{table}: sampled worlds of seat {seat} hold one thing in two places: {sorted(doubled)[:3]}"


def twins(plains: Sequence[Plain], places: set[Path], at_least: int) -> set[tuple[Path, Path]]:
    """Returns the pairs of these places that are equal in at least ``at_least`` of the plain values.

    A card lies in one place. Two places that are never equal in one set of states and often in another hold one card twice.
    """
    counts: Counter[tuple[Path, Path]] = Counter()
    for plain in plains:
        alike: dict[Plain, list[Path]] = {}
        for path, value in _leaves(plain, ()):
            if path in places:
                alike.setdefault(value, []).append(path)
        counts.update(pair for paths in alike.values() for pair in combinations(paths, 2))
    return {pair for pair, count in counts.items() if count >= at_least}


# All checks of this file


def _rounds(walk: Walk, plies: Sequence[int]) -> Iterator[tuple[int, Any]]:
    for ply in plies:
        yield ply, walk.table.game.copy(walk.states[ply])


def check_knowledge(table: Setup, number: int, pool: Pool, positions: int, foreign: int) -> None:
    """Checks redeals for every viewer at some positions of a recorded game, and at its end."""
    walk, chance = remembered(table, number), draws("knowledge", str(table), number)
    chosen = [state for _, state in _rounds(walk, walk.choose(positions, "knowledge", number))]
    for state in [*chosen, walk.end]:
        for viewer in viewers(table):
            some = [table.game.read(text) for text in pool.some(foreign, chance)]
            check_redeal(table, state, viewer, some, chance)


def check_house(table: Setup, number: int, positions: int) -> None:
    """Checks the bundled players of every seat to act at some positions."""
    walk, chance = remembered(table, number), draws("house", str(table), number)
    for _, state in _rounds(walk, walk.choose(positions, "house", number)):
        for seat in table.game.to_act(state):
            check_players(table, state, seat, chance)


def check_automaton(table: Setup, number: int) -> None:
    """The automaton in every seat chooses legal actions to the end of the game."""
    game = table.game
    state, chance = (
        game.new(table.seats, dict(table.options), seeds_of(number)),
        draws("automaton", str(table), number),
    )
    for ply in range(PLY_LIMIT):
        acting = list(game.to_act(state))
        if not acting:
            return
        seat = acting[chance.below(len(acting))]
        action = game.automaton(state, seat, chance)
        assert game.text(action) in texts(game, state, seat), f"{table}: at ply {ply} the automaton says {action!r}"
        game.apply(state, seat, action)
    raise AssertionError(f"{table}: no end after {PLY_LIMIT} plies of the automaton")


def check_steps(table: Setup, number: int, pool: Pool, starts: int, limit: int) -> int:
    """Checks states in parallel for every viewer, from the beginning and from later positions; returns the steps compared."""
    walk, chance = remembered(table, number), draws("steps", str(table), number)
    plies = walk.choose(starts, "steps", number)
    return sum(
        check_in_step(table, walk, ply, viewer, pool, chance, limit) for ply in plies for viewer in viewers(table)
    )


def check_secrets(table: Setup, number: int, positions: int) -> tuple[int, int]:
    """Checks the secret phases of a recorded game; returns the secret plies and the comparisons made."""
    walk, chance = remembered(table, number), draws("secrets", str(table), number)
    secret = check_secrecy(table, walk)
    plies = [ply for ply, state in enumerate(walk.states) if table.game.is_secret(state)]
    compared = 0
    for ply, state in _rounds(walk, _spread(plies, positions)):
        compared += check_secret_choices(table, state, walk.history(ply), chance, tries=3)
        check_pending_choices_are_redealt(table, state, chance, redeals=24)
    return secret, compared


def _spread(plies: Sequence[int], count: int) -> list[int]:
    return sorted({plies[index * len(plies) // count] for index in range(count)}) if plies else []


def check_worlds(table: Setup, number: int, positions: int) -> None:
    """Checks samples for every seat, whether it is to act or not."""
    walk, chance = remembered(table, number), draws("worlds", str(table), number)
    for index, (_, state) in enumerate(_rounds(walk, walk.choose(positions, "worlds", number))):
        for seat in range(table.seats):
            check_sample(table, state, seat, chance)
            if index % 3 == 0:
                check_sample_varies(table, state, seat, chance, redeals=8)


def check_memories(table: Setup, number: int, positions: int, tries: int) -> int:
    """Checks the knowledge of every viewer before and after some plies; returns how many could be compared."""
    walk, chance = remembered(table, number), draws("memory", str(table), number)
    plies = walk.choose(positions, "memory", number)
    return sum(check_memory(table, walk, ply, viewer, chance, tries) for ply in plies for viewer in viewers(table))


def check_deals(table: Setup, number: int) -> None:
    """The redeal of the first position deals everything that is hidden."""
    chance = draws("deals", str(table), number)
    check_redeal_deals(table, chance.seed(), chance, deals=32, redeals=48)
