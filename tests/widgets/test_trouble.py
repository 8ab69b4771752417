"""Every error is a sentence with what to do, and the reference that support asks for."""

from __future__ import annotations

import errno

import pytest

import svc_sdk
from svc_sdk import SvcError
from svc_tools.config import ConfigurationError
from svc_tools.widgets.parts import trouble_of

OF_SERVICE = [
    one
    for one in (getattr(svc_sdk, name) for name in svc_sdk.__all__ if name.endswith("Error"))
    if issubclass(one, SvcError)
]


@pytest.mark.parametrize("kind", OF_SERVICE)
def test_every_error_of_the_service_has_words_of_its_own_and_its_reference(kind):
    error = kind(
        "It is so",
        status_code=499,
        error_code="CODE",
        support_reference="req_1",
        response_body={},
        attempts=3,
    )
    said = trouble_of(error)
    assert said.reference == "req_1"
    assert "It is so (status 499, after 3 attempts)" in said.text
    assert said.title
    assert said.what_to_do.endswith(".")


def test_errors_of_the_service_can_be_told_apart():
    titles = {trouble_of(kind("x", error_code="C", status_code=500)).title for kind in OF_SERVICE}
    assert len(titles) == len(OF_SERVICE) - 1  # a plain SvcError reads as trouble of the service


def test_a_quota_a_delay_and_a_strange_page_say_what_helps():
    quota = svc_sdk.RateLimitError("x", status_code=429, error_code="QUOTA_EXCEEDED")
    assert "quota" in trouble_of(quota).title
    wait = svc_sdk.RateLimitError("x", status_code=429, error_code="C", retry_after=7)
    assert "Wait 7 seconds" in trouble_of(wait).what_to_do
    for delay, words in ((1, "Wait 1 second,"), (0.4, "Wait 1 second,"), (0, "Wait a moment,")):
        short = svc_sdk.RateLimitError("x", status_code=429, error_code="C", retry_after=delay)
        assert words in trouble_of(short).what_to_do
    page = svc_sdk.NotFoundError("x", status_code=404, response_body="<html>")
    assert "address of the service" in trouble_of(page).what_to_do
    gateway = svc_sdk.AuthError("x", status_code=401, response_body="<html>")
    assert "does not accept the key" in trouble_of(gateway).title
    assert trouble_of(gateway).text == "X (status 401)", "one attempt is not counted"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("zip: '787' is not a ZIP"), "'787' is not a ZIP"),
        (ConfigurationError("set the address"), "Set the address"),
        (FileNotFoundError(errno.ENOENT, "No such file", "orders.csv"), "No such file: orders.csv"),
        (PermissionError(errno.EACCES, "Denied", "out.csv"), "Denied: out.csv"),
        (OSError(errno.ENOSPC, "No space left", "out.csv"), "No space left: out.csv"),
        (ImportError("pip install x"), "Pip install x"),
        (KeyError("what"), "KeyError: 'what'"),
        (MemoryError(), "MemoryError"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_every_other_error_is_a_sentence_too(error, words):
    said = trouble_of(error)
    assert said.text == words
    assert said.title
    assert said.what_to_do.endswith(".")
    assert said.reference is None
