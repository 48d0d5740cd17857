"""The answers that a player gave without a choice, read from the views before and after.

The rules do not ask a question that has only one answer. What was answered is told, because the table has changed by it.
"""

from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.actions import (
    AT,
    BENEFIT,
    CLEAR_NONE,
    DISCARD,
    EARN,
    NONE,
    OBJECTIVE_DECK,
    PERMIT_DECK,
    TAKE_OBJECTIVE,
    TAKE_PERMIT,
    Action,
    Benefit,
    Discard,
    Earn,
    Place,
    discard_two,
)
from service.games.sf1906.sentences_actions import say
from service.games.sf1906.sentences_words import (
    PERMIT,
    edition_of,
    kind_of,
    new_buildings,
    objective_name,
    permit_name,
    year_of,
)
from service.games.sf1906.view import PlayerView, View

#: What a player has to answer next, as the phases of a view.
EARNINGS: Final = "earn"
BENEFITS: Final = "benefit"
_CHOOSE_PERMIT: Final = "permit"
_CHOOSE_OBJECTIVE: Final = "objective"
_CLEAR_UP: Final = "clear"
_DISCARD: Final = "discard"
_BUILD_AT: Final = "at"
OVER: Final = "over"
#: The question after an action of a card, and after a benefit.
_NEXT: Final = {
    box.PERMIT: _CHOOSE_PERMIT,
    box.OBJECTIVE: _CHOOSE_OBJECTIVE,
    box.CLEAR_UP: _CLEAR_UP,
    box.BUILD: _DISCARD,
    box.GRANT_BUILD: _DISCARD,
}
_NEXT_OF_BENEFIT: Final = {
    box.GAIN_PERMIT: _CHOOSE_PERMIT,
    box.GAIN_OBJECTIVE: _CHOOSE_OBJECTIVE,
    box.GAIN_BUILD: _DISCARD,
}


def question_after(view: View, action: Action) -> str:
    """Returns the question that follows an action in the same turn; empty if the turn is over."""
    if isinstance(action, Place):
        return "" if action.target < 0 else _NEXT.get(kind_of(view, action.target), "")
    if isinstance(action, Earn):
        return BENEFITS if year_of(view) else _CHOOSE_PERMIT
    if isinstance(action, Benefit):
        return _NEXT_OF_BENEFIT.get(action.kind, "")
    return _BUILD_AT if isinstance(action, Discard) else ""


def first_question(view: View) -> str:
    """Returns the question with which a turn outside the action cards begins: earnings, or the final benefit."""
    return BENEFITS if year_of(view) == box.FINAL else EARNINGS


