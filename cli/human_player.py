"""A person plays a game at the terminal: it tells what happens, draws the table, asks for an action, and sends it."""

import contextlib
import queue
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import grpc
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import sentences
from cli.human_seat import HumanSeat
from cli.local_service import LocalService
from cli.show import draw, sheet
from cli.terminal import complain, count_of, own_command
from rubble.v1 import common_pb2, display_pb2, session_pb2
from service.games.chance import SEED_BYTES, Draws
from service.games.core import AnyGame, BadSetup, Line, Outcome, Plain, Refused, Result, Unreadable

DONE, BAD_INPUT = 0, 2
#: How long to wait for an event before the processes are checked.
_POLL_S: Final = 1.0
_HELP: Final = (
    "a number of the list, or an action's notation; ? explains the notation, v draws the table, q resigns and quits"
)
#: Log lines that tell a player nothing: who connected, and the seeds.
_SKIPPED: Final = (display_pb2.LOG_LINE_KIND_SEATED, display_pb2.LOG_LINE_KIND_SEEDS)


class _InputEnded(Exception):
    """Standard input has ended."""


class _Quit(Exception):
    """The person wants to quit."""


class HumanGame:
    """One game: shows the person what happens and asks for actions."""

    def __init__(self, human_seat: HumanSeat, local_service: LocalService, console: Console, replays: Path) -> None:
        self._human_seat = human_seat
        self._local_service = local_service
        self._console = console
        self._replays = replays
        #: The revisions of events, or the error that ended the stream of them.
        self._news: queue.SimpleQueue[int | grpc.RpcError] = queue.SimpleQueue()
        #: The revision of the last log line that was told.
        self._told = 0
        self._session = session_pb2.Session()
        #: What the game calls each seat, and the name of each seat in sentences.
        self._in_game: Sequence[str] = ()
        self._names: Sequence[str] = ()
        #: The objectives whose meaning was printed.
        self._explained: set[str] = set()

    def play(self) -> int:
        """Play to the end, or until the person quits; return the exit code."""
        human_seat = self._human_seat
        self._introduce()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while True:
                shown = self._learn()
                if self._is_over():
                    break
                if shown.HasField("question"):
                    human_seat.say(shown.question.turn, self._ask(shown))
                else:
                    self._wait()
        except _InputEnded:
            self._give_up()
            complain(f"the input ended before the game did; seat {human_seat.seat} was resigned")
            self._finish()
            return BAD_INPUT
        except _Quit:
            self._give_up()
        return self._finish()

    def _introduce(self) -> None:
        human_seat = self._human_seat
        game, own = human_seat.game, human_seat.seat
        self._in_game = game.names(len(human_seat.bots))
        names = sentences.numbered(human_seat.bots)
        names[own] = f"{sentences.as_name(self._in_game[own])} (you)"
        self._names = names
        others = ", ".join(
            f"{name} ({self._in_game[seat]})" for seat, name in enumerate(self._names) if seat != human_seat.seat
        )
        called = "" if self._in_game[own] == f"seat {own}" else f" ({self._in_game[own]})"
        self._say(f"{game.title}: you have seat {own}{called}{', against ' if others else ''}{others}.", "bold")
        self._say(f"Answer with {_HELP}.", "dim")

    def _say(self, line: str, style: str = "") -> None:
        self._console.print(sentences.told(self._console, line, style=style))

    # -------------------------------------------------------------------------------------------------- what happens
    def _learn(self) -> display_pb2.ShowSessionResponse:
        """Tell what has happened since the last time, and return the session in words."""
        shown = self._human_seat.show(self._told, self._names)
        for line in shown.lines:
            if line.kind not in _SKIPPED:
                self._tell(line)
        self._told, self._session = shown.revision, shown.session
        return shown

    def _tell(self, line: display_pb2.LogLine) -> None:
        more = [sentences.AUTOMATON] if line.kind == display_pb2.LOG_LINE_KIND_AUTOMATON else []
        style = "" if line.seat == self._human_seat.seat else "cyan"
        if line.kind == display_pb2.LOG_LINE_KIND_FAULT:
            style = "red"
        out = self._console
        out.print(sentences.told(out, line.sentence, line.notation, line.events, head="  ", style=style, more=more))

    def _is_over(self) -> bool:
        return self._session.status != session_pb2.SESSION_STATUS_ACTIVE

    def _listen(self) -> None:
        """In a thread, put the revisions of events into the queue."""
        try:
            for response in self._human_seat.watch():
                for event in response.events:
                    self._news.put(event.revision)
        except grpc.RpcError as error:
            self._news.put(error)

    def _wait(self) -> None:
        """Wait for an event that was not told, for a short time."""
        with contextlib.suppress(queue.Empty):
            while True:
                news = self._news.get(timeout=_POLL_S)
                if isinstance(news, grpc.RpcError):
                    raise news
                if news > self._told:
                    break
        self._local_service.check()

    # ------------------------------------------------------------------------------------------------- what you do
    def _ask(self, shown: display_pb2.ShowSessionResponse) -> int:
        """Return the index of the action that the person chose."""
        view = self._human_seat.view()
        notations = [choice.notation for choice in shown.question.choices]
        self._show(view, shown)
        while True:
            try:
                said = self._read(f"your choice (1-{len(notations)}): ")
            except _InputEnded:
                if not sys.stdin.isatty():
                    raise
                said = "q"
            match said.lower():
                case "":
                    continue
                case "?" | "h" | "help":
                    self._explain()
                case "v":
                    self._show(view, shown, every_objective=True)
                case "q":
                    if self._is_resigning():
                        raise _Quit
                case _:
                    try:
                        return _chosen(self._human_seat.game, view, self._human_seat.seat, notations, said)
                    except BadSetup as error:
                        self._say(error.expected, "red")

    def _read(self, prompt: str) -> str:
        """Read a line; raises _InputEnded."""
        try:
            said = input(prompt).strip()
        except EOFError:
            print()
            raise _InputEnded from None
        except UnicodeDecodeError:
            said = "\ufffd"
        if not sys.stdin.isatty():
            print(said)  # the output of a script then shows its answers too
        return said

    def _is_resigning(self) -> bool:
        """Ask whether the person means it. An end of the input means yes: there will be no other answer."""
        try:
            return self._read("Resign this game? y/N ").lower() in ("y", "yes")
        except _InputEnded:
            return True

    def _show(self, view: Plain, shown: display_pb2.ShowSessionResponse, *, every_objective: bool = False) -> None:
        """Draw the table, with the objectives that the person has not read yet or can choose, and list the answers."""
        out, offered = self._console, shown.question.choices
        out.print()
        self._draw(view)
        out.print()
        offered_words = {word for choice in offered for word in sentences.words(choice.sentence)}
        objectives = sentences.objectives(self._human_seat.game, shown.position.svg)
        wanted = [
            name for name in objectives if every_objective or name not in self._explained or name in offered_words
        ]
        if wanted:
            out.print(sentences.told(out, "Objectives, and what they score", style="yellow"))
        for name in wanted:
            out.print(sentences.told(out, objectives[name], head="  "))
        if wanted:
            out.print()
        self._explained.update(wanted)
        out.print(sentences.choices(out, [(choice.sentence, choice.notation) for choice in offered]))

    def _draw(self, view: Plain) -> None:
        """Draw the table, below the names of its seats."""
        players = [
            f"{called}: {'you' if seat == self._human_seat.seat else self._names[seat]}"
            for seat, called in enumerate(self._in_game)
        ]
        self._console.print(sentences.told(self._console, " · ".join(players), style="dim"))
        self._console.print(draw(self._console, self._human_seat.game.picture(view)))

    def _explain(self) -> None:
        self._say(f"Answer with {_HELP}.")
        rows = Table.grid(padding=(0, 2))
        for notation, meaning in self._human_seat.game.notation:
            rows.add_row(Text(notation, style="bold"), Text(meaning))
        self._console.print(rows)

    # ------------------------------------------------------------------------------------------------- the end
    def _give_up(self) -> None:
        """Resign, and learn whether that ended the game."""
        try:
            self._human_seat.resign()
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
                raise
            # The game has just ended, or the seat was forfeited.
        self._learn()

    def _finish(self) -> int:
        if not self._is_over():
            self._say("You resigned; the others play on without you.", "bold")
            return DONE
        if not self._session.HasField("outcome"):
            self._say("There is no result.", "bold")
            return DONE
        self._console.print()
        self._draw(self._human_seat.view())
        self._console.print()
        self._console.print(sheet(_outcome(self._session.outcome)))
        own = self._session.outcome.seats[self._human_seat.seat]
        self._say(f"You are {own.name}: rank {own.rank} with {count_of(own.score, 'point')}.", "bold")
        file = self._replays / f"{self._human_seat.session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._human_seat.replay(), encoding="utf-8")
        ending = Text(f"The replay is in {file}; see `{own_command()} replay show {file}`.")
        self._console.print(ending, soft_wrap=True)
        return DONE


