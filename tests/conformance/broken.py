"""The example game, broken on purpose in one place each time. A check that no broken game fails is useless.

``LEAKS`` reveal hidden information; ``FAULTS`` are wrong in another way. Each names the checks that must catch it.
"""

import random as unkeyed
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from service.games.chance import Draws, Seeds
from service.games.core import AnyGame, Line, Option, Plain, Refused, Seat, Unreadable, Viewer, random_player
from tests.conformance import checks_hidden, checks_outcome, checks_play, checks_shelf
from tests.conformance.subjects import Setup, Subject, plain_tables
from tests.conformance.walks import draws, pool_of, remembered
from tests.example_game import GAME, rules, view
from tests.example_game.actions import Action, Draw, Send, Take
from tests.example_game.box import CREWS
from tests.example_game.state import HIRING, NOBODY, SENDING, State, from_plain, to_plain

Question = Callable[[Setup], object]


@dataclass(frozen=True)
class BrokenGame:
    """A broken game and the checks that must fail for it."""

    game: AnyGame
    caught_by: tuple[Question, ...]

    @property
    def tables(self) -> list[Setup]:
        return plain_tables(self.game)


# The checks, as the tests run them


def ask_redeal(table: Setup) -> None:
    checks_hidden.check_knowledge(table, 0, pool_of(table), positions=20, foreign=20)


def ask_steps(table: Setup) -> None:
    checks_hidden.check_steps(table, 0, pool_of(table), starts=12, limit=25)


def ask_memory(table: Setup) -> None:
    checks_hidden.check_memories(table, 0, positions=30, tries=400)


def ask_house(table: Setup) -> None:
    checks_hidden.check_house(table, 0, positions=20)


def ask_automaton(table: Setup) -> None:
    for number in range(3):
        checks_hidden.check_automaton(table, number)


def ask_secrets(table: Setup) -> None:
    checks_hidden.check_secrets(table, 0, positions=4)


def ask_deals(table: Setup) -> None:
    checks_hidden.check_deals(table, 0)


def ask_worlds(table: Setup) -> None:
    checks_hidden.check_worlds(table, 0, positions=8)


def ask_play(table: Setup) -> None:
    checks_play.check_play(table, 0, pool_of(table), positions=12, foreign=30)


def ask_notation(table: Setup) -> None:
    walk = remembered(table)
    checks_play.check_notation(table.game, sorted({text for _, text in walk.moves}))
    for state in walk.states:
        checks_play.check_actions_come_back(table, state)


def ask_mutations(table: Setup) -> None:
    checks_play.check_mutations(table, remembered(table).states[0], pool_of(table), draws("mutations"), 12)


def ask_copies(table: Setup) -> None:
    for state in remembered(table).states[:8]:
        checks_play.check_copy(table, state, draws("copies"))


def ask_plain(table: Setup) -> None:
    for state in remembered(table).states:
        checks_play.check_plain(table, state)


def ask_asking(table: Setup) -> None:
    for state in remembered(table).states[:8]:
        checks_play.check_asking_changes_nothing(table, state)


def ask_replay(table: Setup) -> None:
    checks_play.check_replay(table, remembered(table), 0)


def ask_outcome(table: Setup) -> None:
    checks_outcome.check_when(table, remembered(table))


def ask_shelf(table: Setup) -> None:
    checks_shelf.check_components(table.game)
    checks_shelf.check_options(table.game)
    checks_shelf.check_notation_rows(table.game, pool_of(table))
    checks_shelf.check_built_in_players(table.game)


def ask_pictures(table: Setup) -> None:
    for state in remembered(table).states:
        checks_shelf.check_pictures(table, state)


QUESTIONS: tuple[Question, ...] = (
    *(
        ask_redeal,
        ask_steps,
        ask_memory,
        ask_house,
        ask_automaton,
        ask_secrets,
        ask_deals,
        ask_worlds,
        ask_play,
        ask_notation,
        ask_mutations,
    ),
    *(ask_copies, ask_plain, ask_asking, ask_replay, ask_outcome, ask_shelf, ask_pictures),
)

LEAKS: list[BrokenGame] = []
FAULTS: list[BrokenGame] = []


