"""Golden games: every state hash, legal action and choice of a game as lines of JSON, to compare other engines with.

docs/vectors.md says how to compute each value. Nothing here depends on how this engine stores its states.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from service import games
from service.games.chance import SEED_BYTES, Seeds
from service.games.core import AnyGame, BadSetup, Options, Outcome, Refused, Unreadable, plain
from service.games.playing import Player, player_draws

FORMAT: Final = 2
Line = dict[str, Any]
_HEADER: Final = ("kind", "format", "game", "version", "seats", "options", "table_seed", "deck_seed")
#: Characters of a differing value that are shown.
_SHOWN: Final = 120


class Different(Exception):
    """The first difference: its line, its ply, and what was expected."""

    def __init__(self, line: int, ply: int | None, message: str) -> None:
        place = f"line {line}" + ("" if ply is None else f", ply {ply}")
        super().__init__(f"{place}: {message}")
        self.line = line
        self.ply = ply
        self.message = message


def canonical(value: Any) -> str:
    """Write a value as canonical JSON: keys sorted, no spaces, no escaped letters."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def views(game: AnyGame, state: Any, seats: int) -> Line:
    """Return what each seat and a spectator see of a state."""
    return {
        "seats": [plain(game.view(state, seat)) for seat in range(seats)],
        "spectator": plain(game.view(state, None)),
    }


def state_hash(seen: Line) -> str:
    """Return the hash of a state: BLAKE2b of all its views."""
    return blake2b(canonical(seen).encode(), digest_size=32).hexdigest()


def write(
    game: AnyGame,
    seats: int,
    options: Options,
    seeds: Seeds,
    players: Sequence[Player],
    number: int,
    index: int,
    *,
    full: bool,
) -> Iterator[Line]:
    """Play one game with built-in players and yield all its lines; ``full`` writes the views out."""
    state = game.new(seats, options, seeds)
    yield _header(game, seats, options, seeds)
    draws_by_seat = player_draws(number, index, seats)
    ply = 0
    while acting := game.to_act(state):
        seat = acting[0]
        line = _position(game, state, seats, ply, full=full)
        action = players[seat](state, seat, draws_by_seat[seat])
        yield line | {"seat": seat, "legal": _legal(game, state, seat), "choice": game.text(action)}
        game.apply(state, seat, action)
        ply += 1
    yield _outcome(game, state, seats, ply, full=full)


def _header(game: AnyGame, seats: int, options: Options, seeds: Seeds) -> Line:
    return {
        "kind": "game",
        "format": FORMAT,
        "game": game.id,
        "version": game.version,
        "seats": seats,
        "options": dict(options),
        "table_seed": seeds.table.hex(),
        "deck_seed": seeds.deck.hex(),
    }


def _position(game: AnyGame, state: Any, seats: int, ply: int, *, full: bool) -> Line:
    seen = views(game, state, seats)
    line = {"kind": "ply", "ply": ply, "hash": state_hash(seen), "to_act": list(game.to_act(state))}
    return line | {"views": seen} if full else line


def _legal(game: AnyGame, state: Any, seat: int) -> list[str]:
    """Sorted, so that the order in which an engine finds them does not matter."""
    return sorted(game.text(action) for action in game.legal_actions(state, seat))


def _outcome(game: AnyGame, state: Any, seats: int, plies: int, *, full: bool) -> Line:
    outcome = game.outcome(state)
    assert outcome is not None
    line = _position(game, state, seats, plies, full=full) | {"kind": "outcome"}
    del line["to_act"]
    return line | {"ending": outcome.ending, "seats": _sheet(outcome), "house": _sheet(outcome, house=True)}


def _sheet(outcome: Outcome, *, house: bool = False) -> list[Line]:
    return [
        {
            "name": result.name,
            "rank": result.rank,
            "score": result.score,
            "lines": [[line.label, line.points] for line in result.lines],
        }
        for result in (outcome.house if house else outcome.seats)
    ]


