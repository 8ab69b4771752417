"""The guide to thresholds and exposure: it names every column and word, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

import svc_tools  # noqa: F401 - it makes df.svc
from svc_tools.nexus.exposing import EXPOSURE_COLUMNS
from svc_tools.nexus.exposure_state import BANDS
from svc_tools.nexus.thresholds import COLUMNS, Logic, Measured

GUIDE = Path(__file__).parents[2] / "docs" / "THRESHOLDS.md"


def test_the_guide_names_every_column_and_word():
    text = GUIDE.read_text(encoding="utf-8")
    words = [*COLUMNS, *EXPOSURE_COLUMNS, *BANDS, *get_args(Logic), *get_args(Measured)]
    assert [word for word in words if f"`{word}`" not in text] == []


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
