"""The register: read as users write it, listed by the service, and where the two differ."""

from __future__ import annotations

import json
import pickle
from datetime import date, datetime

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.faults import ALIVE, answer

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
from svc_tools.nexus.thresholds import THRESHOLD_COLUMNS, read_thresholds
from svc_tools.tables.states import STATES


def test_records_as_people_write_them(tmp_path):
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
    rows = [
        ("TX", "physical", "May 2024"),
        ("Puerto Rico", "physical", None),
        ("NY", "virtual", None),
        (None, "economic", None),
        ("NY", "economic", "2024-02-30"),
        ("NY", "economic", 5),
    ]
    with pytest.raises(RegisterError) as refused:
        of(*rows)
    found = [problem.split(" ")[:4] for problem in refused.value.problems]
    assert found == [
        ["row", "1:", "registered_at", "'May"],
        ["row", "2:", "state", "'Puerto"],
        ["row", "3:", "nexus_type", "'virtual'"],
        ["row", "4:", "a", "missing"],
        ["row", "5:", "registered_at", "'2024-02-30'"],
        ["row", "6:", "registered_at", "'5'"],
    ]


def test_registrations_are_dated_in_the_forms_of_a_column(tmp_path):
    rows = [("TX", "physical", day) for day in ("1 May 2024", 45413, "")]
    may = date(2024, 5, 1)
    assert [one.registered_at for one in of(*rows).records] == [may, may, None]
    path = tmp_path / "register.csv"
    path.write_text("state,type,registered_at\nTX,physical,01/05/2024\nTX,economic,02/05/2024\n")
    with pytest.raises(RegisterError, match=r"'01/05/2024' and '02/05/2024'"):
        read_register(path)
    day_first = read_register(path, date_format="day first")
    assert [one.registered_at for one in day_first.records] == [may, date(2024, 5, 2)]
    path.write_text("state,type,registered_at\nTX,physical,2024-05-02T03:00:00Z\n")
    assert read_register(path).records[0].registered_at == date(2024, 5, 2)
    assert read_register(path, tz="America/Chicago").records[0].registered_at == may
    with pytest.raises(ValueError, match="date_format"):
        read_register(path, date_format="DD")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"state,nexus_type\nTX,\x81\n", "neither UTF-8"),
        (b"", "no column holds the state"),
        (b"state\nTX\n", "no column holds the nexus type"),
        (b"type,nexus,state\nphysical,physical,TX\n", "nexus type: 'type', 'nexus'"),
        (b"State,nexus_type,state\nTX,physical,CA\n", "the state: 'State', 'state'"),
        (b"state,nexus_type,notes,notes\nTX,physical,a,b\n", "the notes: 'notes', 'notes'"),
        (b"state,nexus_type,address\nTX,physical,1 Main St, Austin\n", "row 1 has more cells"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, content, problem):
    with pytest.raises(FileNotFoundError):
        read_register(tmp_path / "none.csv")
    path = tmp_path / "register.csv"
    path.write_bytes(content)
    with pytest.raises(RegisterError, match=problem):
        read_register(path)
    path.write_text("state,nexus_type\n", encoding="utf-8")
    assert read_register(path).records == ()


def test_a_frame_with_two_columns_of_one_name_is_refused():
    frame = pd.DataFrame([["TX", "physical", "CA"]], columns=["state", "nexus_type", "state"])
    with pytest.raises(RegisterError, match="several columns state"):
        read_register(frame)


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


ECONOMIC = {"state": "TX", "nexus_type": "economic"}


def of(*rows):
    names = ("state", "nexus_type", "registered_at", "address", "notes")
    return read_register([dict(zip(names, row, strict=False)) for row in rows])


def differing(mine, service):
    found = differences(mine, service).astype(object)
    return [*found.where(found.notna(), None).itertuples(index=False, name=None)]


