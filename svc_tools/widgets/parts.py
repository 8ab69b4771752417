"""What every tab of the panel is built of: headings, messages, fields, buttons, tables, code.

Text from the service or a file is escaped here, once; no part asks anything of the network.
"""

# MERGED form: A form whose values arrive together, in one message; a key in it never becomes widget state.
# MERGED disclosure: What is seldom needed: shown by a button, and taken away again.
# MERGED trouble: What went wrong, for a person: a sentence, what to do, and the reference for support. Pure.
# MERGED code: What the panel does, as the Python that does the same. Pure.
# MERGED actions: Two things that a page can do and Python cannot: fill the clipboard, and save a file.
#
# MERGED actions: Their code and their looks are in files of this package; a page loads nothing from elsewhere.

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
from svc_tools.lookup.errors import Trouble, one_line, told_of_service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import UnionType

_STYLES = {"primary": "primary", "plain": "", "danger": "danger"}

_OF_OTHERS: tuple[tuple[type[BaseException] | UnionType, str, str], ...] = (
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
"""By kind, the narrower one first: what happened, and what to do."""

_WIDTH = 88

LARGE = 10_000_000
"""Bytes above which a file is not sent through the kernel's connection: it is linked, or named."""
_PIECE = 1 << 20
"""Bytes in one message: the page stays alive between two."""
_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1_000

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


@dataclass(frozen=True, slots=True)
class Entry:
    """One field of a form.

    Attributes:
        name: what its value is called.
        label: what stands above it.
        kind: "combo" is a text with suggestions.
        help: a sentence below it.
        placeholder: an example in it while it is empty.
        options: value and label of each choice.
        value: what it holds at first; never of a password.
        shown_with: the name of another field, and the values of it with which this one is shown.
        width: how much of the line it takes.
        inputmode: which keyboard a touch screen shows.
        longest: how many characters it takes.
    """

    name: str
    label: str
    kind: Literal["text", "combo", "date", "radio", "password"] = "text"
    help: str = ""
    placeholder: str = ""
    options: tuple[tuple[str, str], ...] = ()
    value: str = ""
    shown_with: tuple[str, ...] = ()
    width: Literal["narrow", "wide", "whole"] = "wide"
    inputmode: str = ""
    longest: int = 4_000


@dataclass(frozen=True, slots=True)
class Values:
    """What a form was sent with: texts, and secrets apart from them."""

    texts: Mapping[str, str]
    secrets: Mapping[str, SecretStr]


class Form(anywidget.AnyWidget):
    """A form of native inputs.

    Attributes:
        values: the texts that it holds; a password is not among them.
        errors: what is wrong, by the name of a field, shown there; the first gets the focus.
        busy: whether what was sent is under way; it is not sent again meanwhile, and "cancel" is
            offered where `cancel_label` is set.
    """

    _esm = HERE / "form.js"
    label = traitlets.Unicode("").tag(sync=True)
    fields = traitlets.List(traitlets.Dict()).tag(sync=True)
    values = traitlets.Dict().tag(sync=True)
    errors = traitlets.Dict().tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)  # noqa: FBT003 - a default
    submit_label = traitlets.Unicode("").tag(sync=True)
    cancel_label = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        entries: Sequence[Entry],
        *,
        submit: str,
        on_submit: Callable[[Values], object],
        cancel: str = "",
        on_cancel: Callable[[], object] | None = None,
        label: str = "",
    ) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._on_submit = on_submit
        self._on_cancel = on_cancel
        super().__init__(
            label=label,
            fields=[asdict(entry) for entry in entries],
            values={one.name: one.value for one in entries if one.kind != "password"},
            submit_label=submit,
            cancel_label=cancel,
        )
        self.on_msg(self._received)

    def submit(self, **given: str | SecretStr) -> None:
        """Send the form as the page does; `given` replaces what stands in it.

        Raises:
            ValueError: a name that is of no field.
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
            self._on_submit(Values(texts, secrets))

    def cancel(self) -> None:
        """Give up what is under way, as the page does."""
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


class Disclosure:
    """A button that shows what is below it, and takes it away again.

    Unlike the host's accordion it can be reached by keyboard.

    Attributes:
        button: the button; its words say what a click does.
        opened: whether it is shown.
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
        """Show what is inside, or take it away."""
        self.opened = opened
        self.button.description = f"Hide: {self._label}" if opened else self._label
        self._inside.layout.display = "" if opened else "none"


def told(error: BaseException) -> Trouble:
    """What to say of an error, of every kind that a tab can meet.

    An error that nobody foresaw is said to be one: with its kind, and without a stack trace.
    """
    if isinstance(error, SvcError):
        return told_of_service(error)
    text = one_line(str(error)) or type(error).__name__
    if isinstance(error, OSError):
        text = _of_file(error, text)
    for kind, title, what_to_do in _OF_OTHERS:
        if isinstance(error, kind):
            return Trouble(title, text, what_to_do)
    name = type(error).__name__
    return Trouble(
        "Something went wrong that was not foreseen",
        text if text == name else f"{name}: {text}",
        "Try again; if it stays so, report these words.",
    )


