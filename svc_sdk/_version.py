"""The version of the distribution and of the client's `User-Agent` (one home, SPEC 9)."""

__version__ = "0.3.0"
