"""Both clients as a user meets them: construction, the key, closing (SPEC 4.4 and 5)."""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import json
import logging
import pickle
import re
import socket
import ssl
import subprocess
import sys
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import httpx
import pytest
from support import both
from support.faults import GOOD, HANG, KEY, answer, serving

import svc_sdk
from svc_sdk import DEFAULT_BASE_URL, AsyncSvc, Svc, SvcError, TransportError

PAIRS = {"close": "aclose", "__enter__": "__aenter__", "__exit__": "__aexit__"}


def public(kind):
    names = [name for name in vars(kind) if not name.startswith("_") or name == "__init__"]
    return {name: inspect.getattr_static(kind, name) for name in names}


def test_both_clients_have_the_same_face():
    sync, aio = public(Svc), public(AsyncSvc)
    assert {PAIRS.get(name, name) for name in sync} == set(aio)
    for name, method in sync.items():
        twin = aio[PAIRS.get(name, name)]
        assert inspect.getdoc(method) == inspect.getdoc(twin), name
        if isinstance(method, property):
            continue
        ours = str(inspect.signature(method)).replace(".Client", ".AsyncClient")
        assert ours == str(inspect.signature(twin)), name
        assert inspect.iscoroutinefunction(twin) == (name != "__init__"), name


def test_the_constructor_is_the_specifications():
    parameters = inspect.signature(Svc).parameters
    assert list(parameters) == ["api_key", "base_url", "timeout", "max_retries", "http_client"]
    assert parameters["api_key"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert all(
        parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in list(parameters)[1:]
    )
    defaults = {name: parameter.default for name, parameter in list(parameters.items())[1:]}
    assert defaults == {
        "base_url": DEFAULT_BASE_URL,
        "timeout": 10.0,
        "max_retries": 3,
        "http_client": None,
    }


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        *(("api_key", key, ValueError) for key in ("", " \n", "a\r\nX-Evil: 1", "schlüssel")),
        ("api_key", "https://rates.example", ValueError),
        *(("base_url", url, ValueError) for url in ("", "rates.example", "ftp://rates.example")),
        *(
            ("base_url", f"https://{url}", ValueError)
            for url in ("", "a..example", "xn--a", f"{'a' * 64}.x")
        ),
        *(
            ("base_url", f"https://rates.example{rest}", ValueError)
            for rest in ("/?key=1", ":99999999", "/#", "?")
        ),
        ("base_url", "https://me:hunter2@rates.example", ValueError),
        ("timeout", 0, ValueError),
        ("timeout", float("nan"), ValueError),
        ("max_retries", -1, ValueError),
        ("api_key", b"key", TypeError),
        ("base_url", None, TypeError),
        *(("timeout", value, TypeError) for value in ("10", None)),
        *(("max_retries", value, TypeError) for value in (2.0, True)),
        ("http_client", object(), TypeError),
    ],
)
def test_an_unusable_argument_is_named(connect, name, value, error):
    options = {"base_url": "https://rates.example", name: value}
    with pytest.raises(error, match=name) as caught:
        connect(options.pop("base_url"), options.pop("api_key", KEY), **options)
    assert "hunter2" not in str(caught.value)


def test_no_key_names_the_variable(connect):
    with pytest.raises(ValueError, match="SVC_API_KEY"):
        connect("https://rates.example", None)


@pytest.mark.parametrize(
    "url",
    [
        KEY,
        f"{KEY}:1",
        f"https://{KEY}:{KEY}",
        f"https://{KEY}@rates.example",
        f"https://rates.example/?key={KEY}",
        f"ftp://rates.example/{KEY}",
        f"https://.{KEY}",
    ],
)
def test_an_unusable_address_is_not_shown_it_may_be_the_key(connect, url):
    for given in ((url, "other-key"), (url, url)):
        with pytest.raises(ValueError, match="base_url") as caught:
            connect(*given)
        assert KEY not in str(caught.value)


def test_a_client_of_the_other_kind_is_refused(library):
    with library.Client() as http, pytest.raises(TypeError, match="AsyncClient"):
        AsyncSvc(KEY, http_client=http)
    with pytest.raises(TypeError, match=r"httpx\.Client"):
        Svc(KEY, http_client=library.AsyncClient())


