"""A form whose values arrive together, in one message; a key in it never becomes widget state."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import anywidget
import traitlets
from pydantic import SecretStr

from svc_tools.widgets.parts import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Entry", "Form", "Values"]


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
