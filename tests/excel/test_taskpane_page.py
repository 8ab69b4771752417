"""The page of the pane: every function with an example that works, and no address outside."""

from __future__ import annotations

import re
from html import unescape

import pytest

import svc_tools
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import run
from svc_tools.excel.officejs.pages import OFFICE_JS, host_name, host_text, page
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula, function
from svc_tools.excel.values import CellError


@pytest.fixture(scope="module")
def desk(_own_home):
    return Desk(svc_tools.connect("embedded"), cache=False)


def test_every_function_has_an_example():
    assert list(EXAMPLES) == [one.name for one in FUNCTIONS]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_a_value(desk, name):
    shown = run(desk, name, *EXAMPLES[name])
    cells = [cell for row in shown for cell in row] if isinstance(shown, list) else [shown]
    assert cells
    assert not any(isinstance(cell, CellError) or str(cell).startswith("#") for cell in cells)
    assert len(EXAMPLES[name]) <= len(function(name).parameters)


def test_a_formula_is_written_as_excel_reads_it():
    arguments = ('a "b"', 4, 19.99, True, [["TX", 1.5], ["CA", 2]], EXAMPLES["SVC_RATE"][-1])
    assert formula("SVC.X", arguments) == (
        '=SVC.X("a ""b""", 4, 19.99, TRUE, {"TX", 1.5; "CA", 2}, DATE(2026, 2, 1))'
    )


def test_the_page_lists_every_function_with_its_arguments_and_help():
    shown = unescape(page("T", office=False))
    for one in FUNCTIONS:
        name = host_name(one.name)
        assert f"<summary><code>{one.signature.replace(one.name, name)}</code>" in shown
        assert host_text(one.help) in shown
        assert formula(name, EXAMPLES[one.name]) in shown
        for parameter in one.parameters:
            assert f"<dt>{parameter.name}" in shown
            assert host_text(parameter.help) in shown


def test_the_token_is_in_the_addresses_of_the_page_alone_and_cannot_be_markup():
    shown = page('a"><b>&c', office=True)
    assert "<b>" not in shown
    assert "{{" not in shown
    assert re.findall(r'token=([^"]+)"', shown) == ["a%22%3E%3Cb%3E%26c"] * 4


def test_one_address_is_outside_and_for_an_office_host_only():
    addresses = re.compile(r'(?:src|href)="(https?:[^"]+)"')
    assert addresses.findall(page("T", office=False)) == []
    assert addresses.findall(page("T", office=True)) == [OFFICE_JS]
    head = page("T", office=True)
    assert head.index(OFFICE_JS) < head.index("functions.js") < head.index("taskpane.js")
