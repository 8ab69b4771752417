"""The demo: what it writes, how it ends, what the terminal shows."""

from __future__ import annotations

import csv
import io
import re
import runpy
import signal
import threading
from decimal import Decimal
from itertools import count
from pathlib import Path

import openpyxl
import pytest
from PIL import Image
from rich.console import Console
from support.faults import KEY, answer, echo, serving
from support.frames import enriched, partial, row
from support.systems import posix

from svc_sdk import Svc
from svc_tools import connect
from svc_tools.demo import orders, render, run_demo
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.review.summary import summarize
from svc_tools.show.codes import OTHER_DATE
from svc_tools.tables.states import STATES

PICTURES = Path(__file__).parents[2] / "docs"
SCRIPT = PICTURES.parent / "scripts" / "make_pictures.py"
pytestmark = pytest.mark.timeout(120)  # the whole demo is run, with its pictures


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run: the folder, what was printed, and the exit code."""
    folder = tmp_path_factory.mktemp("demo") / "new" / "output"
    file = io.StringIO()
    with connect("embedded") as client:
        code = run_demo(folder, client=client, console=Console(file=file, width=80), progress=False)
    return folder, file.getvalue(), code


@pytest.fixture(scope="module")
def enriched_rows(ran):
    with (ran[0] / "enriched.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_ends_well_and_lists_the_files_it_wrote(ran):
    folder, text, code = ran
    assert code == 0
    names = ["enriched.csv", "orders.xlsx", "tax_map.png"]
    assert sorted(path.name for path in folder.iterdir()) == names
    listed = text.split("Files written:\n")[1].splitlines()
    assert listed == [f"  {folder / name}" for name in names]


def test_it_says_what_was_asked_and_what_the_rates_are_not(ran):
    text = " ".join(ran[1].split())
    assert text.startswith(f"{len(orders()):,} rows, ")
    assert "distinct places and dates looked up, service: embedded service" in text
    assert "no product rules" in text
    assert text.index("What can be used") < text.index("Rows by status")
    assert "Rows to review by state and reason" in text
    assert "have an incomplete rate and no tax" in text
    assert re.search(r"[0-9,]+ rows carry at least 90% of the \$[0-9,.]+ at stake", text)


def test_every_row_comes_out_in_its_order_with_its_own_cells(enriched_rows):
    given = orders()
    assert len(enriched_rows) == len(given)
    assert [row["order_id"] for row in enriched_rows] == given["order_id"].fillna("").tolist()
    assert [row["zip"] for row in enriched_rows] == given["zip"].fillna("").tolist()


def test_statuses_are_what_the_rows_deserve(enriched_rows):
    by_state = {}
    for one in enriched_rows:
        by_state.setdefault(one["state"].strip(), set()).add(one["lookup_status"])
    assert by_state["NJ"] == {"ok"}
    assert by_state["LA"] == {"ok", "partial"}
    assert by_state["AK"] == {"ok"}
    assert by_state["PR"] == by_state["AE"] == by_state["ON"] == {"unsupported"}
    assert not {"failed", "not_attempted"} & {one["lookup_status"] for one in enriched_rows}
    (empty,) = [one for one in enriched_rows if not one["order_id"]]
    assert empty["lookup_status"] == "invalid"


def test_tax_is_exact_and_missing_where_the_rate_is_not_whole(enriched_rows):
    for one in enriched_rows:
        if one["lookup_status"] != "ok":
            assert one["tax"] == "", one
        elif one["state"].strip() == "NJ":
            assert one["combined_rate"] == "0.06625"
        elif one["state"].strip() == "OR":
            assert (one["combined_rate"], one["tax"]) == ("0.00000", "0.00")
    (line,) = [row for row in enriched_rows if row["order_id"] == "S10001"][:1]
    assert line["lookup_status"]
    assert any(row["tax"].startswith("-") for row in enriched_rows)


def test_the_workbook_and_the_chart_hold_the_same_rows(ran, enriched_rows):
    folder, _, _ = ran
    book = openpyxl.load_workbook(folder / "orders.xlsx", read_only=True)
    assert book.sheetnames == ["Summary", "Lines", "Failures", "Review", "Sources"]
    assert sum(1 for _ in book["Lines"].iter_rows(max_col=1)) == len(enriched_rows) + 1
    book.close()
    with Image.open(folder / "tax_map.png") as image:
        assert "Tax by state: CA $" in image.text["Description"]
    assert (folder / "tax_map.png").stat().st_size < 400_000


def test_what_rests_on_rates_of_another_date_is_that_of_the_rows(ran, enriched_rows):
    taxed = [row for row in enriched_rows if row["tax"]]
    dated = [row for row in taxed if OTHER_DATE & set(row["warnings"].split("; "))]
    tax, sales = (sum(Decimal(row[name]) for row in dated) for name in ("tax", "amount"))
    whole = sum(Decimal(row["tax"]) for row in taxed)
    said = " ".join(ran[1].split())
    assert f"${tax:,.2f} of the ${whole:,.2f} tax rests on the rate of another date" in said
    assert f"({len(dated):,} rows, ${sales:,.2f} of sales)" in said


@pytest.mark.skipif(not PICTURES.exists(), reason="the pictures are not part of the packages")
def test_the_picture_of_the_readme_is_that_of_the_demo(ran, tmp_path):
    runpy.run_path(str(SCRIPT))["draw"](tmp_path)
    pictures = (PICTURES / "tax_map.png", tmp_path / "tax_map.png", ran[0] / "tax_map.png")
    with (
        Image.open(pictures[0]) as readme,
        Image.open(pictures[1]) as fresh,
        Image.open(pictures[2]) as demo,
    ):
        assert readme.text["Description"] == fresh.text["Description"] == demo.text["Description"]
        assert readme.size == fresh.size


def test_files_that_are_there_are_kept(tmp_path):
    mine = tmp_path / "orders.xlsx"
    mine.write_text("my own work", encoding="utf-8")
    console = Console(file=io.StringIO(), width=80)
    with connect("embedded") as client:
        assert run_demo(tmp_path, client=client, console=console, progress=False) == 0
    assert mine.read_text(encoding="utf-8") == "my own work"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "enriched-2.csv",
        "orders-2.xlsx",
        "orders.xlsx",
        "tax_map-2.png",
    ]


def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_asked(tmp_path):
    path = tmp_path / "output"
    path.write_text("mine", encoding="utf-8")
    with (
        serving() as faults,
        Svc(KEY, base_url=faults.base_url) as client,
        pytest.raises(NotADirectoryError, match="is a file; name a folder"),
    ):
        run_demo(path, client=client, progress=False)
    assert faults.seen == []
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_service_that_refuses_loses_no_rows_and_is_told_by_the_exit_code(tmp_path):
    refusal = b'{"error": {"code": "UNAUTHORIZED", "message": "no such key"}}'
    file = io.StringIO()
    with serving() as faults:
        faults.will(answer(401, refusal))
        with Svc(KEY, base_url=faults.base_url) as client:
            console = Console(file=file, width=80)
            assert run_demo(tmp_path, client=client, console=console, progress=False) == 1
    with (tmp_path / "enriched-incomplete.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(orders())
    assert {row["tax"] for row in rows} == {""}
    assert "not_attempted" in file.getvalue()
    last = " ".join(file.getvalue().split("Ended early")[-1].split())
    assert "no such key" in last
    assert last.endswith(f"of {len(rows):,} rows not attempted.")


def interrupting(after):
    """A step of the server's script: after so many answers somebody presses Ctrl+C."""
    calls = count(1)

    def step(seen):
        if next(calls) == after:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return echo(seen)

    return step


