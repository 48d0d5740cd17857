"""Finds replay files and reads who played, and how it ended, without verifying them."""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import msgspec

from orchestrator.entrants import arena_names, bot_of
from orchestrator.ladder import names
from orchestrator.report.words import visible
from service.games.core import BadSetup
from service.sessions.entries import Status
from service.sessions.replay import REPLAY_FORMAT, HeaderLine, OutcomeLine

#: Where `rubble run`, `make play` and `rubble play` write replays, below the current folder.
USUAL_FOLDERS: Final = (".rubble", "runs", "replays")
#: The folder of replays in an export.
REPLAYS: Final = "replays"
#: How many levels below a given folder a folder of replays is searched for.
DEEPEST: Final = 4
#: The largest file that is read, in bytes. A long game needs a few hundred thousand.
LARGEST_FILE: Final = 64 * 2**20
#: The open seat of a game of `rubble play`.
PERSON: Final = "you"
#: The longest line that is read, in bytes: the service writes no longer ones.
_LONGEST_LINE: Final = 1_000_000
#: How many bytes at the end of a file are read first. They nearly always contain the outcome and the seeds.
_END: Final = 8192
#: Written once in each line of an answer of a seat. It cannot occur in a text, where quotes have a backslash.
_DECISION: Final = b'"kind":"act"'
#: The session of a match of a tournament or a ladder.
_MATCH_SESSION: Final = re.compile(r"[0-9a-f]{32}(-[0-9]+)?")
#: The arena name of a ladder's build.
_BUILD: Final = re.compile(rf"{names.LADDER.pattern}\.(?P<bot>{names.BOT.pattern})\.(?P<label>{names.LABEL.pattern})")
_PLAY_SESSION: Final = re.compile(r"play-.+-[0-9a-f]{8}")
_PLAY_BOT: Final = re.compile(r"(?P<bot>.+)-[0-9]+-[0-9a-f]{4}")
#: What decoding a line can raise; the last is for deeply nested values.
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_NOT_OVER: Final = frozenset({"header", "act", "house", "refused", "seated", "fault", "end"})


class _AnyLine(msgspec.Struct):
    """The field that every line has."""

    kind: str


_read_header: Final = msgspec.json.Decoder(HeaderLine).decode
_read_outcome: Final = msgspec.json.Decoder(OutcomeLine).decode
_read_kind: Final = msgspec.json.Decoder(_AnyLine).decode


class Damaged(Exception):
    """The file is not a replay, or is damaged; the message says how."""


@dataclass(frozen=True, slots=True)
class PlayerFacts:
    """One player of a game."""

    #: The name as the roster has it, or bot/label for a build of a ladder.
    bot: str
    #: The name in the file.
    name: str
    #: None for a player without a seat, which the game itself plays.
    seat: int | None
    #: None if the game has no result.
    rank: int | None
    score: int | None
    #: Why its seat was forfeited; empty if it was not.
    fault: str


@dataclass(frozen=True, slots=True)
class ReplayFacts:
    """What the header and the outcome of a replay say."""

    file: str
    session: str
    game: str
    version: int
    created_ms: int
    #: By seat; then the players that the game itself plays.
    players: tuple[PlayerFacts, ...]
    #: None if the game was not over when the file was written.
    status: Status | None
    ending: str

    def seats_of(self, bot: "NamedBot") -> list[PlayerFacts]:
        """The seats of a bot: it has several if copies of it play."""
        return [player for player in self.players if player.seat is not None and bot.is_in(player)]

    def best_of(self, bot: "NamedBot") -> PlayerFacts | None:
        """The best seat of a bot; None if it did not play."""
        return min(self.seats_of(bot), key=lambda player: (player.rank or 0, -(player.score or 0)), default=None)

    def margin(self, own: PlayerFacts) -> int:
        """The points of a winner ahead of the best other player, or of a loser behind the winner, which are negative."""
        others = [player for player in self.players if player is not own and player.score is not None]
        if own.rank is None or own.score is None or not others:
            return 0
        if own.rank > 1:
            others = [player for player in others if player.rank == 1] or others
        return own.score - max(player.score or 0 for player in others)


