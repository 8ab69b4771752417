"""Excel over COM, for the table of all hosts."""

from __future__ import annotations

from support.com_stand_ins import com

__all__ = ["com"]
