"""The notebooks run from top to bottom, and again, offline, and show the figures that are right."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from make_sample_exports import SAMPLES
from support.faults import KEY, LISTED, serving
from support.notebooks import FOLDER, OUTPUT, ROOT, run, run_cells

import svc_tools
from svc_tools.demo import orders
from svc_tools.nexus.notices import BEFORE_REMOVING
from svc_tools.show.display import NOTHING, exact_dollars
from svc_tools.tables.states import STATES

pytestmark = pytest.mark.timeout(300)  # whole notebooks; a cell may take 240 s

NAMES = [
    "01_first_lookup",
    "02_orders_to_tax",
    "03_reconcile_and_report",
    "04_nexus_cleanup",
    "05_async_and_many",
    "06_beyond_one_machine",
    "07_your_own_export",
]


@pytest.fixture(scope="session")
def taxed(_own_home):
    """What the notebooks should find of the demo's orders."""
    with svc_tools.connect("embedded") as client:
        rated = orders().svc.lookup(client=client, cache=False, progress=False)
    return rated.svc.tax(amount="amount", progress=False)


def sound(ran):
    """What holds for every notebook: no errors, no warnings, no key, no path of a machine."""
    for cell in ran.code:
        assert cell.execution_count is not None
        for output in cell.outputs:
            assert output.output_type != "error", output
            assert output.get("name") != "stderr", output
            for image in [kind for kind in output.get("data", {}) if kind.startswith("image/")]:
                assert output.metadata[image]["alt"], "a chart without a text alternative"
    assert len(ran.key) > 20
    for written in ran.everything:
        assert ran.key.encode() not in written
    # a receipt says where it lies: whoever has to prove a removal must find it
    page = json.dumps(ran.notebook).replace(str(ran.folder / OUTPUT / "receipts"), "")
    for path in (ran.folder, ROOT, Path.home(), Path(sys.prefix)):
        assert str(path) not in page
    assert {path.name for path in ran.folder.iterdir()} <= {OUTPUT}
    return ran


def test_a_first_lookup_shows_its_rate_and_what_to_doubt(tmp_path):
    ran = sound(run("01_first_lookup", tmp_path))
    assert "8.61 of tax" in ran.shown("price *")
    assert Decimal("129.99") * Decimal("0.06625") == Decimal("8.6118375")
    assert "street address was not matched" in ran.shown("advisory.message")
    history = ran.shown("days.svc.lookup")
    assert history.count(" verified") == 4
    assert history.count("as_of_before_history unverified") == 1
    assert "partial 0.05000 <NA>" in ran.shown("sale.svc.lookup")
    refused = ran.shown('zip="10001"')
    assert "NotFoundError: ZIP 10001 is not in California" in refused
    assert "ValueError: give exactly one of" in refused
    (panel,) = ran.outputs("svc_tools.panel(")
    assert "application/vnd.jupyter.widget-view+json" in panel.data


def test_orders_to_tax_shows_every_row_in_one_group(tmp_path, taxed):
    ran = sound(run("02_orders_to_tax", tmp_path))
    plan = ran.shown("lines.svc.plan(")
    assert plan.startswith(f"{len(taxed):,} rows, ")
    places = taxed.svc.plan(cache=False).places
    assert (
        f"{places:,} distinct places and dates: computed here by the embedded service, no" in plan
    )
    review = taxed.svc.review()
    groups = ran.shown("groups = taxed.svc.split()")
    ready = taxed[taxed["tax"].notna() & ~taxed.index.isin(review.rows.index)]
    whole = taxed["lookup_status"].eq("ok")
    doubtful = taxed[whole & ~taxed.index.isin(ready.index)]
    partial = taxed[taxed["lookup_status"].eq("partial")]
    rest = taxed[~whole & ~taxed["lookup_status"].eq("partial")]
    for name, rows in (("ready", ready), ("to check", doubtful)):
        sales, tax = (exact_dollars(rows[column].sum()) for column in ("amount", "tax"))
        assert f" {name} {len(rows):,} {sales} {tax} " in groups
    for name, rows in (("incomplete", partial), ("no rate", rest)):
        sales = exact_dollars(rows["amount"].sum())
        assert f" {name} {len(rows):,} {sales} {NOTHING} " in groups
    assert sum(map(len, (ready, doubtful, partial, rest))) == len(taxed)
    assert review.sentence in ran.shown("review = ")
    by_state = ran.shown("by_state =")
    california = taxed[taxed["resolved_state"].eq("CA")]
    assert f"CA {california['amount'].sum()} {california['tax'].sum()}" in by_state
    written = pd.read_csv(tmp_path / OUTPUT / "to-review.csv")
    assert len(written) == len(review.rows)


