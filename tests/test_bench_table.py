"""What `make bench` says of a figure: met, missed, or even the aim."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
try:
    from benchmarks.__main__ import PARTS
    from benchmarks.measure import Finding, keeps, table, verdict
finally:
    sys.path.pop(0)


@pytest.mark.parametrize(
    ("found", "target", "aim", "said"),
    [
        ("1.62 x", "<= 2.5 x", "<= 1.8 x", "aim met"),
        ("2.10 x", "<= 2.5 x", "<= 1.8 x", "met"),
        ("2.51 x", "<= 2.5 x", "<= 1.8 x", "missed"),
        ("79.9 %", ">= 80 %", ">= 90 %", "missed"),
        ("80.0 % of 3,200/s", ">= 80 %", ">= 90 %", "met"),
        ("0.48 s of CPU, 64 MB", "< 1 s, < 150 MB", "", "met"),
        ("0.48 s of CPU, 150 MB", "< 1 s, < 150 MB", "", "missed"),
        ("10,000", "<= 10,000", "", "met"),
        ("10,001", "<= 10,000", "", "missed"),
        ("1.9 x", "reported", "", ""),
    ],
)
def test_the_verdict_is_that_of_the_figures(found, target, aim, said):
    assert verdict(Finding("what", found, target, "", aim)) == said


def test_a_figure_without_the_number_that_is_limited_is_an_error():
    with pytest.raises(ValueError, match="fewer numbers"):
        keeps("none", "<= 2 x")


def test_the_table_has_a_row_for_each_finding_and_its_cells_stand_in_columns():
    text = table([Finding("a", "1 x", "<= 2 x", ""), Finding("longer", "3 x", "<= 2 x", "")])
    head, rule, first, second = text.splitlines()
    assert {len(head), len(rule), len(first), len(second)} == {len(head)}
    assert [cell.strip() for cell in second.split("|")] == [
        *["", "longer", "3 x", "<= 2 x", "", "missed", ""]
    ]


def test_every_part_is_there():
    folder = Path(__file__).parents[1] / "benchmarks"
    assert [name for name in PARTS if not (folder / f"{name}.py").is_file()] == []
    assert all("def findings()" in (folder / f"{name}.py").read_text() for name in PARTS)
