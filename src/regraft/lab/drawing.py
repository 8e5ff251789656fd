"""Draws a figure as the paper has it: our means with their 95 % intervals, the paper's numbers marked as the paper's.

The paper's curves exist only as pictures, so what is drawn of it is what its text says: a value is a star, a range is
a band. Colours are those of Okabe and Ito, told apart by most eyes; series differ by marker as well. The SVG text
stays text, and nothing in the file depends on the day or on chance, so that a figure that has not changed makes no
diff.
"""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regraft.lab.experiment import Figure, Series
from regraft.lab.results import Result, of_series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
PAPER = "#555555"
SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "regraft",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "legend.frameon": False,
}
SIZE_INCHES = (6.4, 3.6)
MANY_POINTS = 25  # from here on the interval is a ribbon, and there are no markers


def svg(figure: Figure, results: Sequence[Result]) -> str:
    """The figure as the text of an SVG file."""
    import matplotlib  # here and below: its import takes longer than most commands of the lab

    out = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        _draw(figure, results).savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def _draw(figure: Figure, results: Sequence[Result]) -> "Canvas":
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=SIZE_INCHES, layout="constrained")
    axes = canvas.subplots()
    drawn = [series for series in figure.series if series.drawn]
    said = False
    for number, series in enumerate(drawn):
        points = [point for point in of_series(results, figure.name, series.name, series.metric) if point.runs]
        _draw_ours(axes, series, points, number)
        said |= _draw_papers(axes, points, number, said)
    for band in figure.bands:
        label = f"paper: {band.text}"
        if band.low == band.high:
            axes.axhline(band.low, color=PAPER, linestyle=":", linewidth=1.2, label=label)
        else:
            axes.axhspan(band.low, band.high, color=PAPER, alpha=0.12, linewidth=0, label=label)
    axes.set_title(f"Fig. {figure.name}. {figure.title}", loc="left", fontsize=9.5)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    canvas.legend(loc="outside lower center", ncols=2, fontsize=8)
    return canvas


def _draw_ours(axes: "Axes", series: Series, points: Sequence[Result], number: int) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    x = [_number(point.x) for point in points]
    mean = [_number(point.mean) for point in points]
    low = [_number(point.ci95_low, point.mean) for point in points]
    high = [_number(point.ci95_high, point.mean) for point in points]
    if len(points) >= MANY_POINTS:
        # The later ones are thinner: curves that coincide are all seen.
        axes.plot(x, mean, color=colour, linewidth=max(3.2 - 2 * number, 1.2), label=series.name)
        axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
        return
    below = [value - bound for value, bound in zip(mean, low, strict=True)]
    above = [bound - value for value, bound in zip(mean, high, strict=True)]
    axes.errorbar(
        x,
        mean,
        yerr=(below, above),
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.2,
        elinewidth=0.8,
        capsize=2,
        label=series.name,
    )


def _draw_papers(axes: "Axes", points: Sequence[Result], number: int, said: bool) -> bool:
    """The paper's values for this series, in the series' colour; whether there were any."""
    given = [point for point in points if point.paper is not None]
    if not given:
        return False
    axes.plot(
        [_number(point.x) for point in given],
        [_number(point.paper) for point in given],
        linestyle="none",
        marker="*",
        markersize=13,
        markerfacecolor=COLOURS[number % len(COLOURS)],
        markeredgecolor="black",
        label=None if said else "paper's value, in the series' colour",
        zorder=5,
    )
    return True


def _number(value: float | None, otherwise: float | None = None) -> float:
    chosen = value if value is not None else otherwise
    return float("nan") if chosen is None else chosen
