"""The page of the task pane: the static file with its addresses and the list of functions."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from svc_tools.excel.examples import EXAMPLES, formula
from svc_tools.excel.officejs.metadata import host_name, host_text
from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from svc_tools.excel.registry import Function, Parameter

__all__ = ["OFFICE_JS", "page"]

OFFICE_JS = "https://appsforoffice.microsoft.com/lib/1/hosted/office.js"
"""Where Office add-ins must load the host's library from: the one address outside this computer."""


def page(token: str, *, office: bool) -> str:
    """The page.

    Args:
        token: what the addresses of its files carry.
        office: whether it is opened by an Office host: then it loads the host's library and the
            functions, too, and is the page of the shared runtime.
    """
    quoted = quote(token, safe="")
    scripts = (OFFICE_JS, f"functions.js?token={quoted}") if office else ()
    text = files(__package__).joinpath("static", "taskpane.html").read_text(encoding="utf-8")
    for name, content in (
        ("office", "\n".join(f'<script src="{escape(one)}"></script>' for one in scripts)),
        ("functions", "\n".join(map(_item, FUNCTIONS))),
        ("token", escape(quoted)),
    ):
        text = text.replace(f"{{{{{name}}}}}", content)
    return text


def _item(function: Function) -> str:
    name = host_name(function.name)
    signature = function.signature.replace(function.name, name, 1)
    example = escape(formula(name, EXAMPLES[function.name]))
    arguments = "".join(map(_argument, function.parameters))
    return (
        f"      <li><details><summary><code>{escape(signature)}</code></summary>"
        f'<div class="body"><p>{escape(host_text(function.help))}</p>'
        + (f"<dl>{arguments}</dl>" if arguments else "")
        + f"<pre><code>{example}</code></pre>"
        f'<div class="actions"><button type="button" data-formula="{example}"'
        f' aria-label="Example of {escape(name)}">Copy the example</button></div>'
        "</div></details></li>"
    )


def _argument(one: Parameter) -> str:
    optional = " <span>(may be left out)</span>" if one.optional else ""
    return f"<div><dt>{escape(one.name)}{optional}</dt><dd>{escape(host_text(one.help))}</dd></div>"
