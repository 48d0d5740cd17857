"""The turns of the Committee, read from the views before and after an action: it plays between two questions to the human."""

from service.games.sf1906 import box, committee, rules
from service.games.sf1906.actions import NONE, Action, Clear, Earn, Place
from service.games.sf1906.sample import rebuild
from service.games.sf1906.sentences_words import (
    BOARD,
    OBJECTIVE,
    PERMIT,
    URBANISM,
    card_space_name,
    kind_of,
    new_buildings,
    objective_name,
    permit_name,
    space_name,
    year_of,
)
from service.games.sf1906.state import Player
from service.games.sf1906.table import COMMITTEE
from service.games.sf1906.view import PlayerView, View
from service.games.sf1906.view import view as view_of
from service.games.words import counted, listed


class SoloTurns:
    """The turns of the Committee between two views: at most one on the card of the first view and one on that of the second."""

    def __init__(self, before: View, after: View, action: Action) -> None:
        self._before = before
        self._after = after
        self._action = action
        self._same_card = (before.year, before.card) == (after.year, after.card)
        self._is_second = not self._same_card and COMMITTEE in after.order[: after.turn]
        #: After the first turn, if there is a second one and the first one is known.
        self._between: View | None = None
        self._is_joined = False

    def first(self) -> list[str]:
        """Returns the turn on the card of the first view; nothing if it can only be told together with the second one."""
        before, after = self._before, self._after
        reference = self._first_reference()
        if self._is_second:
            self._between = self._after_first_turn(reference)
            if self._between is None:
                self._is_joined = True
                return []
            after = self._between
        space = self._first_space(reference)
        return [committee_turn(before, after, before, space, self._cleared_by_human())]

    def second(self) -> list[str]:
        """Returns the turn on the card of the second view. The pawn still stands there."""
        after, others = self._after, self._cleared_by_human()
        if self._is_joined:
            return [_two_turns(self._before, after, others)]
        start = self._before if self._between is None else self._between
        return [committee_turn(start, after, after, after.players[COMMITTEE].pawn, others)]

    def _first_reference(self) -> str:
        """R46: the permit that the Committee drew for its first turn; empty if none, or if a reshuffle has taken it away."""
        before, after = self._before, self._after
        if before.reshuffles != after.reshuffles:
            return ""
        held = {*before.players[0].permits, *before.players[COMMITTEE].permits}
        new = [name for name in after.permit_discards[len(before.permit_discards) :] if name not in held]
        return new[0] if new else ""

    def _first_space(self, reference: str) -> int | None:
        """R74, R77: where the aid sends the pawn for this reference card."""
        before = self._before
        if self._same_card:
            return self._after.players[COMMITTEE].pawn
        if not reference:
            return None
        assert before.solo is not None
        open_spaces = list(range(box.ROW))
        if before.card is None:
            open_spaces = [space for space, amount in enumerate(box.EARNING_SPACES) if amount != before.solo.blocked]
        action = self._action
        human = action.space if isinstance(action, Place | Earn) else before.players[0].pawn
        positions = box.AID_ORDER[box.AIDS.index(before.solo.aid)][box.PERMIT_NUMBER[PERMIT[reference]]]
        return next(open_spaces[position] for position in positions if open_spaces[position] != human)

    def _cleared_by_human(self) -> set[str]:
        cleared = {box.SPACE_IDS[space] for space in new_buildings(self._before, self._after, 0)}
        if isinstance(self._action, Clear) and self._action.space != NONE:
            cleared.add(box.SPACE_IDS[self._action.space])
        return cleared

    def _after_first_turn(self, reference: str) -> View | None:
        """Returns the table between two turns of the Committee, by playing the first one with its reference card.

        None if that card is not known. The unseen cards of the rebuilt table are made up; what the Committee takes of them is
        replaced by what the second view shows.
        """
        if not reference:
            return None
        state = rebuild(self._before)
        solo, state.solo = state.solo, None  # stops after the human's turn
        rules.apply(state, 0, self._action)
        state.solo = solo
        state.permit_deck.append(PERMIT[reference])
        committee.take_turn(state)
        self._show_true_cards(state.players[COMMITTEE])
        state.legal = []  # keeps the view from going on
        return view_of(state, None)

    def _show_true_cards(self, player: Player) -> None:
        """Replaces a permit or an objective of the first turn by the one that was taken."""
        old, new = self._before.players[COMMITTEE], self._after.players[COMMITTEE]
        if len(player.permits) > len(old.permits):
            kept = [name for name in new.permits if name not in old.permits]  # the latest last
            name = kept[0] if kept else self._after.permit_discards[-1]  # the second turn may have built with it
            player.permits[-1] = PERMIT[name]
        for index in range(len(old.objectives), len(player.objectives)):
            player.objectives[index] = OBJECTIVE[new.objectives[index].card]


