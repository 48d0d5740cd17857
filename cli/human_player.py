"""A person's seat in a game: shows the table, asks for an action, and sends it."""

import contextlib
import os
import queue
import re
import secrets
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import grpc
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bots.bundled.decoder import view_of
from cli.local_service import LocalService
from cli.show import draw, sheet
from cli.terminal import complain, count_of, own_command
from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, session_pb2, session_pb2_grpc
from service.games.chance import SEED_BYTES, Draws, seeds_of
from service.games.core import AnyGame, BadSetup, Line, OptionValue, Outcome, Plain, Refused, Result, Unreadable

DONE, BAD_INPUT = 0, 2
#: People may think for a long time.
_CONTROL: Final = common_pb2.TimeControl(move_ms=3_600_000, bank_ms=3_600_000, seating_ms=600_000)
#: How long to wait for events of other seats before the table is shown without them.
_NEWS_S: Final = 0.5
_POLL_S: Final = 1.0
_CALL_S: Final = 30.0
_HELP: Final = (
    "a number of the list, or an action's notation; ? explains the notation, v draws the table, q resigns and quits"
)


class _InputEnded(Exception):
    """Standard input has ended."""


class _Quit(Exception):
    """The person wants to quit."""


def service(local_service: LocalService, address: str | None) -> tuple[str, str]:
    if address is None:
        local_service.start_service()
        return local_service.where_it_serves()
    token = os.environ.get("RUBBLE_OPERATOR_TOKEN", "")
    if not token:
        raise BadSetup("RUBBLE_OPERATOR_TOKEN", token, f"the operator's token of the service at {address}")
    return address, token


def open_channel(address: str) -> grpc.Channel:
    trusted = os.environ.get("RUBBLE_CA", "")
    if not trusted:
        return grpc.insecure_channel(address)
    try:
        roots = None if trusted == "system" else Path(trusted).read_bytes()
    except OSError as error:
        raise BadSetup("RUBBLE_CA", trusted, f"a file of certificates that can be read ({error.strerror})") from None
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(roots))


class HumanSeat:
    """A person's seat: the calls to the service that can be made from it."""

    def __init__(self, channel: grpc.Channel, operator: str, game: AnyGame, seat: int, names: Sequence[str]) -> None:
        self._calls = session_pb2_grpc.SessionServiceStub(channel)
        self._operator = _bearer(operator)
        self._own: tuple[tuple[str, str], ...] = ()
        self.game = game
        self.seat = seat
        #: Bot names by seat; empty for the person.
        self.names = names
        self.session = f"play-{game.id}-{secrets.token_hex(4)}"

    def create(self, number: int | None, options: dict[str, OptionValue]) -> None:
        request = session_pb2.CreateSessionRequest(session=self.session, game=self.game.id, time_control=_CONTROL)
        request.seats.extend(session_pb2.SeatRequest(bot=name) for name in self.names)
        for name, value in options.items():
            request.options[name].CopyFrom(
                common_pb2.OptionValue(text=value) if isinstance(value, str) else common_pb2.OptionValue(number=value)
            )
        if number is not None:
            seeds = seeds_of(number)
            request.seeds.CopyFrom(common_pb2.Seeds(table=seeds.table, deck=seeds.deck))
        response = self._calls.CreateSession(request, metadata=self._operator, timeout=_CALL_S)
        self._own = _bearer(response.seat_tokens[self.seat])

    def look(self) -> session_pb2.GetViewResponse:
        request = session_pb2.GetViewRequest(session=self.session)
        return self._calls.GetView(request, metadata=self._own, timeout=_CALL_S)

    def say(self, turn: int, index: int) -> None:
        request = session_pb2.ActRequest(session=self.session, turn=turn, index=index)
        self._calls.Act(request, metadata=self._own, timeout=_CALL_S)

    def resign(self) -> None:
        request = session_pb2.ResignRequest(session=self.session)
        self._calls.Resign(request, metadata=self._own, timeout=_CALL_S)

    def watch(self) -> Iterator[session_pb2.WatchResponse]:
        request = session_pb2.WatchRequest(session=self.session)
        yield from self._calls.Watch(request, metadata=self._own)

    def replay(self) -> str:
        request = session_pb2.GetReplayRequest(session=self.session)
        return self._calls.GetReplay(request, metadata=self._own, timeout=_CALL_S).jsonl


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


def take_seats(
    local_service: LocalService,
    channel: grpc.Channel,
    address: str,
    operator: str,
    game: AnyGame,
    seat: int,
    bots: Sequence[str],
    number: int | None,
    options: dict[str, OptionValue],
) -> HumanSeat:
    """Start the bots, each as a process with its own key, and create the session with an open seat for the person."""
    keys = bot_pb2_grpc.BotServiceStub(channel)
    mark = secrets.token_hex(2)  # other callers of the service may use the same names
    names = []
    for index, bot in enumerate(bots, 1):
        name = f"{bot}-{index}-{mark}"
        request = bot_pb2.IssueKeyRequest(bot=name, expires_in_s=24 * 3600)
        key = keys.IssueKey(request, metadata=_bearer(operator), timeout=_CALL_S).bot_key
        seed = secrets.token_hex(8) if number is None else f"{number}/{index}"
        command = ["bots.bundled", bot, "--games", "1"]
        local_service.start(name, command, RUBBLE_ADDRESS=address, RUBBLE_BOT_KEY=key, RUBBLE_BOT_SEED=seed)
        names.append(name)
    names.insert(seat, "")
    human_seat = HumanSeat(channel, operator, game, seat, names)
    human_seat.create(number, options)
    return human_seat


