"""The shipped JavaScript in Node, over a stand-in for Excel."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from pydantic import SecretStr
from support.faults import HANG, answer, echoing
from support.spreadsheets import called, in_excel, local_server, zips_asked
from support.tools import node, npm_packages

from svc_tools.base.loopback import LocalGuard
from svc_tools.excel.desk import Desk
from svc_tools.excel.officejs import pages
from svc_tools.excel.officejs.pages import functions_script
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS

DAY = "2026-05-01"


@pytest.fixture
def scripted_server(faults, scripted):
    """The local server over a service that answers as the test says."""
    with local_server(Desk(scripted, cache=False)) as server:
        yield server


def shown(server, *calls):
    return in_excel(server.script, calls)["shown"][0]


@pytest.mark.timeout(180)  # npm may install packages first
def test_the_javascript_fits_the_types_that_the_vendor_publishes(tmp_path):
    static = Path(pages.__file__).parent / "static"
    for path in static.glob("*.js"):
        shutil.copy(path, tmp_path)
    guard = LocalGuard(8643, "https", token=SecretStr("any"))
    (tmp_path / "functions.js").write_text(functions_script(guard), encoding="utf-8")
    folder = npm_packages()
    config = {"extends": str(folder / "tsconfig.json"), "include": ["*.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    tsc = folder / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [node(), tsc, "--project", tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("", 0)


def test_no_function_uses_the_workbook(scripted_server):
    """Excel ends a function that calls `Excel.run`, and a cell would wait for itself."""
    script = httpx.get(scripted_server.script).text
    forbidden = """
    for (const name of ["Excel", "Office", "OfficeExtension"]) {
      Object.defineProperty(globalThis, name, {
        get() { throw new Error(`${name} is used`); }, configurable: true,
      });
    }
    """
    calls = [
        called(
            one.name.removeprefix("SVC_").replace("_", "."), *map(as_cells, EXAMPLES[one.name]), {}
        )
        for one in FUNCTIONS
    ]
    host = in_excel(forbidden + script, calls)
    assert len(host["shown"][0]) == len(FUNCTIONS)
    assert "is used" not in json.dumps(host)
    assert host["sent"][0]["calls"] == len(FUNCTIONS)


def as_cells(argument):
    return argument.isoformat() if isinstance(argument, date) else argument


def test_every_function_of_the_registry_is_associated(scripted_server):
    ids = in_excel(scripted_server.script, [])["ids"]
    assert ids == [one.name.removeprefix("SVC_").replace("_", ".") for one in FUNCTIONS]


def test_after_a_refresh_no_older_result_of_memory_or_disk_is_used(faults, scripted, tmp_path):
    cache = tmp_path / "results.db"
    cells = [called("RATE", "TX", zip_code, DAY) for zip_code in ("78701", "78702")]
    with local_server(Desk(scripted, cache=cache)) as server:
        assert shown(server, *cells) == [[[0.0825]], [[0.0825]]]
    with local_server(Desk(scripted, cache=cache)) as server:  # started again
        assert shown(server, cells[0]) == [[[0.0825]]]
        assert len(faults.seen) == 2
        faults.will(echoing(rate={"combined_rate": "0.09000"}))
        press = datetime.now(UTC).isoformat()
        again = in_excel(server.script, cells, {"since": press}, cells, cells)["shown"]
    assert again == [[[[0.0825]]] * 2, [[[0.09]]] * 2, [[[0.09]]] * 2]
    assert zips_asked(faults)[2:] in (["78701", "78702"], ["78702", "78701"])


@pytest.mark.parametrize("rows", [1, 3])
def test_a_server_that_never_responds_ends_as_an_error_of_the_cells(faults, monkeypatch, rows):
    monkeypatch.setattr(pages, "PATIENCE", 0.05)
    monkeypatch.setattr(pages, "PER_PLACE", 0.01)
    faults.will(HANG)
    port = urlsplit(faults.base_url).port
    script = functions_script(LocalGuard(port, "http", token=SecretStr("any")))
    zips = [["78701"]] * rows
    [[cell]] = in_excel(script, [called("RATE", [["TX"]] * rows, zips, DAY)])["shown"]
    assert cell["error"] == "#N/A"
    assert "in time" in cell["message"]


def test_left_out_is_today_and_an_empty_cell_is_refused(scripted_server, faults):
    host = in_excel(
        scripted_server.script,
        [
            called("RATE", "TX", "78701"),
            called("RATE", "TX", "78701", None, {"$undefined": True}),
            called("RATE", "TX", "78701", [[""]]),
            called("RATE", "TX", "78701", [[0]]),
            called("RATE", "TX", "78701", [[None]]),
        ],
    )
    out, trailing, empty, zero, null = host["shown"][0]
    assert host["sent"][0]["calls"] == 2  # all that means the same is one call
    assert out == trailing == [[0.0825]]
    assert "as_of" not in faults.seen[0].target
    assert len(faults.seen) == 1
    for refused in (empty, zero, null):
        assert refused["error"] == "#VALUE!"
        assert "empty cell" in refused["message"]


def test_a_cell_is_read_in_every_form_in_which_excel_passes_it(scripted_server, faults):
    entity = {"type": "Entity", "basicType": "Error", "basicValue": "#VALUE!", "text": "Texas"}
    typed = {"type": "Error", "basicType": "Error", "basicValue": "#DIV/0!", "errorType": "Div0"}
    zips = [
        ("78701", 0.0825),
        (78701, 0.0825),
        ({"type": "FormattedNumber", "basicValue": 78701, "numberFormat": "00000"}, 0.0825),
        *((one, "") for one in ("", 0, None, {"$undefined": True})),  # "", which Excel shows as ""
        ({"type": "Empty", "basicType": "Empty", "basicValue": ""}, ""),
        ({"$nan": True}, "#NUM!"),
        *((one, "#DIV/0!") for one in ({"$error": "#DIV/0!"}, typed, "#DIV/0!")),
    ]
    found, unread, total, tax = shown(
        scripted_server,
        called("RATE", "TX", [[one] for one, _ in zips], DAY),
        called("RATE", [[entity]], "78701", DAY),
        called("SUM", [[0, 1.1], [2.2, None]]),
        called("TAX", [[0], [100]], "TX", "78701", DAY),
    )
    for (given, expected), (cell,) in zip(zips, found, strict=True):
        if isinstance(cell, dict):
            assert cell["error"] == "#N/A", given
            assert expected in cell["message"], given
        else:
            assert cell == expected, given
    assert unread["error"] == "#N/A"
    assert total == [[3.3]]  # among amounts a zero is a zero
    assert tax == [[0], [8.25]]
    assert len(faults.seen) == 1


def test_five_thousand_formulas_of_five_hundred_places_are_one_post_and_500_lookups(
    scripted_server, faults
):
    amounts = [1 + row / 100 for row in range(5_000)]
    sheet = [
        called("TAX", amount, "TX", 10_000 + row % 500, DAY) for row, amount in enumerate(amounts)
    ]
    again = [called("RATE", "TX", 10_000 + row % 500, DAY) for row in range(5_000)]
    host = in_excel(scripted_server.script, sheet, again)
    first, second = host["sent"]
    assert (first["method"], first["calls"]) == ("POST", 5_000)
    assert second["calls"] == 500  # the same formula in many cells is one call
    assert sorted(zips_asked(faults)) == [str(10_000 + number) for number in range(500)]
    rate, cent = Decimal("0.0825"), Decimal("0.01")
    assert host["shown"][0] == [
        [[float((Decimal(repr(amount)) * rate).quantize(cent, ROUND_HALF_UP))]]
        for amount in amounts
    ]
    assert host["shown"][1] == [[[0.0825]]] * 5_000


def test_too_much_for_one_question_is_a_few(scripted_server):
    wide = [["1" * 900] for _ in range(1_500)]
    host = in_excel(scripted_server.script, [called("SUM", [*wide, [n]]) for n in range(3)])
    assert [one["calls"] for one in host["sent"]] == [2, 1]
    assert all(one["characters"] < 4_100_000 for one in host["sent"])
    assert all(one["error"] == "#VALUE!" for one in host["shown"][0])


def test_a_canceled_call_is_not_sent_and_another_cell_still_gets_its_value(scripted_server, faults):
    host = in_excel(
        scripted_server.script,
        [
            called("RATE", "TX", "78701", DAY, cancel=True),
            called("RATE", "TX", "78702", DAY, cancel=True),
            called("RATE", "TX", "78702", DAY),
        ],
        [called("RATE", "TX", "78703", DAY, cancel=True)],
    )
    assert [one["calls"] for one in host["sent"]] == [1]
    assert zips_asked(faults) == ["78702"]
    gone, also_gone, value = host["shown"][0]
    assert gone["error"] == also_gone["error"] == "#N/A"
    assert value == [[0.0825]]


def test_a_stopped_or_another_server_is_an_error_with_what_to_do(scripted):
    with local_server(Desk(scripted, cache=False)) as server:
        guard = LocalGuard(int(server.origin.rpartition(":")[2]), token=SecretStr(server.token))
        script = functions_script(guard)
        stale = functions_script(LocalGuard(guard.port, token=SecretStr("stale")))
        calls = [called("RATE", "TX", "78701", DAY), called("FIELDS")]
        another = in_excel(stale, calls)
        server.stop()
    # a server without the certificate would not be the one that Excel uses
    secure = functions_script(LocalGuard(guard.port, "https", guard.token))
    for host, todo in [
        (another, "load the manifest"),
        (in_excel(script, calls), "start `svc-tools excel serve`, then"),
        (in_excel(secure, calls), "start `svc-tools excel serve`"),
    ]:
        assert len(host["sent"]) == 1
        for one in host["shown"][0]:
            assert one["error"] == "#N/A"
            assert todo in one["message"]


def responding(faults):
    """The script over a server that responds as the test says."""
    port = int(faults.base_url.rpartition(":")[2])
    return functions_script(LocalGuard(port, token=SecretStr("any")))


def test_an_unusable_response_is_an_error_in_the_cell(faults):
    unreadable = [
        b"<html>",
        b"{}",
        b'{"results": []}',
        b'{"results": [null]}',
        b'{"results": [{"v": 1}, {"v": 2}]}',
    ]
    responses = [
        *((answer(body=body), "cannot be read") for body in unreadable),
        (answer(500, b"oops"), "500"),
        (answer(413, b'{"error": {"message": "give a smaller range"}}'), "give a smaller range"),
    ]
    faults.will(*(response for response, _ in responses))
    host = in_excel(responding(faults), *([called("FIELDS")] for _ in responses))
    for (cell,), (_, reason) in zip(host["shown"], responses, strict=True):
        assert cell["error"] == "#N/A"
        assert reason in cell["message"]
    assert len(faults.seen) == len(responses)


def test_an_empty_result_is_never_handed_to_excel_as_null_which_it_shows_as_0(faults):
    faults.will(answer(body=b'{"results": [{"v": null}, {"v": [[1, null]]}]}'))
    host = in_excel(responding(faults), [called("FIELDS"), called("SOURCE")])
    assert host["shown"][0] == [[[""]], [[1, ""]]]
