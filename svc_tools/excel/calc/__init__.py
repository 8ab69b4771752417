"""LibreOffice Calc: the functions of the registry as an add-in, built as an extension (`.oxt`)."""

from __future__ import annotations

from svc_tools.excel.calc.extension import calc_name, write_addin

__all__ = ["calc_name", "write_addin"]
