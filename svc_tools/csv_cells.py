"""Cells of any length for Python's `csv` module, whose limit is global to the process."""

from __future__ import annotations

import csv
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_LONGEST = 2**31 - 1
_limit = threading.Lock()


@contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Let `csv` read cells of more than 131,072 characters within the block."""
    with _limit:
        before = csv.field_size_limit(_LONGEST)
        try:
            yield
        finally:
            csv.field_size_limit(before)