def test_only_the_user_loads_httpx2():
    both.httpx2()
    code = (
        "import sys, svc_sdk, asyncio; svc_sdk.Svc('a').close();"
        " asyncio.run(svc_sdk.AsyncSvc('a').aclose()); print('httpx2' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    assert run.stdout.split() == [b"False"]


def test_plain_http_to_another_host_warns_once_by_name(connect):
    with pytest.warns(UserWarning, match=r"rates-warn-once\.example") as seen:
        connect("http://rates-warn-once.example" + ("/a" if connect.kind == "sync" else "/b"))
    assert seen[0].filename == both.__file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        connect("http://rates-warn-once.example/again")
        for quiet in (
            "127.0.0.1:1",
            "localhost.",
            "[::1]:9",
            "app.localhost",
            "[::ffff:127.0.0.1]",
        ):
            connect(f"http://{quiet}")
        connect("https://rates.example")


@pytest.fixture(autouse=True)
def _forget_warned_hosts():
    module = importlib.import_module("svc_sdk._settings")
    module._warn_of_plain_http.cache_clear()


@both.own_http
def test_a_service_on_this_machine_is_reached_past_a_proxy(connect, faults, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert connect(faults.base_url).lookup("TX", zip="78701").combined_rate_string == "0.08250"


def close(connect, http):
    return http.close() if connect.kind == "sync" else connect.runner.run(http.aclose())


def test_an_injected_client_keeps_its_headers_and_stays_open(connect, faults):
    http = connect.http(headers={"X-Team": "tax", "X-API-Key": "other"}, timeout=77)
    before = dict(http.headers)
    client = connect(faults.base_url, http_client=http)
    client.lookup("TX", zip="78701")
    assert faults.seen[0].headers["x-team"] == "tax"
    assert faults.seen[0].headers["x-api-key"] == KEY
    client.close()
    assert not http.is_closed
    assert dict(http.headers) == before
    close(connect, http)


def test_the_timeout_applies_through_an_injected_client(connect, faults):
    http = connect.http(timeout=None)
    faults.will(HANG)
    with pytest.raises(svc_sdk.TransportError, match=r"0\.2 s"):
        connect(faults.base_url, timeout=0.2, max_retries=0, http_client=http).health()
    close(connect, http)


def test_the_key_goes_to_no_other_host_on_a_redirect(connect, faults):
    with serving() as elsewhere:
        faults.will(answer(307, b"", location=f"{elsewhere.base_url}/v1/tax/TX"))
        http = connect.http(follow_redirects=True)
        for options in ({}, {"http_client": http}):
            with pytest.raises(SvcError, match="redirect"):
                connect(faults.base_url, **options).lookup("TX", zip="78701")
        close(connect, http)
        assert elsewhere.seen == []
    assert all(KEY not in seen.target for seen in faults.seen)


def test_the_key_is_shown_nowhere(connect, faults, caplog):
    caplog.set_level(logging.DEBUG)
    client = connect(faults.base_url)
    client.lookup("TX", zip="78701")
    assert len(caplog.records) > 5
    assert [record for record in caplog.records if KEY in record.getMessage()] == []
    echo = f'{{"error": {{"code": "{KEY}", "message": "you sent {KEY}"}}}}'.encode()
    escaped = KEY.replace("t", "\\u0074").encode()
    steps = [
        answer(401, echo),
        answer(401, b'{"error": {"message": "%b"}, "%b": ["%b"]}' % (escaped, escaped, escaped)),
        answer(
            422, b'{"detail": [{"loc": ["%b"], "msg": "%b", "type": "x"}]}' % (escaped, escaped)
        ),
        answer(404, f"<p>{KEY}</p>".encode(), x_request_id=f"req-{KEY}"),
        answer(200, f"<p>{KEY}</p>".encode()),
        answer(200, b'{"echo": {"x-api-key": "%b"}}' % escaped),
        b"HTTP/1.1 200 OK\r\n%b illegal\r\nconnection: close\r\n\r\n" % KEY.encode(),
    ]
    texts = [repr(client.client), str(vars(client.client))]
    for step in steps:
        faults.will(step)
        with pytest.raises(SvcError) as caught:
            client.lookup("TX", zip="78701")
        error = caught.value
        texts += [str(error), repr(error), str(vars(error)), repr(pickle.dumps(error))]
        # what an error reporter prints: every local variable of every frame of our own
        stack = traceback.TracebackException.from_exception(error, capture_locals=True).stack
        texts += [str(frame.locals) for frame in stack if "svc_sdk" in frame.filename]
    faults.will(b"garbage, connection: close\r\n\r\n")
    with pytest.raises(SvcError) as caught:
        client.lookup("TX", zip="78701")
    # no transport exception hangs on it: its request would hold the key
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    # at DEBUG the HTTP library logs the headers that came: those are the gateway's own words
    texts += [one.getMessage() for one in caplog.records if not one.name.startswith("httpcore")]
    assert [text for text in texts if KEY in text] == []


def escapes():
    """Ways in which a body may write the key."""
    unicode = "".join(f"\\u{ord(one):04x}" for one in KEY)
    yield from (unicode, unicode.upper().replace("U", "u"), unicode.replace("\\", "\\\\"))
    yield KEY.replace("t", "\\u0074").replace("9", "\\u0039")
    yield from (KEY.replace("-", "%2D").replace("e", "%65"), "".join(f"%{ord(x):02x}" for x in KEY))


def readings(text):
    """The text, and what it says once its escapes are read."""
    said = re.sub(r"\\+u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    return text, said, unquote(said)


@pytest.mark.parametrize("escaped", list(escapes()))
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, '{{"error": {{"code": "{0}", "message": "you sent {0}"}}, "{0}": ["{0}"]}}'),
        (401, "you sent {0}"),
        (401, "<p>{0}</p>"),
        (422, '{{"detail": [{{"loc": ["{0}"], "msg": "{0}", "type": "x", "input": "{0}"}}]}}'),
        (200, "you sent {0}"),
        (200, '{{"echo": "{0}"}}'),
    ],
)
def test_a_key_that_is_echoed_with_escapes_is_removed(connect, faults, status, body, escaped):
    for raw in (body.format(escaped).encode(), body.format(escaped).encode("utf-16-le")):
        faults.will(answer(status, raw, x_request_id=f"req-{escaped}"))
        with pytest.raises(SvcError) as caught:
            connect(faults.base_url).lookup("TX", zip="78701")
        texts = [str(caught.value), json.dumps(vars(caught.value), default=repr)]
        assert [said for text in texts for said in readings(text) if KEY in said] == []


