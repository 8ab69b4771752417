"""The local server: who gets a response, the JSON of calls; its manifest, metadata and page."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import httpx
import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.responses import Response
from support.command import svc_tools
from support.faults import KEY, RESET, answer
from support.keyrings import use_keyring
from support.nexus import RECORDS, Nexus, refused
from support.spreadsheets import TOKEN, desk_of, local_server
from support.tools import node, npm_packages

from svc_tools import connect
from svc_tools.base.loopback import LocalGuard
from svc_tools.excel.functions import FunctionCall
from svc_tools.excel.officejs import app as app_module
from svc_tools.excel.officejs.app import (
    BadRequestError,
    body_object,
    read_calls,
    results_of,
)
from svc_tools.excel.officejs.guard import LARGEST_REQUEST, AddinGuard
from svc_tools.excel.officejs.pages import (
    NAMESPACE,
    functions_metadata,
    host_text,
    manifest,
    taskpane_page,
)
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula
from svc_tools.excel.setup import certificate_commands
from svc_tools.excel.values import (
    OMITTED,
    BadValueError,
    CellError,
    ErrorCell,
    NotAvailableError,
)
from svc_tools.nexus import read_receipt

RATE = {"calls": [{"f": "SVC_RATE", "a": ["TX", "78701", "2026-05-01"]}]}


@pytest.fixture
def server(scripted, monkeypatch, tmp_path):
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    use_keyring(monkeypatch)
    with local_server(desk_of(scripted)) as running:
        yield running


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.origin, trust_env=False) as made:
        yield made


def message(response):
    return response.json()["error"]["message"]


def test_whoever_has_the_token_gets_rates(client, server):
    got = client.post("/excel/batch", json=RATE, headers=server.headers)
    assert got.status_code == 200
    assert got.json() == {"results": [{"v": 0.0825}]}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer guessed"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"host": "evil.example"}, 403),
        ({"host": "localhost"}, 403),  # of another port
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:1"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_nobody_else_does_and_nothing_is_requested(client, server, faults, headers, status):
    path = f"/excel/batch?token={server.token}"
    got = client.post(path, json=RATE, headers=server.headers | headers)
    assert got.status_code == status
    assert ("manifest" in message(got)) == (status == 401)
    if "host" in headers:
        assert client.get("/excel/", headers=headers).status_code == 403
    assert faults.seen == []


def test_every_response_is_for_this_moment_and_this_page(client, server):
    for status, path, content in [
        (200, "/excel/", None),
        (401, "/excel/functions.js", None),
        (200, f"/excel/functions.js?token={server.token}", None),
        (404, f"/excel/nothing.js?token={server.token}", None),
        (200, "/excel/batch", json.dumps(RATE)),
        (400, "/excel/batch", "{"),
    ]:
        headers = server.headers if content else {}
        got = client.request("POST" if content else "GET", path, content=content, headers=headers)
        assert got.status_code == status
        assert got.headers["cache-control"] == "no-store"
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors" in got.headers["content-security-policy"]
        assert "access-control-allow-origin" not in got.headers


def test_only_the_names_of_the_functions_are_for_pages_elsewhere(client, server):
    elsewhere = {"origin": "https://excel.officeapps.live.com"}
    preflight = client.options("/excel/functions.json", headers=elsewhere)
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-private-network"] == "true"
    foreign = elsewhere | {"host": "evil.example"}
    assert client.options("/excel/functions.json", headers=foreign).status_code == 403
    path = f"/excel/functions.json?token={server.token}"
    got = client.get(path, headers=elsewhere)
    assert len(got.json()["functions"]) == len(FUNCTIONS)
    assert got.headers["access-control-allow-origin"] == "*"
    assert client.get("/excel/functions.json", headers=elsewhere).status_code == 401
    assert client.post(path, headers=elsewhere).status_code == 403
    for name in ("functions.js", "manifest.xml", "taskpane.html"):
        refused = client.get(f"/excel/{name}?token={server.token}", headers=elsewhere)
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers


def test_excel_on_the_web_may_frame_the_pane_and_nobody_else(client, server):
    in_office = client.get(f"/excel/taskpane.html?token={server.token}&office=1")
    policy = in_office.headers["content-security-policy"]
    assert "https://*.officeapps.live.com" in policy
    assert "https://appsforoffice.microsoft.com" in policy
    assert "functions.js?token=" in in_office.text
    alone = client.get(f"/excel/taskpane.html?token={server.token}")
    assert "https://" not in alone.headers["content-security-policy"]
    assert "https://" not in alone.text.replace("https://rates.example", "")


@pytest.fixture
def refresh(client, server):
    """Send a request for a refresh."""

    def send(**body):
        return client.post("/excel/refresh", json=body, headers=server.headers)

    return send


WORKBOOK = {
    "sheets": [
        {
            "name": "Orders",
            "row": 2,
            "column": 1,
            "formulas": [["", "", "=SVC.RATE(A2,B2,DAY)+SVC.RATE(A2,B2)"], ["", "", ""]],
            "values": [["TX", 78701, 0.1], ["TX", "78702", "=SVC.RATE(A3,B3)"]],
        },
        {
            "name": "Orders",
            "row": 4,
            "column": 1,
            "formulas": [
                ["", "=SVC.LOOKUP(A2:B3)"],
                ["", '=SVC.RATE(A2,B2&"",DAY)'],
                ["", "=SVC.SUM(C2)"],
            ],
            "values": [["", ""], ["", ""], ["2026-05-01", ""]],
        },
    ],
    "names": {"DAY": "=Orders!$A$6"},
}


def test_a_refresh_says_what_it_would_look_up_and_sends_that_once_it_is_confirmed(refresh, faults):
    plan = refresh(workbook=WORKBOOK, confirmed=False).json()
    assert (plan["places"], plan["cells"], plan["unknown"]) == (3, 2, 1)
    assert plan["message"].startswith("3 lookups for 2 cells. The places of 1 cell ")
    assert faults.seen == []
    report = refresh(workbook=WORKBOOK, confirmed=True).json()
    assert (report["happened"], report["requested"], report["failed"]) == (True, 3, 0)
    assert len(faults.seen) == 3
    rate = {"f": "SVC_RATE", "a": ["TX", "78701", "2026-05-01"]}
    cells = [[rate, {"f": "SVC_RATE", "a": []}], [rate], [{"f": "SVC_NEW", "a": [1]}], []]
    plan = refresh(cells=cells, unknown=2).json()
    assert (plan["places"], plan["cells"], plan["unknown"]) == (1, 2, 2)


def test_a_refresh_of_a_service_that_is_away_says_that_nothing_changed(
    client, server, refresh, faults
):
    assert client.post("/excel/batch", json=RATE, headers=server.headers).json()
    faults.will(RESET)
    report = refresh(cells=[RATE["calls"]], confirmed=True).json()
    assert (report["happened"], report["failed"]) == (False, 1)
    got = client.post("/excel/batch", json=RATE, headers=server.headers)
    assert got.json() == {"results": [{"v": 0.0825}]}
    since = client.post(
        "/excel/batch", json=RATE | {"since": report["since"]}, headers=server.headers
    )
    assert since.json()["results"][0]["e"] == "na"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"cells": 1},
        {"cells": [1]},
        {"cells": [[1]]},
        {"cells": [], "unknown": []},
        {"workbook": []},
        {"workbook": {}},
        {"workbook": {"sheets": [{"name": "x"}]}},
        {"workbook": {"sheets": [dict.fromkeys(("name", "row", "formulas", "values"), 1)]}},
        {"workbook": {"sheets": [], "other": 1}},
    ],
)
def test_what_is_no_workbook_is_refused_and_nothing_is_looked_up(refresh, faults, body):
    got = refresh(**body, confirmed=True)
    assert (got.status_code, got.json()["error"]["code"]) == (400, "INVALID_INPUT")
    assert faults.seen == []


@pytest.mark.parametrize("since", ["yesterday", 1, "2026-05-01T12:00:00"])
def test_the_moment_of_a_refresh_has_a_zone(client, server, faults, since):
    got = client.post("/excel/batch", json=RATE | {"since": since}, headers=server.headers)
    assert got.status_code == 400
    assert "since" in message(got)
    assert faults.seen == []


def test_files_are_served_by_name_and_the_folder_above_is_not(client, server):
    for name in ("taskpane.css", "taskpane.js", "taskpane_freeze.js", "taskpane_refresh.js"):
        got = client.get(f"/excel/{name}?token={server.token}")
        assert got.status_code == 200, name
        assert got.text
    for path in ("../app.py", "..%2fapp.py", "%2e%2e/gate.py", "taskpane.html~"):
        got = client.get(f"/excel/{path}", params={"token": server.token})
        assert got.status_code == 404, path
    assert client.get("/openapi.json", headers=server.headers).status_code == 404


def test_the_page_with_instructions_and_the_pictures_are_open(client, server):
    opened = client.get("/excel/").text
    assert server.token not in opened
    opened = unescape(opened)
    assert all(line in opened for line in certificate_commands())
    functions = client.get(f"/excel/functions.json?token={server.token}").json()["functions"]
    for one in functions:
        address, _, anchor = one["helpUrl"].partition("#")
        assert address == f"{server.origin}/excel/"
        row = re.search(rf'<tr id="{re.escape(anchor)}">(.*?)</tr>', opened, re.DOTALL)[1]
        assert f"=SVC.{one['name']}(" in row
        assert all(parameter["description"] in row for parameter in one["parameters"])
    assert client.get("/excel/icon-32.png").status_code == 200
    assert client.get("/excel/icon-32.js").status_code == 401
    assert client.post("/excel/").status_code == 401


def test_a_body_without_end_is_refused_before_it_is_read(server):
    host, _, port = server.origin.removeprefix("http://").partition(":")
    headers = server.headers | {
        "host": f"{host}:{port}",
        "content-length": str(LARGEST_REQUEST + 1),
    }
    lines = [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall("\r\n".join(["POST /excel/batch HTTP/1.1", *lines, "", ""]).encode())
        received = connection.makefile("rb").read()
    assert received.startswith(b"HTTP/1.1 413")
    assert b"smaller range" in received


def test_nor_is_one_that_does_not_say_its_length(client, server):
    pieces = (bytes(1024 * 1024) for _ in range(LARGEST_REQUEST // (1024 * 1024) + 2))
    with contextlib.suppress(httpx.WriteError):  # it closes while this still writes
        got = client.post("/excel/batch", content=pieces, headers=server.headers)
        assert got.status_code == 413


def test_neither_the_key_nor_the_words_of_an_exception_reach_a_cell(
    client, server, faults, monkeypatch
):
    faults.will(answer(401, json.dumps({"error": {"message": f"key {KEY} is unknown"}}).encode()))
    got = client.post("/excel/batch", json=RATE, headers=server.headers)
    assert got.json()["results"][0]["e"] == "na"
    assert KEY not in got.text

    def broken(*_):
        raise RuntimeError(f"secret words {KEY}")

    monkeypatch.setattr(app_module, "evaluate", broken)
    got = client.post("/excel/batch", json=RATE, headers=server.headers)
    assert got.status_code == 500
    assert "secret words" not in got.text
    assert message(got)


def test_what_is_no_key_is_refused(client, server):
    address = b'"address": "https://rates.example"'
    for body in (b'{"address": "x"}', b'{%s, "key": null}' % address, b"[]", b"[" * 100_000):
        got = client.post("/excel/key", content=body, headers=server.headers)
        assert got.status_code == 400
    assert client.put("/excel/key", json={}, headers=server.headers).status_code == 405


def test_other_cells_are_computed_while_one_waits(client, server, faults):
    go_on = threading.Event()

    def held(_):
        go_on.wait(20)
        return answer()

    def sent(body):
        address = f"{server.origin}/excel/batch"
        return httpx.post(address, json=body, headers=server.headers, timeout=60).json()

    faults.will(held)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(sent, RATE)
        assert faults.asked.wait(20)
        assert sent({"calls": [{"f": "SVC_SUM", "a": [[[1, 2]]]}]}) == {"results": [{"v": 3.0}]}
        go_on.set()
        assert slow.result() == {"results": [{"v": 0.0825}]}


def through(app, path, query=b"", receive=None, method="POST"):
    """Send one request to an app as a server does; its responses."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": [(b"host", b"localhost:1"), (b"authorization", f"Bearer {TOKEN}".encode())],
    }
    asyncio.run(app(scope, receive, send))
    return sent


