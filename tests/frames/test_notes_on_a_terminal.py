"""What a lookup says on the way: wrapped at words for a person, one line each in a log."""

from __future__ import annotations

import sys

import pytest

from svc_tools.progress import say

NOTE = "state from column 'ship_to_state_or_province', zip from column 'ship_to_zip', as_of today"


@pytest.mark.parametrize(
    ("terminal", "lines"),
    [
        (False, [f"svc: {NOTE}"]),
        (
            True,
            [
                "svc: state from column",
                "     'ship_to_state_or_province', zip from",
                "     column 'ship_to_zip', as_of today",
            ],
        ),
    ],
)
def test_notes_are_wrapped_at_words_on_a_terminal_only(capsys, monkeypatch, terminal, lines):
    monkeypatch.setenv("COLUMNS", "44")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    say([NOTE])
    assert capsys.readouterr().err.splitlines() == lines