def test_a_body_of_backslashes_is_searched_in_reasonable_time(connect, faults):
    faults.will(answer(200, b"\\" * 1_000_000))
    with pytest.raises(SvcError):  # within the time of a test: it would take hours
        connect(faults.base_url, timeout=60).lookup("TX", zip="78701")


@pytest.mark.parametrize("escaped", [KEY, *escapes()])
def test_a_key_in_a_response_is_removed_from_its_further_fields(connect, faults, escaped):
    body = GOOD.replace(b'"Austin"', f'"{escaped}", "you": {{"{escaped}": "{escaped}"}}'.encode())
    faults.will(answer(200, body.replace(b"[]", f'["{escaped}"]'.encode())))
    found = connect(faults.base_url).lookup("TX", zip="78701")
    assert found.rate.city == "[API key]"
    assert found.warnings == ["[API key]"]
    assert found.rate.model_extra == {"you": {"[API key]": "[API key]"}}


def test_a_key_of_characters_that_json_escapes_is_removed(connect, faults):
    key = 'a/b"c\\d+e%f'
    faults.will(
        answer(401, json.dumps({"message": f"you sent {key}"}).replace("/", "\\/").encode())
    )
    with pytest.raises(SvcError) as caught:
        connect(faults.base_url, key).lookup("TX", zip="78701")
    assert caught.value.message == "you sent [API key]"


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "ftp://x"},
        {"timeout": 0},
        {"http_client": object()},
        {"key": f"{KEY}\N{BULLET}"},
    ],
)
def test_a_refused_constructor_shows_no_key_to_an_error_reporter(connect, options):
    given = {"base_url": "https://rates.example", "key": KEY} | options
    with pytest.raises((ValueError, TypeError)) as caught:
        connect(**given)
    report = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    shown = [str(frame.locals) for frame in report.stack if "svc_sdk" in frame.filename]
    assert len(shown) >= 1
    assert [text for text in shown if KEY in text] == []