def leak(name: str, *caught_by: Question, **changes: Any) -> None:
    LEAKS.append(BrokenGame(replace(GAME, id=f"salvage-{name}", **changes), caught_by))


def fault(name: str, *caught_by: Question, **changes: Any) -> None:
    FAULTS.append(BrokenGame(replace(GAME, id=f"salvage-{name}", **changes), caught_by))


def _strength(crew: int) -> int:
    return CREWS[crew].strength


# Leaks through the view


def _view_of_hands(state: State, viewer: Viewer) -> Plain:
    return {**view.view(state, viewer), "hands": [list(hand) for hand in state.hands]}


def _view_of_the_deck(state: State, viewer: Viewer) -> Plain:
    return {**view.view(state, viewer), "next": state.deck[-1] if state.deck else None}


def _view_with_a_checksum(state: State, viewer: Viewer) -> Plain:
    """Shows a checksum: it names no card, but a search can test a guess against it."""
    return {**view.view(state, viewer), "checksum": sum((at + 1) * crew for at, crew in enumerate(state.deck)) % 97}


def _view_in_a_telling_order(state: State, viewer: Viewer) -> Plain:
    """Shows the same keys and values in an order that depends on a hidden card."""
    seen: dict[str, Plain] = view.view(state, viewer)
    return dict(reversed(seen.items())) if state.hands[0] and _strength(state.hands[0][0]) > 5 else seen


def _view_for_spectators(state: State, viewer: Viewer) -> Plain:
    return view.view(state, 0) if viewer is None else view.view(state, viewer)


def _view_of_what_was_sent(state: State, viewer: Viewer) -> Plain:
    return {**view.view(state, viewer), "sent": [_strength(crew) if crew != NOBODY else 0 for crew in state.sent]}


leak("view-shows-hands", ask_redeal, view=_view_of_hands)
leak("view-shows-the-next-card", ask_redeal, view=_view_of_the_deck)
leak("view-shows-a-checksum", ask_redeal, view=_view_with_a_checksum)
leak("view-has-a-telling-order", ask_redeal, view=_view_in_a_telling_order)
leak("view-gives-spectators-a-hand", ask_redeal, view=_view_for_spectators)
leak("view-shows-what-was-sent", ask_redeal, ask_secrets, view=_view_of_what_was_sent)


# Leaks through legal actions and refusals


def _telling_offer(state: State, seat: Seat) -> Sequence[Action]:
    """Offers the open crew only if the next seat holds nothing as strong."""
    actions = rules.legal_actions(state, seat)
    rival = max(_strength(crew) for crew in state.hands[(seat + 1) % state.seats]) if actions else 0
    return actions if state.phase == SENDING or rival < _strength(state.open) else [a for a in actions if a == Draw()]


def _telling_order(state: State, seat: Seat) -> Sequence[Action]:
    actions = list(rules.legal_actions(state, seat))
    return actions[::-1] if state.deck and state.deck[-1] % 2 else actions


def _telling_message(state: State, seat: Seat, action: Action) -> None:
    if isinstance(action, Send) and state.phase == SENDING and seat in rules.to_act(state):
        for other, hand in enumerate(state.hands):
            if other != seat and action.crew in hand:
                message = f"{CREWS[action.crew].id} is in the hand of seat {other}"
                raise Refused("CREW_NOT_IN_HAND", rule="2", message=message)
    rules.apply(state, seat, action)


def _telling_reason(state: State, seat: Seat, action: Action) -> None:
    if (
        isinstance(action, Send)
        and state.phase == SENDING
        and seat in rules.to_act(state)
        and action.crew in state.deck
    ):
        raise Refused("CREW_IN_DECK", rule="2", message="you do not hold it")
    rules.apply(state, seat, action)


def _telling_turn(state: State) -> list[Seat]:
    """Lets the seat with the strongest crew send after the others, which reveals who holds it."""
    acting = rules.to_act(state)
    if state.phase == SENDING and len(acting) > 1:
        strongest = max(acting, key=lambda seat: max(_strength(crew) for crew in state.hands[seat]))
        return [seat for seat in acting if seat != strongest]
    return acting


def _view_without_turn(state: State, viewer: Viewer) -> Plain:
    return {**view.view(state, viewer), "to_act": []}