def _of_file(error: OSError, text: str) -> str:
    """The path, and why, without the number of the error."""
    if error.filename is None or not error.strerror:
        return text
    return f"{error.strerror}: {error.filename}"


@dataclass(frozen=True, slots=True)
class Name:
    """A name in code, such as that of a variable: written without quotes."""

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
        ValueError: `call` is no name, or an argument is a secret: code never holds one.
        TypeError: a value that has no literal.
    """
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in call.split(".")):
        raise ValueError(f"call: {call!r} is not the name of a function")
    named = [(name, value) for name, value in arguments.items() if value is not None]
    written = [_literal(value) for value in positional]
    written += [f"{name}={_literal(value)}" for name, value in named]
    line = f"{call}({', '.join(written)})"
    if len(line) > _WIDTH and written:
        line = f"{call}(\n    " + ",\n    ".join(written) + ",\n)"
    ast.parse(line)  # what is shown can be run
    return line


def _literal(value: object) -> str:
    if isinstance(value, Name):
        return value.text
    if isinstance(value, SecretStr):
        raise ValueError("a secret is not written into code")  # noqa: TRY004 - as documented
    if isinstance(value, date):  # a datetime too
        return repr(value.isoformat())
    if isinstance(value, PurePath | Decimal):
        return repr(str(value))
    if isinstance(value, bool | int | float | str) or value is None:
        return repr(value)
    if isinstance(value, list | tuple | dict):
        return _collection(value)
    raise TypeError(f"{type(value).__name__} has no literal")


def _collection(value: list[Any] | tuple[Any, ...] | dict[Any, Any]) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    inner = ", ".join(map(_literal, value))
    if isinstance(value, list):
        return f"[{inner}]"
    return f"({inner},)" if len(value) == 1 else f"({inner})"


class _Action(anywidget.AnyWidget):
    """A button with a line beside it that says what became of the click."""

    _esm = Path(__file__).with_name("actions.js")
    _css = Path(__file__).with_name("actions.css")
    kind = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)


class CopyButton(_Action):
    """A button that copies a text to the clipboard, and says so.

    Args:
        label: what stands on the button.
        text: what is copied; it may be set anew at any time. It is part of the saved page, so it
            is never a secret.
    """

    text = traitlets.Unicode().tag(sync=True)

    def __init__(self, label: str, text: str = "") -> None:
        super().__init__(kind="copy", label=label, text=text)


class DownloadButton(_Action):
    """A button that saves a file of the kernel's machine on the reader's.

    A file above `LARGE` is not sent through the kernel: where its host serves it, the button is a
    link to it; else the page says where the file lies, with a button that copies the path.

    Args:
        label: what stands on the button.
        path: the file; `None` shows nothing.
        url: the address under which the page's host serves the file, where it does.
    """

    name = traitlets.Unicode().tag(sync=True)
    size = traitlets.Unicode().tag(sync=True)
    place = traitlets.Unicode().tag(sync=True)
    url = traitlets.Unicode().tag(sync=True)

    def __init__(self, label: str, path: Path | None = None, *, url: str | None = None) -> None:
        self._path: Path | None = None
        super().__init__(kind="download", label=label)
        self.on_msg(self._asked)
        self.show(path, url=url)

    def show(self, path: Path | None, *, url: str | None = None) -> None:
        """Offer another file, or none.

        Raises:
            OSError: there is no such file.
        """
        size = 0 if path is None else path.stat().st_size
        large = size > LARGE
        self._path = path
        with self.hold_sync():
            self.name = "" if path is None else path.name
            self.size = "" if path is None else told_size(size)
            self.place = str(path) if large and url is None else ""
            self.url = url or "" if large else ""

    def pieces(self) -> Iterator[bytes]:
        """The file, piece by piece.

        Raises:
            OSError: it is not there any more.
        """
        if self._path is not None:
            with self._path.open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece

    def _asked(self, _widget: object, asked: Any, _buffers: object) -> None:  # noqa: ANN401 - JSON
        """Send the file to the view that asked for it."""
        if not isinstance(asked, dict) or asked.get("ask") != "file" or self.place or self.url:
            return
        who = str(asked.get("who", ""))
        try:
            for piece in self.pieces():
                self.send({"who": who, "tell": "piece"}, [piece])
        except OSError as error:
            self.send({"who": who, "tell": "trouble", "why": error.strerror or str(error)})
        else:
            self.send({"who": who, "tell": "end", "name": self.name})


def told_size(count: int) -> str:
    """A size of a file as one reads it: 512 bytes, 9.5 kB, 12 MB."""
    size, unit = float(count), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    digits = 1 if unit and size < 10 else 0  # noqa: PLR2004 - tenths of small figures
    return f"{size:.{digits}f} {_UNITS[unit]}"
