"""The shipped JavaScript in Node, over a stand-in for Excel."""

from __future__ import annotations

import json
import threading
from decimal import ROUND_HALF_UP, Decimal

import pytest
from pydantic import SecretStr
from support.faults import KEY, answer, echoing
from support.spreadsheets import called, in_excel, local_server, zips_asked

from svc_sdk import Svc
from svc_tools.excel.desk import Desk
from svc_tools.excel.officejs.pages import functions_script
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.loopback import LocalGuard

DAY = "2026-05-01"


@pytest.fixture(scope="module")
def book(service):
    """The local server over the embedded service, in a process of its own."""
    with Svc(KEY, base_url=service) as client, local_server(Desk(client, cache=False)) as server:
        yield server


@pytest.fixture
def scripted_server(faults, scripted):
    """The local server over a service that answers as the test says."""
    with local_server(Desk(scripted, cache=False)) as server:
        yield server


def shown(server, *calls):
    return in_excel(server.script, calls)["shown"][0]


def test_every_function_of_the_registry_is_associated(book):
    ids = in_excel(book.script, [])["ids"]
    assert ids == [one.name.removeprefix("SVC_").replace("_", ".") for one in FUNCTIONS]


def test_scalars_ranges_and_errors_inside_them(book):
    zips = [[94105.0, "94105"], ["abc", ""], ["00501", "94105-0000"]]
    rate, block = shown(book, called("RATE", "CA", "94105", DAY), called("RATE", "CA", zips, DAY))
    ((value,),) = rate
    assert isinstance(value, float)
    assert 0.07 < value < 0.12
    assert block[0] == [value, value]
    assert block[1][0]["error"] == "#VALUE!"
    assert "abc" in block[1][0]["message"]
    assert block[1][1] == ""
    assert block[2][0]["error"] == "#N/A"
    assert block[2][1] == value


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


def test_a_day_may_be_a_number_and_a_zip_is_no_day(scripted_server, faults):
    day = 46143  # 2026-05-01, counted from 1900: nothing tells the add-in of another count
    host = in_excel(
        scripted_server.script,
        [
            called("RATE", "TX", "78701", day),
            called("RATE", "TX", [["78702"], ["78702"]], [[day], [DAY]]),
            called("LOOKUP", [["zip", "As  of"], [78703, day], ["78704", ""]], "combined_rate"),
            called("LOOKUP", [["TX", 78705, day], ["TX", "78706", DAY]], "combined_rate"),
        ],
    )
    rate, rates, (first, second), rows = host["shown"][0]
    assert (rate, rates, first, rows) == ([[0.0825]], [[0.0825]] * 2, [0.0825], [[0.0825]] * 2)
    assert second[0]["error"] == "#VALUE!"
    assert {one.target.partition("as_of=")[2][:10] for one in faults.seen} == {DAY}
    assert {"78703", "78705"} <= set(zips_asked(faults))


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
    zips = sorted(one.target.partition("zip=")[2][:5] for one in faults.seen)
    assert zips == [f"{10_000 + number}" for number in range(500)]
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


def test_a_cancelled_call_is_not_asked_and_another_cell_still_gets_its_value(
    scripted_server, faults
):
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
    assert [one.target.partition("zip=")[2][:5] for one in faults.seen] == ["78702"]
    gone, also_gone, value = host["shown"][0]
    assert gone["error"] == also_gone["error"] == "#N/A"
    assert value == [[0.0825]]


def test_a_stopped_server_is_said_and_nothing_is_sent_twice(scripted):
    with local_server(Desk(scripted, cache=False)) as server:
        gate = LocalGuard(int(server.origin.rpartition(":")[2]), token=SecretStr(server.token))
        script = functions_script(gate)
        server.stop()
    host = in_excel(script, [called("RATE", "TX", "78701", DAY), called("FIELDS")])
    for one in host["shown"][0]:
        assert one["error"] == "#N/A"
        assert "start `svc-tools excel serve`, then" in one["message"]
    assert len(host["sent"]) == 1
    # a server without the certificate would not be the one that Excel asks
    secure = functions_script(LocalGuard(gate.port, "https", gate.token))
    (shown,) = in_excel(secure, [called("FIELDS")])["shown"][0]
    assert "start `svc-tools excel serve --cert FILE --key FILE`" in shown["message"]


def test_the_token_of_another_server_has_a_sentence_of_its_own(scripted_server):
    port = int(scripted_server.origin.rpartition(":")[2])
    host = in_excel(
        functions_script(LocalGuard(port, token=SecretStr("stale"))), [called("FIELDS")]
    )
    (shown,) = host["shown"][0]
    assert shown["error"] == "#N/A"
    assert "does not know this add-in: load the manifest" in shown["message"]
    assert len(host["sent"]) == 1


def test_an_answer_that_is_none_is_a_sentence_in_the_cell(faults):
    answers = [
        (answer(body=b"<html>"), "cannot be read"),
        (answer(body=b"{}"), "cannot be read"),
        (answer(body=b'{"results": []}'), "cannot be read"),
        (answer(body=b'{"results": [null]}'), "cannot be read"),
        (answer(body=b'{"results": [{"v": 1}, {"v": 2}]}'), "cannot be read"),
        (answer(500, b"oops"), "500"),
        (answer(413, b'{"error": {"message": "give a smaller range"}}'), "give a smaller range"),
    ]
    faults.will(*(body for body, _ in answers))
    port = int(faults.base_url.rpartition(":")[2])
    script = functions_script(LocalGuard(port, token=SecretStr("any")))
    host = in_excel(script, *([called("FIELDS")] for _ in answers))
    for (shown,), (_, said) in zip(host["shown"], answers, strict=True):
        assert shown["error"] == "#N/A"
        assert said in shown["message"]
    assert len(faults.seen) == len(answers)


def test_an_empty_result_is_never_handed_to_excel_as_null_which_it_shows_as_0(faults):
    faults.will(answer(body=b'{"results": [{"v": null}, {"v": [[1, null]]}]}'))
    port = int(faults.base_url.rpartition(":")[2])
    script = functions_script(LocalGuard(port, token=SecretStr("any")))
    host = in_excel(script, [called("FIELDS"), called("SOURCE")])
    assert host["shown"][0] == [[[""]], [[1, ""]]]


def test_two_sheets_that_ask_together_ask_the_service_once(scripted_server, faults):
    """Two hosts, such as Excel and Calc, share what is under way."""
    both = threading.Barrier(2)
    seen = threading.Event()

    def held(request):
        seen.wait(20)
        return echoing()(request)

    faults.will(held)
    found = []

    def ask():
        both.wait()
        found.append(shown(scripted_server, called("RATE", "TX", "78701", DAY)))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for one in threads:
        one.start()
    faults.asked.wait(20)
    seen.set()
    for one in threads:
        one.join()
    assert found == [[[[0.0825]]]] * 2
    assert len(faults.seen) == 1


def test_the_script_is_small_plain_and_without_addresses_of_others():
    script = functions_script(LocalGuard(1, token=SecretStr("t")))
    assert len(script.splitlines()) < 300
    assert "eval(" not in script
    outside = script.replace("http://localhost:1/excel/batch", "")
    assert "http" not in outside
    assert "__" not in outside
    assert json.dumps("t") in script