def committee_turn(start: View, end: View, at: View, space: int | None, others: set[str]) -> str:
    """Returns one turn of the Committee as a sentence.

    ``at`` shows the card, and ``space`` is where the pawn was put, None if that is not known; ``others`` are spaces whose rubble
    the human took.
    """
    money = end.players[COMMITTEE].money - start.players[COMMITTEE].money
    if year_of(at) == box.FINAL:
        return f"The Committee takes ${money} as the final benefit"
    effects = _effects(start, end, others)
    if at.card is None:
        return _year_turn(at, space, money, effects)
    if space is None:
        effects += [f"gets ${money}"] if money else []
        return f"The Committee takes its turn on card {at.ring[at.card].card}: it {listed(effects)}"
    kind = kind_of(at, space)
    if kind == box.EARNINGS:
        effects.append(f"earns ${money}")
    elif money and (effects or kind in (box.CLEAR_UP, box.URBAN_DEVELOPMENT)):
        effects.append(f"gets ${money} instead of {'a step' if money == 1 else 'steps'} on {BOARD}")
    elif money:
        effects.append(f"takes ${money}, because its action is not possible")
    joint = ", " if len(effects) > 1 else " and "
    return f"The Committee moves to {card_space_name(at, space)}{joint}{listed(effects)}"


def _year_turn(at: View, space: int | None, money: int, effects: list[str]) -> str:
    """R77: earnings, then the rightmost benefit of the year."""
    if space is None:
        return f"The Committee takes its turn in the earnings area: it {listed([f'gets ${money}', *effects])}"
    earned = box.EARNING_SPACES[space]
    benefit = money - earned
    if benefit:
        is_step = box.YEAR_BENEFITS[year_of(at)][-1] == box.GAIN_DEVELOPMENT
        effects = [*effects, f"takes ${benefit}" + (f" instead of a step on {BOARD}" if is_step else "")]
    text = f"The Committee moves to the ${earned} earnings space and takes ${earned}"
    return f"{text}; as the benefit of {at.year} it {listed(effects)}" if effects else text


def _two_turns(before: View, after: View, others: set[str]) -> str:
    """Two turns of which it is not known what belongs to which."""
    money = after.players[COMMITTEE].money - before.players[COMMITTEE].money
    effects = _effects(before, after, others) + ([f"gets ${money}"] if money else [])
    places = [
        "in the earnings area" if at.card is None else f"on card {at.ring[at.card].card}" for at in (before, after)
    ]
    return f"The Committee takes one turn {places[0]} and one {places[1]}: in both together it {listed(effects)}"


def _effects(start: View, end: View, others: set[str]) -> list[str]:
    """What has changed in the Committee's play area and on the map, without money."""
    old, new = start.players[COMMITTEE], end.players[COMMITTEE]
    effects: list[str] = []
    built = [box.SPACE_IDS[space] for space in new_buildings(start, end, COMMITTEE)]
    used = [name for name in old.permits if name not in new.permits]
    if built:
        permits = f" with permit{'s' if len(used) > 1 else ''} {listed(used)}" if used else ""
        effects.append(f"builds on {listed([space_name(name) for name in built])}{permits}")
    if new.rubble > old.rubble:
        cleared = [
            was.space
            for was, now in zip(start.spaces, end.spaces, strict=True)
            if was.rubble and not now.rubble and was.space not in others
        ]
        effects += [
            f"takes {'its rubble' if [name] == built else f'the rubble of {space_name(name)}'}" for name in cleared
        ]
    cards = [
        URBANISM[icon] for icon in (box.LIGHTING, box.CABLE_CAR, box.HYDRANT) if new.urbanism[icon] > old.urbanism[icon]
    ]
    cards += [f"park card {letter}" for letter in new.parks if letter not in old.parks]
    effects += [f"takes {listed(cards)}"] if cards else []
    effects += [f"takes permit {permit_name(name)}" for name in new.permits if name not in old.permits]
    effects += [f"takes objective {objective_name(end, held.card)}" for held in new.objectives[len(old.objectives) :]]
    if not _has_stayed(old, new):
        effects.append(f"reaches {counted(new.development_points, 'point')} on {BOARD}")
    return effects


def _has_stayed(old: PlayerView, new: PlayerView) -> bool:
    """Returns whether the development token has not moved."""
    return (old.development_column, old.development_row) == (new.development_column, new.development_row)