def test_the_token_goes_no_further_than_the_guard():
    """Whatever traces requests inside the app sees no token."""
    inside = []

    async def app(scope, receive, send):
        inside.append(scope)
        await Response()(scope, receive, send)

    guard = AddinGuard(app, LocalGuard(1, token=SecretStr(TOKEN)))
    query = f"token={TOKEN}&office=1".encode()
    sent = through(guard, "/excel/taskpane.html", query, method="GET")
    assert sent[0]["status"] == 200
    assert TOKEN not in str(inside)
    assert inside[0]["query_string"] == b"office=1"


def test_a_caller_who_leaves_is_no_failure_to_log(scripted, caplog):
    async def receive():
        return {"type": "http.disconnect"}

    guard = LocalGuard(1, token=SecretStr(TOKEN))
    through(app_module.addin_app(desk_of(scripted), guard), "/excel/batch", b"", receive)
    assert not caplog.records


@pytest.mark.parametrize("name", ["batch", "status", "refresh", "nexus", "key", "embedded"])
def test_what_computes_or_changes_takes_the_token_in_its_header_alone(client, server, name):
    path = f"/excel/{name}"
    for method in ("GET", "POST", "DELETE"):
        address = f"{path}?token={server.token}"
        assert client.request(method, address).status_code == 401
        accepted = {"authorization": f"bearer  {server.token}"}
        assert client.request(method, path, headers=accepted).status_code not in {401, 403}


