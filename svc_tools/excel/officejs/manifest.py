"""The manifest that Excel loads: an add-in only manifest with functions, one runtime and a button.

It names the server's address and token, so it is made for one user of one machine; both stay the
same from run to run, and so does the manifest.
"""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import quote

from svc_sdk import __version__
from svc_tools.excel.officejs.gate import ROOT
from svc_tools.excel.officejs.metadata import NAMESPACE
from svc_tools.whole_file import whole_file

if TYPE_CHECKING:
    from svc_tools.excel.officejs.gate import Gate

__all__ = ["manifest", "write_manifest"]

_FILE = Path(__file__).parent / "templates" / "manifest.xml"


def manifest(gate: Gate) -> str:
    """The manifest of the add-in that asks this server, as XML."""
    values = {
        "version": _version(),
        "origin": gate.origin,
        "root": f"{gate.origin}{ROOT}".rstrip("/"),
        "token": quote(gate.token.get_secret_value(), safe=""),
        "namespace": NAMESPACE,
    }
    return Template(_FILE.read_text(encoding="utf-8")).substitute(values)


def write_manifest(path: Path, gate: Gate) -> None:
    """Write the manifest to a file that only its owner can read, for the token is in it.

    Raises:
        OSError: it cannot be written.
    """
    with whole_file(path) as draft:
        draft.chmod(0o600)  # before anything is in it
        draft.write_text(manifest(gate), encoding="utf-8")


def _version() -> str:
    """The release in the four numbers that a manifest has."""
    numbers = re.findall(r"\d+", __version__)[:4]
    return ".".join([*numbers, "0", "0", "0", "0"][:4])
