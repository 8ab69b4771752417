"""The adapters offer the functions of the registry, and the shipped files are those of the code."""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from support.command import svc_tools
from support.tools import unoidl_write

from benchmarks.excel_calc import LOOKS_AHEAD
from svc_sdk import __version__
from svc_tools.base.loopback import LocalGuard
from svc_tools.excel.calc import IDL_FILE, LIBRARY_FILE, addin_bytes, idl, write_addin
from svc_tools.excel.officejs.pages import NAMESPACE, functions_metadata
from svc_tools.excel.registry import CATEGORY, FUNCTIONS, Function, Parameter

OOR = "{http://openoffice.org/2001/registry}"
LEFT_OUT = " (May be left out.)"


def of_xlwings(excel):
    """The marks that Excel is given, and what the generated VBA lets a formula leave out."""
    vba = dict(re.findall(r"^Function (\w+)\((.*)\)$", excel.vba(), re.MULTILINE))
    found = []
    for name, arguments in vba.items():
        marks = getattr(excel.module, name).__xlfunc__
        assert marks["category"] == CATEGORY
        helps = [one["doc"] for one in marks["args"] if not one["vba"]]
        typed = [one.split(" ") for one in filter(None, arguments.split(", "))]
        given = zip(typed, helps, strict=True)
        # VBA takes no `type` and no `range`: these have a "_" behind them there
        own = [Parameter(one[-1].rstrip("_"), told, len(one) == 2) for one, told in given]
        found.append((name, marks["ret"]["doc"], own, marks["volatile"]))
    return found


def of_office_js(_):
    """The metadata that Excel reads; the namespace stands before the names there."""

    def text(told):
        return told.replace(f"{NAMESPACE}.", "SVC_")

    return [
        (
            f"SVC_{one['name']}",
            text(one["description"]),
            [
                Parameter(each["name"], text(each["description"]), each["optional"])
                for each in one["parameters"]
            ],
            one["options"]["volatile"],
        )
        for one in functions_metadata(LocalGuard(1))["functions"]
    ]


def property_of(node, name):
    """The value of a property of a configuration node."""
    return next(one[0].text for one in node.findall("prop") if one.get(f"{OOR}name") == name)


def nodes(node):
    return {one.get(f"{OOR}name"): one for one in node.findall("node")}


def of_calc(_):
    """What the extension that is built registers with LibreOffice; it fills `document` itself."""
    with zipfile.ZipFile(io.BytesIO(addin_bytes())) as archive:
        root = fromstring(archive.read("CalcAddIns.xcu"))  # noqa: S314 - we wrote it
        known = json.loads(archive.read("functions.json"))  # what the add-in itself goes by
    (addin,) = nodes(nodes(root)["AddInInfo"]).values()
    volatile = {one["name"] for one in known if one["volatile"]}
    found = []
    for name, node in nodes(nodes(addin)["AddInFunctions"]).items():
        document, *arguments = nodes(nodes(node)["Parameters"]).values()
        assert property_of(document, "DisplayName") == "document"
        own = []
        for one in arguments:
            text = property_of(one, "Description")
            plain = text.removesuffix(LEFT_OUT)
            own.append(Parameter(property_of(one, "DisplayName"), plain, plain != text))
        assert property_of(node, "DisplayName") == name
        found.append((name, property_of(node, "Description"), own, name in volatile))
    return found


@pytest.mark.parametrize("adapter", [of_xlwings, of_office_js, of_calc])
def test_every_adapter_offers_the_functions_of_the_registry_with_their_help(excel, adapter):
    offered = {
        name: Function(name, told, tuple(own), volatile=volatile)
        for name, told, own, volatile in adapter(excel)
    }
    wanted = {
        one.name: Function(one.name, one.help, one.parameters, volatile=one.volatile)
        for one in FUNCTIONS
    }
    assert offered == wanted


ROOT = Path(__file__).parents[2]
NEWER_THAN_3_8 = {"removeprefix", "removesuffix", "strict", "slots", "kw_only"}
NEWER_THAN_3_8 |= {"VERIFY_X509_PARTIAL_CHAIN"}


@pytest.fixture(scope="module")
def files():
    with zipfile.ZipFile(io.BytesIO(addin_bytes())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_shipped_interface_is_that_of_the_registry():
    assert IDL_FILE.read_text() == idl(), "run scripts/build_calc_types.py"
    assert idl().count("any SVC_") == len(FUNCTIONS)


def test_the_shipped_types_are_what_the_kit_makes_of_the_interface(tmp_path):
    unoidl_write()
    script = ROOT / "scripts" / "build_calc_types.py"
    subprocess.run([sys.executable, script, "--into", tmp_path], check=True, capture_output=True)
    assert (tmp_path / LIBRARY_FILE.name).read_bytes() == LIBRARY_FILE.read_bytes()


def test_the_same_bytes_come_of_every_build_and_they_are_those_of_the_shipped_file(tmp_path):
    made = write_addin(tmp_path / "svc-tools.oxt")
    assert made.read_bytes() == addin_bytes()
    shipped = ROOT / "excel" / "svc-tools.oxt"
    assert shipped.read_bytes() == addin_bytes(), (
        "run svc-tools excel calc-addin excel/svc-tools.oxt"
    )


def test_all_that_is_registered_is_in_the_file_and_names_the_release(files):
    manifest = fromstring(files["META-INF/manifest.xml"])  # noqa: S314 - we wrote it
    space = "{http://openoffice.org/2001/manifest}"
    registered = [one.get(f"{space}full-path") for one in manifest]
    assert registered.index("svc_types.rdb") < registered.index("svc_addin.py")
    assert set(registered) <= set(files)
    assert f'<version value="{__version__}"/>' in files["description.xml"].decode()
    assert files["LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert [one["name"] for one in json.loads(files["functions.json"])] == [
        one.name for one in FUNCTIONS
    ]


def test_the_benchmark_finds_where_the_add_in_looks_ahead(files):
    assert files["pythonpath/svc_calc_cells.py"].count(LOOKS_AHEAD) == 1


def test_the_menu_refreshes_and_shows_the_service(files):
    root = fromstring(files["Addons.xcu"])  # noqa: S314 - we wrote it
    properties = [one for one in root.iter("prop") if one.get(f"{OOR}name") == "URL"]
    entries = [one[0].text for one in properties]
    assert entries == ["service:svc.tools.Menu?refresh", "service:svc.tools.Menu?status"]


def test_the_add_in_needs_the_standard_library_alone_and_runs_on_old_pythons(files):
    own = {Path(name).stem for name in files if name.endswith(".py")}
    for name in (name for name in files if name.endswith(".py")):
        tree = ast.parse(files[name], feature_version=(3, 8))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                of = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                of = of or [one.name for one in node.names]
                for module in of:
                    top = module.split(".")[0]
                    assert top in sys.stdlib_module_names | own | {"uno", "unohelper", "com"}, name
            said = getattr(node, "attr", None) or getattr(node, "arg", None)
            assert said not in NEWER_THAN_3_8, f"{name}: {said}"


def test_the_command_builds_it_and_refuses_another_ending(tmp_path):
    assert "Extension Manager" in svc_tools("excel", "calc-addin", "x.oxt", folder=tmp_path).stdout
    assert (tmp_path / "x.oxt").read_bytes() == addin_bytes()
    with pytest.raises(ValueError, match=r"'x\.zip' does not end in \.oxt"):
        write_addin(tmp_path / "x.zip")
    assert [one.name for one in tmp_path.iterdir()] == ["x.oxt"]
