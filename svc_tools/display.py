"""How results are shown: the card of a lookup.

The card is HTML without JavaScript. Its styles are inline and of plain values, because notebooks
that are not trusted keep no others; without any style it reads as text. All text from the service
is escaped.
"""

from __future__ import annotations

from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING

from svc_sdk._reading import (
    BASES,
    CONFIDENCE_MEANINGS,
    DECIDED_BY,
    PARTS,
    known_part,
    lacking,
    percent,
    sentence,
)
from svc_tools.shown import capital

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from svc_sdk.models import TaxResponse

_CONFIDENCE_COLORS = {"exact": "#1a7f37", "high": "#1a7f37", "medium": "#8a5a00", "low": "#cf2f26"}
_ALERT = "#cf2f26"
_PART_COLORS = {
    "state_rate": "#1f5f99",
    "county_rate": "#6b4a94",
    "city_rate": "#146c66",
    "combined_district_rate": "#98470f",
}
_OTHER_COLOR = "#57606a"
_ROOM_FOR_TEXT, _ROOM_FOR_RATE = Decimal(22), Decimal(9)
"""The share of the bar, in percent, from which a part's name and rate, or its rate, fit in."""
_CELL = "padding:2px 16px 2px 0;vertical-align:top;background:transparent"
_CAPTION = "text-align:left;font-weight:bold;padding:0"
_TABLE = "border-collapse:collapse;margin:0 0 8px 0"


def rate_headline(result: TaxResponse) -> str:
    """The rate in a few words: "8.25 %", "At least 6.25 %" if a part is missing, or "No rate"."""
    total = result.rate.combined_rate_decimal
    if total is None or result.confidence == "none":
        return "No rate"
    return f"At least {percent(total)}" if lacking(result) else percent(total)


