"""The guide to the spreadsheets says what is so: functions, commands, rules, links."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from svc_tools.cli.app import app
from svc_tools.excel.officejs.pages import host_name
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula

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
    pytest.importorskip("xlwings", reason="xlwings is missing: pip install 'svc-tax-tools[excel]'")
    from svc_tools.excel.com import macros  # noqa: PLC0415 - loads xlwings

    functions = {one.name for one in FUNCTIONS} | {"SVC_AS_OF"}
    settings = {"SVC_BASE_URL", "SVC_API_KEY", "SVC_EXCEL"}
    named = set(re.findall(r"\bSVC_[A-Z_]+", GUIDE)) - {"SVC_"}
    assert named - functions - settings == set(macros.__all__)
    in_excel = {host_name(one.name) for one in FUNCTIONS}
    assert set(re.findall(r"\bSVC\.[A-Z_]+", GUIDE)) <= in_excel
    manual = GUIDE.partition("## By hand")[2]
    numbers = [int(one) for one in re.findall(r"^(\d+)\. ", manual, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(" → " in line for line in re.findall(r"^\d+\. .*", manual, re.MULTILINE))
