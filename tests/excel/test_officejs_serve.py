"""`svc-tools excel serve` as a program: https, one for each user, the same from run to run."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import socket
import ssl
import stat
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr
from support.command import run_python, start_python
from support.faults import HANG, KEY
from support.keyrings import use_keyring
from support.spreadsheets import addin_module, excel_serve
from support.systems import posix, pty
from support.tools import openssl

from svc_tools.base import operating_system
from svc_tools.excel import settings, setup
from svc_tools.excel.company import ADVICE
from svc_tools.excel.officejs.serving import serve_addins
from svc_tools.excel.setup import check, check_certificate

RATE = {"calls": [{"f": "SVC_RATE", "a": ["TX", "78701", "2026-05-01"]}]}
SUM = {"calls": [{"f": "SVC_SUM", "a": [[[1.1, 2.2]]]}]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The adapters' folder, for this process and those it starts."""
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path / "excel"))
    return tmp_path / "excel"


EC = ("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def make_certificate(
    folder, *, name="localhost", names=None, use="serverAuth", kind=EC, password=None, days=2
):
    """The paths of a certificate that signed itself, and of its key, made by openssl."""
    folder.mkdir(parents=True, exist_ok=True)
    cert, key, request, extensions = (
        folder / one for one in ("cert.pem", "key.pem", "request.pem", "extensions")
    )
    extensions.write_text(
        f"subjectAltName={names or f'DNS:{name},IP:127.0.0.1,IP:::1'}\n"
        f"basicConstraints=critical,CA:FALSE\nextendedKeyUsage={use}\n",
        encoding="utf-8",
    )
    lock = ("-passout", f"pass:{password}") if password else ("-nodes",)
    unlock = ("-passin", f"pass:{password}") if password else ()
    subject = ("-newkey", *kind, "-subj", f"/CN={name}")
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


@posix
def test_the_check_of_a_service_whose_certificate_is_not_trusted_brings_the_advice_on_proxies(
    folder, certificate, monkeypatch
):
    use_keyring(monkeypatch)
    cert, key = certificate
    with excel_serve("--port", 0, "--cert", cert, "--key", key, **os.environ):
        settings.remember(known(folder)["url"], SecretStr(KEY))
        response = {line.name: line for line in check()}["Response"]
    assert response.mark == "wrong"
    assert response.todo.endswith(ADVICE["proxy"].todo)


@posix
def test_it_serves_https_and_stays_the_same_from_run_to_run(folder, certificate, tmp_path):
    cert, key = certificate
    leave(folder, "https://localhost:1")
    (folder / "svc-tools-manifest.xml").write_text("https://localhost:1/excel/", encoding="utf-8")
    with excel_serve("--port", 0, "--cert", cert, "--key", key, **os.environ) as (first, said):
        server = known(folder)
        assert server["pid"] == first.pid
        assert server["url"].startswith("https://localhost:")
        assert any(server["url"] in line for line in said)
        assert any(str(folder / "svc-tools-manifest.xml") in line for line in said)
        assert server["token"] == "kept-token"
        assert "kept-token" not in "".join(said)
        assert "into Excel again" in "".join(said)  # it has another address
        assert "plain http" not in "".join(said)
        trusting = ssl.create_default_context(cafile=cert)
        headers = {"authorization": f"Bearer {server['token']}"}
        with httpx.Client(base_url=server["url"], verify=trusting, trust_env=False) as client:
            got = client.post("/excel/batch", json=SUM, headers=headers)
            assert got.json() == {"results": [{"v": 3.3}]}
            assert client.get("/excel/").status_code == 200

        assert_trusted_by_its_certificate_alone(folder, make_certificate(tmp_path / "other")[0])

        again = []
        serve_addins(port=None, cert=None, key=None, say=again.append)  # returns at once
        assert server["url"] in again[0]
        assert str(first.pid) in again[0]

        manifest = (folder / "svc-tools-manifest.xml").read_bytes()
        first.send_signal(signal.SIGINT)
        ending = first.stdout.read()
        assert first.wait(20) == 0
        assert "has stopped" in ending
        assert "Traceback" not in ending
    assert known(folder) == server | {"pid": None}
    for name in ("server.json", "svc-tools-manifest.xml"):  # the token is in both
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600

    stored = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    paths = [str(cert), str(key)]
    assert stored == {"certificate": paths, "https": True}  # the paths, and no content
    with excel_serve(**os.environ) as (second, said):  # the same certificate
        assert known(folder) == server | {"pid": second.pid}
        assert (folder / "svc-tools-manifest.xml").read_bytes() == manifest
        assert not any("again" in line for line in said)
        second.terminate()
        assert "has stopped" in second.stdout.read()
        assert second.wait(20) == 0
    assert known(folder)["pid"] is None

    for option in (["--http"], []):  # it is what was chosen last
        with excel_serve("--port", 0, *option, **os.environ) as (_, said):
            assert known(folder)["url"].startswith("http:")
            assert "plain http" in "".join(said)
            assert (folder / "svc-tools-manifest.xml").read_bytes() == manifest
    with excel_serve("--https", "--port", 0, **os.environ) as (_, said):
        assert known(folder)["url"].startswith("https:")