@posix
def test_ctrl_c_keeps_what_was_found_apart_from_whole_runs_and_says_what_is_missing(
    tmp_path, capsys
):
    mine = tmp_path / "enriched.csv"
    mine.write_text("a whole run", encoding="utf-8")
    file = io.StringIO()
    with serving() as faults, Svc(KEY, base_url=faults.base_url) as client:
        faults.will(interrupting(after=40))
        console = Console(file=file, width=80)
        assert run_demo(tmp_path, client=client, console=console, progress=False) == 1
    assert mine.read_text(encoding="utf-8") == "a whole run"
    assert sorted(path.name for path in tmp_path.iterdir() if path != mine) == [
        "enriched-incomplete.csv",
        "orders-incomplete.xlsx",
        "tax_map-incomplete.png",
    ]
    with (tmp_path / "enriched-incomplete.csv").open(encoding="utf-8", newline="") as table:
        statuses = [row["lookup_status"] for row in csv.DictReader(table)]
    missing = statuses.count("not_attempted")
    assert 0 < missing < len(statuses) == len(orders())
    last = file.getvalue().splitlines()[-1]
    assert last == f"Interrupted: {missing:,} of {len(statuses):,} rows not attempted."
    assert capsys.readouterr().err == ""


def shown(frame, width=80, **console):
    """The rendered text, as a pipe receives it."""
    file = io.StringIO()
    render(summarize(Enriched(frame)), Console(file=file, width=width, **console))
    return file.getvalue()


