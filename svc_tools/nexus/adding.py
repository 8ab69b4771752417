"""Add one record to the register that the service keeps, without changing one that is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_sdk import SvcError
from svc_tools.nexus.ability import ABSENT
from svc_tools.nexus.listing import NotListedError, list_register
from svc_tools.nexus.register import NEXUS_TYPES
from svc_tools.nexus.register_file import nexus_type_of, read_register, state_of

if TYPE_CHECKING:
    from datetime import date

    from svc_sdk import Svc
    from svc_tools.nexus.register import Registration

__all__ = ["Added", "NotAddedError", "WouldChangeError", "add_record"]


class NotAddedError(ValueError):
    """The service does not add nexus records."""


class WouldChangeError(ValueError):
    """There is, or may be, a record of this state and type; adding would change it."""


@dataclass(frozen=True, slots=True)
class Added:
    """What was added.

    Attributes:
        record: the record as the service has it now.
        before: what it was; `None` where there was none.
        looked: whether the service could be asked what was there.
    """

    record: Registration
    before: Registration | None
    looked: bool


def add_record(
    client: Svc,
    state: str,
    *,
    nexus_type: str,
    registered_at: date | str | None = None,
    address: str | None = None,
    notes: str | None = None,
    update: bool = False,
) -> Added:
    """Add a record; one that is there is changed only with `update`, in the fields that are given.

    Args:
        client: of the service.
        state: its code or name.
        nexus_type: physical, economic or marketplace.
        registered_at: the day of the registration.
        address: the place that gives rise to it.
        notes: free text.
        update: change the record that is there.

    Raises:
        WouldChangeError: there is one, or the service does not list and so there may be one, and
            `update` was not given; nothing is sent.
        NotAddedError: the service does not add (404, 405).
        ValueError: the state or the type is none, or the date; nothing is sent.
        SvcError: the call failed (SPEC 7).
    """
    code, kind = state_of(state), nexus_type_of(nexus_type)
    if code is None:
        raise ValueError(f"state: {state!r} is no US state; expected a code or a name, such as TX")
    if kind is None:
        raise ValueError(f"nexus_type: {nexus_type!r} is none of {', '.join(NEXUS_TYPES)}")
    try:
        there = list_register(client).groups().get((code, kind), ())
        looked = True
    except NotListedError as error:
        if not update:
            raise WouldChangeError(
                f"{str(error).partition(';')[0]}, so whether {code} has a record of type {kind} is"
                " not known, and adding would change it: ask for an update to send it nevertheless"
            ) from None
        there, looked = (), False
    if there and not update:
        said = "; ".join(filter(None, there[0].texts[2:])) or "no details"
        raise WouldChangeError(
            f"{code} has a record of type {kind} already ({said}), which adding would change: ask"
            " for an update, or leave it"
        )
    try:
        answer = client.add_nexus(
            code, nexus_type=kind, registered_at=registered_at, address=address, notes=notes
        )
    except SvcError as error:
        if error.status_code in ABSENT:
            told = f"The service does not add nexus records (HTTP {error.status_code})"
            raise NotAddedError(f"{told}; nothing was added") from None
        raise
    record = read_register([answer.model_dump()]).records[0]
    return Added(record, there[0] if there else None, looked)
