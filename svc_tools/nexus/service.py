"""The records on the service: list them, and compare them with the user's register.

Listing and adding are extensions that a service may lack (WIRE); `abilities` finds out with GET
requests alone.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

from svc_sdk import SvcError, wire
from svc_sdk.wire import Reply
from svc_tools.base.extras import needs
from svc_tools.config import WrongAddressError, address_checked
from svc_tools.nexus.notices import NO_UNDO_NOTE, UNDO_NOTE, UNKNOWN_UNDO_NOTE
from svc_tools.nexus.register import (
    DETAILS,
    RegisterError,
    nexus_type_of,
    read_register,
)
from svc_tools.tables.states import us_state
from svc_tools.tables.text_dtype import text_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from svc_sdk import Svc
    from svc_sdk.models import NexusList
    from svc_tools.nexus.register import NexusType, Record, Register, Registration

ABSENT = frozenset({404, 405})
"""The statuses of a service that does not know a request."""


class NotListedError(ValueError):
    """The service does not list nexus records; the user's own register still works."""


def list_register(client: Svc) -> Register:
    """The account's nexus records as the service lists them, by state and type.

    Raises:
        NotListedError: the service does not list (404, 405), or lists only a part.
        RegisterError: a record that it lists cannot be understood.
        SvcError: the call failed (SPEC 7).
    """
    listed = _complete_list(client)
    if isinstance(listed, str):
        raise NotListedError(
            f"{listed}; give your own register: a CSV with state, nexus_type, registered_at,"
            " address and notes"
        )
    try:
        return read_register([record.model_dump() for record in listed.nexus])
    except RegisterError as error:
        raise RegisterError(
            [f"as the service lists it, {problem}" for problem in error.problems]
        ) from None


class Difference(NamedTuple):
    """One difference between two registers.

    Attributes:
        state: the postal code.
        nexus_type: physical, economic or marketplace.
        difference: "only_mine", "only_service", or the field that differs.
        mine: what the user's register has, as text; `None` where it has no such record.
        service: what the service has, likewise.
        record: the user's record; `None` for "only_service".
        listed: the service's record; `None` for "only_mine".
    """

    state: str
    nexus_type: NexusType
    difference: str
    mine: str | None
    service: str | None
    record: Registration | None
    listed: Registration | None


def differences(mine: Register, service: Register) -> pd.DataFrame:
    """Where the user's register and the service's differ, by state and type.

    Several records of one state and type are paired so that the fewest details differ. A record
    that is the same in both is left out.

    Returns:
        `state`, `nexus_type`, `difference` ("only_mine", "only_service", "registered_at",
        "address" or "notes"), `mine` and `service`: what each has, as text.
    """
    with needs("Differences as a frame", "pandas"):
        import pandas as pd  # noqa: PLC0415 - nexus works without it
    columns = Difference._fields[:5]
    rows = [found[:5] for found in found_differences(mine, service)]
    return pd.DataFrame(rows, columns=[*columns]).astype(text_dtype())


def found_differences(mine: Register, service: Register) -> list[Difference]:
    """The differences as values, with the records they are about."""
    own, listed = mine.groups(), service.groups()
    found: list[Difference] = []
    for key in sorted({*own, *listed}):
        for record, other in _paired(own.get(key, ()), listed.get(key, ())):
            found.extend(_between(record, other))
    return found


def _paired(
    mine: tuple[Registration, ...], service: tuple[Registration, ...]
) -> list[tuple[Registration | None, Registration | None]]:
    """Records of one state and type, each paired with the most similar one of the other side."""
    left, right = [*mine], [*service]
    pairs: list[tuple[Registration | None, Registration | None]] = []
    for most in range(len(DETAILS) + 1):
        for record in [*left]:
            like = next(
                (candidate for candidate in right if len(_unlike(record, candidate)) == most), None
            )
            if like is not None:
                left.remove(record)
                right.remove(like)
                pairs.append((record, like))
    return [
        *pairs,
        *((unpaired, None) for unpaired in left),
        *((None, unpaired) for unpaired in right),
    ]


def _unlike(record: Registration, listed: Registration) -> list[tuple[str, str, str]]:
    """The details that differ, with each side's text; blanks and line ends do not count."""
    sides = (_compared(record), _compared(listed))
    return [
        (name, own, other) for name, own, other in zip(DETAILS, *sides, strict=True) if own != other
    ]


def _compared(record: Registration) -> list[str]:
    texts = dict(zip(DETAILS, record.texts[2:], strict=True))
    return [compared(texts, name) or "" for name in DETAILS]


def _between(record: Registration | None, listed: Registration | None) -> list[Difference]:
    if record is not None and listed is not None:
        return [
            Difference(*record.key, name, mine, service, record, listed)
            for name, mine, service in _unlike(record, listed)
        ]
    if record is not None:
        return [Difference(*record.key, "only_mine", _details(record), None, record, None)]
    if listed is not None:
        return [Difference(*listed.key, "only_service", None, _details(listed), None, listed)]
    return []


