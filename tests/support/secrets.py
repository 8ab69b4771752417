"""Is a secret in anything that was written?"""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
import zlib
from urllib.parse import quote, quote_plus


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
    return [path for path in paths if any(_holds(path.read_bytes(), form) for form in forms)], paths


def _holds(content, form):
    return any(form in part for part in _parts(content))


def _parts(content):
    yield content
    if content[:2] == b"\x1f\x8b":
        yield gzip.decompress(content)
    if content[:4] == b"PK\x03\x04":
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                for name in archive.namelist():
                    yield archive.read(name)
        except (zipfile.BadZipFile, zlib.error):
            return
