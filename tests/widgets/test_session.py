"""What the tabs share: the client, background jobs, the folder; in plain Python and in a kernel."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading

import nbformat
import pytest
from nbclient import NotebookClient
from pydantic import SecretStr
from support.faults import KEY
from support.secrets import forms_of
from support.systems import posix

from svc_sdk import Svc
from svc_tools.widgets.session import Background, Session


def test_nothing_configured_is_no_service_and_starts_none():
    session = Session()
    assert not session.connected
    assert session.service_name == "no service"


def test_the_configured_service_is_asked(monkeypatch, service):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", f"{service}/")
    session = Session()
    assert session.service_name == service
    assert session.client.lookup("TX", zip="78701").rate.state == "TX"
    assert KEY not in repr(session) + session.code
    assert session.code.endswith("svc_tools.connect()")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SVC_API_KEY", KEY, "SVC_BASE_URL"),
        ("SVC_BASE_URL", "https://rates.example", "SVC_API_KEY"),
    ],
)
def test_half_a_configuration_is_told_and_not_raised(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    session = Session()
    assert not session.connected
    assert said in str(session.configuration_error)
    assert KEY not in str(session.configuration_error)
    session.use(session.client_for(SecretStr(KEY), "https://rates.example"))
    assert session.configuration_error is None


def test_a_key_that_cannot_be_used_leaves_the_client_before(scripted):
    session = Session(scripted)
    for key, address in (("", None), ("  ", None), (KEY, "no address")):
        with pytest.raises(ValueError, match=r"key|address"):
            session.client_for(SecretStr(key), address)
    assert session.client is scripted


@posix
def test_the_folder_is_private_and_goes_with_the_session_unless_it_is_the_users(tmp_path):
    session = Session()
    folder = session.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    del session
    assert not folder.exists()
    kept = Session(folder=tmp_path / "mine")
    (kept.folder / "result.csv").write_text("a")
    del kept
    assert (tmp_path / "mine" / "result.csv").exists()


def test_a_client_that_was_given_is_not_closed(service):
    with Svc(KEY, base_url=service) as client:
        session = Session(client)
        del session
        assert client.health().status == "ok"


@pytest.fixture
def background():
    return Background()


def test_a_job_that_hangs_holds_nobody_up_and_its_result_is_dropped_when_it_is_cancelled(
    background,
):
    begun, free, told = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        free.wait(30)
        background.deliver(told.append, "late")

    job = background.start(work, done=told.append, failed=told.append)
    assert begun.wait(30)
    assert job.running
    job.cancel()
    assert not job.running
    background.settle(5)  # it does not wait for what was given up
    background.start(lambda: "second", done=told.append, failed=told.append)
    background.settle(5)
    free.set()
    for thread in threading.enumerate():
        if thread.name == "svc-tools panel":
            thread.join(5)
    assert told == ["second"]


def test_progress_comes_in_order_and_before_the_result(background):
    told = []

    def work():
        for number in range(200):
            background.deliver(told.append, number)
        return "result"

    background.start(work, done=told.append, failed=told.append)
    background.settle(5)
    assert told == [*range(200), "result"]


def test_news_are_delivered_in_the_thread_of_a_running_event_loop(background):
    async def page():
        delivered = asyncio.get_running_loop().create_future()
        background.start(
            threading.get_ident,
            done=lambda worker: delivered.set_result((worker, threading.get_ident())),
            failed=delivered.set_exception,
        )
        return await asyncio.wait_for(delivered, 5)

    worker, deliverer = asyncio.run(page())
    assert deliverer == threading.get_ident() != worker


def test_an_error_of_the_page_is_not_swallowed_and_the_next_job_works(background, caplog):
    told = []
    background.start(lambda: 1, done=lambda one: one.no_such_thing, failed=told.append)
    with pytest.raises(AttributeError):
        background.settle(5)
    assert "could not show" in caplog.text
    background.start(lambda: 2, done=told.append, failed=told.append)
    background.settle(5)
    assert told == [2]


def others():
    """The threads of other jobs."""
    here = threading.current_thread()
    return [one for one in threading.enumerate() if one.name == here.name and one is not here]


def test_two_jobs_never_tell_at_once(background):
    told, begun = [], threading.Event()

    def first_is_told(_result):
        background.start(begun.set, done=lambda _: told.append("second"), failed=print)
        begun.wait(5)
        for thread in others():
            thread.join(5)  # the second one has ended, and has not told
        told.append("first")

    background.start(lambda: None, done=first_is_told, failed=print)
    background.settle(15)
    assert told == ["first", "second"]


def test_progress_is_seen_while_a_cell_blocks_the_loop_and_the_job_goes_on(background):
    told, end = threading.Event(), threading.Event()

    def work():
        background.deliver(told.set)
        while not (told.wait(0.01) or end.is_set()):
            background.deliver(int)

    async def cell():
        background.start(work, done=print, failed=print)
        seen = told.wait(10)
        end.set()
        return seen

    assert asyncio.run(cell())


OPEN = """
import asyncio, logging, os, sys, threading
logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
import svc_tools
panel = svc_tools.panel(folder="work")
values = {"address": os.environ["ADDRESS"], "key": os.environ["TYPED"]}
panel.key.form._handle_custom_msg({"event": "submit", "values": values}, [])
del values
panel.session.background.settle()
panel
"""
WHILE_A_CELL_RUNS = """
form, answered = panel.lookup.form, threading.Event()
form.observe(lambda change: change.new or answered.set(), "busy")
form.submit(state="TX", place="78701")
print("answered:", answered.wait(30))
"""
WHILE_THE_LOOP_IS_FREE = """
answered = asyncio.Event()
form.submit(state="WA", place="98101")
await asyncio.wait_for(answered.wait(), 30)
print("answered:", not form.busy)
logging.info("%r %r %r %r", panel, panel.session, panel.session.client, vars(panel.session))
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
    assert [row["cells"][0] for row in rows] == ["WA 98101", "TX 78701"]
    assert any("98101" in state.get("value", "") for state in states if "svc-rate" in str(state))


def test_the_saved_notebook_holds_no_key(executed):
    saved = json.dumps(executed)
    assert "Address of the service" in saved
    assert "INFO:root" in saved  # what was logged is in it
    assert not [form for form in forms_of(KEY) if form in saved.encode()]
