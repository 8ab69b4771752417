"""The manifest, against what is documented of an add-in only manifest."""

from __future__ import annotations

import re
import stat
import sys
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest
from pydantic import SecretStr

from svc_tools.excel.officejs.gate import Gate
from svc_tools.excel.officejs.pages import manifest, write_manifest

APP = "{http://schemas.microsoft.com/office/appforoffice/1.1}"
OVER = "{http://schemas.microsoft.com/office/taskpaneappversionoverrides}"
BT = "{http://schemas.microsoft.com/office/officeappbasictypes/1.0}"
XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
GATE = Gate(8643, SecretStr("a-token_of-the-Tests"), "https")
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
    gate = Gate(1, SecretStr('"<&>='), "http")
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
