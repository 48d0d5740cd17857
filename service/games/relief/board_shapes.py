"""The symbols of the drawing, defined once and used by their ids: tokens, icons, pictures of squares, markers."""

from typing import Final

from service.games.relief.board_svg import (
    FLAT_HEIGHT,
    MARKER,
    NAME_WIDTH,
    TILE_HEIGHT,
    TILE_WIDTH,
    TOKEN,
    box,
    text,
    use,
)

#: The line of counters on a mat: tokens in this distance, with their numbers.
COUNTERS_TOP: Final = 51
COUNTER_STEP: Final = 44
GOODS_LEFT: Final = 90
MARKERS_LEFT: Final = 496
LEADERS_LEFT: Final = 540
ICONS_LEFT: Final = 601
#: A square of the board.
SQUARE_WIDTH: Final = 140
SQUARE_HEIGHT: Final = 104
#: Where the two markers of a tile go.
SLOT_LEFT: Final = 6
SLOT_STEP: Final = 23
SLOT_TOP: Final = TILE_HEIGHT - 24

#: The ids of the tokens' symbols: their letters, and M for money, whose letter is a sign.
TOKEN_IDS: Final = {
    "water": "W",
    "food": "F",
    "supply": "S",
    "worker": "K",
    "distressed": "D",
    "injured": "I",
    "story": "T",
    "money": "M",
    "influence": "N",
    "leader": "L",
    "hope": "H",
}

#: Outline and letter of each token, by the kind in KINDS, then leader and hope. They fill a box of 24 by 24.
_TOKENS: Final = (
    ("water", "M12 .8C15 5.4 20.4 10.2 20.4 15.2A8.4 8.4 0 0 1 3.6 15.2C3.6 10.2 9 5.4 12 .8Z", "W", 19),
    (
        "food",
        "M6.5 3H17.5A5 5 0 0 1 20.5 12V20.5A1.5 1.5 0 0 1 19 22H5A1.5 1.5 0 0 1 3.5 20.5V12A5 5 0 0 1 6.5 3Z",
        "F",
        18,
    ),
    ("supply", "M12 1 22 6.5V17.5L12 23 2 17.5V6.5Z", "S", 16.6),
    (
        "worker",
        "M5.6 6.2H6.8A5.2 5.2 0 0 1 17.2 6.2H18.4V8.2H16.6A4.8 4.8 0 0 1 15.4 10.4C19.6 11.3 22 14 22 18V23H2V18"
        "C2 14 4.4 11.3 8.6 10.4A4.8 4.8 0 0 1 7.4 8.2H5.6Z",
        "K",
        21.4,
    ),
    ("distressed", "M12 1A4.6 4.6 0 0 1 15.6 8.4L22.6 23H1.4L8.4 8.4A4.6 4.6 0 0 1 12 1Z", "D", 21.2),
    ("injured", "M7 1.5H17V7H22.5V17H17V22.5H7V17H1.5V7H7Z", "I", 16.8),
    (
        "story",
        "M3 3H21A1.8 1.8 0 0 1 22.8 4.8V16A1.8 1.8 0 0 1 21 17.8H11L5.6 22.6V17.8H3A1.8 1.8 0 0 1 1.2 16V4.8A1.8 1.8 0 0 1 3 3Z",
        "T",
        15,
    ),
    ("money", "M12 1.5A10.5 10.5 0 0 1 12 22.5 10.5 10.5 0 0 1 12 1.5Z", "$", 16.7),
    ("influence", "M3.5 1.5H20.5V22.5L12 17.6 3.5 22.5Z", "N", 14.6),
    (
        "leader",
        "M12 1A4.3 4.3 0 0 1 15.8 7.4C19 8.6 23 10.4 23 12.8 23 14.4 20.6 14.6 18.6 14.6L21.4 23H2.6L5.4 14.6"
        "C3.4 14.6 1 14.4 1 12.8 1 10.4 5 8.6 8.2 7.4A4.3 4.3 0 0 1 12 1Z",
        "L",
        19.6,
    ),
    ("hope", "M12 22.5C5 16.8 1 13 1 8.2A5.8 5.8 0 0 1 12 5.4 5.8 5.8 0 0 1 23 8.2C23 13 19 16.8 12 22.5Z", "H", 16.4),
)

