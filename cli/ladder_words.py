"""Writes messages of LadderService: as words for people, as JSON for programs. Imports no generated code."""

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from cli.terminal import count_of
from orchestrator.ladder.matchmaking import BUNDLED_ALONE
from orchestrator.report.words import NOTHING, visible

if TYPE_CHECKING:
    from rubble.v1 import ladder_pb2

#: A build is away if it was last connected longer ago than this; the arena records it once a minute.
_AWAY_MS: Final = 120_000
_UNITS: Final = ((60_000, 1000, "s"), (3_600_000, 60_000, "min"), (48 * 3_600_000, 3_600_000, "h"))
_DAY_MS: Final = 24 * 3_600_000


# ------------------------------------------------------------------------------------------------------------------ times
def now_ms() -> int:
    """The time in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def ago(moment_ms: int, now: int | None = None) -> str:
    """``45 s ago``, ``3 h ago``, ``in 2 days``; a local date if it is far away, a dash for 0."""
    if not moment_ms:
        return NOTHING
    passed = (now_ms() if now is None else now) - moment_ms
    length = abs(passed)
    if length >= 60 * _DAY_MS:
        return f"{datetime.fromtimestamp(moment_ms / 1000).astimezone():%Y-%m-%d}"
    unit = next(((size, word) for below, size, word in _UNITS if length < below), (_DAY_MS, "days"))
    words = f"{length // unit[0]} {unit[1]}"
    return f"{words} ago" if passed >= 0 else f"in {words}"


def moment(moment_ms: int) -> str:
    """A local date and time, ``2026-05-03 14:05``; a dash for 0."""
    return f"{datetime.fromtimestamp(moment_ms / 1000).astimezone():%Y-%m-%d %H:%M}" if moment_ms else NOTHING


# ----------------------------------------------------------------------------------------------------- words of the contract
def word(message: Any, field: str) -> str:
    """The word for the value of an enum, such as ``active``; empty if unspecified, ``unknown`` if it is from a newer server."""
    return _enum_word(message.DESCRIPTOR.fields_by_name[field].enum_type, getattr(message, field))


def _enum_word(enum: Any, number: int) -> str:
    if number == 0:
        return ""
    value = enum.values_by_number.get(number)
    if value is None:
        return "unknown"
    prefix = re.sub(r"(?<!^)(?=[A-Z])", "_", enum.name).upper() + "_"
    return str(value.name.removeprefix(prefix).lower())


def plain(message: Any) -> dict[str, Any]:
    """A message as JSON: the fields of the contract, enums as words, absent values as null.

    A time in milliseconds is also given as text in ISO 8601, without ``_ms`` in its name.
    """
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated:
            found[field.name] = [_value(field, entry) for entry in value]
        elif field.has_presence and not message.HasField(field.name):
            found[field.name] = None
        else:
            found[field.name] = _value(field, value)
        if field.name.endswith("at_ms") or field.name == "since_ms":
            found[field.name.removesuffix("_ms")] = (
                datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds") if value else None
            )
    return found


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return plain(value)
    if field.enum_type is not None:
        return _enum_word(field.enum_type, value) or None
    return value


def plain_ladder(ladder: "ladder_pb2.Ladder") -> dict[str, Any]:
    """A ladder as JSON without the text of its file, for lists and streams."""
    return {key: value for key, value in plain(ladder).items() if key != "file"}


# -------------------------------------------------------------------------------------------------------------- sentences
def about(ladder: "ladder_pb2.Ladder") -> str:
    """What is played, by how many, and who may sign up."""
    return f"{visible(ladder.game)}, {count_of(ladder.players, 'seat')}, sign-up {word(ladder, 'signup')}"


def season_words(season: "ladder_pb2.Season") -> str:
    """The state of a season, its games and its pace."""
    state = word(season, "state")
    parts = [f"season {season.number} {state}"]
    if state == "closed":
        parts[0] += f" {ago(season.closed_at_ms)}" if season.closed_at_ms else ""
    parts.append(f"{count_of(season.games, 'game')} in {count_of(season.blocks, 'block')}")
    if state != "closed":
        parts.append(f"{count_of(season.open_matches, 'match', 'matches')} open")
        parts.append(f"{season.games_per_second:.2g} games/s" if season.games_per_second else "– games/s")
    return ", ".join(parts)


def build_counts(season: "ladder_pb2.Season") -> str:
    """``3 active, 1 parked, 3 bundled``; a dash for a season that was followed by another one, since states are those of now."""
    return ", ".join(f"{one.count:,} {word(one, 'state')}" for one in season.builds if one.count) or NOTHING


def builds_words(season: "ladder_pb2.Season") -> str:
    """``builds: 3 bundled``, and why few games are played if there are no others that could play."""
    is_slow = season.blocks >= BUNDLED_ALONE and word(season, "state") in ("open", "closing")
    others = sum(one.count for one in season.builds if word(one, "state") in ("active", "qualifying", "returning"))
    alone = "; bundled bots alone play slowly on purpose" if is_slow and not others else ""
    return f"builds: {build_counts(season)}{alone}"


def is_away(state: str, seen_at_ms: int) -> bool:
    """Whether a build that could play is not connected."""
    return state not in ("bundled", "retired", "entered") and now_ms() - seen_at_ms > _AWAY_MS


def presence(state: str, seen_at_ms: int) -> list[str]:
    """What a table says about the state of a build: nothing if it plays as usual."""
    found = [] if state in ("active", "bundled") else [state]
    if is_away(state, seen_at_ms):
        found.append(f"last seen {ago(seen_at_ms)}" if seen_at_ms else "never seen")
    return found


def event_words(event: "ladder_pb2.LadderEvent") -> str:
    """What happened; the sentence names the build, or it is put before."""
    words = visible(event.words) or word(event, "kind")
    about_what = visible(event.build or event.owner)
    return words if not about_what or about_what in words else f"{about_what}: {words}"