def assert_trusted_by_its_certificate_alone(folder, other):
    """By Calc's add-in: nobody else, who took the port, is given the token."""
    path = folder / "server.json"
    content = path.read_text(encoding="utf-8")
    calc = addin_module("svc_calc_server")
    link = calc.Server()
    assert link.request("POST", "/excel/batch", SUM) == {"results": [{"v": 3.3}]}
    line = {line.name: line for line in check()}["Server"]
    assert (line.mark, line.todo) == ("ok", None)
    for certificate in (str(other), None):
        path.write_text(json.dumps(json.loads(content) | {"certificate": certificate}))
        with pytest.raises(calc.ServerError, match="cannot be trusted"):
            link.request("POST", "/excel/batch", SUM)
    path.write_text(content, encoding="utf-8")
    link._connection.close()


@posix
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
            serve_addins(port=port, cert=None, key=None, say=print)
    assert not (folder / "server.json").exists()


def test_certificate_and_key_are_pem_files_that_belong_together(folder, certificate, tmp_path):
    cert, key = certificate
    text = tmp_path / "text.pem"
    text.write_text("no certificate", encoding="utf-8")
    assert check_certificate(cert, key) > datetime.now(UTC).date()
    with pytest.raises(ValueError, match="belong together"):
        serve_addins(port=0, cert=cert, key=None, say=print)
    for pair, reason in [
        ((cert, make_certificate(tmp_path / "another")[1]), "belong together"),
        ((tmp_path / "nothing.pem", key), r"nothing\.pem does not exist"),
        ((text, text), "PEM files are expected"),
    ]:
        with pytest.raises(ValueError, match=reason):
            serve_addins(port=0, cert=pair[0], key=pair[1], say=print)
    assert not (folder / "settings.json").exists()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"name": "evil.example"}, "DNS:localhost"),
        ({"names": "IP:127.0.0.1"}, "DNS:localhost"),  # only its common name is localhost
        ({"use": "clientAuth"}, "serverAuth"),
        ({"kind": ("rsa:1024",)}, "2048 bits"),
        ({"password": "secret-word"}, "without a password"),
        ({"days": -1}, "expired"),
    ],
)
def test_a_certificate_that_excel_would_refuse_without_a_word_is_refused_here(
    tmp_path, wrong, reason
):
    with pytest.raises(ValueError, match=reason):
        check_certificate(*make_certificate(tmp_path, **wrong))


