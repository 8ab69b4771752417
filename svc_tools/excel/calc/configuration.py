"""The files that tell LibreOffice of the add-in: functions with their help, menu, description."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools.excel.calc.idl import DOCUMENT, argument_name
from svc_tools.excel.calc.names import IDENTIFIER, IMPLEMENTATION, MENU
from svc_tools.excel.officejs.metadata import zeros_kept
from svc_tools.excel.registry import CATEGORY, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.excel.registry import Function

__all__ = ["configuration"]

TITLE = "Sales tax and nexus"
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_OOR = (
    'xmlns:oor="http://openoffice.org/2001/registry"'
    ' xmlns:xs="http://www.w3.org/2001/XMLSchema" oor:package="org.openoffice.Office"'
)
_KINDS = {
    "svc_types.rdb": "application/vnd.sun.star.uno-typelibrary;type=RDB",
    "svc_addin.py": "application/vnd.sun.star.uno-component;type=Python",
    "CalcAddIns.xcu": "application/vnd.sun.star.configuration-data",
    "Addons.xcu": "application/vnd.sun.star.configuration-data",
}
"""What is registered, in this order: components need their types."""
_MENU_ENTRIES = (("refresh", "Ask anew for all rates"), ("status", "Who answers…"))
_OLDEST = "7.4"
"""The oldest LibreOffice; it is the one that the tests drive."""


def configuration() -> Mapping[str, str]:
    """The files by their paths in the extension."""
    return {
        "META-INF/manifest.xml": _manifest(),
        "description.xml": _description(),
        "description.txt": _told(),
        "CalcAddIns.xcu": _functions(),
        "Addons.xcu": _menu(),
        "functions.json": _for_addin(),
    }


def _for_addin() -> str:
    """What the add-in itself has to know of the functions."""
    told = [
        {
            "name": one.name,
            "zeros": zeros_kept(one),
            "volatile": one.volatile,
            "spills": one.spills,
        }
        for one in FUNCTIONS
    ]
    return json.dumps(told, indent=1) + "\n"


def _functions() -> str:
    described = "".join(_described(function) for function in FUNCTIONS)
    return (
        f'{_HEAD}<oor:component-data {_OOR} oor:name="CalcAddIns">\n<node oor:name="AddInInfo">\n'
        f'<node oor:name="{IMPLEMENTATION}" oor:op="replace">\n<node oor:name="AddInFunctions">\n'
        f"{described}</node>\n</node>\n</node>\n</oor:component-data>\n"
    )


def _described(function: Function) -> str:
    arguments = [_node(DOCUMENT, _named(DOCUMENT, "Filled by Calc."))]
    for one in function.parameters:
        text = f"{one.help} (May be left out.)" if one.optional else one.help
        arguments.append(_node(argument_name(one), _named(one.name, text)))
    return _node(
        function.name,
        _named(function.name, function.help)
        + _property("Category", "Add-In")
        + _property("CompatibilityName", function.name, "en-US")
        + f'<node oor:name="Parameters">\n{"".join(arguments)}</node>\n',
    )


def _menu() -> str:
    entries = "".join(
        _node(
            f"svc.tools.{event}",
            _property("URL", f"service:{MENU}?{event}")
            + _property("Title", title, "en-US")
            + _property("Context", "com.sun.star.sheet.SpreadsheetDocument")
            + _property("Target", "_self"),
        )
        for event, title in _MENU_ENTRIES
    )
    bar = _node(
        IDENTIFIER,
        _property("Title", CATEGORY, "en-US")
        + _property("Context", "com.sun.star.sheet.SpreadsheetDocument")
        + f'<node oor:name="Submenu">\n{entries}</node>\n',
    )
    return (
        f'{_HEAD}<oor:component-data {_OOR} oor:name="Addons">\n<node oor:name="AddonUI">\n'
        f'<node oor:name="OfficeMenuBar">\n{bar}</node>\n</node>\n</oor:component-data>\n'
    )


def _description() -> str:
    return (
        f"{_HEAD}<description"
        ' xmlns="http://openoffice.org/extensions/description/2006"'
        ' xmlns:xlink="http://www.w3.org/1999/xlink">\n'
        f'<identifier value="{IDENTIFIER}"/>\n<version value="{__version__}"/>\n'
        f'<display-name><name lang="en">{TITLE}</name></display-name>\n'
        '<extension-description><src lang="en" xlink:href="description.txt"/>'
        "</extension-description>\n"
        '<dependencies><l:LibreOffice-minimal-version xmlns:l="'
        f'http://libreoffice.org/extensions/description/2011" value="{_OLDEST}"'
        f' l:name="LibreOffice {_OLDEST}"/></dependencies>\n'
        "</description>\n"
    )


def _told() -> str:
    return (
        f"{len(FUNCTIONS)} functions for US sales-tax rates and nexus registrations:"
        f" {', '.join(one.name for one in FUNCTIONS)}. The cells ask the local server, which"
        " `svc-tools excel serve` starts. MIT licence, see the file LICENSE.\n"
    )


def _manifest() -> str:
    entries = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{kind}"/>\n'
        for path, kind in _KINDS.items()
    )
    return (
        f'{_HEAD}<manifest:manifest xmlns:manifest="http://openoffice.org/2001/manifest">\n'
        f"{entries}</manifest:manifest>\n"
    )


def _named(name: str, text: str) -> str:
    return _property("DisplayName", name, "en-US") + _property("Description", text, "en-US")


def _node(name: str, content: str) -> str:
    return f'<node oor:name="{name}" oor:op="replace">\n{content}</node>\n'


def _property(name: str, value: str, language: str | None = None) -> str:
    of = f' xml:lang="{language}"' if language else ""
    return f'<prop oor:name="{name}"><value{of}>{escape(value)}</value></prop>\n'
