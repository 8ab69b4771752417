"""What Calc's add-in makes of arguments and answers, when it asks, and what it foresees."""

from __future__ import annotations

import struct

import pytest
from support.calc import addin_module

from svc_tools.excel.calc.extension import configuration

module = addin_module("svc_calc_cells")
ahead = addin_module("svc_calc_ahead")
FUNCTIONS = module.functions_of(configuration()["functions.json"])
BURST = module._BURST


class Server:
    """Answers each call with its own words, and remembers what was asked together."""

    def __init__(self):
        self.asked = []
        self.calls = []
        self.now = 0.0
        self.source = 1
        self.answers = {}
        self.cells = module.Cells(FUNCTIONS, self.post, lambda: self.source, lambda: self.now)

    def post(self, calls):
        self.calls.append(calls)
        self.asked.append([(one["f"], *one["a"]) for one in calls])
        return [self.answers.get("".join(one["a"][-1:]), {"v": str(one["a"])}) for one in calls]

    def rate(self, zip_code, foreseen=None, state="TX"):
        return self.cells.value("SVC_RATE", (state, zip_code, None, None), foreseen)


@pytest.fixture
def server():
    return Server()


@pytest.mark.parametrize(
    ("name", "handed_over", "asked"),
    [
        ("SVC_RATE", ("TX", 2134.0, None, None), ["TX", 2134.0]),
        ("SVC_RATE", ("TX", 0.0, None, None), ["TX", ""]),
        ("SVC_RATE", ("TX", "", 0.0, None), ["TX", "", ""]),
        ("SVC_RATE", ("TX", 2134.0, None, "partial"), ["TX", 2134.0, None, "partial"]),
        ("SVC_RATE", (), []),
        ("SVC_RATE_GEO", ("TX", 0.0, 0.0), ["TX", "", ""]),
        ("SVC_TAX", (0.0, "TX", 78701.0), [0.0, "TX", 78701.0]),
        ("SVC_TAX", (0.0, "TX", 0.0), ["", "TX", ""]),
        ("SVC_TAX", (0.0, 0.0, 0.0, 0.0), ["", "", "", ""]),
        ("SVC_TAX", (12.5, "TX", 0.0), [12.5, "TX", ""]),
        ("SVC_SUM", (0.0,), [0.0]),
        ("SVC_SUM", (((0.0, ""), (1.5, "x")),), [[[0.0, ""], [1.5, "x"]]]),
    ],
)
def test_an_empty_cell_is_no_zero_and_a_zero_of_a_range_is_one(name, handed_over, asked):
    assert module.asked(FUNCTIONS[name], handed_over) == asked


def test_a_call_of_a_document_that_counts_from_1904_says_so_and_is_kept_apart(server):
    day = ("TX", 78701.0, "44000")
    server.cells.value("SVC_RATE", day)
    server.cells.value("SVC_RATE", day, from_1904=True)
    server.cells.value("SVC_RATE", day, from_1904=True)
    assert [[one.get("from_1904", False) for one in calls] for calls in server.calls] == [
        [False],
        [True],
    ]


def test_not_available_is_nothing_and_a_bad_value_an_exception(server):
    server.answers = {"1": {"e": "na", "m": "there is none"}, "2": {"e": "value", "m": "no ZIP"}}
    assert server.rate("1") is None
    with pytest.raises(module.BadValue, match="no ZIP"):
        server.rate("2")


def test_errors_inside_rows_are_calc_s_own_and_never_numbers(server):
    rows = [[0.0825, {"e": "na", "m": "x"}], ["", {"e": "value", "m": "y"}], [True, {"e": "new"}]]
    server.answers = {"1": {"v": rows}}
    (first, none), (empty, bad), (true, strange) = server.rate("1")
    assert (first, empty, true) == (0.0825, "", 1.0)
    for number, code in ((none, 32767), (bad, 519), (strange, 519)):
        assert number != number  # noqa: PLR0124 - only what is no number differs from itself
        assert struct.unpack("<Q", struct.pack("<d", number))[0] & 0xFFFFFFFF == code


def test_one_cell_is_handed_back_as_a_cell_and_short_rows_are_followed_by_empty_ones(server):
    server.answers = {"1": {"v": [["ok"]]}, "2": {"v": [["a", "b"]]}, "3": {"v": [[{"e": "na"}]]}}
    assert server.rate("1") == "ok"
    assert server.rate("2") == (("a", "b"),)
    shown = server.cells.value("SVC_LOOKUP", ("2",))
    assert shown[:2] == (("a", "b"), ("", ""))  # a single row would be repeated
    assert len(server.rate("3")) == 1


def test_identical_calls_are_asked_once_until_somebody_refreshes(server):
    assert server.rate("1") == server.rate("1")
    assert len(server.asked) == 1
    server.cells.forget()
    server.rate("1")
    assert len(server.asked) == 2


def test_another_server_s_answers_are_not_mixed_with_those_before(server):
    server.rate("1")
    server.source = 2
    server.rate("1")
    assert len(server.asked) == 2


