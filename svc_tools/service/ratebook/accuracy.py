"""How often a book is right: its rates compared with known rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc_tools.base.extras import needs
from svc_tools.service.ratebook.query import NotResolved, Query
from svc_tools.service.ratebook.rating import rate_text
from svc_tools.service.ratebook.resolver import resolve

with needs("Checking rates", "pandas"):
    import pandas as pd

if TYPE_CHECKING:
    from datetime import date

    from svc_tools.service.ratebook.book import Book

RESULT_LEVELS = ("exact", "high", "medium", "low", "none")
"""Confidence, the strongest first; `none` where there is no rate."""
_COUNTS = ["rows", "right", "wrong", "in_range", "partial", "no_answer"]
"""The columns of a tally. `partial`: another rate, with a warning that a part is not known.
`in_range`: of the wrong ones, those of places with rates on both sides of the one expected."""

_PARTIAL = frozenset({"local_rates_not_covered", "districts_not_covered"})
_SHOWN = 10


def compare(book: Book, rows: pd.DataFrame, *, day: date) -> pd.DataFrame:
    """Look up every row and compare the rate found with the one expected.

    A row with a city and a ZIP is looked up as an address whose street is not known; one with
    either of them by that alone; one without a date on `day`.

    Returns:
        The rows with `outcome`, `in_range` (see `_COUNTS`), `found`, `confidence`, `warnings`, and
        the `reason` where there is no rate.
    """
    codes = {row.name.upper(): code for code, row in book.states.items()}
    found = [_outcome(book, row, codes, day) for row in rows.to_dict("records")]
    columns = [*rows, "outcome", "in_range", "found", "confidence", "warnings", "reason"]
    return pd.DataFrame(found, columns=columns, dtype=object)


def _outcome(book: Book, row: dict[Any, Any], codes: dict[str, str], day: date) -> dict[str, Any]:
    row["state"] = codes.get(row["state"], row["state"])
    place = {"zip": row["zip"]} if row["zip"] else {"location": row["city"]}
    if row["zip"] and row["city"]:
        place |= {"city": row["city"], "street": ""}
    query = Query(row["state"], **place, as_of=row["as_of"])
    return row | judged(book, query, row["expected"], day=day)


def judged(book: Book, query: Query, expected: int, *, day: date) -> dict[str, Any]:
    """Resolve one query and compare its rate with the one expected: the columns of `compare`."""
    try:
        result = resolve(book, query, today=day)
    except NotResolved as missing:
        none = {"outcome": "no_answer", "in_range": False, "confidence": "none"}
        return none | {"warnings": [], "reason": missing.message}
    found, rates = result.chosen.combined, [rated.combined for rated, _ in result.rated]
    warnings = [str(advisory["code"]) for advisory in result.advisories]
    other = "wrong" if _PARTIAL.isdisjoint(warnings) else "partial"
    outcome = "right" if found == expected else other
    in_range = outcome == "wrong" and min(rates) <= expected <= max(rates)
    counted = {"outcome": outcome, "in_range": in_range, "confidence": result.confidence}
    return counted | {"found": found, "warnings": warnings}


def tally(results: pd.DataFrame, by: str) -> pd.DataFrame:
    """How many rows of each value of a column had which outcome: the columns in `_COUNTS`."""
    counts = pd.crosstab(results[by], results["outcome"]).reindex(columns=_COUNTS, fill_value=0)
    counts["rows"] = counts.sum(axis=1)
    counts["in_range"] = results["in_range"].astype(int).groupby(results[by]).sum()
    return counts


def summary(results: pd.DataFrame, unreadable: pd.DataFrame) -> dict[str, Any]:
    """What a comparison found, as plain values for JSON; rates are five-decimal strings."""
    levels = tally(results, "confidence").loc[
        lambda found: sorted(found.index, key=RESULT_LEVELS.index)
    ]
    wrong = results[results["outcome"] == "wrong"]
    off = (wrong["found"] - wrong["expected"]).astype(int).abs()
    worst = wrong.loc[off.sort_values(ascending=False, kind="stable").index[:_SHOWN]]
    shown = ["line", "state", "city", "zip", "expected", "found", "confidence", "warnings"]
    worst[["expected", "found"]] = worst[["expected", "found"]].map(rate_text)
    reasons = results[results["outcome"] == "no_answer"].groupby("state")["reason"]
    missing = reasons.agg(rows="size", such_as="first").reset_index()
    missing = missing.sort_values("rows", ascending=False, kind="stable")[:_SHOWN]
    return {
        "total": {name: int(count) for name, count in levels.sum().items()},
        "by_state": tally(results, "state").to_dict("index"),
        "by_confidence": levels.to_dict("index"),
        "wrong_though_sure": int(levels["wrong"].reindex(["exact", "high"], fill_value=0).sum()),
        "worst": worst[shown].to_dict("records"),
        "missing": missing.to_dict("records"),
        "unread": len(unreadable),
        "unreadable": unreadable[:_SHOWN].to_dict("records"),
    }
