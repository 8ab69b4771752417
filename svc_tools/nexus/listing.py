"""The register as the service has it, and where it differs from one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from svc_tools.nexus.ability import whole_list
from svc_tools.nexus.apply_requests import FIELDS
from svc_tools.nexus.register import RegisterError
from svc_tools.nexus.register_file import read_register

if TYPE_CHECKING:
    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus.register import NexusType, Register, Registration

__all__ = ["Difference", "NotListedError", "differences", "found_differences", "list_register"]

_GIVE_YOUR_OWN = (
    "give your own register: a CSV with state, nexus_type, registered_at, address and notes"
)


class NotListedError(ValueError):
    """The service does not list nexus records; one's own register still works."""


def list_register(client: Svc) -> Register:
    """The account's nexus records as the service lists them, by state and type.

    Raises:
        NotListedError: the service does not list (404, 405), or lists only a part.
        RegisterError: a record that it lists cannot be understood.
        SvcError: the call failed (SPEC 7).
    """
    listed = whole_list(client)
    if isinstance(listed, str):
        raise NotListedError(f"{listed}; {_GIVE_YOUR_OWN}")
    try:
        return read_register([record.model_dump() for record in listed.nexus])
    except RegisterError as error:
        raise RegisterError(
            [f"as the service lists it, {told}" for told in error.problems]
        ) from None


class Difference(NamedTuple):
    """One difference between two registers.

    Attributes:
        state: the postal code.
        nexus_type: physical, economic or marketplace.
        difference: "only_mine", "only_service", or the field that differs.
        mine: what one's own register says, as text; `None` where it has no such record.
        service: what the service says, likewise.
        record: one's own record; `None` for "only_service".
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
    """Where one's own register and the service's differ, by state and type.

    Several records of one state and type are compared in such a way that the fewest differ. A
    record that both have alike is not in it.

    Returns:
        `state`, `nexus_type`, `difference` ("only_mine", "only_service", "registered_at",
        "address" or "notes"), `mine` and `service`: what each says, as text.
    """
    import pandas as pd  # noqa: PLC0415 - nexus works without it

    columns = Difference._fields[:5]
    rows = [found[:5] for found in found_differences(mine, service)]
    return pd.DataFrame(rows, columns=[*columns]).astype("str")


def found_differences(mine: Register, service: Register) -> list[Difference]:
    """The same as values, with the records they are about."""
    ours, theirs = mine.groups(), service.groups()
    found: list[Difference] = []
    for state, kind in sorted({*ours, *theirs}):
        key = (state, kind)
        pairs = _paired(ours.get(key, ()), theirs.get(key, ()))
        for record, listed in pairs:
            found.extend(_between(record, listed))
    return found


def _paired(
    mine: tuple[Registration, ...], service: tuple[Registration, ...]
) -> list[tuple[Registration | None, Registration | None]]:
    """Records of one state and type, each with the one of the other side most like it."""
    left, right = [*mine], [*service]
    pairs: list[tuple[Registration | None, Registration | None]] = []
    for most in range(len(FIELDS) + 1):
        for record in [*left]:
            like = next((one for one in right if len(_unlike(record, one)) == most), None)
            if like is not None:
                left.remove(record)
                right.remove(like)
                pairs.append((record, like))
    return [*pairs, *((one, None) for one in left), *((None, one) for one in right)]


def _unlike(record: Registration, listed: Registration) -> list[tuple[str, str, str]]:
    """The fields that differ, with what each side says; blanks and line ends do not count."""
    sides = (_compared(record), _compared(listed))
    return [
        (name, one, other) for name, one, other in zip(FIELDS, *sides, strict=True) if one != other
    ]


def _compared(record: Registration) -> list[str]:
    return [" ".join(text.split()) for text in record.texts[2:]]


def _between(record: Registration | None, listed: Registration | None) -> list[Difference]:
    if record is not None and listed is not None:
        return [
            Difference(*record.key, name, mine, service, record, listed)
            for name, mine, service in _unlike(record, listed)
        ]
    if record is not None:
        return [Difference(*record.key, "only_mine", _told(record), None, record, None)]
    if listed is not None:
        return [Difference(*listed.key, "only_service", None, _told(listed), None, listed)]
    return []


def _told(record: Registration) -> str:
    """What a record says beside its state and type."""
    return "; ".join(text for text in _compared(record) if text) or "no details"
