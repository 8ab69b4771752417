"""LibreOffice Calc: the functions of the registry as an extension (`.oxt`), one file.

The same content gives the same bytes: the add-in's Python files, the type library of its interface,
and the configuration that registers functions, help and menu. `scripts/build_calc_types.py` builds
the type library from `idl()`; it is shipped in `types/`, so that building the extension needs no
development kit of LibreOffice. Users' files contain the names of module and component.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import zipfile
from html import escape
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from svc_sdk import __version__
from svc_tools import config
from svc_tools.atomic import whole_file
from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.excel.registry import Function, Parameter

__all__ = ["calc_name", "start_command", "write_addin"]
_COMPONENT = "svc.tools"
"""The component with the functions: in capitals the prefix of their names in a saved file."""
IDL_FILE = Path(__file__).parent / "types" / "XSalesTax.idl"
LIBRARY_FILE = IDL_FILE.with_name("svc_types.rdb")
_ADDIN = Path(__file__).parent / "addin"
_SHARED = {"pythonpath/svc_formulas.py": Path(__file__).parents[1] / "formulas.py"}
"""Modules of svc-tools itself that the add-in uses as well."""
_BEGINNING = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that the format allows."""
_READABLE = 0o644 << 16
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_OOR = (
    'xmlns:oor="http://openoffice.org/2001/registry"'
    ' xmlns:xs="http://www.w3.org/2001/XMLSchema" oor:package="org.openoffice.Office"'
)
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


def start_command() -> str | None:
    """The command that starts LibreOffice without the virtual environment of this terminal.

    On Linux LibreOffice runs the system's Python, which takes the modules of an active environment
    for its own: LibreOffice ends before it loads any extension, so that none can prevent that.

    Returns:
        `None` where no environment is active, and on systems where LibreOffice brings its Python.
    """
    if sys.platform in {"win32", "darwin"} or not config.is_python_chosen():
        return None
    program = shutil.which("soffice") or shutil.which("libreoffice") or "soffice"
    clean = "env -u PYTHONHOME -u PYTHONPATH PATH=/usr/local/bin:/usr/bin:/bin"
    return f"{clean} {shlex.quote(program)} --calc"


def addin_bytes() -> bytes:
    """The extension's content."""
    files = {
        path.relative_to(_ADDIN).as_posix(): path.read_bytes()
        for path in _ADDIN.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    files |= {name: path.read_bytes() for name, path in _SHARED.items()}
    files |= {name: text.encode() for name, text in configuration().items()}
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
        **_description(),
        "CalcAddIns.xcu": _functions(),
        "functions.json": _for_addin(),
    }


def _description() -> dict[str, str]:
    """What LibreOffice shows of the extension."""
    names = ", ".join(one.name for one in FUNCTIONS)
    values = {"version": __version__, "count": len(FUNCTIONS), "names": names}
    return {
        name: Template((_ADDIN / name).read_text(encoding="utf-8")).substitute(values)
        for name in ("description.xml", "description.txt")
    }


def _functions() -> str:
    described = "".join(_function(function) for function in FUNCTIONS)
    return (
        f'{_HEAD}<oor:component-data {_OOR} oor:name="CalcAddIns">\n<node oor:name="AddInInfo">\n'
        f'<node oor:name="{_COMPONENT}" oor:op="replace">\n<node oor:name="AddInFunctions">\n'
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
            "place": _before_day(one),
            "zeros": one.zeros,
            "volatile": one.volatile,
            "spills": one.spills,
        }
        for one in FUNCTIONS
    ]
    return json.dumps(described, indent=1) + "\n"


def _before_day(function: Function) -> int:
    """How many arguments name a place, which a day follows; 0 for a function without any."""
    names = [one.name for one in function.parameters]
    return names.index("as_of") if "as_of" in names else 0


def idl() -> str:
    """The content of `IDL_FILE`: the interface in UNO's language.

    Every argument is `any`: one that is left out arrives as void, a range as rows.
    """
    methods = "\n".join(f"    {_method(function)}" for function in FUNCTIONS)
    return f"module svc {{ module tools {{\n  interface XSalesTax {{\n{methods}\n  }};\n}}; }};\n"


def _method(function: Function) -> str:
    caller = f"[in] com::sun::star::beans::XPropertySet {_DOCUMENT}"
    given = (f"[in] any {_argument_name(one)}" for one in function.parameters)
    return f"any {function.name}({', '.join((caller, *given))});"


def calc_name(name: str) -> str:
    """The name of a function in a file: SVC_RATE is SVC.TOOLS.SVC_RATE.

    Calc shows, and accepts, the name of the registry.
    """
    return f"{_COMPONENT.upper()}.{name}"
