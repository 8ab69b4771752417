"""`%svc TX 78701`: a lookup in one line of a notebook."""

from __future__ import annotations

import re
import shlex
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from svc_sdk import AuthError, SvcError, TransportError
from svc_tools.config import configured, connect, running_embedded
from svc_tools.service_address import address_checked
from svc_tools.tables.states import state_code
from svc_tools.widgets.lookup_tab import query_of
from svc_tools.widgets.parts import trouble_of

if TYPE_CHECKING:
    from svc_sdk import Svc, TaxResponse
    from svc_tools.tables.places import Place

_USAGE = (
    "Expected a state, a place and, unless it is today, a date: %svc TX 78701,"
    ' %svc CA "San Jose" 2024-05-01, %svc "New York" 40.71,-74.01'
    ' or %svc TX "1100 Congress Ave, Austin 78701".'
    ' A place that names its state needs no other: %svc "1100 Congress Ave, Austin, TX 78701".'
)


def register(shell: Any) -> None:  # noqa: ANN401 - IPython's shell has no types
    """Add the magic to a shell: `%load_ext svc_tools`."""
    shell.register_magic_function(svc)


def svc(line: str) -> TaxResponse:
    """Look up a rate: `%svc STATE PLACE [DATE]`; `result = %svc TX 78701` assigns the result.

    The place is a ZIP Code, coordinates, the name of a place, or an address. A ZIP Code of one
    state needs no state before it, nor does an address or a name that ends in its state.

    Raises:
        UsageError: the line cannot be read, or the lookup failed; IPython shows one line.
    """
    try:
        place = _place(line)
        client = _client()
        with address_checked(client):
            return client.lookup(place.state, **place.arguments())
    except (SvcError, ValueError, ImportError) as error:
        if isinstance(error, TransportError | AuthError):  # what is corrected takes effect
            _client().close()
            _client.cache_clear()
        trouble = trouble_of(error)
        reference = f" Support reference: {trouble.reference}" if trouble.reference else ""
        message = f"{trouble.title}. {trouble.text} {trouble.what_to_do}{reference}"
        raise UsageError(message) from None


def _place(line: str) -> Place:
    """The place and day of a line such as `TX 78701 2024-05-01`."""
    words = shlex.split(line)
    dated = bool(words) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", words[-1]) is not None
    values = {"as_of": words.pop()} if dated else {}
    alone = len(words) == 1 and state_code(words[0]) is None  # "Austin, TX"
    no_state = not words or alone or words[0][:1].isdigit()
    values["state"] = "" if no_state else words.pop(0)
    values["place"] = " ".join(words)
    query = query_of(values)
    if isinstance(query, dict):
        raise ValueError(f"{' '.join(query.values())} {_USAGE}")  # noqa: TRY004 - messages
    return query.place


@cache
def _client() -> Svc:
    """The client of the session: later lookups use the same service."""
    if configured() is not None:
        return connect()
    running = running_embedded()
    if running is None:
        sys.stdout.write("No service is configured: the rates are those of the embedded service.\n")
    return running or connect("embedded")
