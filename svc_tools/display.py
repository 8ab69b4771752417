"""An answer as HTML: a card without JavaScript, which untrusted notebooks show, too.

Its styles are inline and of plain values, because those pages keep no others; where even they are
dropped it reads as text. Everything that the service said is escaped. Pure.
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc_sdk.models import TaxResponse

__all__ = ["card", "headline"]

_COLOURS = {"exact": "#1a7f37", "high": "#1a7f37", "medium": "#8a5a00", "low": "#cf2f26"}
_UNSURE = "#cf2f26"
_OF_PART = {
    "state_rate": "#1f5f99",
    "county_rate": "#6b4a94",
    "city_rate": "#146c66",
    "combined_district_rate": "#98470f",
}
_OF_REST = "#57606a"
_ROOM_FOR_TEXT, _ROOM_FOR_RATE = Decimal(22), Decimal(9)
"""The share of the bar, in per cent, from which a part's name and rate, or its rate, fit in."""
_CELL = "text-align:left;padding:2px 16px 2px 0;vertical-align:top;background:transparent"
_NUMBER = "text-align:right;padding:2px 16px 2px 0;vertical-align:top;background:transparent"


def headline(answer: TaxResponse) -> str:
    """The rate in a few words; of a partial answer no whole rate."""
    total = answer.rate.combined_rate_decimal
    if total is None or answer.confidence == "none":
        return "No rate"
    return f"At least {percent(total)}" if lacking(answer) else percent(total)


def card(
    answer: TaxResponse,
    *,
    day: str = "",
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    meanings: Mapping[str, str] | None = None,
) -> str:
    """The card of an answer, of either mode.

    Args:
        answer: the answer.
        day: the day that was asked for, in words.
        facts: more to say of where it comes from: what, and the words.
        notes: more sentences for the reader's attention, before the service's own.
        meanings: what the codes of warnings mean.
    """
    rate = answer.rate
    place = ", ".join(part for part in (rate.city, rate.county, rate.state) if part)
    place = " ".join(part for part in (place, rate.zip) if part)
    what = "combined rate"
    if lacking(answer):
        what = "known so far: not the whole rate"
    elif headline(answer) == "No rate":
        what = "the service gives none that it could stand by"
    said = escape(f"{what}, {day}" if day else what)
    return (
        # the classes: what stands between two dollar signs is money to it, not a formula
        '<div class="svc-card tex2jax_ignore mathjax_ignore"'
        ' style="max-width:720px;overflow-wrap:anywhere">'
        f'<p style="margin:0;font-weight:bold">{escape(place)}</p>'
        '<p style="margin:4px 0 8px 0"><span class="svc-rate" data-svc="rate"'
        f' style="font-size:32px;font-weight:bold">{escape(headline(answer))}</span>'
        f" <span>{said}</span></p>"
        f"{_partial(answer, meanings)}{_bar(answer)}"
        '<div style="display:flex;flex-wrap:wrap;align-items:flex-start;gap:0px 24px">'
        f"{_parts(answer)}{_grounds(answer, facts)}</div>"
        f"{_warnings(answer, notes, meanings)}</div>"
    )


def _partial(answer: TaxResponse, meanings: Mapping[str, str] | None) -> str:
    codes = lacking(answer)
    if not codes:
        return ""
    missing = "; ".join((meanings or {}).get(code, code.replace("_", " ")) for code in codes)
    return (
        '<p class="svc-partial" style="margin:0 0 8px 0;padding:6px 10px;'
        f'border:2px solid {_UNSURE}">'
        f"<strong>PARTIAL: a part of the rate is not known.</strong> {escape(_capital(missing))}."
        " Compute no tax from it before the rest is known.</p>"
    )


def _known(answer: TaxResponse) -> list[tuple[str, str, Decimal | None]]:
    known = [(name, field, known_part(answer, field)) for name, field in PARTS]
    country = known_part(answer, "country_rate")
    return [*([("Country", "country_rate", country)] if country else []), *known]


def _bar(answer: TaxResponse) -> str:
    """The parts side by side, as wide as their share of the rate; the table says the same."""
    parts = [(name, field, part) for name, field, part in _known(answer) if part and part > 0]
    whole = sum((part for _, _, part in parts), Decimal(0))
    if not whole or headline(answer) == "No rate":
        return ""
    partial = bool(lacking(answer))
    room = Decimal(75) if partial else Decimal(100)
    pieces = []
    for name, field, part in parts:
        share = (part / whole * room).quantize(Decimal("0.01"))
        label = percent(part) if share >= _ROOM_FOR_RATE else "&nbsp;"
        label = f"{name} {label}" if share >= _ROOM_FOR_TEXT else label
        pieces.append(_piece(share, _OF_PART.get(field, _OF_REST), label))
    if partial:
        style = (
            f"flex:1;padding:6px 0;overflow:hidden;border:2px dashed {_UNSURE};text-align:center;"
            "box-sizing:border-box;white-space:nowrap"
        )
        pieces.append(f'<div style="{style}">not known</div>')
    said = ", ".join(f"{name} {percent(part)}" for name, _, part in parts)
    rest = ", and a part that is not known" if partial else ""
    return (
        f'<div class="svc-bar" role="img" aria-label="Parts of the rate: {escape(said)}{rest}"'
        f' style="display:flex;width:100%;margin:0 0 8px 0;font-size:12px">{"".join(pieces)}</div>'
    )