#: The six icons of tiles, in the order of ICONS: strokes in a box of 24 by 24.
_ICONS: Final = (
    ("water", "M12 5C14 8 16.4 10.6 16.4 13.6A4.4 4.4 0 0 1 7.6 13.6C7.6 10.6 10 8 12 5Z"),
    ("food", "M6 11H18A6 6 0 0 1 6 11ZM9.2 8.4V6M12 8.4V5M14.8 8.4V6"),
    ("supply", "M5.5 7H18.5V17H5.5ZM5.5 12H18.5M12 7V12M9 12V17M15 12V17"),
    (
        "people",
        "M9 6.2A2.2 2.2 0 1 1 9 10.6 2.2 2.2 0 1 1 9 6.2M5 17.5C5 14 7 12.8 9 12.8S13 14 13 17.5"
        "M15 7.6A2 2 0 1 1 15 11.4M15.6 13.4C17.6 13.6 19 14.8 19 17.5",
    ),
    (
        "media",
        "M12 12V18.5M9 18.5H15M12 9.6A1.4 1.4 0 1 1 12 12.4 1.4 1.4 0 1 1 12 9.6"
        "M8.4 14.6A5 5 0 0 1 8.4 7.4M15.6 14.6A5 5 0 0 0 15.6 7.4",
    ),
    ("civic", "M5.5 9.4 12 5.6 18.5 9.4ZM7.6 11.4V16M12 11.4V16M16.4 11.4V16M5.5 18.2H18.5"),
)

#: The pictures of the three squares for markers.
_PICTURES: Final = (
    ("build", "M6 30 20 16M16.5 8.5 27.5 19.5M14 11C17 8 19 7 23 7L29 13C29 13 28 18 25 21"),
    (
        "spend",
        "M5 8H25V27A3 3 0 0 1 22 30H8A3 3 0 0 1 5 27ZM25 14H31V27A3 3 0 0 1 28 30H22"
        "M9 13H21M9 18H14M9 22.5H14M17.5 18H21M17.5 22.5H21",
    ),
    ("port", "M4 23H32L28 30H9ZM18 23V5M18 7 28 19H18M15 10 9 19H15"),
)

#: The shape of each seat's markers, in a box of 24 by 24.
_MARKERS: Final = (
    '<circle class="rl-mark rl-seat-0" cx="12" cy="12" r="10.5"/>',
    '<rect class="rl-mark rl-seat-1" x="2" y="2" width="20" height="20" rx="3"/>',
    '<path class="rl-mark rl-seat-2" d="M12 .5 23.5 12 12 23.5.5 12Z"/>',
)


def _scaled(id: str, scale: float, content: str) -> str:
    return f'<g id="rl-{id}" transform="scale({scale:.4g})">{content}</g>'


def _slot(x: float, y: float) -> str:
    return f'<circle class="rl-slot" cx="{x + MARKER / 2:g}" cy="{y + MARKER / 2:g}" r="6.4"/>'


def works(seats: int) -> str:
    """Returns the symbol of a square for markers: room for two of each seat. Its id differs where its content does."""
    slots = [_slot(*works_slot(seats, seat, number)) for seat in range(seats) for number in range(2)]
    edge = box("rl-frame rl-works", 0.5, 0.5, SQUARE_WIDTH - 1, SQUARE_HEIGHT - 1)
    return f'<g id="rl-works{seats}">{edge}{"".join(slots)}</g>'


def works_slot(seats: int, seat: int, number: int) -> tuple[float, float]:
    """Returns where a marker goes on such a square."""
    return 80 + 24 * number, (36 if seats > 2 else 46) + 22 * seat


def _counters(id: str, left: float, symbols: str) -> str:
    tokens = [use(symbol, left + COUNTER_STEP * place, COUNTERS_TOP) for place, symbol in enumerate(symbols)]
    return f'<g id="rl-{id}">{"".join(tokens)}</g>'