def test_a_hook_that_raises_is_an_answer_like_any_other(connect, faults, waits):
    def sync(response):
        response.raise_for_status()

    async def aio(response):
        response.raise_for_status()

    hook = sync if connect.kind == "sync" else aio
    http = connect.http(event_hooks={"response": [hook]})
    faults.will(answer(503, b"", retry_after="7"), answer(404, b"gone"))
    with pytest.raises(svc_sdk.NotFoundError) as caught:
        connect(faults.base_url, http_client=http).lookup("TX", zip="78701")
    assert (caught.value.attempts, waits) == (2, [7.0])
    assert caught.value.__context__ is None
    close(connect, http)


@both.own_http
def test_the_certificate_of_the_service_is_checked(connect):
    client = connect("https://rates.example").client
    context = client._http._transport._pool._ssl_context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


@both.own_http
def test_an_account_is_told_by_its_key_alone(connect, faults):
    faults.will(answer(set_cookie="session=a; Path=/"))
    client = connect(faults.base_url)
    client.lookup("TX", zip="78701")
    client.lookup("TX", zip="78701")
    assert "cookie" not in faults.seen[1].headers


def test_an_injected_client_may_count_as_empty(connect, faults):
    empty = type("Empty", (connect.http,), {"__len__": lambda _self: 0})()
    client = connect(faults.base_url, http_client=empty)
    assert client.client._http is empty
    close(connect, empty)


@both.own_http
def test_a_closed_client_is_an_svc_error(connect, faults):
    client = connect(faults.base_url)
    client.lookup("TX", zip="78701")
    client.close()
    assert_closed(client, faults)


def test_a_closed_http_client_is_an_svc_error(connect, faults):
    with both.injecting(connect, injected=True) as options:
        client = connect(faults.base_url, **options)
        client.lookup("TX", zip="78701")
    assert_closed(client, faults)


def assert_closed(client, faults):
    for call in (client.health, client.list_nexus, lambda: client.lookup("TX", zip="78701")):
        with pytest.raises(SvcError, match="closed") as caught:
            call()
    assert (caught.value.status_code, caught.value.attempts) == (None, 1)
    assert len(faults.seen) == 1


def test_a_client_in_a_second_event_loop_is_an_svc_error(faults):
    client = AsyncSvc(KEY, base_url=faults.base_url)
    with asyncio.Runner() as first, asyncio.Runner() as second:
        first.run(client.lookup("TX", zip="78701"))
        with pytest.raises(TransportError, match="another event loop") as caught:
            second.run(client.lookup("TX", zip="78701"))
        first.run(client.aclose())
    assert (caught.value.status_code, caught.value.attempts) == (None, 1)


# asyncio warns of the connections that ended with their loop, also where nothing closes the client
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("connections", [0, 1, 3])
@pytest.mark.parametrize("through", ["aclose", "with"])
def test_a_client_is_closed_also_when_its_event_loop_has_ended(faults, connections, through):
    client = AsyncSvc(KEY, base_url=faults.base_url)

    async def use():
        lookups = (client.lookup("TX", zip="78701") for _ in range(connections))
        assert len(await asyncio.gather(*lookups)) == connections

    async def leave():
        async with client:
            pass

    asyncio.run(use())
    for _ in range(2):
        asyncio.run(client.aclose() if through == "aclose" else leave())
    with pytest.raises(TransportError, match="closed"):
        asyncio.run(client.lookup("TX", zip="78701"))
    assert len(faults.seen) == connections
    client = None
    gc.collect()  # the warnings are this test's


def test_a_client_is_closed_from_the_event_loop_of_another_thread(faults):
    client = AsyncSvc(KEY, base_url=faults.base_url)
    with asyncio.Runner() as first:
        first.run(client.lookup("TX", zip="78701"))
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, client.aclose()).result(timeout=30)
        first.run(asyncio.sleep(0))  # its loop sees the end of the connection
        with pytest.raises(TransportError, match="closed"):
            first.run(client.lookup("TX", zip="78701"))


