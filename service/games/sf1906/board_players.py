"""The area of each player."""

from collections.abc import Collection, Sequence
from html import escape
from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.board_shapes import (
    GAP,
    INNER,
    MARGIN,
    box_of,
    colour_of,
    definitions,
    gap_body,
    letter_of,
    name_of,
    objective_card,
    objective_chip,
    objective_words,
    part,
    permit_body,
    permit_words,
    shown_name,
    striped,
    text,
    token,
    use,
)
from service.games.sf1906.board_tables import signed
from service.games.sf1906.view import View

AREA_WIDTH: Final = (INNER - GAP) // 2
_PAD: Final = 8
_PERMIT: Final = (AREA_WIDTH - 2 * _PAD - 4 * 5) // 5
_PERMIT_TALL: Final = 58
_CHIP: Final = (AREA_WIDTH - 2 * _PAD - 2 * 4) // 3
_CHIP_TALL: Final = 29
_LONG_CHIP: Final = 11  # letters
_TOP: Final = 142  # where the permits begin
_LEAST_CHIPS: Final = 6
_RICH: Final = 1000  # so much money leaves less room for a name
_COUNTED: Final = ("at hand", "pool", "built", "rubble", "dev.")


def _count_at(index: int) -> int:
    step = (AREA_WIDTH - 2 * _PAD) // len(_COUNTED)
    return _PAD + index * step + step // 2


def _icon_at(index: int) -> int:
    return _PAD + index * ((AREA_WIDTH - 2 * _PAD) // len(box.ICONS)) + 14


def _definitions() -> str:
    """What every area has: the words under its numbers, the types of urbanism cards, and the places of five permits."""
    area = [text(_count_at(index), 85, word, "sf-c sf-m") for index, word in enumerate(_COUNTED)]
    area += [use(icon, _icon_at(index), 115) for index, icon in enumerate(box.ICONS)]
    for index in range(box.PERMIT_LIMIT):
        x = _PAD + index * (_PERMIT + 5)
        area.append(f'<g transform="translate({x} {_TOP})">{gap_body(_PERMIT, _PERMIT_TALL)}</g>')
    back = box_of(_CHIP, _CHIP_TALL, "sf-f sf-back") + text(_CHIP // 2, 20, "hidden", "sf-c sf-k sf-inv")
    chips = striped("chip", _CHIP, _CHIP_TALL)
    return definitions(f'<g id="sf-area">{"".join(area)}</g><g id="sf-chip-back">{back}</g>{chips}')


_DEFINITIONS: Final = _definitions()


def areas(view: View, names: Sequence[str], marked: Collection[str], top: int) -> tuple[str, int]:
    """Two areas side by side; those of one line are equally tall."""
    drawn = [_DEFINITIONS]
    y = top
    for first in range(0, len(view.players), 2):
        pair = range(first, min(first + 2, len(view.players)))
        most = max(_LEAST_CHIPS, *[len(view.players[who].objectives) + (view.best_builder == who) for who in pair])
        height = _TOP + _PERMIT_TALL + (most + 2) // 3 * (_CHIP_TALL + 5) + _PAD
        for who in pair:
            drawn.append(_area(view, names, marked, who, (MARGIN + (who - first) * (AREA_WIDTH + GAP), y), height))
        y += height + GAP
    return "".join(drawn), y - GAP - top


def area_words(view: View, names: Sequence[str], who: int) -> str:
    """Returns a player's area in one sentence, for people who do not see it."""
    player = view.players[who]
    return (
        f"{name_of(view, names, who)}, {colour_of(view, who)}{', you' if who == view.you else ''}: ${player.money}, "
        f"{player.stock} buildings at hand, {player.pool} in the pool, {player.built} on the map, rubble {player.rubble}, "
        f"development {player.development_points}, {len(player.permits)} permits, {len(player.objectives)} objectives"
    )


def _area(view: View, names: Sequence[str], marked: Collection[str], who: int, at: tuple[int, int], height: int) -> str:
    player = view.players[who]
    is_active = who == view.to_act
    clip, columns = ("panel", 16) if player.money < _RICH else ("rich", 10)
    name = escape(shown_name(view, names, who, columns), quote=False)
    body = [box_of(AREA_WIDTH, height, "sf-f sf-card sf-now" if is_active else "sf-f sf-card", 10)]
    body.append(f'<path class="sf-edge sf-e{letter_of(view, who)}" d="M3 42H{AREA_WIDTH - 3}"/>')
    body.append(token(view, who, 26, 21))
    body.append(
        f'<g clip-path="url(#sf-clip-{clip})" transform="translate(50 28)"><text class="sf-b sf-w">{name}</text></g>'
    )
    body.append(text(AREA_WIDTH - 12, 29, f"${player.money}", "sf-e sf-big"))
    if is_active:
        body.append(
            f'<rect class="sf-pill" x="{AREA_WIDTH // 2 - 34}" y="-13" width="68" height="24" rx="12"/>'
            + text(AREA_WIDTH // 2, 5, "to act", "sf-c sf-inv")
        )
    counts = (player.stock, player.pool, player.built, player.rubble, player.development_points)
    body.append(use("area"))
    body += [text(_count_at(index), 66, signed(count), "sf-c sf-n") for index, count in enumerate(counts)]
    for index, icon in enumerate(box.ICONS):
        count = player.urbanism[index]
        held = player.parks if icon == "park" and count else str(count)
        body.append(text(_icon_at(index) + 18, 122, held, "sf-n" if count else "sf-m"))
    drawn = [part(f"player:{who}", area_words(view, names, who), "".join(body), marked, at)]
    x, y = at[0] + _PAD, at[1] + _TOP
    for index, permit in enumerate(player.permits):
        place = (x + index * (_PERMIT + 5), y)
        face = permit_body(permit, _PERMIT, _PERMIT_TALL)
        look = "sf-chosen" if permit in view.discarded else ""
        drawn.append(part(f"permit:{permit}", permit_words(permit), face, marked, place, look))
    y += _PERMIT_TALL + 6
    held_cards = [(f"hidden:{who}:{index}", card.card, card.seen) for index, card in enumerate(player.objectives)]
    if view.best_builder == who:
        held_cards.insert(0, ("", box.OBJECTIVE_IDS[box.BEST_BUILDER], True))
    for index, (hidden, objective, seen) in enumerate(held_cards):
        place = (x + index % 3 * (_CHIP + 4), y + index // 3 * (_CHIP_TALL + 5))
        drawn.append(_chip(view, marked, hidden, objective, seen, place))
    return "".join(drawn)


def _chip(view: View, marked: Collection[str], hidden: str, objective: str, seen: bool, at: tuple[int, int]) -> str:
    if not objective:
        return part(hidden, "Objective, face down", use("chip-back"), marked, at)
    card = objective_card(view, objective)
    title = objective_words(view, objective) + ("" if seen else ", secret")
    body = use(f"chip-{card.frame}") + _chip_text(objective_chip(card))
    return part(f"objective:{objective}", title, body, marked, at, "" if seen else "sf-secret")


def _chip_text(words: str) -> str:
    """The name of an objective; a long one has a fixed width, because fonts differ."""
    if len(words) < _LONG_CHIP:
        return text(12, 20, words, "sf-k")
    return f'<text class="sf-k" x="12" y="20" textLength="{_CHIP - 20}" lengthAdjust="spacingAndGlyphs">{words}</text>'
