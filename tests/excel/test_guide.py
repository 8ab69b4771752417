"""The guide to the spreadsheets says what is so, and every host shows what it says."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest
import typer
from support.hosts import HOSTS, REAL_ERRORS

from svc_tools.cli.app import app
from svc_tools.excel.company import ADVICE
from svc_tools.excel.officejs.pages import host_text
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


def test_each_command_exists_with_its_options():
    excel = typer.main.get_command(app).commands["excel"].load()
    lines = re.findall(r"svc-tools excel[^`\n#]*", GUIDE)
    assert len(lines) > 15
    named = set()
    for line in lines:
        name, *words = shlex.split(line)[2:]
        known = {option for one in excel.commands[name].params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
        named.add(name)
    assert named == set(excel.commands)


def test_what_fails_on_company_computers_is_what_the_sheet_start_and_the_check_say():
    rows = [f"| {one.name} | {one.seen} | {one.means} | {one.todo} |" for one in ADVICE.values()]
    commands = [re.sub(r"“([^”]*svc-tools excel[^”]*)”", r"`\1`", row) for row in rows]
    found = rows_under("| About | You see | It means | Do |")
    assert found == commands, "\n".join(commands)


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
    others |= {"SVC_BASE_URL", "SVC_API_KEY", "SVC_EXCEL", "SVC_TZ", "SVC_REVIEW_BELOW", "SVC_"}
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
    truths = rows.replace("TRUE", "True").replace("FALSE", "False")
    return ast.literal_eval(f"({truths},)")


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_shows_what_the_guide_says(desk, host, request):
    assert len(RULES) > 20
    calls = [(name, *arguments_of(given)) for name, given, _ in RULES]
    shown = host(desk, request, calls, [None] * len(calls))
    for (name, given, said), found in zip(RULES, shown, strict=True):
        cell = f"{found:.15g}" if isinstance(found, float) else found
        expected = said
        if host in REAL_ERRORS:
            is_passed_on = name == "SVC_SUM" and said == "#PARTIAL"
            expected = "#N/A" if is_passed_on else WORDS.get(said, said)
        assert cell == expected, (host.__name__, name, given)
