"""One table of formulas, that of the guide, computed by every host: the same values in each."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from support.com_stand_ins import Excel
from support.spreadsheets import called, in_excel, local_server, shown

from svc_tools.excel import desk as desks
from svc_tools.excel.officejs.pages import function_id

GUIDE = (Path(__file__).parents[2] / "excel" / "README.md").read_text(encoding="utf-8")
RULES = re.findall(r"^\| `=(SVC_\w+)\((.*?)\)` \| (?:`(.*?)`|\(nothing\)) \| ", GUIDE, re.MULTILINE)
"""The name of a function, its arguments, and what a cell shows, errors without their sentence."""
WORDS = {"#INVALID": "#VALUE!", "#DIV/0!": "#N/A"}
"""What hosts with real errors show instead of such a text."""


def arguments_of(text):
    """Constants of a formula; `{1; 2}` are rows of one cell."""
    rows = re.sub(r"\{(.*?)\}", lambda found: f"[[{found[1].replace(';', '],[')}]]", text)
    return ast.literal_eval(f"({rows.replace('TRUE', 'True')},)")


def in_process(desk, _request):
    return [shown(desk, name, *arguments_of(given)) for name, given, _ in RULES]


def through_xlwings(desk, request):
    request.getfixturevalue("monkeypatch").setattr(desks, "_desks", [desk])
    excel = Excel(request.getfixturevalue("com"))
    found = [excel.call(name, *arguments_of(given)) for name, given, _ in RULES]
    return [one[0][0] if isinstance(one, list | tuple) else one for one in found]


def through_office_js(desk, _request):
    calls = [called(function_id(name), *arguments_of(given)) for name, given, _ in RULES]
    with local_server(desk) as server:
        found = in_excel(server.script, calls)["shown"][0]
    return [one["error"] if isinstance(one, dict) else one[0][0] for one in found]


def through_calc(_desk, request):
    calc = request.getfixturevalue("calc")
    formulas = [
        f"={name}({given.replace('; ', '|').replace(', ', ';').replace('TRUE', 'TRUE()')})"
        for name, given, _ in RULES
    ]
    found = calc.formulas(*formulas)
    return [one["error"] if isinstance(one, dict) else one for one in found]


@pytest.mark.parametrize("host", [in_process, through_xlwings, through_office_js, through_calc])
def test_every_host_shows_what_the_guide_says(desk, host, request):
    assert len(RULES) > 20
    real = host in {through_office_js, through_calc}
    for (name, given, said), cell in zip(RULES, host(desk, request), strict=True):
        text = "" if cell is None else cell
        if isinstance(text, str):
            text = text.partition(" ")[0]
        elif not isinstance(text, bool):
            text = f"{text:.15g}"
        is_passed_on = name == "SVC_SUM" and said == "#PARTIAL"
        expected = "#N/A" if real and is_passed_on else WORDS.get(said, said) if real else said
        assert text == expected, (host.__name__, name, given)
