"""What Excel is told of the functions, against the rules that are documented for it."""

from __future__ import annotations

import re

import pytest

from svc_tools.excel.officejs.pages import (
    NAMESPACE,
    function_id,
    host_name,
    host_text,
    metadata,
)
from svc_tools.excel.registry import FUNCTIONS, function

DESCRIBED = metadata()["functions"]
# a cell reference such as TAX1 or R1C1 is no name of a function
CELL = re.compile(r"[A-Z]{1,3}\d+|R\d+C\d+")
LONGEST = 128


def test_every_function_of_the_registry_is_there_with_its_help_and_arguments():
    assert [one["name"] for one in DESCRIBED] == [
        one.name.removeprefix("SVC_") for one in FUNCTIONS
    ]
    for told, one in zip(DESCRIBED, FUNCTIONS, strict=True):
        assert told["description"] == host_text(one.help)
        assert [
            (each["name"], each["description"], each["optional"]) for each in told["parameters"]
        ] == [(each.name, host_text(each.help), each.optional) for each in one.parameters]


def test_help_names_other_functions_as_they_are_typed_there():
    assert host_text("SVC_FIELDS() shows; see SVC_NEXUS_STATUS") == (
        "SVC.FIELDS() shows; see SVC.NEXUS_STATUS"
    )
    assert "SVC_" not in str(DESCRIBED)


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


def test_only_documented_properties_are_used():
    assert set(metadata()) == {"allowErrorForDataTypeAny", "functions"}
    for one in DESCRIBED:
        assert set(one) == {"id", "name", "description", "parameters", "result", "options"}
        assert one["result"] == {"type": "any", "dimensionality": "matrix"}
        assert set(one["options"]) == {"cancelable", "volatile"}
        for parameter in one["parameters"]:
            assert set(parameter) == {
                "name",
                "description",
                "type",
                "dimensionality",
                "optional",
            }
            # so an argument that is left out (null) is told from an empty cell (a matrix of one)
            assert (parameter["type"], parameter["dimensionality"]) == ("any", "matrix")
            assert parameter["description"].strip()


def test_optional_arguments_come_last_and_no_name_twice():
    for one in DESCRIBED:
        optional = [parameter["optional"] for parameter in one["parameters"]]
        assert optional == sorted(optional)
        names = [parameter["name"] for parameter in one["parameters"]]
        assert len(set(names)) == len(names)


def test_errors_of_the_sheet_reach_the_functions_and_only_the_fitting_ones_are_volatile():
    assert metadata()["allowErrorForDataTypeAny"] is True
    volatile = {one["name"] for one in DESCRIBED if one["options"]["volatile"]}
    assert volatile == {"ASOF", "SOURCE"}


@pytest.mark.parametrize(
    ("name", "shown", "known_as"),
    [
        ("SVC_RATE", "SVC.RATE", "RATE"),
        ("SVC_NEXUS_STATUS", "SVC.NEXUS_STATUS", "NEXUS.STATUS"),
    ],
)
def test_a_function_is_written_with_the_namespace_before_it(name, shown, known_as):
    assert host_name(name) == shown
    assert function_id(name) == known_as


def test_zeros_are_values_where_amounts_stand_and_empty_cells_elsewhere():
    assert function("SVC_TAX").zeros == [0]
    assert function("SVC_SUM").zeros == [0]
    others = [one for one in FUNCTIONS if one.name not in {"SVC_TAX", "SVC_SUM"}]
    assert [one.zeros for one in others] == [[]] * len(others)
