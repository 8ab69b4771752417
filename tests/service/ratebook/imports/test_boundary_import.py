"""Importing boundary files: whole or not at all, streamed; their lines, strictly."""

from __future__ import annotations

import csv
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.boundary_files import (
    LOADED,
    METRO,
    MINNEAPOLIS,
    RATES,
    generated_lines,
    imported,
    line,
    write_boundary_file,
)
from support.systems import linux, posix

from svc_tools.base.progress import NoProgress
from svc_tools.service.ratebook import Query, load_book, resolve
from svc_tools.service.ratebook.imports.boundary_import import (
    LAST_HOUSE,
    OPEN_END,
    AddressRecord,
    Plus4Record,
    ZipRecord,
    import_boundary,
    read_line,
)
from svc_tools.service.ratebook.imports.database import Edition, editions, open_own_book
from svc_tools.service.ratebook.imports.importer import import_files
from svc_tools.service.ratebook.imports.reading import BrokenLine, FileRefused
from svc_tools.service.ratebook.imports.sst_rows import Composition
from svc_tools.service.ratebook.imports.streets import (
    UNSURE,
    Street,
    read_street,
    split_street,
)
from svc_tools.service.ratebook.own import OwnBookChanged, OwnBookError

DAY = date(2026, 5, 1)
ASKED = Query("MN", zip="55401-1234", as_of=DAY)
FIRST = line("4", zips="55401", plus4="1-9999", **MINNEAPOLIS)
SECOND = line("4", zips="55401", plus4="1-9999", county="053")
TESTS = Path(__file__).parents[3]


@pytest.fixture
def rates(tmp_path):
    file = tmp_path / "MNR2026Q2FEB18.csv"
    file.write_text(RATES)
    return file


@pytest.fixture
def own(tmp_path, rates):
    """An own book with Minnesota's rates."""
    path = tmp_path / "own" / "book.db"
    imported(path, rates)
    return path


@pytest.fixture
def write(tmp_path):
    """Writes a boundary file of Minnesota; later quarters replace earlier ones."""

    def write(*lines, quarter="2026Q2"):
        file = tmp_path / f"MNB{quarter}FEB18.csv"
        data = "".join(lines)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return file

    return write


def answer(own):
    found = resolve(load_book(own=own), ASKED, today=DAY)
    return found.confidence, found.chosen.combined


class Watched(NoProgress):
    """Progress that is recorded, and something that happens in the middle of the work."""

    def __init__(self, then=lambda: None):
        self.stages, self.counts, self._then = [], [], then

    def start(self, *stage):
        self.stages.append(stage)

    def advance(self, count=1):
        self.counts.append(count)
        self._then()


def boundary_rows(own):
    with closing(open_own_book(own)) as connection:
        return {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]  # noqa: S608
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE name LIKE 'boundary_%' AND type = 'table'"
            )
        }


def test_the_edition_says_what_the_file_was(own, write):
    file = write(FIRST, line("Z", zips="55401", begins="20190101"))
    (one,) = imported(own, file)
    with closing(open_own_book(own)) as connection:
        kept = next(e for e in editions(connection) if e.kind == "boundary")
    assert one.edition == kept
    assert (kept.state, kept.edition, kept.rows, kept.loaded_at) == ("MN", "2026Q2", 2, LOADED)
    assert (kept.covers_from, kept.covers_until) == (date(2016, 1, 1), date(2026, 6, 30))
    assert len(kept.digest) == 64
    assert any("1 ZIP, 1 ZIP+4 records with 2 different sums" in f.message for f in one.findings)


def test_a_later_edition_takes_the_place_of_the_earlier_one(own, write):
    imported(own, write(FIRST))
    before = boundary_rows(own)
    imported(own, write(SECOND, quarter="2026Q3"))
    assert boundary_rows(own) == before
    assert answer(own) == ("exact", 7_025)


def test_a_repeated_record_counts_once(own, write):
    imported(own, write(FIRST, FIRST))
    assert answer(own) == ("exact", 9_025)
    assert boundary_rows(own)["boundary_plus4"] == 1


