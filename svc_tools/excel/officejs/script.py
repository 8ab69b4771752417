"""`functions.js` as Excel loads it: the shipped file, with the server's address and token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.excel.officejs.gate import ROOT
from svc_tools.excel.officejs.metadata import function_id, zeros_kept
from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from svc_tools.excel.officejs.gate import Gate

__all__ = ["functions_script"]

_FILE = Path(__file__).parent / "static" / "functions.js"
_PLACE = "__CONFIG__"
_STARTS = {
    "http": "svc-tools excel serve",
    "https": "svc-tools excel serve --cert FILE --key FILE",
}
"""What a person types where the server does not run: over http, Excel would not reach it."""


def functions_script(gate: Gate) -> str:
    """The JavaScript that associates every function of the registry and asks this server."""
    config = {
        "url": f"{gate.origin}{ROOT}batch",
        "token": gate.token.get_secret_value(),
        "start": _STARTS[gate.scheme],
        "functions": [
            {"id": function_id(one.name), "f": one.name, "zeros": zeros_kept(one)}
            for one in FUNCTIONS
        ],
    }
    return _FILE.read_text(encoding="utf-8").replace(_PLACE, json.dumps(config), 1)
