"""Golden games can be recomputed with docs/vectors.md alone, and ``verify`` finds every difference."""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli import golden
from cli.app import run as rubble
from service import games
from service.games.chance import Seeds

PAGE = Path(__file__).parents[2] / "docs" / "vectors.md"
GAMES = [(game.id, seats) for game in games.all_games().values() for seats in game.seats]
Line = dict[str, Any]


def written(folder: Path, game: str, seats: int, *extra: str) -> list[Line]:
    arguments = ["vectors", "--game", game, "--players", str(seats), "--games", "1", "--out", str(folder)]
    assert rubble([*arguments, *extra]) == 0
    (file,) = folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


# ----------------------------------------------------------------------------------- recomputed from the page alone
def stranger_hash(views: Any) -> str:
    text = json.dumps(views, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def stranger_stream() -> Callable[..., Any]:
    """Returns the class as printed on the page."""
    source = next(
        part for part in PAGE.read_text(encoding="utf-8").split("```python\n") if part.startswith("class Draws")
    )
    names: dict[str, Any] = {"struct": struct, "hashlib": hashlib}
    exec(source.split("```")[0], names)
    return names["Draws"]  # type: ignore[no-any-return]  # it has just been made


def drawn_openly(cards: list[str], count: int, stream: Any) -> tuple[list[str], list[str]]:
    order = cards[:]
    stream.shuffle(order)
    return order[:count], [card for card in cards if card not in order[:count]]


@pytest.mark.parametrize(("game", "seats"), GAMES)
def test_every_hash_covers_what_all_viewers_see(game: str, seats: int, tmp_path: Path) -> None:
    header, *lines = written(tmp_path, game, seats, "--views")

    assert (header["kind"], header["game"], header["seats"]) == ("game", game, seats)
    assert [line["ply"] for line in lines] == list(range(len(lines)))
    for line in lines:
        assert len(line["views"]["seats"]) == seats
        assert line["hash"] == stranger_hash(line["views"])
    assert lines[-1]["kind"] == "outcome"
    assert len({line["hash"] for line in lines}) == len(lines)  # every decision changes some view


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("game", "seats"), [one for one in GAMES if one[0].startswith("sf1906")])
def test_the_deal_of_1906_follows_from_the_page(game: str, seats: int, seed: int, tmp_path: Path) -> None:
    header, first, *_ = written(tmp_path, game, seats, "--views", "--seed", str(seed))
    table, deck = (
        hashlib.blake2b(f"{seed}/0".encode(), digest_size=32, person=person).digest()
        for person in (b"rubble-table", b"rubble-deck")
    )
    assert (header["table_seed"], header["deck_seed"]) == (table.hex(), deck.hex())
    stream = stranger_stream()
    seen = first["views"]["spectator"]
    players = max(seats, 2)

    pairs = [[1, 2], [3, 4], [5, 6], [7, 8]]
    stream(table, "pairs").shuffle(pairs)
    cards = [card for pair in sorted(pairs[:players]) for card in pair]
    stream(table, "map").shuffle(cards)
    toss = stream(table, "sides")
    assert seen["plot_cards"] == [{"card": card, "side": "AB"[toss.below(2)]} for card in cards]

    ring = [f"A{number}" for number in range(1, 7)]
    stream(table, "ring").shuffle(ring)
    assert [card["card"] for card in seen["ring"]] == ring

    common, rest = drawn_openly([f"O{number:02}" for number in range(17, 25)], 3, stream(table, "common"))
    row, objectives = drawn_openly(
        [f"O{number:02}" for number in range(1, 17)] + rest, 3, stream(table, "objective-row")
    )
    assert (seen["common_objectives"], seen["objective_row"]) == (common, row)
    stream(deck, "objectives").shuffle(objectives)
    dealt = [view["players"][seat]["objectives"][0]["card"] for seat, view in enumerate(first["views"]["seats"])]
    assert dealt == objectives[: -seats - 1 : -1]

    permits = [f"P{number:02}" for number in range(1, 43 if seats > 1 else 41)]
    row, permits = drawn_openly(permits, 3, stream(table, "permit-row"))
    assert seen["permit_row"] == row
    assert seen["start"] == (stream(table, "start").below(players) if seats > 1 else 0)


@pytest.mark.parametrize("seed", range(2))
def test_the_deal_of_relief_follows_from_the_page(seed: int, tmp_path: Path) -> None:
    header, first, *_ = written(tmp_path, "relief", 3, "--views", "--seed", str(seed))
    table, deck = bytes.fromhex(header["table_seed"]), bytes.fromhex(header["deck_seed"])
    stream = stranger_stream()
    seen = first["views"]["spectator"]

    tiles = [f"T{number:02}" for number in range(1, 19)]
    stream(table, "tiles-1").shuffle(tiles)
    assert seen["row"] == tiles[:5][::-1]

    cards = [f"A{number}" for number in range(1, 7)]
    stream(table, "cards-1/0").shuffle(cards)
    assert seen["cards"][0]["used"] == cards[:1]

    objectives = [f"O{number}" for number in range(1, 8)]
    stream(table, "objective").shuffle(objectives)
    assert seen["objective"] == objectives[0]
    rest = sorted(objectives[1:])
    stream(deck, "objective").shuffle(rest)
    assert [view["seats"][seat]["objective"] for seat, view in enumerate(first["views"]["seats"])] == rest[:3]

    specials = [f"X{number}" for number in range(1, 8)]
    stream(deck, "special").shuffle(specials)
    assert [view["seats"][seat]["special"] for seat, view in enumerate(first["views"]["seats"])] == specials[:3]


