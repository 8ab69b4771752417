"""Is a secret in anything that was written?"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import zipfile
import zlib
from urllib.parse import quote, quote_plus

TYPED_KEY = "browser-key-7f3e9a1c5b"
"""What a person types on the panel in the tests of a browser."""


def forms_of(secret):
    """The secret as files may hold it: as it is, in JSON, in an address, in base64, in hex."""
    raw = secret.encode()
    found = {raw, secret.encode("utf-16-le"), raw.hex().encode(), raw[::-1]}
    found |= {quote(secret, safe="").encode(), quote_plus(secret).encode(), quote(secret).encode()}
    found |= {json.dumps(secret)[1:-1].encode(), secret.replace("/", r"\/").encode()}
    for before in range(3):  # base64 of a longer text: what does not depend on its neighbours
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(b"x" * before + raw)
            found.add(whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6])
    return found


def files_with(secret, *folders):
    """The files below folders that hold a secret, also inside archives, and how many there are."""
    forms = forms_of(secret)
    paths = sorted({path for folder in folders for path in folder.rglob("*") if path.is_file()})
    return [path for path in paths if _holds(path.read_bytes(), forms)], paths


def _holds(content, forms):
    return any(form in part for part in _parts(content) for form in forms)


def _parts(content):
    yield content
    with contextlib.suppress(zipfile.BadZipFile, zlib.error):  # tests cut archives off
        if content[:2] == b"\x1f\x8b":
            yield zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content)
        if content[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for name in archive.namelist():
                    yield archive.read(name)
