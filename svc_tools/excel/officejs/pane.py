"""What the task pane shows and does, as JSON-ready answers. The routes are the app's.

What goes wrong is an answer, too: `{"trouble": {title, text, what_to_do, reference}}`, with the
`field` of the form that is at fault where it is one. No key is in any of them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from svc_sdk import AuthError, Svc, SvcError, TransportError
from svc_tools import config
from svc_tools.config import ConfigurationError
from svc_tools.excel import keys, settings
from svc_tools.excel.accepting import accepted
from svc_tools.lookup.stopping import is_foreign
from svc_tools.lookup.trouble import Trouble, told_of_service
from svc_tools.shown import capital

if TYPE_CHECKING:
    from pydantic import SecretStr

    from svc_tools.excel.desk import Desk

__all__ = ["Told", "forget_key", "refresh", "status", "use_embedded", "use_key"]

Told: TypeAlias = dict[str, object]
"""An answer that JSON can hold."""

_LOCKED = (
    f"Address and key come from the environment ({config.URL_VARIABLE} and {config.KEY_VARIABLE})."
    " Change them there, then start svc-tools excel serve again."
)
_CONFIGURATION = "The configuration cannot be used"
_OFFER = "Give address and key under “Service and key”, or choose the embedded service."


def status(desk: Desk) -> Told:
    """Who answers, whether it does, and what is kept. It asks one request that is not billed."""
    described = settings.describe()
    told: Told = {
        "service": "No service",
        "source": "",
        "words": desk.source,
        "notes": " ".join(desk.notes),
        "embedded": False,
        "has_key": described.key == "keyring",
        "locked": _LOCKED if described.known_from == "environment" else None,
        "address": _address(),
        "kept": desk.answered,
        "oldest": desk.oldest.isoformat() if desk.oldest else None,
        "trouble": None,
    }
    try:
        client = desk.client
    except (ConfigurationError, ImportError) as error:
        what_to_do = _LOCKED if told["locked"] else _OFFER
        return told | _trouble(Trouble(_CONFIGURATION, str(error), what_to_do))
    who = desk.who
    embedded = isinstance(client, config.EmbeddedSvc)
    told |= {"service": capital(who.name) if embedded else who.name, "embedded": embedded}
    if who.edition:
        told |= {"source": f"Rate book of {who.edition}"}
    try:
        accepted(client)
    except SvcError as error:
        return told | _trouble(told_of_service(error))
    return told


def refresh(desk: Desk) -> Told:
    """Ask anew for every place of the session; what came of it, in a sentence and in numbers."""
    report = desk.refresh()
    return {
        "said": report.sentence,
        "asked": report.asked,
        "changed": report.changed,
        "failed": report.failed,
    }


def use_key(desk: Desk, address: str, key: SecretStr) -> Told:
    """Have the service at an address answer with a key, kept in the system's keyring.

    The service is asked first whether it takes the key: what it refuses is not kept, and whoever
    answered before goes on.
    """
    if settings.describe().known_from == "environment":
        return _locked()
    try:
        address = settings.checked_address(address)
    except ConfigurationError as error:
        text = str(error).removeprefix("The address cannot be used: ")
        return _trouble(Trouble("This is no address", text, "Correct it."), "address")
    try:
        with Svc(key, base_url=address, max_retries=0) as client:
            accepted(client)
    except ValueError as error:  # an empty key, or one that no header can hold
        text = capital(str(error).removeprefix("api_key: "))
        what_to_do = "Copy the key again, without anything around it."
        return _trouble(Trouble("This cannot be a key", text, what_to_do), "key")
    except SvcError as error:
        return _trouble(told_of_service(error), _field_at_fault(error))
    try:
        address = settings.remember(address, key)
        keyring = keys.keyring_name()
    except (ConfigurationError, ImportError) as error:
        return _trouble(Trouble("The key cannot be kept", str(error), "It was not used."), "key")
    desk.use(None)
    return {"said": f"{address} takes the key. It is kept in {keyring}, and cells ask there now."}


def forget_key(desk: Desk) -> Told:
    """Remove the key from the keyring. The address stays, so that nobody else answers unnoticed."""
    if settings.describe().known_from == "environment":
        return _locked()
    try:
        address = settings.forget_key()
    except (ConfigurationError, ImportError) as error:
        return _trouble(Trouble("The key cannot be removed", str(error), "Then try again."))
    desk.use(None)
    if address is None:
        return {"said": "There was no key to forget."}
    return {"said": f"The key for {address} is removed. Cells say so until there is another."}


def use_embedded(desk: Desk) -> Told:
    """Have the embedded service answer, because a person chose it. Keys in the keyring stay."""
    if settings.describe().known_from == "environment":
        return _locked()
    try:
        settings.choose_embedded()
        desk.use(None)
        source = desk.client and desk.source
    except (ConfigurationError, ImportError) as error:
        title = "The embedded service cannot be used"
        return _trouble(Trouble(title, str(error), "Or give address and key."))
    return {"said": f"The {source} answers now."}


def _address() -> str:
    """What the form begins with."""
    try:
        chosen = settings.chosen()
    except ConfigurationError:
        return ""
    return "" if chosen in {None, settings.EMBEDDED} else str(chosen)


def _field_at_fault(error: SvcError) -> str:
    if isinstance(error, TransportError) or (
        is_foreign(error) and not isinstance(error, AuthError)
    ):
        return "address"
    return "key"


def _locked() -> Told:
    return _trouble(Trouble("The environment decides who answers", _LOCKED, "Nothing was changed."))


def _trouble(trouble: Trouble, field: str | None = None) -> Told:
    return {"trouble": asdict(trouble) | {"field": field}}
