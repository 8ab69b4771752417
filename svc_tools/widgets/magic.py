"""`%svc TX 78701`: a lookup in one line of a notebook, with completion of the states."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class

from svc_sdk import SvcError
from svc_tools.config import configured, connect, running_embedded
from svc_tools.places import STATES, state_code
from svc_tools.widgets.lookup_form import Asked, asked
from svc_tools.widgets.trouble import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_sdk import Svc, TaxResponse

__all__ = ["SvcMagics", "completions", "parsed", "register"]

_USAGE = (
    "expected a state and a place, and a date where it is not today: %svc TX 78701,"
    ' %svc CA "San Jose" 2024-05-01, %svc WA 47.61,-122.33'
    ' or %svc TX "1100 Congress Ave, Austin 78701"'
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_POINT = re.compile(r"(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)")
_DIGITS = re.compile(r"[\d-]+")
_WORDS_OF_A_STATE = 3


def parsed(line: str) -> Asked:
    """The question of a line such as `TX 78701 2024-05-01`.

    Raises:
        ValueError: it is none; the message says what is expected.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ValueError(f"{line!r}: {error}; {_USAGE}") from None
    values = {"mode": "zip", "when": "today"}
    if words and _DAY.fullmatch(words[-1]):
        values |= {"when": "date", "as_of": words.pop()}
    state, rest = _state_first(words)
    place = " ".join(rest)
    if point := _POINT.fullmatch(place):
        values |= {"mode": "coordinates", "lat": point[1], "lng": point[2]}
    elif _DIGITS.fullmatch(place):
        values["zip"] = place
    elif not place:
        raise ValueError(_USAGE)
    elif re.search(r"\d", place):
        values |= {"mode": "address", "address": place}
    else:
        values |= {"mode": "place", "location": place}
    found = asked(values | {"state": state})
    if isinstance(found, dict):
        raise ValueError(" ".join(found.values()))  # noqa: TRY004 - sentences of what is wrong
    return found


def _state_first(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The state at the start, of one word or of several (New York), and the words after it."""
    for count in range(min(_WORDS_OF_A_STATE, len(words)), 0, -1):
        name = " ".join(words[:count])
        code = None if re.search(r"\d", name) else state_code(name)
        if isinstance(code, str):
            return code, words[count:]
    if words and not words[0][:1].isdigit():
        return words[0], words[1:]
    return "", words  # a ZIP alone may tell its state


def _client() -> Svc:
    """The configured service; else the embedded one, and a line that says so."""
    account = configured()
    if account is not None:
        return connect(api_key=account[0], base_url=account[1])
    client: Svc | None = running_embedded()
    if client is None:  # nobody has chosen it
        client = connect("embedded")
        sys.stdout.write("No service is configured: the embedded service answers.\n")
    return client


@magics_class
class SvcMagics(Magics):
    """The line magic `%svc`. The first lookup connects, and later ones ask the same service."""

    client: Svc | None = None

    @line_magic
    def svc(self, line: str) -> TaxResponse:
        """Look up a rate: `%svc STATE PLACE [DATE]`.

        The place is a ZIP, coordinates (`47.61,-122.33`), the name of a place, or an address.
        `answer = %svc TX 78701` keeps the answer.

        Raises:
            UsageError: the line cannot be read, or the lookup failed: one line, what to do in it.
        """
        try:
            question = parsed(line)
            if self.client is None:
                self.client = _client()
            place = question.place
            return self.client.lookup(place.state, **place.arguments())
        except (SvcError, ValueError, ImportError) as error:
            said = told(error)
            reference = f" Support reference: {said.reference}" if said.reference else ""
            # UsageError is shown as a line, without a stack trace
            raise UsageError(f"{said.title}. {said.text} {said.what_to_do}{reference}") from None


def completions(line: str) -> list[str]:
    """What can stand next in a line that begins with `%svc`: a state."""
    words = line.split()[1:]
    typing = "" if line.endswith(" ") else (words[-1] if words else "")
    if len(words) > (1 if typing else 0):
        return []
    start = typing.casefold()
    codes = [code for code in STATES if code.casefold().startswith(start)]
    named = [code for code, name in STATES.items() if start and name.casefold().startswith(start)]
    return list(dict.fromkeys([*codes, *named]))


def register(shell: Any) -> None:  # noqa: ANN401 - IPython's shell has no types
    """Add the magic and its completion to a shell: `%load_ext svc_tools`."""
    shell.register_magics(SvcMagics(shell))
    hook = "complete_command"
    shell.set_hook(hook, lambda _, event: completions(event.line), str_key="%svc")
