"""Converts a matplotlib figure to SVG inside a page, with the page's fonts and colours and no external resources.

Colours are drawn as placeholders and replaced by CSS variables, so that one drawing works in light, dark and print. The same
figure gives the same text: ids are salted with the plot's name, and no date is written.
"""

import io
import re
import warnings
from collections.abc import Callable
from html import escape
from typing import Any, Final, TypeVar, cast

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: Placeholder colours, and the CSS variables that replace them.
INK: Final = "#010101"
MUTED: Final = "#020202"
GRID: Final = "#030303"
PAPER: Final = "#040404"
GOOD: Final = "#050505"
BAD: Final = "#060606"
_VARIABLES: Final = {
    INK: "--ink", MUTED: "--muted", GRID: "--line", PAPER: "--paper", GOOD: "--good", BAD: "--bad",
}  # fmt: skip

_STYLE: Final[dict[str, Any]] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read aloud
    "text.parse_math": False,  # a bot may be called $x$
    "font.size": 10.0,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib and is wide, so the page's font will fit
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9.5,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.unicode_minus": True,
    "xtick.color": GRID,
    "ytick.color": GRID,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 10.0,
    "ytick.major.size": 0.0,
    "xtick.major.size": 3.0,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "path.simplify": True,
}
T = TypeVar("T")
_TAG: Final = re.compile(r"<[^<>]*>")
_COLOUR: Final = re.compile("|".join(_VARIABLES))


def draw(name: str, described: str, plot: Callable[[T], Figure | None], shown: T) -> Markup | None:
    """The figure as an ``<svg>`` with a text description; None if there is no figure."""
    with warnings.catch_warnings(), mpl.rc_context(cast(Any, _STYLE | {"svg.hashsalt": name})):
        # Text is only measured here; the page has fonts for every script.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        figure = plot(shown)
        if figure is None:
            return None
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    # Safe: matplotlib escapes all text, which a test checks.
    return Markup(_for_page(buffer.getvalue(), name, described))


def _for_page(svg: str, name: str, described: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = _TAG.sub(lambda found: _tag(found[0], name), svg)
    svg = re.sub(r">\s+<", "><", svg)
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0]
    opening = (
        f'<svg class="plot" role="img" aria-label="{escape(described)}" viewBox="0 0 {width} {height}" '
        f'style="--wide:{float(width) * 4 / 3:.0f}px">'
    )
    return opening + svg[svg.index(">") + 1 :].strip()


def _tag(tag: str, name: str) -> str:
    """Rewrite the inside of a tag only: names of bots are text between tags and stay unchanged."""
    tag = _COLOUR.sub(lambda found: f"var({_VARIABLES[found[0]]})", tag)
    tag = re.sub(r' id="[A-Za-z.]+_\d+"', "", tag)  # figure_1, axes_1, …: every plot has them, and they are not used
    tag = re.sub(r" font-family: [^;\"]*;| transform=\"rotate\(-0 [^)]*\)\"", "", tag)
    tag = re.sub(r"(\.\d\d)\d+", r"\1", tag)
    tag = re.sub(r'(xlink:)?href="#', f'href="#{name}-', tag)
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    return re.sub(r"url\(#", f"url(#{name}-", tag)


def sheet(width: float, height: float, *, left: float, right: float, top: float, bottom: float) -> tuple[Figure, Axes]:
    """A figure with one drawing area; all lengths in inches."""
    figure = Figure(figsize=(width, height))
    area = (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    return figure, figure.add_axes(area)