def test_the_reconciliation_finds_the_errors_that_were_planted(tmp_path):
    ran = sound(run("03_reconcile_and_report", tmp_path))
    planted = ran.shown("errors = {").split()
    washington, pennsylvania, refunds = (int(word) for word in planted if word.isdigit())
    found = ran.shown("taxed.svc.reconcile(")
    assert f"under collected_nothing {pennsylvania} " in found
    assert f"over sign_differs {refunds} " in found
    lower, higher = (
        int(found.partition(f"{kind} at_state_rate_only ")[2].split()[0])
        for kind in ("under", "over")
    )
    assert lower + higher == washington
    reasons = [word for word in found.split() if word in {"rounding", "rate_differs"}]
    assert reasons == []
    assert ran.shown("sign_differs").count("R1") == refunds
    assert "It ties to the lines to the cent" in ran.shown('filing("WA")')
    assert ran.shown("locked=").strip().endswith("True")
    assert {"orders.xlsx", "orders.html", "orders.svclock"} <= {
        path.name for path in (tmp_path / OUTPUT).iterdir()
    }


def test_a_cleanup_removes_what_was_ticked_and_puts_it_back(tmp_path):
    ran = sound(run("04_nexus_cleanup", tmp_path, again=True))
    assert ran.shown("add_nexus").startswith("5 records in 5 states")
    differences = ran.shown("nexus.differences(mine")
    assert differences.count(" address ") == differences.count("only_service no record") == 1
    bands = ran.shown("exposure = ").split()
    assert bands.index("missing") < bands.index("over") < bands.index("90-100")
    plan = ran.shown("plan = nexus.make_plan")
    assert int(re.search(r"(\d+) could be removed", plan)[1]) >= 2
    assert "nothing ticked" in plan
    told = ran.shown("nexus.preview(")
    assert [line for line in told.splitlines() if line.startswith("DELETE")] == [
        "DELETE /v1/portability/nexus/MT?nexus_type=marketplace",
        "DELETE /v1/portability/nexus/OR?nexus_type=economic",
    ]
    assert all(note in " ".join(told.split()) for note in BEFORE_REMOVING)
    assert "Nothing was changed" in ran.shown("apply_plan(ticked, service)")
    assert "2 removals: 2 removed" in ran.shown("receipt = nexus.apply_plan")
    left = ran.shown(").frame()").split()
    assert [word for word in left if word in STATES] == ["IN", "NJ", "WA"]
    assert "2 records: 2 there again" in ran.shown("nexus.restore(")
    assert ran.shown("after = ").strip().endswith("True")
    receipts = ran.shown("nexus.receipts(")
    assert receipts.index("restore") < receipts.index("apply")
    assert not [*tmp_path.rglob("*.db")]
    assert ran.shown("own.cleanup()") == ""
    # the user's own embedded service knows nothing of it
    with svc_tools.connect("embedded") as own:
        assert not {"MT", "OR"} & {record.state for record in own.list_nexus().nexus}


