"""What was decided for the person, said where progress is shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["say"]


def say(notes: Iterable[str]) -> None:
    """Print notes beside the progress bar, on standard error: the output stays the caller's."""
    for note in notes:
        print(f"svc: {note}", file=sys.stderr)  # noqa: T201 - said to the person, as tqdm does
