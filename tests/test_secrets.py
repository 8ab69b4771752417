"""A key is in no file that the toolkit writes, whatever it was used for."""

from __future__ import annotations

import base64
import json
import os
import zipfile

import pytest
from support.command import run_python
from support.secrets import files_with, forms_of
from support.serving import serving_service

KEY = "Dist1nctive/key+of=the~tests"

ORDERS = "order,state,zip\n1,LA,70601\n2,CA,94105\n"
REGISTER = "state,nexus_type,registered_at,address,notes\nOR,economic,2020-02-01,,\n"


@pytest.fixture(scope="module")
def account(_own_home, tmp_path_factory):
    db = tmp_path_factory.mktemp("secret-account") / "service.db"
    with serving_service(db, key=KEY) as (_, url):
        yield url


@pytest.fixture
def place(account, tmp_path):
    """Folders of its own for all that is written, and the environment that names them."""
    folders = {name: tmp_path / name for name in ("home", "temporary", "work")}
    for folder in folders.values():
        folder.mkdir()
    homes = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "IPYTHONDIR")
    environment = dict.fromkeys((*homes, "JUPYTER_DATA_DIR"), str(folders["home"]))
    environment |= {"TMPDIR": str(folders["temporary"]), "COLUMNS": "100", "SVC_BASE_URL": account}
    return tmp_path, {name: value for name, value in os.environ.items() if name != "SVC_CACHE"} | (
        environment
    )


def test_the_search_finds_a_key_however_it_is_written(tmp_path):
    written = {
        "plain.log": f"x{KEY}x".encode(),
        "state.json": json.dumps({"key": KEY}).encode(),
        "address.txt": b"?key=Dist1nctive%2Fkey%2Bof%3Dthe%7Etests".replace(b"%7E", b"~"),
        **{
            f"basic{before}.txt": base64.b64encode(b"u" * before + KEY.encode() + b"zz")
            for before in range(4)
        },
    }
    for name, content in written.items():
        (tmp_path / name).write_bytes(content)
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("sheet.xml", KEY)
    (tmp_path / "clean.txt").write_text("nothing of it: Dist1nctive")
    found, all_of_them = files_with(KEY, tmp_path)
    assert {path.name for path in all_of_them} - {path.name for path in found} == {"clean.txt"}
    assert all(len(form) > 20 for form in forms_of(KEY))


def test_no_command_writes_the_key(place):
    root, environment = place
    work = root / "work"
    (work / "orders.csv").write_text(ORDERS)
    (work / "register.csv").write_text(REGISTER)
    environment |= {"SVC_API_KEY": KEY}

    def run(*arguments, code=0, **more):
        done = run_python("-m", "svc_tools", *arguments, env=environment | more, cwd=work)
        with (root / "said.log").open("a") as log:
            log.write(done.stdout + done.stderr)
        assert done.returncode == code, done.stdout + done.stderr

    run("lookup", "TX", "--zip", "78701", "--json")
    run("lookup", "TX", "--zip", "78701", SVC_BASE_URL="http://127.0.0.1:9", code=1)
    run("lookup", "TX", "--zip", "78701", SVC_BASE_URL="", code=2)
    run("enrich", "orders.csv", "-o", "found.csv")  # one rate is partial
    run("enrich", "orders.csv", "-o", "found.xlsx")
    run("nexus", "add", "OR", "--type", "economic", "--registered-at", "2020-02-01", "--yes")
    run("nexus", "plan", "--register", "register.csv", "-o", "plan.csv")
    plan = (work / "plan.csv").read_text()
    (work / "plan.csv").write_text(
        plan.replace("\n,OR", "\nx,OR").replace("\n,Oregon", "\nx,Oregon")
    )
    run("nexus", "apply", "plan.csv", "--yes")
    run("nexus", "receipts")
    found, written = files_with(KEY, root)
    assert found == []
    names = {path.name for path in written}
    assert {"found.csv", "found.xlsx", "plan.csv", "results.db", "said.log"} <= names
    assert [name for name in names if name.endswith(".jsonl")]
