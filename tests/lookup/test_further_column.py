"""A further column is a row of the table and a field of `Found`: everything else follows.

One that is no text is read by a line of its own besides. A process of its own runs the toolkit with
these lines added, over HTTP and real files.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support.examples import spread
from support.faults import KEY, RESET, echoing

import svc_tools  # noqa: F401 - registers df.svc
from svc_sdk import Svc
from svc_tools.lookup import lock_file
from svc_tools.lookup.columns import ADDED_COLUMNS, LOOKUP_COLUMNS
from svc_tools.lookup.lock_file import LockFileError, read_lock

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "data" / "stored"

PROGRAM = """
import copy, dataclasses, importlib.util, json, pickle, sys
from pathlib import Path

def with_lines(name, *lines):
    "Load a module with further lines, each before another one."
    spec = importlib.util.find_spec(name)
    source = Path(spec.origin).read_text(encoding="utf-8")
    for line, before in lines:
        assert source.count(before) == 1
        source = source.replace(before, line + before)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    code = compile(source, "with a further line", "exec")
    exec(code, vars(module))

given = json.loads(sys.argv[1])
row = 'Column("further", "{form}", "a further fact", "{sent}", "further", shared={shared}),'
with_lines("svc_tools.lookup.columns", (row.format(**given), 'Column("state_tax",'))
field = "    further: {type} | None = None\\n".format(**given), "\\n\\nFOUND_FIELDS ="
reads = (given["read"], "        low=low,")
with_lines("svc_tools.lookup.outcomes", field, reads)

import pandas as pd
import svc_tools
from scripts.write_code_tables import written
from svc_sdk import Svc
from svc_tools.config import source_of
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import FunctionCall, evaluate
from svc_tools.lookup.cache import Cache
from svc_tools.lookup.lock_file import read_lock

folder, out = Path(given["folder"]), {}
client = Svc(given["key"], base_url=given["url"], max_retries=0)
frame = pd.DataFrame({"state": ["TX", "TX", "??"], "zip": ["78701", "78702", "1"]})
options = {"as_of": "2026-05-17", "progress": False}
looked = frame.svc.lookup(client=client, cache=folder / "rates.db", **options)
out["requests"] = looked.attrs["svc"]["lookups"][""]["requests"]
out["columns"] = list(looked.columns)
out["cells"] = [None if pd.isna(one) else str(one) for one in looked["further"]]
looked.to_csv(folder / "looked.csv", index=False)
again = pd.read_csv(folder / "looked.csv", dtype=str).svc.lookup(
    client=client, cache=folder / "rates.db", **options
)
out["again"] = again.equals(looked)
lock = folder / "rates.svclock"
if not lock.exists():
    looked.svc.freeze(lock)
locked = frame.svc.lookup(locked=lock, **options)
out["locked"] = [None if pd.isna(one) else str(one) for one in locked["further"]]
desk = Desk(client, cache=folder / "rates.db")
place = ("TX", "78701", "2026-05-17")
calls = [FunctionCall("SVC_FIELDS", ()), FunctionCall("SVC_FIELD", ("further", *place))]
out["fields"], out["cell"] = evaluate(desk, calls)
page = Path("docs/COLUMNS.md").read_text(encoding="utf-8")
out["page"] = [line for line in written(page).splitlines() if "`further`" in line]
out["stored"] = {}
with Svc("svc_sample_key", base_url="https://rates.example") as paid:
    for path in given["stored"]:
        frozen = read_lock(given["frozen"]).results
        cache = Cache(Path(path), clock=lambda: next(iter(frozen.values())).looked_up_at)
        known = cache.known(source_of(paid), [*frozen], detail=False)
        assert cache.notes == [] and known == frozen and len(known) == 6
        out["stored"][path] = [dataclasses.asdict(one) for one in known.values()]
