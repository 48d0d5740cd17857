"""The pages of ``rubble replay show``: the table at a revision, and what happened in sentences."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from cli.sentences import AUTOMATON, as_name, numbered, told
from cli.show import draw, sheet
from cli.terminal import count_of
from service.sessions.entries import Acted, AnswerRefused, AutomatonActed, Ended, Entry, Forfeited, Revealed
from service.sessions.narration import ALL, Eye, Told
from service.sessions.replay import Replay
from service.sessions.replay_narration import NarratedReplay
from service.sessions.replay_verify import game_of

#: How many entries are listed below a table.
LAST_ENTRIES: Final = 6
#: How entries look that are no actions, by their kind.
_STYLES: Final = {AnswerRefused.kind: "red", Forfeited.kind: "bold red", Ended.kind: "bold"}


class ReplayPager:
    """Shows a replay page by page, as one viewer sees it."""

    def __init__(self, out: Console, replay: Replay, eye: Eye, reason: str, names: Sequence[str]) -> None:
        self.out = out
        self.replay = replay
        self.eye = eye
        #: What the verification found.
        self.reason = reason
        self.has_seeds = replay.seeds is not None
        #: What the game calls each seat; not known if this is no game of ours.
        self.in_game = game_of(replay).names(len(replay.bots)) if self.has_seeds else []
        numbers = self.in_game or [f"seat {seat}" for seat in range(len(replay.bots))]
        #: The name of each seat in sentences.
        self.names = numbered([name or as_name(own) for name, own in zip(names, numbers, strict=True)])

    @cached_property
    def narrated(self) -> NarratedReplay:
        """The replay as the viewer sees it; it must have its seeds."""
        return NarratedReplay(self.replay, self.eye, self.names)

    def heading(self, place: int | None) -> Text:
        """Show the game, the session, the revision and the viewer."""
        replay = self.replay
        who = "a spectator" if self.eye is None else "all seats" if self.eye == ALL else f"seat {self.eye}"
        at = f" · revision {place} of {len(replay.entries)}" if place is not None else f" · {self.reason}"
        seen = f" · seen by {who}" if self.has_seeds else ""
        facts = f" · session {replay.session} · {count_of(len(replay.bots), 'player')}{at}{seen}"
        title = game_of(replay).title if self.has_seeds else replay.game
        return Text.assemble((title, "bold"), facts)

    def bots(self) -> Text:
        """Show the bots by seat."""
        shown = zip(self.replay.bots, self.names, strict=True)
        names = [f"{seat}: {name if bot else 'an open seat'}" for seat, (bot, name) in enumerate(shown)]
        for seat, called in enumerate(self.in_game):
            names[seat] += f" ({called})" if called != f"seat {seat}" else ""
        return told(self.out, "seats: " + ", ".join(names), style="dim")

    def page(self, place: int) -> Group:
        """Show the table and the last entries at a revision."""
        first = max(0, place - LAST_ENTRIES)
        parts: list[RenderableType] = [Text(), self.heading(place), self.bots(), Text(), self.table(place), Text()]
        is_readable = self.narrated.is_readable(place)
        for line in self.narrated.told[first:place]:
            here = [("←", "bold")] if line.revision == place else []
            parts.append(self.said(line if is_readable[line.revision - 1] else self.secret(line), here))
        if place == len(self.replay.entries):
            parts += self.result()
        return Group(*parts)

    def table(self, place: int) -> Text:
        """Draw the table at a revision."""
        return draw(self.out, self.narrated.game.picture(self.narrated.views[place]))

    def secret(self, line: Told) -> Told:
        """Return the line of an action of which only the seat is known."""
        assert line.seat is not None
        return replace(line, notation="", sentence=f"{self.names[line.seat]} acts in secret", events=(), note="")

    def said(self, line: Told, more: Sequence[tuple[str, str]] = ()) -> Text:
        """Show an entry: its sentence with notation, think time and note, and its events."""
        beside: list[tuple[str, str]] = []
        if line.kind == Acted.kind and line.notation:
            beside.append((f"{line.think_ms:,} ms", "dim"))
        if line.kind == AutomatonActed.kind:
            beside.append(AUTOMATON)
        note = " ".join(line.note.split())
        return told(
            self.out,
            line.sentence,
            line.notation,
            line.events,
            head=f"{line.revision:>5}  ",
            style=_STYLES.get(line.kind, ""),
            more=[*beside, (note, "italic dim"), *more],
        )

    def result(self) -> list[RenderableType]:
        """Show the score sheet, if there is one."""
        outcome = self.replay.sheet()
        if outcome is not None:
            return [Text(), sheet(outcome)]
        return [Text(), Text("over: CANCELLED" if self.replay.outcome else "still running", style="bold")]

    def summary(self) -> Group:
        """Show every entry, the last table and the score sheet."""
        parts: list[RenderableType] = [Text(), self.heading(None), self.bots(), Text()]
        if self.has_seeds:
            parts += [self.said(line) for line in self.narrated.told]
            parts += [Text(), self.table(len(self.replay.entries))]
        else:
            parts += [self.said(self.untold(at, entry)) for at, entry in enumerate(self.replay.entries, 1)]
        return Group(*parts, *self.result())

    def untold(self, revision: int, entry: Entry) -> Told:
        """Return the line of an entry without the table: an action has only its notation."""
        seat = None if isinstance(entry, Ended | Revealed) else entry.seat
        name, notation, note, think_ms = "" if seat is None else self.names[seat], "", "", 0
        match entry:
            case Acted() | AutomatonActed():
                sentence, notation = f"{name} acts", entry.action
                if isinstance(entry, Acted):
                    note, think_ms = entry.note, entry.think_ms
            case AnswerRefused():
                sentence, note = f"{name} gives an answer that is refused: {entry.reason}", entry.note
            case Forfeited():
                sentence, note = f"{name} is forfeited: {entry.fault}", entry.outage
            case Ended():
                sentence, note = entry.status.lower(), entry.note
            case _:
                sentence = f"{name} {entry.kind}"
        return Told(revision, entry.kind, seat, notation, sentence, (), (), think_ms, note, ())