@pytest.mark.parametrize(
    ("status", "body", "error", "problem"),
    [
        (404, {}, NotListedError, r"\(HTTP 404\); give your own register"),
        (405, {}, NotListedError, r"\(HTTP 405\); give your own register"),
        (401, {}, AuthError, "status 401"),
        (503, {}, ServiceError, "status 503"),
        # a part of the list is no register
        (200, {"nexus": [ECONOMIC], "count": 3}, NotListedError, "1 of its 3 records"),
        (200, {"nexus": [ECONOMIC | {"nexus_type": "other"}]}, RegisterError, "row 1: .*'other'"),
    ],
)
def test_a_register_that_cannot_be_listed(faults, scripted, status, body, error, problem):  # noqa: PLR0917
    faults.health = ALIVE
    faults.will(answer(status, json.dumps(body).encode()))
    with pytest.raises(error, match=problem):
        list_register(scripted)


def test_where_two_registers_differ():
    mine = of(
        ("TX", "physical", "2024-05-01", "1 Main St", "mine"),
        ("NV", "economic", "2022-02-02"),
        ("WA", "economic", None, " 5  Elm\r\nSeattle "),
    )
    service = of(
        ("TX", "physical", "2024-05-02", "1 Main St"),
        ("OR", "marketplace"),
        ("WA", "economic", None, "5 Elm Seattle"),  # blanks and line ends do not count
    )
    found = differences(mine, service)
    assert [*found.columns] == ["state", "nexus_type", "difference", "mine", "service"]
    assert differing(mine, service) == [
        ("NV", "economic", "only_mine", "2022-02-02", None),
        ("OR", "marketplace", "only_service", None, "no details"),
        ("TX", "physical", "registered_at", "2024-05-01", "2024-05-02"),
        ("TX", "physical", "notes", "mine", ""),
    ]


def test_several_records_of_one_kind_are_compared_with_those_most_like_them():
    mine = of(("TX", "physical", None, "a", "x"), ("TX", "physical", None, "b", "y"))
    service = of(("TX", "physical", None, "b", "z"), ("TX", "physical", None, "a", "x"))
    assert differing(mine, service) == [("TX", "physical", "notes", "y", "z")]
    assert [row[2] for row in differing(mine, of(("TX", "physical", None, "b", "y")))] == [
        "only_mine"
    ]


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
    there, back = differing(mine, service), differing(service, mine)
    assert len(there) == len(back)
    same = sorted(one.texts for one in mine.records) == sorted(one.texts for one in service.records)
    assert (there == []) is same


def test_a_register_as_a_frame_and_in_a_notebook(tmp_path):
    register = of(("TX", "physical", "2024-05-01", "<b>"), ("TX", "physical"), ("OR", "economic"))
    frame = register.frame()
    assert frame["registered_at"].tolist() == [pd.Timestamp("2024-05-01"), pd.NaT, pd.NaT]
    assert read_register(frame).records == register.records
    assert [*register.duplicates()] == [("TX", "physical")]
    assert "TX physical" in repr(register)
    assert "&lt;b&gt;" in register._repr_html_()
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


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize(
    "above",
    [[["Registrations of Acme"]], [["Acme", "", ""], ["", "", ""], ["State by state", "", ""]]],
)
def test_names_below_a_title_are_refused_with_their_row(tmp_path, kind, above):
    rows = [*above, ["State", "Nexus type", "Registered at"], ["OR", "economic", "2020-01-01"]]
    path = tmp_path / f"register.{kind}"
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append([cell or None for cell in row])
        book.save(path)
    else:
        path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(RegisterError) as refused:
        read_register(path)
    assert f"seem to stand in row {len(above) + 1};" in str(refused.value)


def test_thresholds_below_a_title_are_refused_with_their_row(tmp_path):
    path = tmp_path / "thresholds.csv"
    path.write_text(f"Thresholds of Acme\n{','.join(THRESHOLD_COLUMNS)}\n", encoding="utf-8")
    with pytest.raises(ThresholdsError, match="seem to stand in row 2;"):
        read_thresholds(path)
