"""docs/ACCURACY.md says what a fresh measurement says, and its compositions add up."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "ACCURACY.md"
COMPOSITIONS = ROOT / "docs" / "compositions.csv"
PART = re.compile(r"(\d\.\d{3}) \((\d\d) (\d+)\)")
at_hand = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="the source files are not beside the project"
)


def compositions():
    with COMPOSITIONS.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_composition_adds_up():
    rows = compositions()
    assert len(rows) > 100
    for row in rows:
        parts = PART.findall(row["worked"])
        assert row["worked"] == " + ".join(f"{rate} ({kind} {code})" for rate, kind, code in parts)
        assert sum(Decimal(rate) for rate, _, _ in parts) == Decimal(row["rate"]), row


@at_hand
def test_every_part_of_a_composition_is_in_force_in_the_rate_file():
    names = {"GA": "GAR2026Q2FEB19.csv", "MN": "MNR2026Q2FEB18.csv", "WI": "WIR2026Q2FEB18.csv"}
    in_force = {}
    for state, name in names.items():
        text = (SOURCES / "official" / name).read_text(encoding="utf-8-sig")
        rows = sorted(csv.reader(text.splitlines()), key=lambda row: row[7])
        for row in rows:  # where two overlap, the later begin is read last and wins
            if row[7] <= "20260501" <= row[8]:
                in_force[state, row[1].zfill(2), row[2]] = Decimal(row[3]) * 100
    for row in compositions():
        assert row["as_of"] == "2026-05-01"
        for rate, kind, code in PART.findall(row["worked"]):
            assert in_force[row["state"], kind, code] == Decimal(rate), row


@at_hand
def test_the_page_says_what_a_fresh_measurement_says():
    script = ROOT / "scripts" / "measure_accuracy.py"
    command = [sys.executable, script, SOURCES]
    fresh = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- measured: begin -->\n\n")
    told = rest.partition("\n<!-- measured: end -->")[0]
    assert told == fresh, f"make it again: python {script.relative_to(ROOT)} DIR --write"


def test_the_page_names_what_is_not_measured():
    assert "## What is not measured" in PAGE.read_text(encoding="utf-8")
