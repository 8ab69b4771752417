"""Where the key and the address come from, and what happens where they do not."""

from __future__ import annotations

import asyncio
import re

import pytest
from support.faults import KEY, serving
from typer.testing import CliRunner

import svc_tools
from svc_tools.cli.app import app
from svc_tools.config import EmbeddedSvc, service_name, source_of
from svc_tools.lookup.key_check import check_key
from svc_tools.lookup.troubles import explained
from svc_tools.show.codes import CODES
from svc_tools.widgets.session import Session


def test_arguments_then_the_environment(monkeypatch):
    with serving() as faults:
        monkeypatch.setenv("SVC_API_KEY", f" {KEY}\n")
        monkeypatch.setenv("SVC_BASE_URL", f"{faults.base_url}/")
        with svc_tools.connect() as client:
            client.lookup("TX", zip="78701")
            assert client.base_url == service_name(client) == faults.base_url
        assert faults.seen[0].headers["x-api-key"] == KEY
        with svc_tools.connect(base_url="https://other.example", api_key="k") as client:
            assert client.base_url == "https://other.example"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"api_key": KEY}, "SVC_BASE_URL"),
        ({"base_url": "https://rates.example"}, "SVC_API_KEY"),
        ({"target": "prod"}, "'prod'"),
        ({"target": "embedded", "api_key": KEY}, "embedded"),
    ],
)
@pytest.mark.parametrize("connect", [svc_tools.connect, svc_tools.aconnect])
def test_half_a_configuration_is_an_error_that_says_what_to_set(connect, arguments, said):
    with pytest.raises(svc_tools.ConfigurationError, match=said) as caught:
        connect(**arguments)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("connect", [svc_tools.connect, svc_tools.aconnect])
def test_timeout_and_retries_hold_for_every_kind_of_client(connect):
    given = {"timeout": 2.5, "max_retries": 1}
    with pytest.warns(UserWarning, match="EMBEDDED"):
        clients = [connect(**given)]
    clients += [connect("embedded", **given)]
    clients += [connect(api_key=KEY, base_url="https://rates.example", **given)]
    for client in clients:
        assert (client._settings.timeout, client._settings.max_retries) == (2.5, 1)
        asyncio.run(client.aclose()) if connect is svc_tools.aconnect else client.close()


@pytest.mark.parametrize(
    ("key", "url"), [("https://rates.example", KEY), (KEY, KEY), ("k", f"https://{KEY}:{KEY}")]
)
def test_a_key_as_address_is_reported_without_the_key(monkeypatch, key, url):
    for connect in (svc_tools.connect, svc_tools.aconnect):
        with pytest.raises(svc_tools.ConfigurationError, match="SVC_BASE_URL") as caught:
            connect(api_key=key, base_url=url)
        assert KEY not in str(caught.value)
    with pytest.raises(svc_tools.ConfigurationError) as caught:
        svc_tools.connect(KEY)
    assert KEY not in str(caught.value)
    monkeypatch.setenv("SVC_BASE_URL", url)
    assert svc_tools.config.address() is None
    for given in ({}, {"SVC_API_KEY": key}):
        run = CliRunner().invoke(app, ["lookup", "TX", "--zip", "78701"], env=given)
        assert (run.exit_code, KEY in run.output) == (2, False)
        panel = svc_tools.panel()
        assert KEY not in str(panel.get_state())


UNUSABLE = [
    ("HTTPS_PROXY", "http://me:pa/ss\u00df@proxy.example:8080"),
    ("ALL_PROXY", "socks4://me:pass\u00df@proxy.example"),
    ("SSL_CERT_FILE", "/none/company.pem"),
    ("SSL_CERT_DIR", "/none"),
]


@pytest.mark.parametrize(("name", "value"), UNUSABLE)
def test_proxies_and_certificates_that_cannot_be_used_are_a_fault_of_the_configuration(
    tmp_path, monkeypatch, name, value
):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)  # it goes before SSL_CERT_DIR
    account = {"SVC_API_KEY": KEY, "SVC_BASE_URL": "https://rates.example"}
    for one, text in (account | {name: value}).items():
        monkeypatch.setenv(one, text)
    for connect in (svc_tools.connect, svc_tools.aconnect):
        with pytest.raises(svc_tools.ConfigurationError, match=name) as caught:
            connect()
        assert "\u00df" not in str(caught.value)
    assert name in str(Session().configuration_error)
    (tmp_path / "orders.csv").write_text("state,zip,order_date,amount\nTX,78701,2026-02-01,9\n")
    orders, enriched = str(tmp_path / "orders.csv"), str(tmp_path / "enriched.csv")
    for line in (
        ("lookup", "TX", "--zip", "78701"),
        ("enrich", orders, "-o", enriched),
        ("nexus", "list"),
    ):
        run = CliRunner().invoke(app, line)
        assert (run.exit_code, run.stdout) == (2, "")
        assert (name in run.stderr, "\u00df" in run.stderr) == (True, False)
    with svc_tools.connect("embedded") as client:  # it is on this machine
        assert client.list_nexus().count == 0
        assert client.lookup("TX", zip="78701").rate.state == "TX"


