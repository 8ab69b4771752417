"""What published files also hold: codes written in two ways, gaps, cut ends, parts of a file.

No such thing may end in a wrong rate that looks sure, and none but a broken line stops a file.
"""

from __future__ import annotations

from datetime import date

import pytest
from support.boundary_books import DAY, HENNEPIN, ST_PAUL, codes, told
from support.boundary_files import METRO, MINNEAPOLIS, RATES, generated_lines, line

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.database import editions, open_own_book
from svc_tools.service.ratebook.imports.overlay import own_tables, read_own_book
from svc_tools.service.ratebook.imports.reading import BrokenLine, FileRefused

ONE = line("4", zips="55401", plus4="1-9", **MINNEAPOLIS)
OAK = {"zip5": "55402", "street": "|OAK|AVE|", "numbers": "1-99"}
AT_OAK = {"street": "5 Oak Ave", "city": "Minneapolis", "zip": "55402"}


@pytest.mark.parametrize(
    ("filed", "written"),
    [("00,053", "0,53"), ("00,053", "0,053"), ("01,43000", "1,43000")],
)
def test_a_code_of_the_rate_file_means_the_same_however_it_is_padded(asking, filed, written):
    ask = asking(ONE, rates=RATES.replace(f",{filed},", f",{written},"))
    assert told(ask(zip="55401-0001")) == ("zip4", "exact", 9_025)


def test_a_code_in_small_letters_is_the_one_in_capitals(asking):
    rates = f"{RATES}27,63,ab-1,0.01,0.01,,,20200101,29991231\n"
    ask = asking(line("4", zips="55401", plus4="1-9", specials=["Ab-1"]), rates=rates)
    assert told(ask(zip="55401-0001")) == ("zip4", "exact", 7_875)


@pytest.mark.parametrize("again", ["45:27", "00:053", "01:43000", "63:80004"])
def test_what_a_record_names_again_among_its_districts_counts_once(asking, again):
    record = {**MINNEAPOLIS, "specials": [*METRO, again]}
    ask = asking(line("4", zips="55401", plus4="1-9", **record))
    assert told(ask(zip="55401-0001")) == ("zip4", "exact", 9_025)


@pytest.mark.parametrize("specials", [[], ["00001"], ["L9999"]])
def test_a_record_of_washington_without_a_known_location_code_says_nothing(asking, specials):
    record = line("4", state="53", zips="98101", plus4="1-9", county="033", specials=specials)
    answer = asking(record, rates="", state="WA")(zip="98101-0001")
    assert told(answer) == ("zip5", "medium", 10_550)  # as without the file, not the state alone
    assert "districts_not_covered" in codes(answer)


def test_two_rates_from_the_same_day_are_listed_and_never_sure(asking, take, file):
    twice = f"{RATES}27,00,053,0.01,0.01,,,20070101,29991231\n"
    answer = asking(ONE, rates=twice)(zip="55401-0001")
    assert answer.confidence == "medium"
    assert "source_conflict" in codes(answer)
    (done,) = take(file("MNR2026Q2FEB18.csv", twice))
    (listed,) = [one for one in done.findings if one.kind == "conflict"]
    assert listed.subject == "line 11"
    assert "two rows from 20070101 with different rates" in listed.message


@pytest.mark.parametrize(("side", "numbers"), [("", "1-99"), ("X", "1-99"), ("B", "99-1")])
def test_a_record_that_does_not_say_its_houses_is_kept_as_a_possibility(asking, side, numbers):
    vague = line("A", **(OAK | {"side": side, "numbers": numbers}), **ST_PAUL)
    ask = asking(vague, line("A", **OAK, **HENNEPIN))
    answer = ask(**AT_OAK)
    assert told(answer) == ("zip5", "medium", 8_375)
    note = next(n for n in answer.advisories if n["code"] == "zip_spans_jurisdictions")
    assert (note["lowest_combined_rate"], note["highest_combined_rate"]) == ("0.08375", "0.08525")


def test_a_vague_record_leaves_other_streets_and_its_own_composition_sure(asking):
    vague = line("A", **(OAK | {"side": ""}), **HENNEPIN)
    ask = asking(
        vague,
        line("A", **OAK, **HENNEPIN),
        line("A", **(OAK | {"street": "|ELM|ST|"}), **ST_PAUL),
        line("4", zips="55402", plus4="1-9", **MINNEAPOLIS),
    )
    assert told(ask(**AT_OAK)) == ("address", "exact", 8_525)
    assert told(ask(**(AT_OAK | {"street": "5 Elm St"}))) == ("address", "exact", 8_375)
    elsewhere = ask(**(AT_OAK | {"street": "500 Oak Ave", "zip": "55402-0001"}))
    assert told(elsewhere) == ("zip4", "exact", 9_025)


