"""The runners of frames, the embedded service, and the same rates over HTTP."""

from support.runners import by_frame, elsewhere, embedded, run, served

__all__ = ["by_frame", "elsewhere", "embedded", "run", "served"]