def names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from names_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from names_in(inner)


@pytest.mark.parametrize("game", ["sf1906-2e", "relief"])
def test_the_page_names_every_field_of_a_view(game: str, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    tokens = {"water", "food", "supply", "worker", "distressed", "injured", "story", "money", "influence"}

    fields = set(
        names_in(
            [
                [*line["views"]["seats"], line["views"]["spectator"]]
                for line in written(tmp_path, game, 2, "--views")[1:]
            ]
        )
    )

    assert [name for name in sorted(fields - tokens) if f"`{name}`" not in page] == []


# ------------------------------------------------------------------------------------------------------------- verify
def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        written(tmp_path / folder, "sf1906-2e", 1)

    (one,), (two,) = (list((tmp_path / folder).iterdir()) for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert one.name == two.name == "sf1906-2e-1p-1-0.jsonl"


def test_what_we_write_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rubble(["vectors", "--game", "relief", "--games", "1", "--out", str(tmp_path)]) == 0
    assert rubble(["vectors", "--game", "sf1906-1e", "--players", "2", "--games", "1", "--out", str(tmp_path)]) == 0
    capsys.readouterr()

    assert rubble(["vectors", "verify", str(tmp_path)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(": good: " in line for line in lines)


def _set(line: int, **fields: Any) -> Callable[[list[Line]], None]:
    return lambda lines: lines[line].update(fields)


def _other_choice(lines: list[Line]) -> None:
    """Replaces a choice by another legal one: the next state differs."""
    line = next(line for line in lines if len(line.get("legal", ())) > 1)
    line["choice"] = next(text for text in line["legal"] if text != line["choice"])


def _board(lines: list[Line]) -> None:
    lines[5]["views"]["seats"][1]["board"]["food"] += 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (_set(0, game="chess"), "line 1: game: 'chess' is not possible; expected one of relief"),
        (_set(0, seats=9), "line 1: players: 9 is not possible; expected 2 to 3 for relief"),
        (_set(0, table_seed="00"), 'line 1: table_seed is "00"; expected 32 bytes as hex'),
        (_set(0, version=99), "line 1: version is 99; expected 1"),
        (_set(3, hash="0" * 64), 'line 4, ply 2: hash is "0000'),
        (_set(4, ply=7), "line 5, ply 3: ply is 7; expected 3"),
        (_set(4, to_act=[]), "line 5, ply 3: to_act has 0 entries; expected "),
        (_set(4, legal=["fly"]), "line 5, ply 3: legal: missing ["),
        (_set(4, choice="fly"), 'line 5, ply 3: choice is "fly"; expected one of the legal actions'),
        (_set(4, seat=17), "line 5, ply 3: seat is 17; expected one of ["),
        (_set(-1, ending="RAIN"), 'ending is "RAIN"; expected '),
        (_set(-1, note="ours"), "note is not a field of this line; expected "),
        (_board, "line 6, ply 4: views.seats[1].board.food is "),
        (_other_choice, "ply 1: "),
        (lambda lines: lines.pop(), "the file ends here; expected the next line of the game"),
        (lambda lines: lines.append({}), "a line after the outcome; expected the end of the file"),
        (lambda lines: lines.clear(), "line 1: the file is empty; expected a line of kind 'game'"),
    ],
)
def test_the_first_difference_is_named(
    change: Callable[[list[Line]], None], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = written(tmp_path, "relief", 2, "--views")
    change(lines)
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(json.dumps(line, indent=None) + "\n" for line in lines))
    capsys.readouterr()

    assert rubble(["vectors", "verify", str(file)]) == 1

    output = capsys.readouterr()
    assert complaint in output.out
    assert output.out.startswith(f"{file}: line ")
    assert "1 of 1 file differ" in output.err


def test_seats_that_act_at_the_same_time_may_act_in_any_order(tmp_path: Path) -> None:
    """Another engine need not ask them in our order."""
    game = games.get("relief")
    header, first, *_ = written(tmp_path, "relief", 2)
    assert first["to_act"] == [0, 1]
    seeds = Seeds(bytes.fromhex(header["table_seed"]), bytes.fromhex(header["deck_seed"]))
    state = game.new(2, header["options"], seeds)
    lines = [header]
    while acting := game.to_act(state):
        seen = golden.views(game, state, 2)
        seat = acting[-1]
        legal = sorted(game.text(action) for action in game.legal_actions(state, seat))
        line = {"kind": "ply", "ply": len(lines) - 1, "hash": golden.state_hash(seen), "to_act": list(acting)}
        lines.append(line | {"seat": seat, "legal": legal, "choice": legal[-1]})
        game.apply(state, seat, game.read(legal[-1]))

    with pytest.raises(golden.Different, match="the file ends here"):  # so far all was well
        golden.verify([json.dumps(line) for line in lines])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--game", "relief"], "--out is missing"),
        (["--game", "chess", "--out", "x"], "game: 'chess' is not possible"),
        (["--game", "relief", "--out", "/dev/null/x"], "--out: '/dev/null/x' is not possible; expected a folder"),
        (["verify", "/nowhere"], "FILE: '/nowhere' is not possible; expected a file that can be read, or a folder"),
        (["verify"], "Missing argument"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert rubble(["vectors", *arguments]) == 2

    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