leak("offer-depends-on-a-hand", ask_redeal, ask_steps, legal_actions=_telling_offer)
leak("offer-in-a-telling-order", ask_redeal, legal_actions=_telling_order)
leak("refusal-names-a-hand", ask_redeal, apply=_telling_message)
leak("refusal-has-a-telling-reason", ask_redeal, apply=_telling_reason)
leak("turn-depends-on-hands", ask_redeal, to_act=_telling_turn, view=_view_without_turn)


# Leaks through the log


def _never_secret(state: State) -> bool:
    return False


def _secret_for_the_first(state: State) -> bool:
    return state.phase == SENDING and all(crew == NOBODY for crew in state.sent)


def _acting_with_doubts(state: State) -> list[Seat]:
    """Asks a seat again if it sends an odd crew, and all others see the extra question."""
    doubts = state.to_hire if state.phase == SENDING else 0
    return sorted({*rules.to_act(state), *(seat for seat in range(state.seats) if doubts >> seat & 1)})


def _offer_with_doubts(state: State, seat: Seat) -> Sequence[Action]:
    if state.phase == SENDING and state.to_hire >> seat & 1:
        return [Send(state.sent[seat])]
    return rules.legal_actions(state, seat)


def _apply_with_doubts(state: State, seat: Seat, action: Action) -> None:
    if state.phase == SENDING and state.to_hire >> seat & 1:
        if action != Send(state.sent[seat]):
            raise Refused("NOT_SURE", rule="2", message="say it again")
        state.to_hire ^= 1 << seat
        return
    is_last = state.phase == SENDING and state.sent.count(NOBODY) == 1 and not state.to_hire
    rules.apply(state, seat, action)
    if isinstance(action, Send) and not is_last and state.phase == SENDING and action.crew % 2:
        state.to_hire |= 1 << seat


def _view_without_doubts(state: State, viewer: Viewer) -> Plain:
    seen = view.view(state, viewer)
    return {**seen, "to_hire": 0} if state.phase == SENDING else seen


leak(
    "the-number-of-questions-tells",
    ask_secrets,
    to_act=_acting_with_doubts,
    legal_actions=_offer_with_doubts,
    apply=_apply_with_doubts,
    view=_view_without_doubts,
    players={"random": random_player(_offer_with_doubts), "greedy": random_player(_offer_with_doubts)},
)
leak("log-shows-secret-choices", ask_steps, ask_secrets, is_secret=_never_secret)
leak("log-shows-them-too-early", ask_secrets, is_secret=_secret_for_the_first)


# Leaks through players and samplers


def _peeking_at_the_deck(state: State, seat: Seat, chance: Draws) -> Action:
    if state.phase == HIRING:
        return Take() if _strength(state.open) >= _strength(state.deck[-1]) else Draw()
    return GAME.automaton(state, seat, chance)


def _peeking_at_what_was_sent(state: State, seat: Seat, chance: Draws) -> Action:
    if state.phase == SENDING:
        best = max((_strength(crew) for crew in state.sent if crew != NOBODY), default=0)
        hand = sorted(state.hands[seat], key=_strength)
        return Send(next((crew for crew in hand if _strength(crew) > best), hand[0]))
    return GAME.automaton(state, seat, chance)


class _Remembering:
    """A view that stores the real state, and a sampler that uses it."""

    def __init__(self) -> None:
        self.truth: State | None = None

    def view(self, state: State, viewer: Viewer) -> Plain:
        self.truth = state
        return view.view(state, viewer)

    def sample(self, seen: Plain, seat: Seat, chance: Draws) -> State:
        world = view.sample(seen, seat, chance)
        if self.truth is not None:
            world.hands = [list(hand) for hand in self.truth.hands]
            held = {crew for hand in world.hands for crew in hand}
            world.deck = [crew for crew in self.truth.deck if crew not in held]
        return world


def _view_with_a_hint(state: State, viewer: Viewer) -> Plain:
    """Shows a hint that is the same in every redealt state of this process, so it looks harmless."""
    return {**view.view(state, viewer), "hint": state.seed.hex()}


def _redeal_that_keeps_the_seed(state: State, viewer: Viewer, chance: Draws) -> State:
    other = view.redeal(state, viewer, chance)
    other.seed = state.seed
    return other


