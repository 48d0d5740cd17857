"""Actions and events as sentences: templates of ``service.games.words``, without a full stop; and the points so far.

Everything is read from views, so a sentence tells no more than its reader may know. Spaces of a card are counted from 1, as
people do; the notation counts them from 0.
"""

from collections.abc import Sequence

from service.games.core import Seat
from service.games.sf1906 import box, rules
from service.games.sf1906.actions import Action
from service.games.sf1906.sample import rebuild
from service.games.sf1906.scoring import development_points, money_points, objective_points, urbanism_points
from service.games.sf1906.sentences_actions import say
from service.games.sf1906.sentences_committee import SoloTurns
from service.games.sf1906.sentences_forced import (
    OVER,
    after_earnings,
    drawn_card,
    first_question,
    forced,
    question_after,
)
from service.games.sf1906.sentences_words import OBJECTIVE, objective_name, permit_name, player_name, year_of
from service.games.sf1906.table import COMMITTEE
from service.games.sf1906.view import View
from service.games.words import listed

__all__ = ["points", "say", "tell"]


def tell(before: View, after: View, seat: Seat, action: Action) -> Sequence[str]:
    """Returns what else happened: cards drawn, forced answers, the Committee's turns, rows and decks, cards and years, the end."""
    events = drawn_card(before, after, seat, action)
    is_over = after.phase == OVER
    same_card = (before.year, before.card) == (after.year, after.card)
    solo = SoloTurns(before, after, action)
    earned = after_earnings(before, seat, action)
    for index, who in enumerate(before.order[before.turn : after.turn + 1 if same_card else None]):
        is_open = same_card and not is_over and before.turn + index == after.turn
        if _is_committee(before, who):
            events += solo.first()
        elif index == 0:
            events += forced(earned, after, seat, question_after(before, action), is_open)
        elif before.card is None:  # there are always several places for a pawn on a card
            events += forced(earned, after, who, first_question(before), is_open)
        if after.best_builder == who != before.best_builder and (same_card or not _is_committee(before, who)):
            events.append(_best_builder(after))
    if before.reshuffles != after.reshuffles:
        events.append("The permit deck is empty, and the discarded permits are shuffled into a new one")
    if not (is_over and same_card):
        events += _rows(before, after)
    if not same_card:
        events.append(_next_card(after))
        events += _new_card(before, after, seat, action, solo)
    if is_over:
        events += _end(after)
    return events


def _is_committee(view: View, who: int) -> bool:
    return view.solo is not None and who == COMMITTEE


def _new_card(before: View, after: View, seat: Seat, action: Action, solo: SoloTurns) -> list[str]:
    """Turns on a card, or in an earnings area, that has begun between the views."""
    events: list[str] = []
    view = before._replace(year=after.year, build_cost=after.build_cost, card=None)
    for place, who in enumerate(after.order[: after.turn + 1]):
        if _is_committee(before, who):
            if place < after.turn or after.phase == OVER:
                events += solo.second()
                if after.best_builder == who != before.best_builder:
                    events.append(_best_builder(after))
        elif after.card is None:
            if year_of(after) == box.FINAL and who == seat:
                view = _with_money(view, who, _money_after_card(before, seat, action))
            is_open = after.phase != OVER and place == after.turn
            events += forced(view, after, who, first_question(after), is_open)
    return events


def _with_money(view: View, who: int, money: int) -> View:
    players = list(view.players)
    players[who] = players[who]._replace(money=money)
    return view._replace(players=tuple(players))


def _money_after_card(before: View, seat: Seat, action: Action) -> int:
    """Returns the money of a seat when the card of its action is over, without anything that follows."""
    state = rebuild(before)
    state.solo = None
    state.best_builder = seat  # ends the game with this card
    rules.apply(state, seat, action)
    return state.players[seat].money


def _best_builder(after: View) -> str:
    assert after.best_builder is not None
    end = "" if year_of(after) == box.FINAL else ", so the game ends with this card"
    return f"{player_name(after, after.best_builder, True)} has built all eight first and becomes the Best Builder{end}"


def _rows(before: View, after: View) -> list[str]:
    """R10: the cards that have been laid into the rows, also those that the Committee has already taken."""
    events: list[str] = []
    permits, objectives = list(after.permit_row), list(after.objective_row)
    if after.solo is not None:
        old, new = before.players[COMMITTEE], after.players[COMMITTEE]
        permits += [name for name in new.permits if name not in old.permits]
        objectives += [held.card for held in new.objectives[len(old.objectives) :]]
    permits = [name for name in permits if name and name not in before.permit_row]
    objectives = [name for name in objectives if name and name not in before.objective_row]
    if permits:
        events.append(f"The permit row is filled with {listed([permit_name(name) for name in permits])}")
    if objectives:
        events.append(
            f"The objective row is filled with {listed([objective_name(after, name) for name in objectives])}"
        )
    return events


def _next_card(after: View) -> str:
    first = player_name(after, after.order[0])
    others = [player_name(after, who) for who in after.order[1:]]
    order = f"{first} goes first" + (f", then {listed(others)}" if others else "")
    if after.card is not None:
        return f"Card {after.ring[after.card].card} is next: {order}"
    if year_of(after) == box.FINAL:
        choice = f"each player either builds once more, for ${after.build_cost}, or takes ${box.YEAR_MONEY[box.FINAL]}"
        return f"The final column, {after.year}, begins: {choice}; {order}"
    return f"The year {after.year} begins, and a building costs ${after.build_cost}: {order}"


def _end(after: View) -> list[str]:
    """R72: the objectives that not all players have seen are revealed."""
    events = [f"The last {'year' if year_of(after) == box.FINAL else 'card'} is over"]
    for who, player in enumerate(after.players):
        cards = [objective_name(after, held.card) for held in player.objectives if not held.seen]
        if cards:
            events.append(f"{{{who}}} reveals objective{'s' if len(cards) > 1 else ''} {listed(cards)}")
    return events


# ---------------------------------------------------------------------------------------------------------------- points
def points(view: View) -> Sequence[int]:
    """Returns the points of each seat if the game ended now, as far as this view shows them.

    Counted are the common objectives, the personal objectives that the view names, Best Builder, development, urbanism cards and
    money. Objectives that the view hides are not, so a seat sees its own points in full and those of others in part; when
    the game is over nothing is hidden, and these are the final scores. The Committee has no seat and is left out.
    """
    state = rebuild(view)
    found: list[int] = []
    for seat in range(view.seats):
        player = state.players[seat]
        cards = [*state.common, box.BEST_BUILDER]
        cards += [OBJECTIVE[held.card] for held in view.players[seat].objectives if held.card]
        total = sum(objective_points(state, seat, card) for card in cards)
        found.append(total + development_points(player) + urbanism_points(player) + money_points(state, seat))
    return found
