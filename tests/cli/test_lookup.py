"""`svc-tools lookup`: readable by a person, JSON for a program, exit codes for a script."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pytest
from support.cards import doubtful
from support.command import start_python, svc_tools
from support.faults import ALIVE, GOOD, HANG, KEY, answer, echoing, serving
from support.systems import posix
from support.waiting import until


@pytest.fixture
def account():
    with serving() as faults:
        yield faults, {"SVC_API_KEY": KEY, "SVC_BASE_URL": faults.base_url}


def test_a_person_reads_rate_parts_confidence_and_source():
    done = svc_tools("lookup", "CA", "--zip", "94105", "--as-of", "2026-02-01", "--embedded")
    assert (done.returncode, done.stderr) == (0, "")
    for text in (
        *("8.625%", "State", "City", "Districts", "Confidence", "San Francisco", "2026-02-01"),
    ):
        assert text in done.stdout
    assert "embedded service" in done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
    assert "Candidates" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "rate"),
    [
        (("OR", "--zip", "97201"), "0.00%"),
        (("NJ", "--zip", "07030"), "6.625%"),
        (("WA", "--location", "Seattle", "--as-of", "2024-06-01"), "10.35%"),
        (("CA", "--lat", "34.0537", "--lng", "-118.2428"), "9.75%"),
        (("PA", "--address", "1 Market St", "--city", "Philadelphia"), "8.00%"),
        (("WA", "--location", "Seattle", "--period", "20221"), "10.25%"),
    ],
)
def test_every_mode_on_the_command_line(arguments, rate):
    done = svc_tools("lookup", *arguments, "--embedded")
    assert done.returncode == 0
    assert rate in done.stdout


@pytest.mark.parametrize(
    ("point", "said", "via"),
    [
        (("30.2672", "-97.7431"), None, "coordinates"),
        (("30.2700", "97.7400 W"), None, "coordinates"),
        (("30.27", "-97.74"), "fewer than four decimals", "zip5"),
        (("-97.7431", "30.2672"), "swapped", "zip5"),
        (("0", "0"), "a zero", "zip5"),
    ],
)
def test_a_point_beside_a_zip_decides_unless_it_cannot_be_exact(point, said, via):
    place = ("TX", "--zip", "78701", "--lat", point[0], "--lng", point[1])
    done = svc_tools("lookup", *place, "--embedded", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    meta = json.loads(done.stdout)["meta"]
    assert meta["resolved_via"] == via
    unused = [one for one in meta["warnings"] if one["code"] == "point_not_used"]
    assert [said in one["message"] for one in unused] == ([] if said is None else [True])
    for one in unused:  # in the words of the service
        assert one["message"].startswith("The coordinates were not used: ")
        assert one["message"].endswith(" The rate is that of ZIP 78701.")


@pytest.mark.parametrize(("lat", "coarse"), [("39", True), ("38.98", True), ("38.9800", False)])
def test_a_coarse_point_alone_decides_and_says_so(lat, coarse):
    done = svc_tools("lookup", "KS", "--lat", lat, "--lng", "-95.7000", "--embedded")
    assert done.returncode == 0
    assert ("(point_coarse)" in done.stdout) == coarse
    assert ("fewer than four decimals" in " ".join(done.stdout.split())) == coarse


def test_a_service_gets_a_point_alone_or_the_zip(account):
    faults, environment = account
    for lat in ("30.2672", "30.2"):
        place = ("TX", "--zip", "78701", "--lat", lat, "--lng", "-97.7431")
        done = svc_tools("lookup", *place, **environment)
        assert done.returncode == 0
        assert ("(point_not_used)" in done.stdout) == (lat == "30.2")
    assert [one.target for one in faults.seen] == [
        "/v1/tax/TX?lat=30.2672&lng=-97.7431",
        "/v1/tax/TX?zip=78701",
    ]


def test_a_full_answer_shows_components_and_candidates():
    done = svc_tools(
        *("lookup", "WA", "--zip", "98133", "--as-of", "2026-05-01", "--full", "--embedded")
    )
    components, candidates = done.stdout.split("Components\n")[1].split("Candidates")
    assert "6.50%" in components
    assert "4.05%" in components
    assert "2026Q2" in components
    assert "10.55%" in candidates
    assert "Shoreline" in candidates
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    "extra",
    [
        b'"components": null, "candidates": {}',
        b'"components": ["x", 1], "candidates": [null]',
        b'"components": [{"level": "[b]", "rate": "much", "source": {}}], "candidates": [{}, {}]',
        b'"components": [{"rate": 0.0625}], "candidates": [{"combined_rate": null, "why": 3}]',
    ],
)
def test_a_full_answer_of_another_make_is_shown_as_far_as_it_is_understood(account, extra):
    faults, environment = account
    faults.will(answer(body=GOOD.rstrip()[:-1] + b", " + extra + b"}"))
    done = svc_tools("lookup", "TX", "--zip", "78701", "--full", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "8.25%" in done.stdout
    assert "0.00%" not in done.stdout.partition("Service")[2]


def test_colour_is_for_meaning_never_for_digits_in_a_sentence():
    done = svc_tools("lookup", "CA", "--zip", "94105", "--embedded", FORCE_COLOR="1")
    assert "\x1b[" in done.stdout
    below = done.stdout.split("Confidence")[1]
    assert not re.search(r"\x1b\[[0-9;]*[1-9]m\d", below)


def test_rates_in_the_warnings_are_percentages_too():
    done = svc_tools("lookup", "GA", "--zip", "30349", "--as-of", "2026-05-01", "--embedded")
    said = " ".join(done.stdout.split())
    assert said.count("from 7.75% to 8.75%") == 1, "each warning once"
    assert not re.search(r"0\.0\d{4}", done.stdout)


def test_a_partial_rate_never_looks_whole():
    done = svc_tools("lookup", "LA", "--zip", "70601", "--embedded")
    assert "PARTIAL" in done.stdout
    assert "combined" not in done.stdout
    assert "0.00%" not in done.stdout
    assert done.stdout.count("  not known") == 3


@pytest.mark.parametrize(
    ("zip5", "code", "said"),
    [
        ("10001", 0, "confidence"),
        ("10006", 0, "above 20%"),
        ("10009", 0, "not its sum"),
        ("10012", 1, "no rate"),
        ("10013", 1, "no rate"),
        ("10015", 1, "no rate"),
    ],
)
def test_a_rate_that_may_be_wrong_says_so(account, zip5, code, said):
    faults, environment = account
    faults.will(doubtful)
    done = svc_tools("lookup", "NY", "--zip", zip5, **environment)
    assert (done.returncode, done.stderr) == (code, "")
    assert said in " ".join(done.stdout.split())
    assert ("!" in done.stdout) is (zip5 != "10012")


@pytest.mark.parametrize("option", [(), ("--full",), ("--json",)])
def test_a_rate_of_another_country_is_an_error_that_names_both_and_no_rate(account, option):
    faults, environment = account
    faults.will(echoing(rate={"country": "CA", "city": "Toronto"}))
    done = svc_tools("lookup", "TX", "--zip", "78701", *option, **environment)
    assert done.returncode == 1
    said = " ".join((done.stdout + done.stderr).split())
    assert "a rate of Canada (CA)" in said
    assert "the United States (US)" in said
    assert not re.search(r"8\.25|0\.08250", said)


def test_today_is_a_day_as_in_enrich(account):
    faults, environment = account
    asked = ("lookup", "GA", "--zip", "30303")
    for arguments in (asked, (*asked, "--as-of", "today")):
        done = svc_tools(*arguments, **environment)
        assert "today, " in done.stdout
    assert len({seen.target for seen in faults.seen}) == 1
    done = svc_tools(*asked, "--as-of", "today", "--period", "20243", **environment)
    assert (done.returncode, len(faults.seen)) == (2, 2)


def test_a_program_reads_json():
    done = svc_tools("lookup", "CA", "--zip", "94105", "--json", "--full", "--embedded")
    body = json.loads(done.stdout)
    assert body["rate"]["combined_rate"] == "0.08625"
    assert {"candidates", "components", "resolved_place"} <= set(body)


def test_a_scheduled_job_never_gets_the_embedded_service_by_accident():
    done = svc_tools("lookup", "CA", "--zip", "94105")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--embedded" in done.stderr
    assert "SVC_BASE_URL" in done.stderr


def test_a_configured_service_is_asked_with_the_key(account):
    faults, environment = account
    done = svc_tools("lookup", "TX", "--zip", "78701", **environment)
    assert done.returncode == 0
    assert "8.25%" in done.stdout
    assert faults.base_url in done.stdout
    assert faults.seen[0].headers["x-api-key"] == KEY
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("CA",), "exactly one"),
        (("CA", "--zip", "94105", "--location", "San Francisco"), "exactly one"),
        (("CA", "--zip", "94105", "--as-of", "03/04/2024"), "as_of"),
        (("CA", "--lat", "1"), "lng"),
        (("CA", "--zip", "94105", "--base-url", "http://127.0.0.1:1"), "--base-url"),
    ],
)
def test_a_command_that_cannot_be_right_is_exit_code_2(arguments, said):
    done = svc_tools("lookup", *arguments, "--embedded")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_text_from_a_service_is_shown_as_it_is(account):
    faults, environment = account
    body = (
        b'{"rate": {"combined_rate": null, "city": "[red]Austin[/red]", "state": "TX"},'
        b' "meta": {"confidence": "[b]", "warnings": ["look [twice]",'
        b' {"code": "odd", "message": "[link=x]y[/link]"}]}}'
    )
    faults.will(answer(body=body))
    done = svc_tools("lookup", "TX", "--zip", "78701", **environment)
    for text in ("[red]Austin[/red]", "[b]", "look [twice]", "[link=x]y[/link]", "no rate"):
        assert text in done.stdout
    assert "0.00%" not in done.stdout


@posix
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_is_said_and_has_the_exit_code_of_a_shell(account, how, code):
    faults, environment = account
    faults.will(HANG)
    command = ("-m", "svc_tools", "lookup", "TX", "--zip", "78701")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with start_python(*command, **pipes, env=os.environ | environment) as process:
        until(lambda: faults.seen, what="a request")
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert "Interrupted. Run the same command again." in err
    assert "Traceback" not in err


@posix
def test_on_a_terminal_an_interrupt_is_said_in_whole_words(account):
    faults, environment = account
    faults.will(HANG)
    command = ("-m", "svc_tools", "lookup", "TX", "--zip", "78701")
    environment = os.environ | environment | {"TERM": "xterm", "COLUMNS": "30"}
    screen, terminal = os.openpty()
    with start_python(*command, stdout=terminal, stderr=terminal, env=environment) as process:
        os.close(terminal)
        until(lambda: faults.seen, what="a request")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    lines = os.read(screen, 65_536).decode().split("\r\n")
    os.close(screen)
    assert "Interrupted. Run the same" in [line.rstrip() for line in lines]


EVIL = "\x1b]0;owned\x07\x1b[2J\r\x08\x7f\x9b1m\u202e\u2066\ud800\\[red]\u00f1"
RAW = {*"\x1b\x07\r\x08\x7f\x9b\u202e\u2066"}


def test_a_service_controls_no_terminal(account):
    faults, environment = account
    part = {"level": EVIL, "name": EVIL, "rate": EVIL, "source": EVIL, "note": EVIL}
    taken = {"name": EVIL, "county": EVIL, "combined_rate": EVIL, "why": EVIL}
    body = json.loads(GOOD) | {"components": [part], "candidates": [taken, taken]}
    body["rate"] |= {"city": EVIL, "zip": EVIL}
    body["meta"] |= dict.fromkeys(("confidence", "resolved_via", "source", "edition"), EVIL)
    body["meta"]["warnings"] = [EVIL, {"code": "odd", "message": EVIL}]
    faults.will(answer(body=json.dumps(body).encode()))
    command = ("lookup", "TX", "--zip", "78701", "--full")
    shown = svc_tools(*command, **environment)
    assert (shown.returncode, shown.stderr, RAW & set(shown.stdout)) == (0, "", set())
    for text in (r"\x1b[2J\r\x08\x7f\x9b1m\u202e\u2066\ud800", r"\[red]ñ"):
        assert text in "".join(shown.stdout.split())
    read = svc_tools(*command, "--json", **environment)
    assert not RAW & set(read.stdout)
    assert json.loads(read.stdout)["rate"]["city"] == EVIL


def test_an_error_of_a_service_controls_no_terminal(account):
    faults, environment = account
    error = {"error": {"code": EVIL, "message": EVIL, "support_reference": EVIL}}
    faults.health = ALIVE
    faults.will(answer(404, json.dumps(error).encode()))
    done = svc_tools("lookup", "TX", "--zip", "78701", "--json", **environment)
    assert (done.returncode, RAW & set(done.stderr + done.stdout)) == (1, set())
    assert r"\x1b[2J\r\x08\x7f\x9b1m\u202e\u2066\ud800\[red]ñ" in done.stderr
    message = json.loads(done.stdout)["error"]["message"]
    assert message == r"\x1b]0;owned\x07\x1b[2J\r\x08\x7f\x9b1m\u202e\u2066\ud800\[red]ñ"


def test_a_program_that_reads_json_gets_the_error_as_an_object(account):
    faults, environment = account
    error = b'{"error": {"code": "NOT_FOUND", "message": "no such ZIP"}}'
    faults.health = ALIVE
    faults.will(answer(404, error, x_request_id="ref-3"))
    done = svc_tools("lookup", "TX", "--zip", "99999", "--json", **environment)
    told = json.loads(done.stdout)["error"]
    assert (done.returncode, told["code"], told["status_code"]) == (1, "NOT_FOUND", 404)
    assert (told["message"], told["support_reference"]) == ("no such ZIP", "ref-3")
    assert "no such ZIP" in done.stderr
    done = svc_tools("lookup", "TX", "--zip", "78701", "--json")
    assert done.returncode == 2
    assert "SVC_BASE_URL" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize("path", ["/v1", "/v1/tax", "/api"])
def test_a_wrong_address_of_the_service_is_not_a_place_without_a_rate(service, path):
    environment = {"SVC_BASE_URL": f"{service}{path}", "SVC_API_KEY": KEY}
    street = ("TX", "--address", "600 Congress Ave", "--city", "Austin", "--zip", "78701")
    for place in (("78701",), street):
        done = svc_tools("lookup", *place, "--json", **environment)
        told = json.loads(done.stdout)["error"]
        assert done.returncode == 1
        assert told["message"].startswith(f"The address of the service is wrong: {service}{path}")
        assert f"{service}{path} has no health check" in " ".join(done.stderr.split())
        assert "does not exist" not in done.stderr


def test_a_proxy_that_wants_a_password_is_an_error_of_the_proxy(account):
    faults, variables = account
    faults.will(answer(407, b"", connection="close"))
    proxy = faults.base_url.removeprefix("http://")
    variables |= {"SVC_BASE_URL": "http://rates.company.example", "NO_PROXY": ""}
    variables |= {"HTTP_PROXY": f"http://me:secret@{proxy}", "http_proxy": f"me:secret@{proxy}"}
    done = svc_tools("lookup", "CA", "--zip", "94105", **variables)
    warned, _, error = done.stderr.partition("No result. ")
    assert done.returncode == 1
    assert warned.startswith("Warning. The API key travels unencrypted to rates.company.example")
    assert len(warned.splitlines()) == 1
    assert error.startswith(f"Could not connect to rates.company.example: the proxy {proxy} ")
    assert re.search("http_proxy=http://name:password@", error, re.IGNORECASE)
    assert "secret" not in done.stderr


@pytest.mark.parametrize(("city", "differs"), [("Austin", False), ("Dallas", True)])
def test_a_city_beside_a_zip_is_compared_with_the_answer(account, city, differs):
    faults, environment = account
    done = svc_tools("lookup", "TX", "--zip", "78701", "--city", city, **environment)
    assert done.returncode == 0
    assert "city=" not in faults.seen[0].target
    assert ("place_input_mismatch" in done.stdout) is differs
    assert ("of Austin, not of Dallas" in " ".join(done.stdout.split())) is differs
    done = svc_tools("lookup", "TX", "--zip", "78701", "--city", city, "--json", **environment)
    warnings = json.loads(done.stdout)["meta"]["warnings"]
    assert [one["customer_input_place"] for one in warnings] == ([city] if differs else [])


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        (("78701",), "/v1/tax/TX?zip=78701"),
        (("--zip", "78701"), "/v1/tax/TX?zip=78701"),
        (("MA", "--zip", "2134"), "/v1/tax/MA?zip=02134"),
        (("Austin, TX",), "/v1/tax/TX?location=Austin%2C%20TX"),
        (
            ("600 Congress Ave, Austin, TX 78701",),
            "/v1/tax/TX?address=600%20Congress%20Ave%2C%20Austin%2C%20TX%2078701",
        ),
        (
            ("600 Congress Ave", "--city", "Austin, TX"),
            "/v1/tax/TX?street=600%20Congress%20Ave&city=Austin%2C%20TX",
        ),
    ],
)
def test_a_place_that_names_its_state_needs_no_other(account, arguments, target):
    faults, environment = account
    done = svc_tools("lookup", *arguments, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    asked = faults.seen[0].target.replace("+", "%20").removesuffix("&mode=simple")
    assert asked.removesuffix("?mode=simple") == target


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give a place, such as 78701"),
        (("42223",), "state: it is missing, and ZIP 42223 lies in KY and TN"),
        (("00901",), "territory"),
        (("600 Congress Ave",), "neither a ZIP nor the end of the address names one"),
        (("--lat", "30", "--lng", "-97"), "state: give the state of the point"),
        (
            ("NJ", "--zip", "08102", "--city", "Philadelphia, PA"),
            "state: the city names PA, but ZIP 08102 lies in NJ",
        ),
        (("1 King St, Toronto, ON M5V 2T6",), "Canadian postal code"),
        (("78701", "--zip", "78702"), "zip: given twice, as '78701' and with --zip"),
        (("78701", "--location", "Austin"), "exactly one"),
    ],
)
def test_a_place_that_names_no_state_is_refused_before_any_request(account, arguments, said):
    faults, environment = account
    done = svc_tools("lookup", *arguments, **environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
    assert faults.seen == []


SPANS = {
    "code": "zip_spans_jurisdictions",
    "message": "The ZIP lies in several jurisdictions.",
    "lowest_combined_rate": "0.06250",
    "highest_combined_rate": "0.08250",
    "share": "0.9300",
}


@pytest.mark.parametrize(
    ("words", "variable", "reviewed"),
    [
        ((), "", False),
        (("--review-below", "0.98"), "", True),
        ((), "0.98", True),
        (("--review-below", "0.5"), "0.98", False),
    ],
)
def test_review_below_decides_whether_a_share_of_housing_is_enough(
    account, words, variable, reviewed
):
    faults, environment = account
    faults.will(echoing(warnings=[SPANS], confidence="medium"))
    environment |= {"SVC_REVIEW_BELOW": variable}
    done = svc_tools("lookup", "TX", "--zip", "78701", *words, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    assert ("93.00% of the ZIP's housing has this one" in shown) is reviewed
    assert ("The ZIP lies in several jurisdictions." in shown) is not reviewed
    assert "medium" in shown


def test_a_wrong_review_below_is_refused_before_anything_is_requested(account):
    faults, environment = account
    done = svc_tools("lookup", "TX", "--zip", "78701", "--review-below", "90%", **environment)
    assert done.returncode == 2
    assert "review_below: '90%' cannot be used; expected a share from 0 to 0.98" in done.stderr
    done = svc_tools("lookup", "TX", "--zip", "78701", **environment, SVC_REVIEW_BELOW="90%")
    assert done.returncode == 2
    assert "SVC_REVIEW_BELOW is '90%'; expected a share" in done.stderr
    assert faults.seen == []


def test_a_full_answer_shows_the_share_of_housing_of_each_candidate(account):
    faults, environment = account
    extra = b'"candidates": [{"name": "A", "combined_rate": "0.08250", "share": "0.9300"},'
    extra += b'{"name": "B", "combined_rate": "0.06250", "share": null}]'
    faults.will(answer(body=GOOD.rstrip()[:-1] + b", " + extra + b"}"))
    done = svc_tools("lookup", "TX", "--zip", "78701", "--full", **environment)
    candidates = done.stdout.split("Candidates")[1]
    assert "Housing" in candidates
    assert "93.00%" in candidates
