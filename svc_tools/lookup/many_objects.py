"""Making many objects at once."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["all_stay"]


@contextmanager
def all_stay() -> Iterator[None]:
    """The objects that are made in the block all stay: nobody looks for garbage among them.

    Looking would double what they cost, and the more so the more a notebook holds already.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