def cells_of_the_cleanup(*, instead, count=None):
    """The cells of notebook 04, with another line where it connects."""
    notebook = json.loads((FOLDER / "04_nexus_cleanup.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert 'service = svc_tools.connect("embedded")\n' in cells[0]
    cells[0] = cells[0].replace('svc_tools.connect("embedded")', instead)
    return cells[:count]


@pytest.mark.parametrize("when", ["from the top", "after the first cell", "after the records"])
def test_a_cleanup_stops_with_a_sentence_before_it_changes_another_service(tmp_path, when):
    with serving() as other:
        other.will(LISTED)
        connected = f"svc_tools.connect(api_key={KEY!r}, base_url={other.base_url!r})"
        if when == "from the top":
            cells = cells_of_the_cleanup(instead=connected)
        else:
            cells = cells_of_the_cleanup(instead='svc_tools.connect("embedded")')
            cells.insert(1 if when == "after the first cell" else 2, f"service = {connected}")
        outputs = run_cells(*cells, folder=tmp_path, allow_errors=True)
        stopped = [one for of in outputs for one in of if one.get("ename") == "NotHereError"]
        assert [len(one.traceback) for one in stopped] == [1] * len(stopped)
        assert "works with the embedded service and its own database only" in stopped[0].evalue
        assert len(stopped) >= (4 if when == "from the top" else 2)
        assert [seen.method for seen in other.seen if seen.method != "GET"] == []


def test_a_cleanup_of_the_users_own_embedded_records_stops_too(tmp_path):
    with svc_tools.connect("embedded") as own:
        own.add_nexus("OR", nexus_type="economic")
        cells = cells_of_the_cleanup(instead='svc_tools.connect("embedded")')
        start = cells[0]
        assert start.count('os.environ["SVC_DATABASE_URL"] = str(database)\n') == 1
        cells[0] = start.replace('os.environ["SVC_DATABASE_URL"] = str(database)\n', "")
        try:
            outputs = run_cells(*cells, folder=tmp_path, allow_errors=True)
            assert outputs[0][-1].ename == "NotHereError"
            assert [one.state for one in own.list_nexus().nexus] == ["OR"]
        finally:
            own.remove_nexus("OR")


def test_one_failure_takes_no_other_lookup_with_it(tmp_path):
    ran = sound(run("05_async_and_many", tmp_path))
    gathered = ran.shown("asyncio.gather(")
    assert gathered.count("found") == 3
    assert "404 NOT_FOUND" in gathered
    assert "400 INVALID_INPUT" in gathered
    rows = len(orders()[["state", "zip", "order_date"]].dropna())
    statuses = _counts(ran.shown("alookup_many("))
    assert sum(statuses.values()) == rows
    assert set(statuses) == {"ok", "partial", "unresolved", "unsupported", "invalid"}
    again = ran.shown("lookup_many(places, client=service, cache=cache)]")
    assert {*re.findall(r"(\w+) (\d+) (\d+)", again)} == {
        (status, str(count), str(count)) for status, count in statuses.items()
    }
    lost = _counts(ran.shown("client=gone"))
    assert lost["failed"] > 0
    assert sum(lost.values()) == rows
    assert ran.shown("lost[-1]").startswith("not_attempted: no rate Could not connect")


def test_a_large_file_a_cluster_and_a_lock_file_give_the_same_cents(tmp_path, taxed):
    ran = sound(run("06_beyond_one_machine", tmp_path))
    times = 20
    written = ran.shown("run = enrich_file(")
    assert f"large.csv: {len(taxed) * times:,} rows, " in written
    total = taxed["tax"].sum() * times
    assert f"${total:,} of tax" in written
    assert f"file: {total:,} demo x {times}: {total:,}" in " ".join(
        ran.shown("tax_of_file").split()
    )
    california = taxed.loc[taxed["resolved_state"].eq("CA"), "tax"].sum() * times
    assert f"CA {california} " in ran.shown("on_cluster = ")
    assert "all equal: True" in ran.shown("dask_client.close")
    offline = f"{len(taxed) * times:,} rows; requested: 0; not in the lock file: 0"
    assert offline in ran.shown("offline = ")
    assert ran.shown("first.equals").strip().endswith("True")


def test_notes_and_progress_are_in_the_output_of_a_cell_and_nothing_is_red(tmp_path):
    cells = run_cells(
        "import svc_tools; from svc_tools.demo import orders; lines = orders().iloc[::25]",
        "rated = lines.svc.lookup(cache='rates.db')",  # nothing is configured, nothing is quiet
        "taxed = rated.svc.tax()",
        "taxed.svc.exposure(amount='amount', date='order_date'); svc_tools.connect().close()",
        "review = taxed.svc.review(); print(review)",
        "taxed.svc.split()",
        "import sys; print('mine', file=sys.stderr)",
        folder=tmp_path,
    )
    *ours, printed, shown, last = cells
    streams = [output for outputs in ours for output in outputs if "name" in output]
    assert {output.name for output in streams} == {"stdout"}
    lookup, tax, exposure = (
        "".join(output.text for output in outputs if "text" in output) for outputs in ours[1:]
    )
    assert "svc: No service is configured" in lookup
    assert "svc: rows: " in lookup
    assert "svc: " in tax
    assert exposure.count("svc: ") > 1
    assert {output.output_type for output in printed} == {"stream"}  # and not shown as well
    assert "require review" in "".join(output.text for output in printed)
    assert [output.output_type for output in shown] == ["execute_result"]
    assert {"text/html", "text/plain"} <= set(shown[0].data)
    assert {output.name for output in last} == {"stderr"}


def _counts(shown):
    """The counts of a table of two columns, with one head."""
    words = shown.split()[1:]
    return Counter(dict(zip(words[::2], map(int, words[1::2]), strict=True)))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_what_is_in_git_holds_no_results(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    for cell in notebook["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    text = path.read_text(encoding="utf-8")
    assert "API_KEY" not in text
    assert str(Path.home()) not in text


def test_every_notebook_is_executed_here():
    assert [path.stem for path in sorted(FOLDER.glob("*.ipynb"))] == NAMES


def test_links_of_the_notebooks_lead_somewhere():
    for path in FOLDER.glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for target in _links("".join(cell["source"])):
                assert (FOLDER / target).exists(), f"{path.name}: {target}"


def _links(text):
    return [part.partition(")")[0] for part in text.split("](")[1:]]


def test_every_sample_export_becomes_orders_with_tax(tmp_path):
    """By what README and docs say; the samples lie where they do in the repository."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    shutil.copytree(ROOT / "tests" / "data", tmp_path / "tests" / "data")
    ran = sound(run("07_your_own_export", folder))
    notes = ran.shown("taxed = orders")
    assert "Shopify orders, recognized by the column names: state from column" in notes
    assert "amount from 'Subtotal' (after discounts, before shipping and tax)" in notes
    totals = {}
    for path in (ROOT / "tests" / "data" / "exports").iterdir():
        written = pd.read_csv(folder / OUTPUT / path.stem / "orders-with-tax.csv", dtype=str)
        amounts = [sum(map(Decimal, written[name].dropna())) for name in ("sale_amount", "tax")]
        totals[path.stem] = (len(written), *amounts)
    assert len(totals) == len(SAMPLES)
    table = ran.shown("exports = {")
    for name, (rows, sales, tax) in totals.items():
        rated = re.search(rf"{name} {rows} (\d+) {sales} {tax}", table)
        assert rated is not None, (name, table)
        assert rows - 10 < int(rated[1]) < rows
    assert "marketplace_facilitated 200" in ran.shown('etsy["tax_due_reason"]')
    assert "title, headings and totals" in ran.shown("enrich_file(")
    assert "5 rows canceled or not paid by" in ran.shown("exposure = ")
