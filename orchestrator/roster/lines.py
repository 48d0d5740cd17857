"""Finds the line of each key in a TOML text, so that an error can name it."""

import re
import tomllib
from typing import Final

#: From the root to a value: keys, and positions in lists.
Path = tuple[str | int, ...]

_SPACE: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR: Final = re.compile(r"[^,\]}#\n]*")
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, of every key and list entry of a text that ``tomllib`` has accepted."""
    return _Scanner(text).lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._counted = (0, 1)  # (position, number of lines up to it)
        self._lists: dict[Path, int] = {}
        self.lines: dict[Path, int] = {(): 1}
        self._document()

    def _document(self) -> None:
        table: Path = ()
        while self._next():
            line = self._line()
            if self._take("[["):
                keys = self._keys()
                self._take("]]")
                *above, last = keys
                base = (*self._resolve((), above), last)
                self._lists[base] = self._lists.get(base, 0) + 1
                table = (*base, self._lists[base] - 1)
                self._mark(base, line)
                self._mark(table, line)
            elif self._take("["):
                table = self._resolve((), self._keys())
                self._take("]")
                self._mark(table, line)
            else:
                self._pair(table)

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._mark(path, line)
        self._take("=")
        self._value(path)

    def _keys(self) -> list[str]:
        """A dotted key."""
        keys = []
        while True:
            self._next()
            if string := _STRING.match(self._text, self._at):
                keys.append(_unquoted(string[0]))
                self._at = string.end()
            elif bare := _BARE.match(self._text, self._at):
                keys.append(bare[0])
                self._at = bare.end()
            if not self._take("."):
                return keys

    def _value(self, path: Path) -> None:
        self._next()
        if string := _STRING.match(self._text, self._at):
            self._at = string.end()
        elif self._take("["):
            place = 0
            while not self._take("]") and self._next():
                self._mark((*path, place), self._line())
                self._value((*path, place))
                self._take(",")
                place += 1
        elif self._take("{"):
            while not self._take("}") and self._next():
                self._pair(path)
                self._take(",")
        else:
            scalar = _SCALAR.match(self._text, self._at)
            self._at = max(self._at + 1, scalar.end() if scalar else 0)

    def _resolve(self, path: Path, keys: list[str]) -> Path:
        """Resolve a header's keys; a key that names a list of tables means its last table."""
        for key in keys:
            path = (*path, key)
            if path in self._lists:
                path = (*path, self._lists[path] - 1)
        return path

    def _mark(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)

    def _next(self) -> bool:
        """Skip to the next token; False if there is none."""
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at
        return self._at < len(self._text)

    def _take(self, mark: str) -> bool:
        self._next()
        if self._text.startswith(mark, self._at):
            self._at += len(mark)
            return True
        return False

    def _line(self) -> int:
        at, line = self._counted
        self._counted = (self._at, line + self._text.count("\n", at, self._at))
        return self._counted[1]


def _unquoted(key: str) -> str:
    """The key that a quoted text means."""
    return next(iter(tomllib.loads(f"{key} = 0")))
