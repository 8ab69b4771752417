"""The parts of the panel: headings, messages, fields, forms, buttons, tables, code, errors.

Text from the service or a file is escaped here, once. No part uses the network: scripts and styles
are files of this package.
"""

from __future__ import annotations

import ast
import keyword
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from html import escape
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

import anywidget
import ipywidgets
import traitlets
from pydantic import SecretStr

from svc_sdk import SvcError
from svc_tools.config import ConfigurationError
from svc_tools.lookup.troubles import Trouble, explained, one_line
from svc_tools.show import display
from svc_tools.tables.dates import FORMATS, ZONES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import UnionType

    from svc_tools.show.display import Head

HERE = Path(__file__).parent


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


def _html(value: str, name: str) -> ipywidgets.HTML:
    made = ipywidgets.HTML(value)
    made.add_class(name)
    return made


class MessageArea(anywidget.AnyWidget):
    """The messages of a tab: a live region, which screen readers read out.

    Attributes:
        html: the message; empty for nothing.
    """

    _esm = HERE / "message.js"
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.add_class("svc-message")

    def show_trouble(self, trouble: Trouble | BaseException) -> None:
        """Show what went wrong, what to do, and the reference for support."""
        shown = trouble_of(trouble) if isinstance(trouble, BaseException) else trouble
        reference = ""
        if shown.reference:
            reference = f"<p>Support reference: <code>{escape(shown.reference)}</code></p>"
        self.html = (
            f'<div class="svc-trouble"><p><strong>{escape(shown.title)}.</strong>'
            f" {escape(shown.text)}</p><p>{escape(shown.what_to_do)}</p>{reference}</div>"
        )

    def show_note(self, text: str) -> None:
        """Show a message that is not an error."""
        self.html = f'<div class="svc-info"><p>{escape(text)}</p></div>'

    def announce(self, text: str) -> None:
        """Have screen readers read out what is visible elsewhere on the page."""
        self.html = f'<div class="svc-unseen">{escape(text)}</div>'

    def clear(self) -> None:
        """Show nothing."""
        self.html = ""


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
    made = ipywidgets.Button(description=label, button_style="" if kind == "plain" else kind)
    made.layout.width = "auto"
    made.layout.align_self = "flex-start"
    made.add_class("svc-button")
    made.add_class(f"svc-{kind}")
    return made


def set_visible(widget: ipywidgets.Widget, visible: bool) -> None:  # noqa: FBT001 - says whether, at each call
    """Show a widget, or remove it from the page and from the keyboard's reach."""
    widget.layout.display = "" if visible else "none"


def line(*parts: ipywidgets.Widget) -> ipywidgets.Box:
    """Parts in a row, as wide as they are, that wraps where the page is narrow."""
    box = ipywidgets.Box(parts)
    box.add_class("svc-line")
    return box


def grid(*fields: ipywidgets.Widget) -> ipywidgets.GridBox:
    """Fields in as many columns as the width allows."""
    box = ipywidgets.GridBox(fields)
    box.add_class("svc-grid")
    return box


def table(
    headers: Sequence[Head], rows: Iterable[Sequence[object]], caption: str
) -> ipywidgets.HTML:
    """`titled_table_html` as a widget; its `value` may be set to another `titled_table_html`."""
    return _html(titled_table_html(headers, rows, caption), "svc-table-view")


def titled_table_html(
    headers: Sequence[Head], rows: Iterable[Sequence[object]], caption: str
) -> str:
    """A table as HTML: everything escaped, and scrolling inside itself where it is too wide.

    Args:
        headers: the columns.
        rows: the cells.
        caption: what the table is of; read out first, and shown above it.
    """
    return display.table_html(display.Table(headers, rows, caption))


class Disclosure:
    """A button that shows and hides what is seldom needed.

    Unlike the host's accordion it can be reached by keyboard.

    Attributes:
        button: the button; its label says what a click does.
        opened: whether the content is shown.
        view: both.
    """

    def __init__(self, label: str, inside: ipywidgets.Widget) -> None:
        self._label, self._inside = label, inside
        self.opened = False
        self.button = button(label, kind="plain")
        self.button.on_click(lambda _: self.reveal(opened=not self.opened))
        self.view = ipywidgets.VBox([self.button, inside])
        self.view.add_class("svc-disclosure")
        self.reveal(opened=False)

    def reveal(self, *, opened: bool) -> None:
        """Show or hide the content."""
        self.opened = opened
        self.button.description = f"Hide: {self._label}" if opened else self._label
        set_visible(self._inside, opened)


