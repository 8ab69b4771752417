"""The tab "File", as a person uses it in the browser."""

from __future__ import annotations

import csv
import re

import pytest
from playwright.sync_api import expect
from support.by_hand import choose, shown, tab_to

from svc_tools.frames import enrich_file

ORDERS = """order,sold,state,zip
0001,2026-02-01,CA,94105
0002,2026-02-01,TX,78701
0003,2026-02-01,WA,98101
0004,2026-02-01,CA,00000
0005,2026-02-01,XX,12345
"""
EACH = ["0001", "0002", "0003", "0004", "0005"]


@pytest.fixture
def file(page):
    page.get_by_role("tab", name="File").click()
    return page


def rows(path):
    """The rows of a result, without when they were looked up and under which reference."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return [
            {
                name: re.sub(r"req_\w+", "req", text)
                for name, text in row.items()
                if not name.endswith("_at")
            }
            for row in csv.DictReader(file)
        ]


def test_a_file_is_uploaded_enriched_and_its_result_downloaded(file, account, tmp_path):
    orders = tmp_path / "orders.csv"
    orders.write_text(ORDERS)
    choose(file, file, orders)
    assert shown(file.get_by_label("State", exact=True)).input_value() == "state"
    shown(file.get_by_role("button", name="Show the plan")).click()
    expect(shown(file.get_by_text("billable"))).to_be_visible()
    shown(file.get_by_role("button", name="Run", exact=True)).click()
    download = shown(file.get_by_role("button", name="Download"))
    expect(download).to_be_visible()
    with file.expect_download() as found:
        download.click()
    found.value.save_as(tmp_path / "found.csv")
    expected = tmp_path / "expected.csv"
    enrich_file(orders, expected, client=account.client, cache=False, progress=False)
    assert rows(tmp_path / "found.csv") == rows(expected)
    assert [row["order"] for row in rows(expected)] == EACH
    expect(file.get_by_role("tab", name="File")).to_be_visible()  # the kernel lives on


def test_a_file_needs_no_mouse(fresh, tmp_path):
    page = fresh
    orders = tmp_path / "orders.csv"
    orders.write_text(ORDERS)
    press = page.keyboard.press
    tab_to(page, "Lookup")
    press("ArrowRight")
    tab_to(page, "Or the path of a file")
    page.keyboard.type(str(orders))
    press("Enter")
    expect(shown(page.get_by_role("button", name="Show the plan"))).to_be_enabled()
    tab_to(page, "Show the plan")
    press("Enter")
    expect(shown(page.get_by_text("billable"))).to_be_visible()
    tab_to(page, "Run")
    press("Enter")
    expect(shown(page.get_by_role("button", name="Download"))).to_be_visible()
    tab_to(page, "Download")
    with page.expect_download() as found:
        press("Enter")
    found.value.save_as(tmp_path / "found.csv")
    assert [row["order"] for row in rows(tmp_path / "found.csv")] == EACH


def test_a_file_above_the_hosts_usual_limit_comes_and_goes_whole(file, tmp_path):
    large = tmp_path / "large.csv"
    line = "{:08d},CA,94105," + "x" * 100 + "\n"
    with large.open("w") as out:
        out.write("order,state,zip,note\n")
        out.writelines(line.format(number) for number in range(110_000))
    assert large.stat().st_size > 12 * 1024 * 1024
    choose(file, file, large)
    shown(file.get_by_role("button", name="Show the plan")).click()
    expect(shown(file.get_by_text("110,000"))).to_be_visible()
    shown(file.get_by_role("button", name="Run", exact=True)).click()
    link = shown(file.get_by_role("link", name="Download"))
    expect(link).to_be_visible()
    with file.expect_download() as found:
        link.click()
    found.value.save_as(tmp_path / "found.csv")
    with (tmp_path / "found.csv").open(newline="", encoding="utf-8-sig") as result:
        assert [int(row["order"]) for row in csv.DictReader(result)] == list(range(110_000))
