"""A lock file says in ten years what it says today, or says that it cannot be trusted."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.answers import NOW, OUTCOMES, PAST, PLACES, SOURCE, found, ok, zip_place

from svc_tools.lookup import lock_file
from svc_tools.lookup.lock_file import (
    LockFileError,
    line_of,
    lock_lines,
    outcome_of,
    read_lock,
)
from svc_tools.lookup.outcomes import Component, Outcome
from svc_tools.lookup.reviewing import reasons_on
from svc_tools.tables.places import Place

FROZEN = datetime(2026, 5, 31, 18, 0, tzinfo=UTC)
NEXT = lock_file._VERSION + 1
UNDATED = Place("WA", "coordinates", lat=47.6205, lng=-122.3493)
PARTIAL = Outcome(
    "partial",
    "districts_not_covered",
    found(
        low=7000,
        high=8250,
        warnings=("districts_not_covered",),
        components=(Component("state", "Texas", "48", 6250), Component("city", "A", None, 1)),
    ),
    looked_up_at=NOW,
)
ANSWERS = {
    zip_place(78_702): ok(resolved_zip="78702"),
    zip_place(78_701): PARTIAL,
    UNDATED: ok(combined=10_350, city=3_100, resolved_state="WA"),
    Place("TX", "address", "1 Main St", "Nowhere", as_of=PAST): Outcome(
        "unresolved", "no such place", None, "req_1", "NOT_FOUND", NOW
    ),
    zip_place(1): Outcome("not_attempted", "interrupted"),
}


def text(answers=ANSWERS, **changes):
    values = {
        "full": {zip_place(78_701)},
        "frozen_at": FROZEN,
        "today": date(2026, 5, 20),
        "service": "https://rates.example",
        "source": SOURCE,
        "edition": None,
    }
    return "".join(lock_lines(answers, **(values | changes)))


def sealed(*lines):
    """Lines with the digest that belongs to them."""
    body = "".join(json.dumps(line) + "\n" for line in lines)
    return body + json.dumps({"sha256": hashlib.sha256(body.encode()).hexdigest()}) + "\n"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "2026-05.svclock"


def read(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_lock(path)


def test_what_was_frozen_is_read_again(path):
    lock = read(path, text())
    assert lock.frozen_at == FROZEN
    assert lock.today == date(2026, 5, 20)
    assert lock.source == SOURCE
    assert lock.name == "https://rates.example as frozen on 2026-05-31 (2026-05.svclock)"
    assert "2026-05-31" in lock.notes[0]
    kept = {place: one for place, one in ANSWERS.items() if one.status != "not_attempted"}
    assert lock.results == {
        place: dataclasses.replace(one, cached=True) for place, one in kept.items()
    }
    assert lock.full == {zip_place(78_701)}


def test_it_is_plain_text_in_the_specifications_words():
    head, *answers, last = [json.loads(line) for line in text().splitlines()]
    assert head == {
        "format": "svclock",
        "version": lock_file._VERSION,
        "frozen_at": "2026-05-31T18:00:00+00:00",
        "today": "2026-05-20",
        "service": "https://rates.example",
        "source": SOURCE.service,
        "account": SOURCE.account,
        "edition": None,
        "editions": ["2026-04"],
        "answers": 4,
    }
    assert list(last) == ["sha256"]
    (one,) = [line for line in answers if line["question"].get("zip") == "78701"]
    assert one["question"] == {"state": "TX", "mode": "zip", "zip": "78701", "as_of": "2024-05-01"}
    assert (one["status"], one["looked_up_at"]) == ("partial", "2026-05-20T17:30:01.234567+00:00")
    rates = {name: one["answer"][name] for name in ("combined_rate", "rate_low")}
    assert rates == {"combined_rate": "0.08250", "rate_low": "0.07000"}
    part = {"level": "state", "name": "Texas", "code": "48", "rate": "0.06250"}
    assert one["answer"]["components"][0] == part


@given(st.permutations(list(ANSWERS)))
def test_the_order_of_the_rows_does_not_matter(order):
    assert text({place: ANSWERS[place] for place in order}) == text()


def is_whole(value):
    """Whether no text ends in half a character: cells with one are refused, responses repaired."""
    return not re.search(r"\\ud[89a-f]", repr(value))


@given(PLACES.filter(is_whole), OUTCOMES.filter(is_whole), st.booleans())
def test_every_field_of_every_answer_survives(place, outcome, detail):
    back = outcome_of(json.dumps(line_of(place, outcome, detail=detail)).encode())
    assert back == (place, outcome, detail)
    assert repr(back[1]) == repr(outcome)


@given(st.data())
def test_one_changed_byte_is_refused(tmp_path_factory, data):
    content = bytearray(text().encode())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] = data.draw(st.integers(0, 255).filter(lambda new: new != content[position]))
    path = tmp_path_factory.getbasetemp() / "changed.svclock"
    with pytest.raises(LockFileError, match="changed"):
        read(path, bytes(content))


@given(st.integers(0, len(text()) - 1))
def test_a_file_that_was_cut_off_is_refused_wherever(tmp_path_factory, length):
    path = tmp_path_factory.getbasetemp() / "cut.svclock"
    with pytest.raises(LockFileError, match="cut"):
        read(path, text().encode()[:length])


def test_a_missing_or_doubled_line_is_refused(path):
    lines = text().splitlines(keepends=True)
    for changed in (lines[:2] + lines[3:], [*lines[:2], lines[1], *lines[2:]]):
        with pytest.raises(LockFileError, match="was changed"):
            read(path, "".join(changed))
    head, *answers, _ = [json.loads(line) for line in lines]
    with pytest.raises(LockFileError, match="should have 4 results and has 3"):
        read(path, sealed(head, *answers[1:]))
    with pytest.raises(LockFileError, match=r"line 3, has a place for the second time"):
        read(path, sealed(head | {"answers": 5}, answers[0], *answers))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"status": "fine"}, "status"),
        ({"status": None}, "status"),
        ({"question": None}, "question"),
        ({"question": {"state": "TX", "mode": "zip", "zip": 78701}}, "question.zip"),
        ({"question": {"state": "TX", "mode": "zip", "as_of": "May"}}, "question.as_of"),
        ({"question": {"state": "TX", "mode": "zip", "plus4": "1"}}, "question.plus4"),
        ({"looked_up_at": "2026-05-01T10:00:00"}, "looked_up_at"),
        ({"answer": {"combined_rate": 0.0825}}, "answer.combined_rate"),
        ({"answer": {"combined_rate": "8,25"}}, "answer.combined_rate"),
        ({"answer": {"state_rate": "0.01000"}}, "answer.combined_rate"),
        ({"answer": {"combined_rate": "0.01000", "freight_taxable": 1}}, "answer.freight_taxable"),
        ({"answer": {"combined_rate": "0.01000", "warnings": "none"}}, "answer.warnings"),
        (
            {"answer": {"combined_rate": "0.01000", "components": [{"rate": "0.01000"}]}},
            "answer.components.0.level",
        ),
        (
            {"answer": {"combined_rate": "0.1", "components": [{"level": "s", "name": "n"}]}},
            "answer.components.0.rate",
        ),
        ({"answer": {"combined_rate": "0.1", "freight_taxable": "yes"}}, "answer.freight_taxable"),
        ({"answer": {"combined_rate": "0.1", "source": 3}}, "answer.source"),
        ({"answer": {"combined_rate": "0.1", "warnings": [3]}}, "answer.warnings.0"),
        ({"answer": {"combined_rate": "0.1", "resolved_city": ["x"]}}, "answer.resolved_city"),
        ({"answer": "0.01000"}, "answer"),
        ({"surcharge": "0.01000"}, "surcharge"),
    ],
)
def test_what_is_no_result_is_refused_with_its_line_and_field(path, change, where):
    head, answer, *_ = [json.loads(line) for line in text().splitlines()]
    with pytest.raises(LockFileError, match=f"line 2, is not a result: {re.escape(where)}: "):
        read(path, sealed(head | {"answers": 1}, answer | change))


PART = {"level": "state", "name": "Texas", "rate": "0.01000"}
GOOD = {"combined_rate": "0.08250"}
RATES = ("combined_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")


@pytest.mark.parametrize(
    "rate", ["-0.01000", "-0.00001", "1.00000", "2.5", "184467440737095.5", "8.25"]
)
@pytest.mark.parametrize("name", [*RATES, "rate_low", "rate_high", "components"])
def test_a_rate_that_no_response_may_have_is_refused(path, name, rate):
    head, answer, *_ = [json.loads(line) for line in text().splitlines()]
    value = [{"level": "city", "name": "A", "rate": rate}] if name == "components" else rate
    line = answer | {"status": "ok", "answer": GOOD | {name: value}}
    with pytest.raises(LockFileError, match=f"line 2, is not a result: answer.{name}.*fraction"):
        read(path, sealed(head | {"answers": 1}, line))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": GOOD | {"resolved_state": "NY"}}, "for NY, not for TX"),
        ({"answer": GOOD | {"resolved_zip": "10001"}}, "for ZIP 10001, not for 78701"),
        ({"answer": None}, "ok without a rate"),
        ({"status": "unresolved"}, "unresolved with a rate"),
        ({"status": "partial"}, "partial with these warnings: none"),
        ({"answer": GOOD | {"warnings": ["local_rates_not_covered"]}}, "ok with these warnings"),
        ({"answer": GOOD | {"confidence": "none"}}, "confidence none"),
        ({"answer": GOOD | {"rate_low": "0.07000"}}, "between"),
        ({"answer": GOOD | {"rate_low": "0.09000", "rate_high": "0.09500"}}, "between"),
        ({"answer": GOOD | {"city_rate": "0.09000"}}, "parts of the rate"),
        ({"looked_up_at": "0001-01-01T00:00:00+10:00"}, "looked_up_at"),
        ({"looked_up_at": "9999-12-31T23:00:00-10:00"}, "looked_up_at"),
        ({"question": {"state": "TX", "mode": "coordinates", "lat": float("nan")}}, "latitude"),
        ({"question": {"state": "TX", "mode": "coordinates", "lng": 10**400}}, "longitude|lng"),
    ],
)
def test_a_result_that_no_response_gives_for_its_place_is_refused(path, change, problem):
    head, *_ = [json.loads(line) for line in text().splitlines()]
    place = {"state": "TX", "mode": "zip", "zip": "78701"}
    line = {"question": place, "status": "ok", "answer": GOOD}
    assert read(path, sealed(head | {"answers": 1}, line)).results
    with pytest.raises(LockFileError, match=f"line 2, is not a result: .*{problem}"):
        read(path, sealed(head | {"answers": 1}, line | change))


PARTS = {"state_rate": "0.06250", "county_rate": "0.00000", "city_rate": "0.01000"}


@pytest.mark.parametrize(
    ("parts", "warned"),
    [
        (PARTS | {"combined_district_rate": "0.01000"}, False),
        (PARTS | {"combined_district_rate": "0.00000"}, True),
        (PARTS | {"combined_district_rate": "0.01000", "state_rate": "0.01000"}, True),
        (PARTS, False),  # the districts may be the rest
        ({}, False),
    ],
)
def test_parts_that_do_not_add_up_are_warned_of_as_in_a_response(path, parts, warned):
    head, answer, *_ = [json.loads(line) for line in text({zip_place(78_701): ok()}).splitlines()]
    line = answer | {"answer": GOOD | parts}
    (outcome,) = read(path, sealed(head, line)).results.values()
    assert ("parts_do_not_add_up" in outcome.found.warnings) == warned
    assert (reasons_on(outcome)[:1] == ("parts_do_not_add_up",)) == warned


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": {"state": "TX", "mode": "zip", "zip": "78701", "foo": "1"}}, "newer release"),
        ({"answer": {"combined_rate": "2.50000"}}, "answer.combined_rate: rate is 2.50000"),
        ({"answer": GOOD | {"surcharge": "0.01000"}}, "answer.surcharge: not known"),
        ({"answer": GOOD | {"combined": 1}}, "answer.combined: not known"),
        ({"answer": GOOD | {"level": "state"}}, "answer.level: not known"),
        (
            {"answer": GOOD | {"components": [PART | {"source": "x"}]}},
            "answer.components.0.source: not known",
        ),
        (
            {"answer": GOOD | {"components": [PART, PART | {"fips": "x"}]}},
            "answer.components.1.fips: not known",
        ),
    ],
)
def test_a_line_is_refused_in_words_of_this_program(path, change, message):
    head, answer, *_ = [json.loads(line) for line in text().splitlines()]
    with pytest.raises(LockFileError, match=re.escape(message)) as caught:
        read(path, sealed(head | {"answers": 1}, answer | {"status": "ok"} | change))
    assert "Value error" not in str(caught.value)
    assert "keyword" not in str(caught.value)


def test_what_an_editor_put_before_the_first_line_is_a_change(path):
    body = text().encode().splitlines(keepends=True)
    body[0] = b"\xef\xbb\xbf" + body[0]
    body[-1] = b'{"sha256": "%s"}\n' % hashlib.sha256(b"".join(body[:-1])).hexdigest().encode()
    with pytest.raises(LockFileError, match=r"2026-05\.svclock was changed since"):
        read(path, b"".join(body))


def test_the_name_of_the_service_has_no_control_characters(path):
    lock = read(path, text(service="\x1b[31mrates\r\n", edition="2026\x07"))
    shown = (lock.name, lock.edition, *lock.notes)
    assert all(one.isprintable() for one in shown)
    assert "rates" in lock.name


DEEP = b"[" * 100_000


@pytest.mark.parametrize("number", [0, 1, -1])
def test_a_line_nested_without_end_is_refused(path, number):
    lines = text().encode().splitlines()[:-1]
    if number >= 0:
        lines[number] = b'{"question": %s%s}' % (DEEP, b"]" * len(DEEP))
    body = b"".join(line + b"\n" for line in lines)
    digest = b'{"sha256": "%s"}\n' % hashlib.sha256(body).hexdigest().encode()
    with pytest.raises(LockFileError) as caught:
        read(path, body + (digest if number >= 0 else DEEP + b"\n"))
    assert ": :" not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["", "a,b\n1,2\n", "[]\n{}\n", '{"format": "other"}\n{}\n', "\0"]
)
def test_another_file_is_refused(path, content):
    with pytest.raises(LockFileError, match="is not a lock file"):
        read(path, content)


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ({"today": "?"}, "not a lock file that can be read"),
        ({"frozen_at": None}, "not a lock file that can be read"),
        ({"frozen_at": "soon"}, "not a lock file that can be read"),
        ({"frozen_at": "0001-01-01T00:00:00+10:00"}, "frozen_at"),
        ({"frozen_at": "2026-05-31T18:00:00"}, "frozen_at"),
        ({"today": 20260520}, "today"),
        ({"edition": 2026}, "edition"),
        ({"edition": ["2026"]}, "edition"),
        ({"service": None}, "service"),
        ({"source": {}}, "source"),
        ({"account": 7}, "account"),
        ({"answers": "4"}, "answers"),
        ({"version": NEXT}, f"version {NEXT}; this release reads version {NEXT - 1}"),
    ],
)
def test_a_head_that_cannot_be_read_is_refused(path, head, problem):
    first, *answers, _ = [json.loads(line) for line in text().splitlines()]
    with pytest.raises(LockFileError, match=problem):
        read(path, sealed(first | head, *answers))


@pytest.mark.parametrize("ahead", [{"minutes": 4}, {"minutes": 6}, {"days": 365}])
def test_results_dated_after_now_are_refused(path, ahead):
    later = datetime.now(UTC) + timedelta(**ahead)
    for content in (text(frozen_at=later), text({zip_place(78_701): ok(later)})):
        if ahead == {"minutes": 4}:  # the clocks of two machines
            assert read(path, content).results
        else:
            with pytest.raises(LockFileError, match=str(later.date())):
                read(path, content)


def test_what_is_not_in_it_is_not_attempted_and_says_why(path):
    lock = read(path, text())
    absent, simple, there = zip_place(99_999), zip_place(78_702), zip_place(78_701)
    outcomes = lock.outcomes([absent, simple, there], detail=True)
    assert outcomes[there].found.combined == 8250
    assert (outcomes[absent].status, outcomes[simple].status) == ("not_attempted",) * 2
    assert "2026-05.svclock" in outcomes[absent].error
    assert "with details" in outcomes[simple].error
    assert lock.outcomes([simple], detail=False)[simple].status == "ok"
    assert absent not in lock.results