def _details(record: Registration) -> str:
    """The details of a record, in one line."""
    return "; ".join(text for text in _compared(record) if text) or "no details"


@dataclass(frozen=True, slots=True)
class Abilities:
    """Whether a service lists records and adds them.

    Attributes:
        lists: whether the records can be listed.
        adds: whether a record can be added; `None` where the service does not describe it.
        note: whether a removal can be undone, in a sentence.
    """

    lists: bool
    adds: bool | None
    note: str

    @property
    def restores(self) -> bool | None:
        """Whether removed records can be added again, after listing what is there.

        `None` where that is not known before the first restore.
        """
        return self.adds if self.lists else False


class ListedRecords(NamedTuple):
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
    """Find out whether the service lists and adds, with GET requests alone.

    Listing is tried; whether it adds is read from its OpenAPI document, where it has one.

    Raises:
        SvcError: the service does not accept the key, or is not available now.
    """
    return abilities_given(client, list_records(client))


def abilities_given(client: Svc, listed: ListedRecords | None) -> Abilities:
    """What the service can do, given what it lists."""
    lists, adds = listed is not None, _described_addition(client)
    if lists and adds is not False:
        return Abilities(lists, adds, UNDO_NOTE if adds else UNKNOWN_UNDO_NOTE)
    lacks = [] if lists else ["list records"]
    lacks += ["add records"] if adds is False else []
    return Abilities(lists, adds, f"{NO_UNDO_NOTE} It does not {' and '.join(lacks)}.")


_TOTALS = ("total", "total_count")
_FURTHER = ("next", "next_page", "next_cursor", "next_page_token", "has_more")
"""Fields with which a service says that its list is one page of several."""


def _complete_list(client: Svc) -> NexusList | str:
    """The service's list of records; a sentence where it does not list them, or not all.

    Raises:
        SvcError: the call failed.
    """
    try:
        with address_checked(client):
            response = client.list_nexus()
    except WrongAddressError:
        raise  # nothing of the service is there: it may well list
    except SvcError as error:
        if error.status_code in ABSENT:
            return f"The service does not list nexus records (HTTP {error.status_code})"
        raise
    listed, more = len(response.nexus), response.model_extra or {}
    counts = [
        number for number in (response.count, *map(more.get, _TOTALS)) if isinstance(number, int)
    ]
    if (count := max(counts, default=0)) > listed:  # a part proves nothing of the rest
        part = f"{listed:,} of its {count:,} records"
        return f"The service lists {part}, which is not the whole register"
    if any(map(more.get, _FURTHER)):
        return f"The service lists {listed:,} records and has more, so it is not the whole register"
    return response


def list_records(client: Svc) -> ListedRecords | None:
    """The records that the service lists; `None` where it does not list them, or not all.

    Raises:
        SvcError: the call failed.
    """
    response = _complete_list(client)
    if isinstance(response, str):
        return None
    records: dict[tuple[str, str], tuple[Record, ...]] = {}
    for registration in response.nexus:
        record: Record = {
            name: None if value is None else str(value)
            for name, value in registration.model_dump().items()
        }
        key = (compared(record, "state") or "", compared(record, "nexus_type") or "")
        record |= {"state": key[0], "nexus_type": key[1]}
        records[key] = (*records.get(key, ()), record)
    return ListedRecords(records)


def compared(record: Mapping[str, object], name: str) -> str | None:
    """A field in normalized form: equal however a state, a day, a letter or a blank is written."""
    value = record.get(name)
    text = None if value is None else " ".join(normalize("NFC", str(value)).split()) or None
    if text is not None and name == "registered_at":
        with suppress(ValueError):
            return datetime.fromisoformat(text).date().isoformat()
    if text is not None and name == "state":
        return us_state(text) or text.upper()
    if text is not None and name == "nexus_type":
        return nexus_type_of(text) or text.lower()
    return text


def _described_addition(client: Svc) -> bool | None:
    """Whether the service's OpenAPI document has an addition of records.

    `None` where there is no document, or it has nothing of nexus records. The document is read
    leniently, whatever the service puts before its paths, and requested once: nothing else fails
    where it is missing.
    """
    outcome = wire.exchange_once(client, wire.Call("GET", "/openapi.json"))
    if not isinstance(outcome, Reply) or outcome.status != HTTPStatus.OK:
        return None
    try:
        document: Any = json.loads(outcome.body)
    except (ValueError, RecursionError):
        return None
    paths = document.get("paths") if isinstance(document, dict) else None
    address = wire.list_nexus_call().path
    about = [
        (f"{path}/".partition(f"{address}/")[2].strip("/"), [*map(str.lower, methods)])
        for path, methods in (paths.items() if isinstance(paths, dict) else ())
        if f"{address}/" in f"{path}/" and isinstance(methods, dict)
    ]
    if not about or any("$ref" in methods for _, methods in about):
        return None
    return any("post" in methods for below, methods in about if not below)