@dataclass(frozen=True, slots=True)
class Entry:
    """One field of a form.

    Attributes:
        name: the key of its value.
        label: the text above it.
        kind: "combo" is a text with suggestions.
        help: a sentence below it.
        placeholder: an example in it while it is empty.
        options: value and label of each choice.
        value: its first value; never of a password.
        shown_with: the name of another field, and the values of it with which this one is shown.
        width: how much of the line it takes.
        inputmode: which keyboard a touch screen shows.
        longest: how many characters it accepts.
        folded: whether it lies below the buttons, in a part that is closed at first.
    """

    name: str
    label: str
    kind: Literal["text", "combo", "menu", "date", "radio", "password"] = "text"
    help: str = ""
    placeholder: str = ""
    options: tuple[tuple[str, str], ...] = ()
    value: str = ""
    shown_with: tuple[str, ...] = ()
    width: Literal["narrow", "wide", "whole"] = "wide"
    inputmode: str = ""
    longest: int = 4_000
    folded: bool = False


DATE_FORMATS = (
    ("As found in the file", ""),
    *(
        (example if name.startswith("%") else f"{example}, {name}", name)
        for name, example in FORMATS.items()
    ),
)
"""The menu of date formats: the label and the value of each."""
TIME_ZONES = (
    ("As written", ""),
    *(
        (f"{name} ({zone.rpartition('/')[2].replace('_', ' ')})", zone)
        for zone, name in ZONES.items()
    ),
)
"""The menu of time zones, likewise."""


@dataclass(frozen=True, slots=True)
class FormValues:
    """The submitted values of a form, secrets separate."""

    texts: Mapping[str, str]
    secrets: Mapping[str, SecretStr]


class Form(anywidget.AnyWidget):
    """A form of native inputs, whose values arrive together in one message.

    A password in it never becomes widget state.

    Attributes:
        values: its texts, without passwords.
        errors: messages by field, shown there; the first field gets the focus.
        busy: whether submitted values are being processed; nothing is submitted meanwhile, and
            "cancel" is offered where `cancel_label` is set.
    """

    _esm = HERE / "form.js"
    label = traitlets.Unicode("").tag(sync=True)
    fields = traitlets.List(traitlets.Dict()).tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    errors = traitlets.Dict().tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)  # noqa: FBT003 - a default
    submit_label = traitlets.Unicode("").tag(sync=True)
    cancel_label = traitlets.Unicode("").tag(sync=True)
    fold_label = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        submit: str,
        on_submit: Callable[[FormValues], object],
        cancel: str = "",
        on_cancel: Callable[[], object] | None = None,
        fold: str = "",
        label: str = "",
    ) -> None:
        """Build the form of these entries; values of password fields are never in its state.

        Args:
            entries: the fields, in order.
            submit: the text of the button.
            on_submit: called with the values when it is submitted.
            cancel: the text of a second button, if there is one.
            on_cancel: called when that is pressed.
            fold: the heading under which folded entries are shown.
            label: the name of the form, for screen readers.
        """
        self._entries = {entry.name: entry for entry in entries}
        self._on_submit = on_submit
        self._on_cancel = on_cancel
        super().__init__(
            label=label,
            fields=[asdict(entry) for entry in entries],
            values={entry.name: entry.value for entry in entries if entry.kind != "password"},
            submit_label=submit,
            cancel_label=cancel,
            fold_label=fold,
        )
        self.on_msg(self._received)

    def submit(self, **given: str | SecretStr) -> None:
        """Submit the form as the page does; `given` replaces values of it.

        Raises:
            ValueError: a name that is not a field.
        """
        secrets, texts = {}, dict(self.values)
        for name, value in given.items():
            if name not in self._entries:
                raise ValueError(f"{name}: no such field; one of {', '.join(self._entries)}")
            if isinstance(value, SecretStr):
                secrets[name] = value
            else:
                texts[name] = value
        self.values = texts
        if not self.busy:
            self._on_submit(FormValues(texts, secrets))

    def cancel(self) -> None:
        """Cancel what is being processed, as the page does."""
        if self._on_cancel is not None:
            self._on_cancel()

    def _received(self, _widget: object, content: dict[str, object], _buffers: object) -> None:
        event = content.get("event")
        if event == "cancel":
            self.cancel()
        values = content.get("values")
        if event != "submit" or not isinstance(values, dict):
            return
        self.submit(
            **{
                name: SecretStr(value) if entry.kind == "password" else value
                for name, entry in self._entries.items()
                if isinstance(value := values.pop(name, None), str)
            }
        )


