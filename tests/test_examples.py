"""How many examples the tests run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support import examples


def test_few_examples_run_unless_all_are_asked_for(monkeypatch):
    monkeypatch.setattr(examples, "ALL", False)
    assert examples.examples(15, of=60).max_examples == 15
    monkeypatch.setattr(examples, "ALL", True)
    assert examples.examples(15, of=60).max_examples == 60


@given(st.lists(st.sampled_from("abcde"), max_size=60), st.integers(1, 20))
def test_a_sample_of_a_table_is_in_order_and_has_every_kind(rows, few):
    table = [*enumerate(rows)]
    made = examples.spread(table, few, kind=lambda row: row[1])
    assert made == sorted(made)
    assert {kind for _, kind in made} == {*rows}
    assert len(made) >= min(few, len(rows))
    if not examples.ALL:
        assert len(made) <= few + len({*rows})