# ------------------------------------------------------------------------------------------------------------- checking
def verify(lines: Sequence[str]) -> int:
    """Play the game of these lines, compare every line, and return the number of plies; raises Different."""
    found = _read(lines)
    if not found:
        raise Different(1, None, "the file is empty; expected a line of kind 'game'")
    game, seats, options, seeds = _setup(found[0])
    _compare(found[0], _header(game, seats, options, seeds), 1, None)
    state = game.new(seats, options, seeds)
    ply = 0
    for number, line in enumerate(found[1:], 2):
        acting = game.to_act(state)
        full = "views" in line
        if not acting:
            _compare(line, _outcome(game, state, seats, ply, full=full), number, ply)
            if len(found) > number:
                raise Different(number + 1, None, "a line after the outcome; expected the end of the file")
            return ply
        # Where several seats may act, any of them may be next.
        seat = line.get("seat")
        if not isinstance(seat, int) or seat not in acting:
            raise Different(number, ply, f"seat is {_shown(seat)}; expected one of {list(acting)}")
        expected = _position(game, state, seats, ply, full=full) | {"seat": seat, "legal": _legal(game, state, seat)}
        choice = line.get("choice")
        _compare({name: value for name, value in line.items() if name != "choice"}, expected, number, ply)
        if not isinstance(choice, str) or choice not in expected["legal"]:
            raise Different(number, ply, f"choice is {_shown(choice)}; expected one of the legal actions")
        try:
            game.apply(state, seat, game.read(choice))
        except (Refused, Unreadable) as error:  # although it is in the list of legal actions
            raise Different(number, ply, f"choice {choice!r}: {error}") from None
        ply += 1
    raise Different(len(found) + 1, ply, "the file ends here; expected the next line of the game")


def _read(lines: Sequence[str]) -> list[Line]:
    found = []
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
        except ValueError as error:
            raise Different(number, None, f"this is not JSON ({error})") from None
        if not isinstance(line, dict):
            raise Different(number, None, f"{_shown(line)}; expected an object")
        found.append(line)
    return found


def _setup(header: Line) -> tuple[AnyGame, int, Options, Seeds]:
    for name in _HEADER:
        if name not in header:
            raise Different(1, None, f"{name} is missing; expected {', '.join(_HEADER)}")
    if header["kind"] != "game" or header["format"] != FORMAT:
        raise Different(1, None, f"expected a line of kind 'game' and format {FORMAT}")
    try:
        game = games.get(str(header["game"]))
        if not isinstance(header["options"], dict) or not isinstance(header["seats"], int):
            raise Different(1, None, "expected options to be an object and seats a number")
        options = game.complete(header["seats"], header["options"])
        seeds = Seeds(_seed(header, "table_seed"), _seed(header, "deck_seed"))
    except BadSetup as error:
        raise Different(1, None, str(error)) from None
    return game, header["seats"], options, seeds


def _seed(header: Line, name: str) -> bytes:
    try:
        seed = bytes.fromhex(header[name])
    except (TypeError, ValueError):
        seed = b""
    if len(seed) != SEED_BYTES:
        raise Different(1, None, f"{name} is {_shown(header[name])}; expected {SEED_BYTES} bytes as hex")
    return seed


def _compare(found: Line, expected: Line, line: int, ply: int | None) -> None:
    """Raise Different at the first field that is not as expected; the hash comes last, since it explains nothing."""
    for name in sorted(set(found) | set(expected), key=lambda name: (name == "hash", name)):
        if name not in expected:
            raise Different(line, ply, f"{name} is not a field of this line; expected {', '.join(sorted(expected))}")
        if name not in found:
            raise Different(line, ply, f"{name} is missing; expected {_shown(expected[name])}")
        difference = _first_difference(found[name], expected[name], name)
        if difference:
            raise Different(line, ply, difference)


def _first_difference(found: Any, expected: Any, path: str) -> str:
    """Describe the first difference between two values; empty if they are equal."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        for name in sorted(set(found) | set(expected), key=str):
            if name not in expected or name not in found:
                return f"{path}.{name} is {'missing' if name in expected else 'not expected'}"
            difference = _first_difference(found[name], expected[name], f"{path}.{name}")
            if difference:
                return difference
        return ""
    if isinstance(found, list) and isinstance(expected, list):
        if path == "legal":
            missing, extra = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
            if missing or extra:
                return f"legal: missing {_shown(missing)}, not expected {_shown(extra)}"
        for place, (one, other) in enumerate(zip(found, expected, strict=False)):
            difference = _first_difference(one, other, f"{path}[{place}]")
            if difference:
                return difference
        return "" if len(found) == len(expected) else f"{path} has {len(found)} entries; expected {len(expected)}"
    # True equals 1 in Python, but not in JSON.
    if type(found) is type(expected) and found == expected:
        return ""
    return f"{path} is {_shown(found)}; expected {_shown(expected)}"


def _shown(value: Any) -> str:
    text = canonical(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
