"""How many examples a test runs: few in `make test`, all with `SVC_TEST_ALL=yes`."""

from __future__ import annotations

import os

from hypothesis import settings

ALL = os.environ.get("SVC_TEST_ALL") == "yes"


def load_profile():
    """Set what a property test without `examples` runs: 25 examples, or the usual 100."""
    # no deadline: how long an example takes says how busy the machine is
    settings.register_profile("few", max_examples=25, deadline=None)
    settings.register_profile("all", max_examples=100, deadline=None)
    settings.load_profile("all" if ALL else "few")


def examples(few, *, of, **options):
    """Settings of a property test that runs a few of its examples, or all."""
    return settings(max_examples=of if ALL else few, **options)


def spread(rows, few, *, kind=None):
    """All rows of a large table, or a fixed sample: evenly spread, and with some of each kind."""
    rows = [*rows]
    if ALL or len(rows) <= few:
        return rows
    chosen = {number * len(rows) // few for number in range(few)}
    if kind is not None:
        first = {}
        for number, row in enumerate(rows):
            first.setdefault(kind(row), number)
        chosen.update(first.values())
    return [rows[number] for number in sorted(chosen)]