@pytest.mark.parametrize("name", ["functions.js", "manifest.xml", "taskpane.html", "other.js"])
def test_files_take_it_in_their_address_too_for_excel_sends_no_header(client, server, name):
    path, address = f"/excel/{name}", f"/excel/{name}?token={server.token}"
    found = 404 if name == "other.js" else 200
    assert client.get(address).status_code == found
    assert client.get(path, headers=server.headers).status_code == found
    assert client.post(address).status_code == 401
    for wrong in ("", "?token=%FF", "?token=%C3%BC"):
        assert client.get(path + wrong).status_code == 401
    assert client.get(address, headers={"authorization": "Bearer wrong"}).status_code == 401


def read(*calls):
    return read_calls(body_object(json.dumps({"calls": calls}).encode()))


def sent(*results):
    return json.loads(json.dumps(results_of(results)))["results"]


def test_what_is_left_out_an_empty_cell_and_an_error_value_are_three_things():
    cells = [[[1, 2.5], [None, True], ["x", {"error": "#N/A"}]]]
    one, two = read(
        {"f": "SVC_RATE", "a": [None, "", {"error": "#DIV/0!"}]}, {"f": "SVC_SUM", "a": cells}
    )
    assert one == FunctionCall("SVC_RATE", (OMITTED, "", ErrorCell("#DIV/0!")))
    assert two == FunctionCall("SVC_SUM", ([[1, 2.5], [None, True], ["x", ErrorCell("#N/A")]],))


