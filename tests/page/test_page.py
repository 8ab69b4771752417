"""The server of the page: closed to everybody else, and gone with Ctrl+C."""

from __future__ import annotations

import json
import re
import signal
import socket
from pathlib import Path

import httpx
import pytest
from support.command import svc_tools
from support.pages import served_page
from support.systems import homes, linux, posix
from support.waiting import until
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from svc_tools.config import ConfigurationError
from svc_tools.page import serve_page

NOBODY = "00000000-0000-0000-0000-000000000000"
PATHS = [
    "",
    "anything",
    "login",
    "logout",
    "files/results/x.csv",
    f"api/kernels/{NOBODY}",
    "voila/files/panel.ipynb",
    f"voila/query/{NOBODY}",
]
pytestmark = pytest.mark.timeout(120)  # each opening starts a kernel


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def page(_own_home, data):
    known = {"JUPYTER_TOKEN": "known"}
    with served_page("--embedded", cwd=data, **homes(data), **known) as served:
        yield served


@pytest.fixture(scope="module")
def reader(page):
    """A client that has the cookie, as a browser has."""
    with httpx.Client(base_url=page.home, timeout=60) as client:
        assert client.get(page.url).status_code == 302
        yield client


@pytest.fixture(scope="module")
def opened(reader):
    """The page, as one browser got it; each opening starts a kernel."""
    answer = reader.get("", follow_redirects=True)
    assert answer.status_code == 200
    return answer


def kernel_of(opened):
    """The kernel of a page."""
    config = re.search(
        r'<script id="jupyter-config-data"[^>]*>(.*?)</script>', opened.text, re.DOTALL
    )
    return json.loads(config[1])["kernelId"]


@pytest.fixture(scope="module")
def kernel(opened):
    return kernel_of(opened)


def socket_of(page, kernel, **headers):
    address = page.home.replace("http", "ws") + f"api/kernels/{kernel}/channels?session_id=s"
    return connect(address, additional_headers=headers, open_timeout=30)


def test_it_says_whom_it_asks_and_the_address_to_open(page):
    assert page.said[0] == "The page uses the embedded service."
    assert re.fullmatch(r"Open http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{48}", page.said[1])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", ["", "?token=known", "?token=%C3%BC", "?token=%FF"])
def test_nothing_is_served_without_the_token(page, path, query):
    served = httpx.get(page.home + path + query, follow_redirects=True)
    assert served.status_code == 403
    assert "set-cookie" not in served.headers
    if not path.startswith(("api/", "voila/")):
        assert "needs its own address" in served.text
    assert httpx.get(page.address + path + query).status_code in {403, 404}


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "PATCH"])
def test_no_other_method_is_served_without_the_token(page, method):
    for path in (f"api/kernels/{NOBODY}", f"voila/api/shutdown/{NOBODY}"):
        assert httpx.request(method, page.home + path).status_code == 403


def test_the_cookie_is_closed_to_scripts_and_the_token_leaves_the_address(page, reader, opened):
    first = httpx.get(page.url)
    assert first.status_code == 302
    assert f"Path={httpx.URL(page.home).path}" in first.headers["set-cookie"]
    assert re.fullmatch("/[0-9a-f]{24}/", first.headers["location"])
    assert "HttpOnly" in first.headers["set-cookie"]
    assert "SameSite=Lax" in first.headers["set-cookie"]
    token = page.url.partition("token=")[2]
    assert token not in first.headers["set-cookie"]
    assert token not in opened.text
    assert token not in reader.get("files/none").text


def test_no_other_server_of_the_machine_gets_the_cookie(page, faults):
    """Browsers send the cookies of 127.0.0.1 to every port of it, whoever's server that is."""
    with httpx.Client() as browser:
        browser.get(page.url)
        assert browser.cookies
        for path in ("/", "/voila/", "/files/"):
            browser.get(faults.base_url + path)
    assert len(faults.seen) == 3
    assert not [seen for seen in faults.seen if "cookie" in seen.headers]


def test_under_another_name_it_serves_nothing(page, reader):
    """A page elsewhere may let its name point to 127.0.0.1 (DNS rebinding)."""
    for host in ("rebound.example", "127.0.0.1.rebound.example", "127.1"):
        for path in ("", page.url, "voila/static/voila.js"):
            assert reader.get(path, headers={"Host": host}).status_code == 404
    assert reader.get("voila/static/voila.js").status_code == 200


def test_another_page_ends_no_kernel(page, reader, kernel):
    for origin in ("http://evil.example", "http://127.0.0.1:1"):
        headers = {"Origin": origin}
        assert reader.delete(f"api/kernels/{kernel}", headers=headers).status_code == 403
        shut = reader.post(f"voila/api/shutdown/{kernel}", headers=headers)
        assert shut.status_code == 403
        opened = reader.get("", headers=headers, follow_redirects=True)
        assert opened.status_code == 403
    assert reader.get(f"api/kernels/{kernel}").status_code == 200


def test_the_kernels_socket_needs_the_cookie_and_refuses_another_page(page, reader, kernel):
    cookie = "; ".join(f"{name}={value}" for name, value in reader.cookies.items())
    for headers in (
        {},
        {"Origin": page.origin},
        {"Cookie": cookie, "Origin": "http://evil.example"},
    ):
        with pytest.raises(InvalidStatus) as refused, socket_of(page, kernel, **headers):
            pass
        assert refused.value.response.status_code == 403


