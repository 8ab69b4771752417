"""Days of workbooks that count from 1904, and of files in which a spreadsheet exchanged dates."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, example, given
from hypothesis import strategies as st
from openpyxl.utils.datetime import CALENDAR_MAC_1904, to_excel
from support.dates import COLUMNS, read_column
from support.examples import examples

import svc_tools
from svc_tools import nexus
from svc_tools.frames import enrich_file, exposure_of_file
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.frames.sales import exposure as exposing
from svc_tools.tables import tabular
from svc_tools.tables.dates import DateStyle
from svc_tools.tables.roles import DatesAmbiguous

CASES = Path(__file__).parents[1] / "data" / "sales_files"
HEADER = ["State", "Zip", "Order Date", "Amount"]
FROM_1904 = "day numbers are counted from 1904-01-01, as the workbook says"


def workbook(path, rows, *, epoch=CALENDAR_MAC_1904):
    book = openpyxl.Workbook()
    book.epoch = epoch
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def csv_file(path, days):
    rows = [f"WA,98101,{day},100.00" for day in days]
    path.write_text("\n".join([",".join(HEADER), *rows]), encoding="utf-8")
    return path


def enriched(source, tmp_path, client, **arguments):
    run = enrich_file(source, tmp_path / "out.csv", tax={}, client=client, **arguments)
    return run, pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("kind", ["number", "time", "formatted"])
def test_days_of_a_workbook_of_1904_are_those_that_it_shows(embedded, tmp_path, kind):
    run, rows = enriched(CASES / f"c09_1904_{kind}.xlsx", tmp_path, embedded)
    assert rows[["lookup_as_of", "tax", "Amount"]].to_numpy().tolist() == [
        ["2026-08-14", "10.55", "100"]
    ]
    assert FROM_1904 in run.notes
    warned = [note for note in run.notes if "'Order Date' is written as it is" in note]
    assert len(warned) == (kind != "formatted")


def test_amounts_and_years_of_such_a_workbook_are_no_days(scripted, tmp_path):
    rows = [HEADER, ["WA", 98101, 44786, 44786], ["WA", 98101, 44787, 44786.5]]
    _, found = enriched(workbook(tmp_path / "a.xlsx", rows), tmp_path, scripted)
    assert found["lookup_as_of"].tolist() == ["2026-08-14", "2026-08-15"]
    assert found["taxable_amount"].tolist() == ["44786.00", "44786.50"]
    assert found["Order Date"].tolist() == ["44786", "44787"]


def test_numbers_and_dates_of_one_column_are_of_one_calendar(scripted, tmp_path):
    days = [44786, datetime(2026, 8, 15), "44788", "2026-08-17", 44790.75]  # noqa: DTZ001
    rows = [HEADER, *(["WA", "98101", day, 1] for day in days)]
    _, found = enriched(workbook(tmp_path / "a.xlsx", rows), tmp_path, scripted)
    assert found["lookup_as_of"].tolist() == [f"2026-08-{day}" for day in (14, 15, 16, 17, 18)]


def test_a_workbook_of_1900_is_as_before(scripted, tmp_path):
    rows = [HEADER, ["WA", "98101", 46248, 100]]
    source = workbook(tmp_path / "a.xlsx", rows, epoch=datetime(1899, 12, 30))  # noqa: DTZ001
    run, found = enriched(source, tmp_path, scripted)
    assert found["lookup_as_of"].tolist() == ["2026-08-14"]
    assert not any("1904" in note for note in run.notes)


def test_sales_for_the_thresholds_are_of_the_days_that_the_workbook_shows(tmp_path):
    rows = [HEADER, ["WA", "98101", 44786, 100], ["WA", "98101", 44787.25, 100]]
    source = workbook(tmp_path / "a.xlsx", rows)
    found = exposure_of_file(source, as_of="2026-12-31", progress=False)
    facts = found.attrs["svc_exposure"]
    assert (str(facts["first_day"]), str(facts["last_day"])) == ("2026-08-14", "2026-08-15")
    assert FROM_1904 in facts["notes"]


def test_a_register_counts_from_1904_where_its_workbook_does(tmp_path):
    rows = [["state", "nexus_type", "registered_at"], ["WA", "economic", 44786]]
    (record,) = nexus.read_register(workbook(tmp_path / "a.xlsx", rows)).records
    assert record.registered_at == date(2026, 8, 14)


def test_the_first_look_at_a_file_says_how_its_days_are_counted():
    assert FROM_1904 in view_of_file(CASES / "c09_1904_number.xlsx").notes
    assert not view_of_file(CASES / "c09_1904_number.xlsx").unclear


@given(
    st.lists(st.datetimes(datetime(1990, 1, 1), datetime(2089, 12, 31)), min_size=1, max_size=6)  # noqa: DTZ001
)
def test_day_numbers_of_1904_are_read_as_openpyxl_writes_them(moments):
    whole = [moment.replace(hour=moment.hour % 23, microsecond=0) for moment in moments]
    numbers = [to_excel(moment, CALENDAR_MAC_1904) for moment in whole]
    found = read_column(numbers, DateStyle(from_1904=True))
    assert found.days == [moment.date() for moment in whole]
    assert found.from_1904 == [*range(len(numbers))]
    again = read_column(numbers, DateStyle.from_json(found.style.as_json()))
    assert again.days == found.days


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ("05/31/2026", "as_of: '05/31/2026' is read month first: 2026-05-31"),
        ("31.5.2026", "as_of: '31.5.2026' is read day first: 2026-05-31"),
        ("46173", "as_of: '46173' is read as the day number of a spreadsheet: 2026-05-31"),
        ("2026-05-31", None),
        ("May 31, 2026", None),
    ],
)
def test_one_date_for_all_rows_is_shown_as_it_is_read(scripted, tmp_path, given, note):
    frame = pd.DataFrame({"state": ["WA"], "zip": ["98101"]})
    found = frame.svc.lookup(client=scripted, progress=False, as_of=given)
    assert found["lookup_as_of"].map(str).tolist() == ["2026-05-31"]
    frame.to_csv(tmp_path / "a.csv", index=False)
    lookup = {"as_of": given}
    run = enrich_file(tmp_path / "a.csv", tmp_path / "out.csv", lookup=lookup, client=scripted)
    for notes in (found.attrs["svc"]["lookups"][""]["notes"], run.notes):
        assert [one for one in notes if one.startswith("as_of:")] == ([note] if note else [])


ISO = ["2026-09-10", "2026-09-10 00:00:00", "2026-09-10T08:15:00", "2026/09/10", "20260910"]


@pytest.mark.parametrize("iso", ISO)
@pytest.mark.parametrize("text", ["30/9/2026", "9/30/2026"])
def test_iso_beside_texts_of_one_order_is_asked_for(embedded, tmp_path, iso, text):
    source = csv_file(tmp_path / "a.csv", [iso, text])
    with pytest.raises(DatesAmbiguous) as refused:
        enriched(source, tmp_path, embedded)
    assert (refused.value.kind, refused.value.column) == ("exchanged", "Order Date")
    assert text in refused.value.fact
    assert iso[:4] in refused.value.fact
    assert not (tmp_path / "out.csv").exists()
    frame = pd.read_csv(source, dtype=str)
    with pytest.raises(DatesAmbiguous):
        frame.svc.lookup(client=embedded, progress=False)
    order = "day first" if text.startswith("30") else "month first"
    _, rows = enriched(source, tmp_path, embedded, date_format=order)
    assert rows["lookup_as_of"].tolist() == ["2026-09-10", "2026-09-30"]


def test_a_register_and_sales_ask_for_it_too(tmp_path):
    source = csv_file(tmp_path / "a.csv", ["2026-09-10", "30/9/2026"])
    with pytest.raises(DatesAmbiguous):
        exposure_of_file(source, progress=False)
    rows = [
        {"state": "WA", "nexus_type": "economic", "registered_at": day}
        for day in ("2026-09-10", "30/9/2026")
    ]
    with pytest.raises(nexus.RegisterError, match="exchanges the two"):
        nexus.read_register(rows)


@pytest.mark.parametrize(
    "days",
    [
        ["2026-09-10", "2026-10-09"],
        ["2026-09-10T08:15:00", "2026-09-10"],
        ["2026-09-30", "9/14/2026"],  # neither can be an exchanged date
        ["2026-09-09", "9/14/2026"],
        ["2026-09-10", "9/14/2026", "9/10/2026"],  # a spreadsheet would have taken the last one
        [date(2026, 9, 30), "9/14/2026"],
    ],
)
def test_columns_in_which_nothing_was_exchanged_are_read(days):
    found = read_column(days, DateStyle()).days
    assert all(isinstance(day, date) and day.month in {9, 10} for day in found)


@given(
    st.lists(st.dates(date(2020, 1, 1), date(2030, 1, 1)), min_size=2, max_size=8), st.booleans()
)
def test_what_a_spreadsheet_made_of_day_first_texts_is_never_read_wrongly(days, as_iso):
    """As a spreadsheet with US settings opens them: it takes what it can as month first."""

    def opened(day):
        if day.day > 12:
            return f"{day:%d/%m/%Y}"
        taken = date(day.year, day.day, day.month)
        return f"{taken:%Y-%m-%d}" if as_iso else taken

    cells = [opened(day) for day in days]
    texts = [isinstance(cell, str) and "/" in cell for cell in cells]
    wrong = any(day.day <= 12 and day.day != day.month for day in days)
    if wrong and any(texts):
        with pytest.raises(DatesAmbiguous):
            read_column(cells, DateStyle())
    elif not wrong:
        assert read_column(cells, DateStyle()).days == days


ROLES = {"zip": "Zip", "state": "State", "as_of": "Order Date"}


def looked_up(frame, client):
    found = frame.svc.lookup(client=client, progress=False, **ROLES)
    days = found["lookup_as_of"].map(str, na_action="ignore").fillna("")
    errors = found["lookup_error"].fillna("")
    return [*zip(days, errors, strict=True)], found.attrs["svc"]["lookups"][""]["notes"]


def written(source, client):
    output = source.with_name("out.csv")
    run = enrich_file(source, output, lookup=ROLES, client=client, force=True)
    found = pd.read_csv(output, dtype=str, keep_default_na=False)
    return [*zip(found["lookup_as_of"], found["lookup_error"], strict=True)], run.notes


def exposed(of, source, **arguments):
    found = of(source, date="Order Date", as_of="2061-01-01", progress=False, **arguments)
    return found.to_dict("list"), found.attrs["svc_exposure"]["notes"]


def outcome(function, *arguments, **named):
    """What a call gives, with its notes on dates; or its error."""
    try:
        found, notes = function(*arguments, **named)
    except DatesAmbiguous as error:
        return error.kind, error.shown, error.role, error.column
    return found, [note for note in notes if "column 'Order Date' " in note]


@pytest.mark.timeout(240)  # each example reads its file four times, on a busy machine for seconds
@examples(
    5,
    of=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # each example reads files: none smaller
)
@example(["9/30/2026", "9/10/2026"])
@example(["9/10/2026", "30/9/2026", "9/10/2026"])
@example(["9/10/2026", "10/9/2026"])
@example([*range(46_100, 46_110), 7, 7])
@given(cells=COLUMNS)
def test_a_file_in_chunks_of_one_row_is_read_as_its_frame(scripted, tmp_path, cells):
    texts = ["2026-05-01", *("" if cell is None else str(cell) for cell in cells)]
    frame = pd.DataFrame({"State": "WA", "Zip": "98101", "Order Date": texts, "Amount": "1.00"})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame["Order Date"] = frame["Order Date"].replace("", None)
    by_frame = outcome(looked_up, frame, scripted)
    sold = outcome(exposed, lambda one, **how: svc_tools.svc(one).exposure(**how), frame)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabular, "_BLOCK_BYTES", 1)
        assert outcome(written, tmp_path / "a.csv", scripted) == by_frame
        assert outcome(exposed, exposure_of_file, tmp_path / "a.csv") == sold
        patch.setattr(exposing, "SLICE", 1)
        assert (
            outcome(exposed, lambda one, **how: svc_tools.svc(one).exposure(**how), frame) == sold
        )


def test_only_a_file_whose_dates_must_decide_is_read_for_them(scripted, tmp_path, monkeypatch):
    reads, blocks = [], tabular._CsvTable._blocks
    monkeypatch.setattr(tabular._CsvTable, "_blocks", lambda one: reads.append(1) or blocks(one))
    monkeypatch.setattr(tabular, "_BLOCK_BYTES", 1)
    counts = {}
    for days in (["2026-09-10", "2026-09-30"], ["2026-09-10", "9/30/2026", "9/10/2026"]):
        source = csv_file(tmp_path / "a.csv", days)
        reads.clear()
        enrich_file(source, tmp_path / "out.csv", lookup=ROLES, client=scripted, force=True)
        counts[days[1]] = len(reads)
        reads.clear()
        exposure_of_file(source, progress=False)
        counts[days[1], "exposure"] = len(reads)
    assert counts["9/30/2026"] == counts["2026-09-30"] + 1
    assert counts["9/30/2026", "exposure"] == counts["2026-09-30", "exposure"] + 1