def _chosen(game: AnyGame, view: Plain, seat: int, texts: Sequence[str], said: str) -> int:
    """Return the index of the action that was typed; raises BadSetup, which says why it cannot be chosen."""
    if re.fullmatch("[0-9]{1,9}", said):
        if 1 <= int(said) <= len(texts):
            return int(said) - 1
        there = "is 1 action" if len(texts) == 1 else f"are {len(texts)} actions"
        raise BadSetup("choice", said, f"There {there}; type a number from 1 to {len(texts)}.")
    try:
        action = game.read(said)
    except Unreadable as error:
        raise BadSetup("choice", said, f"Expected {error.expected}, or {_HELP}.") from None
    if game.text(action) in texts:
        return texts.index(game.text(action))
    # A refusal depends only on what the seat knows, so any world that fits the view gives the right reason.
    world = game.sample(view, seat, Draws(bytes(SEED_BYTES), "refusal"))
    try:
        game.apply(world, seat, action)
    except Refused as refused:
        raise BadSetup("choice", said, f"Not now: {refused}") from None
    raise BadSetup("choice", said, "Not now; choose one from the list.")


def _outcome(message: common_pb2.Outcome) -> Outcome:
    def results(given: Sequence[common_pb2.Result]) -> tuple[Result, ...]:
        return tuple(
            Result(one.name, one.rank, one.score, tuple(Line(line.label, line.points) for line in one.lines))
            for one in given
        )

    return Outcome(results(message.seats), message.ending, results(message.house))
