"""Importing boundary files: as a whole or not at all, as a stream, and while lookups go on."""

from __future__ import annotations

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
from support.boundary_files import (
    LOADED,
    MINNEAPOLIS,
    RATES,
    generated_lines,
    imported,
    line,
    write_boundary_file,
)

from svc_tools.service.health import keep_book
from svc_tools.service.ratebook import Query, load_book, resolve
from svc_tools.service.ratebook.imports.boundary_import import import_boundary
from svc_tools.service.ratebook.imports.database import Edition, editions, open_own_book
from svc_tools.service.ratebook.imports.importer import import_files
from svc_tools.service.ratebook.imports.reading import (
    BrokenLine,
    FileRefused,
    OwnBookChanged,
    OwnBookError,
)

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


def test_rates_and_boundaries_in_one_command_in_any_order(tmp_path, rates, write):
    own = tmp_path / "new.db"
    done = imported(own, write(FIRST), rates)
    assert [one.edition.kind for one in done] == ["rates", "boundary"]
    assert answer(own) == ("exact", 9_025)


def test_boundaries_without_the_states_rates_are_refused(tmp_path, write):
    own = tmp_path / "new.db"
    with pytest.raises(FileRefused, match=r"rates of MN are not .*MNR2026Q2\.\.\.csv\) first"):
        imported(own, write(FIRST))
    assert not any(boundary_rows(own).values())


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
    assert any("99999" in f.subject and "not answered exactly" in f.message for f in one.findings)


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
    told = []
    list(import_files([file], own, today=LOADED, told=lambda *said: told.append(said)))
    size = file.stat().st_size
    assert told[-1] == (file, size, size)
    done = [one for _, one, _ in told]
    assert len(done) >= 3
    assert done == sorted(done)


def test_control_c_in_the_middle_keeps_the_old_edition(own, write):
    imported(own, write(FIRST))
    before = boundary_rows(own)
    file = write(*generated_lines(12_000), quarter="2026Q3")

    def interrupt(_file, done, total):
        if 0 < done < total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(import_files([file], own, today=LOADED, told=interrupt))
    assert boundary_rows(own) == before
    assert answer(own) == ("exact", 9_025)
    imported(own, file)
    assert boundary_rows(own) != before


IMPORT = """
    import os, signal, sys
    from datetime import date
    from pathlib import Path
    from svc_tools.service.ratebook.imports.importer import import_files

    def told(file, done, total):
        if done > total * {stop}:
            os.kill(os.getpid(), signal.{signal})

    list(import_files([Path(sys.argv[2])], Path(sys.argv[1]), today=date(2026, 5, 2), told=told))
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
        timeout=120,
    )


@pytest.mark.parametrize("kill", ["SIGKILL", "SIGINT", "SIGTERM"])
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
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


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_file(own, tmp_path):
    small = write_boundary_file(tmp_path / "MNB2026Q2FEB18.csv", 5_000)
    large = write_boundary_file(tmp_path / "MNB2026Q3MAY18.csv", 80_000)
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

    def look(_file, done, total):
        if done < total:
            seen.append(resolve(book, ASKED, today=DAY).chosen.combined)
            seen.append(answer(own)[1])

    file = write(*generated_lines(12_000), quarter="2026Q3")
    list(import_files([file], own, today=LOADED, told=look))
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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
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


def test_a_full_disk_keeps_the_old_edition(own, write, monkeypatch):
    imported(own, write(FIRST))
    pages = int(own.stat().st_size / 4096) + 20

    def small(path, *, write=False):
        connection = open_own_book(path, write=write)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr("svc_tools.service.ratebook.imports.importer.open_own_book", small)
    with pytest.raises(Exception, match="full"):
        imported(own, write(*generated_lines(12_000), quarter="2026Q3"))
    monkeypatch.undo()
    assert answer(own) == ("exact", 9_025)


def test_removing_the_rates_leaves_no_answer_by_records_alone(own, write):
    imported(own, write(FIRST))
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM editions WHERE kind = 'rates'")
        connection.commit()
    assert answer(own)[0] != "exact"


def test_a_running_service_goes_over_to_a_new_edition(own, write, run):
    """Without a restart, and without one answer of neither edition."""
    imported(own, write(FIRST))
    service = run(books=keep_book(own))
    asked = {"zip": "55401-1234", "as_of": "2026-05-01", "mode": "full"}
    body = service.client.get("/v1/tax/MN", params=asked).json()
    assert (body["meta"]["resolved_via"], body["meta"]["confidence"]) == ("zip4", "exact")
    assert body["rate"]["combined_rate"] == "0.09025"
    assert body["resolved_place"]["records"] == "MNB2026Q2FEB18.csv"
    imported(own, write(SECOND, quarter="2026Q3"))
    body = service.client.get("/v1/tax/MN", params=asked | {"zip": "55401-1235"}).json()
    assert body["rate"]["combined_rate"] == "0.07025"
    assert body["resolved_place"]["records"] == "MNB2026Q3FEB18.csv"