def test_a_function_of_another_release_and_too_many_arguments_are_errors_of_their_cells(
    client, server
):
    calls = [{"f": "SVC_FUTURE", "a": []}, {"f": "SVC_FIELDS", "a": [1]}, {"f": "SVC_FIELDS"}]
    got = client.post("/excel/batch", json={"calls": calls}, headers=server.headers)
    future, too_many, fields = got.json()["results"]
    assert (future["e"], too_many["e"], fields["v"][0][0]) == ("na", "value", "field")
    assert "SVC_FUTURE" in future["m"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"calls": {}}',
        b'{"calls": [1]}',
        b'{"calls": [{"f": 1, "a": []}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": {}}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [NaN]}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [Infinity]}]}',
        b'{"calls": [{"f": "SVC_SUM", "a": [1' + b"0" * 5000 + b"]}]}",
        b'{"calls": ' + b"[" * 100_000,
        b'\xff\xfe{"calls": []}',
    ],
)
def test_what_is_no_batch_is_refused_with_what_is_expected(client, server, body):
    got = client.post("/excel/batch", content=body, headers=server.headers)
    assert got.status_code == 400
    assert got.json()["error"]["code"] == "INVALID_INPUT"
    assert "calls" in message(got) or "JSON" in message(got), message(got)


@pytest.mark.parametrize("odd", [[1, 2], [[[1]]], {"error": 1}, 10**400, {"v": 1}])
def test_one_odd_cell_is_the_matter_of_its_formula_alone(odd):
    first, second = read({"f": "SVC_SUM", "a": [odd]}, {"f": "SVC_SUM", "a": [[[1]]]})
    assert isinstance(first, BadValueError)
    assert first.message.endswith(".")
    assert second == FunctionCall("SVC_SUM", ([[1]],))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["calls", "f", "a", "error", "x"]), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_any_other_json_is_read_or_refused_and_nothing_else(body):
    for asked in (body, {"calls": [{"f": "SVC_RATE", "a": body}]}):
        try:
            found = read_calls(body_object(json.dumps(asked).encode()))
        except BadRequestError:
            continue
        assert all(isinstance(one, FunctionCall | CellError) for one in found)


