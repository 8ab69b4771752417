"""The register that cells show: listed once a day, and by a refresh."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from svc_tools.excel.cell_errors import NotAvailableError
from svc_tools.excel.lookups import in_a_sentence
from svc_tools.excel.memory import CALM
from svc_tools.lookup.cache_keeping import LocalDays

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from svc_sdk import Svc
    from svc_tools.nexus.register import Register

__all__ = ["RegisterKept"]


class RegisterKept:
    """The register of one account; threads that want it at once share one request."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._days = LocalDays()
        self._kept: tuple[Register, datetime] | None = None
        self._failed_at: datetime | None = None
        self._why = ("", "")

    def told(self, client: Callable[[], Svc]) -> Register:
        """The register, as it was listed this day.

        Raises:
            NotAvailableError: it cannot be listed.
        """
        if (register := self._current) is not None:
            return register  # also while it is being listed anew
        with self._lock:
            register = self._current
            if register is None and not self._just_failed:
                register = self._listed(client)
            if register is None:
                why, word = self._why
                raise NotAvailableError(why, word)
            return register

    def renew(self, client: Callable[[], Svc]) -> str | None:
        """List it anew, where somebody has asked for it; the old one stays where that fails.

        Returns:
            Why that failed; `None` where it did not.
        """
        with self._lock:
            if self._kept is None and self._failed_at is None:
                return None
            return None if self._listed(client) is not None else self._why[0]

    @property
    def _current(self) -> Register | None:
        kept = self._kept
        return kept[0] if kept is not None and self._clock() < kept[1] else None

    @property
    def _just_failed(self) -> bool:
        return self._failed_at is not None and self._clock() < self._failed_at + CALM

    def _listed(self, client: Callable[[], Svc]) -> Register | None:
        from svc_tools.nexus.listing import (  # noqa: PLC0415 - few cells ask for it
            NotListedError,
            list_register,
        )
        from svc_tools.nexus.register import RegisterError  # noqa: PLC0415 - the same

        _, day_ends = self._days.of(self._clock())
        try:
            register = list_register(client())
        except NotListedError as error:
            self._fail(str(error), "UNSUPPORTED")
        except RegisterError as error:
            self._fail(str(error), "FAILED")
        except Exception as error:  # noqa: BLE001 - a cell has no other way to say what happened
            self._fail(in_a_sentence(error, "the nexus records could not be listed"), "FAILED")
        else:
            self._kept = register, day_ends
            return register
        return None

    def _fail(self, why: str, word: str) -> None:
        self._failed_at, self._why = self._clock(), (why, word)
