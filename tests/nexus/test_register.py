"""The register: read as users write it, listed by the service, and where the two differ."""

from __future__ import annotations

import json
import pickle
from datetime import date, datetime

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import answer

from svc_sdk import AuthError, ServiceError
from svc_tools.nexus import (
    NEXUS_TYPES,
    NotListedError,
    PlanError,
    Register,
    RegisterError,
    Registration,
    ThresholdsError,
    differences,
    list_register,
    read_register,
)
from svc_tools.nexus.service import NotAddedError, WouldChangeError, add_record
from svc_tools.places import STATES


def test_records_as_people_write_them():
    register = read_register(
        [
            {"State": "texas", "Type": " Physical ", "Registered": "2024-05-01", "ZIP": "1"},
            {"State": "NY", "Type": "economic nexus", "Registered": date(2024, 6, 1)},
            {"State": "N.J.", "Type": "Marketplace Facilitator", "Registered": float("nan")},
            {"State": "", "Type": None, "Registered": None},
            {"State": "OH", "Type": "physical", "Registered": datetime(2024, 7, 1)},  # noqa: DTZ001
        ]
    )
    assert register.records == (
        Registration("TX", "physical", date(2024, 5, 1), row=1),
        Registration("NY", "economic", date(2024, 6, 1), row=2),
        Registration("NJ", "marketplace", None, row=3),
        Registration("OH", "physical", date(2024, 7, 1), row=5),
    )
    assert register.states == {"TX", "NY", "NJ", "OH"}
    assert register.begins("marketplace") == {"NJ": None}


def test_a_csv_file(tmp_path):
    path = tmp_path / "register.csv"
    path.write_text(
        "\ufeffstate,nexus_type,registered_at,address,notes\n"
        'TX,physical,2024-05-01,"1 Main St, Austin",\n\nTX,physical,,,again\n',
        encoding="utf-8",
    )
    register = read_register(path)
    assert register.records[0].address == "1 Main St, Austin"
    assert [record.notes for record in register.records] == [None, "again"]
    assert register.begins() == {"TX": None}  # a record without a day counts always


def test_every_faulty_record_is_listed():
    with pytest.raises(RegisterError) as refused:
        read_register(
            [
                {"state": "TX", "nexus_type": "physical", "registered_at": "05/01/2024"},
                {"state": "Puerto Rico", "nexus_type": "physical"},
                {"state": "NY", "nexus_type": "virtual"},
                {"state": None, "nexus_type": "economic"},
                {"state": "NY", "nexus_type": "economic", "registered_at": "2024-02-30"},
                {"state": "NY", "nexus_type": "economic", "registered_at": 20240501},
            ]
        )
    assert refused.value.problems == (
        "row 1: registered_at '05/01/2024' is not a date such as 2026-05-01",
        "row 2: state 'Puerto Rico' is not a US state",
        "row 3: nexus_type 'virtual' is not one of physical, economic, marketplace",
        "row 4: a missing state is not a US state",
        "row 5: registered_at '2024-02-30' is not a date such as 2026-05-01",
        "row 6: registered_at '20240501' is not a date such as 2026-05-01",
    )


def test_many_problems_are_counted():
    with pytest.raises(RegisterError, match="and 15 more problems"):
        read_register([{"state": "Nowhere", "nexus_type": "physical"}] * 25)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"state": "TX"}], "no column holds the nexus type"),
        (
            [{"type": "physical", "nexus": "physical", "state": "TX"}],
            "nexus type: 'type', 'nexus'",
        ),
    ],
)
def test_columns_that_are_missing_or_double(rows, problem):
    with pytest.raises(RegisterError, match=problem):
        read_register(rows)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_register(tmp_path / "none.csv")
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"state,nexus_type\nTX,\x81\n")
    with pytest.raises(RegisterError, match="neither UTF-8"):
        read_register(broken)
    empty = tmp_path / "empty.csv"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(RegisterError, match="no column holds the state"):
        read_register(empty)
    empty.write_text("state,nexus_type\n", encoding="utf-8")
    assert read_register(empty).records == ()
    shifted = tmp_path / "shifted.csv"
    shifted.write_text("state,nexus_type,address\nTX,physical,1 Main St, Austin\n", "utf-8")
    with pytest.raises(RegisterError, match="row 1 has more cells than the header"):
        read_register(shifted)


