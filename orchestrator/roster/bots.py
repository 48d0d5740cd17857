"""The bots of a roster, and whether they can fill the tables of its format."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from orchestrator.roster.lines import Path
from orchestrator.roster.model import Bot
from orchestrator.roster.reader import MISSING, Reader, spelled
from orchestrator.schedule import Format
from orchestrator.schedule.field import field_problems

MOST_BOTS: Final = 1_000
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
NAME_WORDS: Final = "a letter or digit, then up to 39 of [A-Za-z0-9._-]"
BOT: Final = tuple(part.name for part in fields(Bot))


def read_bots(reader: Reader, data: Mapping[str, Any], bundled: Sequence[str]) -> tuple[Bot, ...] | None:
    """All bots; None if there is no list of bots."""

    def is_list(value: Any) -> bool:
        return isinstance(value, list) and 0 < len(value) <= MOST_BOTS and all(isinstance(bot, dict) for bot in value)

    listed = reader.take(data, (), "bots", MISSING, is_list, f"1 to {MOST_BOTS} tables [[bots]]")
    if listed is None:
        return None
    bots = tuple(_bot(reader, given, ("bots", at), bundled) for at, given in enumerate(listed))
    check_names(reader, "bots", [bot.name for bot in bots])
    return bots


def check_names(reader: Reader, key: str, names: Sequence[str]) -> None:
    """Check that the names in a list of tables are not too similar; an empty one is missing, and known as a problem."""
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        if clash := _clash(name, first, key):
            reader.wrong((key, at, "name"), name, f"another name: {clash}")
        elif name:
            first[name.lower()] = at


def _clash(name: str, others: Mapping[str, int], key: str) -> str:
    """Why a name is too similar to one of the others, which are in lower case; empty if it is not.

    In the arena a bot is called ``name.slot`` and its copy ``name.copy2``, so the bots ``a`` and ``a.1`` could have the same name.
    """
    low = name.lower()
    if low in others:
        return f"{key}[{others[low]}] has this name (upper and lower case are the same)"
    parts = low.split(".")
    for end in range(1, len(parts)):
        if (start := ".".join(parts[:end])) in others:
            return f"it is the name of {key}[{others[start]}], a dot and more, like the names of copies of that bot"
    longer = next((other for other in others if other.startswith(f"{low}.")), None)
    return f"{key}[{others[longer]}] has this name, a dot and more" if longer and low else ""


def _bot(reader: Reader, given: Mapping[str, Any], path: Path, bundled: Sequence[str]) -> Bot:
    reader.unknown(given, path, BOT)
    name = reader.take(
        given,
        path,
        "name",
        MISSING,
        lambda value: isinstance(value, str) and bool(NAME.fullmatch(value)),
        NAME_WORDS,
    )
    kinds = [key for key in ("command", "bundled", "remote") if key in given]
    if len(kinds) != 1:
        has = " and ".join(kinds) or "none of them"
        reader.complain(path, f"{spelled(path)} has {has}; expected exactly one of command, bundled, remote")
    if "remote" in given:
        reader.take(given, path, "remote", False, lambda value: value is True, "true, or command or bundled instead")
    for key in ("env", "cwd", "isolated"):
        if kinds == ["remote"] and key in given:
            reader.complain((*path, key), f"{spelled((*path, key))} has no meaning: a remote bot is not started here")
        elif kinds == ["bundled"] and key in given and key != "isolated":
            reader.complain((*path, key), f"{spelled((*path, key))} has no meaning for a bundled bot")
    return Bot(
        name=name or "",
        command=_command(reader, given, path),
        bundled=reader.one_of(given, path, "bundled", "", bundled),
        remote=given.get("remote") is True,
        env=_env(reader, given, path),
        cwd=reader.word(given, path, "cwd", "", "a folder"),
        isolated=reader.flag(given, path, "isolated"),
        challenger=reader.flag(given, path, "challenger"),
        version=reader.word(given, path, "version", "", "a short text"),
    )


def _command(reader: Reader, given: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    expected = 'a list of texts, such as ["python", "bot.py"]'
    words = reader.take(given, path, "command", [], lambda value: isinstance(value, list) and value != [], expected)
    for at, word in enumerate(words):
        if not isinstance(word, str) or "\0" in word or (at == 0 and not word):
            reader.wrong((*path, "command", at), word, "a program" if at == 0 else "a text")
    return tuple(str(word) for word in words)


def _env(reader: Reader, given: Mapping[str, Any], path: Path) -> Mapping[str, str]:
    env = reader.table(given, path, "env")
    for key, value in env.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            reader.complain((*path, "env", key), f"{spelled((*path, 'env'))} has {key!r}; expected a variable's name")
        elif not isinstance(value, str) or "\0" in value:
            reader.wrong((*path, "env", key), value, "a text")
    return {key: str(value) for key, value in env.items()}


def check_field(reader: Reader, bots: Sequence[Bot], format_: Format, players: int) -> None:
    """Check that these bots can fill the tables of the format."""
    challengers = [at for at, bot in enumerate(bots) if bot.challenger]
    if format_ != "gauntlet":
        for at in challengers:
            reader.complain(
                ("bots", at, "challenger"), f"bots[{at}].challenger has a meaning only with format = 'gauntlet'"
            )
    for problem in field_problems(format_, players, len(bots), len(challengers)):
        if problem.field == "format":
            reader.wrong(("format",), format_, problem.expected)
            continue
        kind = "challenger" if problem.field == "challengers" else "bot"
        reader.complain(
            ("bots",), f"{problem.value} {kind}{'' if problem.value == 1 else 's'}; expected {problem.expected}"
        )


def check_memory(reader: Reader, bots: Sequence[Bot]) -> None:
    """Check that no bot can remember a deal that it plays again in another seat."""
    for at, bot in enumerate(bots):
        if not bot.isolated:
            key = "remote" if bot.remote else "name"
            cure = "another duplicate" if bot.remote else "isolated = true"
            reader.complain(
                ("bots", at, key),
                f"bots[{at}] ({bot.name}) may remember a deal it has played, and duplicate = 'full' deals it again; "
                f"expected {cure}, or trusted = true at the top if all bots are your own",
            )
