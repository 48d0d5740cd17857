"""Leaks planted in any game: the checks must find them in the real games too, not only in the example.

What is hidden from a viewer is what a redeal varies. A planted leak shows the viewer whether one such place of the stored state
has changed, or its value.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from service.games.chance import Draws
from service.games.core import AnyGame, Plain, Refused, Seat, Viewer, plain
from tests.conformance.checks_hidden import Path, varied

#: (state) -> the value at a hidden place of it.
Peek = Callable[[Any], Plain]
Planter = Callable[[AnyGame, Peek, Plain], AnyGame]


def hidden_places(game: AnyGame, state: Any, viewer: Viewer, chance: Draws) -> list[Path]:
    """Returns the places of the stored state that this viewer cannot know."""
    plains = [game.to_plain(game.redeal(state, viewer, chance)) for _ in range(12)]
    return sorted(varied([game.to_plain(state), *plains]))


def peek_at(game: AnyGame, place: Path) -> Peek:
    """Returns a function that reads that place of a state; None if there is nothing."""

    def peek(state: Any) -> Plain:
        plain = game.to_plain(state)
        for index in place:
            if not isinstance(plain, list) or index >= len(plain):
                return None
            plain = plain[index]
        return plain

    return peek


def in_the_view(game: AnyGame, peek: Peek, usual: Plain) -> AnyGame:
    """The view shows it."""

    def view(state: Any, viewer: Viewer) -> Plain:
        return {**plain(game.view(state, viewer)), "leak": peek(state)}

    return replace(game, view=view)


def in_the_offer(game: AnyGame, peek: Peek, usual: Plain) -> AnyGame:
    """The order of the legal actions reveals it."""

    def legal_actions(state: Any, seat: Seat) -> Sequence[Any]:
        actions = list(game.legal_actions(state, seat))
        return actions if peek(state) == usual else actions[::-1]

    return replace(game, legal_actions=legal_actions)


def in_a_refusal(game: AnyGame, peek: Peek, usual: Plain) -> AnyGame:
    """Refusals name it."""

    def apply(state: Any, seat: Seat, action: Any) -> None:
        try:
            game.apply(state, seat, action)
        except Refused as refused:
            raise Refused(refused.reason, refused.rule, f"{refused.message}: {peek(state)}") from None

    return replace(game, apply=apply)


def in_the_automaton(game: AnyGame, peek: Peek, usual: Plain) -> AnyGame:
    """The bundled player chooses by it."""

    def automaton(state: Any, seat: Seat, chance: Draws) -> Any:
        return game.legal_actions(state, seat)[0 if peek(state) == usual else 1]

    return replace(game, automaton=automaton)


def in_the_sampler(game: AnyGame, peek: Peek, usual: Plain) -> AnyGame:
    """Samples depend on the value when the view was made."""
    was_usual = [True]

    def view(state: Any, viewer: Viewer) -> Plain:
        was_usual[0] = peek(state) == usual
        return game.view(state, viewer)

    def sample(seen: Plain, seat: Seat, chance: Draws) -> Any:
        return game.sample(seen, seat, chance if was_usual[0] else Draws(chance.seed(), "other"))

    return replace(game, view=view, sample=sample)
