"""Where the key and the address come from, and what happens where they do not."""

from __future__ import annotations

import pytest
from support.faults import KEY, serving

import svc_tools
from svc_tools.config import EmbeddedSvc, service_name


def test_arguments_then_the_environment(monkeypatch):
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", "https://rates.example/")
    with svc_tools.connect() as client:
        assert client.base_url == "https://rates.example"
        assert service_name(client) == "https://rates.example"
    with svc_tools.connect(base_url="https://other.example", api_key="k") as client:
        assert client.base_url == "https://other.example"


def test_the_configured_key_travels(monkeypatch):
    with serving() as faults:
        monkeypatch.setenv("SVC_API_KEY", f" {KEY}\n")
        monkeypatch.setenv("SVC_BASE_URL", faults.base_url)
        with svc_tools.connect() as client:
            client.lookup("TX", zip="78701")
        assert faults.seen[0].headers["x-api-key"] == KEY


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"api_key": KEY}, "SVC_BASE_URL"),
        ({"base_url": "https://rates.example"}, "SVC_API_KEY"),
        ({"target": "prod"}, "'prod'"),
        ({"target": "embedded", "api_key": KEY}, "embedded"),
    ],
)
def test_half_a_configuration_is_an_error_that_says_what_to_set(arguments, said):
    with pytest.raises(svc_tools.ConfigurationError, match=said) as caught:
        svc_tools.connect(**arguments)
    assert KEY not in str(caught.value)


def test_nothing_configured_is_the_embedded_service_with_one_warning():
    with pytest.warns(UserWarning, match=r"EMBEDDED.*SVC_BASE_URL") as seen:
        client = svc_tools.connect()
    assert (len(seen), seen[0].filename) == (1, __file__)
    assert isinstance(client, EmbeddedSvc)
    client.close()


def test_the_embedded_service_keeps_running_between_clients():
    with svc_tools.connect("embedded") as first:
        address = first.base_url
        rate = first.lookup("CA", zip="94105").combined_rate_string
    with svc_tools.connect("embedded") as second:
        assert second.base_url == address
        assert second.lookup("CA", zip="94105").combined_rate_string == rate
        assert service_name(second) == "embedded service"
        assert len(second.book_digest) == 64


def test_nexus_records_of_the_embedded_service_outlast_the_client():
    with svc_tools.connect("embedded") as first:
        first.add_nexus("MT", notes="kept")
    with svc_tools.connect("embedded") as second:
        assert [one.notes for one in second.list_nexus("MT").nexus] == ["kept"]
        second.remove_nexus("MT")