def test_an_error_of_closing_that_is_of_no_event_loop_is_not_hidden(faults, monkeypatch):
    async def fails(_pool):
        raise RuntimeError("of the pool")

    async def closed():
        client = AsyncSvc(KEY, base_url=faults.base_url)
        monkeypatch.setattr(httpx.AsyncHTTPTransport, "aclose", fails)
        await client.aclose()

    with pytest.raises(RuntimeError, match="of the pool"):
        asyncio.run(closed())


@pytest.mark.parametrize(
    "kind", [lambda _: RuntimeError, lambda library: library.HTTPError], ids=["program", "library"]
)
def test_a_program_error_in_a_hook_is_not_hidden(connect, faults, kind):
    class OfTheUserError(kind(connect.library)):
        pass

    def sync(_request):
        raise OfTheUserError("of the hook")

    async def aio(_request):
        raise OfTheUserError("of the hook")

    hook = sync if connect.kind == "sync" else aio
    hooks = {"event_hooks": {"request": [hook]}}
    raised = pytest.raises(OfTheUserError, match="of the hook")
    with both.injecting(connect, injected=True, **hooks) as options, raised:
        connect(faults.base_url, **options).health()


def test_a_hook_may_have_read_the_body(connect, faults):
    def sync(response):
        response.read()

    async def aio(response):
        await response.aread()

    hook = sync if connect.kind == "sync" else aio
    hooks = {"event_hooks": {"response": [hook]}}
    with both.injecting(connect, injected=True, **hooks) as options:
        found = connect(faults.base_url, **options).lookup("TX", zip="78701")
        assert found.combined_rate_string == "0.08250"


def test_no_address_is_said_where_the_default_does_not_respond(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(svc_sdk._settings, "DEFAULT_BASE_URL", url)
        with Svc(KEY, base_url=url, max_retries=0) as client, pytest.raises(SvcError) as caught:
            client.health()
        for said in ("No address", "base_url=", "SVC_BASE_URL", "svc-tools serve"):
            assert said in caught.value.message
        given = f"{url}/"
        with Svc(KEY, base_url=given, max_retries=0) as client, pytest.raises(SvcError) as caught:
            client.health()
        assert "No address" not in caught.value.message


def test_the_type_of_a_removal_may_stand_second(connect, faults):
    faults.will(answer(200, b'{"deleted": 1}'))
    connect(faults.base_url).remove_nexus("TX", "economic")
    assert faults.seen[0].target == "/v1/portability/nexus/TX?nexus_type=economic"


def test_a_client_refuses_to_be_pickled(connect):
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(connect("https://rates.example").client)


def test_the_key_may_have_been_pasted_with_a_newline(connect, faults):
    connect(faults.base_url, KEY + "\n").lookup("TX", zip="78701")
    assert faults.seen[0].headers["x-api-key"] == KEY


def test_the_clients_are_context_managers(faults):
    with Svc(KEY, base_url=faults.base_url) as client:
        http = client._http
        assert client.lookup("TX", zip="78701").rate.state == "TX"
    assert http.is_closed

    async def scenario():
        async with AsyncSvc(KEY, base_url=faults.base_url) as client:
            await client.lookup("TX", zip="78701")
        return client._http.is_closed

    assert asyncio.run(scenario())


def test_the_public_names_are_sorted_documented_and_there():
    names = svc_sdk.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name.islower(), name))
    assert dir(svc_sdk) == sorted(names)
    assert all(getattr(svc_sdk, name).__doc__ for name in names if name != "__version__")
    assert not [
        name
        for name in vars(svc_sdk)
        if name[0].isupper() and name not in [*names, "TYPE_CHECKING"]
    ]


def test_importing_the_client_loads_neither_pandas_nor_the_toolkit():
    code = (
        "import sys, svc_sdk;"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " {'pandas', 'numpy', 'pyarrow', 'svc_tools', 'fastapi'}])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert run.stdout.strip() == "[]"
