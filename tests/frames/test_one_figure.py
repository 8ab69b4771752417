"""One fact has one figure in every output: frame, file, command, panel, page and workbook."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from support.examples import spread
from support.figures import (
    compared,
    facts_shared,
    grids_of,
    of_frame,
    of_page,
    of_panel,
    of_run,
    of_text,
    of_workbook,
)
from typer.testing import CliRunner

from svc_tools.cli.app import app
from svc_tools.frames import enrich_file
from svc_tools.frames.lookup.columns import propose
from svc_tools.frames.values.arrow import frame_of
from svc_tools.tables.exports import recognized
from svc_tools.tables.tabular import open_table
from svc_tools.widgets.file_tab import FileTab
from svc_tools.widgets.session import Session

EXPORTS = Path(__file__).parents[1] / "data" / "exports"
COLLECTED = {
    "amazon.txt": "item-tax",
    "bigcommerce.csv": "Tax Total",
    "ebay.csv": "Seller Collected Tax",
    "edd.csv": "Tax ($)",
    "etsy.csv": "Sales Tax",
    "paypal.csv": "Sales Tax",
    "shopify.csv": "Taxes",
    "square.csv": "Order Tax Total",
    "squarespace.csv": "Taxes",
    "tiktok.csv": "Taxes",
    "wix.csv": "Total tax",
    "woocommerce.csv": "Order Total Tax Amount",
    "woocommerce_meta.csv": "_order_tax",
}
"""The column of the tax that was collected, in the exports that have one."""
NAMES = sorted(path.name for path in EXPORTS.iterdir())


def table_of_export(name):
    """The rows of a sample as its reader gives them, as texts."""
    table = open_table(EXPORTS / name)
    try:
        return pd.concat([frame_of(chunk) for chunk in table.chunks()], ignore_index=True)
    finally:
        table.close()


def doubtful(frame):
    """The rows with what brings doubt: dates before the book, Alaska, no rate, blanks, refunds.

    What changes is that of whole orders, where it stands: the first row of an order may be the
    only one that has it.
    """
    frame = frame.copy()
    found = {**propose(frame).found, **recognized([*frame.columns]).found([*frame.columns])}
    order = found.get("order")
    numbers = frame.index if order is None else pd.factorize(frame[order])[0]
    kinds = pd.Series(numbers % 12, index=frame.index)
    for label, kind in ((found["as_of"], 1), (found["as_of"], 2)):
        rows = (kinds == kind) & frame[label].notna()
        other = frame.loc[rows, label].str.replace("2026", "2019")
        frame.loc[rows, label] = other.str.replace(r"/26$", "/19", regex=True)
    for kind, (state, code) in {
        3: ("AK", "99501"),
        4: ("AK", "99501"),
        5: ("LA", "70601"),
        6: ("WA", "abc"),
        2: ("CO", "80202"),
    }.items():
        for role, value in (("state", state), ("zip", code), ("city", ""), ("address", "")):
            if role in found:
                label = found[role]
                rows = (kinds == kind) & frame[label].notna() & (frame[label] != "")
                frame.loc[rows, label] = value
    return frame


REGISTER = pd.DataFrame(
    {
        "state": ["WA", "CO", "AK", "LA", "NY", "TX", "CA"],
        "nexus_type": ["economic"] * 6 + ["marketplace"],
        "registered_at": ["2025-01-01"] * 7,
    }
)
TERMS = {
    "as it is": {},
    "in doubt": {},
    "in doubt, due": {"nexus": REGISTER, "partial": "use"},
}


def written(frame, path):
    frame.to_csv(path, index=False)
    return path


def files_of(name, kind, folder):
    """The file and the frame of a sample, as it is or in doubt."""
    frame = table_of_export(name)
    if kind == "as it is":
        return EXPORTS / name, frame
    changed = doubtful(frame)
    source = written(changed, folder / Path(name).with_suffix(".csv").name)
    return source, pd.read_csv(source, dtype="str")


def ran(source, output, *options):
    """What the command prints, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "400")
        made = CliRunner().invoke(
            app,
            [
                "enrich",
                str(source),
                "-o",
                str(output),
                "--embedded",
                "--force",
                "--detail",
                *options,
            ],
        )
    assert made.exit_code in {0, 3, 4}, made.output
    return made.output


