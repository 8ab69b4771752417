"""What a service can do beyond removing: list and add are extensions that it may lack (WIRE)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from svc_sdk import (
    AuthError,
    ForbiddenError,
    PaymentRequiredError,
    SvcError,
    _requests,
    _responses,
)
from svc_sdk._responses import Failure, Reply
from svc_tools.nexus.words import NO_UNDO_NOTE, UNDO_NOTE
from svc_tools.shown import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_sdk import Svc
    from svc_sdk.models import NexusList
    from svc_tools.nexus.receipt import Record

__all__ = [
    "ABSENT",
    "Abilities",
    "Listed",
    "abilities",
    "ability",
    "able",
    "adds",
    "compared",
    "listed",
    "whole_list",
]

ABSENT = frozenset({404, 405})
"""The statuses of a service that does not know a request."""
_KEY = frozenset({401, 402, 403, 429})
"""The statuses that say nothing of what the service can do."""
_NOT_UNDERSTOOD = frozenset({400, 422})
_SUCCESS = range(200, 300)
_CLIENT = range(400, 500)


@dataclass(frozen=True, slots=True)
class Abilities:
    """Whether a service lists records and adds them.

    Attributes:
        lists: whether it tells which records there are.
        adds: whether a record can be added.
        note: whether a removal can be undone, in a sentence.
    """

    lists: bool
    adds: bool
    note: str

    @property
    def restores(self) -> bool:
        """Whether what was removed can be added again, after a look at what is there."""
        return self.lists and self.adds


class Listed(NamedTuple):
    """The records of the account by state and type, as the service lists them now."""

    records: dict[tuple[str, str], tuple[Record, ...]]

    def of(self, state: str, nexus_type: str) -> tuple[Record, ...]:
        """The records that a removal of this state and type takes; "" is any type."""
        if nexus_type:
            return self.records.get((state, nexus_type), ())
        return tuple(
            record for (of, _), records in self.records.items() if of == state for record in records
        )


def abilities(client: Svc) -> Abilities:
    """Find out whether the service lists and adds. It changes nothing.

    Listing is tried; adding is asked with an empty record, which a service that adds refuses.

    Raises:
        SvcError: the service does not accept the key, or cannot say now.
    """
    return ability(lists=listed(client) is not None, adds=adds(client))


def ability(*, lists: bool, adds: bool) -> Abilities:
    """What that comes to, in a sentence."""
    if lists and adds:
        return Abilities(lists, adds, UNDO_NOTE)
    lacks = " and ".join(
        word for word, there in (("list records", lists), ("add records", adds)) if not there
    )
    return Abilities(lists, adds, f"{NO_UNDO_NOTE} It does not {lacks}.")


def whole_list(client: Svc) -> NexusList | str:
    """The service's list of records; a sentence where it does not list them, or not all.

    Raises:
        SvcError: the call failed.
    """
    try:
        answer = client.list_nexus()
    except SvcError as error:
        if error.status_code in ABSENT:
            return f"The service does not list nexus records (HTTP {error.status_code})"
        raise
    there = len(answer.nexus)
    if answer.count is not None and answer.count > there:  # it proves nothing of the rest
        of = f"{there:,} of its {answer.count:,} records"
        return f"The service lists {of}, which is not the whole register"
    return answer


def listed(client: Svc) -> Listed | None:
    """The records that the service lists; `None` where it does not list them, or not all.

    Raises:
        SvcError: the call failed.
    """
    answer = whole_list(client)
    if isinstance(answer, str):
        return None
    records: dict[tuple[str, str], tuple[Record, ...]] = {}
    for one in answer.nexus:
        key = (one.state.strip().upper(), one.nexus_type.strip().lower())
        record: Record = {
            name: None if value is None else str(value) for name, value in one.model_dump().items()
        }
        record |= {"state": key[0], "nexus_type": key[1]}
        records[key] = (*records.get(key, ()), record)
    return Listed(records)


def compared(record: Mapping[str, object], name: str) -> str | None:
    """A field as it is compared: the same day or letter however written, and blanks, are alike."""
    value = record.get(name)
    text = None if value is None else " ".join(normalize("NFC", str(value)).split()) or None
    if text is not None and name == "registered_at":
        with suppress(ValueError):
            return datetime.fromisoformat(text).date().isoformat()
    return text


def able(client: Svc, there: Listed | None) -> Abilities:
    """What the service can do, after it was asked to list.

    Raises:
        SvcError: it does not accept the key.
    """
    try:
        return ability(lists=there is not None, adds=adds(client))
    except (AuthError, PaymentRequiredError, ForbiddenError):
        raise
    except SvcError as error:
        told = printable(error.message)
        note = f"{NO_UNDO_NOTE} Whether it adds records could not be found out: {told}"
        return Abilities(there is not None, adds=False, note=note)


def adds(client: Svc) -> bool:
    """Whether the service adds records.

    Raises:
        SvcError: as `abilities`.
    """
    path = _requests.list_nexus(None, None).path
    probe = _requests.Call("POST", path, json={})
    return client._send(probe, _understood)  # noqa: SLF001 - a request that no method sends


def _understood(outcome: Reply | Failure, attempts: int) -> bool:
    """Whether the empty record was refused by something that adds records."""
    if isinstance(outcome, Reply):
        if outcome.status in _NOT_UNDERSTOOD:
            return True
        if outcome.status in _SUCCESS or (outcome.status in _CLIENT and outcome.status not in _KEY):
            return False  # a service that takes nothing for a record is none to rely on
    _responses.health(outcome, attempts)  # raises what it says
    return False
