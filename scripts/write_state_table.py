"""Write the table of the states in docs/RATES.md from the rate book.

Run `python -m scripts.write_state_table` after a change of rates. Every ZIP Code is looked up on
one day, which takes some ten seconds.
"""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import pandas as pd

import svc_tools

ROOT = Path(__file__).parents[1]
ZIPS = ROOT / "svc_tools/service/ratebook/data/zips.csv"
PAGE = ROOT / "docs/RATES.md"
DAY = "2026-09-01"
_TABLE = re.compile(r"(?<=<!-- states: begin -->\n).*(?=<!-- states: end -->)", re.DOTALL)


def shares() -> pd.DataFrame:
    """By state: which share of its ZIP Codes has a whole rate, which of those requires review."""
    zips = pd.read_csv(ZIPS, dtype="str", usecols=["state", "zip"]).assign(date=DAY)
    client = svc_tools.connect("embedded")
    found = zips.svc.lookup(client=client, cache=False, progress=False, columns="short")
    found["whole"] = found["lookup_status"].eq("ok")
    review = found["needs_review"].astype("float64").where(found["whole"])
    return found.assign(review=review).groupby("state")[["whole", "review"]].mean()


def table() -> str:
    """The table as it stands in the page."""
    by_state = shares()
    lines = [
        "",
        "| state | whole rate | requires review | every rate since | good until |",
        "| --- | --- | --- | --- | --- |",
    ]
    states = svc_tools.connect("embedded").freshness().states
    for state in sorted(states, key=attrgetter("name")):
        cells = (
            f"{state.name} ({state.state})",
            _percent(by_state["whole"][state.state]),
            _percent(by_state["review"][state.state]),
            str(state.history_from or "always"),
            str(state.covered_until),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", ""])


def _percent(share: float) -> str:
    """A share in whole percent; 0% and 100% are exactly that."""
    if pd.isna(share):
        return "none"
    percent = share * 100
    if 0 < percent < 1:
        return "under 1%"
    return "100%" if share == 1 else f"{min(round(percent), 99)}%"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: table(), page), encoding="utf-8")
