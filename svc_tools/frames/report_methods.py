"""The part of `df.svc` that others get to see: reports and charts."""

from __future__ import annotations

from svc_tools.frames.on_frame import OnFrame

__all__ = ["ReportMethods"]


class ReportMethods(OnFrame):
    """Reports and charts of an enriched frame."""