# ------------------------------------------------------------------------------------------------------------ the game
class HumanGame:
    """One game: shows the person what happens and asks for actions."""

    def __init__(self, human_seat: HumanSeat, local_service: LocalService, console: Console, replays: Path) -> None:
        self._human_seat = human_seat
        self._local_service = local_service
        self._console = console
        self._replays = replays
        self._news: queue.SimpleQueue[session_pb2.WatchEvent | grpc.RpcError] = queue.SimpleQueue()
        self._heard = 0
        self._end: session_pb2.WatchEvent | None = None

    def play(self) -> int:
        """Play to the end, or until the person quits; return the exit code."""
        human_seat = self._human_seat
        others = ", ".join(self._who(seat) for seat in range(len(human_seat.names)) if seat != human_seat.seat)
        against = f", against {others}" if others else ""
        self._say(f"{human_seat.game.title}: you have seat {human_seat.seat}{against}.", "bold")
        self._say(f"Answer with {_HELP}.", "dim")
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            while self._end is None:
                shown = human_seat.look()
                self._hear_up_to(shown.revision)
                if shown.HasField("question"):
                    human_seat.say(shown.question.turn, self._ask(view_of(shown.view), shown.question))
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

    def _say(self, line: str, style: str = "") -> None:
        self._console.print(Text(line, style=style), soft_wrap=True)

    # ------------------------------------------------------------------------------------------------- what others do
    def _listen(self) -> None:
        """In a thread, put the events of the session into the queue."""
        try:
            for response in self._human_seat.watch():
                for event in response.events:
                    self._news.put(event)
        except grpc.RpcError as error:
            self._news.put(error)

    def _hear_up_to(self, revision: int) -> None:
        """Show what has happened so far; a secret action arrives later, so the wait is short."""
        while self._heard < revision and self._end is None:
            try:
                self._tell(self._news.get(timeout=_NEWS_S))
            except queue.Empty:
                return

    def _wait(self) -> None:
        with contextlib.suppress(queue.Empty):
            self._tell(self._news.get(timeout=_POLL_S))
        self._local_service.check()

    def _tell(self, event: session_pb2.WatchEvent | grpc.RpcError) -> None:
        if isinstance(event, grpc.RpcError):
            raise event
        self._heard = event.revision
        match event.WhichOneof("event"):
            case "action" if event.action.seat != self._human_seat.seat or event.action.house:
                house = " (the automaton, for a forfeited seat)" if event.action.house else ""
                text = "(in secret)" if event.action.hidden else event.action.text
                self._say(f"  {self._who(event.action.seat)}{house}: {text}", "cyan")
            case "fault":
                fault = common_pb2.Fault.Name(event.fault.fault).removeprefix("FAULT_")
                self._say(f"  {self._who(event.fault.seat)} was forfeited: {fault}", "red")
            case "end":
                self._end = event

    def _who(self, seat: int) -> str:
        name = self._human_seat.names[seat]
        return f"{name.rpartition('-')[0]} (seat {seat})" if name else f"you (seat {seat})"

    # ------------------------------------------------------------------------------------------------- what you do
    def _ask(self, view: Plain, question: session_pb2.Question) -> int:
        """Return the index of the action that the person chose."""
        game = self._human_seat.game
        texts = [action.text for action in question.legal_actions]
        self._show(view, texts)
        while True:
            try:
                said = input(f"your choice (1-{len(texts)}): ").strip()
            except EOFError:
                print()
                raise _InputEnded from None
            except UnicodeDecodeError:
                said = "\ufffd"
            if not sys.stdin.isatty():
                print(said)  # the output of a script then shows its answers too
            match said.lower():
                case "":
                    continue
                case "?" | "h" | "help":
                    self._explain()
                case "v":
                    self._show(view, texts)
                case "q":
                    raise _Quit
                case _:
                    try:
                        return _chosen(game, view, self._human_seat.seat, texts, said)
                    except BadSetup as error:
                        self._say(f"  {error.expected}", "red")

    def _show(self, view: Plain, texts: Sequence[str]) -> None:
        self._console.print()
        self._console.print(draw(self._human_seat.game.picture(view)), soft_wrap=True)
        self._console.print()
        choices = [Text.assemble((f"{place:>3} ", "bold"), text) for place, text in enumerate(texts, 1)]
        self._console.print(Columns(choices, padding=(0, 3), column_first=True, equal=True))

    def _explain(self) -> None:
        self._say(f"Answer with {_HELP}.")
        rows = Table.grid(padding=(0, 2))
        for notation, meaning in self._human_seat.game.notation:
            rows.add_row(Text(notation, style="bold"), Text(meaning))
        self._console.print(rows)

    # ------------------------------------------------------------------------------------------------- the end
    def _give_up(self) -> None:
        """Resign, and learn whether that ended the game."""
        with contextlib.suppress(grpc.RpcError):  # the game has just ended
            self._human_seat.resign()
            self._hear_up_to(self._human_seat.look().revision)

    def _finish(self) -> int:
        if self._end is None:
            self._say("You resigned; the others play on without you.", "bold")
            return DONE
        end = self._end.end
        if not end.HasField("outcome"):
            self._say("The game was cancelled; there is no result.", "bold")
            return DONE
        self._console.print()
        self._console.print(draw(self._human_seat.game.picture(view_of(self._human_seat.look().view))), soft_wrap=True)
        self._console.print()
        self._console.print(sheet(_outcome(end.outcome)))
        own = end.outcome.seats[self._human_seat.seat]
        self._say(f"You are {own.name}: rank {own.rank} with {count_of(own.score, 'point')}.", "bold")
        file = self._replays / f"{self._human_seat.session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._human_seat.replay(), encoding="utf-8")
        self._say(f"The replay is in {file}; see `{own_command()} replay show {file}`.")
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
