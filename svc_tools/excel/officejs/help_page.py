"""The page of the local server: how its certificate is made and its add-in loaded. No secrets."""

from __future__ import annotations

from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from svc_tools.excel.officejs.metadata import host_name, host_text
from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from svc_tools.excel.officejs.gate import Gate
    from svc_tools.excel.registry import Function

__all__ = ["help_page"]

_FILE = Path(__file__).parent / "templates" / "help.html"
_STATES = {
    "http": "Plain http: LibreOffice Calc takes it. Excel asks for https: see the next section.",
    "https": "https: Excel takes it once this computer trusts the certificate.",
}


def help_page(gate: Gate) -> str:
    """The page, as HTML; anybody on this machine may read it."""
    return Template(_FILE.read_text(encoding="utf-8")).substitute(
        origin=escape(gate.origin),
        scheme=gate.scheme,
        state=_STATES[gate.scheme],
        functions="\n".join(map(_row, FUNCTIONS)),
    )


def _row(function: Function) -> str:
    signature, told = (escape(host_text(text)) for text in (function.signature, function.help))
    name = host_name(function.name)
    return f'<tr id="{name}"><td><code>={signature}</code></td><td>{told}</td></tr>'