def outputs_of(source, frame, terms, embedded, folder, *, collected=None):
    """Every output of a file and its frame."""
    options = []
    tax = dict(terms)
    if "nexus" in tax:
        register = written(REGISTER, folder / "register.csv")
        options += ["--nexus", str(register)]
    options += ["--partial", "use"] if tax.get("partial") else []
    taxed = frame.svc.lookup(client=embedded, detail=True, progress=False)
    taxed = taxed.svc.tax(**tax)
    outputs = of_frame(taxed, collected)
    for suffix, read in ((".html", of_page), (".xlsx", of_workbook)):
        outputs[f"report{suffix}"] = read(taxed.svc.report(folder / f"frame{suffix}"))
    run = enrich_file(
        *(source, folder / "out.csv"),
        tax=tax,
        client=embedded,
        detail=True,
        report=folder / "file.xlsx",
    )
    outputs |= {f"file {name}": said for name, said in of_run(run).items()}
    outputs["file's report.xlsx"] = of_workbook(folder / "file.xlsx")
    options += ["--report", str(folder / "file.html")]
    outputs["command"] = of_text(ran(source, folder / "command.csv", *options))
    outputs["command's report.html"] = of_page(folder / "file.html")
    if not terms:
        outputs["panel"] = of_panel(panel_of(source, embedded, folder))
    back = pd.read_csv(folder / "out.csv", dtype="str").drop(columns="lookup_jurisdictions")
    outputs |= {f"read back: {name}": said for name, said in of_frame(back, collected).items()}
    return outputs


def panel_of(source, embedded, folder):
    tab = FileTab(Session(embedded, folder=folder / "panel"))
    content = source.read_bytes()
    for said, *pieces in (
        ({"type": "begin", "name": source.name},),
        ({"type": "piece"}, memoryview(content)),
        ({"type": "end", "size": len(content)},),
    ):
        tab.choice.upload._handle_custom_msg({"view": "view-1", **said}, pieces)
    tab.session.background.settle()
    tab.run_button.click()
    tab.session.background.settle()
    assert tab.result.written is not None, tab.message.html
    return tab


def said_of(differing):
    """What differs, a line for each fact."""
    return "\n".join(f"{fact}: {said}" for fact, said in differing.items())


ALL_KINDS = ("shopify.csv", "ebay.csv")
"""An order's place in its first row only, of one seller and of a marketplace."""
OTHERS = [name for name in NAMES if name not in ALL_KINDS]
CASES = [
    *((name, kind) for name in ALL_KINDS for kind in TERMS),
    *((name, "in doubt, due") for name in spread(OTHERS, 4)),
]


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_number_that_two_outputs_share_is_the_same(
    name, kind, embedded, tmp_path, monkeypatch
):
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "results.db"))
    if kind != "as it is":
        monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 25_000)
    source, frame = files_of(name, kind, tmp_path)

    assert (name in COLLECTED) == ("collected" in recognized(frame.columns).found(frame.columns))
    outputs = outputs_of(
        *(source, frame, TERMS[kind], embedded, tmp_path), collected=COLLECTED.get(name)
    )

    differing = compared(outputs)
    assert not differing, said_of(differing)
    shared = facts_shared(outputs)
    assert shared["rows",] > 10
    assert shared["rows to review",] > 8
    assert shared["tax",] > 5
    assert shared["rests on",] > 4
    assert max(shared[fact] for fact in shared if fact[0] == "rows of") > 4


LINES = """\
Order,State,Zip,Date,Amount
1,WA,98101,2019-05-01,100.00
2,CO,80202,2026-08-01,50.00
3,LA,70601,2026-08-01,40.00
4,AK,99501,2026-08-01,30.00
5,AK,99801,2019-01-01,20.00
6,TX,78701,2026-08-01,-10.00
7,TX,78701,2026-08-01,
8,,,2026-08-01,5.00
9,PR,00901,2026-08-01,7.00
"""


