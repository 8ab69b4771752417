"""What `make` prints while it installs: never silent, whatever pip is doing."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import install
import pytest

WHEEL = "slow_package-1.0-py3-none-any.whl"


def wheel():
    """The smallest wheel that pip installs."""
    files = {
        "slow_package.py": b"",
        "slow_package-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: slow-package\n"
        b"Version: 1.0\n",
        "slow_package-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\n"
        b"Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(of).digest()).decode()[:-1]},"
        f"{len(of)}\n"
        for name, of in files.items()
    )
    files["slow_package-1.0.dist-info/RECORD"] = record.encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for name, of in files.items():
            archive.writestr(name, of)
    return whole.getvalue()


@contextmanager
def slow_index(go_on):
    """An index with one wheel, of which the second half comes when `go_on` is set."""
    content = wheel()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_wheel = self.path.endswith(".whl")
            body = content if is_wheel else f'<a href="/{WHEEL}">{WHEEL}</a>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/zip" if is_wheel else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
            if is_wheel or "wait" in self.path:
                go_on.wait(30)
            self.wfile.write(body[len(body) // 2 :])

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            go_on.set()
            server.shutdown()


@pytest.fixture(autouse=True)
def _own_pip(monkeypatch, tmp_path):
    for name in ("PIP_FIND_LINKS", "PIP_CONSTRAINT", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "nul" if sys.platform == "win32" else "/dev/null")
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(install, "EVERY", 0.02)


class Said:
    """The lines that were printed; with the second one that holds `text`, the wait ends."""

    def __init__(self, text, go_on):
        self.lines = []
        self._text, self._go_on = text, go_on

    def __call__(self, line):
        self.lines.append(line)
        if sum(self._text in one for one in self.lines) >= 2:
            self._go_on.set()


def test_a_slow_download_is_named_again_and_again(tmp_path, capfd):
    said = Said(WHEEL, go_on := threading.Event())
    with slow_index(go_on) as index:
        arguments = ["--target", str(tmp_path / "to"), "-i", index, "slow-package"]
        assert install.main(arguments, said) == 0
    assert sum(WHEEL in one for one in said.lines) >= 2
    assert (tmp_path / "to" / "slow_package.py").exists()
    assert capfd.readouterr().out == ""  # no second account of it


def test_unpacking_is_counted_again_and_again(monkeypatch):
    said = Said("0 of 2 packages: alpha is the first", go_on := threading.Event())
    with slow_index(go_on) as address:
        stand_in = (
            "from urllib.request import urlopen\n"
            "print('Installing collected packages: alpha, beta', flush=True)\n"
            f"urlopen('{address}/wait', timeout=50).read()"
        )
        monkeypatch.setattr(install, "PIP", (sys.executable, "-c", stand_in))
        assert install.main([], said) == 0
    assert len(said.lines) >= 2


def test_what_pip_cannot_install_has_its_error_and_its_exit_code(tmp_path, capfd):
    arguments = ["--target", str(tmp_path), "--no-index", "no-such-package-of-ours"]
    assert install.main(arguments) != 0
    assert "no-such-package-of-ours" in capfd.readouterr().err