@pytest.mark.parametrize("source", [{"state": "TX"}, ["TX"], 5, None])
def test_what_is_no_register_is_refused(source):
    with pytest.raises(TypeError, match="nexus: expected"):
        read_register(source)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(STATES)),
            st.sampled_from(NEXUS_TYPES),
            st.none() | st.dates(),
        )
    )
)
def test_what_is_well_formed_is_read_as_it_stands(rows):
    register = read_register(
        {"state": STATES[state], "nexus_type": kind, "registered_at": day and day.isoformat()}
        for state, kind, day in rows
    )
    read = [(one.state, one.nexus_type, one.registered_at) for one in register.records]
    assert read == rows
    for state, day in register.begins().items():
        own = [other for code, _, other in rows if code == state]
        assert day == (None if None in own else min(own))


def of(*rows):
    names = ("state", "nexus_type", "registered_at", "address", "notes")
    return read_register([dict(zip(names, row, strict=False)) for row in rows])


def told(mine, service):
    return [tuple(row) for row in differences(mine, service).itertuples(index=False)]


@pytest.fixture
def account(empty_account):
    return empty_account


def test_what_was_added_is_listed_with_all_that_it_says(account):
    added = add_record(
        account,
        "texas",
        nexus_type="Physical presence",
        registered_at="2024-05-01",
        address="1 Main St",
        notes="=1+1",
    )
    add_record(account, "OR", nexus_type="economic")
    assert added.before is None
    assert added.looked
    register = list_register(account)
    assert [record.texts for record in register.records] == [
        ("OR", "economic", "", "", ""),
        ("TX", "physical", "2024-05-01", "1 Main St", "=1+1"),
    ]
    assert told(register, register) == []


def test_a_record_that_is_there_is_changed_only_where_that_was_asked_for(account):
    add_record(account, "TX", nexus_type="physical", address="1 Main St", notes="kept")
    with pytest.raises(WouldChangeError, match=r"TX has a record of type physical already \(1 Ma"):
        add_record(account, "TX", nexus_type="physical", address="2 Elm")
    assert list_register(account).records[0].address == "1 Main St"
    updated = add_record(account, "TX", nexus_type="physical", address="2 Elm", update=True)
    assert (updated.before.address, updated.record.address) == ("1 Main St", "2 Elm")
    assert list_register(account).records[0].notes == "kept"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"state": "Nowhere", "nexus_type": "economic"}, "'Nowhere' is not a US state"),
        ({"state": "TX", "nexus_type": "virtual"}, "'virtual' is not one of physical, economic,"),
        (
            {"state": "TX", "nexus_type": "economic", "registered_at": "05/01/2024"},
            "registered_at",
        ),
    ],
)
def test_what_cannot_be_added_is_said_before_anything_is_sent(faults, scripted, arguments, problem):
    faults.will(answer(body=b'{"nexus": [], "count": 0}'))
    state = arguments.pop("state")
    with pytest.raises(ValueError, match=problem):
        add_record(scripted, state, **arguments)
    assert [seen.method for seen in faults.seen if seen.method != "GET"] == []


@pytest.mark.parametrize("status", [404, 405])
def test_a_service_that_does_not_list_says_how_to_go_on(faults, scripted, status):
    faults.will(answer(status, b"{}"))
    with pytest.raises(NotListedError, match=rf"\(HTTP {status}\); give your own register: a CSV"):
        list_register(scripted)


@pytest.mark.parametrize("status", [404, 405])
def test_a_service_that_neither_lists_nor_adds(faults, scripted, status):
    faults.will(answer(status, b"{}"))
    with pytest.raises(NotAddedError, match=rf"does not add nexus records \(HTTP {status}\)"):
        add_record(scripted, "TX", nexus_type="economic", update=True)


def test_a_record_that_cannot_be_seen_is_not_written_over_unasked(faults, scripted):
    faults.will(answer(405, b"{}"))
    with pytest.raises(WouldChangeError, match="whether TX has a record of type economic is not"):
        add_record(scripted, "TX", nexus_type="economic")
    assert {seen.method for seen in faults.seen} == {"GET"}
    faults.will(answer(405, b"{}"), answer(body=b'{"state": "TX", "nexus_type": "economic"}'))
    added = add_record(scripted, "TX", nexus_type="economic", update=True)
    assert not added.looked  # whether there was one before is not known, and not claimed


def test_a_part_of_the_list_is_no_register(faults, scripted):
    record = {"state": "TX", "nexus_type": "economic"}
    faults.will(answer(body=json.dumps({"nexus": [record], "count": 3}).encode()))
    with pytest.raises(NotListedError, match="lists 1 of its 3 records"):
        list_register(scripted)