def test_answers_serve_a_recalculation_and_errors_a_shorter_time(server):
    server.answers = {"1": {"e": "na", "m": "there is none"}}
    server.rate("1")
    server.rate("2")
    server.now = 30.0
    server.rate("2")
    assert len(server.asked) == 2
    server.rate("1")
    assert len(server.asked) == 3
    server.now = 100.0
    server.rate("2")
    assert len(server.asked) == 4


def test_what_is_asked_of_the_session_is_asked_again_and_last(server):
    def foreseen():
        return [("SVC_RATE", ["TX", "1"]), ("SVC_ASOF", [])]

    server.cells.value("SVC_ASOF", (None, None, None), foreseen)
    server.cells.value("SVC_ASOF", (None, None, None), foreseen)
    assert server.asked == [[("SVC_RATE", "TX", "1"), ("SVC_ASOF",)], [("SVC_ASOF",)]]
    server.cells.value("SVC_ASOF", ("TX", "1", None), foreseen)
    server.cells.value("SVC_ASOF", ("TX", "1", None), foreseen)
    assert len(server.asked) == 3  # of a ZIP: an answer like others


def test_a_single_edit_reads_no_document_and_a_burst_reads_it_once(server):
    reads = []

    def foreseen():
        reads.append(1)
        return [("SVC_RATE", ["TX", str(zip_code)]) for zip_code in range(100)]

    server.rate("0", foreseen)
    server.now += BURST + 0.1
    server.rate("1", foreseen)
    assert reads == []
    for zip_code in range(2, 100):
        server.rate(str(zip_code), foreseen)
    assert len(reads) == 1
    assert [len(calls) for calls in server.asked] == [1, 1, 98]


def test_a_document_that_tells_nothing_is_read_ever_more_seldom(server):
    reads = []
    for zip_code in range(3_000):
        server.rate(str(zip_code), lambda: reads.append(1) or [])
    assert len(server.asked) == 3_000
    assert len(reads) <= 13


def test_a_document_that_cannot_be_read_costs_no_figure(server):
    def broken():
        yield "SVC_RATE", ["TX", "7"]
        raise RuntimeError("the document is being closed")

    server.rate("1")
    assert server.rate("2", broken) == "['TX', '2']"
    assert server.asked[1] == [("SVC_RATE", "TX", "2"), ("SVC_RATE", "TX", "7")]


@pytest.mark.parametrize(
    ("formula", "calls"),
    [
        ('=SVC.TOOLS.SVC_RATE("TX";A2)', [("SVC_RATE", ['"TX"', "A2"])]),
        (
            '=SVC.TOOLS.SVC_RATE("TX";A2;;"partial")',
            [("SVC_RATE", ['"TX"', "A2", "", '"partial"'])],
        ),
        ('=IFERROR(ROUND(B2*svc.tools.svc_rate(A2;B2);2);"x")', [("SVC_RATE", ["A2", "B2"])]),
        (
            "=SVC.TOOLS.SVC_TAX(SUM(A1;B1);$'My; (Sheet'.A1;C1)",
            [("SVC_TAX", ["SUM(A1;B1)", "$'My; (Sheet'.A1", "C1"])],
        ),
        ('="SVC.TOOLS.SVC_RATE(A1)"', []),
        (
            '=SVC.TOOLS.SVC_FIELD("a "";"" b";{1;2|3};A1)',
            [("SVC_FIELD", ['"a "";"" b"', "{1;2|3}", "A1"])],
        ),
        ("=SVC.TOOLS.SVC_ASOF()+SVC.TOOLS.SVC_SOURCE()", [("SVC_ASOF", []), ("SVC_SOURCE", [])]),
        ("=SVC.TOOLS.SVC_RATE(A1;B1", []),
    ],
)
def test_calls_are_found_in_the_text_of_a_formula(formula, calls):
    assert [(name, arguments) for name, arguments, _ in ahead._calls(formula)] == calls


@pytest.mark.parametrize(
    ("formula", "guards"),
    [
        ("=SVC.TOOLS.SVC_RATE(A1;B1)", []),
        ("=ROUND(SUM(1;SVC.TOOLS.SVC_RATE(A1;B1));2)", []),
        ("=IFERROR(SVC.TOOLS.SVC_RATE(A1;B1);0)", []),
        ('=IF(SVC.TOOLS.SVC_STATUS(A1;B1)="ok";1;2)', []),
        ('=IF(A1="";"";SVC.TOOLS.SVC_RATE(A1;B1))', [("IF", 'A1=""', 2)]),
        ('=IF($Z$1="go; (on";SVC.TOOLS.SVC_RATE(A1;B1))', [("IF", '$Z$1="go; (on"', 1)]),
        ("=IFERROR(A1;ROUND(SVC.TOOLS.SVC_RATE(A1;B1);4))", [("IFERROR", "A1", 1)]),
        (
            "=IF(SUM(A1;B1)>0;IF(C1;1;SVC.TOOLS.SVC_RATE(A1;B1)))",
            [("IF", "SUM(A1;B1)>0", 1), ("IF", "C1", 2)],
        ),
    ],
)
def test_what_decides_whether_a_call_is_made_is_seen(formula, guards):
    (found,) = (one for _, _, one in ahead._calls(formula))
    assert found == guards
