"""Memory of work that makes many objects: none of them is looked for as garbage meanwhile."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def all_stay() -> Iterator[None]:
    """Pause garbage collection while many objects are made, all of which will be used.

    It would double the time, and more the more objects a notebook holds already.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
