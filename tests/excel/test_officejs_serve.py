"""`svc-tools excel serve` as a program: https, one for each user, the same from run to run."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading

import httpx
import pytest
from support.faults import HANG, KEY
from support.spreadsheets import addin_module, excel_serve
from support.tools import openssl

from svc_tools.excel.officejs.serving import check_certificate, serve
from svc_tools.excel.setup import check

RATE = {"calls": [{"f": "SVC_RATE", "a": ["TX", "78701", "2026-05-01"]}]}
SUM = {"calls": [{"f": "SVC_SUM", "a": [[[1.1, 2.2]]]}]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The adapters' folder, for this process and those it starts."""
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return tmp_path / "excel"


def make_certificate(folder, *, name="localhost", password=None, days=2):
    """The paths of a certificate that signed itself, and of its key, made by openssl."""
    folder.mkdir(parents=True, exist_ok=True)
    cert, key, request, extensions = (
        folder / one for one in ("cert.pem", "key.pem", "request.pem", "extensions")
    )
    extensions.write_text(
        f"subjectAltName=DNS:{name},IP:127.0.0.1,IP:::1\n"
        "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n",
        encoding="utf-8",
    )
    lock = ("-passout", f"pass:{password}") if password else ("-nodes",)
    unlock = ("-passin", f"pass:{password}") if password else ()
    subject = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", f"/CN={name}")
    signed = ("-in", request, "-signkey", key, "-days", days, "-extfile", extensions)
    for arguments in (
        ("req", *subject, *lock, "-keyout", key, "-out", request),
        ("x509", "-req", *unlock, *signed, "-out", cert),
    ):
        subprocess.run([openssl(), *map(str, arguments)], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def leave(folder, url):
    """The file of a last run at an address."""
    folder.mkdir()
    last = {"url": url, "token": "kept-token", "pid": None}
    (folder / "server.json").write_text(json.dumps(last), encoding="utf-8")
    (folder / "server.json").chmod(0o600)


def known(folder):
    return json.loads((folder / "server.json").read_text(encoding="utf-8"))


def test_it_serves_https_and_stays_the_same_from_run_to_run(folder, certificate, tmp_path):
    cert, key = certificate
    options = ("--cert", cert, "--key", key)
    written = tmp_path / "mine.xml"
    leave(folder, "https://localhost:1")
    with excel_serve("--port", 0, "--manifest", written, *options, **os.environ) as (first, said):
        server = known(folder)
        assert server["pid"] == first.pid
        assert server["url"].startswith("https://localhost:")
        assert any(server["url"] in line for line in said)
        assert any(str(written) in line for line in said)
        assert server["token"] == "kept-token"
        assert "kept-token" not in "".join(said)
        assert "https://localhost:1: load the manifest into Excel again" in "".join(said)
        assert "plain http" not in "".join(said)
        trusting = ssl.create_default_context(cafile=cert)
        headers = {"authorization": f"Bearer {server['token']}"}
        with httpx.Client(base_url=server["url"], verify=trusting, trust_env=False) as client:
            got = client.post("/excel/batch", json=SUM, headers=headers)
            assert got.json() == {"results": [{"v": 3.3}]}
            assert client.get("/excel/").status_code == 200

        assert_trusted_by_its_certificate_alone(folder, make_certificate(tmp_path / "other")[0])

        again = []
        serve(port=None, cert=None, key=None, say=again.append)  # returns at once
        assert server["url"] in again[0]
        assert str(first.pid) in again[0]

        manifest = written.read_bytes()
        first.send_signal(signal.SIGINT)
        ending = first.stdout.read()
        assert first.wait(20) == 0
        assert "has stopped" in ending
        assert "Traceback" not in ending
    assert known(folder) == server | {"pid": None}
    if sys.platform != "win32":
        assert stat.S_IMODE((folder / "server.json").stat().st_mode) == 0o600

    with excel_serve(*options, **os.environ) as (second, said):
        assert known(folder) == server | {"pid": second.pid}
        assert (folder / "svc-tools-manifest.xml").read_bytes() == manifest
        assert not any("again" in line for line in said)
        second.terminate()
        assert "has stopped" in second.stdout.read()
        assert second.wait(20) == 0
    assert known(folder)["pid"] is None

    with excel_serve("--port", 0, **os.environ) as (_, said):
        text = "".join(said)
        assert f"{server['url']}: for Excel start it with that certificate" in text
        assert "plain http" in text


def assert_trusted_by_its_certificate_alone(folder, other):
    """By Calc's add-in and by the check: nobody else, who took the port, is given the token."""
    path = folder / "server.json"
    content = path.read_text(encoding="utf-8")
    calc = addin_module("svc_calc_server")
    link = calc.Server()
    assert link.request("POST", "/excel/batch", SUM) == {"results": [{"v": 3.3}]}
    line = {line.name: line for line in check(windows=False)}["Server"]
    assert (line.mark, line.todo) == ("ok", None)
    for certificate in (str(other), None):
        path.write_text(json.dumps(json.loads(content) | {"certificate": certificate}))
        with pytest.raises(calc.ServerError, match="cannot be trusted"):
            link.request("POST", "/excel/batch", SUM)
    path.write_text(json.dumps(json.loads(content) | {"certificate": str(other)}))
    assert {line.name: line.mark for line in check(windows=False)}["Server"] == "wrong"
    path.write_text(content, encoding="utf-8")
    link._close()


def test_ctrl_c_ends_it_while_the_service_hangs_and_the_cells_get_an_error(folder, faults):
    leave(folder, "http://localhost:1")
    faults.will(HANG)
    service = {"SVC_BASE_URL": faults.base_url, "SVC_API_KEY": KEY}
    with excel_serve("--port", 0, **os.environ | service) as (process, said):
        assert "The last run" not in "".join(said)
        server = known(folder)
        headers = {"authorization": f"Bearer {server['token']}"}
        address = f"{server['url']}/excel/batch"
        told = []

        def ask():
            told.append(httpx.post(address, json=RATE, headers=headers, timeout=60))

        thread = threading.Thread(target=ask)
        thread.start()
        assert faults.asked.wait(20)
        process.send_signal(signal.SIGINT)
        ending = process.stdout.read()
        assert process.wait(20) == 0
        thread.join()
    assert told[0].status_code == 503
    assert "svc-tools excel serve" in told[0].json()["error"]["message"]
    assert ending.strip().splitlines()[-1].startswith("The server has stopped")
    assert "Traceback" not in ending


def test_a_port_in_use_is_an_error_and_nothing_is_changed(folder):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=rf"Port {port} .* --port"):
            serve(port=port, cert=None, key=None, say=print)
    assert not (folder / "server.json").exists()


def test_certificate_and_key_are_pem_files_that_belong_together(certificate, tmp_path):
    cert, key = certificate
    text = tmp_path / "text.pem"
    text.write_text("no certificate", encoding="utf-8")
    check_certificate(cert, key)
    with pytest.raises(ValueError, match="belong together"):
        serve(port=0, cert=cert, key=None, say=print)
    for pair, reason in [
        ((cert, make_certificate(tmp_path / "another")[1]), "belong together"),
        ((tmp_path / "nothing.pem", key), r"nothing\.pem does not exist"),
        ((text, text), "PEM files are expected"),
    ]:
        with pytest.raises(ValueError, match=reason):
            check_certificate(*pair)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"name": "evil.example"}, "DNS:localhost"),
        ({"password": "secret-word"}, "has a password"),
        ({"days": -1}, "not valid today"),
    ],
)
def test_a_certificate_that_excel_would_refuse_without_a_word_is_refused_here(
    tmp_path, wrong, reason
):
    with pytest.raises(ValueError, match=reason):
        check_certificate(*make_certificate(tmp_path, **wrong))
