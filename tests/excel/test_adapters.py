"""Every way into a spreadsheet offers the functions of the registry, its arguments and help."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

from svc_tools.excel.calc.extension import addin_bytes
from svc_tools.excel.officejs.pages import NAMESPACE, metadata
from svc_tools.excel.registry import FUNCTIONS, Function, Parameter

GUIDE = Path(__file__).parents[2] / "excel" / "README.md"
OOR = "{http://openoffice.org/2001/registry}"
LEFT_OUT = " (May be left out.)"


def of_xlwings(excel):
    """The marks that Excel is given, and what the generated VBA lets a formula leave out."""
    vba = dict(re.findall(r"^Function (\w+)\((.*)\)$", excel.vba(), re.MULTILINE))
    found = []
    for name, arguments in vba.items():
        marks = getattr(excel.module, name).__xlfunc__
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
        for one in metadata()["functions"]
    ]


def of_calc(_):
    """What the extension that is built registers with LibreOffice; it fills `document` itself."""

    def nodes(node):
        return {one.get(f"{OOR}name"): one for one in node.findall("node")}

    def text(node, name):
        return next(one[0].text for one in node.findall("prop") if one.get(f"{OOR}name") == name)

    with zipfile.ZipFile(io.BytesIO(addin_bytes())) as archive:
        root = fromstring(archive.read("CalcAddIns.xcu"))  # noqa: S314 - we wrote it
        known = json.loads(archive.read("functions.json"))  # what the add-in itself goes by
    (addin,) = nodes(nodes(root)["AddInInfo"]).values()
    volatile = {one["name"] for one in known if one["volatile"]}
    found = []
    for name, node in nodes(nodes(addin)["AddInFunctions"]).items():
        document, *arguments = nodes(nodes(node)["Parameters"]).values()
        assert text(document, "DisplayName") == "document"
        own = []
        for one in arguments:
            told = text(one, "Description")
            plain = told.removesuffix(LEFT_OUT)
            own.append(Parameter(text(one, "DisplayName"), plain, plain != told))
        assert text(node, "DisplayName") == name
        found.append((name, text(node, "Description"), own, name in volatile))
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


def test_the_guide_tells_of_the_same_functions():
    told = re.findall(r"^\| `(SVC_\w+\(.*?\))` \| (.*?) \| `=", GUIDE.read_text(), re.MULTILINE)
    assert told == [(one.signature, one.help) for one in FUNCTIONS]
