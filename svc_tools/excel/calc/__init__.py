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
import zipfile
from io import BytesIO
from pathlib import Path

from svc_sdk import __version__
from svc_tools import config
from svc_tools.base import operating_system
from svc_tools.base.atomic import whole_file
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.show.display import from_template

__all__ = ["calc_name", "start_command", "write_addin"]
_FOLDER = Path(__file__).parent
IDL_FILE = _FOLDER / "types" / "XSalesTax.idl"
LIBRARY_FILE = IDL_FILE.with_name("svc_types.rdb")
_GENERATED = ("CalcAddIns.xcu", "description.xml", "description.txt")
_READABLE = 0o644 << 16


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
    with whole_file(path) as draft:
        draft.write_bytes(addin_bytes())
    return path


def start_command() -> str | None:
    """The command that starts LibreOffice without the virtual environment of this terminal.

    On Linux LibreOffice runs the system's Python, which takes the modules of an active environment
    for its own: LibreOffice ends before it loads any extension, so that none can prevent that.

    Returns:
        `None` where no environment is active, and on systems where LibreOffice brings its Python.
    """
    if operating_system.NAME in {"win32", "darwin"} or not config.is_python_chosen():
        return None
    program = shutil.which("soffice") or shutil.which("libreoffice") or "soffice"
    clean = "env -u PYTHONHOME -u PYTHONPATH PATH=/usr/local/bin:/usr/bin:/bin"
    return f"{clean} {shlex.quote(program)} --calc"


def addin_bytes() -> bytes:
    """The extension's content, not compressed, as compressors differ in their bytes."""
    addin = _FOLDER / "addin"
    paths = [path for path in addin.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    files = {path.relative_to(addin).as_posix(): path.read_bytes() for path in paths}
    files["pythonpath/svc_formulas.py"] = _FOLDER.with_name("formulas.py").read_bytes()
    files[LIBRARY_FILE.name] = LIBRARY_FILE.read_bytes()
    files |= {name: text.encode() for name, text in configuration().items()}
    content = BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name)  # of 1980, the earliest time that the format allows
            entry.external_attr = _READABLE
            entry.create_system = 3  # Unix, wherever it is built
            archive.writestr(entry, files[name])
    return content.getvalue()


def configuration() -> dict[str, str]:
    """The generated files by their paths in the extension."""
    described = []
    for function in FUNCTIONS:
        names = [parameter.name for parameter in function.parameters]
        place = names.index("as_of") if "as_of" in names else 0
        own = {"name": function.name, "place": place, "zeros": function.zeros}
        described.append({**own, "volatile": function.volatile, "spills": function.spills})
    made = {name: _rendered(name) for name in _GENERATED}
    return {**made, "functions.json": json.dumps(described, indent=1) + "\n"}


def idl() -> str:
    """The content of `IDL_FILE`: the interface in UNO's language.

    Every argument is `any`: one that is left out arrives as void, a range as rows. The first one,
    the document with the calling cell, is filled in by Calc. Their names end in "Given", because
    `any`, `type` and others are keywords of UNO; users see those of the registry.
    """
    return _rendered(IDL_FILE.name) + "\n"


def _rendered(name: str) -> str:
    return from_template(f"excel/calc/{name}", functions=FUNCTIONS, version=__version__)


def calc_name(name: str) -> str:
    """The name of a function in a file: SVC_RATE is SVC.TOOLS.SVC_RATE.

    Calc shows, and accepts, the name of the registry.
    """
    return f"SVC.TOOLS.{name}"
