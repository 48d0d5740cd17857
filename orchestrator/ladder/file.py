"""The file of a ladder: one TOML file that says what is played and who may enter. ``docs/ladder.md`` is its manual.

It is read as a roster is: as a whole, and every problem in it is reported with its line. Pure: the time is passed in.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from orchestrator.ladder.names import BOT, BOT_WORDS, LADDER, LADDER_WORDS
from orchestrator.ladder.spec import (
    DEFAULT_FINALS_BUILDS,
    DEFAULT_FINALS_DEALS,
    DEFAULT_QUALIFICATION_GAMES,
    BundledBuild,
    LadderSpec,
    Quotas,
    finals_matches,
)
from orchestrator.roster import BUNDLED, BadFile, GameFacts
from orchestrator.roster.bots import check_names
from orchestrator.roster.game import read_game, read_match_seconds, read_options, read_time_control
from orchestrator.roster.lines import Path
from orchestrator.roster.reader import MISSING, Reader, is_int, read_document, spelled

TOP: Final = (
    "name", "game", "players", "options", "time_control", "match_seconds", "signup", "qualification_games", "bundled",
    "quotas", "season", "finals",
)  # fmt: skip
BUNDLED_BOT: Final = BundledBuild.__struct_fields__
SEASON: Final = ("closing", "finals")
FINALS: Final = ("builds", "deals")
SIGNUPS: Final = ("open", "invite", "closed")
#: From and to. With fewer than two builds none could be compared with its parent.
QUOTAS: Final[Mapping[str, tuple[int, int]]] = {
    "builds": (2, 100),
    "entries_a_day": (1, 1_000),
    "challenges_a_day": (0, 10_000),
    "signups_a_day": (1, 100_000),
}
MOST_QUALIFICATION_GAMES: Final = 100
MOST_BUNDLED: Final = 20
#: Bundled bots of so many strengths hold the scale.
LEAST_STRENGTHS: Final = 3
MOST_SIMULATIONS: Final = 10_000
MOST_FINALISTS: Final = 100
MOST_FINALS_DEALS: Final = 10_000
MOST_FINALS_MATCHES: Final = 100_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class BadLadder(BadFile):
    """The file of a ladder that cannot be used."""


def read_ladder(text: str, games: Iterable[GameFacts], *, file: str = "ladder.toml", now_ms: int) -> LadderSpec:
    """Read the text of a ladder file. Raises BadLadder with every problem in the order of the lines."""
    known = {game.id: game for game in games}
    return read_document(text, file, BadLadder, lambda reader, data: _read(reader, data, known, now_ms))


def default_bundled(players: int) -> tuple[BundledBuild, ...]:
    """The bundled bots of a ladder that names none: at least three strengths, and one bot for each seat."""
    searching = tuple(BundledBuild(f"mcts-{count}", "mcts", count) for count in (8, 2, 4, 16, 32, 64))
    strengths = (BundledBuild("random", "random"), BundledBuild("greedy", "greedy"), *searching)
    return strengths[: max(LEAST_STRENGTHS, players)]


def _read(reader: Reader, data: Mapping[str, Any], games: Mapping[str, GameFacts], now_ms: int) -> LadderSpec | None:
    reader.unknown(data, (), TOP)
    name = reader.take(
        data,
        (),
        "name",
        MISSING,
        lambda value: isinstance(value, str) and bool(LADDER.fullmatch(value)),
        LADDER_WORDS,
    )
    game = read_game(reader, data, games)
    players = _players(reader, data, game)
    options = read_options(reader, data, game, players)
    control = read_time_control(reader, data)
    match_seconds = read_match_seconds(reader, data, (), control, players)
    signup = reader.one_of(data, (), "signup", "open", SIGNUPS)
    qualification_games = reader.number(
        data, (), "qualification_games", DEFAULT_QUALIFICATION_GAMES, 1, MOST_QUALIFICATION_GAMES
    )
    bundled = _bundled(reader, data, players)
    quotas = _quotas(reader, data)
    closing_ms, finals_ms = _season(reader, data, now_ms)
    finals_builds, finals_deals = _finals(reader, data, players)
    if reader.problems or game is None or players is None:
        return None
    return LadderSpec(
        name=name,
        game=game.id,
        game_version=game.version,
        options=options,
        players=players,
        time_control=control,
        match_seconds=float(match_seconds),
        signup=signup,
        qualification_games=qualification_games,
        bundled=bundled,
        quotas=quotas,
        closing_ms=closing_ms,
        finals_ms=finals_ms,
        finals_builds=finals_builds,
        finals_deals=finals_deals,
    )


def _players(reader: Reader, data: Mapping[str, Any], game: GameFacts | None) -> int | None:
    """Seats at a table; None if the number is not possible."""
    least, most = game.seats if game is not None else (2, 4)
    low = max(2, least)
    if game is not None and most < low:
        reader.wrong(("game",), game.id, "a game for two or more: a ladder compares builds that play each other")
        return None
    why = ": a ladder compares builds that play each other" if least < low else ""
    players: int | None = reader.take(
        data,
        (),
        "players",
        MISSING,
        lambda value: is_int(value) and low <= value <= most,
        f"a whole number from {low} to {most}{why}",
    )
    return players


def _bundled(reader: Reader, data: Mapping[str, Any], players: int | None) -> tuple[BundledBuild, ...]:
    """The bundled bots: enough for a table of them alone, and of enough strengths to hold the scale."""

    def is_list(value: Any) -> bool:
        return isinstance(value, list) and len(value) <= MOST_BUNDLED and all(isinstance(bot, dict) for bot in value)

    seats = players or 0
    if "bundled" in data:
        listed = reader.take(data, (), "bundled", None, is_list, f"at most {MOST_BUNDLED} tables [[bundled]]")
        if listed is None:
            return ()
        bots = tuple(_bundled_bot(reader, given, ("bundled", at)) for at, given in enumerate(listed))
        check_names(reader, "bundled", [bot.name for bot in bots])
    else:
        bots = default_bundled(seats)
    if len(bots) < seats:
        reader.complain(
            ("bundled",),
            f"{len(bots)} bundled bot{'' if len(bots) == 1 else 's'}; expected at least {seats}, one for each seat, "
            "so that every build finds a table at any time",
        )
        return bots
    strengths = len({(bot.bundled, bot.simulations) for bot in bots})
    if strengths < LEAST_STRENGTHS and not any(problem.key.startswith("bundled[") for problem in reader.problems):
        reader.complain(
            ("bundled",),
            f"bundled bots of {strengths} strength{'' if strengths == 1 else 's'}; expected at least {LEAST_STRENGTHS}, "
            "to which the others are compared: other players, or mcts with other simulations",
        )
    return bots


def _bundled_bot(reader: Reader, given: Mapping[str, Any], path: Path) -> BundledBuild:
    reader.unknown(given, path, BUNDLED_BOT)
    name = reader.take(
        given,
        path,
        "name",
        MISSING,
        lambda value: isinstance(value, str) and bool(BOT.fullmatch(value)),
        BOT_WORDS,
    )
    player = reader.one_of(given, path, "bundled", MISSING, BUNDLED)
    simulations = None
    if player == "mcts":
        simulations = reader.take(
            given,
            path,
            "simulations",
            MISSING,
            lambda value: is_int(value) and 1 <= value <= MOST_SIMULATIONS,
            f"a whole number from 1 to {MOST_SIMULATIONS}: without it the strength of mcts would depend on how fast this "
            "machine is, and the strength of bundled bots must stay the same",
        )
    elif player is not None and "simulations" in given:
        at = (*path, "simulations")
        reader.complain(at, f"{spelled(at)} has no meaning for {player}; only mcts has simulations")
    return BundledBuild(name or "", player or "", simulations)


def _quotas(reader: Reader, data: Mapping[str, Any]) -> Quotas:
    given = reader.table(data, (), "quotas")
    reader.unknown(given, ("quotas",), tuple(QUOTAS))
    default = Quotas()
    return Quotas(
        **{
            key: reader.number(given, ("quotas",), key, getattr(default, key), low, high)
            for key, (low, high) in QUOTAS.items()
        }
    )


def _season(reader: Reader, data: Mapping[str, Any], now_ms: int) -> tuple[int | None, int | None]:
    """When the season stops taking builds, and when its finals begin."""
    given = reader.table(data, (), "season")
    reader.unknown(given, ("season",), SEASON)
    closing_ms, finals_ms = (_time_ms(reader, given, key, now_ms) for key in SEASON)
    if "finals" in given and "closing" not in given:
        reader.complain(
            ("season", "finals"),
            "season.finals without season.closing; expected both: the season stops taking builds before its finals",
        )
    if closing_ms is not None and finals_ms is not None and finals_ms <= closing_ms:
        reader.wrong(("season", "finals"), given["finals"], f"a time after season.closing, {given['closing']}")
    return closing_ms, finals_ms


def _time_ms(reader: Reader, given: Mapping[str, Any], key: str, now_ms: int) -> int | None:
    """A time in the future in Unix milliseconds; None if there is none, or it is not valid."""
    path = ("season", key)
    time: datetime | None = reader.take(
        given,
        ("season",),
        key,
        None,
        lambda value: isinstance(value, datetime),
        "a date, a time and its offset from UTC, without quotes, such as 2030-06-30T18:00:00Z",
    )
    if time is None:
        return None
    if time.tzinfo is None:
        expected = f"its offset from UTC too, such as {time.isoformat()}Z, or +02:00 instead of Z"
        reader.wrong(path, time, f"{expected}: a time without offset is another one on each machine")
        return None
    time_ms = (time - _EPOCH) // timedelta(milliseconds=1)
    if time_ms <= now_ms:
        now = _EPOCH + timedelta(milliseconds=now_ms)
        reader.wrong(path, time, f"a time in the future; now it is {now.isoformat(timespec='seconds')}")
        return None
    return time_ms


def _finals(reader: Reader, data: Mapping[str, Any], players: int | None) -> tuple[int, int]:
    """The number of builds in the finals, and of deals for each of their tables."""
    given = reader.table(data, (), "finals")
    reader.unknown(given, ("finals",), FINALS)
    seats = players or 2
    default = max(seats, DEFAULT_FINALS_BUILDS)
    builds = reader.number(given, ("finals",), "builds", default, seats, MOST_FINALISTS)
    deals = reader.number(given, ("finals",), "deals", DEFAULT_FINALS_DEALS, 1, MOST_FINALS_DEALS)
    matches = finals_matches(builds, seats, deals)
    is_good = given.get("builds", builds) == builds and given.get("deals", deals) == deals
    if players is not None and is_good and matches > MOST_FINALS_MATCHES:
        key, value = ("builds", builds) if "builds" in given else ("deals", deals)
        reader.wrong(
            ("finals", key),
            value,
            f"fewer builds or deals: {builds} builds with {players} at a table and {deals} deals for each table are "
            f"{matches:,} matches, and finals have at most {MOST_FINALS_MATCHES:,}",
        )
    return builds, deals


# -------------------------------------------------------------------------------------------------------- a new ladder
def default_ladder(
    name: str = "bundled",
    *,
    game: str = "sf1906-2e",
    title: str = "1906 San Francisco, second edition",
    players: int = 3,
    options: str = "",
) -> str:
    """The text of a commented ladder file that plays at once. ``options`` has the lines of the game's options."""
    bots = []
    for bot in default_bundled(players):
        simulations = "" if bot.simulations is None else f"simulations = {bot.simulations}\n"
        bots.append(f'[[bundled]]\nname = "{bot.name}"\nbundled = "{bot.bundled}"\n{simulations}')
    return _DEFAULT.format(
        name=name,
        game=game,
        title=title,
        players=players,
        options=options or "# `rubble games` lists the options of a game and their defaults.",
        bundled="\n".join(bots),
        quotas=Quotas(),
        finals_builds=max(players, DEFAULT_FINALS_BUILDS),
        finals_deals=DEFAULT_FINALS_DEALS,
        qualification_games=DEFAULT_QUALIFICATION_GAMES,
    )