def test_more_compositions_than_are_kept_in_memory_are_still_one_each(own, write, monkeypatch):
    monkeypatch.setattr("svc_tools.service.ratebook.imports.boundary_import._KNOWN_COMPOSITIONS", 2)
    counties = [f"{n:03}" for n in (1, 3, 5, 7, 1, 3, 5, 7)]
    imported(
        own,
        write(*(line("4", zips="55401", plus4=f"{n}", county=c) for n, c in enumerate(counties))),
    )
    assert boundary_rows(own)["boundary_composites"] == 4
    assert boundary_rows(own)["boundary_plus4"] == 8


def test_a_district_without_a_rate_is_reported(own, write):
    (one,) = imported(own, write(FIRST, line("4", zips="55402", plus4="1", specials=["99999"])))
    assert any("99999" in f.subject and "have no exact rate" in f.message for f in one.findings)


def test_rates_of_another_quarter_are_noted(own, write):
    (one,) = imported(own, write(FIRST, quarter="2026Q3"))
    assert any("of 2026Q3" in f.message and "of 2026Q2" in f.message for f in one.findings)


@pytest.mark.parametrize(
    "data",
    [
        FIRST.replace("\n", "\r\n"),
        "\ufeff" + FIRST,
        FIRST.rstrip("\n"),
        "\n" + FIRST + "\n\n",
        ",".join(f'"{field}"' for field in FIRST.rstrip("\n").split(",")),
    ],
)
def test_the_ways_files_are_written(own, write, data):
    imported(own, write(data))
    assert answer(own) == ("exact", 9_025)


def test_a_street_in_the_older_windows_set(own, tmp_path):
    file = tmp_path / "MNB2026Q2FEB18.csv"
    street = line("A", zip5="55401", street="|R\xe9sum\xe9|LN|", numbers="1-9", **MINNEAPOLIS)
    file.write_bytes(street.encode("cp1252"))
    imported(own, file)
    asked = Query("MN", address="3 Resume Lane, Minneapolis, MN 55401", as_of=DAY)
    found = resolve(load_book(own=own), asked, today=DAY)
    assert (found.location.via, found.confidence) == ("address", "exact")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("4,20160101\n", r"line 3: 2 columns; expected 29"),
        (line("4", zips="55401", plus4="x"), r"line 3: column 19 \(\+4 low\) holds 'x'"),
        (line("4", zips="55401", plus4="1", state="55"), "line 3: column 23 .* expected 27"),
        ('"' + "x" * 200_000, "line 3: more than 100,000 bytes; expected one record a line"),
        ("\x00" + FIRST, "line 3: a NUL byte; expected text"),
    ],
)
def test_a_broken_line_keeps_nothing_of_its_file(own, write, broken, said):
    imported(own, write(FIRST))
    before = boundary_rows(own)
    with pytest.raises(BrokenLine, match=said):
        imported(own, write(SECOND, SECOND, broken, SECOND, quarter="2026Q3"))
    assert boundary_rows(own) == before
    assert answer(own) == ("exact", 9_025)


def test_a_file_without_records_keeps_the_old_edition(own, write):
    imported(own, write(FIRST))
    empty = write("\n\n", quarter="2026Q3")
    shipped = load_book(own=own)
    new = Edition("MN", "boundary", empty.name, "2026Q3", DAY, DAY, "", LOADED)
    with (
        closing(open_own_book(own, write=True)) as connection,
        pytest.raises(FileRefused, match="no record"),
    ):
        import_boundary(connection, empty, new, shipped)
    assert answer(own) == ("exact", 9_025)


def test_progress_ends_with_all_bytes(own, write):
    file = write(*generated_lines(12_000))
    shown = Watched()
    list(import_files([file], own, today=LOADED, progress=shown))
    assert shown.stages == [(f"Importing {file.name}", file.stat().st_size, "bytes")]
    assert len(shown.counts) >= 3
    assert sum(shown.counts) == file.stat().st_size


