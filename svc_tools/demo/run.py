"""From the order lines to a summary, an enriched CSV, a workbook and a map."""

from __future__ import annotations

import warnings
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from svc_tools.demo.terminal import render
from svc_tools.frames import SvcAccessor
from svc_tools.frames.reports.workbook import write_workbook
from svc_tools.frames.summary import summarize
from svc_tools.printing import print_text
from svc_tools.whole_file import whole_file

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from svc_sdk import Svc
    from svc_tools.frames.summary import Summary

__all__ = ["orders", "run_demo"]

_MONEY = pd.ArrowDtype(pa.decimal128(18, 2))
_DPI = 150
_FILES = ("enriched.csv", "orders.xlsx", "tax_map.png")


def orders() -> pd.DataFrame:
    """The demo's order lines: about 2,400 rows, 860 orders, every state, as exports are.

    Everything is read as text first. A ZIP Code read as a number loses its leading zero (02134)
    and its dash, and an amount read as a float is no longer exact; what is a date, a count or an
    amount is then converted by name. The cells stay as messy as they are in the file: tidying
    them up is the lookup's work.
    """
    source = resources.files("svc_tools.demo") / "orders.csv"
    with source.open("rb") as file:
        frame = pd.read_csv(file, dtype="str")
    frame["order_date"] = pd.to_datetime(frame["order_date"], format="%Y-%m-%d")
    frame["quantity"] = frame["quantity"].astype("Int64")
    for name in ("unit_price", "amount"):
        frame[name] = frame[name].astype(pd.ArrowDtype(pa.string())).astype(_MONEY)
    return frame


def run_demo(
    output_dir: Path,
    *,
    client: Svc | None = None,
    console: Console | None = None,
    progress: bool = True,
) -> int:
    """Look the demo's orders up, compute their tax, print a summary and write three files.

    Files that are there already are kept: the new ones get a number (`orders-2.xlsx`). Where the
    run ended early, they hold what was found and say so in their names
    (`orders-incomplete.xlsx`).

    Args:
        output_dir: the folder for `enriched.csv`, `orders.xlsx` and `tax_map.png`; it is
            made if it is not there.
        client: the service to ask; by default the configured one, else the embedded one.
        console: where to print; by default the standard output.
        progress: show what was decided about the columns, and a progress bar.

    Returns:
        0, or 1 when places were asked and got no answer, or were not reached: then the files hold
        what there is, and the summary says what is missing.

    Raises:
        NotADirectoryError: `output_dir` is a file.
        OSError: a file cannot be written.
    """
    from rich.console import Console  # noqa: PLC0415  # only where nobody brings one

    console = console or Console()
    _check(output_dir)
    frame = _looked_up(client, progress=progress)
    frame = SvcAccessor(frame).tax(amount="amount", progress=progress)
    summary = summarize(frame)
    render(summary, console)
    print_text(console, SvcAccessor(frame).review().sentence)
    print_text(console)
    stopped = frame.attrs["svc_lookup"]["stopped"]
    paths = _free_paths(output_dir, "-incomplete" if stopped else "")
    table, workbook, picture = paths
    with whole_file(table) as draft:
        frame.to_csv(draft, index=False, lineterminator="\n")
    write_workbook(frame, workbook, summary=summary)
    tax_map = SvcAccessor(frame).plot.tax_map()
    with whole_file(picture) as draft:
        described = {"Description": tax_map.get_label()}
        tax_map.savefig(draft, format="png", dpi=_DPI, metadata=described)
    print_text(console, "Files written:")
    for path in paths:
        # no wrapping: a path is there to be copied
        console.print(f"  {path}", markup=False, highlight=False, soft_wrap=True)
    if stopped:
        print_text(console)
        print_text(console, (_ended_early(summary, stopped), "bold"))
    return 1 if summary.status_rows("failed") or summary.status_rows("not_attempted") else 0


def _looked_up(client: Svc | None, *, progress: bool) -> pd.DataFrame:
    with warnings.catch_warnings():
        # said in one line at the end, with the number of rows
        warnings.filterwarnings("ignore", "The lookup ended early", UserWarning)
        return SvcAccessor(orders()).lookup(client=client, progress=progress)


def _ended_early(summary: Summary, cause: str) -> str:
    start = "Interrupted" if cause == "interrupted" else f"Ended early ({cause})"
    missing = summary.status_rows("not_attempted")
    return f"{start}: {missing:,} of {summary.rows:,} rows not attempted."


def _check(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"output: {folder} is a file; name a folder for the demo's files")
    folder.mkdir(parents=True, exist_ok=True)


def _free_paths(folder: Path, mark: str) -> tuple[Path, ...]:
    """Where to write: the three names, with the first number that keeps them all free."""
    marks = (mark if number == 1 else f"{mark}-{number}" for number in count(1))
    candidates = (
        tuple(folder / name.replace(".", f"{mark}.") for name in _FILES) for mark in marks
    )
    return next(paths for paths in candidates if not any(path.exists() for path in paths))
