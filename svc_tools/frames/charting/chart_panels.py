"""What the chart of tax by state shows: its panels, its bars and the words for them; no drawing."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.frames.reports.rate_notes import RATE_NOTE_SHORT
from svc_tools.frames.reports.summary_words import exact_dollars, other_date_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.frames.summary import Summary

__all__ = ["Bar", "Panel", "Style", "described", "headline_of", "notes_of", "panels_of"]

_OTHER = "other"
_SURE = ("exact", "high", "medium")
_OTHER_NOTE = (
    "other: no state of the 50 and DC is named (a territory, military, abroad, or missing)."
)


class Style(NamedTuple):
    """How one kind of bar looks: told apart by hatch and by name, not by colour alone."""

    name: str
    fill: str
    edge: str
    hatch: str


_TAX = Style("whole rate", "#0072b2", "#0072b2", "")
_PARTIAL_TAX = Style("partial rate: a lower bound", "#ffffff", "#0072b2", "////")
_UNTAXED = Style(
    "partial rate: its local or district part is not known", "#fdf0d5", "#b35900", "////"
)
_OPEN = Style("no rate, or no usable amount", "#ffffff", "#57606a", "....")


class Bar(NamedTuple):
    """One state's bar: its parts, from the axis outwards."""

    state: str
    parts: tuple[tuple[Style, Decimal], ...]

    @property
    def total(self) -> Decimal:
        """The length of the bar, US dollars."""
        return sum((value for _, value in self.parts), Decimal(0))


class Panel(NamedTuple):
    """Bars on one scale, under one title."""

    title: str
    axis: str
    bars: tuple[Bar, ...]

    @property
    def styles(self) -> tuple[Style, ...]:
        """The kinds of bars it has, in order."""
        return tuple(dict.fromkeys(style for bar in self.bars for style, _ in bar.parts))


def panels_of(summary: Summary) -> tuple[Panel, ...]:
    """The panels that have something to show."""
    panels = (
        Panel(
            "Tax computed",
            "Tax, US dollars",
            _bars((state.state, ((_TAX, state.totals.tax),)) for state in summary.states),
        ),
        Panel(
            "Tax from partial rates",
            "Tax, US dollars (own scale)",
            _bars(
                (state.state, ((_PARTIAL_TAX, state.totals.partial_tax),))
                for state in summary.states
            ),
        ),
        Panel(
            "Sales with no tax computed",
            "Sales, US dollars (own scale)",
            _bars(
                (
                    state.state,
                    ((_UNTAXED, state.totals.untaxed_sales), (_OPEN, state.totals.open_sales)),
                )
                for state in summary.states
            ),
        ),
    )
    return tuple(panel for panel in panels if panel.bars)


def _bars(states: Iterable[tuple[str, tuple[tuple[Style, Decimal], ...]]]) -> tuple[Bar, ...]:
    """Bars from the largest to the smallest, rows of no state last; what is 0 has no bar."""
    bars = [
        Bar(state or _OTHER, tuple(part for part in parts if part[1])) for state, parts in states
    ]
    shown = [bar for bar in bars if bar.parts]
    return tuple(sorted(shown, key=lambda bar: (bar.state == _OTHER, -bar.total, bar.state)))


def headline_of(summary: Summary) -> list[str]:
    """What it all came to, line by line."""
    totals = summary.money
    if totals is None or not totals.rows:
        return ["No rows."]
    tax, sales = exact_dollars(totals.tax), exact_dollars(totals.taxed_sales)
    lines = [f"{tax} tax on {sales} of sales at whole rates."]
    doubtful = sum(
        (part.tax for part in summary.tax_by_confidence if part.confidence not in _SURE), Decimal(0)
    )
    if doubtful:
        lines.append(f"Of this tax, {exact_dollars(doubtful)} rests on rates of low confidence.")
    if totals.partial_tax:
        lines.append(
            f"{exact_dollars(totals.partial_tax)} tax from partial rates, which is a lower bound."
        )
    if totals.partial_rows or totals.open_rows:
        without = totals.untaxed_sales + totals.open_sales
        lines.append(f"{exact_dollars(without)} of sales has no tax computed.")
    return lines


def notes_of(summary: Summary) -> list[str]:
    """What must be known to read the chart, the gravest first."""
    dated = other_date_sentence(summary)
    said = [] if dated is None else [dated]
    free = _rate_zero(summary)
    if free:
        said.append(f"Tax of 0.00, no bar: {', '.join(free)}.")
    if any(bar.state == _OTHER for panel in panels_of(summary) for bar in panel.bars):
        said.append(_OTHER_NOTE)
    return [*said, RATE_NOTE_SHORT]


def _rate_zero(summary: Summary) -> list[str]:
    """States whose whole-rate rows come to no tax (most often those without a sales tax)."""
    return [
        state.state or _OTHER
        for state in summary.states
        if state.totals.whole_rows and not state.totals.tax
    ]


def described(summary: Summary) -> str:
    """The text alternative: headline, each panel's figures, the notes."""
    lines = [" ".join(["Sales tax by state.", *headline_of(summary)])]
    for panel in panels_of(summary):
        for style in panel.styles:
            bars = ", ".join(
                f"{bar.state} {exact_dollars(value)}"
                for bar in panel.bars
                for kind, value in bar.parts
                if kind == style
            )
            lines.append(f"{panel.title} ({style.name}): {bars}.")
    return "\n".join([*lines, *notes_of(summary)])
