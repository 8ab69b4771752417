"""The guides name every column, reason and word, and their Python runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from support.systems import homes

import svc_tools  # noqa: F401 - it makes df.svc
from svc_tools.nexus import read_thresholds
from svc_tools.nexus.notices import BAND_WORDS, BEFORE_REMOVING
from svc_tools.nexus.planning import RULES
from svc_tools.nexus.state_exposure import BANDS, EXPOSURE_COLUMNS
from svc_tools.nexus.thresholds import THRESHOLD_COLUMNS, Logic, Measured

NEXUS = (Path(__file__).parents[2] / "docs" / "NEXUS.md").read_text(encoding="utf-8")


def test_it_names_each_reason_under_its_own_suggestion():
    parts = re.split(r"\*\*(candidate|review|keep)\*\*", NEXUS)
    named = {parts[at]: parts[at + 1] for at in range(1, len(parts), 2)}
    for rule in RULES:
        if rule.decision:
            assert f"`{rule.code}`" in named[rule.decision], rule.code
    assert [note for note in BEFORE_REMOVING if f"- {note}\n" not in NEXUS] == []


def test_its_python_runs(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", NEXUS, re.DOTALL)[:1]
    done = subprocess.run(
        [sys.executable, "-c", block],
        env=os.environ | homes(tmp_path),  # SVC_CACHE is off for all tests
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("DELETE /v1/portability/nexus/OR?nexus_type=economic\n")


THRESHOLDS = Path(__file__).parents[2] / "docs" / "THRESHOLDS.md"
DAY = date(2026, 11, 21)


def test_the_guide_names_every_column_and_word():
    text = THRESHOLDS.read_text(encoding="utf-8")
    words = [*THRESHOLD_COLUMNS, *EXPOSURE_COLUMNS, *BANDS, *get_args(Logic), *get_args(Measured)]
    assert [word for word in words if f"`{word}`" not in text] == []
    shown = [f"| `{band}` | {BAND_WORDS[band]} |\n" for band in BANDS]
    assert [line for line in shown if line not in text] == []


def test_the_guide_counts_the_states_as_the_table_does():
    text = " ".join(THRESHOLDS.read_text(encoding="utf-8").split())
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
    Path("register.csv").write_text("state,nexus_type\nNY,economic\n", encoding="utf-8")
    orders = pd.DataFrame({"state": ["TX"], "date": ["2026-05-01"], "amount": [600_000]})
    names = {"orders": orders}
    blocks = re.findall(r"```python\n(.*?)```", THRESHOLDS.read_text(encoding="utf-8"), re.DOTALL)
    for block in blocks:
        exec(compile(block, "THRESHOLDS.md", "exec"), names)  # noqa: S102 - our own guide
    assert names["found"].iloc[0][["state", "band"]].tolist() == ["TX", "missing"]
    assert Path("mine.csv").read_text(encoding="utf-8").startswith("state,effective_from")
    assert "amount from 'amount', by its name" in capsys.readouterr().err