_remembering = _Remembering()
leak("automaton-peeks-at-the-deck", ask_house, automaton=_peeking_at_the_deck)
leak("greedy-peeks-at-secrets", ask_house, players={**GAME.players, "greedy": _peeking_at_what_was_sent})
leak("sample-remembers-the-truth", ask_worlds, view=_remembering.view, sample=_remembering.sample)


# Redeals that hide a leak because they do not re-deal what leaks


def _redeal_that_keeps_the_deck(state: State, viewer: Viewer, chance: Draws) -> State:
    return from_plain(to_plain(state)) if viewer is None else view.redeal(state, viewer, chance)


def _redeal_that_keeps_hands(state: State, viewer: Viewer, chance: Draws) -> State:
    other = view.redeal(state, viewer, chance)
    other.hands, other.sent = [list(hand) for hand in state.hands], list(state.sent)
    held = {crew for hand in other.hands for crew in hand}
    other.deck = [crew for crew in range(len(CREWS)) if crew not in {*held, *chain(*state.discards), state.open}]
    chance.shuffle(other.deck)
    return other


def _redeal_that_keeps_secrets(state: State, viewer: Viewer, chance: Draws) -> State:
    """Re-deals hands, but a seat that has sent keeps the crew it sent."""
    other = view.redeal(state, viewer, chance)
    for seat, crew in enumerate(state.sent):
        if crew != NOBODY and crew not in other.hands[seat]:
            gone = next(card for card in other.hands[seat] if card not in other.seen[seat])
            for cards in (other.deck, *other.hands):
                if crew in cards:
                    cards[cards.index(crew)] = gone
            other.hands[seat] = sorted(crew if card == gone else card for card in other.hands[seat])
            other.hands = [sorted(hand) for hand in other.hands]
    other.sent = list(state.sent)
    return other


def _redeal_that_keeps_draws(state: State, viewer: Viewer, chance: Draws) -> State:
    """Re-deals everything at first, but later only the deck: drawn cards stay the same."""
    return _redeal_that_keeps_hands(state, viewer, chance) if state.round else view.redeal(state, viewer, chance)


def _forgetful_view(state: State, viewer: Viewer) -> Plain:
    """Shows only the viewer's own hand, and forgets who took which open crew."""
    seen = view.view(state, viewer)
    return {**seen, "seats": [{**place, "seen": []} for place in seen["seats"]]}


def _forgetful_redeal(state: State, viewer: Viewer, chance: Draws) -> State:
    return view.believe(_forgetful_view(state, viewer), chance)


leak("redeal-keeps-draws", ask_memory, redeal=_redeal_that_keeps_draws)
fault("view-forgets", ask_memory, view=_forgetful_view, redeal=_forgetful_redeal)
leak("seed-in-the-view-and-kept", ask_deals, view=_view_with_a_hint, redeal=_redeal_that_keeps_the_seed)
leak("redeal-keeps-the-seed", ask_deals, redeal=_redeal_that_keeps_the_seed)
leak("redeal-keeps-the-deck", ask_deals, redeal=_redeal_that_keeps_the_deck)
leak("redeal-keeps-hands", ask_deals, redeal=_redeal_that_keeps_hands)
leak("redeal-keeps-secrets", ask_secrets, redeal=_redeal_that_keeps_secrets)


def _setup_by_the_table_seed(seats: int, options: Any, seeds: Seeds) -> State:
    """Deals hands by the table seed: a player who played the same table before, in another seat, knows every hand."""
    state = rules.setup(seats, options, Seeds(seeds.table, seeds.table))
    state.seed = seeds.deck
    return state


leak("table-seed-deals-hands", ask_deals, setup=_setup_by_the_table_seed)


# Faults of play


def _half_done(state: State, seat: Seat, action: Action) -> None:
    """Changes the state before it checks."""
    if isinstance(action, Send) and state.phase == SENDING and seat in rules.to_act(state):
        state.turn = seat
    rules.apply(state, seat, action)


def _too_kind(state: State, seat: Seat, action: Action) -> None:
    """Hires for any seat."""
    rules.apply(state, state.turn if state.phase == HIRING else seat, action)


