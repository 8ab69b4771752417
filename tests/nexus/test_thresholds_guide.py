"""The guide to thresholds and exposure: it names every column and word, and its code runs."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

import svc_tools  # noqa: F401 - it makes df.svc
from svc_tools.nexus import read_thresholds
from svc_tools.nexus.state_exposure import BANDS, EXPOSURE_COLUMNS
from svc_tools.nexus.thresholds import COLUMNS, Logic, Measured

GUIDE = Path(__file__).parents[2] / "docs" / "THRESHOLDS.md"
DAY = date(2026, 11, 21)


def test_the_guide_names_every_column_and_word():
    text = GUIDE.read_text(encoding="utf-8")
    words = [*COLUMNS, *EXPOSURE_COLUMNS, *BANDS, *get_args(Logic), *get_args(Measured)]
    assert [word for word in words if f"`{word}`" not in text] == []


def test_the_guide_counts_the_states_as_the_table_does():
    text = " ".join(GUIDE.read_text(encoding="utf-8").split())
    taxed = [row for row in read_thresholds().rows if row.covers(DAY) and row.logic != "none"]

    def lack(fact):
        return [row.state for row in taxed if getattr(row, fact) is None]

    facts = ["base", "marketplace_counts", "trailing_months"]
    known = [
        row.state
        for row in taxed
        if row.certainty != "low" and not any(row.state in lack(fact) for fact in facts)
    ]
    assert f"that is so today in {' '.join(sorted(known))}." in text
    assert f"Of the {len(taxed)} rows with a tax" in text
    base, market, trailing = map(lack, facts)
    assert f"`base` is blank in {len(base)} ({' '.join(sorted(base))})" in text
    assert f"`marketplace_counts` in {len(market)} ({' '.join(sorted(market))})" in text
    assert f"`trailing_months` in {len(trailing)}: few states" in text


@pytest.mark.filterwarnings("error")
def test_the_code_of_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("register.csv").write_text("state,nexus_type\nNY,economic\n")
    orders = pd.DataFrame({"state": ["TX"], "date": ["2026-05-01"], "amount": [600_000]})
    names = {"orders": orders}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        exec(compile(block, "THRESHOLDS.md", "exec"), names)  # noqa: S102 - our own guide
    assert names["found"].iloc[0][["state", "band"]].tolist() == ["TX", "missing"]
    assert Path("mine.csv").read_text().startswith("state,effective_from")
    assert "amount from column 'amount'" in capsys.readouterr().err
