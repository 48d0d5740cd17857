"""``rubble bot new``: copies a starter out of the repository, and writes a roster for its first games."""

import fnmatch
import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from service.games.core import BadSetup

ROOT: Final = Path(__file__).parents[1]
#: Build products that are never copied, whatever the starter's own .gitignore says.
_PRODUCTS: Final = (
    "__pycache__",
    "*.pyc",
    ".venv",
    ".gen",
    "node_modules",
    "*.egg-info",
    ".mypy_cache",
    ".pytest_cache",
)
#: Folders of a starter that are separate bots, or only for work on the starter itself.
_OTHERS: Final = {"python": ("text_bot",)}
_NAME: Final = "[A-Za-z][A-Za-z0-9_-]{0,39}"  # as long as a roster allows


def languages() -> list[str]:
    """List the languages that have a starter: folders of bots/ with the scripts ``build`` and ``run``."""
    return sorted(folder.name for folder in (ROOT / "bots").glob("*") if is_starter(folder))


def is_starter(folder: Path) -> bool:
    return (folder / "build").is_file() and (folder / "run").is_file()


def new(language: str, name: str, to: Path) -> Path:
    """Copy the starter of a language into a new folder below ``to``; raises BadSetup if that is not possible."""
    known = languages()
    if not known:
        raise BadSetup(
            "LANGUAGE", language, f"a clone of the repository around this program; there are no starters in {ROOT}"
        )
    if language not in known:
        raise BadSetup("LANGUAGE", language, "one of " + ", ".join(known))
    if not re.fullmatch(_NAME, name):
        raise BadSetup("NAME", name, "a letter, then up to 39 letters, digits, dashes and underscores")
    target = to / name
    if target.exists() or target.is_symlink():
        raise BadSetup("NAME", name, f"a folder that does not exist yet; {target} does")
    source = ROOT / "bots" / language
    try:
        to.mkdir(parents=True, exist_ok=True)
        ignore = _ignoring(source, (*_PRODUCTS, *_OTHERS.get(language, ())))
        shutil.copytree(source, target, ignore=ignore)
        shutil.copytree(ROOT / "protos" / "rubble", target / "protos" / "rubble")
        _rename(target, name)
        (target / "roster.toml").write_text(_first_roster(name), encoding="utf-8")
    except OSError as error:
        raise BadSetup("--to", str(to), f"a folder that can be written ({error.strerror})") from None
    return target


def _first_roster(name: str) -> str:
    """Return a roster with which the new bot can play at once."""
    rival = "random" if name == "greedy" else "greedy"  # entrants have different names
    return f"""\
# {name} against a bundled bot. In this folder, after ./build: rubble run roster.toml
name = "{name}"
game = "relief"
players = 2
deals = 2

[[bots]]
name = "{name}"
command = ["./run"]

[[bots]]
name = "{rival}"
bundled = "{rival}"
"""


def _ignoring(source: Path, products: Iterable[str]) -> "_Ignore":
    """Leave out build products, as listed here and in the starter's own .gitignore."""
    ignored = source / ".gitignore"
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored.is_file() else []
    own = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return _Ignore(source, tuple(products), tuple(own))


class _Ignore:
    """Tells shutil.copytree which names of a folder to leave out."""

    def __init__(self, source: Path, everywhere: tuple[str, ...], own: tuple[str, ...]) -> None:
        self._source = source
        self._everywhere = everywhere
        self._own = own

    def __call__(self, folder: str, names: list[str]) -> set[str]:
        return {name for name in names if self._is_left_out(Path(folder) / name)}

    def _is_left_out(self, path: Path) -> bool:
        if any(fnmatch.fnmatchcase(path.name, pattern) for pattern in self._everywhere):
            return True
        return any(self._matches(path, pattern) for pattern in self._own)

    def _matches(self, path: Path, pattern: str) -> bool:
        """Match the small part of .gitignore that starters use: names, paths from the top, a slash after folders."""
        if pattern.endswith("/") and not path.is_dir():
            return False
        plain = pattern.rstrip("/")
        if "/" in plain:
            return fnmatch.fnmatchcase(path.relative_to(self._source).as_posix(), plain.removeprefix("/"))
        return fnmatch.fnmatchcase(path.name, plain)


def _rename(folder: Path, name: str) -> None:
    """Write the bot's name into its README and its npm package."""
    page = folder / "README.md"
    if page.is_file():
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"\A# A bot in", f"# {name}: a bot in", text), encoding="utf-8")
    package = folder / "package.json"
    if package.is_file():
        old = json.loads(package.read_text(encoding="utf-8"))["name"]
        for file in (package, folder / "package-lock.json"):
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                # npm allows lower-case letters only
                file.write_text(text.replace(f'"name": "{old}"', f'"name": "{name.lower()}"'), encoding="utf-8")