def _too_strict(state: State, seat: Seat, action: Action) -> None:
    if isinstance(action, Send) and action.crew == 7:
        raise Refused("UNLUCKY", rule="0", message="nobody sends that one")
    rules.apply(state, seat, action)


def _mumbling(state: State, seat: Seat, action: Action) -> None:
    try:
        rules.apply(state, seat, action)
    except Refused as refused:
        raise Refused("no", rule="", message="") from refused


def _crashing(state: State, seat: Seat, action: Action) -> None:
    if isinstance(action, Send) and state.phase == SENDING:
        state.hands[seat].index(action.crew)  # ValueError where a refusal is due
    rules.apply(state, seat, action)


def _twice(state: State, seat: Seat) -> Sequence[Action]:
    return [action for action in rules.legal_actions(state, seat) for _ in range(2)]


def _whenever(state: State, seat: Seat) -> Sequence[Action]:
    return rules.legal_actions(state, seat) or ([Draw()] if state.phase == HIRING else [])


def _any_order(state: State, seat: Seat) -> Sequence[Action]:
    actions = list(rules.legal_actions(state, seat))
    unkeyed.shuffle(actions)
    return actions


def _shallow(state: State) -> State:
    other = from_plain(to_plain(state))
    other.won = state.won
    return other


def _forgetful_plain(state: State) -> Plain:
    """Forgets which crews all seats saw."""
    plain = to_plain(state)
    plain[10] = [[] for _ in plain[10]]
    return plain


def _lazy_plain(state: State) -> Plain:
    """Returns its own list instead of a copy."""
    plain = to_plain(state)
    plain[12] = state.won
    return plain


def _tuple_plain(state: State) -> Plain:
    return tuple(to_plain(state))


def _greedy_plain(plain: Plain) -> State:
    """Keeps the given list instead of a copy."""
    state = from_plain(plain)
    state.won = plain[12]
    return state


def _unseeded_setup(seats: int, options: Any, seeds: Any) -> State:
    state = rules.setup(seats, options, seeds)
    unkeyed.shuffle(state.deck)
    return state


def _touching_view(state: State, viewer: Viewer) -> Plain:
    state.turn = 0 if viewer is None and state.phase == SENDING else state.turn
    state.to_hire += 1
    return view.view(state, viewer)


def _living_view(state: State, viewer: Viewer) -> Plain:
    return {**view.view(state, viewer), "won": state.won}


def _shouting(line: str) -> Action:
    return GAME.read(line.lower() if line.strip().lower() in ("take", "draw") else line)


def _picky(line: str) -> Action:
    if line != line.strip():
        raise Unreadable(line, "no blanks")
    return GAME.read(line)


def _fragile(line: str) -> Action:
    words = line.split()
    return Send(int(words[1][1:]) - 1) if words and words[0] == "send" else GAME.read(line)


def _loud(action: Action) -> str:
    return GAME.text(action).upper()


def _never_over(state: State) -> Any:
    return None


def _early(state: State) -> Any:
    return GAME.outcome(replace(state, phase="over")) if all(state.hands) else None


def _creative(state: State) -> Any:
    outcome = GAME.outcome(state)
    if outcome is None:
        return None
    first, *others = outcome.seats
    return replace(outcome, seats=(replace(first, lines=(*first.lines, Line("goodwill", 1))), *others))


def _dense(state: State) -> Any:
    """Gives ranks 1, 1, 2, or reversed: the first seat always wins."""
    outcome = GAME.outcome(state)
    return outcome and replace(outcome, seats=tuple(replace(r, rank=1 + (i > 0)) for i, r in enumerate(outcome.seats)))


def _illegal_player(state: State, seat: Seat, chance: Draws) -> Action:
    return Draw()


def _moody(state: State, seat: Seat, chance: Draws) -> Action:
    actions = rules.legal_actions(state, seat)
    return actions[unkeyed.randrange(len(actions))]


def _same_world(seen: Plain, seat: Seat, chance: Draws) -> State:
    return view.sample(seen, seat, Draws(bytes(32), "always"))


def _wrong_world(seen: Plain, seat: Seat, chance: Draws) -> State:
    world = view.sample(seen, seat, chance)
    world.hands[seat] = sorted([*world.hands[seat][:-1], world.deck.pop()]) if world.deck else world.hands[seat]
    return world