class NamedBot:
    """A bot that somebody asked for by its name in the roster or in the file."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._arena_names = arena_names(name)

    def is_in(self, player: PlayerFacts) -> bool:
        """Whether this player is the bot."""
        return self._name in (player.bot, player.name) or bool(self._arena_names.fullmatch(player.name))


# --------------------------------------------------------------------------------------------------------------- finding
def find_files(places: Sequence[str]) -> list[str]:
    """The replay files of folders, in the given order and by name; a file stands for itself. Raises BadSetup.

    Of a folder that has folders named ``replays``, those are used, and otherwise the folder itself.
    """
    found: dict[str, str] = {}
    for place in places:
        path = Path(place)
        if path.is_dir():
            folders = list(_folders(path)) or [path]
            files = [name for folder in folders for name in _files(folder)]
        elif path.exists():
            files = [place]
        else:
            raise BadSetup("FOLDER", place, "a folder with replays, or a replay file, that exists")
        for file in files:
            found.setdefault(os.path.abspath(file), file)
    return list(found.values())


def _folders(top: Path) -> Iterator[Path]:
    """The folders named ``replays`` in or below a folder, by name."""
    if top.name == REPLAYS:
        yield top
        return
    for parent, folders, _ in os.walk(top):
        depth = len(Path(parent).relative_to(top).parts)
        if REPLAYS in folders:
            yield Path(parent, REPLAYS)
        is_deep = depth + 1 >= DEEPEST
        folders[:] = [] if is_deep else sorted(each for each in folders if each != REPLAYS and not each.startswith("."))


def _files(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name for entry in entries if entry.name.endswith(".jsonl") and not entry.name.startswith(".")
            ]
    except OSError as error:
        raise BadSetup("FOLDER", str(folder), f"a folder that can be read ({error.strerror})") from None
    return [os.path.join(folder, name) for name in sorted(names)]


# --------------------------------------------------------------------------------------------------------------- reading
def read_facts(file: str) -> ReplayFacts:
    """Read the header and the outcome of a replay, and nothing between them. Raises Damaged."""
    try:
        found = os.stat(file)
        if not stat.S_ISREG(found.st_mode):  # opening a pipe would wait for its writer
            raise Damaged("it is not a regular file")
        if found.st_size > LARGEST_FILE:
            raise Damaged(f"it is larger than {LARGEST_FILE // 2**20} MiB")
        with open(file, "rb") as opened:
            header = _header(opened.readline(_LONGEST_LINE))
            outcome = _outcome(_last_lines(opened, found.st_size), header.seats)
    except OSError as error:
        raise Damaged(f"it cannot be read ({error.strerror})") from None
    return ReplayFacts(
        file,
        visible(header.session),
        visible(header.game),
        header.version,
        header.created_ms,
        _players(header, outcome),
        outcome.status if outcome else None,
        visible(outcome.ending) if outcome else "",
    )


def count_decisions(file: str) -> int | None:
    """How many answers the seats gave, for which the whole file is read; None if it cannot be read any more."""
    try:
        with open(file, "rb") as opened:
            return opened.read(LARGEST_FILE).count(_DECISION)
    except OSError:
        return None


def _header(line: bytes) -> HeaderLine:
    if not line:
        raise Damaged("the file is empty")
    try:
        header = _read_header(line)
    except _UNREADABLE:
        raise Damaged("its first line is not the header of a replay") from None
    if header.format != REPLAY_FORMAT:
        raise Damaged(f"a replay of format {header.format}; this version reads format {REPLAY_FORMAT}")
    if header.seats != len(header.bots):
        raise Damaged(f"its header has {header.seats} seats and {len(header.bots)} bots; expected one for each seat")
    return header


def _last_lines(opened: IO[bytes], size: int) -> list[bytes]:
    """The last two lines without their ends, read from the end in growing steps. Raises Damaged if the last is incomplete."""
    length = _END
    while True:
        start = max(0, size - length)
        opened.seek(start)
        end = opened.read(size - start)
        if end and not end.endswith(b"\n"):
            raise Damaged("it was cut: its last line is incomplete")
        if start == 0 or end.count(b"\n") > 2 or length > 2 * _LONGEST_LINE:
            return end.split(b"\n")[:-1][-2:]
        length *= 4


def _outcome(last: Sequence[bytes], seats: int) -> OutcomeLine | None:
    """The outcome, which is the last line or the one before the seeds; None if the game was not over. Raises Damaged."""
    try:
        kind = _read_kind(last[-1]).kind
        if kind in _NOT_OVER:
            return None
        outcome = _read_outcome(last[0 if kind == "seeds" else -1])
    except _UNREADABLE:
        raise Damaged("its last lines are not an outcome and the seeds") from None
    ranked = 0 if outcome.status is Status.CANCELLED else seats
    if (len(outcome.faults), len(outcome.ranks), len(outcome.scores)) != (seats, ranked, ranked):
        raise Damaged(f"its outcome does not have a fault, a rank and a score for each of {seats} seats")
    return outcome


def _players(header: HeaderLine, outcome: OutcomeLine | None) -> tuple[PlayerFacts, ...]:
    nothing = [None] * header.seats
    ranks: Sequence[int | None] = (outcome.ranks if outcome else ()) or nothing
    scores: Sequence[int | None] = (outcome.scores if outcome else ()) or nothing
    faults = [fault.value for fault in outcome.faults] if outcome else [""] * header.seats
    columns = zip(header.bots, ranks, scores, faults, strict=True)
    players = [
        PlayerFacts(visible(shown_name(name, header.session)), visible(name), seat, rank, score, fault)
        for seat, (name, rank, score, fault) in enumerate(columns)
    ]
    for sheet in outcome.house if outcome else ():
        name = visible(sheet.name)
        players.append(PlayerFacts(name, name, None, sheet.rank, sheet.score, ""))
    return tuple(players)


def shown_name(name: str, session: str) -> str:
    """The name of a bot as its owner knows it."""
    if _PLAY_SESSION.fullmatch(session):
        found = _PLAY_BOT.fullmatch(name)
        return found["bot"] if found else name or PERSON
    bot = bot_of(name)
    if bot == name and _MATCH_SESSION.fullmatch(session) and (build := _BUILD.fullmatch(name)):
        return names.build_name(build["bot"], build["label"])
    return bot or "open seat"
