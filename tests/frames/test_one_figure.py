"""One fact has one figure in every output: frame, file, command, panel, page and workbook."""

from __future__ import annotations



from pathlib import Path

import pandas as pd
import pytest
from support.figures import (
    compared,
    of_frame,
    of_page,
    of_panel,
    of_run,
    of_text,
    of_workbook,
)

from typer.testing import CliRunner

from svc_tools.cli.app import app
from svc_tools.exports import recognized
from svc_tools.frames import enrich_file
from svc_tools.frames.arrow import frame_of
from svc_tools.frames.columns import propose

from svc_tools.tabular import open_table
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
        5: ("LA", "70112"),
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
            app, ["enrich", str(source), "-o", str(output), "--embedded", "--force", "--detail", *options]
        )
    assert made.exit_code in {0, 3, 4}, made.output
    return made.output


def outputs_of(source, frame, terms, embedded, folder, *, collected=None, panel=True):
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
            source,
            folder / "out.csv",
            tax=tax,
            client=embedded,
            detail=True,
            report=folder / f"file{suffix}",
            force=True,
        )
        outputs[f"file's report{suffix}"] = read(folder / f"file{suffix}")
    outputs |= {f"file {name}": said for name, said in of_run(run).items()}
    outputs["command"] = of_text(ran(source, folder / "command.csv", *options))
    if panel and not options:
        outputs["panel"] = of_panel(panel_of(source, embedded, folder))
    back = pd.read_csv(folder / "out.csv", dtype="str")
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


@pytest.mark.parametrize("kind", TERMS)
@pytest.mark.parametrize("name", NAMES)
def test_every_number_that_two_outputs_share_is_the_same(
    name, kind, embedded, tmp_path, monkeypatch
):
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "results.db"))
    terms = TERMS[kind]
    if kind != "as it is":
        monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", 25_000)
    source, frame = files_of(name, kind, tmp_path)

    outputs = outputs_of(
        *(source, frame, terms, embedded, tmp_path), collected=COLLECTED.get(name)
    )

    differing = compared(outputs)
    assert not differing, "\n".join(f"{fact}: {said}" for fact, said in differing.items())
