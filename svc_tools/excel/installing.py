"""`svc-tools excel install`, step by step: what was done, was so already, or is left to a person.

Excel's security settings are never changed: they are read, and the click that is needed is named.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_sdk import AuthError, Svc, SvcError
from svc_tools.config import KEY_VARIABLE, URL_VARIABLE, ConfigurationError
from svc_tools.excel import keys, settings
from svc_tools.excel.accepting import accepted
from svc_tools.excel.installing_excel import excel_steps
from svc_tools.excel.machine import Machine
from svc_tools.excel.steps import Step, tried

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import SecretStr

__all__ = ["Wish", "install"]

_SERVICE = "Service"
_ASKING = 5.0
"""Seconds that the service is given to say whether it takes a key."""
_NAMES = {"darwin": "macOS", "linux": "Linux"}
_STARTED = "Excel and `svc-tools excel serve` heed it once they are started again."


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be set up.

    Attributes:
        address: the address of the service; `None` leaves who answers as it is.
        key: its key; `None` keeps the one that is stored.
        embedded: the embedded service is to answer.
        forget_key: the stored key is to be removed.
        addin: xlwings' own ribbon is wanted too; our workbook does without it.
        dry_run: nothing is written, nobody is asked.
    """

    address: str | None = None
    key: SecretStr | None = None
    embedded: bool = False
    forget_key: bool = False
    addin: bool = False
    dry_run: bool = False


def install(wish: Wish, machine: Machine | None = None) -> Iterator[Step]:
    """Set up this machine; each step is done when it is given out.

    A step that fails says why and the next one goes on: nothing done before is lost.

    Args:
        wish: what is to be set up.
        machine: this machine where left out.
    """
    machine = machine or Machine()
    yield tried(_SERVICE, lambda: _service(wish))
    if machine.is_windows:
        yield from excel_steps(machine, addin=wish.addin, dry_run=wish.dry_run)
    else:
        name = _NAMES.get(machine.system, machine.system)
        yield Step(
            "Excel",
            "not here",
            f"Functions through xlwings need Excel on Windows, and this is {name}: nothing was"
            " written for it.",
        )


def _service(wish: Wish) -> Step:
    if wish.forget_key:
        return _forgotten(dry_run=wish.dry_run)
    if wish.embedded:
        return _embedded(dry_run=wish.dry_run)
    if wish.address is not None:
        return _account(wish, settings.checked_address(wish.address))
    return _as_it_is()


def _as_it_is() -> Step:
    found = settings.describe()
    if found.problem is not None:
        return Step(_SERVICE, "failed", f"{found.problem}.")
    if found.known_from == "environment":
        said = f"{found.service} answers the cells, as {URL_VARIABLE} and {KEY_VARIABLE} say."
    elif found.service != settings.EMBEDDED:
        said = f"{found.service} answers the cells; its key is in {keys.keyring_name()}."
    elif found.known_from == "settings":
        said = "The embedded service answers the cells, as you chose."
    else:
        said = (
            "Nobody was named, so the embedded service answers the cells, from its own rate book."
            " For your account: svc-tools excel install --base-url ADDRESS"
        )
    return Step(_SERVICE, "already so", said)


def _embedded(*, dry_run: bool) -> Step:
    there = "The embedded service answers the cells, from its own rate book."
    if settings.chosen() == settings.EMBEDDED:
        return Step(_SERVICE, "already so", there + _overruled())
    if dry_run:
        return Step(_SERVICE, "would do", f"Say so in {settings.settings_path()}.")
    settings.choose_embedded()
    return Step(_SERVICE, "done", f"{there} {_STARTED}{_overruled()}")


def _forgotten(*, dry_run: bool) -> Step:
    if dry_run:
        return Step(_SERVICE, "would do", f"Remove the key of {settings.chosen()}.")
    address = settings.forget_key()
    if address is None:
        return Step(_SERVICE, "already so", "The keyring has no key of ours.")
    return Step(
        _SERVICE,
        "done",
        f"The key of {address} was removed. Cells say so until there is another, or --embedded."
        f" {_STARTED}",
    )


def _account(wish: Wish, address: str) -> Step:
    keyring = keys.keyring_name()
    stored = keys.stored_key(address)
    kept = f"{address} answers the cells; its key is in {keyring}."
    if wish.key is None and stored is not None and settings.chosen() == address:
        return Step(_SERVICE, "already so", f"{kept}{_overruled()}")
    if wish.dry_run:
        asked = "" if stored is not None else f"Ask for the key and keep it in {keyring}. "
        said = f"{asked}Write {address} to {settings.settings_path()}."
        return Step(_SERVICE, "would do", said)
    key = wish.key or stored
    if key is None:
        raise ConfigurationError(f"There is no key yet for {address}: give it with --key-stdin")
    taken = _taken(address, key)
    settings.remember(address, key)
    return Step(_SERVICE, "done", f"{kept} {taken} {_STARTED}{_overruled()}")


def _taken(address: str, key: SecretStr) -> str:
    """Whether the service takes the key, in a sentence; one that is refused is not kept."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        client = Svc(key, base_url=address, timeout=_ASKING, max_retries=0)
    with client:
        try:
            accepted(client)
            said = "The service accepts the key."
        except AuthError:
            raise ConfigurationError(
                f"{address} does not accept the key: nothing was changed. Check the address and"
                " the key, then try again"
            ) from None
        except SvcError as error:
            said = f"Whether it accepts the key is not known: {error.message}."
    return " ".join([said, *(f"{one.message}." for one in noted)])


def _overruled() -> str:
    """A sentence where the environment decides all the same."""
    if settings.describe().known_from != "environment":
        return ""
    return f" But {URL_VARIABLE} or {KEY_VARIABLE} is set in the environment, which comes first."
