"""Certificates for https on this machine, made by openssl."""

from __future__ import annotations

import subprocess

from support.tools import openssl


def make_certificate(folder, *, name="localhost", password=None, days=2):
    """The paths of a certificate that signed itself, and of its key."""
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
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
    ours = ("-subj", f"/CN={name}")
    _run("req", *curve, *lock, *ours, "-keyout", key, "-out", request)
    signed = ("-in", request, "-signkey", key, "-days", days, "-extfile", extensions)
    _run("x509", "-req", *unlock, *signed, "-out", cert)
    return cert, key


def _run(*arguments):
    subprocess.run([openssl(), *map(str, arguments)], check=True, capture_output=True)