former = [one.found for _, one in pickle.loads(Path(given["pickle"]).read_bytes()) if one.found]
out["pickled"] = [one.further for one in former]
assert [*map(copy.copy, former)] == former == pickle.loads(pickle.dumps(former))
assert all("further=None" in repr(one) for one in former)
print(json.dumps(out, default=str))
"""

READ = {
    "truth": "        further=_sent(response, 'meta.further') is True,\n",
    "rate": "        further=_units_or_none(_sent(response, 'rate.further')),\n",
}
"""The line in `outcomes._found` that reads a column that is no text."""


def run(given):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(given)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(150)  # two processes that load pandas, on a busy machine
@pytest.mark.parametrize(
    ("column", "value"),
    spread(
        [
            ({"form": "text", "type": "str", "sent": "meta.further", "shared": False}, "48453"),
            ({"form": "category", "type": "str", "sent": "meta.further", "shared": True}, "exempt"),
            ({"form": "truth", "type": "bool", "sent": "meta.further", "shared": False}, False),
            ({"form": "day", "type": "str", "sent": "meta.further", "shared": True}, "2026-01-31"),
            ({"form": "rate", "type": "int", "sent": "rate.further", "shared": False}, "0.01000"),
        ],
        3,
        start=1,
    ),
    ids=lambda value: value["form"] if isinstance(value, dict) else "",
)
def test_a_row_and_a_field_are_a_further_column_everywhere(tmp_path, faults, column, value):
    sent = {"further": value}
    faults.will(echoing(rate=sent) if column["form"] == "rate" else echoing(**sent))
    stored = [
        shutil.copy(path, tmp_path / f"{path.parent.name}.db")
        for path in sorted(STORED.glob("*/results.db"))
    ]
    (frozen,) = STORED.glob("*/frozen.svclock")
    given = column | {"key": KEY, "url": faults.base_url, "folder": str(tmp_path)}
    given |= {
        "stored": [*map(str, stored)],
        "frozen": str(frozen),
        "read": READ.get(column["form"], ""),
    }
    (pickled,) = STORED.glob("*/outcomes.pickle")
    given["pickle"] = str(pickled)
    first = run(given)
    assert first["pickled"]
    assert {*first["pickled"]} == {None}
    shown = [str(value), str(value), None]
    names = [name for name in first["columns"] if name not in {"state", "zip"}]
    at = names.index("further")
    behind = ADDED_COLUMNS[ADDED_COLUMNS.index("state_tax") :]
    following = next(one for one in behind if one in LOOKUP_COLUMNS)
    assert (names[at - 1], names[at + 1]) == ("combined_district_rate", following)
    assert first["requests"] == 2
    assert first["cells"] == first["locked"] == shown
    assert first["again"]
    (field,) = [row for row in first["fields"] if row[0] == "further"]
    assert field[0::2] == ["further", "a further fact"]
    assert first["cell"] == (0.01 if column["form"] == "rate" else value)
    assert len(first["page"]) == 2  # the order, and the table of the lookup's columns
    assert "further" in (tmp_path / "looked.csv").read_text().splitlines()[0].split(",")
    # a second process has all of it from the cache and the lock file, and no server
    faults.will(RESET)
    assert run(given) == first | {"requests": 0}
    # what was stored before is the same, and is what this release reads
    expected = read_lock(frozen).results
    for results in first["stored"].values():
        assert [one["found"] and one["found"].pop("further") for one in results] == [None] * 6
        plain = json.dumps([dataclasses.asdict(one) for one in expected.values()], default=str)
        assert results == json.loads(plain)
    # this release reads the newer cache, without a request, and refuses the newer lock file as such
    frame = pd.DataFrame({"state": ["TX", "TX"], "zip": ["78701", "78702"]})
    options = {"as_of": "2026-05-17", "progress": False}
    with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
        looked = frame.svc.lookup(client=client, cache=tmp_path / "rates.db", **options)
    assert looked.attrs["svc"]["lookups"][""]["requests"] == 0
    assert looked["combined_rate"].map(str).tolist() == ["0.08250"] * 2
    assert looked["resolved_zip"].tolist() == ["78701", "78702"]
    lock = tmp_path / "rates.svclock"
    assert json.loads(lock.read_text().splitlines()[0])["version"] == lock_file._VERSION + 1
    with pytest.raises(LockFileError, match="newer release"):
        read_lock(lock)