def test_results_keep_their_kinds_and_an_empty_cell_never_becomes_a_zero():
    unknown = NotAvailableError("not found", "UNRESOLVED")
    rows = [[0.0825, None], ["x", unknown]]
    assert sent(0.0825, None, "#PARTIAL", rows, [[True]], unknown, BadValueError("bad")) == [
        {"v": 0.0825},
        {"v": ""},
        {"v": "#PARTIAL"},
        {"v": [[0.0825, ""], ["x", {"e": "na", "m": "not found"}]]},
        {"v": [[True]]},
        {"e": "na", "m": "not found"},
        {"e": "value", "m": "bad"},
    ]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_through_to_the_last_digit(number):
    assert sent(number) == [{"v": number}]
    (call,) = read({"f": "SVC_SUM", "a": [number]})
    assert call.arguments == (number,)


APP = "{http://schemas.microsoft.com/office/appforoffice/1.1}"
OVER = "{http://schemas.microsoft.com/office/taskpaneappversionoverrides}"
BT = "{http://schemas.microsoft.com/office/officeappbasictypes/1.0}"
XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
GUARD = LocalGuard(8643, "https", token=SecretStr("a-token_of-the-Tests"))
ORIGIN = "https://localhost:8643"


@pytest.fixture(scope="module")
def root():
    return ET.fromstring(manifest(GUARD))  # noqa: S314 - our own


def names(element):
    return " ".join(child.tag.partition("}")[2] for child in element)


