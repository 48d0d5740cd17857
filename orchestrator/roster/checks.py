"""Checks the keys of a roster one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from orchestrator.roster.bots import NAME, NAME_WORDS, check_field, check_memory, read_bots
from orchestrator.roster.facts import GameFacts, OptionFacts, OptionValue
from orchestrator.roster.lines import Path
from orchestrator.roster.model import Bot, Limits, Roster, Sequential, TimeControl
from orchestrator.roster.reader import MISSING, Reader
from orchestrator.schedule import DUPLICATES, FORMATS, MOST_MATCHES, Duplicate, Format

HOUR_MS: Final = 3_600_000
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
    game_id = reader.one_of(data, (), "game", MISSING, list(games))
    game = games.get(game_id) if isinstance(game_id, str) else None
    low, high = game.seats if game is not None else (1, 4)
    players = reader.number(data, (), "players", MISSING, low, high)
    options = _options(reader, reader.table(data, (), "options"), game, players)
    format_: Format = reader.one_of(data, (), "format", "round_robin", FORMATS)
    is_format_good = data.get("format", "round_robin") == format_
    deals, budget = _size(reader, data, format_)
    sequential = _sequential(reader, data, format_)
    rotations = reader.one_of(data, (), "rotations", "all", ROTATIONS)
    if rotations == "one" and (format_ == "compare" or players == 1):
        why = "a comparison plays every rotation" if format_ == "compare" else "there is one seat only"
        reader.wrong(("rotations",), rotations, f"'all': {why}")
    trusted = reader.flag(data, (), "trusted")
    control = _time_control(reader, reader.table(data, (), "time_control"))
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


def _options(
    reader: Reader, given: Mapping[str, Any], game: GameFacts | None, players: int | None
) -> Mapping[str, OptionValue]:
    """All options of the game: the given ones, checked, and defaults for the rest."""
    if game is None:
        return {}
    reader.unknown(given, ("options",), [option.name for option in game.options])
    complete: dict[str, OptionValue] = {}
    for option in game.options:
        complete[option.name] = value = _option(reader, given, option)
        if option.seats and players is not None and players not in option.seats and value != option.default:
            counts = " or ".join(str(count) for count in option.seats)
            expected = f"{option.default!r}: it only matters with {counts} at the table"
            reader.wrong(("options", option.name), value, expected)
    return complete


def _option(reader: Reader, given: Mapping[str, Any], option: OptionFacts) -> OptionValue:
    value: OptionValue
    if option.range is not None:
        value = reader.number(given, ("options",), option.name, option.default, *option.range)
    else:
        expected = "one of " + ", ".join(repr(choice) for choice in option.choices)

        def is_good(value: Any) -> bool:
            return any(value == choice and type(value) is type(choice) for choice in option.choices)

        value = reader.take(given, ("options",), option.name, option.default, is_good, expected)
    return value


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


def _time_control(reader: Reader, given: Mapping[str, Any]) -> TimeControl:
    names = [part.name for part in fields(TimeControl)]
    path: Path = ("time_control",)
    reader.unknown(given, path, names)
    default = TimeControl()
    control = TimeControl(*(reader.number(given, path, key, getattr(default, key), 0, HOUR_MS) for key in names))
    if control.move_ms + control.bank_ms == 0:
        reader.complain(path, "time_control leaves no time at all; expected move_ms or bank_ms above 0")
    return control


def _limits(reader: Reader, given: Mapping[str, Any], control: TimeControl, players: int | None) -> Limits:
    names = [part.name for part in fields(Limits)]
    reader.unknown(given, ("limits",), names)
    longest = -(-control.longest_ms(players or 1) // 1000)
    default = Limits()
    default = replace(default, match_seconds=max(default.match_seconds, longest))
    numbers = {
        key: reader.number(given, ("limits",), key, getattr(default, key), 1, 10**9)
        for key in names
        if key not in ("unconfined", "readable")
    }
    least = -(-control.shortest_ms // 1000)
    if numbers["match_seconds"] < least:
        reader.wrong(
            ("limits", "match_seconds"),
            numbers["match_seconds"],
            f"at least {least}: by time_control one seat may take that long until its first answer "
            "(seating_ms + bank_ms + move_ms)",
        )
    reason = reader.take(given, ("limits",), "unconfined", None, _is_reason, "a reason: a text of 1 to 200 characters")
    readable = reader.take(given, ("limits",), "readable", (), _are_paths, "a list of absolute paths")
    return Limits(**numbers, unconfined=reason, readable=tuple(readable))


def _are_paths(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(path, str) and path.startswith("/") for path in value)


def _is_reason(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= 200 and value.isprintable()