def test_a_record_of_a_kind_that_is_not_known_is_not_passed_over(faults, scripted):
    records = [
        {"state": "TX", "nexus_type": "affiliate"},
        {"state": "TX", "nexus_type": "physical"},
    ]
    faults.will(answer(body=json.dumps({"nexus": records}).encode()))
    with pytest.raises(RegisterError, match="as the service lists it, row 1: nexus_type 'affil"):
        list_register(scripted)


@pytest.mark.parametrize(("status", "error"), [(401, AuthError), (503, ServiceError)])
def test_other_failures_are_no_missing_list(faults, scripted, status, error):
    faults.will(answer(status, b"{}"))
    with pytest.raises(error):
        list_register(scripted)


def test_where_two_registers_differ():
    mine = of(
        ("TX", "physical", "2024-05-01", "1 Main St", "ours"),
        ("NV", "economic", "2022-02-02"),
        ("WA", "economic", None, " 5  Elm\r\nSeattle "),
    )
    service = of(
        ("TX", "physical", "2024-05-02", "1 Main St"),
        ("OR", "marketplace"),
        ("WA", "economic", None, "5 Elm Seattle"),  # blanks and line ends do not count
    )
    assert told(mine, service) == [
        ("NV", "economic", "only_mine", "2022-02-02", pytest.approx(float("nan"), nan_ok=True)),
        (
            "OR",
            "marketplace",
            "only_service",
            pytest.approx(float("nan"), nan_ok=True),
            "no details",
        ),
        ("TX", "physical", "registered_at", "2024-05-01", "2024-05-02"),
        ("TX", "physical", "notes", "ours", ""),
    ]
    assert [*differences(mine, mine).columns] == [
        "state",
        "nexus_type",
        "difference",
        "mine",
        "service",
    ]


def test_several_records_of_one_kind_are_compared_with_those_most_like_them():
    mine = of(("TX", "physical", None, "a", "x"), ("TX", "physical", None, "b", "y"))
    service = of(("TX", "physical", None, "b", "z"), ("TX", "physical", None, "a", "x"))
    assert told(mine, service) == [("TX", "physical", "notes", "y", "z")]
    assert [row[2] for row in told(mine, of(("TX", "physical", None, "b", "y")))] == ["only_mine"]


records = st.builds(
    Registration,
    st.sampled_from(["TX", "OR"]),
    st.sampled_from(NEXUS_TYPES[:2]),
    st.none() | st.dates(),
    st.sampled_from([None, "a", "b"]),
    st.sampled_from([None, "x"]),
)
registers = st.lists(records, max_size=5).map(lambda found: Register(tuple(found)))


@given(registers, registers)
def test_a_register_differs_from_another_as_that_one_from_it(mine, service):
    there, back = told(mine, service), told(service, mine)
    assert len(there) == len(back)
    same = sorted(one.texts for one in mine.records) == sorted(one.texts for one in service.records)
    assert (there == []) is same


def test_a_register_as_a_frame_and_in_a_notebook(tmp_path):
    register = of(("TX", "physical", "2024-05-01", "<b>"), ("TX", "physical"), ("OR", "economic"))
    frame = register.frame()
    assert frame["registered_at"].tolist() == [pd.Timestamp("2024-05-01"), pd.NaT, pd.NaT]
    assert read_register(frame).records == register.records
    assert [*register.duplicates()] == [("TX", "physical")]
    assert repr(register) == (
        "<Register: 3 records in 2 states; several of one kind: TX physical.>"
    )
    html = register._repr_html_()
    assert "&lt;b&gt;" in html
    assert 'scope="col"' in html
    assert "2024-05-01" in str(register)
    assert Register(()).frame().dtypes.equals(frame.dtypes)
    workbook = tmp_path / "register.xlsx"
    frame.to_excel(workbook, index=False)
    assert read_register(workbook).records == register.records


PROBLEMS = [f"row {row}: nothing is right" for row in range(1, 13)]


@pytest.mark.parametrize("kind", [PlanError, RegisterError, ThresholdsError])
def test_every_problem_survives_the_way_to_another_process(kind):
    error = kind(PROBLEMS)
    assert str(error).endswith("row 10: nothing is right; and 2 more problems")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.problems == tuple(PROBLEMS)
    assert str(again) == str(error)
