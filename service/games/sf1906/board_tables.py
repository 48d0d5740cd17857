"""The heading, the Year Board, the development board, and the rows of cards."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from html import escape
from typing import Final

from service.games.sf1906 import box
from service.games.sf1906.board_shapes import (
    GAP,
    INNER,
    MARGIN,
    back_body,
    box_of,
    colour_of,
    definitions,
    edition_of,
    gap_body,
    name_of,
    objective_card,
    objective_points,
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
from service.games.sf1906.view import View

#: What the player to act is about to do, after the name.
_ASKED: Final = {
    "earn": "chooses earnings",
    "benefit": "chooses a benefit",
    "place": "places the pawn",
    "permit": "takes a permit",
    "objective": "takes an objective",
    "clear": "clears up",
    "discard": "chooses permits",
    "at": "chooses a space",
    "reward": "may take a service",
}
_BENEFIT_WORDS: Final = {
    "building-and-permit": "a building and a permit",
    "objective": "an objective",
    "permit": "a permit",
    "materials": "a building for the hand",
    "development": "a step on the development board",
    "build": "a build",
}
_BENEFIT_LABELS: Final = {
    "building-and-permit": "building and permit",
    "objective": "objective",
    "permit": "permit",
    "materials": "materials",
    "development": "step right",
    "build": "build",
}
_BENEFIT_SYMBOLS: Final = {"development": "urban-development", "building-and-permit": "materials"}
_MINUS: Final = "−"
_CELL: Final = 44
DEVELOPMENT_WIDTH: Final = 7 * _CELL
_HEADING: Final = 26
_ROW_WIDTH: Final = INNER - DEVELOPMENT_WIDTH - GAP
_DECK: Final = 86
_LINE: Final = 32
_LINE_STEP: Final = _LINE + 6
#: The key: symbols and words.
_KEY: Final = (
    ("materials", "materials"),
    ("permit", "permit"),
    ("objective", "objective"),
    ("clear-up", "clear up"),
    ("urban-development", "develop"),
    ("build", "build"),
    ("grant-build", "with grant"),
    ("rubble", "rubble"),
    ("lighting", "lighting"),
    ("cable-car", "cable car"),
    ("hydrant", "hydrant"),
    ("park", "park"),
)


def signed(number: int) -> str:
    """Returns a number with a real minus sign."""
    return f"{_MINUS}{-number}" if number < 0 else str(number)


def status_words(view: View, names: Sequence[str]) -> str:
    """Returns who is to act and what for, in words."""
    if view.to_act is None:
        return "The game is over"
    with_permits = f" for {' and '.join(view.discarded)}" if view.discarded else ""
    return f"{name_of(view, names, view.to_act)} {_ASKED[view.phase]}{with_permits}"


# ---------------------------------------------------------------------------------------------------------------- heading
def heading(view: View, names: Sequence[str], top: int) -> tuple[str, int]:
    """Title, order of play, and who is to act."""
    edition = edition_of(view)
    drawn = [text(MARGIN, top + 26, "1906 San Francisco", "sf-title")]
    drawn.append(text(MARGIN + INNER, top + 26, edition.title.split(", ")[1], "sf-e sf-m"))
    y = top + 40
    drawn.append(f'<g data-part="status" role="img" transform="translate({MARGIN} {y})">')
    drawn.append(f"<title>{escape(status_words(view, names), quote=False)}</title>{box_of(INNER, 44, 'sf-banner', 8)}")
    if view.to_act is None:
        drawn.append(text(16, 29, "The game is over", "sf-b sf-w sf-inv"))
    else:
        name = escape(shown_name(view, names, view.to_act, 19), quote=False)
        asked = _ASKED[view.phase]
        drawn.append(token(view, view.to_act, 26, 22))
        drawn.append(
            f'<g clip-path="url(#sf-clip-status)" transform="translate(52 29)"><text class="sf-b sf-w sf-inv">{name}</text></g>'
        )
        drawn.append(text(INNER - 4 - 40 * len(view.order) - 10, 29, asked, "sf-e sf-inv"))
    for place, who in enumerate(view.order if view.to_act is not None else ()):
        x = INNER - 4 - 40 * (len(view.order) - place) + 18
        if place == view.turn:
            drawn.append(f'<rect class="sf-turn" x="{x - 19}" y="2" width="38" height="40" rx="6"/>')
        drawn.append(token(view, who, x, 22, "" if place >= view.turn else ".72"))
    drawn.append("</g>")
    return "".join(drawn), 40 + 44


# ------------------------------------------------------------------------------------------------------------- Year Board
def year_board(view: View, marked: Collection[str], top: int) -> tuple[str, int]:
    """The years with their building costs, the earnings area, and the benefits of the current year."""
    edition = edition_of(view)
    between = 6
    width = (INNER + between) // (box.FINAL + 1) - between
    drawn: list[str] = []
    current = 0
    for year, cost in enumerate(box.YEAR_COST):
        name = edition.year_name(year)
        is_now = name == view.year
        if is_now:
            current = year
        kinds = " or ".join(_benefit_words(year, kind) for kind in box.YEAR_BENEFITS[year])
        title = f"{name}{', the current year' if is_now else ''}: a building costs ${cost}; benefit: {kinds}"
        ink = " sf-inv" if is_now else ""
        body = box_of(width, 52, "sf-f sf-yearnow" if is_now else "sf-f sf-card")
        body += text(width // 2, 22, name, f"sf-c sf-n{ink}")
        body += text(width // 2, 43, f"build ${cost}", f"sf-c{ink or ' sf-m'}")
        drawn.append(
            part(f"year:{name}", title, body, marked, (MARGIN + year * (INNER + between) // (box.FINAL + 1), top))
        )
    y = top + 52 + GAP
    drawn.append(text(MARGIN, y + 17, "Earnings", "sf-h"))
    for place, amount in enumerate(box.EARNING_SPACES):
        drawn.append(_earning(view, marked, place, amount, (MARGIN + place * 84, y + _HEADING)))
    left = MARGIN + 4 * 84 + 8
    drawn.append(text(left, y + 17, f"Benefit of {view.year}", "sf-h"))
    kinds_now = box.YEAR_BENEFITS[current]
    width = (MARGIN + INNER - left - between * (len(kinds_now) - 1)) // len(kinds_now)
    for place, kind in enumerate(kinds_now):
        at = (left + place * (width + between), y + _HEADING)
        drawn.append(_benefit(current, kind, width, marked, at))
    return "".join(drawn), 52 + GAP + _HEADING + 44


def _earning(view: View, marked: Collection[str], place: int, amount: int, at: tuple[int, int]) -> str:
    is_open = view.card is None and view.year != edition_of(view).final_year
    pawn = next((who for who, player in enumerate(view.players) if is_open and player.pawn == place), None)
    blocked = view.solo is not None and view.solo.blocked == amount
    state = "blocked" if blocked else "empty" if pawn is None else f"pawn of {colour_of(view, pawn)}"
    body = box_of(78, 44, "sf-f sf-slot sf-open" if is_open else "sf-f sf-slot")
    body += text(10, 29, f"${amount}", "sf-n")
    if pawn is not None:
        body += token(view, pawn, 57, 22)
    elif blocked:
        body += '<path class="sf-cross" d="M47 12 67 32M67 12 47 32"/>'
    else:
        body += f'<circle class="{"sf-hole" if is_open else "sf-dot"}" cx="57" cy="22" r="{14 if is_open else 4}"/>'
    return part(f"earn:{amount}", f"Earnings area, ${amount}: {state}", body, marked, at)


def _money_benefit(year: int) -> str:
    each = box.YEAR_MONEY_EACH[year]
    return f"${each} a building" if each else f"${box.YEAR_MONEY[year]}"


def _benefit_words(year: int, kind: int) -> str:
    return _money_benefit(year) if kind == box.GAIN_MONEY else _BENEFIT_WORDS[box.BENEFITS[kind]]


def _benefit(year: int, kind: int, width: int, marked: Collection[str], at: tuple[int, int]) -> str:
    name = box.BENEFITS[kind]
    body = box_of(width, 44, "sf-f sf-slot")
    if kind == box.GAIN_MONEY and box.YEAR_MONEY_EACH[year]:
        body += text(10, 29, f"${box.YEAR_MONEY_EACH[year]}", "sf-n") + text(38, 28, "each")
        body += use("build", width - 21, 22)
    elif kind == box.GAIN_MONEY:
        body += text(width // 2, 29, f"${box.YEAR_MONEY[year]}", "sf-c sf-n")
    else:
        symbol = _BENEFIT_SYMBOLS.get(name, name)
        body += use(symbol, 20, 22) + text(39, 28, _BENEFIT_LABELS[name])
    return part(f"benefit:{name}", f"Benefit: {_benefit_words(year, kind)}", body, marked, at)


# ------------------------------------------------------------------------------------------------------ development board
@lru_cache(1)
def _development_ground() -> str:
    """The squares, tinted by the sign of their points, with the green column and the orange row beside them."""
    paths = {"sf-loss": "", "sf-even": "", "sf-gain": "", "sf-green": "", "sf-orange": ""}
    lines = "".join(f"M{step * _CELL} 0v{7 * _CELL}M0 {step * _CELL}h{7 * _CELL}" for step in range(1, 7))
    for row, values in enumerate(box.DEVELOPMENT):
        y = (box.TOP - row) * _CELL
        paths["sf-green"] += f"M4 {y}h37v{_CELL}h-37z"
        signs = [(value > 0) - (value < 0) for value in values]
        for sign, look in ((-1, "sf-loss"), (0, "sf-even"), (1, "sf-gain")):
            if sign in signs:  # values grow to the right, so equal signs stand together
                x, across = (1 + signs.index(sign)) * _CELL, signs.count(sign) * _CELL
                paths[look] += f"M{x} {y}h{across}v{_CELL}h-{across}z"
    paths["sf-orange"] = f"M{_CELL} {6 * _CELL + 3}h{6 * _CELL}v37h-{6 * _CELL}z"
    shapes = "".join(f'<path class="{look}" d="{path}"/>' for look, path in paths.items())
    arrows = use("clear-up", 13, 6 * _CELL + 16, ".7") + use("urban-development", 31, 6 * _CELL + 31, ".7")
    return f'{shapes}<path class="sf-grid" d="{lines}"/>{arrows}'


def development(view: View, names: Sequence[str], marked: Collection[str], left: int, top: int) -> tuple[str, int]:
    """Six columns and six rows, counted from the bottom left."""
    places: dict[tuple[int, int], list[int]] = {}
    for who, player in enumerate(view.players):
        places.setdefault((player.development_column, player.development_row), []).append(who)
    drawn: list[str] = []
    tokens: list[str] = []
    for row, values in enumerate(box.DEVELOPMENT):
        y = (box.TOP - row) * _CELL
        drawn.append(text(_CELL // 2, y + 28, str(box.GREEN_COLUMN[row])))
        for column, value in enumerate(values):
            x = (1 + column) * _CELL
            here = places.get((column, row), [])
            if not here:
                drawn.append(text(x + 22, y + 28, signed(value)))
            elif len(here) < 3:
                drawn.append(text(x + 13, y + 16, signed(value), "sf-k"))
            for index, who in enumerate(here):
                dx, dy, scale = _spot(index, len(here))
                title = f"Development marker of {name_of(view, names, who)}, {colour_of(view, who)}: "
                title += f"column {column}, row {row}, {view.players[who].development_points} points"
                tokens.append(
                    part(f"development:{who}", title, token(view, who, 0, 0, scale), marked, (x + dx, y + dy))
                )
    for column, value in enumerate(box.ORANGE_ROW):
        drawn.append(text((1 + column) * _CELL + 22, 6 * _CELL + 28, str(value)))
    words = "Development board: clear up moves a marker up, urban development moves it right"
    ground = f'<g class="sf-c" aria-hidden="true">{_development_ground()}{"".join(drawn)}</g>'
    board = part("development", words, ground + "".join(tokens), marked, (left, top + _HEADING), role="group")
    return text(left, top + 17, "Development", "sf-h") + board, _HEADING + 7 * _CELL


def _spot(index: int, count: int) -> tuple[int, int, str]:
    """Where a marker stands in its square, and how large it is."""
    if count == 1:
        return 29, 28, ".78"
    if count == 2:
        return 12 + 21 * index, 31, ".7"
    return 12 + 20 * (index % 2), 12 + 20 * (index // 2), ".62"


def services(view: View, marked: Collection[str], left: int, top: int) -> tuple[str, int]:
    """The urbanism cards that are left."""
    drawn = [text(left, top + 17, "Urbanism cards left", "sf-h")]
    width = (DEVELOPMENT_WIDTH - 3 * 6) // 4
    for index, icon in enumerate(box.ICONS):
        count = view.urbanism[index]
        points = ", ".join(str(value) for value in box.URBANISM_POINTS[index])
        cost = f", cost ${box.URBANISM_COST[index]}" if box.URBANISM_COST[index] else ""
        title = f"Urbanism cards, {icon}: {count} left{cost}; points {points}"
        body = box_of(width, 44, "sf-f sf-slot") + use(icon, 22, 22) + text(width - 14, 29, str(count), "sf-e sf-n")
        drawn.append(part(f"urbanism:{icon}", title, body, marked, (left + index * (width + 6), top + _HEADING)))
    return "".join(drawn), _HEADING + 44


# ------------------------------------------------------------------------------------------------------------------- rows
def rows(view: View, marked: Collection[str], left: int, top: int) -> tuple[str, int]:
    """Permits and objectives on offer, and the objectives all players share."""
    drawn = [definitions(striped("line", _ROW_WIDTH, _LINE)), text(left, top + 17, "Permits", "sf-h")]
    width, height = (_ROW_WIDTH - 4 * 6) // 5, 70
    y = top + _HEADING
    for slot, name in enumerate(view.permit_row):
        title = permit_words(name) if name else "no card"
        body = permit_body(name, width, height) if name else gap_body(width, height)
        title = f"Row of permits, slot {slot}: {title}"
        drawn.append(part(f"permit-row:{slot}", title, body, marked, (left + slot * (_ROW_WIDTH + 6) // 5, y)))
    at = (left + 3 * (_ROW_WIDTH + 6) // 5, y)
    title = f"Deck of permits: {view.permit_deck} cards, reshuffled {view.reshuffles} times"
    drawn.append(part("permit-deck", title, back_body(width, height, view.permit_deck, "deck"), marked, at))
    title = f"Discarded permits: {', '.join(view.permit_discards) or 'none'}"
    body = gap_body(width, height) + text(width // 2, 34, str(len(view.permit_discards)), "sf-c sf-n")
    body += text(width // 2, 54, "used", "sf-c sf-m")
    drawn.append(part("permit-discards", title, body, marked, (left + _ROW_WIDTH - width, y)))
    y += height + GAP
    drawn.append(text(left, y + 17, "Objectives", "sf-h"))
    deck = box_of(_DECK, 26, "sf-f sf-back") + text(_DECK // 2, 19, f"deck {view.objective_deck}", "sf-c sf-inv")
    title = f"Deck of objectives: {view.objective_deck} cards"
    drawn.append(part("objective-deck", title, deck, marked, (left + _ROW_WIDTH - _DECK, y - 5)))
    y += _HEADING
    for slot, name in enumerate(view.objective_row):
        title = f"Row of objectives, slot {slot}: {objective_words(view, name) if name else 'no card'}"
        body = _objective_line(view, name)
        drawn.append(part(f"objective-row:{slot}", title, body, marked, (left, y)))
        y += _LINE_STEP
    y += GAP - 4
    drawn.append(text(left, y + 17, "Common objectives", "sf-h"))
    y += _HEADING
    for name in view.common_objectives:
        title = f"Common to all players: {objective_words(view, name)}"
        drawn.append(part(f"common:{name}", title, _objective_line(view, name), marked, (left, y)))
        y += _LINE_STEP
    return "".join(drawn), y + _LINE - _LINE_STEP - top


def _objective_line(view: View, name: str) -> str:
    if not name:
        return gap_body(_ROW_WIDTH, _LINE)
    card = objective_card(view, name)
    words = card.name.split(" of the ")[0]
    return (
        use(f"line-{card.frame}")
        + text(17, 22, name, "sf-m")
        + text(62, 22, words)
        + text(_ROW_WIDTH - 10, 22, objective_points(view, card), "sf-e sf-b")
    )


def key(columns: int, width: int, at: tuple[int, int]) -> tuple[str, int]:
    """What the symbols mean."""
    drawn = [f'<g transform="translate({at[0]} {at[1]})">']
    step = width // columns
    for index, (symbol, words) in enumerate(_KEY):
        x, y = index % columns * step, index // columns * 32
        drawn.append(use(symbol, x + 14, y + 16) + text(x + 36, y + 22, words))
    drawn.append("</g>")
    return "".join(drawn), 32 * (len(_KEY) // columns)
