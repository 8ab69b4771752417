"""What every part of the accessor stands on: the frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OnFrame"]


class OnFrame:
    """Methods of one frame, which they never change."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