def _doubled_world(seen: Plain, seat: Seat, chance: Draws) -> State:
    """Puts a crew into a hand although it is still in the deck."""
    world = view.sample(seen, seat, chance)
    other = (seat + 1) % world.seats
    hidden = [crew for crew in world.hands[other] if crew not in world.seen[other] and crew != world.sent[other]]
    if hidden and world.deck:
        world.hands[other] = sorted([crew for crew in world.hands[other] if crew != hidden[0]] + [world.deck[0]])
    return world


def _doubled_deal(state: State, viewer: Viewer, chance: Draws) -> State:
    """Makes the same mistake for all viewers."""
    other = view.redeal(state, viewer, chance)
    if other.deck and viewer != 0 and not state.seen[0] and other.sent[0] == NOBODY:
        other.hands[0] = sorted([other.deck[0], *other.hands[0][1:]])
    return other


def _late_blunder(state: State, seat: Seat, chance: Draws) -> Action:
    """Plays wrongly at one moment of a game only."""
    if state.phase == HIRING and state.round == state.rounds - 1 and state.to_hire == 1:
        return Send(0)
    return GAME.automaton(state, seat, chance)


def _broken_picture(seen: Plain) -> Any:
    return [[("two\nlines", "bold")]] if seen["phase"] == HIRING else view.picture(seen)


fault("apply-is-half-done", ask_play, apply=_half_done)
fault("apply-takes-any-seat", ask_play, apply=_too_kind)
fault("apply-refuses-what-is-offered", ask_play, apply=_too_strict)
fault("apply-mumbles", ask_play, apply=_mumbling)
fault("apply-crashes", ask_play, apply=_crashing)
fault("offers-twice", ask_play, legal_actions=_twice)
fault("offers-out-of-turn", ask_play, legal_actions=_whenever)
fault("offers-in-any-order", ask_play, legal_actions=_any_order)
fault("copy-is-shallow", ask_copies, ask_play, copy=_shallow)
fault("plain-forgets", ask_plain, to_plain=_forgetful_plain)
fault("plain-hands-out", ask_plain, to_plain=_lazy_plain)
fault("plain-has-tuples", ask_plain, to_plain=_tuple_plain)
fault("from-plain-keeps", ask_plain, from_plain=_greedy_plain)
fault("setup-has-no-seed", ask_replay, setup=_unseeded_setup)
fault("view-touches", ask_asking, view=_touching_view)
fault("view-is-alive", ask_plain, view=_living_view)
fault("text-shouts", ask_notation, text=_loud)
fault("read-wants-no-blanks", ask_notation, read=_picky)
fault("read-crashes", ask_mutations, read=_fragile)
fault("never-ends", ask_outcome, outcome=_never_over)
fault("ends-early", ask_outcome, outcome=_early)
fault("score-does-not-add-up", ask_outcome, outcome=_creative)
fault("ranks-are-wrong", ask_outcome, outcome=_dense)
fault("greedy-is-illegal", ask_house, automaton=_illegal_player)
fault("automaton-is-moody", ask_house, automaton=_moody)
fault("sample-is-always-the-same", ask_worlds, sample=_same_world)
fault("sample-does-not-fit", ask_worlds, sample=_wrong_world)
fault("sample-has-a-card-twice", ask_worlds, sample=_doubled_world)
fault("redeal-has-a-card-twice", ask_deals, redeal=_doubled_deal)
fault("automaton-blunders-late", ask_automaton, automaton=_late_blunder)
fault("picture-breaks", ask_pictures, picture=_broken_picture)
fault("box-is-empty", ask_shelf, components=())
fault("a-mark-is-missing", ask_shelf, components=(replace(GAME.components[0], marks={}),))
fault("default-is-no-choice", ask_shelf, options=(Option("rounds", 9, "too many", range=(2, 5)),))
fault("a-verb-is-not-explained", ask_shelf, notation=GAME.notation[:1])
fault("nobody-is-greedy", ask_shelf, players={"random": GAME.players["random"]})


def without_papers(subject: Subject) -> Subject:
    """Returns the same game without its page and playthroughs."""
    return replace(subject, pages=subject.pages / "data", playthroughs=subject.pages / "data")