def test_the_address_of_a_database_is_a_secret(monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", " postgresql://user:hidden@host/db\n")
    database = svc_tools.config.database()
    assert "hidden" not in repr(database) + str(database)
    assert database.get_secret_value() == "postgresql://user:hidden@host/db"
    assert svc_tools.config.database("given").get_secret_value() == "given"
    monkeypatch.setenv("SVC_DATABASE_URL", " ")
    assert svc_tools.config.database() is None


@pytest.mark.parametrize("connect", [svc_tools.connect, svc_tools.aconnect])
def test_nothing_configured_is_the_embedded_service_with_one_warning(connect):
    with pytest.warns(UserWarning, match=r"EMBEDDED.*SVC_BASE_URL") as seen:
        client = connect()
    assert (len(seen), seen[0].filename) == (1, __file__)
    assert isinstance(client, EmbeddedSvc) == (connect is svc_tools.connect)
    asyncio.run(client.aclose()) if connect is svc_tools.aconnect else client.close()


def test_the_embedded_service_uses_the_database_that_is_named(tmp_path, monkeypatch):
    named = tmp_path / "named.db"
    monkeypatch.setenv("SVC_DATABASE_URL", str(named))
    with svc_tools.connect("embedded") as client:
        client.add_nexus("TX", notes="kept there")
    client._service.close()
    assert named.exists()
    monkeypatch.delenv("SVC_DATABASE_URL")
    with svc_tools.connect("embedded") as client:
        assert client.list_nexus("TX").count == 0


@pytest.mark.parametrize("key", [7, b"a-plain-key", ["a-plain-key"], True])
def test_a_key_of_another_type_is_one_sentence_without_it(key):
    for connected in (svc_tools.connect, lambda **given: asyncio.run(svc_tools.aconnect(**given))):
        with pytest.raises(svc_tools.ConfigurationError) as caught:
            connected(api_key=key, base_url="http://127.0.0.1:9")
        assert type(key).__name__ in str(caught.value)
        assert "a-plain-key" not in str(caught.value)


def test_a_database_that_cannot_be_used_keeps_nobody_from_rates_and_is_one_sentence(
    tmp_path, monkeypatch
):
    (tmp_path / "broken.db").write_text("no database")
    monkeypatch.setenv("SVC_DATABASE_URL", str(tmp_path / "broken.db"))
    said = "cannot start.*broken.db cannot be used.*another database with SVC_DATABASE_URL"
    with svc_tools.connect("embedded") as client:
        assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
        with pytest.raises(svc_tools.ConfigurationError, match=said):
            _ = client.base_url
        with pytest.raises(svc_tools.SvcError, match=said) as error:
            client.list_nexus()
        assert (error.value.error_code, error.value.attempts) == ("NOT_STARTED", 1)
        assert explained(error.value).title == CODES["not_started"].meaning
        check_key(client)
        assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
        (tmp_path / "broken.db").unlink()
        assert client.list_nexus().count == 0  # the same client, once the file is mended
    client._service.close()
    (tmp_path / "broken.db").write_text("no database")
    run = CliRunner().invoke(app, ["lookup", "TX", "--zip", "78701", "--embedded"])
    assert (run.exit_code, "8.25%" in run.stdout) == (0, True)
    run = CliRunner().invoke(app, ["nexus", "list", "--embedded"])
    assert (run.exit_code, run.stdout) == (2, "")
    assert re.search(said, " ".join(run.stderr.split()))


def test_the_asynchronous_client_is_of_the_same_service_and_account(monkeypatch):
    async def asked():
        async with svc_tools.aconnect("embedded") as client:
            return client, await client.lookup("CA", zip="94105")

    client, answer = asyncio.run(asked())
    with svc_tools.connect("embedded") as other:
        assert (client.base_url, source_of(client)) == (other.base_url, source_of(other))
        assert other.lookup("CA", zip="94105") == answer
        assert service_name(client) == "embedded service"
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_BASE_URL", "https://rates.example/")
    configured = svc_tools.aconnect(timeout=3, max_retries=1)
    with svc_tools.connect(timeout=3, max_retries=1) as other:
        assert configured._settings == other._settings
    asyncio.run(configured.aclose())


def test_the_embedded_service_keeps_running_between_clients():
    with svc_tools.connect("embedded") as first:
        address = first.base_url
        rate = first.lookup("CA", zip="94105").combined_rate_string
        first.add_nexus("MT", notes="kept")
    with svc_tools.connect("embedded") as second:
        assert second.base_url == address
        assert second.lookup("CA", zip="94105").combined_rate_string == rate
        assert service_name(second) == "embedded service"
        assert len(second.book_digest) == 64
        assert [one.notes for one in second.list_nexus("MT").nexus] == ["kept"]
        second.remove_nexus("MT")