@pytest.mark.parametrize(
    "terms", [{}, {"partial": "use"}, {"nexus": REGISTER}, {"channel": "marketplace"}]
)
def test_so_it_is_for_a_table_of_lines(terms, embedded, tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "results.db"))
    source = tmp_path / "lines.csv"
    source.write_text(LINES, encoding="utf-8")
    frame = pd.read_csv(source, dtype="str").assign(collected=["1.00", None] + ["0.00"] * 7)
    frame.to_csv(source, index=False)
    terms = {"amount": "Amount"} | terms
    taxed = frame.svc.lookup(client=embedded, detail=True, progress=False).svc.tax(**terms)
    outputs = of_frame(taxed, "collected")
    for suffix, read in ((".html", of_page), (".xlsx", of_workbook)):
        outputs[suffix] = read(taxed.svc.report(tmp_path / f"report{suffix}"))
    run = enrich_file(source, tmp_path / "out.csv", tax=terms, client=embedded)
    outputs |= of_run(run)

    differing = compared(outputs)
    assert not differing, said_of(differing)
    assert outputs["summary"]["rests on", "other_date", "rows"] == (
        0 if "channel" in terms else 1 if "nexus" in terms else 3
    )


def test_a_row_has_one_number_in_every_output(embedded, tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "results.db"))
    source = EXPORTS / "squarespace.csv"
    run = enrich_file(
        *(source, tmp_path / "out.csv"),
        client=embedded,
        tax={},
        report=tmp_path / "report.xlsx",
    )
    made = pd.read_csv(run.written, dtype="str").svc.report(tmp_path / "report.html")
    with run.written.open(newline="", encoding="utf-8") as file:
        orders = dict(enumerate((row[0] for row in csv.reader(file)), start=1))

    panel = panel_of(source, embedded, tmp_path)

    book = openpyxl.load_workbook(tmp_path / "report.xlsx")
    heads, *rows = book["Review"].iter_rows(values_only=True)
    places = [heads.index(name) for name in ("row_in_lines", "Order ID")]
    of_book = {row[places[0]]: str(row[places[1]]) for row in rows}
    (grid,) = (
        grid
        for grid in grids_of(made.read_text("utf-8"))
        if grid.title == "Rows" and "Dollars" in grid.heads and len(grid.rows) == len(rows)
    )
    at = grid.heads.index("Order ID")
    (shown,) = grids_of(panel.result.review.value)
    row, order = shown.heads.index("Row"), shown.heads.index("Order ID")
    assert len(of_book) == run.totals.review.rows
    assert of_book == {number: orders[number] for number in of_book}
    assert of_book == {int(line[0]): line[at] for line in grid.rows}
    assert of_book == {int(line[row]): line[order] for line in shown.rows}


@pytest.mark.parametrize("name", ["ebay.csv", "shopify.csv", "squarespace.csv"])
def test_further_rows_of_an_order_lack_nothing_that_was_collected(name, embedded) -> None:
    frame = table_of_export(name)
    frame["mine"] = frame[COLLECTED[name]]
    frame.loc[0, "mine"] = None

    taxed = frame.svc.lookup(client=embedded, progress=False).svc.tax()
    made = taxed.svc.reconcile("mine")

    missing = made.lines["difference_reason"] == "collected_missing"
    assert made.lines.index[missing].tolist() == [0]
    assert made.totals.no_collected_rows == 1


def test_a_tax_of_0_that_stands_once_for_each_order_is_the_orders(embedded) -> None:
    frame = pd.read_csv(
        io.StringIO(
            "Order,Date,Zip,State,Price,Qty,collected\n"
            "1,2026-08-01,98101,WA,10.00,1,0.00\n1,2026-08-01,98101,WA,20.00,1,\n"
            "2,2026-08-01,98101,WA,30.00,2,0.00\n2,2026-08-01,98101,WA,20.00,1,\n"
        ),
        dtype="str",
    )
    taxed = frame.svc.lookup(client=embedded, progress=False).svc.tax()

    lines = taxed.svc.reconcile("collected").lines

    assert [str(one) for one in lines["collected_tax"]] == ["0.00"] * 4
    assert set(lines["difference_reason"]) == {"collected_nothing"}