def card(
    result: TaxResponse,
    *,
    day: str = "",
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> str:
    """The card of a lookup's result as HTML.

    Args:
        result: the result, of either mode.
        day: the day of the request, in words.
        facts: more about where the rate comes from: labels and values.
        notes: sentences that are shown before the service's own warnings.
        meanings: what the codes of warnings mean.
    """
    rate, headline = result.rate, rate_headline(result)
    place = ", ".join(part for part in (rate.city, rate.county, rate.state) if part)
    place = " ".join(part for part in (place, rate.zip) if part)
    what = "combined rate"
    if headline == "No rate":
        what = "the service gives none that it could stand by"
    if lacking(result):
        what = "known so far: not the whole rate"
    what = f"{what}, {day}" if day else what
    return (
        # the classes: JupyterLab sets what stands between two dollar signs as a formula
        '<div class="svc-card tex2jax_ignore mathjax_ignore"'
        ' style="max-width:720px;overflow-wrap:anywhere">'
        f'<p style="margin:0;font-weight:bold">{escape(place)}</p>'
        '<p style="margin:4px 0 8px 0"><span class="svc-rate" data-svc="rate"'
        f' style="font-size:32px;font-weight:bold">{escape(headline)}</span>'
        f" <span>{escape(what)}</span></p>"
        f"{_partial(result, meanings)}{_bar(result)}"
        '<div style="display:flex;flex-wrap:wrap;align-items:flex-start;gap:0px 24px">'
        f"{_parts(result)}{_grounds(result, facts)}</div>"
        f"{_warnings(result, notes, meanings)}</div>"
    )


def _partial(result: TaxResponse, meanings: Mapping[str, str] | None) -> str:
    codes = lacking(result)
    if not codes:
        return ""
    missing = "; ".join((meanings or {}).get(code, code.replace("_", " ")) for code in codes)
    return (
        '<p class="svc-partial" style="margin:0 0 8px 0;padding:6px 10px;'
        f'border:2px solid {_ALERT}">'
        f"<strong>PARTIAL: a part of the rate is not known.</strong> {escape(capital(missing))}."
        " Compute no tax from it before the rest is known.</p>"
    )


def _known(result: TaxResponse) -> list[tuple[str, Decimal | None, str]]:
    """Name, rate and color of each part; a country's only where it has one."""
    parts = [
        (name, known_part(result, field), _PART_COLORS.get(field, _OTHER_COLOR))
        for name, field in (("Country", "country_rate"), *PARTS)
    ]
    return parts if parts[0][1] else parts[1:]


def _bar(result: TaxResponse) -> str:
    """The parts next to each other, as wide as their share of the rate; the table says the same."""
    parts = [(name, part, color) for name, part, color in _known(result) if part and part > 0]
    whole = sum((part for _, part, _ in parts), Decimal(0))
    if not whole or rate_headline(result) == "No rate":
        return ""
    partial = bool(lacking(result))
    room = Decimal(75) if partial else Decimal(100)
    style = (
        "padding:8px 0;overflow:hidden;text-align:center;box-sizing:border-box;white-space:nowrap"
    )
    pieces = ""
    for name, part, color in parts:
        share = (part / whole * room).quantize(Decimal("0.01"))
        label = percent(part) if share >= _ROOM_FOR_RATE else "&nbsp;"
        label = f"{name} {label}" if share >= _ROOM_FOR_TEXT else label
        pieces += (
            f'<div style="width:{share}%;background-color:{color};color:#ffffff;{style};'
            f'text-overflow:ellipsis;border-right:1px solid #ffffff">{label}</div>'
        )
    if partial:
        pieces += f'<div style="flex:1;border:2px dashed {_ALERT};{style}">not known</div>'
    label = ", ".join(f"{name} {percent(part)}" for name, part, _ in parts)
    rest = ", and a part that is not known" if partial else ""
    return (
        f'<div class="svc-bar" role="img" aria-label="Parts of the rate: {escape(label)}{rest}"'
        f' style="display:flex;width:100%;margin:0 0 8px 0;font-size:12px">{pieces}</div>'
    )


def _parts(result: TaxResponse) -> str:
    rows = [
        (
            f'<span style="color:{color}">&#9632;</span> {name}',
            "not known" if part is None else percent(part),
        )
        for name, part, color in _known(result)
    ]
    total = result.rate.combined_rate_decimal
    # a figure of confidence "none" must not look like a rate
    summed = "no rate" if total is None or result.confidence == "none" else percent(total)
    last = "Known so far" if lacking(result) else "Combined"
    rows.append((f"<strong>{last}</strong>", f"<strong>{summed}</strong>"))
    return (
        f'<table class="svc-parts" style="{_TABLE}"><caption style="{_CAPTION}">Parts of the rate'
        f'</caption><thead><tr style="background:transparent"><th scope="col"'
        f' style="text-align:left;{_CELL}">Part</th><th scope="col"'
        f' style="text-align:right;{_CELL}">Rate</th></tr></thead>{_body(rows, "right")}</table>'
    )


def _grounds(result: TaxResponse, facts: Sequence[tuple[str, str]]) -> str:
    meta, extra = result.meta, result.meta.model_extra or {}
    level = result.confidence or "not stated"
    badge = (
        '<span class="svc-confidence" style="color:#ffffff;padding:1px 8px;border-radius:3px;'
        f'background-color:{_CONFIDENCE_COLORS.get(level, _ALERT)}">{escape(level)}</span>'
        f" {escape(CONFIDENCE_MEANINGS.get(level, ''))}"
    )
    basis, via, freight = meta.effective_date_basis, meta.resolved_via, result.rate.freight_taxable
    in_force = meta.effective_date or "not published"
    delivery = "not known whether taxable"
    if isinstance(freight, bool):
        delivery = "taxable" if freight else "not taxable"
    texts = [
        ("Decided by", DECIDED_BY.get(via, via) if via else "not stated"),
        ("In force since", f"{in_force} ({BASES.get(basis, basis)})" if basis else in_force),
        ("Source", str(extra.get("source") or "not stated")),
        ("Edition", str(extra.get("edition") or "not stated")),
        ("Delivery charges", delivery),
        *facts,
    ]
    rows = [("Confidence", badge), *((escape(name), escape(value)) for name, value in texts)]
    return (
        f'<table class="svc-grounds" style="{_TABLE};max-width:440px">'
        f'<caption style="{_CAPTION}">What it rests on</caption>{_body(rows, "left")}</table>'
    )


def _body(rows: Iterable[tuple[str, str]], align: str) -> str:
    """Rows of a head and a cell, which are markup already."""
    head = f"text-align:left;{_CELL};font-weight:normal;white-space:nowrap"
    cells = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{head}">{name}</th>'
        f'<td style="text-align:{align};{_CELL}">{value}</td></tr>'
        for name, value in rows
    )
    return f"<tbody>{cells}</tbody>"


def _warnings(result: TaxResponse, notes: Sequence[str], meanings: Mapping[str, str] | None) -> str:
    texts = [*notes, *(sentence(warning, meanings) for warning in result.warnings)]
    if not texts:
        return '<p style="margin:0">The service has no warnings.</p>'
    items = "".join(f"<li>{escape(capital(text))}</li>" for text in texts)
    return (
        '<p style="margin:0;font-weight:bold">Warnings</p>'
        f'<ul class="svc-warnings" style="margin:0;padding-left:20px">{items}</ul>'
    )
