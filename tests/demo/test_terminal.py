"""The summary on a terminal: 60 columns, no colour, nothing of the data read as markup."""

import io
import re

import pytest
from rich.console import Console
from support.enriched import enriched, partial, row

from svc_tools.demo import render
from svc_tools.frames.summary import RATE_NOTE_SHORT, summarize
from svc_tools.places import STATES


def shown(frame, width=80, **console):
    """The rendered text, as a pipe receives it."""
    file = io.StringIO()
    render(summarize(frame), Console(file=file, width=width, **console))
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


def test_it_says_rows_places_and_who_answered():
    text = shown(enriched(*MIXED, asked=3))
    assert text.startswith("4 rows, 3 distinct places asked of: embedded service\n")
    assert line_of(text, "ok")[1] == "2"
    assert line_of(text, "unresolved")[1:2] == ["1"]


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


def test_a_state_without_partial_rows_has_no_partial_sales_rather_than_zero():
    text = shown(enriched(row("AK", "40.00", None), partial("TX")))
    untaxed = between(text, "Sales without a tax", "Why rows")
    assert line_of(untaxed, "AK") == ["AK", "1", "40.00"]
    assert line_of(untaxed, "TX") == ["TX", "1", "100.00"]


def test_it_says_why_rows_have_no_rate_and_what_the_rates_are_not():
    text = flat(shown(enriched(*MIXED)))
    assert "ZIP 75999 is unknown" in text
    assert flat(RATE_NOTE_SHORT) in text
    assert "Partial: 1 of 4 rows." in text
    assert "a lower bound" in text


def test_it_says_when_no_rate_is_partial():
    text = shown(enriched(row()))
    assert "No rate here is known to lack a part." in text
    assert "Sales without a tax" not in text


def test_tax_from_partial_rates_is_said_apart():
    text = flat(shown(enriched(row(), partial(), use_partial=True)))
    assert "6.25 of tax from partial rates" in text


def test_a_frame_without_tax_shows_counts_only():
    text = shown(enriched(row(), taxed=False))
    assert "Rows by status" in text
    assert "Tax by state" not in text


def test_an_empty_frame_is_shown_without_failing():
    assert shown(enriched()).startswith("0 rows")


def test_many_states_and_reasons_are_cut_with_what_is_left_out():
    rows = [row(code, "10.00", "0.05000") for code in STATES]
    rows += [row(rate=None, lookup_error=f"reason {number}") for number in range(9)]
    text = shown(enriched(*rows))
    assert line_of(text, "39 more") == ["39", "more", "39", "390.00", "19.50"]
    assert line_of(text, "Total")[1] != ""
    assert "other reasons" in text


def test_the_whole_table_adds_up_to_the_total():
    rows = [row(code, "10.00", "0.05000") for code in STATES]
    taxed = shown(enriched(*rows)).split("The same tax")[0]
    assert line_of(taxed, "Total") == ["Total", "51", "510.00", "25.50"]


def test_it_says_what_rests_on_rates_of_another_date():
    dated = row("WA", "10.00", "0.10000", confidence="low", warnings="as_of_before_history")
    text = flat(shown(enriched(row(), dated)))
    assert "In 1 of 2 rows with a rate, the rate is that of another date" in text
    assert "$1.00 of the $7.63 tax rests on such rates" in text
    assert "another date than" not in shown(enriched(row()))


def test_it_leads_with_what_can_be_used_and_groups_what_to_review():
    text = shown(enriched(*MIXED, row(warnings="place_input_mismatch")))
    used = between(text, "What can be used", "Rows by status")
    counts = {
        name: int(line_of(used, name)[1]) for name in ("ready", "check", "incomplete", "none")
    }
    assert counts == {"ready": 1, "check": 2, "incomplete": 1, "none": 1}
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


def test_it_says_what_a_whole_rate_is():
    assert "a whole rate: state + county + city + districts" in shown(enriched(row()))


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


@pytest.mark.parametrize("width", [20, 40])
def test_a_terminal_too_narrow_gets_longer_lines_never_a_number_cut_short(width):
    text = shown(enriched(*MIXED), width=width)
    assert line_of(text.split("The same tax")[0], "Total") == ["Total", "2", "180.00", "6.63"]
    untaxed = between(text, "out a tax", "Why rows")
    assert line_of(untaxed, "TX") == ["TX", "1", "1,300.00", "1", "40.00"]


def test_the_narrowest_terminal_does_not_stop_it():
    assert "180.00" in shown(enriched(*MIXED), width=1)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_ends_in_blanks(width):
    lines = shown(enriched(*MIXED), width=width).splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def test_what_comes_from_data_is_never_markup():
    text = shown(enriched(row(rate=None, lookup_error="[red]not [/] markup[link=x]")))
    assert "[red]not [/] markup[link=x]" in text


def test_a_pipe_gets_no_escape_codes_and_a_plain_terminal_no_colour_only_meaning():
    assert "\x1b" not in shown(enriched(*MIXED))
    coloured = shown(enriched(*MIXED), force_terminal=True, color_system="truecolor")
    plain = shown(enriched(*MIXED), force_terminal=True, no_color=True)
    assert "\x1b[3" not in plain
    assert len(plain.splitlines()) == len(coloured.splitlines())


def test_no_digit_is_coloured_by_itself():
    coloured = shown(enriched(*MIXED), force_terminal=True, color_system="truecolor")
    assert "\x1b[1m" in coloured
    assert not re.search(r"\x1b\[[0-9;]*[1-9]m\d", coloured)


def test_a_terminal_that_only_knows_ascii_can_show_it():
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    render(summarize(enriched(*MIXED)), Console(file=file, width=80))
    file.flush()
    assert b"Total" in raw.getvalue()