_DEFAULT: Final = """\
# A ladder of {title}: a tournament that never ends, and rates every build of every bot.
# Lines that begin with # are examples or defaults. docs/ladder.md explains every key.

name = "{name}"
game = "{game}"
players = {players}                # at one table
signup = "open"            # anybody may sign up; "invite": with an invitation of the operator; "closed": nobody
qualification_games = {qualification_games}    # unrated games that a new build plays without a fault before its games are rated
# match_seconds = 3600     # a match that lasts longer is lost by the seat that used the most time

[options]                  # of the game
{options}

[time_control]             # quick, for bots
move_ms = 2000             # for each answer
bank_ms = 60000            # a reserve for the whole game, for answers that take longer
increment_ms = 0           # added to the reserve after each answer
seating_ms = 15000         # to take the seat before the first move

[quotas]                   # beyond these limits an owner has to wait
builds = {quotas.builds}                 # of one owner, without retired ones
entries_a_day = {quotas.entries_a_day}         # new builds of one owner
challenges_a_day = {quotas.challenges_a_day}      # of one owner, who asks for unrated games
signups_a_day = {quotas.signups_a_day}        # new owners of the whole ladder

[season]                   # without these times the operator moves the season on
# closing = 2030-06-23T18:00:00Z           # no new builds from then on; Z or +02:00 is the offset from UTC
# finals = 2030-06-30T18:00:00+02:00       # the finals begin

[finals]                   # every choice of builds for a table plays the same number of deals
builds = {finals_builds}                 # the best ones, at most one of each owner
deals = {finals_deals}                 # for each table, each played from every seat

# Bundled bots are always there: they fill tables, and the others are compared to them. There must be one for each
# seat at least, and three strengths. A strength never changes, so mcts has a fixed number of simulations for each
# answer: with more it is stronger and slower.

{bundled}"""
