"""`%svc TX 78701` in a real IPython."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import parse_qsl, urlsplit

from support.faults import KEY, answer, certified, echo, serving

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "svc_tools")
shell.run_line_magic("reload_ext", "svc_tools")
for line in {lines!r}:
    shell.run_cell("result = %svc " + line)
    result = shell.user_ns.pop("result", None)
    if result is not None:
        html, _ = shell.display_formatter.format(result)
        print(result.combined_rate_string, "8.25%" in html["text/html"])
"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "Warning" not in done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr
    return done


def test_each_form_of_a_line_is_looked_up_and_shown_as_a_card(faults, monkeypatch):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", faults.base_url)
    queries = {
        "TX 78701": ("TX", {"zip": "78701"}),
        "78701": ("TX", {"zip": "78701"}),
        '"New York" 10001-1234': ("NY", {"zip": "10001-1234"}),
        "NJ 07030 2026-08-03": ("NJ", {"zip": "07030", "as_of": "2026-08-03"}),
        'CA "San Jose"': ("CA", {"location": "San Jose"}),
        "CA San Jose": ("CA", {"location": "San Jose"}),
        "WA 47.61,-122.33": ("WA", {"lat": "47.61", "lng": "-122.33"}),
        'TX "1100 Congress Ave, Austin 78701"': (
            "TX",
            {"address": "1100 Congress Ave, Austin 78701"},
        ),
        '"600 Congress Ave, Austin, TX"': ("TX", {"address": "600 Congress Ave, Austin, TX"}),
        '"Austin, TX"': ("TX", {"location": "Austin, TX"}),
    }
    done = run(SHELL.format(lines=list(queries)))
    assert done.stdout == "0.08250 True\n" * len(queries)
    asked = [urlsplit(seen.target) for seen in faults.seen]
    assert [(one.path[-2:], dict(parse_qsl(one.query))) for one in asked] == [*queries.values()]


def test_a_line_that_cannot_be_looked_up_is_one_line_of_error(service, monkeypatch):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", service)
    lines = ["", "TX", "TX 787", "TX 2024-05-01", "Nowhere 78701", 'TX "', "TX Xyzzyville", "42223"]
    done = run(SHELL.format(lines=lines))
    said = (done.stdout + done.stderr).strip().splitlines()
    assert len(said) == len(lines)
    for line in said[:5]:
        assert "%svc TX 78701" in line
    assert "too short" in said[2]
    assert "Nowhere" in said[4]
    assert "Support reference" in said[6]
    assert "KY and TN" in said[7]


def test_a_wrong_address_of_the_service_is_reported_as_such(service, monkeypatch):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", f"{service}/v1")
    done = run(SHELL.format(lines=["TX 78701"]))
    assert f"The address of the service is wrong: {service}/v1" in done.stdout + done.stderr


CORRECTED = """
import os
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "svc_tools")
shell.run_cell("result = %svc TX 78701")
os.environ |= {corrected!r}
shell.run_cell("result = %svc TX 78701")
print(shell.user_ns["result"].combined_rate_string)
"""


def test_a_variable_that_is_corrected_after_a_failure_takes_effect(tmp_path, monkeypatch):
    tls, certificate = certified(tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SVC_API_KEY", KEY)
    with serving(tls) as faults:
        monkeypatch.setenv("SVC_BASE_URL", faults.base_url)
        done = run(CORRECTED.format(corrected={"SSL_CERT_FILE": str(certificate)}))
        assert done.stdout == "0.08250\n"
        faults.will(answer(401), echo)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        done = run(CORRECTED.format(corrected={"SVC_API_KEY": "another-key"}))
        assert done.stdout == "0.08250\n"
        assert [seen.headers["x-api-key"] for seen in faults.seen[-2:]] == [KEY, "another-key"]


UNCONFIGURED = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "svc_tools")
shell.run_cell("one = %svc WA 47.61,-122.33")
shell.run_cell("two = %svc TX 78701")
print(shell.user_ns["one"].rate.state, shell.user_ns["two"].combined_rate_string)
"""


def test_with_nothing_configured_the_embedded_service_is_used_and_named_once():
    done = run(UNCONFIGURED)
    assert done.stdout.endswith("WA 0.08250\n")
    assert done.stdout.count("No service is configured") == 1
