"""The user's register of nexus: understood as people write it, refused as a whole with reasons."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.nexus import NEXUS_TYPES, RegisterError, Registration, read_register
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
        ([{"state": "TX"}], "no column for 'nexus_type'"),
        (
            [{"type": "physical", "nexus": "physical", "state": "TX"}],
            "several columns look like nexus_type: 'type', 'nexus'",
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
    with pytest.raises(RegisterError, match="no column for 'state'"):
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