IMPORT = """
    import os, signal, sys
    from datetime import date
    from pathlib import Path
    from svc_tools.show.meters import NoProgress
    from svc_tools.service.ratebook.imports.importer import import_files

    class Watched(NoProgress):
        def start(self, name, total, unit):
            self.left = total * {stop}

        def advance(self, count=1):
            self.left -= count
            if self.left < 0:
                os.kill(os.getpid(), signal.{signal})

    own, file = map(Path, sys.argv[1:])
    list(import_files([file], own, today=date(2026, 5, 2), progress=Watched()))
    # not ru_maxrss: that of the process before exec counts there
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def import_in_a_process(own, file, *, stop=2, kill="SIGKILL"):
    program = textwrap.dedent(IMPORT).format(stop=stop, signal=kill)
    return subprocess.run(
        [sys.executable, "-c", program, str(own), str(file)],
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
        check=False,
        timeout=50,
    )


@pytest.mark.parametrize("kill", ["SIGKILL", "SIGINT", "SIGTERM"])
@posix
def test_a_process_that_dies_in_the_middle_leaves_the_old_edition(own, write, kill):
    imported(own, write(FIRST))
    before = boundary_rows(own)
    file = write(*generated_lines(15_000), quarter="2026Q3")
    died = import_in_a_process(own, file, stop=0.5, kill=kill)
    assert died.returncode in {-getattr(signal, kill), 1, 130}, died.stderr
    assert boundary_rows(own) == before
    assert answer(own) == ("exact", 9_025)
    imported(own, file)
    assert boundary_rows(own)["boundary_plus4"] > 5_000


@linux
def test_memory_does_not_grow_with_the_file(own, tmp_path):
    small = write_boundary_file(tmp_path / "MNB2026Q2FEB18.csv", 5_000)
    large = write_boundary_file(tmp_path / "MNB2026Q3MAY18.csv", 50_000)
    used = []
    for file in (small, large):
        done = import_in_a_process(own, file)
        assert done.returncode == 0, done.stderr
        used.append(int(done.stdout))
    assert max(used) < 400, "MB"
    assert used[1] - used[0] < 90, "MB: SQLite's cache of 64 and batches"


def test_lookups_go_on_with_the_old_edition_while_an_import_runs(own, write):
    imported(own, write(FIRST))
    book = load_book(own=own)
    seen = []

    def look():
        seen.append(resolve(book, ASKED, today=DAY).chosen.combined)
        seen.append(answer(own)[1])

    file = write(*generated_lines(12_000), quarter="2026Q3")
    list(import_files([file], own, today=LOADED, progress=Watched(look)))
    assert seen
    assert set(seen) == {9_025}


def test_a_book_in_memory_never_mixes_two_editions(own, write):
    imported(own, write(FIRST))
    book = load_book(own=own)
    assert resolve(book, ASKED, today=DAY).chosen.combined == 9_025
    imported(own, write(SECOND, quarter="2026Q3"))
    with pytest.raises(OwnBookChanged):
        resolve(book, ASKED, today=DAY)
    assert answer(own) == ("exact", 7_025)


def test_a_book_whose_file_is_gone_says_so(own, write):
    imported(own, write(FIRST))
    book = load_book(own=own)
    own.unlink()
    with pytest.raises(OwnBookChanged):
        resolve(book, ASKED, today=DAY)


def test_a_damaged_book_says_which_and_what_to_do(own, write):
    imported(own, write(*generated_lines(2_000)))
    book = load_book(own=own)
    with own.open("r+b") as file:
        file.seek(8_192)
        file.write(b"\xff" * (own.stat().st_size - 8_192))
    with pytest.raises(OwnBookError, match=r"book\.db is damaged .*; move the file away"):
        resolve(book, ASKED, today=DAY)


@posix
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_opens_the_book_for_itself(own, write):
    imported(own, write(FIRST))
    book = load_book(own=own)
    assert resolve(book, ASKED, today=DAY).chosen.combined == 9_025
    child = os.fork()
    if not child:  # pragma: no cover - the child ends here
        wrong = resolve(book, ASKED, today=DAY).chosen.combined != 9_025
        os._exit(wrong)
    assert os.waitpid(child, 0)[1] == 0
    assert resolve(book, ASKED, today=DAY).chosen.combined == 9_025


def test_removing_the_rates_leaves_no_answer_by_records_alone(own, write):
    imported(own, write(FIRST))
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM editions WHERE kind = 'rates'")
        connection.commit()
    assert answer(own)[0] != "exact"


def fields(text):
    return next(csv.reader([text]))


def read(text, number=7):
    return read_line("MNB2026Q2FEB18.csv", number, fields(text), "27")


STATE_ALONE = Composition("27", "", "", ())
HENNEPIN = Composition("27", "053", "", ())
SINCE = 20160101, OPEN_END


@pytest.mark.parametrize(
    ("made", "record"),
    [
        ({"kind": "z", "zips": "55012-55013"}, ZipRecord(*SINCE, 55012, 55013, STATE_ALONE)),
        ({"kind": " Z ", "zips": "2801-2802"}, ZipRecord(*SINCE, 2801, 2802, STATE_ALONE)),
        ({"kind": "Z", "zips": "55401", "county": "53"}, ZipRecord(*SINCE, 55401, 55401, HENNEPIN)),
        (
            {"kind": "4", "zips": "55075-55077", "plus4": "0-741", "ends": "20190331"},
            Plus4Record(20160101, 20190331, 55075, 0, 55077, 741, STATE_ALONE),
        ),
    ],
)
def test_a_line_and_its_record(made, record):
    assert read(line(**made)) == record


def test_an_address_record_is_a_side_of_a_street_or_some_of_its_suites():
    made = {"zip5": "55401", "street": "n|main|street|", "numbers": "101-199", "side": "o"}
    record = read(line("a", **made, place="43000", unit="apt|100-198|E"))
    assert isinstance(record, AddressRecord)
    assert record.street == Street("N", "MAIN", "ST", "")
    assert (record.zip, record.low, record.high, record.parity) == (55401, 101, 199, "O")
    assert record.composition == Composition("27", "", "43000", ())
    unit = record.unit, record.unit_low, record.unit_high, record.unit_parity
    assert unit == ("", "100", "198", "E")


@pytest.mark.parametrize("end", ["29991231", "99991231", "20991231", "21001231", "99999999"])
def test_the_ends_that_mean_open(end):
    assert read(line("Z", zips="55401", ends=end)).ends == OPEN_END


@pytest.mark.parametrize("columns", [29, 32, 38, 89, 90])
def test_the_widths_of_real_files(columns):
    text = line("Z", zips="55401", county="053", columns=columns)
    assert read(text).composition == HENNEPIN
    ends = ["," * commas for commas in (1, 2, 5)] if columns != 38 else []
    for end in [*ends, *(["anything"] if columns == 90 else [])]:  # the ninetieth is not read
        assert read(text.rstrip("\n") + end) == read(text)


def test_special_districts_keep_their_type_and_stand_once():
    text = line("Z", zips="55401", specials=["80004", "79:ab-1", "80004"])
    assert read(text).composition.specials == ("63:80004", "79:AB-1")


FAULTS = [
    ("column 1 (record type) holds 'X'; expected Z, 4 or A", {"kind": "X"}),
    ("column 2 (begin) holds '20260230'; expected a day", {"begins": "20260230"}),
    ("column 2 (begin) holds '2026-01-01'; expected a day", {"begins": "2026-01-01"}),
    ("column 2 (begin) holds '18000101'; expected a day", {"begins": "18000101"}),
    ("column 2 (begin) holds ''", {"begins": ""}),
    ("column 3 (end) holds '20150101'; expected a day on or after", {"ends": "20150101"}),
    ("column 23 (state FIPS) holds '55'; expected 27, the state of this file", {"state": "55"}),
    ("column 24 (state indicator) holds '55'; expected 27", {"indicator": "55"}),
    ("column 25 (county FIPS) holds '1234'; expected 3 digits", {"county": "1234"}),
    ("column 26 (place FIPS) holds 'abc'; expected 5 digits", {"place": "abc"}),
    ("column 18 (ZIP low) holds '554'; expected a ZIP of five digits", {"zips": "554"}),
    ("column 18 (ZIP low) holds ''; expected a ZIP", {"zips": ""}),
    ("column 20 (ZIP high) holds '55400'; expected a ZIP not below", {"zips": "55401-55400"}),
    ("column 31 (special district 1, code) holds 'a b'; expected the code", {"specials": ["a b"]}),
    (
        "column 35 (special district 2, authority type) holds 'x'; expected the type",
        {"specials": ["80004", "x:80008"]},
    ),
    ("column 19 (+4 low) holds '12345'; expected the four", {"kind": "4", "plus4": "12345-1"}),
    ("column 21 (+4 high) holds '1'; expected a +4 not below", {"kind": "4", "plus4": "2-1"}),
    ("column 16 (ZIP) holds ''; expected a ZIP", {"kind": "A", "zip5": ""}),
    ("column 8 (street) holds ''; expected the name of a street", {"kind": "A", "street": "N|||"}),
]
VAGUE = [
    ("column 4 (low address) holds 'x'; expected a house number", {"numbers": "x"}),
    ("column 4 (low address) holds ''; expected a house number", {"numbers": "-9"}),
    ("column 5 (high address) holds '1'; expected a number not", {"numbers": "3-1"}),
    ("column 5 (high address) holds 'N9'; expected a number wr", {"numbers": "3-N9"}),
    ("column 6 (odd/even) holds ''; expected O (odd), E (even)", {"side": ""}),
    ("column 14 (secondary odd/even) holds 'X'", {"unit": "APT|1-2|X"}),
    ("column 12 (secondary low) holds ''; expected both", {"unit": "APT|-2|"}),
]
"""What a record may be vague about: whoever publishes hundreds of thousands has some of these."""
GOOD = {"kind": "Z", "zips": "55401", "plus4": "1-2", "zip5": "55401", "street": "|OAK||"}


@pytest.mark.parametrize(("message", "changed"), FAULTS)
def test_a_broken_line_says_where_what_and_what_instead(message, changed):
    made = GOOD | {"numbers": "1"} | changed
    row = fields(line(made.pop("kind"), **made))
    with pytest.raises(BrokenLine) as caught:
        read_line("MNB2026Q2FEB18.csv", 7, row, "27")
    assert str(caught.value).startswith(f"MNB2026Q2FEB18.csv, line 7: {message}")
    assert (caught.value.file, caught.value.line) == ("MNB2026Q2FEB18.csv", 7)


@pytest.mark.parametrize(("message", "changed"), VAGUE)
def test_a_record_without_its_houses_holds_any_house_of_its_street_and_says_why(message, changed):
    found = read(line(**(GOOD | {"kind": "A", "numbers": "1"} | changed)))
    assert (found.street, found.zip) == (Street("", "OAK", "", ""), 55401)
    assert (found.low, found.high, found.parity) == (0, LAST_HOUSE, UNSURE)
    assert found.fault.startswith(message)


@pytest.mark.parametrize("count", [0, 1, 9, 28, 91])
def test_a_line_of_another_width(count):
    with pytest.raises(BrokenLine, match=f"{count} columns; expected 29 columns and up to 20"):
        read_line("f.csv", 1, ["x"] * count, "27")


@pytest.mark.parametrize(
    ("code", "kind", "kept"), [("", "63", "63:?"), ("80004", "", "?:80004"), ("", "", "?:?")]
)
def test_a_district_that_is_not_named_in_full_is_none_that_has_a_rate(code, kind, kept):
    row = fields(line("Z", zips="55401", specials=["1"]))
    row[29:32] = "ST", code, kind
    assert read_line("f", 1, row, "27").composition.specials == (kept,)


ANY_FIELD = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "Z", "4", "A", "20260101", "29991231", "55401", "27", "053", "O", "63"]),
)


def outcome(row):
    """The record in a row, or what is said of it."""
    try:
        return read_line("f", 1, row, "27")
    except BrokenLine as error:
        return str(error)


@given(st.lists(ANY_FIELD, max_size=92))
def test_any_fields_are_a_record_or_a_broken_line(row):
    found = outcome(row)
    assert isinstance(found, (ZipRecord, Plus4Record, AddressRecord)) or "; expected" in found


@given(
    kind=st.sampled_from(["Z", "4", "A"]),
    changed=st.dictionaries(st.integers(0, 88), ANY_FIELD, max_size=3),
)
def test_a_good_line_with_odd_fields_is_a_record_or_a_broken_line(kind, changed):
    made = {**GOOD, "kind": kind, "numbers": "1-9", "specials": METRO}
    row = fields(line(made.pop("kind"), **made))
    for column, text in changed.items():
        row[column] = text
    found = outcome(row)
    if isinstance(found, str):
        assert "column" in found
        return
    assert found.begins <= found.ends
    assert found.low <= found.high or found.zip_low < found.zip_high


@given(st.text(alphabet="ABCNSEW 0123456789.'-", max_size=30))
def test_a_street_in_its_short_form_is_itself(text):
    street = split_street(text)
    assert split_street(street.whole).whole == street.whole


@given(st.text(max_size=60))
def test_any_text_is_read_or_not(text):
    asked = read_street(text)
    assert asked is None or (asked.house.number >= 0 and isinstance(asked.street, Street))
