"""The panel in a real kernel: its news reach the page, also while a cell runs; no key is saved."""

from __future__ import annotations

import json
import os

import nbformat
import pytest
from nbclient import NotebookClient
from support.faults import KEY

OPEN = """
import asyncio, os, threading
import svc_tools
panel = svc_tools.panel()
values = {"address": os.environ["ADDRESS"], "key": os.environ["TYPED"]}
panel.key.form._handle_custom_msg({"event": "submit", "values": values}, [])
del values
panel
"""
WHILE_A_CELL_RUNS = """
form, answered = panel.lookup.form, threading.Event()
form.observe(lambda change: change.new or answered.set(), "busy")
form.submit(state="TX", zip="78701")
print("answered:", answered.wait(30))
"""
WHILE_THE_LOOP_IS_FREE = """
answered = asyncio.Event()
form.submit(state="WA", zip="98101")
await asyncio.wait_for(answered.wait(), 30)
print("answered:", not form.busy)
"""


@pytest.fixture(scope="module")
def executed(service, tmp_path_factory):
    """A notebook that was run, as it is saved with its widgets."""
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.v4.new_notebook()
    cells = (OPEN, WHILE_A_CELL_RUNS, WHILE_THE_LOOP_IS_FREE, "panel.session")
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}})
    client.execute(env=os.environ | {"TYPED": KEY, "ADDRESS": service})
    return notebook


def saved_widgets(notebook):
    return notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]


def test_answers_reach_the_page_while_a_cell_runs_and_while_none_does(executed):
    printed = [
        output["text"]
        for cell in executed.cells
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stdout"
    ]
    assert printed == ["answered: True\n", "answered: True\n"]
    # what the page was sent: nbclient keeps it as a page would
    states = [one["state"] for one in saved_widgets(executed).values()]
    (rows,) = [
        state["rows"] for state in states if state.get("caption") == "Lookups of this session"
    ]
    assert [row["cells"][1] for row in rows] == ["WA 98101", "TX 78701"]
    assert any("98101" in state.get("value", "") for state in states if "svc-rate" in str(state))


def test_the_saved_notebook_holds_no_key(executed):
    saved = json.dumps(executed)
    assert "Address of the service" in saved
    assert KEY not in saved
