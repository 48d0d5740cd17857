"""One player’s side of the table: name and counters, the fourteen spaces of the mat, special tile and objective."""

from collections.abc import Collection, Sequence
from typing import Final

from service.games.relief.amounts import NOUNS
from service.games.relief.board_shapes import (
    COUNTER_STEP,
    COUNTERS_TOP,
    GOODS_LEFT,
    ICONS_LEFT,
    LEADERS_LEFT,
    MARKERS_LEFT,
    SLOT_LEFT,
    SLOT_STEP,
    SLOT_TOP,
)
from service.games.relief.board_svg import (
    FLAT_HEIGHT,
    INNER,
    MARGIN,
    NAME_WIDTH,
    PAD,
    TILE_GAP,
    TILE_HEIGHT,
    TILE_WIDTH,
    Box,
    box,
    cut,
    part,
    text,
    title,
    use,
)
from service.games.relief.board_table import pill
from service.games.relief.board_tiles import face, label, objective_words, offer, price_words, tile_words
from service.games.relief.box import OBJECTIVE_NUMBER, OBJECTIVES, SPACES, STARTERS, TILE_NUMBER, TILES
from service.games.relief.view import SeatView, SpaceView, View, counts_of
from service.games.words import counted, listed

_COLUMNS: Final = 5
_HEAD: Final = 84
_LINES: Final = 3
#: The room of a number beside its token.
_NUMBER_WIDTH: Final = 18
_THREE_DIGITS: Final = 100
#: What a seat holds, in the order of KINDS; helped people are workers.
_HELD: Final = (
    *NOUNS[:3],
    ("regular worker", "regular workers"),
    ("worker who was distressed", "workers who were distressed"),
    ("worker who was injured", "workers who were injured"),
    *NOUNS[6:8],
    ("influence token", "influence tokens"),
)
_STARTER_FACES: Final = {
    tile.id: f'<g id="rl-{tile.id}">{face(tile.id)}{use("slots")}{label(str(space + 1))}</g>'
    for space, tile in enumerate(TILES[:STARTERS])
}


def starters(view: View) -> str:
    """Returns the faces of the starters in sight as symbols, because they lie on several mats."""
    seen = {space.tile for seat in view.seats for space in seat.mat[:STARTERS]}
    return "".join([symbol for id, symbol in _STARTER_FACES.items() if id in seen])


def _last_line(seat: SeatView) -> int:
    """Returns the height of the last line of spaces; it is flat while there is no face to show on it."""
    return TILE_HEIGHT if seat.special or len(seat.mat) > _COLUMNS * (_LINES - 1) else FLAT_HEIGHT


def mat_height(seat: SeatView) -> int:
    """Returns the height of one seat’s side."""
    return _HEAD + (_LINES - 1) * (TILE_HEIGHT + TILE_GAP) + _last_line(seat) + PAD


def mat(view: View, seat: SeatView, names: Sequence[str], marked: Collection[str], top: int) -> str:
    """Returns the whole side of one seat."""
    name = names[seat.seat]
    acts = seat.seat in view.to_act
    found = [
        title(f"{name}’s mat, seat {seat.seat}" + (", to act" if acts else "")),
        box("rl-block rl-acting" if acts else "rl-block", 0.5, 0.5, INNER - 1, mat_height(seat) - 1, 12),
        _who(view, seat, name, acts),
        _secret(seat, name, marked),
        _counters(seat, name, marked),
    ]
    for number in range(SPACES):
        id = f"mat:{seat.seat}:{number + 1}"
        place = _place(seat, number)
        if number < len(seat.mat):
            content, words = _space(seat, seat.mat[number], name)
        else:
            content, words = _open(number, number == len(seat.mat), name, place)
        found.append(part(id, words, id in marked, content, place))
    found.append(_special(seat, name, marked))
    return f'<g role="group" transform="translate({MARGIN} {top})">{"".join(found)}</g>'


def _place(seat: SeatView, number: int) -> Box:
    line, column = divmod(number, _COLUMNS)
    height = _last_line(seat) if line == _LINES - 1 else TILE_HEIGHT
    return PAD + column * (TILE_WIDTH + TILE_GAP), _HEAD + line * (TILE_HEIGHT + TILE_GAP), TILE_WIDTH, height


def _who(view: View, seat: SeatView, name: str, acts: bool) -> str:
    found = [
        use(f"s-{seat.seat}", PAD, 8, 1.4),
        f'<g clip-path="url(#rl-name)">{text("rl-player", 46, 30, cut(name, NAME_WIDTH, 21.5))}</g>',
    ]
    x = 236
    for shown, css, words, width in (
        (acts, "rl-now", "to act", 66),
        (seat.seat == view.first, "rl-pill", "first", 52),
        (seat.seat == view.you, "rl-pill", "you", 48),
    ):
        if shown:
            found.append(pill(css, x, 10, width, words))
            x += width + 6
    return "".join(found)


def _secret(seat: SeatView, name: str, marked: Collection[str]) -> str:
    id = f"objective:{seat.seat}"
    left, width = 428, INNER - PAD - 428
    content = box("rl-frame rl-goal", left, 8, width, 30)
    if seat.objective:
        objective = OBJECTIVES[OBJECTIVE_NUMBER[seat.objective]]
        content += text("rl-secret", left + 10, 28.5, f"{objective.id} {objective.name}", 16, width - 20)
        words = f"{name}’s objective {objective_words(seat.objective)}"
    else:
        content += box("rl-back", left, 8, width, 30) + text("rl-hidden", left + width / 2, 28.5, "secret objective")
        words = f"{name}’s objective is secret"
    return part(id, words, id in marked, content, (left, 8, width, 30), at_origin=False)