def test_vague_records_are_listed_with_their_lines(take, file):
    rates = file("MNR2026Q2FEB18.csv", RATES)
    vague = line("A", **(OAK | {"side": ""}), **HENNEPIN)
    _, done = take(rates, file("MNB2026Q2FEB18.csv", ONE + vague * 30))
    left = [(one.subject, one.message) for one in done.findings if one.kind == "settled"]
    assert left[0][0] == "30 address records without their houses"
    assert left[1][0] == "line 2"
    assert "column 6 (odd/even) holds ''; expected O (odd)" in left[1][1]
    assert len(left) == 26


def test_a_house_of_which_only_suites_have_records_is_not_exact_without_a_suite(asking):
    ask = asking(line("A", **OAK, unit="STE|200-299|B", **MINNEAPOLIS))
    assert told(ask(**AT_OAK)) == ("address", "high", 9_025)
    with_suite = ask(**(AT_OAK | {"street": "5 Oak Ave Ste 250"}))
    assert told(with_suite) == ("address", "exact", 9_025)


def test_a_plus4_goes_before_a_street_that_was_not_said_in_full(asking):
    ask = asking(
        line("A", **(OAK | {"street": "N|OAK|AVE|"}), **HENNEPIN),
        line("4", zips="55402", plus4="1-9", **ST_PAUL),
    )
    assert told(ask(**AT_OAK)) == ("address", "high", 8_525)
    assert told(ask(**(AT_OAK | {"zip": "55402-0001"}))) == ("zip4", "exact", 8_375)


@pytest.mark.parametrize("columns", [38, 35, 29])
def test_a_last_line_that_is_cut_off_is_broken(take, file, columns):
    rates = file("MNR2026Q2FEB18.csv", RATES)
    cut = ",".join(ONE.split(",")[:columns])
    with pytest.raises(BrokenLine, match=f"line 2: it ends after {columns} columns, the line"):
        take(rates, file("MNB2026Q2FEB18.csv", ONE + cut))
    take(file("MNB2026Q2FEB18.csv", ONE + ONE.rstrip("\n")))  # a whole line needs no end


def test_a_rate_file_in_windows_letters_with_commas_at_its_ends_and_far_days(take, file, percent):
    text = RATES.replace("29991231", "22001231").replace("\n", ",,\r\n")
    (done,) = take(file("MNR2026Q2FEB18.csv", b"\xef\xbb\xbf" + text.encode()))
    assert done.edition.rows == 10
    assert percent("MN", location="Minneapolis", day=DAY) == 9.025


def test_a_part_of_a_rate_file_takes_no_ones_place_without_force(take, file, own):
    part = file(
        "taxrates.txt",
        "TEXAS\t20263\t00000000\tSTATE\t.0625\nAbilene\t2221014\t.020000\tTaylor\tn/a\t.000000\n",
    )
    with pytest.raises(FileRefused, match=r"1 place with .* may be cut off.* --force"):
        take(part, fewer=False)
    assert read_own_book(own) is None
    assert take(part)[0].edition.state == "TX"
    assert take(part, fewer=False, force=True)[0].edition.state == "TX"  # it is no smaller now


def test_a_part_of_a_boundary_file_takes_no_ones_place_without_force(take, file, ask):
    whole = "".join(generated_lines(1_200))
    take(file("MNR2026Q2FEB18.csv", RATES), file("MNB2026Q1FEB18.csv", whole))
    before = told(ask("MN", zip="55020", day=DAY))
    part = file("MNB2026Q2FEB18.csv", "".join(whole.splitlines(keepends=True)[:400]))
    with pytest.raises(FileRefused, match=r"400 records, less than half .* --force"):
        take(part, fewer=False)
    assert told(ask("MN", zip="55020", day=DAY)) == before
    assert take(part)[0].edition.rows == 400


def test_rows_that_another_release_wrote_are_read(take, file, own, percent):
    """A later release had one column more, an earlier one had not the last ones."""
    take(file("MNR2026Q2FEB18.csv", RATES))
    before = percent("MN", location="Minneapolis", day=DAY)
    connection = open_own_book(own, write=True)
    (edition,) = editions(connection)
    for name, text in own_tables(connection, edition.id).items():
        rows = [row.split(",") for row in text.splitlines()]
        if name == "areas":
            rows = [row[: rows[0].index("lacks")] for row in rows]
        rows = [[*row, "new" if number else "added"] for number, row in enumerate(rows)]
        if name not in {"states", "sources", "rates"}:  # those have commas within their fields
            connection.execute(
                "UPDATE tables SET csv = ? WHERE name = ?",
                ("".join(",".join(row) + "\n" for row in rows), name),
            )
    connection.execute("UPDATE editions SET loaded_at = '2026-01-01'")  # it is read anew
    connection.close()
    assert percent("MN", location="Minneapolis", day=DAY) == before


