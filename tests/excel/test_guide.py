"""The guide to the spreadsheets says what is so, and every host shows what it says."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
import typer
from support.com_stand_ins import Excel
from support.spreadsheets import called, in_excel, local_server, shown

from svc_tools.cli.app import app
from svc_tools.excel import desk as desks
from svc_tools.excel.officejs.pages import function_id, host_text
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula
from svc_tools.excel.workbook.sheets import MACROS

FOLDER = Path(__file__).parents[2] / "excel"
GUIDE = (FOLDER / "README.md").read_text(encoding="utf-8")


def rows_under(head):
    """The rows of the table under a heading row."""
    return GUIDE.partition(f"{head}\n")[2].partition("\n\n")[0].splitlines()[1:]


def test_every_function_is_there_with_its_help_and_an_example():
    wanted = [
        f"| `{one.signature}` | {one.help} | `{formula(one.name, EXAMPLES[one.name])}` |"
        for one in FUNCTIONS
    ]
    assert rows_under("| Function | What it gives | For example |") == wanted, "\n".join(wanted)
    assert f"There are {len(FUNCTIONS)} such functions" in GUIDE
    assert f"`=SVC.` offers {len(FUNCTIONS)} functions" in GUIDE


def test_every_argument_is_there_with_its_help():
    found = dict.fromkeys((one.name, one.help) for each in FUNCTIONS for one in each.parameters)
    wanted = [f"| `{name}` | {told} |" for name, told in found]
    assert rows_under("| Argument | What to give |") == wanted, "\n".join(wanted)


def test_each_command_exists_with_its_options():
    excel = typer.main.get_command(app).commands["excel"]
    lines = re.findall(r"svc-tools excel[^`\n#]*", GUIDE)
    assert len(lines) > 15
    named = set()
    for line in lines:
        name, *words = shlex.split(line)[2:]
        known = {option for one in excel.commands[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
        named.add(name)
    assert named == set(excel.commands)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", GUIDE):
        path, _, anchor = target.partition("#")
        if path:
            assert (FOLDER / path).exists(), target
        else:
            assert anchor in anchors(), target


def anchors():
    heads = re.findall(r"^#+ (.+)$", GUIDE, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}


def test_the_names_of_macros_and_of_the_other_ways_are_right():
    others = {one.name for one in FUNCTIONS} | {"SVC_AS_OF"}
    others |= {"SVC_BASE_URL", "SVC_API_KEY", "SVC_EXCEL", "SVC_"}
    assert set(re.findall(r"\bSVC_[A-Z_]*", GUIDE)) - others == set(MACROS)
    in_excel = {host_text(one.name) for one in FUNCTIONS}
    assert set(re.findall(r"\bSVC\.[A-Z_]+", GUIDE)) <= in_excel
    manual = re.findall(r"^(\d+)\. (.*)", GUIDE.partition("## By hand")[2], re.MULTILINE)
    assert [int(number) for number, _ in manual] == list(range(1, len(manual) + 1))
    assert all(" → " in line for _, line in manual)


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
