"""Frames: pandas in, pandas out."""

from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.enrich import LookupFailedError

__all__ = ["LookupFailedError", "SvcAccessor"]
