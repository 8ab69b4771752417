"""A few orders, enriched in every way in which the commands that read them find them."""

from __future__ import annotations

import csv

import openpyxl
import pandas as pd

from support.command import svc_tools

KINDS = ["csv", "xlsx", "parquet"]
ROWS = [
    ["order", "state", "zip", "date", "amount", "tax_collected"],
    ["1", "TX", "78701", "2019-05-13", "100.00", "8.25"],
    ["2", "CA", "94105", "2026-05-14", "50.00", "4.31"],
    ["3", "MA", "02138", "2026-05-15", "40.00", "2.00"],
    ["4", "CA", "00000", "2026-05-16", "10.00", "1.00"],
]
"""Its rows 1 and 4 require review: no rate is known of so early a day, and there is no such ZIP."""


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def written_rows(path):
    """The rows of a file that a command has written."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".xlsx":
        head, *cells = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        return [dict(zip(head, row, strict=True)) for row in cells]
    return pd.read_parquet(path).to_dict("records")


def enriched_files(folder):
    """The orders, and what `svc-tools enrich` makes of them, by what that is."""
    source = write(folder / "orders.csv", ROWS)
    files = {"plain": source} | {kind: folder / f"rated.{kind}" for kind in KINDS}
    names = ("looked up", "prefixed", "twice")
    files |= {name: folder / f"{name.replace(' ', '')}.csv" for name in names}
    made = [
        *((source, files[kind], []) for kind in KINDS),
        (source, files["looked up"], ["--no-tax"]),
        (source, files["prefixed"], ["--prefix", "a_"]),
        (files["prefixed"], files["twice"], ["--prefix", "b_"]),
    ]
    for before, after, options in made:
        done = svc_tools("enrich", before, "-o", after, "--embedded", "--quiet", *options)
        assert done.returncode == 0, done.stderr
    return files
