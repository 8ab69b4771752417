"""Proxies and certificates of a company, which the environment names."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import traceback
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.both import OLD_HTTPCORE, connecting, injecting
from support.faults import GOOD, KEY, answer, certified, serving

from svc_sdk import AsyncSvc, Svc, SvcError, TransportError

COMPANY = "http://rates.company.example"


@pytest.fixture(params=["sync", "async"])
def connect(request):
    """Make a client of either kind with its own HTTP client."""
    with connecting(request.param) as make:
        yield make


@pytest.fixture(autouse=True)
def variables(monkeypatch):
    """No proxy and no certificates of the user who runs the tests."""
    for name in os.environ:
        if name.lower().endswith("_proxy") or name.upper().startswith("SSL"):
            monkeypatch.delenv(name)
    return monkeypatch


@pytest.fixture
def there(monkeypatch):
    """The places that a synchronous client connects to; what is not on loopback is not reached."""
    places, really = [], socket.create_connection

    def connect(address, *arguments, **options):
        places.append(address)
        if address[0] != "127.0.0.1":
            raise ConnectionRefusedError
        return really(address, *arguments, **options)

    monkeypatch.setattr(socket, "create_connection", connect)
    return places


def unusable(make, variable):
    """The text of the `ValueError` with which a client is refused, and of its traceback."""
    # Windows has the names of variables in upper case alone
    with pytest.raises(ValueError, match=f"(?i:{re.escape(variable)})") as caught:
        make()
    found = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    ours = (str(frame.locals) for frame in found.stack if "svc_sdk" in frame.filename)
    return str(caught.value), "\n".join(ours)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize("scheme", ["", "http://"])
@pytest.mark.filterwarnings("ignore:The API key travels unencrypted")
def test_a_proxy_is_used_with_its_password(connect, faults, variables, name, scheme):
    address = faults.base_url.removeprefix("http://")
    variables.setenv(name, f"{scheme}me:p%40%C3%9F@{address}/")
    assert connect(COMPANY).lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert faults.seen[0].target.startswith(f"{COMPANY}/v1/tax/TX")
    assert faults.seen[0].headers["proxy-authorization"] == "Basic bWU6cEDDnw=="


@pytest.mark.parametrize(
    ("entry", "named", "others"),
    [
        ("fd00::/8", ["[fd00::1]", "[fdff:1::2]"], ["[fe80::1]", "10.0.0.1", "rates.example"]),
        ("[fd00::]/8", ["[fd00::1]"], ["[fe80::1]"]),
        ("[fd00::/8]", ["[fd00::1]"], ["[fe80::1]"]),
        ("[fd00::1]", ["[fd00::1]", "[fd00:0:0::1]"], ["[fd00::2]"]),
        ("FD00::0001", ["[fd00::1]"], ["[fd00::2]"]),
        ("[fd00::1]:8080", ["[fd00::1]:8080"], ["[fd00::1]", "[fd00::1]:80"]),
        ("10.0.0.0/8", ["10.1.2.3", "[::ffff:10.1.2.3]"], ["11.1.2.3", "rates10.example"]),
        ("10.1.2.3/255.0.0.0", ["10.9.9.9"], ["11.1.2.3"]),
        ("169.254/16", ["169.254.9.9"], ["169.255.9.9"]),
        ("10.1.2.3", ["10.1.2.3", "10.1.2.3:99"], ["10.1.2.30", "110.1.2.3"]),
        ("company.example", ["company.example", "a.b.company.example"], ["mycompany.example"]),
        (".company.example", ["a.company.example"], ["company.example", "mycompany.example"]),
        ("*.company.example", ["a.company.example"], ["company.example"]),
        ("Company.Example.", ["company.example", "company.example."], ["example"]),
        ("10.*", ["10.1.2.3"], ["110.1.2.3"]),
        ("company.example:80", ["company.example"], ["company.example:81"]),
        ("http://company.example/", ["company.example"], ["other.example"]),
        ("https://company.example", [], ["company.example"]),
        ("münchen.example", ["münchen.example", "xn--mnchen-3ya.example"], ["example"]),
        ("*", ["company.example", "[fd00::1]"], []),
        ("a.example, b.example c.example;d.example", ["b.example", "d.example"], ["e.example"]),
        ("fd00::/300,10.0.0.0/8", ["10.1.2.3"], []),
        (", ,", [], ["company.example"]),
    ],
)
@pytest.mark.filterwarnings("ignore:The API key travels unencrypted")
def test_no_proxy_names_hosts_addresses_and_networks(  # noqa: PLR0917
    faults, variables, there, entry, named, others
):
    variables.setenv("HTTP_PROXY", faults.base_url)
    variables.setenv("NO_PROXY", entry)
    for host in (*named, *others):
        there.clear()
        with Svc(KEY, base_url=f"http://{host}", max_retries=0) as client:
            if host in named:
                with pytest.raises(TransportError):
                    client.lookup("TX", zip="78701")
            else:
                client.lookup("TX", zip="78701")
        assert [place == "127.0.0.1" for place, _ in there] == [host in others], host


@pytest.mark.parametrize(
    "entry", ["fd00::/300", "10.0.0.0/99", "fd00:::1", "a/b", "company.example:x", "[fd00::g]:80"]
)
def test_an_exception_that_cannot_be_read_is_refused(connect, faults, variables, entry):
    variables.setenv("https_proxy", faults.base_url)
    variables.setenv("no_proxy", f"company.example,{entry}")
    message, _ = unusable(lambda: connect("https://rates.example"), "no_proxy")
    assert entry in message
    connect("https://company.example")  # another entry decides
    variables.delenv("https_proxy")
    connect("https://rates.example")  # there is no proxy to be an exception from


PASSWORDS = ["ßþ#ðø", "ßþ/ðø", "ßþ?ðø", "ßþ@ðø", "ß:þ@ðø", "ß[þ", "ß]@þ", "12/ß", "ß\x01þ", "ß\x7f"]
PASSWORDS += ["ß þ:", "ß\\þ@ð"]


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize(
    "form", ["http://me:{}@proxy.example:99999", "ßþ://me:{}@proxy.example", "http://{}:{}:1@:8080"]
)
def test_of_a_proxy_that_cannot_be_used_no_password_is_shown(connect, variables, password, form):
    variables.setenv("HTTPS_PROXY", form.replace("{}", password))
    texts = unusable(lambda: connect("https://rates.example"), "HTTPS_PROXY")
    assert [one for text in texts for one in "ßþðø" if one in text] == []


@pytest.mark.parametrize(
    "proxy",
    [
        "http://",
        "http://:8080",
        "http://proxy.example:0",
        "http://proxy.example:99999",
        "http://proxy.example:80a",
        "http://[::1",
        "ftp://proxy.example",
        "socks4://proxy.example",
        "http:proxy.example",
        "http://xn--a",
        "http://proxy.example/proxy.pac",
        "http://proxy.example?a",
        "http://me:12/3@proxy.example:8080",
        "proxy.example:port",
        "http://proxy..example:80",
        f"http://{'a' * 70}.example:80",
        "socks5://:1080",
        f"socks5://me:{'a' * 256}@proxy.example",
    ],
)
@pytest.mark.parametrize("name", ["https_proxy", "ALL_PROXY"])
def test_a_proxy_that_cannot_be_used_is_refused_by_name(connect, variables, name, proxy):
    variables.setenv(name, proxy)
    unusable(lambda: connect("https://rates.example"), name)
    connect("http://127.0.0.1:9")  # it is not for this machine
    variables.setenv("NO_PROXY", "rates.example")
    connect("https://rates.example")  # nor for this host


PARTS = (
    "http:// socks5h:// :// @ : / [ ] :: fd00:: /8 /129 * . % %zz # ? 10.1.2.3 xn-- xn--a \t ß ｡"
)


@given(*[st.lists(st.sampled_from(PARTS.split(" ")), max_size=8).map("".join)] * 2)
def test_whatever_the_variables_hold_is_used_or_refused_by_name(proxy, entries):
    proxies = {"all": proxy, "no": entries}
    with mock.patch("svc_sdk._route.getproxies", return_value=proxies):
        try:
            Svc(KEY, base_url="https://rates.example").close()
        except ValueError as error:
            assert "settings of this computer" in str(error)  # noqa: PT017 - most are used


def test_a_proxy_of_another_scheme_is_not_read(connect, variables):
    variables.setenv("HTTP_PROXY", "http://[::1")
    connect("https://rates.example")
    variables.setenv("HTTPS_PROXY", "http://proxy.example:8080")
    variables.setenv("ALL_PROXY", "http://[::1")
    connect("https://rates.example")


def test_a_proxy_of_the_settings_of_this_computer_is_refused_as_such(connect, variables):
    system = {"https": "socks4://proxy.example:1080", "no": ""}
    variables.setattr("svc_sdk._route.getproxies", lambda: system)
    unusable(lambda: connect("https://rates.example"), "settings of this computer")


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "SOCKS5"])
def test_a_socks_proxy_without_its_package_is_refused(connect, variables, scheme):
    variables.setitem(sys.modules, "socksio", None)
    variables.setenv("ALL_PROXY", f"{scheme}://me:secret@proxy.example:1080")
    message, _ = unusable(lambda: connect("https://rates.example"), "ALL_PROXY")
    assert "httpx[socks]" in message
    assert "secret" not in message


@pytest.mark.parametrize("reply", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\5\xff", b""])
def test_a_proxy_that_does_not_speak_socks_is_a_transport_error(connect, variables, reply):
    pytest.importorskip("socksio", reason='socksio is missing: pip install "httpx[socks]"')
    if OLD_HTTPCORE and "async" in connect.kind:
        pytest.skip("httpcore before 1.0 has no SOCKS for asynchronous clients that are traced")

    def serve():
        with listening.accept()[0] as connection:
            connection.recv(100)
            connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        proxy = f"127.0.0.1:{listening.getsockname()[1]}"
        variables.setenv("ALL_PROXY", f"socks5h://{proxy}")
        with pytest.raises(TransportError, match=re.escape(f"proxy {proxy}")) as caught:
            connect("https://rates.example").lookup("TX", zip="78701")
        thread.join()
    assert caught.value.attempts == 1


@pytest.mark.filterwarnings("ignore:The API key travels unencrypted")
def test_a_proxy_that_does_not_respond_is_named(connect, variables):
    with socket.socket() as free:  # nothing listens there
        free.bind(("127.0.0.1", 0))
        proxy = f"127.0.0.1:{free.getsockname()[1]}"
        variables.setenv("HTTP_PROXY", f"http://me:secret@{proxy}")
        with pytest.raises(TransportError, match=re.escape(f"proxy {proxy}")) as caught:
            connect(COMPANY, max_retries=0).lookup("TX", zip="78701")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("login", ["", "me:s%40cret@"])
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("name", ["{}_proxy", "ALL_PROXY"])
@pytest.mark.filterwarnings("ignore:The API key travels unencrypted")
def test_a_proxy_that_wants_a_password_says_where_to_put_it(  # noqa: PLR0917
    connect, faults, variables, login, scheme, name
):
    faults.will(answer(407, b"", connection="close"))
    proxy, variable = faults.base_url.removeprefix("http://"), name.format(scheme.upper())
    variable = variable.replace("_proxy", "_PROXY")
    variables.setenv(variable, f"http://{login}{proxy}")
    with pytest.raises(TransportError) as caught:
        connect(f"{scheme}://rates.company.example").lookup("TX", zip="78701")
    message = str(caught.value)
    assert f"the proxy {proxy} " in message
    assert f"{variable}=http://name:password@{proxy}" in message
    assert "407" in message
    assert "cret" not in message
    assert (caught.value.status_code, caught.value.attempts, len(faults.seen)) == (None, 1, 1)


@pytest.mark.filterwarnings("ignore:The API key travels unencrypted")
def test_the_service_s_own_407_is_its_response(connect, faults):
    faults.will(answer(407, b'{"message": "no"}'))
    with pytest.raises(SvcError, match="no") as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert caught.value.status_code == 407


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_password_for_the_proxy_of_an_own_client_is_that_client_s(faults, library, kind):
    faults.will(answer(407, b"", connection="close"))
    is_old = library.__version__.startswith(("0.24", "0.25"))
    proxy = {"proxies" if is_old else "proxy": faults.base_url}
    with (
        connecting(kind, library) as connect,
        injecting(connect, injected=True, **proxy) as own,
        pytest.raises(TransportError, match="proxy of your HTTP client"),
    ):
        connect("https://rates.example", **own).lookup("TX", zip="78701")


@pytest.mark.parametrize("word", ["DIRECT", "none"])
def test_a_word_for_no_proxy_is_no_host(connect, variables, word):
    variables.setenv("HTTPS_PROXY", word)
    message, _ = unusable(lambda: connect("https://rates.example"), "HTTPS_PROXY")
    assert "NO_PROXY" in message


def test_a_certificate_that_is_not_trusted_is_not_tried_again(connect, company):
    faults, _ = company
    with pytest.raises(TransportError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        connect(faults.base_url).lookup("TX", zip="78701")
    assert caught.value.attempts == 1


@pytest.mark.filterwarnings("ignore:The API key travels unencrypted")
def test_a_proxy_that_is_set_after_a_failure_is_used(connect, faults, variables):
    variables.setenv("HTTP_PROXY", "http://127.0.0.1:99999")
    unusable(lambda: connect(COMPANY), "HTTP_PROXY")
    variables.setenv("HTTP_PROXY", faults.base_url)
    assert connect(COMPANY).lookup("TX", zip="78701").combined_rate_string == "0.08250"


@pytest.fixture
def company(tmp_path):
    """A service over https that a certificate of the company proves: a server, and the file."""
    tls, certificate = certified(tmp_path)
    with serving(tls) as faults:
        yield faults, certificate


def test_certificates_that_are_named_after_a_failure_are_trusted(connect, company, variables):
    faults, certificate = company
    with pytest.raises(TransportError, match="SSL_CERT_FILE"):  # what to do
        connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")
    variables.setenv("SSL_CERT_FILE", str(certificate))
    assert connect(faults.base_url).lookup("TX", zip="78701").combined_rate_string == "0.08250"
    variables.delenv("SSL_CERT_FILE")
    with pytest.raises(TransportError, match="certificate"):
        connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")


def test_a_file_of_certificates_that_was_corrected_is_read_again(
    connect, company, variables, tmp_path
):
    faults, certificate = company
    (tmp_path / "other").mkdir()
    file = tmp_path / "company.pem"
    variables.setenv("SSL_CERT_FILE", str(file))
    for content in (None, "", "no certificate", GOOD.decode()):
        if content is not None:
            file.write_text(content, encoding="utf-8")
        message, _ = unusable(lambda: connect(faults.base_url), "SSL_CERT_FILE")
        assert str(file) in message
    file.write_bytes(certified(tmp_path / "other")[1].read_bytes())
    with pytest.raises(TransportError, match="certificate"):
        connect(faults.base_url, max_retries=0).lookup("TX", zip="78701")
    file.write_bytes(file.read_bytes() + certificate.read_bytes())
    assert connect(faults.base_url).lookup("TX", zip="78701").combined_rate_string == "0.08250"


@pytest.mark.parametrize("file", [os.curdir, os.devnull, "a" * 5_000, "-----BEGIN"])
def test_what_is_no_file_is_no_file_of_certificates(connect, variables, file):
    variables.setenv("SSL_CERT_FILE", file)
    unusable(lambda: connect("https://rates.example"), "SSL_CERT_FILE")


def test_a_folder_of_certificates_is_trusted(connect, company, variables, tmp_path):
    faults, certificate = company
    folder = tmp_path / "certificates"
    variables.setenv("SSL_CERT_DIR", str(folder))
    unusable(lambda: connect(faults.base_url), "SSL_CERT_DIR")  # there is none
    folder.mkdir()
    unusable(lambda: connect(faults.base_url), "SSL_CERT_DIR")  # it is empty
    (folder / "company.pem").write_bytes(certificate.read_bytes())
    unusable(lambda: connect(faults.base_url), "rehash")
    (folder / "0123abcd.0").write_text("no certificate", encoding="utf-8")
    unusable(lambda: connect(faults.base_url), "SSL_CERT_DIR")
    # OpenSSL looks for the hash of its name, which is always CN=test
    (folder / "0123abcd.0").unlink()
    (folder / "756b76dc.0").write_bytes(certificate.read_bytes())
    variables.setenv("SSL_CERT_DIR", os.pathsep.join([str(tmp_path / "none"), str(folder)]))
    assert connect(faults.base_url).lookup("TX", zip="78701").combined_rate_string == "0.08250"
    variables.setenv("SSL_CERT_FILE", str(tmp_path / "none"))  # it goes before
    unusable(lambda: connect(faults.base_url), "SSL_CERT_FILE")


def test_an_empty_variable_is_not_set(connect, faults, variables):
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        variables.setenv(name, "")
    connect("https://rates.example")


def test_a_log_of_keys_that_cannot_be_written_is_refused_by_name(connect, variables, tmp_path):
    variables.setenv("SSL_CERT_FILE", str(certified(tmp_path)[1]))
    variables.setenv("SSLKEYLOGFILE", str(tmp_path / "none" / "keys.log"))
    unusable(lambda: connect("https://rates.example"), "SSLKEYLOGFILE")


@pytest.mark.parametrize(
    "bad",
    [
        {"SSL_CERT_FILE": "/none/company.pem"},
        {"SSL_CERT_FILE": os.devnull},
        {"SSL_CERT_FILE": os.curdir},
        {"SSL_CERT_DIR": "/none"},
        {"SSLKEYLOGFILE": "/none/keys.log"},
        {"HTTP_PROXY": "http://[::1", "ALL_PROXY": "socks5://proxy.example"},
        {"NO_PROXY": "fd00::/8,[::1],::1", "HTTP_PROXY": "http://127.0.0.1:9"},
    ],
)
def test_http_on_this_machine_needs_neither_proxy_nor_certificates(connect, faults, variables, bad):
    for name, value in bad.items():
        variables.setenv(name, value)
    for url in (faults.base_url, faults.base_url.replace("127.0.0.1", "localhost")):
        assert connect(url).lookup("TX", zip="78701").combined_rate_string == "0.08250"


@pytest.mark.parametrize("kind", [Svc, AsyncSvc])
def test_a_client_of_the_user_s_own_needs_no_variable(kind, variables):
    import httpx  # noqa: PLC0415 - the variables are set after it is made

    http = httpx.Client() if kind is Svc else httpx.AsyncClient()
    variables.setenv("SSL_CERT_FILE", "/none/company.pem")
    variables.setenv("HTTPS_PROXY", "http://[::1")
    kind(KEY, base_url="https://rates.example", http_client=http)
    if kind is Svc:
        http.close()


def test_an_https_proxy_is_proved_by_the_company_s_certificates(connect, company, variables):
    faults, certificate = company
    faults.will(answer(407, b""))
    variables.setenv("HTTPS_PROXY", faults.base_url)
    variables.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(TransportError, match="407"):
        connect("https://rates.example").lookup("TX", zip="78701")
    assert [(seen.method, seen.target) for seen in faults.seen] == [
        ("CONNECT", "rates.example:443")
    ]
