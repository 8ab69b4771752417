"""The runners of frames, the embedded service, and the same rates over HTTP."""

from support.runners import embedded, run, served

__all__ = ["embedded", "run", "served"]
