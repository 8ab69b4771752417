"""LibreOffice Calc: the functions of the registry as an extension (`.oxt`), one file.

The same content gives the same bytes: the add-in's Python files, the type library of its interface,
and the configuration that registers functions, help and menu. `scripts/build_calc_types.py` builds
the type library from `idl()`; it is shipped in `types/`, so that building the extension needs no
development kit of LibreOffice. Users' files contain the names of module and component.
"""

from __future__ import annotations

import json
import zipfile
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools.atomic import whole_file
from svc_tools.excel.registry import CATEGORY, FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.excel.registry import Function, Parameter

__all__ = ["calc_name", "write_addin"]
MODULE = "svc.tools"
"""The module of the interface; a name in a type library has no underscores in its modules."""
_INTERFACE = f"{MODULE}.XSalesTax"
_IMPLEMENTATION = MODULE
"""The component with the functions: the prefix of their names in a saved file."""
_MENU = f"{MODULE}.Menu"
"""The component behind the menu."""
_IDENTIFIER = f"{MODULE}.salestax"
"""The extension: a newer one of the same name replaces the older."""
IDL_FILE = Path(__file__).parent / "types" / "XSalesTax.idl"
LIBRARY_FILE = IDL_FILE.with_name("svc_types.rdb")
_ADDIN = Path(__file__).parent / "addin"
_FILES = (
    "svc_addin.py",
    "pythonpath/svc_calc_cells.py",
    "pythonpath/svc_calc_server.py",
    "LICENSE",
)
_SHARED = {"pythonpath/svc_formulas.py": Path(__file__).parents[1] / "formulas.py"}
"""Modules of svc-tools itself that the add-in uses as well."""
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that the format allows."""
_READABLE = 0o644 << 16
_TITLE = "Sales tax and nexus"
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
"""The registered files, in this order: components need their types."""
_MENU_ENTRIES = (("refresh", "Refresh all rates"), ("status", "Service and cached results…"))
_OLDEST = "7.4"
"""The oldest supported LibreOffice, which the tests use."""
_DOCUMENT = "document"
"""An argument that Calc fills in: the document with the calling cell. Users do not see it."""


def write_addin(path: str | Path) -> Path:
    """Build the add-in for LibreOffice Calc.

    Args:
        path: the extension, an `.oxt`; an existing one is replaced.

    Raises:
        ValueError: the file has another ending.
        OSError: it cannot be written.
    """
    path = Path(path).expanduser()
    if path.suffix.lower() != ".oxt":
        raise ValueError(
            f"LibreOffice knows extensions by their ending: {path.name!r} does not end in .oxt"
        )
    content = addin_bytes()
    with whole_file(path) as draft:
        draft.write_bytes(content)
    return path


def addin_bytes() -> bytes:
    """The extension's content."""
    files = {name: text.encode() for name, text in configuration().items()}
    files |= {name: (_ADDIN / name).read_bytes() for name in _FILES}
    files |= {name: path.read_bytes() for name, path in _SHARED.items()}
    files[LIBRARY_FILE.name] = LIBRARY_FILE.read_bytes()
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _BEGINNING)
            entry.compress_type = zipfile.ZIP_STORED  # compressors differ in their bytes
            entry.external_attr = _READABLE
            entry.create_system = 3  # Unix, wherever it is built
            archive.writestr(entry, files[name])
    return content.getvalue()


def configuration() -> Mapping[str, str]:
    """The generated files by their paths in the extension."""
    return {
        "META-INF/manifest.xml": _manifest(),
        "description.xml": _description(),
        "description.txt": _summary(),
        "CalcAddIns.xcu": _functions(),
        "Addons.xcu": _menu(),
        "functions.json": _for_addin(),
    }


def _manifest() -> str:
    entries = "".join(
        f'<manifest:file-entry manifest:full-path="{path}" manifest:media-type="{kind}"/>\n'
        for path, kind in _KINDS.items()
    )
    return (
        f'{_HEAD}<manifest:manifest xmlns:manifest="http://openoffice.org/2001/manifest">\n'
        f"{entries}</manifest:manifest>\n"
    )


def _description() -> str:
    return (
        f"{_HEAD}<description"
        ' xmlns="http://openoffice.org/extensions/description/2006"'
        ' xmlns:xlink="http://www.w3.org/1999/xlink">\n'
        f'<identifier value="{_IDENTIFIER}"/>\n<version value="{__version__}"/>\n'
        f'<display-name><name lang="en">{_TITLE}</name></display-name>\n'
        '<extension-description><src lang="en" xlink:href="description.txt"/>'
        "</extension-description>\n"
        '<dependencies><l:LibreOffice-minimal-version xmlns:l="'
        f'http://libreoffice.org/extensions/description/2011" value="{_OLDEST}"'
        f' l:name="LibreOffice {_OLDEST}"/></dependencies>\n'
        "</description>\n"
    )