def vendor(tmp_path, script, *arguments):
    """What a script prints that uses the vendor's packages."""
    done = subprocess.run(
        [node(), "-e", script, *map(str, arguments)],
        cwd=npm_packages(),
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def vendor_schema():
    """Microsoft's JSON schema of a manifest, which has that of custom functions."""
    schemas = npm_packages() / "node_modules/@microsoft/app-manifest/build/json-schemas/teams"
    path = schemas / "v1.30" / "MicrosoftTeams.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


FUNCTIONS_PART = "extensionCustomFunctions"
READ = """
const { OfficeAddinManifest } = require("office-addin-manifest");
OfficeAddinManifest.readManifestFile(process.argv[1])
  .then((read) => console.log(JSON.stringify(read)));
"""
CONVERT = """
const { convert } = require("office-addin-manifest-converter");
convert(...process.argv.slice(1, 3), false, "https://developer.microsoft.com/schema", "1.30");
"""


@pytest.mark.timeout(180)  # npm may install packages first
def test_the_manifest_is_what_the_parsers_of_the_vendor_read(tmp_path):
    path = tmp_path / "manifest.xml"
    path.write_text(manifest(GUARD), encoding="utf-8")
    read = json.loads(vendor(tmp_path, READ, path))
    pane = f"{ORIGIN}/excel/taskpane.html?token=a-token_of-the-Tests&office=1"
    assert read["officeAppType"] == "TaskPaneApp"
    assert (read["hosts"], read["appDomains"]) == (["Workbook"], [ORIGIN])
    assert read["permissions"] == "ReadWriteDocument"
    assert read["defaultSettings"] == {"sourceLocation": pane}
    # the parser of Office's own clients, which resolves the parts that are named by an id
    vendor(tmp_path, CONVERT, path, tmp_path / "converted")
    converted = json.loads((tmp_path / "converted" / "manifest.json").read_text(encoding="utf-8"))
    jsonschema_rs.validate(vendor_schema(), converted)
    (extension,) = converted["extensions"]
    assert {one["name"] for one in extension["requirements"]["capabilities"]} == {
        "SharedRuntime",
        "CustomFunctionsRuntime",
    }
    assert {one["code"]["page"] for one in extension["runtimes"]} == {pane}
    ((group,),) = [one["groups"] for one in extension["ribbons"][0]["tabs"]]
    assert (group["label"], group["controls"][0]["label"]) == ("Sales tax", "Rates")


PARTS = """
Id Version ProviderName DefaultLocale DisplayName Description IconUrl HighResolutionIconUrl
SupportUrl AppDomains Hosts Requirements DefaultSettings Permissions VersionOverrides
"""


def test_its_parts_stand_in_the_order_of_the_schema(root):
    assert root.tag == f"{APP}OfficeApp"
    assert root.get(f"{XSI}type") == "TaskPaneApp"
    assert names(root).split() == PARTS.split()
    overrides = root.find(f"{OVER}VersionOverrides")
    host = overrides.find(f"{OVER}Hosts/{OVER}Host")
    assert host.get(f"{XSI}type") == "Workbook"
    assert names(host) == "Runtimes AllFormFactors DesktopFormFactor"
    form = host.find(f"{OVER}DesktopFormFactor")
    assert names(form) == "GetStarted FunctionFile ExtensionPoint"
    assert names(overrides.find(f"{OVER}Resources")) == "Images Urls ShortStrings LongStrings"


def test_id_and_version_have_the_documented_form_and_the_id_never_changes(root):
    assert root.findtext(f"{APP}Id") == "a43ce9a7-2b34-42ce-8ac2-502c30822036"
    assert re.fullmatch(r"\d{1,5}(\.\d{1,5}){3}", root.findtext(f"{APP}Version"))


def test_every_resource_that_is_named_exists_once_and_none_is_left_over(root):
    ids = [
        one.get("id")
        for kind in ("Image", "Url", "String")
        for one in root.iter(f"{BT}{kind}")
        if one.get("id")
    ]
    named = {one.get("resid") for one in root.iter() if one.get("resid")}
    assert len(ids) == len(set(ids))
    assert named == set(ids)
    assert all(len(one) <= 32 for one in ids)


def test_functions_pane_and_runtime_are_one_page(root):
    runtime = root.find(f".//{OVER}Runtime")
    assert (runtime.get("resid"), runtime.get("lifetime")) == ("Taskpane.Url", "long")
    page = root.find(f".//{OVER}Page/{OVER}SourceLocation").get("resid")
    button = root.find(f".//{OVER}Action/{OVER}SourceLocation").get("resid")
    assert page == button == root.find(f".//{OVER}FunctionFile").get("resid") == "Taskpane.Url"
    requirements = {one.get("Name") for one in root.iter(f"{APP}Set")}
    assert requirements == {"SharedRuntime", "CustomFunctionsRuntime"}


def test_every_address_is_of_this_server_and_only_what_is_secret_has_the_token(root):
    addresses = [one.get("DefaultValue") for one in root.iter() if one.get("DefaultValue")]
    urls = [urlsplit(one) for one in addresses if "://" in one]
    assert {f"{one.scheme}://{one.netloc}" for one in urls} == {ORIGIN}
    for one in urls:
        token = parse_qs(one.query).get("token")
        is_open = one.path == "/excel/" or one.path.endswith(".png")
        assert token == (None if is_open else ["a-token_of-the-Tests"]), one.path
        assert len(one.geturl()) <= 2048
    pages = [parse_qs(one.query) for one in urls if one.path.endswith("taskpane.html")]
    assert pages
    assert all(one["office"] == ["1"] for one in pages)
    assert root.findtext(f"{APP}AppDomains/{APP}AppDomain") == ORIGIN


def test_texts_keep_the_documented_lengths(root):
    resources = root.find(f".//{OVER}Resources")
    for most, texts in [
        (125, [root.find(f"{APP}DisplayName"), *resources.find(f"{BT}ShortStrings")]),
        (250, [root.find(f"{APP}Description"), *resources.find(f"{BT}LongStrings")]),
    ]:
        assert all(len(one.get("DefaultValue")) <= most for one in texts)
    sizes = {one.get("size") for one in root.iter(f"{BT}Image") if one.get("size")}
    assert sizes == {"16", "32", "80"}  # those that are required


DESCRIBED = functions_metadata(GUARD)["functions"]
# a cell reference such as TAX1 or R1C1 is no name of a function
CELL = re.compile(r"[A-Z]{1,3}\d+|R\d+C\d+")
LONGEST = 128


def test_ids_and_names_keep_the_documented_rules():
    ids = [one["id"] for one in DESCRIBED]
    assert len(set(ids)) == len(ids)
    for one in DESCRIBED:
        assert re.fullmatch(r"[A-Z][A-Z0-9.]{2,}", one["id"])
        assert re.fullmatch(r"[A-Z][A-Z0-9_.]{2,}", one["name"])
        assert len(one["id"]) <= LONGEST
        assert len(f"{NAMESPACE}.{one['name']}") <= LONGEST
        assert not CELL.fullmatch(one["name"])
    assert re.fullmatch(r"[A-Z]{1,32}", NAMESPACE)


@pytest.mark.timeout(180)  # npm may install packages first
def test_the_metadata_follow_the_schema_of_the_vendor():
    schema = vendor_schema()
    # this form of the metadata has the options in an object; the schema has them beside the rest
    flat = [{**one, **one["options"]} for one in DESCRIBED]
    content = {"namespace": {"id": NAMESPACE, "name": NAMESPACE}, "functions": flat}
    part = {name: schema[name] for name in ("$schema", "definitions")}
    jsonschema_rs.validate({"allOf": [{"$ref": f"#/definitions/{FUNCTIONS_PART}"}]} | part, content)
    known = schema["definitions"]["extensionFunction"]["properties"]
    assert {name for one in flat for name in one} - {"options"} <= set(known)


def test_only_documented_properties_are_used():
    assert set(functions_metadata(GUARD)) == {"allowErrorForDataTypeAny", "functions"}
    for one in DESCRIBED:
        parts = {"id", "name", "description", "helpUrl", "parameters", "result", "options"}
        assert set(one) == parts
        assert one["result"] == {"type": "any", "dimensionality": "matrix"}
        assert set(one["options"]) == {"cancelable", "volatile"}
        for parameter in one["parameters"]:
            # so an argument that is left out (null) is told from an empty cell (a matrix of one)
            assert parameter == parameter | {"type": "any", "dimensionality": "matrix"}
            assert len(parameter) == 5
            assert {"name", "description", "optional"} < set(parameter)
            assert parameter["description"].strip()
        optional = [parameter["optional"] for parameter in one["parameters"]]
        assert optional == sorted(optional)
        names = [parameter["name"] for parameter in one["parameters"]]
        assert len(set(names)) == len(names)
    assert "SVC_" not in str(DESCRIBED)  # the help names other functions as they are typed there


def test_the_page_lists_every_function_with_its_arguments_and_help():
    shown = unescape(taskpane_page(GUARD, office=False))
    for one in FUNCTIONS:
        name = host_text(one.name)
        assert f"<summary><code>{one.signature.replace(one.name, name)}</code>" in shown
        assert host_text(one.help) in shown
        assert formula(name, EXAMPLES[one.name]) in shown
        for parameter in one.parameters:
            assert f"<dt>{parameter.name}" in shown
            assert host_text(parameter.help) in shown


def test_the_token_is_in_the_addresses_of_the_page_alone_and_cannot_be_markup():
    text = taskpane_page(LocalGuard(1, token=SecretStr('a"><b>&c')), office=True)
    assert "<b>" not in text
    assert "{{" not in text
    assert set(re.findall(r'token=([^"]+)"', text)) == {"a%22%3E%3Cb%3E%26c"}


OHIO = {"state": "Ohio", "nexus_type": "economic", "registered_at": "05/31/2024", "notes": ""}
SENT = {"state": "OH", "nexus_type": "economic", "registered_at": "2024-05-31"}


@pytest.fixture
def register(faults, tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    return Nexus(faults, RECORDS[2:])


@pytest.fixture
def nexus(client, server, register):
    def post(record=OHIO, **more):
        body = {"record": record, **more}
        return client.post("/excel/nexus", json=body, headers=server.headers).json()

    return post


def test_a_registration_is_previewed_and_added_once_its_state_is_typed(
    client, server, register, nexus, tmp_path
):
    listed = client.get("/excel/nexus", headers=server.headers).json()
    assert [row[:3] for row in listed["rows"]] == [
        ["TX", "economic", "2022-05-01"],
        ["TX", "physical", ""],
        ["WA", "marketplace", ""],
    ]
    plan = nexus()
    (request,) = plan["requests"]
    assert json.loads(request.removeprefix("POST /v1/portability/nexus ")) == SENT
    assert (plan["state"], plan["confirm"]) == ("OH", True)
    for typed in ("", "TX", "1", "ohio"):
        assert nexus(typed=typed)["problem"]["field"] == "nexus-typed"
    assert register.methods == {"GET"}
    assert not (tmp_path / "receipts").exists()
    added = nexus(typed=" oh ")
    assert register.additions == [SENT]
    (receipt,) = (tmp_path / "receipts").glob("*-add-*.jsonl")
    assert receipt.name in added["message"]
    assert read_receipt(receipt).undoable
    again = nexus(typed="OH")
    assert (again["requests"], again["confirm"]) == ([], False)
    assert register.additions == [SENT]


@pytest.mark.parametrize("embedded", [False, True])
def test_the_command_that_undoes_a_registration_runs_as_it_is_shown(
    register, scripted, tmp_path, monkeypatch, embedded
):
    monkeypatch.setenv("SVC_DATABASE_URL", str(tmp_path / "service.db"))
    with (
        connect("embedded") if embedded else contextlib.nullcontext(scripted) as service,
        local_server(desk_of(service)) as server,
    ):
        sent = {"headers": server.headers, "json": {"record": OHIO, "typed": "OH"}}
        added = httpx.post(f"{server.origin}/excel/nexus", **sent, trust_env=False).json()
        (command,) = re.findall(r"\(svc-tools ([^()]+)\)", added["message"])
        done = svc_tools(*shlex.split(command), SVC_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert "removes OH economic" in done.stdout


def test_what_was_not_added_says_why_and_has_nothing_to_undo(register, nexus):
    register.adding = [refused(403)]
    text = nexus(typed="OH")["message"]
    assert "OH economic not changed" in text
    assert "was not added" in text
    assert "undoes it" not in text
    assert "undoes it" in nexus(typed="OH")["message"]
    assert register.additions == [SENT, SENT]


def test_of_several_presses_at_once_one_is_sent(register, nexus):
    with ThreadPoolExecutor(4) as threads:
        results = [*threads.map(lambda _: nexus(typed="OH"), range(4))]
    assert register.additions == [SENT]
    assert sum("undoes it" in one.get("message", "") for one in results) == 1


def test_cells_follow_a_registration_that_was_added(client, server, nexus):
    call = {"calls": [{"f": "SVC_NEXUS_STATUS", "a": ["OH"]}]}
    found = []
    for typed in (None, "OH"):
        nexus(typed=typed)
        got = client.post("/excel/batch", json=call, headers=server.headers).json()
        found.append(got["results"][0]["v"])
    assert found == ["not registered", "registered"]


@pytest.mark.parametrize(
    ("record", "service", "word"),
    [
        (OHIO | {"state": "Nowhere"}, {}, "Nowhere"),
        (OHIO | {"nexus_type": ""}, {}, "nexus_type"),
        (OHIO | {"registered_at": "03/04/2024"}, {}, "03/04/2024"),
        (OHIO, {"down": True}, ""),
    ],
)
def test_what_cannot_be_added_is_a_problem_and_nothing_is_sent(
    register, nexus, record, service, word
):
    vars(register).update(service)
    for typed in (None, "OH"):
        assert word in nexus(record, typed=typed)["problem"]["text"]
    assert register.methods <= {"GET"}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"record": []}', b'{"record": {"state": 1}}', b'{"record": {}']
)
def test_what_is_no_registration_is_refused(client, server, register, body):
    response = client.post("/excel/nexus", content=body, headers=server.headers)
    assert (response.status_code, register.methods) == (400, set())
