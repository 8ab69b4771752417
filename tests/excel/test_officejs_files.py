"""What the add-in loads: manifest, metadata, and the page of the task pane."""

from __future__ import annotations

import re
import stat
import sys
from html import unescape
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest
from pydantic import SecretStr

from svc_tools.excel.officejs.pages import (
    NAMESPACE,
    OFFICE_JS,
    host_name,
    host_text,
    manifest,
    metadata,
    page,
    write_manifest,
)
from svc_tools.excel.registry import EXAMPLES, FUNCTIONS, formula, function
from svc_tools.loopback import LocalGuard

APP = "{http://schemas.microsoft.com/office/appforoffice/1.1}"
OVER = "{http://schemas.microsoft.com/office/taskpaneappversionoverrides}"
BT = "{http://schemas.microsoft.com/office/officeappbasictypes/1.0}"
XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
GATE = LocalGuard(8643, "https", token=SecretStr("a-token_of-the-Tests"))
ORIGIN = "https://localhost:8643"


@pytest.fixture(scope="module")
def root():
    return ET.fromstring(manifest(GATE))  # noqa: S314 - our own


def names(element):
    return [child.tag.partition("}")[2] for child in element]


def test_its_parts_stand_in_the_order_of_the_schema(root):
    assert root.tag == f"{APP}OfficeApp"
    assert root.get(f"{XSI}type") == "TaskPaneApp"
    assert names(root) == [
        "Id",
        "Version",
        "ProviderName",
        "DefaultLocale",
        "DisplayName",
        "Description",
        "IconUrl",
        "HighResolutionIconUrl",
        "SupportUrl",
        "AppDomains",
        "Hosts",
        "Requirements",
        "DefaultSettings",
        "Permissions",
        "VersionOverrides",
    ]
    host = root.find(f"{OVER}VersionOverrides/{OVER}Hosts/{OVER}Host")
    assert host.get(f"{XSI}type") == "Workbook"
    assert names(host) == ["Runtimes", "AllFormFactors", "DesktopFormFactor"]
    form = host.find(f"{OVER}DesktopFormFactor")
    assert names(form) == ["GetStarted", "FunctionFile", "ExtensionPoint"]
    resources = root.find(f"{OVER}VersionOverrides/{OVER}Resources")
    assert names(resources) == ["Images", "Urls", "ShortStrings", "LongStrings"]


def test_id_and_version_are_of_the_documented_form_and_the_id_never_changes(root):
    assert root.findtext(f"{APP}Id") == "a43ce9a7-2b34-42ce-8ac2-502c30822036"
    assert re.fullmatch(r"\d{1,5}(\.\d{1,5}){3}", root.findtext(f"{APP}Version"))
    assert manifest(GATE) == manifest(GATE)


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
    assert len(root.find(f"{APP}DisplayName").get("DefaultValue")) <= 125
    assert len(root.find(f"{APP}Description").get("DefaultValue")) <= 250
    for one in root.find(f".//{OVER}Resources/{BT}ShortStrings"):
        assert len(one.get("DefaultValue")) <= 125
    for one in root.find(f".//{OVER}Resources/{BT}LongStrings"):
        assert len(one.get("DefaultValue")) <= 250
    sizes = {one.get("size") for one in root.iter(f"{BT}Image") if one.get("size")}
    assert sizes == {"16", "32", "80"}  # those that are required


def test_a_token_of_any_letters_stays_one_in_its_address():
    gate = LocalGuard(1, "http", token=SecretStr('"<&>='))
    root = ET.fromstring(manifest(gate))  # noqa: S314 - our own
    urls = [one.get("DefaultValue") for one in root.iter(f"{BT}Url")]
    tokens = [parse_qs(urlsplit(one).query).get("token") for one in urls]
    assert [one for one in tokens if one] == [['"<&>=']] * 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_the_file_is_for_its_owner_alone_for_the_token_is_in_it(tmp_path):
    path = tmp_path / "svc.xml"
    write_manifest(path, GATE)
    assert path.read_text(encoding="utf-8") == manifest(GATE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


DESCRIBED = metadata()["functions"]
# a cell reference such as TAX1 or R1C1 is no name of a function
CELL = re.compile(r"[A-Z]{1,3}\d+|R\d+C\d+")
LONGEST = 128


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


def test_zeros_are_values_where_amounts_stand_and_empty_cells_elsewhere():
    assert function("SVC_TAX").zeros == [0]
    assert function("SVC_SUM").zeros == [0]
    others = [one for one in FUNCTIONS if one.name not in {"SVC_TAX", "SVC_SUM"}]
    assert [one.zeros for one in others] == [[]] * len(others)


GUARD = LocalGuard(1, token=SecretStr("T"))


def test_every_function_has_an_example():
    assert list(EXAMPLES) == [one.name for one in FUNCTIONS]


def test_a_formula_is_written_as_excel_reads_it():
    arguments = ('a "b"', 4, 19.99, True, [["TX", 1.5], ["CA", 2]], EXAMPLES["SVC_RATE"][-1])
    assert formula("SVC.X", arguments) == (
        '=SVC.X("a ""b""", 4, 19.99, TRUE, {"TX", 1.5; "CA", 2}, DATE(2026, 2, 1))'
    )


def test_the_page_lists_every_function_with_its_arguments_and_help():
    shown = unescape(page(GUARD, office=False))
    for one in FUNCTIONS:
        name = host_name(one.name)
        assert f"<summary><code>{one.signature.replace(one.name, name)}</code>" in shown
        assert host_text(one.help) in shown
        assert formula(name, EXAMPLES[one.name]) in shown
        for parameter in one.parameters:
            assert f"<dt>{parameter.name}" in shown
            assert host_text(parameter.help) in shown


def test_the_token_is_in_the_addresses_of_the_page_alone_and_cannot_be_markup():
    shown = page(LocalGuard(1, token=SecretStr('a"><b>&c')), office=True)
    assert "<b>" not in shown
    assert "{{" not in shown
    assert re.findall(r'token=([^"]+)"', shown) == ["a%22%3E%3Cb%3E%26c"] * 4


def test_one_address_is_outside_and_for_an_office_host_only():
    addresses = re.compile(r'(?:src|href)="(https?:[^"]+)"')
    assert addresses.findall(page(GUARD, office=False)) == []
    assert addresses.findall(page(GUARD, office=True)) == [OFFICE_JS]
    head = page(GUARD, office=True)
    assert head.index(OFFICE_JS) < head.index("functions.js") < head.index("taskpane.js")
