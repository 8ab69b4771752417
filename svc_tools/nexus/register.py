"""The register of nexus records: what each says, several of one kind, and how it is shown.

A record has `state`, `nexus_type`, `registered_at`, `address` and `notes`; only the first two are
needed. `read_register` reads one, `list_register` asks the service for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from svc_tools.nexus.problems import ProblemsError
from svc_tools.shown import NOTHING, Table, as_html, as_text, counted, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

__all__ = [
    "FIELDS",
    "NEXUS_TYPES",
    "NexusType",
    "Register",
    "RegisterError",
    "Registration",
    "day_column",
]

NexusType = Literal["physical", "economic", "marketplace"]
NEXUS_TYPES: tuple[NexusType, ...] = ("physical", "economic", "marketplace")
"""The types of a record (SPEC 2.7)."""
FIELDS = ("state", "nexus_type", "registered_at", "address", "notes")
"""What a record holds (WIRE)."""

_HEADS = ("State", "Type", "Registered at", "Address", "Notes")


class RegisterError(ProblemsError):
    """The register cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of = "nexus register"


@dataclass(frozen=True, slots=True)
class Registration:
    """One record of the register.

    Attributes:
        state: the postal code of one of the 50 states or DC.
        nexus_type: physical, economic or marketplace.
        registered_at: the day from which it counts; `None` where the register does not say: it
            then counts for every sale.
        address: where the physical presence is, if the register says.
        notes: what else it says.
        row: the number of the record, from 1; a CSV's header is not counted.
    """

    state: str
    nexus_type: NexusType
    registered_at: date | None = None
    address: str | None = None
    notes: str | None = None
    row: int = 0

    @property
    def key(self) -> tuple[str, NexusType]:
        """What a removal addresses (SPEC 4.1): the state and the type."""
        return self.state, self.nexus_type

    @property
    def texts(self) -> tuple[str, str, str, str, str]:
        """The fields as texts, the date as ISO; "" for what is missing."""
        day = "" if self.registered_at is None else self.registered_at.isoformat()
        return self.state, self.nexus_type, day, self.address or "", self.notes or ""


def day_column(days: Iterable[date | None]) -> pd.Series[pd.Timestamp]:
    """Days, or what is missing, as a column of a frame: any year that a date can have."""
    import pandas as pd  # noqa: PLC0415 - nexus works without it

    texts = [day.isoformat() if isinstance(day, date) else "NaT" for day in days]
    return pd.Series(texts, dtype="object").astype("datetime64[s]")


@dataclass(frozen=True, slots=True)
class Register:
    """All records, in the register's own order; several of one state and type may be there."""

    records: tuple[Registration, ...]

    @property
    def states(self) -> frozenset[str]:
        """The states that have a record."""
        return frozenset(record.state for record in self.records)

    def begins(self, *of: NexusType) -> dict[str, date | None]:
        """For each state the day of its first record of these types, or of any.

        `None` where one of them has no day.
        """
        days: dict[str, list[date | None]] = {}
        for record in self.records:
            if record.nexus_type in (of or NEXUS_TYPES):
                days.setdefault(record.state, []).append(record.registered_at)
        return {
            state: None if None in found else min(day for day in found if day is not None)
            for state, found in days.items()
        }

    def groups(self) -> dict[tuple[str, NexusType], tuple[Registration, ...]]:
        """The records by state and type, in order."""
        found: dict[tuple[str, NexusType], tuple[Registration, ...]] = {}
        for record in self.records:
            found[record.key] = (*found.get(record.key, ()), record)
        return found

    def duplicates(self) -> dict[tuple[str, NexusType], tuple[Registration, ...]]:
        """The states and types with several records: a removal would take them all (SPEC 4.1)."""
        return {key: records for key, records in self.groups().items() if len(records) > 1}

    def frame(self) -> pd.DataFrame:
        """The records as a frame with `FIELDS`; `registered_at` holds days, or NaT."""
        import pandas as pd  # noqa: PLC0415 - nexus works without it

        frame = pd.DataFrame(
            [
                (one.state, one.nexus_type, one.registered_at, one.address, one.notes)
                for one in self.records
            ],
            columns=[*FIELDS],
        )
        return frame.assign(registered_at=day_column(frame["registered_at"])).astype(
            {name: "str" for name in FIELDS if name != "registered_at"}
        )

    def write(self, path: str | Path) -> Path:
        """Write it as a CSV that `read_register` reads back, and a spreadsheet does not rewrite.

        Raises:
            ValueError: it has the name of a workbook.
            OSError: it cannot be written; a file that was there is left as it was.
        """
        from svc_tools.nexus.sheet import guarded, write_rows  # noqa: PLC0415 - who writes needs it

        path = Path(path)
        rows = [[*one.texts[:3], *map(guarded, one.texts[3:])] for one in self.records]
        write_rows(path, FIELDS, rows)
        return path

    @property
    def sentence(self) -> str:
        """How many records there are, and which states and types have several."""
        told = f"{counted(len(self.records), 'record')} in {counted(len(self.states), 'state')}"
        several = ", ".join(f"{state} {kind}" for state, kind in self.duplicates())
        return f"{told}; several of one kind: {several}." if several else f"{told}."

    def __str__(self) -> str:
        """The register as text."""
        return as_text(self.sentence, (), self._tables)

    def __repr__(self) -> str:
        """One line: the counts."""
        return f"<Register: {self.sentence}>"

    def _repr_html_(self) -> str:
        return as_html(self.sentence, (), self._tables)

    @property
    def _tables(self) -> tuple[Table, ...]:
        rows = [tuple(plain(cell) or NOTHING for cell in one.texts) for one in self.records]
        return (Table("Nexus register", _HEADS, tuple(rows)),) if rows else ()
