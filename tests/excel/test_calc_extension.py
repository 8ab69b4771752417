"""The extension for LibreOffice Calc as a file: all of the registry, whole, and always the same."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from support.command import svc_tools
from support.tools import unoidl_write

from svc_sdk import __version__
from svc_tools.excel.calc import calc_name, write_addin
from svc_tools.excel.calc.extension import IDL_FILE, LIBRARY_FILE, addin_bytes, idl
from svc_tools.excel.registry import FUNCTIONS

ROOT = Path(__file__).parents[2]
OOR = "{http://openoffice.org/2001/registry}"
NEWER_THAN_3_8 = {"removeprefix", "removesuffix", "strict", "slots", "kw_only"}


@pytest.fixture(scope="module")
def files():
    with zipfile.ZipFile(io.BytesIO(addin_bytes())) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def parsed(content):
    return fromstring(content)  # noqa: S314 - we wrote it


def told(node, name):
    """The value of a property of a configuration node."""
    return next(one[0].text for one in node.findall("prop") if one.get(f"{OOR}name") == name)


def nodes(node):
    return {one.get(f"{OOR}name"): one for one in node.findall("node")}


def test_calc_shows_every_function_with_the_registry_s_names_order_and_help(files):
    info = nodes(parsed(files["CalcAddIns.xcu"]))["AddInInfo"]
    shown = nodes(nodes(nodes(info)["svc.tools"])["AddInFunctions"])
    assert list(shown) == [one.name for one in FUNCTIONS]
    for function in FUNCTIONS:
        node = shown[function.name]
        assert told(node, "DisplayName") == function.name
        assert told(node, "CompatibilityName") == function.name
        assert told(node, "Description") == function.help
        document, *arguments = nodes(nodes(node)["Parameters"]).values()
        assert told(document, "DisplayName") == "document"  # Calc fills it, nobody sees it
        assert [told(one, "DisplayName") for one in arguments] == [
            one.name for one in function.parameters
        ]
        for one, parameter in zip(arguments, function.parameters, strict=True):
            assert told(one, "Description").startswith(parameter.help)
            assert ("left out.)" in told(one, "Description")) is parameter.optional


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
    manifest = parsed(files["META-INF/manifest.xml"])
    space = "{http://openoffice.org/2001/manifest}"
    registered = [one.get(f"{space}full-path") for one in manifest]
    assert registered.index("svc_types.rdb") < registered.index("svc_addin.py")
    assert set(registered) <= set(files)
    assert f'<version value="{__version__}"/>' in files["description.xml"].decode()
    assert "MIT licence" in files["description.txt"].decode()
    assert files["LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert [one["name"] for one in json.loads(files["functions.json"])] == [
        one.name for one in FUNCTIONS
    ]


def test_the_menu_asks_anew_and_says_who_answers(files):
    entries = [
        (told(one, "Title"), told(one, "URL"))
        for one in parsed(files["Addons.xcu"]).iter("node")
        if any(prop.get(f"{OOR}name") == "URL" for prop in one.findall("prop"))
    ]
    assert entries == [
        ("Ask anew for all rates", "service:svc.tools.Menu?refresh"),
        ("Who answers…", "service:svc.tools.Menu?status"),
    ]


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


def test_a_file_knows_a_function_by_its_component():
    assert calc_name("SVC_RATE") == "SVC.TOOLS.SVC_RATE"


def test_the_command_builds_it_and_says_how_it_is_installed(tmp_path):
    done = svc_tools("excel", "calc-addin", "mine.oxt", folder=tmp_path)
    assert "Extension Manager" in done.stdout
    assert (tmp_path / "mine.oxt").read_bytes() == addin_bytes()


def test_another_ending_is_refused_with_what_is_expected(tmp_path):
    with pytest.raises(ValueError, match=r"'mine\.zip' does not end in \.oxt"):
        write_addin(tmp_path / "mine.zip")
    assert list(tmp_path.iterdir()) == []
