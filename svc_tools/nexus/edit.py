"""Add a registration to the service, or change one; each is a `Job`, with a receipt and its undo.

A record is identified by its state and type (SPEC 2.7), and what is sent for the same two updates
it (WIRE). So another state or type is another record: it is added, and then the former is removed.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from svc_tools import config
from svc_tools.nexus.job import Job
from svc_tools.nexus.register import DETAILS, FIELDS, NEXUS_TYPES, nexus_type_of
from svc_tools.nexus.requests import ApplyError, Change, details_in_words
from svc_tools.nexus.service import ListedRecords, list_records
from svc_tools.tables.dates import one_day
from svc_tools.tables.states import us_state

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Mapping
    from datetime import date
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.nexus.job import ItemProgress
    from svc_tools.nexus.receipt import Receipt
    from svc_tools.nexus.register import Record


def add_registration(
    client: Svc,
    state: str,
    *,
    nexus_type: str,
    registered_at: date | str | None = None,
    address: str | None = None,
    notes: str | None = None,
    unseen: bool = False,
    dry_run: bool = True,
    folder: str | Path | None = None,
    on_progress: ItemProgress | None = None,
    stop: threading.Event | None = None,
) -> Receipt:
    """Add a registration; one of its state and type that is there is never overwritten.

    Args:
        client: a client of the account.
        state: its code or name.
        nexus_type: physical, economic or marketplace.
        registered_at: the day of the registration.
        address: the place that gives rise to it.
        notes: free text.
        unseen: send it also where the service does not list its records, so that a record of this
            state and type that may be there would be changed.
        dry_run: only list; nothing is added, nothing is written.
        folder: where the receipt is written; the folder of receipts by default.
        on_progress: as for `apply_plan`.
        stop: as for `apply_plan`.

    Raises:
        ValueError: the state, the type or the date is not valid; nothing was sent.
        ApplyError: nothing was changed: there is such a record, the service does not list and
            `unseen` was not given, it does not add, the journal cannot be written, or another
            process is changing records.
        SvcError: nothing was changed: the service could not list its records.
    """
    key = _key(state, nexus_type)
    details = _details({"registered_at": registered_at, "address": address, "notes": notes})
    listed = list_records(client)
    if listed is None and not unseen:
        raise ApplyError(f"{_not_listed([key])}; send it unseen to add it nevertheless")
    refusal = "" if listed is None else _taken(key, listed, "edit it instead")
    job = Job(
        "add",
        _named(key, key, details),
        "",
        config.account_of(client),
        (Change(*key, "add", None, (), _record(key, details)),),
        refusal=refusal,
    )
    return job.do(client, folder, dry_run=dry_run, on_progress=on_progress, stop=stop)


def new_record(row: Mapping[str, date | str | None]) -> Record:
    """A registration as it would be sent: what is given is read, what is missing is `None`.

    Args:
        row: `state` and `nexus_type`; `registered_at`, `address` and `notes` where they are known.

    Raises:
        ValueError: the state, the type or the date is not valid.
    """
    key = _key(str(row.get("state") or ""), str(row.get("nexus_type") or ""))
    return _record(key, _details({name: row.get(name) or None for name in DETAILS}))


def add_registrations(
    client: Svc,
    rows: Iterable[Mapping[str, date | str | None]],
    *,
    dry_run: bool = True,
    folder: str | Path | None = None,
    on_progress: ItemProgress | None = None,
    stop: threading.Event | None = None,
) -> Receipt:
    """Add several registrations, with one receipt: one request for each, each sent once.

    Where there is a record of the same state and type, nothing is sent for that row, and the
    receipt says what is there.

    Args:
        client: a client of the account.
        rows: the registrations, as for `new_record`.
        dry_run: only list; nothing is added, nothing is written.
        folder: where the receipt is written; the folder of receipts by default.
        on_progress: as for `apply_plan`.
        stop: as for `apply_plan`.

    Raises:
        ValueError: there is no row, a state, type or date is not valid, or two rows are of the same
            state and type; nothing was sent.
        ApplyError: nothing was changed: the service does not list or add, the journal cannot be
            written, or another process is changing records.
        SvcError: nothing was changed: the service could not list its records.
    """
    records = [new_record(row) for row in rows]
    keys = [(record["state"] or "", record["nexus_type"] or "") for record in records]
    if not keys:
        raise ValueError("no registration was given; nothing was sent")
    if twice := sorted({" ".join(key) for key in keys if keys.count(key) > 1}):
        raise ValueError(f"several rows are of {', '.join(twice)}: leave one; nothing was sent")
    if list_records(client) is None:
        raise ApplyError(_not_listed(keys))
    job = Job(
        "add",
        f"{len(keys)} registrations {_digest(records)}",
        "",
        config.account_of(client),
        tuple(
            Change(*key, "add", None, (), record) for key, record in zip(keys, records, strict=True)
        ),
    )
    return job.do(client, folder, dry_run=dry_run, on_progress=on_progress, stop=stop)


def edit_registration(
    client: Svc,
    state: str,
    *,
    nexus_type: str,
    to_state: str | None = None,
    to_type: str | None = None,
    registered_at: date | str | None = None,
    address: str | None = None,
    notes: str | None = None,
    dry_run: bool = True,
    folder: str | Path | None = None,
    on_progress: ItemProgress | None = None,
    stop: threading.Event | None = None,
) -> Receipt:
    """Change a registration: what is given is changed, what is left out stays.

    A detail that is given as "" is cleared: the record is removed and added again then. With
    another state or type the new record is added first, and the former removed once it is there.

    Args:
        client: a client of the account.
        state: the state of the record as it is, its code or name.
        nexus_type: its type as it is.
        to_state: the state that it should have.
        to_type: the type that it should have.
        registered_at: the day of the registration; "" for none.
        address: the place that gives rise to it; "" for none.
        notes: free text; "" for none.
        dry_run: only list; nothing is changed, nothing is written.
        folder: where the receipt is written; the folder of receipts by default.
        on_progress: as for `apply_plan`.
        stop: as for `apply_plan`.

    Raises:
        ValueError: the state, the type or the date is not valid; nothing was sent.
        ApplyError: nothing was changed: there is no such record, or several; there is one of the
            other state and type; nothing would change; the service does not list or add; the
            journal cannot be written, or another process is changing records.
        SvcError: nothing was changed: the service could not list its records.
    """
    key = _key(state, nexus_type)
    other = _key(to_state or key[0], to_type or key[1])
    details = _details({"registered_at": registered_at, "address": address, "notes": notes})
    listed = list_records(client)
    if listed is None:
        raise ApplyError(
            "This service does not list its records, so what would be changed is not known. Nothing"
            " was changed"
        )
    found = listed.of(*key)
    if len(found) > 1:
        raise ApplyError(
            f"{key[0]} has {len(found)} records of type {key[1]}, and a change would be of one of"
            " them: remove the others with a plan first. Nothing was changed"
        )
    changes, refusal = _edits(key, other, details, listed)
    named = _named(key, other, details)
    account = config.account_of(client)
    job = Job("edit", named, "", account, changes, ordered=True, refusal=refusal)
    return job.do(client, folder, dry_run=dry_run, on_progress=on_progress, stop=stop)


_Key = tuple[str, str]


def _edits(
    key: _Key, other: _Key, details: Record, listed: ListedRecords
) -> tuple[tuple[Change, ...], str]:
    """The changes of an edit, and why not to make them, unless an earlier run is continued."""
    found, taken = listed.of(*key), listed.of(*other)
    missing = f"There is no {key[0]} {key[1]} on the service: add it instead"
    if not found and not taken:  # an earlier run may have removed it, and knows it
        pair = () if other == key else (Change(*key, "remove", None),)
        return (Change(*other, "add" if pair else "edit", None), *pair), missing
    former: Record = {name: (found or taken)[0].get(name) for name in FIELDS}
    record = former | details | {"state": other[0], "nexus_type": other[1]}
    if other != key:
        add = Change(*other, "add", None, (), record)
        remove = Change(*key, "remove", len(found), found)
        refusal = _taken(other, listed, "edit that record, or remove one of the two")
        return (add, remove), refusal if found else missing
    refusal = ""
    if record == former:
        refusal = f"{key[0]} {key[1]} is as given already ({details_in_words(former)})"
    return (Change(*key, "edit", None, found, record),), refusal


def _taken(key: _Key, listed: ListedRecords, what_to_do: str) -> str:
    """The sentence where a record of this state and type is there; "" where none is."""
    found = "; ".join(map(details_in_words, listed.of(*key)))
    return (
        f"{key[0]} has a record of type {key[1]} already ({found}): {what_to_do}" if found else ""
    )


def _key(state: str, nexus_type: str) -> _Key:
    code, kind = us_state(state), nexus_type_of(nexus_type)
    if code is None:
        raise ValueError(
            f"state: {state!r} is not a US state; expected a code or a name, such as TX"
        )
    if kind is None:
        raise ValueError(f"nexus_type: {nexus_type!r} is not one of {', '.join(NEXUS_TYPES)}")
    return code, kind


def _details(given: Mapping[str, date | str | None]) -> Record:
    """The details that are given, as on the wire; `None` for one that is to be cleared."""
    details: Record = {}
    for name, value in given.items():
        if value is None:
            continue
        text = value.strip() if isinstance(value, str) else value
        if name == "registered_at" and text:
            text = one_day(name, text)
        details[name] = str(text) or None
    return details


def _record(key: _Key, details: Record) -> Record:
    return dict.fromkeys(FIELDS) | {"state": key[0], "nexus_type": key[1]} | details


def _not_listed(keys: Iterable[_Key]) -> str:
    return (
        "This service does not list its records: whether it has"
        f" {', '.join(map(' '.join, keys))} is not known, and adding would change what is there."
        " Nothing was changed"
    )


def _named(key: _Key, other: _Key, details: Record) -> str:
    """Names an addition or edit: the same once more continues one that was broken off."""
    return f"{' '.join(key)} {_digest([key, other, sorted(details.items())])}"


def _digest(given: object) -> str:
    text = json.dumps(given).encode()
    return hashlib.blake2b(text, digest_size=6, person=b"svc edit").hexdigest()
