"""A person's seat at a service: its bots are started, its session is created, and every call to it is made here."""

import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import grpc

from bots.bundled.decoder import view_of
from cli.local_service import LocalService
from rubble.v1 import bot_pb2, bot_pb2_grpc, common_pb2, display_pb2, display_pb2_grpc, session_pb2, session_pb2_grpc
from service.games.chance import seeds_of
from service.games.core import AnyGame, BadSetup, OptionValue, Plain

#: People may think for a long time.
_CONTROL: Final = common_pb2.TimeControl(move_ms=3_600_000, bank_ms=3_600_000, seating_ms=600_000)
_CALL_S: Final = 30.0
#: gRPC's own retries have no pause: they can fill the memory while a service stops.
_OPTIONS: Final = (("grpc.enable_retries", 0),)


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
        return grpc.insecure_channel(address, _OPTIONS)
    try:
        roots = None if trusted == "system" else Path(trusted).read_bytes()
    except OSError as error:
        raise BadSetup("RUBBLE_CA", trusted, f"a file of certificates that can be read ({error.strerror})") from None
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(roots), _OPTIONS)


class HumanSeat:
    """A person's seat: the calls to the service that can be made from it."""

    def __init__(self, channel: grpc.Channel, operator: str, game: AnyGame, seat: int, bots: Sequence[str]) -> None:
        self._calls = session_pb2_grpc.SessionServiceStub(channel)
        self._display = display_pb2_grpc.DisplayServiceStub(channel)
        self._operator = _bearer(operator)
        self._own: tuple[tuple[str, str], ...] = ()
        self.game = game
        self.seat = seat
        #: The kind of bot in each seat; empty for the person.
        self.bots = bots
        self.session = f"play-{game.id}-{secrets.token_hex(4)}"

    def create(self, names: Sequence[str], number: int | None, options: dict[str, OptionValue]) -> None:
        """Create the session; ``names`` has the bot's name for each seat, empty for the person."""
        request = session_pb2.CreateSessionRequest(session=self.session, game=self.game.id, time_control=_CONTROL)
        request.seats.extend(session_pb2.SeatRequest(bot=name) for name in names)
        for name, value in options.items():
            request.options[name].CopyFrom(
                common_pb2.OptionValue(text=value) if isinstance(value, str) else common_pb2.OptionValue(number=value)
            )
        if number is not None:
            seeds = seeds_of(number)
            request.seeds.CopyFrom(common_pb2.Seeds(table=seeds.table, deck=seeds.deck))
        response = self._calls.CreateSession(request, metadata=self._operator, timeout=_CALL_S)
        self._own = _bearer(response.seat_tokens[self.seat])

    def view(self) -> Plain:
        """Return what the seat sees now."""
        request = session_pb2.GetViewRequest(session=self.session)
        return view_of(self._calls.GetView(request, metadata=self._own, timeout=_CALL_S).view)

    def show(self, after: int, names: Sequence[str]) -> display_pb2.ShowSessionResponse:
        """Return the session in words, with these names of the seats and the log lines after this revision."""
        request = display_pb2.ShowSessionRequest(session=self.session, after_revision=after, names=names)
        return self._display.ShowSession(request, metadata=self._own, timeout=_CALL_S)

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
    human_seat = HumanSeat(channel, operator, game, seat, [*bots[:seat], "", *bots[seat:]])
    human_seat.create([*names[:seat], "", *names[seat:]], number, options)
    return human_seat
