"""The dialogue about one turn: asks, reads, asks again with what was wrong, and finally plays a legal action."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from rubble_bot import Turn

from rubble.v1 import game_pb2
from text_bot.models import Model, NoAnswer
from text_bot.prompt import prompt
from text_bot.reading import Unclear, read

_LOG: Final = logging.getLogger("text_bot")
#: The part of the clock that is kept for the round trip.
RESERVE_S: Final = 0.5
_WORDS: Final = 300  # characters of the model's own words that are kept in the replay


class Talk:
    """A ``choose`` that asks a model. ``rules`` returns the description of a game, as the arena's GetGame does."""

    def __init__(self, model: Model, rules: Callable[[str], game_pb2.GetGameResponse], tries: int = 3) -> None:
        self._model = model
        self._rules = rules
        self._tries = tries
        self._known: dict[str, game_pb2.GetGameResponse] = {}
        self._lock = threading.Lock()

    def choose(self, turn: Turn) -> int:
        """Returns the model's action, or the first legal one if there is no usable answer; the note in the replay says which."""
        if len(turn.legal_actions) == 1:
            return 0
        end = time.monotonic() + max(0.0, (turn.clock.move_ms + turn.clock.bank_ms / 2) / 1000 - RESERVE_S)
        wrong = "the arena refused it" if turn.refused else ""
        for attempt in range(1, self._tries + 1):
            seconds = end - time.monotonic()
            if seconds <= 0:
                wrong = "the time is up"
                break
            try:
                answer = self._model(prompt(turn, self._game(turn.game), wrong), seconds)
                place = read(answer, turn.texts)
            except (NoAnswer, Unclear) as error:
                wrong = str(error)
                _LOG.warning("%s: turn %d, attempt %d: %s", turn.session, turn.number, attempt, wrong)
            else:
                turn.note = f"attempt {attempt}: {' '.join(answer.split())[:_WORDS]}"
                return place
        turn.note = f"no usable answer ({wrong}); played {turn.texts[0]!r} instead"
        _LOG.warning("%s: turn %d: %s", turn.session, turn.number, turn.note)
        return 0

    def _game(self, name: str) -> game_pb2.GetGameResponse:
        with self._lock:
            if name not in self._known:
                self._known[name] = self._rules(name)
            return self._known[name]
