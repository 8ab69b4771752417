"""What every tab of the panel is built of: headings, messages, fields, buttons, tables, code.

Text from the service or a file is escaped here, once; no part asks anything of the network.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import anywidget
import ipywidgets
import traitlets

from svc_tools.lookup.trouble import Trouble
from svc_tools.widgets.trouble import told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "MessageArea",
    "ShownCode",
    "button",
    "field",
    "heading",
    "message_area",
    "note",
    "shown_code",
    "styles",
    "table",
    "table_html",
]

HERE = Path(__file__).parent
_STYLES = {"primary": "primary", "plain": "", "danger": "danger"}


def styles() -> ipywidgets.HTML:
    """The panel's style sheet, once for a page."""
    css = (HERE / "panel.css").read_text(encoding="utf-8")
    return ipywidgets.HTML(f"<style>{css}</style>", layout={"display": "none"})


def heading(text: str, level: Literal[2, 3, 4] = 3) -> ipywidgets.HTML:
    """A heading."""
    return _html(f"<h{level}>{escape(text)}</h{level}>", "svc-heading")


def note(text: str) -> ipywidgets.HTML:
    """A sentence of help."""
    return _html(f"<p>{escape(text)}</p>", "svc-note")


class MessageArea(anywidget.AnyWidget):
    """Where a tab says what happened: a live region, which screen readers read out.

    Attributes:
        html: what it shows; empty for nothing.
    """

    _esm = HERE / "message.js"
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.add_class("svc-message")

    def show_trouble(self, trouble: Trouble | BaseException) -> None:
        """Say what went wrong, what to do, and what to quote to support."""
        said = told(trouble) if isinstance(trouble, BaseException) else trouble
        reference = ""
        if said.reference:
            reference = f"<p>Support reference: <code>{escape(said.reference)}</code></p>"
        self.html = (
            f'<div class="svc-trouble"><p><strong>{escape(said.title)}.</strong>'
            f" {escape(said.text)}</p><p>{escape(said.what_to_do)}</p>{reference}</div>"
        )

    def show_note(self, text: str) -> None:
        """Say something that is no trouble."""
        self.html = f'<div class="svc-said"><p>{escape(text)}</p></div>'

    def announce(self, text: str) -> None:
        """Have a screen reader say what everybody else sees elsewhere on the page."""
        self.html = f'<div class="svc-unseen">{escape(text)}</div>'

    def clear(self) -> None:
        """Show nothing."""
        self.html = ""


def message_area() -> MessageArea:
    """A message area, empty."""
    return MessageArea()


def field(widget: ipywidgets.DOMWidget, help: str = "") -> ipywidgets.VBox:  # noqa: A002 - its usual name
    """An input with its label above it (its `description`), and a sentence of help below.

    Texts are sent when the field is left, not letter by letter: a click then finds the whole text.
    """
    if widget.has_trait("continuous_update"):
        widget.continuous_update = False
    widget.style.description_width = "initial"
    widget.add_class("svc-input")
    if help and widget.has_trait("tooltip"):
        widget.tooltip = help
    parts = [widget, *([note(help)] if help else [])]
    box = ipywidgets.VBox(parts)
    box.add_class("svc-field")
    return box


def button(
    label: str, kind: Literal["primary", "plain", "danger"] = "primary"
) -> ipywidgets.Button:
    """A button; "danger" for what removes something."""
    made = ipywidgets.Button(description=label, button_style=_STYLES[kind])
    made.layout.width = "auto"
    made.layout.align_self = "flex-start"
    made.add_class("svc-button")
    made.add_class(f"svc-{kind}")
    return made


def table_html(headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    """A table as HTML: everything escaped, and scrolling inside itself where it is too wide.

    Args:
        headers: the heads; `>` before one makes a column of numbers, `~` one of prose.
        rows: the cells.
        caption: what the table is of; read out first, and shown above it.
    """
    looks = {">": "svc-number", "~": "svc-prose"}
    classes = [looks.get(head[:1], "") for head in headers]

    def attribute(name: str) -> str:
        return f' class="{name}"' if name else ""

    heads = "".join(
        f'<th scope="col"{attribute(name)}>{escape(head.lstrip(">~"))}</th>'
        for head, name in zip(headers, classes, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{attribute(name)}>{escape(str(cell))}</td>"
            for cell, name in zip(row, classes, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    # a region that can be reached by keyboard, so that it can be scrolled by keyboard
    return (
        f'<div class="svc-scroll" role="region" tabindex="0" aria-label="{escape(caption)}">'
        f'<table class="svc-table"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str
) -> ipywidgets.HTML:
    """`table_html` as a widget; its `value` may be set to another `table_html`."""
    return _html(table_html(headers, rows, caption), "svc-table-view")


class ShownCode(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets says nothing of its types
    """The Python call of what the panel did: "Show as code", closed until it is opened.

    Attributes:
        code: the source; nothing is shown while it is empty.
    """

    def __init__(self) -> None:
        self.code = ""
        self.view = ipywidgets.HTML()
        super().__init__([self.view])
        self.add_class("svc-code")
        self.show("")

    def show(self, code: str) -> None:
        """Show this call instead."""
        self.code = code
        self.layout.display = "" if code else "none"
        self.view.value = (
            "<details><summary>Show as code</summary>"
            f'<pre tabindex="0" aria-label="Python code"><code>{escape(code)}</code></pre>'
            "</details>"
        )


def shown_code() -> ShownCode:
    """A place for code, empty."""
    return ShownCode()


def _html(value: str, name: str) -> ipywidgets.HTML:
    made = ipywidgets.HTML(value)
    made.add_class(name)
    return made