def flat(text):
    return " ".join(text.split())


def line_of(text, name):
    """The cells of the last line that starts with `name`."""
    return [line.split() for line in text.splitlines() if line.startswith(name)][-1]


def between(text, start, end):
    return text.split(start)[1].split(end)[0]


MIXED = (
    row("NJ", "100.00", "0.06625"),
    row("OR", "80.00", "0.00000", confidence="low"),
    partial("TX", "1300.00"),
    row("TX", "40.00", None, lookup_error="ZIP 75999 is unknown"),
)


def test_it_shows_whole_tax_apart_from_sales_without_one():
    text = shown(enriched(*MIXED))
    taxed = text.split("Sales without a tax")[0]
    untaxed = between(text, "Sales without a tax", "Why rows")
    assert line_of(taxed, "NJ") == ["NJ", "1", "100.00", "6.63"]
    assert line_of(taxed, "OR") == ["OR", "1", "80.00", "0.00"]
    assert line_of(taxed, "Total") == ["Total", "2", "180.00", "6.63"]
    assert "TX" not in taxed
    assert line_of(untaxed, "TX") == ["TX", "1", "1,300.00", "1", "40.00"]
    assert line_of(taxed, "low") == ["low", "1", "80.00", "0.00"]


def test_it_leads_with_what_can_be_used_and_groups_what_to_review():
    frame = enriched(*MIXED, row(warnings="place_input_mismatch"))
    text = shown(frame)
    assert "1 of 5 rows is ready to use ($100.00 of sales, $6.63 of tax)." in flat(text)
    used = between(text, "What can be used", "Rows by status")
    for part in frame.svc.split().parts:
        cells = " ".join(line_of(used, part.label))
        assert cells.startswith(f"{part.label} {part.rows} ${part.sales:,.2f}")
    listed = text.split("Rows to review by state and reason: 4 of 5\n")[1]
    groups = [
        line.split()[:4] for line in listed.splitlines() if re.match(r"[A-Z]{2} +\w+ +1 ", line)
    ]
    assert groups == [
        ["TX", "partial", "1", "$81.25"],
        ["NJ", "place_input_mismatch", "1", "$6.63"],
        ["TX", "unresolved", "1", "$2.50"],
        ["OR", "low_confidence", "1", "$0.00"],
    ]
    assert "Sales Tax Rate Locator" in flat(listed)
    assert "by state and reason" not in shown(enriched(row()))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(width):
    long = "zip: 'a very long reason' " * 12
    rows = [row(code, "1234567.00", None) for code in STATES]
    rows += [partial(code, "1234567.00") for code in STATES]
    text = shown(enriched(*MIXED, *rows, row(rate=None, lookup_error=long)), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert flat(long).replace(" ", "") in "".join(text.split())
    untaxed = text.split("Sales without a tax")[1]
    for head in ("State", "Partial", "Sales", "No rate"):
        assert head in untaxed.splitlines()[1]
    assert "39 more " in untaxed
    assert "62,964,217.00" in untaxed


def test_what_comes_from_data_is_never_markup():
    text = shown(enriched(row(rate=None, lookup_error="[red]not [/] markup[link=x]")))
    assert "[red]not [/] markup[link=x]" in text


def test_a_terminal_that_only_knows_ascii_can_show_it():
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    render(summarize(Enriched(enriched(*MIXED))), Console(file=file, width=80))
    file.flush()
    assert b"Total" in raw.getvalue()
