"""What a file of a person has wrong: told as one sentence, and whole also from another process."""

from __future__ import annotations

import pickle

import pytest

from svc_tools.nexus import PlanError, RegisterError, ThresholdsError

PROBLEMS = [f"row {row}: nothing is right" for row in range(1, 13)]


@pytest.mark.parametrize("kind", [PlanError, RegisterError, ThresholdsError])
def test_every_problem_survives_the_way_to_another_process(kind):
    error = kind(PROBLEMS)
    assert str(error).endswith("row 10: nothing is right; and 2 more problems")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert again.problems == tuple(PROBLEMS)
    assert str(again) == str(error)
