"""Build the type library of Calc's add-in from the registry, where LibreOffice's kit is installed.

Run it after a change of the registry: `python scripts/build_calc_types.py`. It needs unoidl-write
(Debian: `apt-get install --no-install-recommends libreoffice-dev`).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from svc_tools.excel.calc import IDL_FILE, LIBRARY_FILE, idl

_PROGRAM = Path("/usr/lib/libreoffice")
"""Where Debian has LibreOffice; --office names another place."""


def main() -> None:
    """Write the IDL and the library that it gives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--office", type=Path, default=_PROGRAM, help="LibreOffice's folder")
    parser.add_argument("--into", type=Path, default=IDL_FILE.parent, help="where the files go")
    given = parser.parse_args()
    office: Path = given.office
    writer = shutil.which("unoidl-write") or office / "sdk" / "bin" / "unoidl-write"
    if not Path(writer).exists():
        sys.exit("unoidl-write is missing: apt-get install --no-install-recommends libreoffice-dev")
    source, library = given.into / IDL_FILE.name, given.into / LIBRARY_FILE.name
    source.write_text(idl(), encoding="utf-8")
    known = (office / "program" / "types.rdb", office / "program" / "types" / "offapi.rdb")
    subprocess.run([writer, *known, source, library], check=True)  # noqa: S603 - its own paths
    print(f"Made {source} and {library}")  # noqa: T201 - a script


if __name__ == "__main__":
    main()
