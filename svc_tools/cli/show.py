"""An answer for a person to read, in 80 columns, with colour or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from svc_tools.lookup import lacking, part_is_known

if TYPE_CHECKING:
    from decimal import Decimal

    from rich.console import Console

    from svc_sdk import Advisory, TaxResponse

__all__ = ["percent", "show_answer"]

_PARTS = (
    ("State", "state_rate"),
    ("County", "county_rate"),
    ("City", "city_rate"),
    ("Districts", "combined_district_rate"),
)
_CONFIDENCE = {
    "exact": ("green", "decided by an official boundary or location code"),
    "high": ("green", "official, and one jurisdiction only"),
    "medium": ("yellow", "likely, but check it where the amount matters"),
    "low": ("red", "do not rely on it without checking"),
    "none": ("red", "no rate could be stood by"),
}


def percent(rate: Decimal) -> str:
    """A rate as a percentage with at least two decimals and no idle zeros: 8.25 %, 8.625 %."""
    text = f"{(rate * 100).normalize():f}"
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(2, '0')} %"


def show_answer(console: Console, answer: TaxResponse, *, service: str, as_of: str | None) -> None:
    """Print place, rate, parts, confidence, warnings and source."""
    rate = answer.rate
    total = rate.combined_rate_decimal
    place = ", ".join(part for part in (rate.city, rate.county, rate.state) if part)
    console.print(f"[bold]{escape(' '.join(part for part in (place, rate.zip) if part))}[/]")
    shown = "no rate" if total is None else percent(total)
    day = escape(as_of) if as_of else "today"
    if lacking(answer):
        console.print(f"[bold yellow]{shown}[/]  [bold]PARTIAL: a part is not known[/], {day}")
    else:
        console.print(f"[bold cyan]{shown}[/]  combined, {day}")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(min_width=12)
    table.add_column(justify="right")
    for name, field in _PARTS:
        part = rate.as_decimal(field) if part_is_known(answer, field) else None
        table.add_row(name, "not known" if part is None else percent(part))
    freight = {True: "taxable", False: "not taxable"}.get(rate.freight_taxable is True)
    table.add_row("Delivery", freight if isinstance(rate.freight_taxable, bool) else "not known")
    console.print(Padding(table, (0, 0, 0, 2)))
    colour, meaning = _CONFIDENCE.get(answer.confidence or "", ("", ""))
    said = escape(answer.confidence or "not stated")
    console.print(
        f"Confidence  [{colour}]{said}[/]: {meaning}" if colour else f"Confidence  {said}"
    )
    for warning in answer.warnings:
        console.print(Padding(f"[yellow]![/] {escape(_sentence(warning))}", (0, 0, 0, 2)))
    console.print(f"Source      {escape(_source(answer, service))}")


def _sentence(warning: str | Advisory) -> str:
    if isinstance(warning, str):
        return warning
    extra = warning.model_extra or {}
    message = extra.get("message")
    return f"{message} ({warning.code})" if isinstance(message, str) else warning.code


def _source(answer: TaxResponse, service: str) -> str:
    extra = answer.meta.model_extra or {}
    edition = extra.get("edition")
    parts = [service, extra.get("source"), f"edition {edition}" if edition else None]
    if answer.meta.effective_date:
        parts.append(f"in force since {answer.meta.effective_date}")
    return ", ".join(str(part) for part in parts if part)