class CodeView(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets says nothing of its types
    """The Python that does what the panel did: "Show as code", closed at first.

    Attributes:
        code: the source; hidden while it is empty.
        command: the same on the command line, where there is such a command.
    """

    def __init__(self) -> None:
        self.code = self.command = ""
        self.view = ipywidgets.HTML()
        super().__init__([self.view])
        self.add_class("svc-code")
        self.show("")

    def show(self, code: str, command: str = "") -> None:
        """Show this source, and this command."""
        self.code, self.command = code, command
        set_visible(self, bool(code))
        shown = _listing("Python code", code)
        if command:
            shown += f"<p>On the command line:</p>{_listing('Command', command)}"
        self.view.value = f"<details><summary>Show as code</summary>{shown}</details>"


def _listing(label: str, text: str) -> str:
    return f'<pre tabindex="0" aria-label="{label}"><code>{escape(text)}</code></pre>'


@dataclass(frozen=True, slots=True)
class Name:
    """A name in code, such as of a variable: written without quotes."""

    text: str


def as_code(call: str, /, *positional: Any, **arguments: Any) -> str:  # noqa: ANN401 - values of calls
    """A call as Python source: `as_code("client.lookup", "TX", zip="78701")`.

    Arguments that are `None` are left out. Dates are written as ISO text, paths as text, which the
    calls of this toolkit take. A long call has one argument on each line.

    Args:
        call: the name of what is called, such as "client.lookup".
        positional: arguments without a name.
        arguments: arguments with their names.

    Raises:
        ValueError: `call` is not a name, or an argument has no literal, such as a secret.
    """
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in call.split(".")):
        raise ValueError(f"call: {call!r} is not the name of a function")
    named = [(name, value) for name, value in arguments.items() if value is not None]
    written = [_literal(value) for value in positional]
    written += [f"{name}={_literal(value)}" for name, value in named]
    line = f"{call}({', '.join(written)})"
    if len(line) > 88 and written:  # noqa: PLR2004 - a usual width of code
        line = f"{call}(\n    " + ",\n    ".join(written) + ",\n)"
    ast.parse(line)  # what is shown can be run
    return line


def _literal(value: object) -> str:
    if isinstance(value, Name):
        return value.text
    if isinstance(value, date):  # a datetime too
        value = value.isoformat()
    elif isinstance(value, PurePath | Decimal):
        value = str(value)
    text = repr(value)
    ast.literal_eval(text)  # refuses a secret, and whatever else is no literal
    return text


NO_SERVICE = Trouble(
    "No service is connected",
    "No key was given, and the embedded service was not chosen.",
    "Give a key above, or use the embedded service.",
)

_TROUBLES: tuple[tuple[type[BaseException] | UnionType, str, str], ...] = (
    (ConfigurationError, "The configuration cannot be used", "Correct it, then open this again."),
    (ImportError, "A part is not installed", "Install it, then start the kernel again."),
    (FileNotFoundError, "There is no such file", "Check the path."),
    (
        PermissionError,
        "The file may not be used",
        "Close it in other programs, or choose another place; then try again.",
    ),
    (TimeoutError, "It took too long", "Try again."),
    (
        OSError,
        "A file cannot be read or written",
        "Check the place and the room left on the disk, then try again.",
    ),
    (ValueError | TypeError, "This cannot be used as it is", "Correct it, then try again."),
    (MemoryError, "The memory is full", "Close other notebooks, then try again."),
)
"""By class, the narrower one first: what happened, and what to do."""


def trouble_of(error: BaseException) -> Trouble:
    """An error of any kind as a sentence, what to do, and the reference for support.

    An unforeseen one shows its class, and no stack trace.
    """
    if isinstance(error, SvcError):
        return explained(error)
    text = one_line(str(error)) or type(error).__name__
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.strerror}: {error.filename}"  # without the number of the error
    for kind, title, what_to_do in _TROUBLES:
        if isinstance(error, kind):
            return Trouble(title, text, what_to_do)
    name = type(error).__name__
    return Trouble(
        "Something went wrong that was not foreseen",
        text if text == name else f"{name}: {text}",
        "Try again; if it stays so, report these words.",
    )
