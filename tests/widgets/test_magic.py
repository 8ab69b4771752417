"""`%svc TX 78701` in a real IPython."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.faults import KEY

from svc_tools.widgets.magic import completions, parsed


@pytest.mark.parametrize(
    ("line", "state", "arguments"),
    [
        ("TX 78701", "TX", {"zip": "78701"}),
        ("78701", "TX", {"zip": "78701"}),
        ("new york 10001-1234", "NY", {"zip": "10001-1234"}),
        ('CA "San Jose"', "CA", {"location": "San Jose"}),
        ("CA San Jose", "CA", {"location": "San Jose"}),
        ("WA 47.61,-122.33", "WA", {"lat": 47.61, "lng": -122.33}),
        (
            'TX "1100 Congress Ave, Austin 78701"',
            "TX",
            {"address": "1100 Congress Ave, Austin 78701"},
        ),
    ],
)
def test_a_line_is_read_as_it_is_meant(line, state, arguments):
    place = parsed(line).place
    assert place.state == state
    assert place.arguments() == arguments
    assert str(parsed(f"{line} 2024-05-01").day) == "2024-05-01"


@pytest.mark.parametrize(
    "line", ["", "TX", "78", "TX 78", "TX 2024-05-01", "Nowhere 78701", 'TX "']
)
def test_a_line_that_is_none_says_what_is_expected(line):
    with pytest.raises(ValueError, match=r"expected|Give|ZIP|not a US state"):
        parsed(line)


def test_states_are_completed():
    assert completions("%svc T") == ["TN", "TX"]
    assert completions("%svc tex") == ["TX"]
    assert len(completions("%svc ")) == 51
    assert completions("%svc TX ") == []
    assert completions("%svc TX 787") == []


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "svc_tools")
assert "TX" in shell.complete("T", "%svc T", 6)[1]
done = shell.run_cell("answer = %svc TX 78701")
html, _ = shell.display_formatter.format(shell.user_ns["answer"])
print("8.25 %" in html["text/html"], shell.user_ns["answer"].combined_rate_string)
shell.run_cell("%svc TX 787")
shell.run_cell("%svc TX Xyzzyville")
"""


def test_it_works_in_ipython_and_shows_a_card_and_errors_as_one_line(service, monkeypatch):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", service)
    done = subprocess.run(
        [sys.executable, "-c", SHELL], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True 0.08250")
    assert "Traceback" not in done.stdout + done.stderr
    assert "too short" in done.stdout + done.stderr
    assert "Support reference" in done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr


UNCONFIGURED = """
import svc_tools
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "svc_tools")
shell.run_cell("one = %svc WA 47.61,-122.33")
shell.run_cell("two = %svc TX 78701")
print(shell.user_ns["one"].rate.state, shell.user_ns["two"].combined_rate_string)
"""


@pytest.mark.parametrize("chosen", [False, True])
def test_with_nothing_configured_the_embedded_service_answers_and_says_so_once(chosen):
    first = "client = svc_tools.connect('embedded')"
    script = UNCONFIGURED.replace(
        "import svc_tools", f"import svc_tools\n{first if chosen else ''}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("WA 0.08250\n")
    assert done.stdout.count("No service is configured: the embedded service answers.") == (
        0 if chosen else 1
    )
    assert "Warning" not in done.stdout + done.stderr