def _summary() -> str:
    return (
        f"{len(FUNCTIONS)} functions for US sales-tax rates and nexus registrations:"
        f" {', '.join(one.name for one in FUNCTIONS)}. The cells use the local server, which"
        " `svc-tools excel serve` starts. MIT licence, see the file LICENSE.\n"
    )


def _functions() -> str:
    described = "".join(_function(function) for function in FUNCTIONS)
    return (
        f'{_HEAD}<oor:component-data {_OOR} oor:name="CalcAddIns">\n<node oor:name="AddInInfo">\n'
        f'<node oor:name="{_IMPLEMENTATION}" oor:op="replace">\n<node oor:name="AddInFunctions">\n'
        f"{described}</node>\n</node>\n</node>\n</oor:component-data>\n"
    )


def _function(function: Function) -> str:
    arguments = [_node(_DOCUMENT, _named(_DOCUMENT, "Filled by Calc."))]
    for one in function.parameters:
        text = f"{one.help} (May be left out.)" if one.optional else one.help
        arguments.append(_node(_argument_name(one), _named(one.name, text)))
    return _node(
        function.name,
        _named(function.name, function.help)
        + _property("Category", "Add-In")
        + _property("CompatibilityName", function.name, "en-US")
        + f'<node oor:name="Parameters">\n{"".join(arguments)}</node>\n',
    )


def _argument_name(parameter: Parameter) -> str:
    """An argument's name in the interface; users see that of the registry.

    Some of those are keywords of UNO's language: `any`, `type` and others.
    """
    first, *others = parameter.name.split("_")
    return f"{first}{''.join(other.capitalize() for other in others)}Given"


def _menu() -> str:
    entries = "".join(
        _node(
            f"svc.tools.{event}",
            _property("URL", f"service:{_MENU}?{event}")
            + _property("Title", title, "en-US")
            + _property("Context", "com.sun.star.sheet.SpreadsheetDocument")
            + _property("Target", "_self"),
        )
        for event, title in _MENU_ENTRIES
    )
    bar = _node(
        _IDENTIFIER,
        _property("Title", CATEGORY, "en-US")
        + _property("Context", "com.sun.star.sheet.SpreadsheetDocument")
        + f'<node oor:name="Submenu">\n{entries}</node>\n',
    )
    return (
        f'{_HEAD}<oor:component-data {_OOR} oor:name="Addons">\n<node oor:name="AddonUI">\n'
        f'<node oor:name="OfficeMenuBar">\n{bar}</node>\n</node>\n</oor:component-data>\n'
    )


def _named(name: str, text: str) -> str:
    return _property("DisplayName", name, "en-US") + _property("Description", text, "en-US")


def _node(name: str, content: str) -> str:
    return f'<node oor:name="{name}" oor:op="replace">\n{content}</node>\n'


def _property(name: str, value: str, language: str | None = None) -> str:
    of = f' xml:lang="{language}"' if language else ""
    return f'<prop oor:name="{name}"><value{of}>{escape(value)}</value></prop>\n'


def _for_addin() -> str:
    """What the add-in itself needs to know of the functions."""
    described = [
        {
            "name": one.name,
            "zeros": one.zeros,
            "volatile": one.volatile,
            "spills": one.spills,
        }
        for one in FUNCTIONS
    ]
    return json.dumps(described, indent=1) + "\n"


def idl() -> str:
    """The content of `IDL_FILE`: the interface in UNO's language.

    Every argument is `any`: one that is left out arrives as void, a range as rows.
    """
    opened = "".join(f"module {name} {{ " for name in MODULE.split("."))
    closed = "}; " * len(MODULE.split("."))
    methods = "\n".join(f"    {_method(function)}" for function in FUNCTIONS)
    name = _INTERFACE.rpartition(".")[2]
    return f"{opened.rstrip()}\n  interface {name} {{\n{methods}\n  }};\n{closed.rstrip()}\n"


def _method(function: Function) -> str:
    caller = f"[in] com::sun::star::beans::XPropertySet {_DOCUMENT}"
    given = (f"[in] any {_argument_name(one)}" for one in function.parameters)
    return f"any {function.name}({', '.join((caller, *given))});"


def calc_name(name: str) -> str:
    """The name of a function in a file: SVC_RATE is SVC.TOOLS.SVC_RATE.

    Calc shows, and accepts, the name of the registry.
    """
    return f"{_IMPLEMENTATION.upper()}.{name}"