def test_rows_without_what_is_needed_are_named_with_the_way_out(take, file, own):
    take(file("MNR2026Q2FEB18.csv", RATES))
    connection = open_own_book(own, write=True)
    connection.execute("UPDATE tables SET csv = replace(csv, 'units', 'u') WHERE name = 'rates'")
    connection.execute("UPDATE editions SET loaded_at = ?", (date(2026, 1, 1).isoformat(),))
    connection.close()
    with pytest.raises(ValueError, match=r"expected the columns .* svc-tools book remove MN"):
        load_book(own=own)


def test_a_last_rate_that_lost_its_digits_is_no_rate_of_texas(take, file):
    lines = (
        "TEXAS\t20264\t00000000\tSTATE\t.0625\n"
        "Abilene\t2221014\t.020000\tTaylor\tn/a\t.000000\n"
        "Addison\t2057176\t.010000\tDallas\tn/a\t.000000\tDallas MTA\t3057994\t.010000"
    )
    with pytest.raises(BrokenLine, match=r"line 3: the file ends with '\.01'; expected a rate as"):
        take(file("taxrates.txt", lines[:-4]))
    assert take(file("taxrates.txt", lines))[0].edition.rows == 2


def test_a_file_of_any_quarter_is_newer_than_a_transcribed_table(take, file):
    """The shipped book has five official lines of Texas, of 2026Q3; the rest is transcribed."""
    older = "TEXAS\t20262\t0\tSTATE\t.0625\nAbilene\t2221014\t.020000\tTaylor\tn/a\t.000000\n"
    (done,) = take(file("taxrates.txt", older))
    assert (done.before, done.edition.edition) == (None, "2026Q2")


def test_the_star_of_a_new_rate_is_no_part_of_a_citys_name(take, file, ask):
    text = "Location,Rate,County,Type\nAdelanto*,0.0825,San Bernardino,City\n"
    take(file("ca_cdtfa_2026-04-01.csv", text))
    assert ask("CA", location="Adelanto", day=DAY).chosen.combined == 8_250


def test_the_digest_tells_what_was_there_before_a_file(take, file, own):
    """A list of one quarter over another is another book than that list alone."""

    def quarter(edition, local):
        begin, end = ("0101", "0331") if edition == "2025Q1" else ("0401", "0630")
        head = "Name,Code,State,Local,RTA,Rate,Effective Date,Expiration Date\n"
        year, rate = edition[:4], f"{65 + local:03}"
        row = f"SEATTLE,1726,.065,.{local:03},.0,.{rate},{year}{begin},{year}{end}\n"
        return file(f"wa_{edition}.csv", head + row)

    take(quarter("2026Q2", 39), force=True)
    alone = load_book(own=own).digest
    take(quarter("2025Q1", 30), force=True)
    take(quarter("2026Q2", 39), force=True)
    assert load_book(own=own).digest != alone


@pytest.mark.parametrize(
    ("numbers", "answered"),
    [
        ("2-40", ("address", "exact", 8_525)),
        ("2-60", ("address", "medium", 8_375)),  # on both sides of the line
        ("2-900", ("address", "high", 8_525)),  # of the last no record is known
    ],
)
def test_several_house_numbers_are_where_the_first_and_the_last_are(asking, numbers, answered):
    ask = asking(
        line("A", **(OAK | {"numbers": "1-50"}), **HENNEPIN),
        line("A", **(OAK | {"numbers": "51-99"}), **ST_PAUL),
    )
    assert told(ask(**(AT_OAK | {"street": f"{numbers} Oak Ave"}))) == answered


def test_a_file_of_texas_without_a_city_is_refused(take, file):
    with pytest.raises(FileRefused, match="not one city in it can be used"):
        take(file("taxrates.txt", "TEXAS\t20264\t0\tSTATE\t.0625\n"))


def test_a_title_above_the_lines_of_texas_is_passed_over(take, file):
    city = "Abilene\t2221014\t.020000\tTaylor\tn/a\t.000000\n"
    text = f"Sales tax rates\n\nTEXAS\t20264\t0\tSTATE\t.0625\n{city}"
    (done,) = take(file("taxrates.txt", text))
    assert (done.edition.edition, done.edition.rows) == ("2026Q4", 1)
