"""Reasons that differ only in the cell they quote are counted as one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from svc_tools.lookup.outcomes import counted_alike


def test_one_value_is_told_as_it_is():
    reason = "zip: 'O8101' is not a ZIP; expected five digits such as 78701"
    assert counted_alike([("invalid", reason, 5)]) == [("invalid", reason, 5)]


def test_the_same_words_under_another_status_stay_apart():
    reasons = [("invalid", "zip: 'a' is bad", 1), ("failed", "zip: 'b' is bad", 2)]
    assert counted_alike(reasons) == [reasons[1], reasons[0]]


def test_what_is_not_quoted_at_the_beginning_stays_apart():
    reasons = [("unresolved", f"ZIP {zip5} is not in Florida", 1) for zip5 in ("30705", "30301")]
    assert counted_alike(reasons) == reasons


@given(st.lists(st.tuples(st.text(max_size=9), st.integers(1, 99)), min_size=1))
def test_any_cells_are_one_reason_and_no_row_is_lost(cells):
    told = dict(cells)
    ((_, reason, rows),) = counted_alike(
        ("invalid", f"zip: {value!r} is not a ZIP", count) for value, count in told.items()
    )
    assert rows == sum(told.values())
    most = max(told, key=told.__getitem__)
    assert reason.startswith(f"zip: {most!r}")
    assert (f"(and {len(told) - 1:,} other value" in reason) is (len(told) > 1)
