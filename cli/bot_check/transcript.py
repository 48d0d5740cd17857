"""Records the questions and answers of a run, and every rule that an answer breaks."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from cli.terminal import count_of
from rubble.v1 import bot_pb2

NOTE_LIMIT: Final = 1000
#: Complaints of one kind whose text is kept; the others are only counted.
_KEPT: Final = 5
_Question = tuple[str, int]


class Transcript:
    """The questions put to the bot and its answers, over all streams of a run."""

    def __init__(self) -> None:
        self._legal: dict[_Question, Sequence[str]] = {}
        self._asked: Counter[_Question] = Counter()
        self._answered: Counter[_Question] = Counter()
        #: What was wrong, by kind: hello, bytes, empty, index, text, stray, repeat, note.
        self.complaints: defaultdict[str, list[str]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        self.indices = 0
        self.texts = 0
        self.notes = 0

    @property
    def answers(self) -> int:
        """Return the number of answers."""
        return self.indices + self.texts

    def complain(self, kind: str, sentence: str) -> None:
        """Record something that is wrong."""
        self.counts[kind] += 1
        if len(self.complaints[kind]) < _KEPT:
            self.complaints[kind].append(sentence)

    def told(self, event: bot_pb2.PlayEvent) -> None:
        """Record an event sent to the bot."""
        match event.WhichOneof("event"):
            case "turn":
                turn = event.turn
                question = turn.session, turn.turn
                self._asked[question] += 1
                self._legal[question] = [action.text for action in turn.legal_actions]
            case "refused" if event.refused.open:
                self._asked[event.refused.session, event.refused.turn] += 1

    def heard(self, choice: bot_pb2.Choice) -> None:
        """Record an answer of the bot, and check it."""
        question = choice.session, choice.turn
        where = f"session {choice.session[:80]!r}, turn {choice.turn}"
        self._answered[question] += 1
        legal = self._legal.get(question)
        if legal is None:
            self.complain("stray", f"{where}: this question was not asked")
        elif self._answered[question] > self._asked[question]:
            self.complain(
                "repeat",
                f"{where}: {self._answered[question]} answers, asked {count_of(self._asked[question], 'time')}",
            )
        if choice.note:
            self.notes += 1
            if len(choice.note) > NOTE_LIMIT:
                self.complain("note", f"{where}: a note of {len(choice.note)} characters, at most {NOTE_LIMIT}")
        match choice.WhichOneof("choice"):
            case "index":
                self.indices += 1
                if legal is not None and choice.index >= len(legal):
                    self.complain("index", f"{where}: index {choice.index} of {len(legal)} legal actions")
            case "text":
                self.texts += 1
                if legal is not None and choice.text not in legal:
                    self.complain("text", f"{where}: {choice.text[:80]!r} is not one of {len(legal)} legal actions")
            case _:
                self.complain("empty", f"{where}: neither an index nor a text")

    def times_answered(self, session: str, turn: int) -> int:
        """Return how often a question was answered."""
        return self._answered[session, turn]