class _Turn:
    """The rest of one player's turn: ``view`` is the table before the next answer, as far as its sentence needs it."""

    def __init__(self, view: View, after: View, who: int, is_open: bool) -> None:
        self.view = view
        self._after = after
        self._who = who
        #: The turn still goes on in the view after it.
        self._is_open = is_open

    def is_asked(self, question: str) -> bool:
        """Returns whether the player has this question to answer now, so that nothing was answered without a choice."""
        return self._is_open and self._after.phase == question

    def answer(self, question: str) -> Action | None:
        """Returns the only answer; None if a benefit of the year was lost."""
        old, new = self.view.players[self._who], self._after.players[self._who]
        if question == EARNINGS:
            return EARN[self._earnings_space()]
        if question == BENEFITS:
            kind = self._benefit(old, new)
            return None if kind == NONE else BENEFIT[kind - 1]
        if question == _CHOOSE_PERMIT:
            name = next(permit for permit in new.permits if permit not in old.permits)
            return TAKE_PERMIT[self.view.permit_row.index(name)] if name in self.view.permit_row else PERMIT_DECK
        if question == _CHOOSE_OBJECTIVE:
            held = new.objectives[len(old.objectives)]
            in_row = held.seen and held.card in self.view.objective_row
            return TAKE_OBJECTIVE[self.view.objective_row.index(held.card)] if in_row else OBJECTIVE_DECK
        if question == _CLEAR_UP:
            return CLEAR_NONE
        if question == _DISCARD:
            numbers = [PERMIT[name] for name in self._permits_used()]
            return DISCARD[numbers[0]] if len(numbers) == 1 else discard_two(numbers[0], numbers[1])
        self.view = self.view._replace(discarded=tuple(self._permits_used()))
        return AT[new_buildings(self.view, self._after, self._who)[0]]

    def drawn(self, answer: Action) -> list[str]:
        """Names the card that came from a deck, if this viewer sees it."""
        return drawn_card(self.view, self._after, self._who, answer)

    def _permits_used(self) -> list[str]:
        """The permits that the player builds with: already laid down, or gone from the play area."""
        if self.view.discarded:
            return list(self.view.discarded)
        if self._is_open and self._after.discarded:
            return list(self._after.discarded)
        new = self._after.players[self._who].permits
        return sorted(permit for permit in self.view.players[self._who].permits if permit not in new)

    def _earnings_space(self) -> int:
        """Where the pawn stands, or the only space that is left."""
        pawn = self._after.players[self._who].pawn
        if self._after.card is None and pawn is not None:
            return pawn
        taken = [player.pawn for player in self.view.players]
        solo = self.view.solo
        return next(
            space
            for space, amount in enumerate(box.EARNING_SPACES)
            if space not in taken and (solo is None or solo.blocked != amount)
        )

    def _benefit(self, old: PlayerView, new: PlayerView) -> int:
        """The only benefit that could be taken, NONE if there was none (R15)."""
        kinds = box.YEAR_BENEFITS[year_of(self.view)]
        if box.GAIN_PERMIT in kinds and (len(new.permits) > len(old.permits) or self.is_asked(_CHOOSE_PERMIT)):
            return box.GAIN_PERMIT
        if box.GAIN_OBJECTIVE in kinds and (
            len(new.objectives) > len(old.objectives) or self.is_asked(_CHOOSE_OBJECTIVE)
        ):
            return box.GAIN_OBJECTIVE
        return kinds[-1] if kinds[-1] in (box.GAIN_MONEY, box.GAIN_DEVELOPMENT) else NONE  # these are always possible


def forced(view: View, after: View, who: int, question: str, is_open: bool) -> list[str]:
    """Returns the answers that a player gave without a choice, from this question to the end of the turn.

    ``is_open``: the turn still goes on in ``after``, which asks another question.
    """
    events: list[str] = []
    turn = _Turn(view, after, who, is_open)
    while question and not turn.is_asked(question):
        answer = turn.answer(question)
        if answer is None:
            return [*events, f"{{{who}}} can take no benefit of {view.year}"]
        events.append(f"{{{who}}} {say(turn.view, who, answer)} (the only choice)")
        events += turn.drawn(answer)
        question = question_after(turn.view, answer)
        turn.view = after_earnings(turn.view, who, answer)
    return events


def after_earnings(view: View, who: int, action: Action) -> View:
    """Returns the view with the pawn and the money of an earnings space, because a benefit may come on top of it."""
    if not isinstance(action, Earn):
        return view
    player = view.players[who]
    money = min(player.money + box.EARNING_SPACES[action.space], edition_of(view).money_cap)
    players = list(view.players)
    players[who] = player._replace(money=money, pawn=action.space)
    return view._replace(players=tuple(players))


def drawn_card(before: View, after: View, who: int, action: Action) -> list[str]:
    """Names the card that came from a deck, if this viewer sees it."""
    old, new = before.players[who], after.players[who]
    if action is PERMIT_DECK:
        return [f"The card is permit {permit_name(new.permits[len(old.permits)])}"]
    if action is OBJECTIVE_DECK:
        card = new.objectives[len(old.objectives)].card
        # at the end all objectives are revealed, which is told for every player
        return [f"The card is objective {objective_name(after, card)}"] if card and after.phase != OVER else []
    return []