def _blank(width: float, height: float) -> str:
    return box("rl-empty", 0.5, 0.5, width - 1, height - 1)


def _symbols() -> str:
    found: list[str] = []
    for kind, outline, letter, base in _TOKENS:
        shape = f'<path class="rl-token rl-is-{kind}" d="{outline}"/>'
        letter_css = "rl-letter rl-inverse" if kind == "leader" else "rl-letter"
        found.append(_scaled(TOKEN_IDS[kind], TOKEN / 24, shape + text(letter_css, 12, base, letter)))
    for small, large in (("n", "N"), ("h", "H"), ("v", "vp")):
        found.append(f'<g id="rl-{small}">{use(large, scale=0.8 if large != "vp" else 0.85)}</g>')
    corner = TILE_WIDTH - 1
    for icon, strokes in _ICONS:
        found.append(
            f'<g id="rl-t-{icon}">{box("rl-frame", 0.5, 0.5, TILE_WIDTH - 1, TILE_HEIGHT - 1)}'
            f'<path class="rl-strip-{icon}" d="M1 8.5A7.5 7.5 0 0 1 8.5 1H{corner - 7.5:g}A7.5 7.5 0 0 1 {corner} 8.5V29.5H1Z"/>'
            f'<g transform="translate(4 3)"><circle class="rl-chip rl-icon-{icon}" cx="12" cy="12" r="11.5"/>'
            f'<path class="rl-stroke" d="{strokes}"/></g></g>'
        )
    for name, strokes in _PICTURES:
        found.append(f'<path id="rl-p-{name}" class="rl-sketch" d="{strokes}"/>')
    for seat, shape in enumerate(_MARKERS):
        found.append(_scaled(f"s-{seat}", MARKER / 24, shape + text("rl-letter", 12, 16.6, str(seat))))
    slots = _slot(SLOT_LEFT, SLOT_TOP) + _slot(SLOT_LEFT + SLOT_STEP, SLOT_TOP)
    found.append(
        f'<g id="rl-slots">{slots}</g>'
        f'<g id="rl-open">{_blank(TILE_WIDTH, TILE_HEIGHT)}</g><g id="rl-flat">{_blank(TILE_WIDTH, FLAT_HEIGHT)}</g>'
        + _counters("goods", GOODS_LEFT, "WFSKDITMN")
        + _counters("leaders", LEADERS_LEFT, "L")
        + _counters("icons", ICONS_LEFT, "NH")
        + f'<path id="rl-rules" class="rl-rule" d="M{MARKERS_LEFT - 9} 52V70M{ICONS_LEFT - 9} 52V70"/>'
        f'<g id="rl-led">{use("L", TILE_WIDTH - 31, TILE_HEIGHT - 29, 1.3)}</g>'
        '<path id="rl-track" class="rl-vp" d="M20 47H75L82 61 75 75H20L13 61Z"/>'
        f'<g id="rl-store">{box("rl-frame", 0.5, 0.5, SQUARE_WIDTH - 1, SQUARE_HEIGHT - 1)}</g>'
        f'<g id="rl-plus">{text("rl-soft", 6, 70, "+")}</g>'
        f'<path id="rl-cost" class="rl-band" d="M1 {TILE_HEIGHT - 26}H{corner}V{TILE_HEIGHT - 8.5}a7.5 7.5 0 0 1-7.5 7.5H8.5'
        'a7.5 7.5 0 0 1-7.5-7.5Z"/>'
        f'<g id="rl-under">{box("rl-under", 0.5, 0.5, TILE_WIDTH - 1, TILE_HEIGHT - 1)}</g>'
        '<path id="rl-vp" class="rl-vp" d="M6 .5H24L29.5 12 24 23.5H6L.5 12Z"/>'
        '<pattern id="rl-back" width="12" height="12" patternUnits="userSpaceOnUse">'
        '<path class="rl-hatch" d="M0 12 12 0M-3 3 3-3M9 15 15 9"/></pattern>'
        f'<clipPath id="rl-name"><rect x="44" y="4" width="{NAME_WIDTH}" height="36"/></clipPath>'
    )
    return "".join(found)


SYMBOLS: Final = _symbols()
