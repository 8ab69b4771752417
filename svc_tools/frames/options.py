"""The options of a lookup, validated: every argument but the place and the date of the rows."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from svc_sdk import Svc
from svc_tools.frames.lookup_columns import DETAIL_COLUMNS, LOOKUP_COLUMNS
from svc_tools.places import GRAINS, time_zone

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo
    from pathlib import Path

    from svc_tools.frames.arrow import RateForm
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.places import Grain


ALWAYS = ("lookup_status", "lookup_error")
"""The columns that are always added, so that no failure is hidden."""

_CHOICES: dict[str, tuple[str, ...]] = {
    "errors": ("coerce", "raise"),
    "rates": ("decimal", "string", "float"),
    "as_of_grain": GRAINS,
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """See `SvcAccessor.lookup` for the meaning of each field.

    Raises:
        ValueError: a choice, a time zone or a column's name is not known.
        TypeError: an argument has the wrong type.
    """

    prefix: str = ""
    errors: Literal["coerce", "raise"] = "coerce"
    progress: bool = True
    rates: RateForm = "decimal"
    tz: str | tzinfo | None = None
    as_of_grain: Grain = "day"
    detail: bool = False
    columns: Sequence[str] | None = None
    client: Svc | None = None
    cache: CacheChoice = None
    locked: str | Path | None = None
    concurrency: int = 16
    deadline: float | None = None

    def __post_init__(self) -> None:
        """Validate every option."""
        for name, known in _CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                *most, last = map(repr, known)
                raise ValueError(
                    f"{name}: {value!r} is not known; expected {', '.join(most)} or {last}"
                )
        if self.client is not None and not isinstance(self.client, Svc):
            raise TypeError(f"client: expected svc_sdk.Svc, not {type(self.client).__name__}")
        if self.locked is not None and self.client is not None:
            raise ValueError(
                "locked and client: a locked lookup asks no service; leave one of them out"
            )
        object.__setattr__(self, "tz", time_zone(self.tz))
        object.__setattr__(self, "columns", _columns(self.columns, detail=self.detail))

    @property
    def zone(self) -> tzinfo | None:
        """The time zone in which moments have their date."""
        return time_zone(self.tz)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that will be added, in their order, without the prefix."""
        every = (*LOOKUP_COLUMNS, *(DETAIL_COLUMNS if self.detail else ()))
        return every if self.columns is None else tuple(self.columns)


def _columns(given: Any, *, detail: bool) -> tuple[str, ...] | None:  # noqa: ANN401 - checked here
    if given is None:
        return None
    known = (*LOOKUP_COLUMNS, *DETAIL_COLUMNS)
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(
            f"columns: expected a list of names such as ['combined_rate'], not {given!r}"
        )
    wanted = set(given)
    for name in wanted - set(known):
        close = difflib.get_close_matches(str(name), known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
        raise ValueError(f"columns: a lookup adds no column {name!r}; {hint}")
    needs = [name for name in DETAIL_COLUMNS if name in wanted]
    if needs and not detail:
        raise ValueError(f"columns: {needs[0]!r} comes with detail=True only")
    return tuple(name for name in known if name in wanted | set(ALWAYS))
