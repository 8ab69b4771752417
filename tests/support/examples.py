"""How many examples a test tries: some in `make test`, all where SVC_TEST_ALL=yes, every night."""

from __future__ import annotations

import os

ALL = os.environ.get("SVC_TEST_ALL") == "yes"
_SHARE, _LEAST = 5, 6


def examples(count):
    """The examples of a property that has so many at night."""
    return count if ALL else min(count, max(_LEAST, count // _SHARE))


def some(cases, count):
    """So many cases of a long list, spread evenly, its first and last among them; at night all."""
    cases = list(cases)
    if ALL or len(cases) <= count:
        return cases
    return [cases[round(number * (len(cases) - 1) / (count - 1))] for number in range(count)]