def _counters(seat: SeatView, name: str, marked: Collection[str]) -> str:
    """Returns points, goods, markers, leaders, influence and hope on one line."""
    number = seat.seat
    counts = counts_of(seat.goods)
    held = listed([counted(count, *nouns) for nouns, count in zip(_HELD, counts, strict=True)])
    fit = ' textLength="50" lengthAdjust="spacingAndGlyphs"' if seat.track >= _THREE_DIGITS else ""
    points = (
        f'<text class="rl-points" x="47.5" y="67.5"{fit}>{seat.track}<tspan class="rl-unit" dx="3">VP</tspan></text>'
    )
    markers = use(f"s-{number}", MARKERS_LEFT, COUNTERS_TOP) + _number(MARKERS_LEFT, seat.markers)
    found = [box("rl-band", PAD, 45, INNER - 2 * PAD, 32), use("rules")]
    for id, words, content, x, width in (
        (
            "points",
            f"{name} has {counted(seat.track, 'point')} on the track",
            use("track") + points,
            12,
            72,
        ),
        ("goods", f"{name} holds {held}", use("goods") + _numbers(GOODS_LEFT, counts), 87, 396),
        ("markers", f"{name} has {counted(seat.markers, 'marker')} left", markers, 491, 45),
        (
            "leaders",
            f"{name} owns {_leaders_words(seat)}",
            use("leaders") + _number(LEADERS_LEFT, seat.leaders),
            536,
            48,
        ),
        (
            "icons",
            f"{name} has influence {seat.influence} and hope {seat.hope}, from tokens and visible icons",
            use("icons") + _numbers(ICONS_LEFT, [seat.influence, seat.hope]),
            598,
            86,
        ),
    ):
        part_id = f"{id}:{number}"
        found.append(part(part_id, words, part_id in marked, content, (x, 46, width, 30), at_origin=False))
    return "".join(found)


def _number(left: float, count: int) -> str:
    return text("" if count else "rl-none", left + 22, 67, str(count), 16, _NUMBER_WIDTH)


def _numbers(left: float, counts: Sequence[int]) -> str:
    return "".join([_number(left + COUNTER_STEP * place, count) for place, count in enumerate(counts)])


def _leaders_words(seat: SeatView) -> str:
    words = counted(seat.leaders, "leader")
    if seat.placed is None:
        return words + ", placed in secret"
    waiting = seat.leaders - len(seat.placed.spaces)
    return f"{words}, {waiting} of them not on a tile" if waiting else words


def _space(seat: SeatView, space: SpaceView, name: str) -> tuple[str, str]:
    tile = TILES[TILE_NUMBER[space.tile]]
    led = seat.placed is not None and space.space in seat.placed.spaces
    found: list[str] = []
    for depth in range(min(2, len(space.under)), 0, -1):
        found.append(use("under", 2.5 * depth, 2.5 * depth))
    if tile.id in _STARTER_FACES:
        found.append(use(tile.id))
    else:
        found.append(face(tile.id) + use("slots") + label(str(space.space)))
    for slot in range(space.uses):
        found.append(use(f"s-{seat.seat}", SLOT_LEFT + SLOT_STEP * slot, SLOT_TOP))
    if space.under:
        found.append(text("rl-soft", 54, SLOT_TOP + 16, f"on {len(space.under)}"))
    if led:
        found.append(use("led"))
    words = [f"{tile.name} on space {space.space} of {name}’s mat: {tile_words(tile.id)}"]
    if led:
        words.append("with a leader")
    if space.uses:
        words.append(counted(space.uses, "marker"))
    if space.under:
        words.append(f"on top of {listed([TILES[TILE_NUMBER[low]].name for low in reversed(space.under)])}")
    return "".join(found), "; ".join(words)


def _open(number: int, is_next: bool, name: str, place: Box) -> tuple[str, str]:
    flat = place[3] < TILE_HEIGHT
    content = use("flat" if flat else "open") + text(
        "rl-next" if is_next else "rl-vacant", TILE_WIDTH / 2, place[3] / 2 + 7.5, str(number + 1)
    )
    words = f"Space {number + 1} of {name}’s mat: open" + (", the next to build on" if is_next else "")
    return content, words


def _special(seat: SeatView, name: str, marked: Collection[str]) -> str:
    id = f"special:{seat.seat}"
    place = _place(seat, SPACES)
    middle = place[3] / 2 + 5.5
    if seat.special:
        tile = TILES[TILE_NUMBER[seat.special]]
        words = f"{name}’s special tile {tile.name}, {tile.id}, for {price_words(tile.cost)}: {tile_words(tile.id)}"
        content = offer(tile.id)
    elif seat.special_built:
        words = f"{name}’s special tile is built"
        content = text("rl-gone", TILE_WIDTH / 2, middle, "special built")
    else:
        words = f"{name}’s special tile is hidden"
        content = box("rl-frame rl-goal", 0.5, 0.5, TILE_WIDTH - 1, place[3] - 1)
        content += box("rl-back", 4, 4, TILE_WIDTH - 8, place[3] - 8, 5)
        content += text("rl-hidden", TILE_WIDTH / 2, middle, "special tile")
    return part(id, words, id in marked, content, place)