def _piece(share: Decimal, colour: str, label: str) -> str:
    style = (
        f"width:{share}%;background-color:{colour};color:#ffffff;padding:8px 0;overflow:hidden;"
        "text-align:center;white-space:nowrap;text-overflow:ellipsis;"
        "border-right:1px solid #ffffff;box-sizing:border-box"
    )
    return f'<div style="{style}">{label}</div>'


def _parts(answer: TaxResponse) -> str:
    rows = [
        (name, "not known" if part is None else percent(part), _OF_PART.get(field, _OF_REST))
        for name, field, part in _known(answer)
    ]
    total = answer.rate.combined_rate_decimal
    last = "Known so far" if lacking(answer) else "Combined"
    body = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{_CELL};font-weight:normal">'
        f'<span style="color:{colour}">&#9632;</span> {name}</th>'
        f'<td style="{_NUMBER}">{escape(shown)}</td></tr>'
        for name, shown, colour in rows
    )
    # a figure of no confidence must not stand there like a rate
    summed = "no rate" if total is None or answer.confidence == "none" else percent(total)
    return (
        '<table class="svc-parts" style="border-collapse:collapse;margin:0 0 8px 0">'
        '<caption style="text-align:left;font-weight:bold;padding:0">Parts of the rate</caption>'
        f'<thead><tr style="background:transparent"><th scope="col" style="{_CELL}">Part</th>'
        f'<th scope="col" style="{_NUMBER}">Rate</th></tr></thead><tbody>{body}'
        f'<tr style="background:transparent"><th scope="row" style="{_CELL}">{last}</th>'
        f'<td style="{_NUMBER};font-weight:bold">{escape(summed)}</td></tr></tbody></table>'
    )


def _grounds(answer: TaxResponse, facts: Sequence[tuple[str, str]]) -> str:
    meta, extra = answer.meta, answer.meta.model_extra or {}
    level = answer.confidence or "not stated"
    meaning = CONFIDENCE_MEANINGS.get(level, "")
    badge = (
        f'<span class="svc-confidence" style="background-color:{_COLOURS.get(level, _UNSURE)};'
        f'color:#ffffff;padding:1px 8px;border-radius:3px">{escape(level)}</span> {escape(meaning)}'
    )
    basis = meta.effective_date_basis
    words = "" if basis is None else BASES.get(basis, basis)
    in_force = meta.effective_date or "not published"
    via = meta.resolved_via
    delivery = {True: "taxable", False: "not taxable"}.get(answer.rate.freight_taxable is True)
    if not isinstance(answer.rate.freight_taxable, bool):
        delivery = "not known whether taxable"
    rows = [
        ("Confidence", badge),
        ("Decided by", escape(DECIDED_BY.get(via, via) if via else "not stated")),
        ("In force since", escape(f"{in_force} ({words})" if words else in_force)),
        ("Source", escape(str(extra.get("source") or "not stated"))),
        ("Edition", escape(str(extra.get("edition") or "not stated"))),
        ("Delivery charges", escape(str(delivery))),
        *((escape(name), escape(value)) for name, value in facts),
    ]
    body = "".join(
        f'<tr style="background:transparent"><th scope="row" style="{_CELL};font-weight:normal;'
        f'white-space:nowrap">{name}</th><td style="{_CELL}">{value}</td></tr>'
        for name, value in rows
    )
    return (
        '<table class="svc-grounds" style="border-collapse:collapse;margin:0 0 8px 0;'
        'max-width:440px">'
        '<caption style="text-align:left;font-weight:bold;padding:0">What it rests on</caption>'
        f"<tbody>{body}</tbody></table>"
    )


def _warnings(answer: TaxResponse, notes: Sequence[str], meanings: Mapping[str, str] | None) -> str:
    said = [*notes, *(sentence(warning, meanings) for warning in answer.warnings)]
    if not said:
        return '<p style="margin:0">The service has no warnings.</p>'
    items = "".join(f"<li>{escape(_capital(one))}</li>" for one in said)
    return (
        '<p style="margin:0;font-weight:bold">Warnings</p>'
        f'<ul class="svc-warnings" style="margin:0;padding-left:20px">{items}</ul>'
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