def test_a_panel_is_found_again_and_another_tab_gets_its_own(page, reader, opened, kernel):
    assert kernel_of(reader.get(opened.url)) == kernel, "a reload"
    assert reader.get("", follow_redirects=True).url == opened.url, "left, and opened again"
    cookie = "; ".join(f"{name}={value}" for name, value in reader.cookies.items())
    with socket_of(page, kernel, Cookie=cookie, Origin=page.origin):
        another = reader.get("", follow_redirects=True)  # while a tab shows the first one
    assert another.url != opened.url
    assert kernel_of(another) != kernel
    ended = kernel_of(another)
    assert reader.post(f"voila/api/shutdown/{ended}", headers={"Origin": page.origin}).is_success
    assert kernel_of(reader.get(another.url)) not in {ended, kernel}, "the same address begins anew"


def test_the_page_may_talk_to_its_widgets_and_run_no_code(page, reader, kernel):
    cookie = "; ".join(f"{name}={value}" for name, value in reader.cookies.items())
    with socket_of(page, kernel, Cookie=cookie, Origin=page.origin) as talk:
        for number, (kind, content) in enumerate(
            [
                ("execute_request", {"code": "import os; os._exit(1)", "silent": False}),
                ("kernel_info_request", {}),
            ]
        ):
            header = {"msg_id": f"m{number}", "msg_type": kind, "session": "s", "username": ""}
            message = {"header": header | {"date": "2026-01-01T00:00:00Z", "version": "5.3"}}
            talk.send(
                json.dumps(
                    message
                    | {"parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
                )
            )
        for said in talk:
            told = json.loads(said)
            assert told["parent_header"].get("msg_id") != "m0"
            if told["msg_type"] == "kernel_info_reply":
                break


def test_the_page_asks_nothing_from_outside(opened):
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?:https?:)?//[^"']*""", opened.text) == []
    policy = opened.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert opened.headers["x-frame-options"] == "DENY"


@posix
def test_only_results_can_be_downloaded(reader, data, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("not yours")
    (work,) = (data / "svc-tools" / "panel").glob("panel-*")
    mine = work / "session"
    for folder in ("results", "uploads"):
        (mine / folder).mkdir(parents=True, exist_ok=True)
        (mine / folder / "orders & more.csv").write_text("a,b\n1,2\n")
    (mine / "results" / "linked.csv").symlink_to(secret)
    found = reader.get("files/session/results/orders%20%26%20more.csv")
    assert (found.status_code, found.text) == (200, "a,b\n1,2\n")
    assert found.headers["content-disposition"].startswith("attachment")
    for path in (
        "files/session/uploads/orders%20%26%20more.csv",
        "files/session/results/linked.csv",
        "files/session/results/",
        "files/session/results/orders%00.csv",
        "files/session/results/" + "x" * 300,
        "files/",
        "files/.lock",
        "files/session/results/%2e%2e/uploads/orders%20%26%20more.csv",
        "files/..%2f..%2f..%2fservice.db",
        f"files/{secret}",
        f"files//{secret}",
    ):
        assert reader.get(path).status_code in {403, 404}, path


@linux
@pytest.mark.parametrize("how", ["SIGINT", "SIGHUP"])
def test_a_signal_ends_it_with_its_kernels_deletes_uploads_and_keeps_results(tmp_path, how):
    opened = tmp_path / "opened"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {opened}.part && mv {opened}.part {opened}\n')
    script.chmod(0o700)
    data = tmp_path / "data"
    with (
        served_page("--embedded", "--browser", **homes(data), BROWSER=str(script)) as page,
        httpx.Client(timeout=60) as reader,
    ):
        address = until(lambda: opened.exists() and opened.read_text())
        assert address.startswith(page.address)
        assert address != page.url
        assert reader.get(address).status_code == 302
        assert httpx.get(address, timeout=60).status_code == 403  # good for one opening
        assert httpx.get(page.address + "?token=%FF").status_code == 403
        kernels = until(lambda: _children(page.process.pid))
        (work,) = (data / "svc-tools" / "panel").glob("panel-*")
        assert work.stat().st_mode & 0o077 == 0
        for folder in ("results", "uploads"):
            (work / "s" / folder).mkdir(parents=True)
            (work / "s" / folder / "orders.csv").write_text("a\n")
        said, code = page.end(getattr(signal, how))
    assert code == 0
    assert all(line.startswith("Whoever has this address") for line in said[:-1])
    assert said[-1] == f"The page is closed. Its results are in {work}"
    assert [path.name for path in work.rglob("*") if path.is_file()] == ["orders.csv"]
    assert (work / "s" / "results" / "orders.csv").exists()
    assert not [pid for pid in kernels if Path(f"/proc/{pid}/cmdline").exists()]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", httpx.URL(page.address).port))


def test_what_cannot_be_served_is_one_sentence(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = svc_tools("panel", "--embedded", "--no-browser", "--port", str(port))
    assert done.returncode == 2
    assert f"Port {port} on 127.0.0.1 is in use" in " ".join(done.stderr.split())
    closed = tmp_path / "a file, no folder"
    closed.touch()
    done = svc_tools("panel", "--embedded", "--no-browser", **homes(closed))
    assert done.returncode == 2
    assert "cannot be written" in " ".join(done.stderr.split())
    assert not {"Open", "Traceback"} & set(done.stdout.split() + done.stderr.split())
    with pytest.raises(FileNotFoundError, match="There is no register"):
        serve_page(register=tmp_path / "no.csv")
    monkeypatch.setenv("SVC_API_KEY", "key-1234567890")
    with pytest.raises(ConfigurationError, match="no address"):
        serve_page()


def _children(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    return [
        child
        for child in found
        if "ipykernel" in Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8")
    ]
