"""Draws the table of a view for a person: lines of (text, style) pieces."""

from typing import Final

from service.games.core import Picture
from service.games.relief.box import (
    BOARD_KINDS,
    BOX,
    ICONS,
    LETTERS,
    OBJECTIVE_NUMBER,
    OBJECTIVES,
    TILE_NUMBER,
    TILES,
    Amounts,
)
from service.games.relief.refusals import priced
from service.games.relief.view import LeadersView, SeatView, SpaceView, TokensView, View, counts_of

Piece = tuple[str, str]

_SEAT_STYLES: Final = ("bold red", "bold cyan", "bold green")
_ICON_STYLES: Final = ("blue", "yellow", "white", "magenta", "cyan", "green")
_SQUARES: Final = dict(BOX.squares)


def picture(view: View) -> Picture:
    """Draws board, row and supply, then one block for each seat."""
    lines: Picture = [_heading(view), []]
    lines += _board(view)
    lines.append([])
    lines.append([("row, new tiles from the left", "dim")])
    lines += [_offer(tile, "  ") for tile in view.row] or [[("  empty", "dim")]]
    lines.append(_piles(view))
    for seat in view.seats:
        lines.append([])
        lines += _seat(view, seat)
    return lines


def _heading(view: View) -> list[Piece]:
    waiting = ", ".join(f"seat {seat}" for seat in view.to_act)
    pieces: list[Piece] = [("Relief", "bold"), (f"  round {view.round}, {view.phase.replace('-', ' ')}", "")]
    if waiting:
        pieces.append((f"  waiting for {waiting}", "bold yellow"))
    if view.trigger:
        pieces.append(("  last round", "bold red"))
    return pieces


def _board(view: View) -> Picture:
    squares: list[list[Piece]] = []
    for name in ("water", "food", "supply", "build", "spend", "port", "distressed", "injured", "worker"):
        count = getattr(view.board, name) if name in BOARD_KINDS else None
        text = _SQUARES[name] if count is None else f"{_SQUARES[name]} {count}"
        style = "bold" if count is None else ("" if count else "dim")
        squares.append([(f"{text:<20}", style)])
    lines: Picture = []
    for at in (0, 3, 6):
        lines.append([("  ", ""), *squares[at], *squares[at + 1], *squares[at + 2]])
    supply = _letters(view.supply)
    lines.append([("  supply ", "dim"), (supply, ""), (f" L{view.leader_supply}", "")])
    return lines


def _letters(tokens: TokensView) -> str:
    return " ".join(f"{letter}{count}" for letter, count in zip(LETTERS, counts_of(tokens), strict=True))


def _offer(id: str, indent: str) -> list[Piece]:
    tile = TILES[TILE_NUMBER[id]]
    return [
        (f"{indent}{tile.id} ", "bold"),
        (f"{tile.name:<21}", _ICON_STYLES[tile.icon]),
        (f"{ICONS[tile.icon]:<7}", "dim"),
        (f"{priced(tile.cost):<13}", ""),
        (f"{tile.vp:>2} VP  ", "bold"),
        (effect(id), ""),
        (_icons(id), "yellow"),
    ]


def _icons(id: str) -> str:
    tile = TILES[TILE_NUMBER[id]]
    return (f"  influence {tile.influence}" if tile.influence else "") + (f"  hope {tile.hope}" if tile.hope else "")


def _amounts(verb: str, amounts: Amounts) -> list[str]:
    return [verb + " " + " ".join(f"{LETTERS[kind]}{count}" for kind, count in amounts)] if amounts else []


def effect(id: str) -> str:
    """Returns what a tile does, in short form."""
    tile = TILES[TILE_NUMBER[id]]
    parts = [*_amounts("take", tile.take), *_amounts("help", tile.help), *_amounts("gain", tile.gain)]
    if tile.leader_cost is not None:
        parts.append(f"pay {priced(tile.leader_cost)} for a leader")
    if tile.score:
        parts.append(f"score {tile.score}")
    return "; ".join(parts)


def _piles(view: View) -> list[Piece]:
    cards = ", ".join(f"level {level.level}: {level.left}" for level in view.cards)
    objective = OBJECTIVES[OBJECTIVE_NUMBER[view.objective]]
    return [
        (f"  tiles left {view.tiles_left_level_one} + {view.tiles_left_level_two}, cards left {cards}; ", "dim"),
        (f"{objective.id} {objective.name}", "yellow"),
        (f": {objective.about}", "dim"),
    ]


def _seat(view: View, seat: SeatView) -> Picture:
    style = _SEAT_STYLES[seat.seat]
    you = " (you)" if seat.seat == view.you else ""
    token = " first" if seat.seat == view.first else ""
    goods = _letters(seat.goods)
    head: list[Piece] = [
        (f"seat {seat.seat}{you}{token}", style),
        (f"  {seat.track} VP, markers {seat.markers}, leaders {seat.leaders}", ""),
        (f", influence {seat.influence}, hope {seat.hope}", ""),
    ]
    if not seat.settled:
        head.append(("  placing leaders", "bold yellow"))
    lines: Picture = [head, [("  holds ", "dim"), (goods, ""), *_secrets(seat)]]
    lines += [_space(space, seat.placed) for space in seat.mat]
    used = ", ".join(
        f"{name} {count}"
        for name, count in (("build", seat.build_uses), ("spend", seat.spend_uses), ("trade", seat.trade_uses))
        if count
    )
    if used:
        lines.append([(f"  markers on the board: {used}", "dim")])
    return lines


def _secrets(seat: SeatView) -> list[Piece]:
    pieces: list[Piece] = []
    if seat.special:
        tile = TILES[TILE_NUMBER[seat.special]]
        pieces.append((f"  special {tile.id} {tile.name} ({priced(tile.cost)}, {tile.vp} VP)", "magenta"))
    elif not seat.special_built:
        pieces.append(("  special hidden", "dim"))
    if seat.objective:
        objective = OBJECTIVES[OBJECTIVE_NUMBER[seat.objective]]
        pieces.append((f"  {objective.id} {objective.name}", "yellow"))
    return pieces


def _space(space: SpaceView, placed: LeadersView | None) -> list[Piece]:
    tile = TILES[TILE_NUMBER[space.tile]]
    leader = "L" if placed is not None and space.space in placed.spaces else " "
    covered = f"  over {' '.join(space.under)}" if space.under else ""
    return [
        (f"  @{space.space:<3}", "dim"),
        (leader + " ", "bold yellow"),
        ("●" * space.uses + "○" * (2 - space.uses) + " ", "bold"),
        (f"{tile.id:<4}", "bold"),
        (f"{tile.name:<21}", _ICON_STYLES[tile.icon]),
        (f"{tile.vp:>2} VP  ", "" if tile.vp else "dim"),
        (effect(tile.id), ""),
        (_icons(tile.id), "yellow"),
        (covered, "dim"),
    ]
