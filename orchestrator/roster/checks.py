"""Checks the keys of a roster one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from orchestrator.roster.bots import NAME, NAME_WORDS, check_field, check_memory, read_bots
from orchestrator.roster.facts import GameFacts
from orchestrator.roster.game import LARGEST_LIMIT, read_game, read_match_seconds, read_options, read_time_control
from orchestrator.roster.model import Bot, Limits, Roster, Sequential, TimeControl
from orchestrator.roster.reader import MISSING, Reader
from orchestrator.schedule import DUPLICATES, FORMATS, MOST_MATCHES, Duplicate, Format

LARGEST_SEED: Final = 2**63 - 1
MOST_DEALS: Final = 1_000_000
DEFAULT_MAX_BLOCKS: Final = 5_000
ROTATIONS: Final = ("all", "one")

TOP: Final = (
    "name", "game", "players", "options", "format", "deals", "budget", "seed", "reproducible", "duplicate", "rotations", "trusted",
    "time_control", "limits", "alpha", "beta", "effect", "max_blocks", "bots",
)  # fmt: skip
_COMPARE_ONLY: Final = ("alpha", "beta", "effect", "max_blocks")


def read(
    reader: Reader, data: Mapping[str, Any], games: Mapping[str, GameFacts], bundled: Sequence[str], text: str
) -> Roster | None:
    """Make the roster from the data of a file; None if there are problems, which the reader then has."""
    reader.unknown(data, (), TOP)
    name = reader.take(
        data,
        (),
        "name",
        "tournament",
        lambda value: isinstance(value, str) and bool(NAME.fullmatch(value)),
        NAME_WORDS,
    )
    game = read_game(reader, data, games)
    low, high = game.seats if game is not None else (1, 4)
    players = reader.number(data, (), "players", MISSING, low, high)
    options = read_options(reader, data, game, players)
    format_: Format = reader.one_of(data, (), "format", "round_robin", FORMATS)
    is_format_good = data.get("format", "round_robin") == format_
    deals, budget = _size(reader, data, format_)
    sequential = _sequential(reader, data, format_)
    rotations = reader.one_of(data, (), "rotations", "all", ROTATIONS)
    if rotations == "one" and (format_ == "compare" or players == 1):
        why = "a comparison plays every rotation" if format_ == "compare" else "there is one seat only"
        reader.wrong(("rotations",), rotations, f"'all': {why}")
    trusted = reader.flag(data, (), "trusted")
    control = read_time_control(reader, data)
    limits = _limits(reader, reader.table(data, (), "limits"), control, players)
    seed = reader.number(data, (), "seed", None, 0, LARGEST_SEED)
    reproducible = reader.flag(data, (), "reproducible")
    if reproducible and "seed" not in data:
        reader.complain(("reproducible",), "reproducible = true without a seed; expected the seed that repeats the run")
    bots = read_bots(reader, data, bundled)
    default: Duplicate = "full" if players == 1 and (trusted or _forget(bots or ())) else "table"
    duplicate: Duplicate = reader.one_of(data, (), "duplicate", default, DUPLICATES)
    if bots is not None and is_format_good and isinstance(players, int):
        check_field(reader, bots, format_, players)
    if bots is not None and duplicate == "full" and not trusted and players != 1:
        check_memory(reader, bots)
    if reader.problems or game is None or bots is None:
        return None
    return Roster(
        name=name,
        game=game.id,
        game_version=game.version,
        options=options,
        players=players,
        format=format_,
        deals=deals,
        budget=budget,
        seed=seed,
        time_control=control,
        duplicate=duplicate,
        rotations=rotations,
        trusted=trusted,
        limits=limits,
        sequential=sequential,
        bots=bots,
        text=text,
        reproducible=reproducible,
    )


def _forget(bots: Sequence[Bot]) -> bool:
    """Whether no bot can tell another what it was dealt: each is bundled, or restarted for every game."""
    return all(bot.bundled or bot.isolated for bot in bots)


def _size(reader: Reader, data: Mapping[str, Any], format_: Format) -> tuple[int | None, int | None]:
    """(deals, budget), of which one is None."""
    if format_ == "compare":
        for key in ("deals", "budget"):
            if key in data:
                reader.complain((key,), f"{key} has no meaning in a comparison, which stops by itself; use max_blocks")
        return reader.number(data, (), "max_blocks", DEFAULT_MAX_BLOCKS, 1, MOST_DEALS), None
    if "deals" in data and "budget" in data:
        reader.complain(("budget",), "both budget and deals are given; expected only one of them")
    deals = reader.number(data, (), "deals", None, 1, MOST_DEALS)
    budget = reader.number(data, (), "budget", None, 1, MOST_MATCHES)
    if "deals" not in data and "budget" not in data:
        reader.complain(("deals",), "deals is missing; expected deals (per table) or budget (matches in all)")
    return deals, budget


def _sequential(reader: Reader, data: Mapping[str, Any], format_: Format) -> Sequential | None:
    if format_ != "compare":
        for key in _COMPARE_ONLY:
            if key in data:
                reader.complain((key,), f"{key} has a meaning only with format = 'compare'")
        return None
    default = Sequential()
    effect = reader.table(data, (), "effect")
    reader.unknown(effect, ("effect",), ("t0", "t1"))
    t0 = reader.real(effect, ("effect",), "t0", default.t0, -10, 10)
    t1 = reader.real(effect, ("effect",), "t1", default.t1, -10, 10)
    if t1 <= t0:
        reader.wrong(("effect", "t1" if "t1" in effect else "t0"), t1 if "t1" in effect else t0, "t0 below t1")
    return Sequential(
        reader.real(data, (), "alpha", default.alpha, 0, 0.5),
        reader.real(data, (), "beta", default.beta, 0, 0.5),
        t0,
        t1,
    )


def _limits(reader: Reader, given: Mapping[str, Any], control: TimeControl, players: int | None) -> Limits:
    names = [part.name for part in fields(Limits)]
    reader.unknown(given, ("limits",), names)
    default = Limits()
    numbers = {
        key: reader.number(given, ("limits",), key, getattr(default, key), 1, LARGEST_LIMIT)
        for key in names
        if key not in ("unconfined", "readable", "match_seconds")
    }
    match_seconds = read_match_seconds(reader, given, ("limits",), control, players)
    reason = reader.take(given, ("limits",), "unconfined", None, _is_reason, "a reason: a text of 1 to 200 characters")
    readable = reader.take(given, ("limits",), "readable", (), _are_paths, "a list of absolute paths")
    return Limits(**numbers, match_seconds=match_seconds, unconfined=reason, readable=tuple(readable))


def _are_paths(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(path, str) and path.startswith("/") for path in value)


def _is_reason(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= 200 and value.isprintable()
