"""``rubble bot list``: the bots that come with Rubble, how strong they are, and how to enter them in a roster."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bots.bundled import PLAYERS
from cli.bot_new import ROOT, languages
from service import games

#: By language: what must be on the PATH to build its starter.
_TOOLS: Final = {
    "cpp": ("cmake", "c++", "protoc", "grpc_cpp_plugin"),
    "go": ("go",),
    "java": ("javac", "mvn"),
    "python": ("python3",),
    "rust": ("cargo",),
    "typescript": ("node", "npm"),
}
_STRENGTH: Final = {"random": "none", "greedy": "fair", "mcts": "strong"}


@dataclass(frozen=True)
class Listed:
    """One bot of the list."""

    name: str
    language: str
    #: One word; bots/README.md has the measurements.
    strength: str
    games: tuple[str, ...]
    #: The line of a roster that enters it.
    roster: str
    #: What to do or install before it can play; may be empty.
    needs: str = ""


def bots() -> list[Listed]:
    """Return every bot that comes with Rubble."""
    every = tuple(games.all_games())
    found = [Listed(name, "python", _STRENGTH.get(name, "?"), every, f'bundled = "{name}"') for name in PLAYERS]
    for language in languages():
        command = f'command = ["{_path("bots", language, "run")}"]'
        found.append(Listed(f"{language} starter", language, "rule of thumb", every, command, needs(language)))
    search = ROOT / "bots" / "go" / "cmd" / "search"
    if search.is_dir():
        command = f'command = ["{_path("bots", "go", "bin", "search")}"]'
        found.append(Listed("search", "go", "strong", every, command, needs("go")))
    return found


def needs(language: str) -> str:
    """Say what is missing to build a bot in a language, or which script builds it."""
    missing = [tool for tool in _TOOLS.get(language, ()) if shutil.which(tool) is None]
    return f"not on the PATH: {', '.join(missing)}" if missing else f"bots/{language}/build"


def games_in_words(bot: Listed) -> str:
    """Return the ids of the bot's games, or "all"."""
    return "all" if bot.games == tuple(games.all_games()) else " ".join(bot.games)


def _path(*parts: str) -> str:
    """Return the shortest path to a file of the repository from the current folder."""
    path = ROOT.joinpath(*parts)
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)