@pytest.fixture
def computer(folder, certificate, tmp_path, monkeypatch):
    """A home and the programs that a test puts on the path: the words that each was given."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    programs.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", str(programs))

    def program(name, *files, code=0):
        """A program that copies a real certificate to two files, and notes its words."""
        lines = [
            "#!/bin/sh",
            f'printf "%s\\n" "$@" >> {programs / name}.words',
            *(f"/bin/mkdir -p {one.parent}" for one in files),
            *(f"/bin/cp {one} {to}" for one, to in zip(certificate, files, strict=False)),
            f"exit {code}",
        ]
        path = programs / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        path.chmod(0o700)
        return lambda: path.with_suffix(".words").read_text().splitlines()

    program.home = home
    return program


def served_over_https(server, cert):
    """Whether the server responds to a client that trusts this certificate alone."""
    verify = ssl.create_default_context(cafile=cert)
    with httpx.Client(base_url=server["url"], verify=verify, trust_env=False) as client:
        return client.get("/excel/").status_code == 200


DEV_CERTS = ["--yes", "office-addin-dev-certs", "install", "--days", "365"]


@posix
@pytest.mark.parametrize("tool", ["mkcert", "npx"])
def test_a_tool_makes_and_trusts_a_certificate_in_one_step(folder, computer, certificate, tool):
    files = folder / "svc-cert.pem", folder / "svc-key.pem"
    if tool == "npx":
        made = computer.home / ".office-addin-dev-certs"
        files = made / "localhost.crt", made / "localhost.key"
    words = computer(tool, *files)
    with excel_serve("--yes", "--port", 0, **os.environ) as (_, said):
        assert served_over_https(known(folder), certificate[0])
        command = next(line for line in said if line.startswith("  "))
    assert [Path(shlex.split(command)[0]).name, *shlex.split(command)[1:]] == [tool, *words()]
    mkcert = ["-install", "-cert-file", str(files[0]), "-key-file", str(files[1])]
    expected = [*mkcert, "localhost", "127.0.0.1", "::1"] if tool == "mkcert" else DEV_CERTS
    assert words() == expected
    with excel_serve("--port", 0, **os.environ) as (_, said):  # found again, not made again
        assert served_over_https(known(folder), certificate[0])
    assert words() == expected


@posix
def test_without_a_terminal_nothing_is_run_but_shown(folder, computer):
    computer("mkcert", folder / "svc-cert.pem", folder / "svc-key.pem", code=1)
    with excel_serve("--port", 0, **os.environ) as (_, said):
        assert known(folder)["url"].startswith("http:")  # Calc accepts it
        assert any(line.split()[:2][-1:] == ["-install"] for line in said)
    assert refused("--https").returncode == 2
    assert not (folder / "settings.json").exists()
    assert not (folder / "svc-cert.pem").exists()


def refused(*options):
    """The command without a terminal, where it does not serve."""
    return run_python("-m", "svc_tools", "excel", "serve", "--port", "0", *options)


@posix
def test_the_user_confirms_before_the_computer_trusts_anything(folder, computer, certificate):
    words = computer("mkcert", folder / "svc-cert.pem", folder / "svc-key.pem")
    said = in_terminal("n")
    assert said.index("-install") < said.index("Run it now?")
    assert "plain http" in said
    assert not (folder / "svc-cert.pem").exists()
    assert "Run it now?" not in in_terminal("")  # http was chosen
    assert "Certificate:" in in_terminal("y", "--https")
    assert "-install" in words()


def in_terminal(answer, *options):
    """What the command shows on a terminal until it serves; the answer to its question is typed."""
    ours, theirs = pty.openpty()
    command = ("-m", "svc_tools", "excel", "serve", "--port", "0", *options)
    with start_python(*command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        seen = ""
        while "Ctrl+C" not in seen and select.select([ours], [], [], 60)[0]:
            before, seen = seen, seen + os.read(ours, 4096).decode()
            if "[y/N]" in seen and "[y/N]" not in before:
                os.write(ours, f"{answer}\n".encode())
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    os.close(ours)
    return seen


@posix
def test_without_a_tool_the_commands_for_this_system_are_shown_and_work(folder, computer):
    computer("certutil")
    with excel_serve("--port", 0, **os.environ) as (_, said):
        assert known(folder)["url"].startswith("http:")
        commands = [line.strip() for line in said if line.startswith("  ")]
    for command in commands:  # as the user would: the real openssl, a stand-in for the trust
        path = f"{os.environ['PATH']}:{Path(openssl()).parent}:/bin"
        subprocess.run(["/bin/sh", "-c", command], check=True, env={**os.environ, "PATH": path})
    with excel_serve("--port", 0, **os.environ) as (_, said):
        assert served_over_https(known(folder), folder / "svc-cert.pem")
        assert not any("again" in line for line in said)  # Excel never had a manifest
    assert (folder / "svc-key.pem").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("system", "trust"),
    [
        ("win32", ["certutil", "-user", "-addstore", "Root"]),
        ("darwin", ["security", "add-trusted-cert", "-p", "ssl", "-k"]),
        ("linux", ["certutil", "-d", "sql:{home}/.pki/nssdb", "-A", "-t", "P,,"]),
    ],
)
def test_the_commands_are_those_of_the_system(folder, computer, monkeypatch, system, trust):
    monkeypatch.setattr(operating_system, "NAME", system)
    make, *_, last = [
        shlex.split(line, posix=system != "win32") for line in setup.certificate_commands()
    ]
    assert make[0].strip('"').endswith("openssl.exe" if system == "win32" else "openssl")
    assert "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1" in make
    assert last[: len(trust)] == [word.format(home=computer.home) for word in trust]
    assert last[-1] == str(folder / "svc-cert.pem")


@posix
def test_a_stored_certificate_that_expired_is_said_and_made_again(folder, computer, tmp_path):
    words = computer("mkcert", folder / "svc-cert.pem", folder / "svc-key.pem")
    old = make_certificate(tmp_path / "old", days=-1)
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps({"certificate": [*map(str, old)]}))
    line = {line.name: line for line in check()}["Certificate"]
    assert (line.mark, "--https" in line.todo) == ("wrong", True)
    for _ in range(2):  # it expired, then it is not there at all
        done = refused()
        assert done.returncode == 2
        assert str(old[0]) in done.stderr
        assert "svc-tools excel serve --https" in done.stderr
        assert str(old[0]) in refused("--https").stderr  # nobody confirms a new one
        old[0].unlink(missing_ok=True)
    assert not (folder / "server.json").exists()
    with excel_serve("--https", "--yes", "--port", 0, **os.environ):
        assert known(folder)["url"].startswith("https:")
    assert words()
    line = {line.name: line for line in check()}["Certificate"]
    assert (line.mark, str(folder / "svc-cert.pem") in line.said) == ("ok", True)


@posix
def test_a_tool_that_fails_is_an_error_and_nothing_is_stored(folder, computer):
    made = computer.home / ".office-addin-dev-certs"  # made, and not trusted
    computer("npx", made / "localhost.crt", made / "localhost.key", code=7)
    done = refused("--yes")
    assert done.returncode == 2
    assert "npx made no certificate that is trusted" in done.stderr
    assert not (folder / "settings.json").exists()
