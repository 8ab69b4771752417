"""What is loaded when, and what a missing extra says."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

import svc_tools
from svc_tools.base import extras

ROOT = Path(__file__).parents[1]

BLOCK = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        there = name.split('.')[0] not in {blocked!r}
        return self.finder.find_spec(name, path, target) if there else None
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = map(Without, sys.meta_path)
"""

EXTRAS = {
    "bulk": {"aiohttp", "jinja2", "rich", "tzdata"},
    "pandas": {"pandas", "pyarrow", "tqdm"},
    "cli": {"typer", "rich"},
    "polars": {"polars"},
    "report": {"xlsxwriter", "openpyxl", "matplotlib"},
    "dask": {"dask", "distributed"},
    "nexus": {"filelock"},
    "notebook": {"ipywidgets", "anywidget"},
    "lab": {"jupyterlab"},
    "page": {"voila", "jupyter_server", "ipykernel"},
    "service": {
        "fastapi",
        "uvicorn",
        "sqlalchemy",
        "usaddress",
        "shapely",
        "bokeh_sampledata",
    },
    "postgres": {"pg8000"},
    "excel": {"xlwings", "xlsxwriter", "fastapi", "uvicorn", "keyring"},
}


def command(*arguments):
    """Code that runs a command."""
    return f"import sys; sys.argv[1:] = {[*arguments]}; from svc_tools.cli import main; main()"


ENRICHED = f"""
import sys; sys.path.insert(0, {str(ROOT / "tests")!r})
from support.frames import enriched, row
from svc_tools import svc
"""

ENRICH_A_WORKBOOK = """
import pathlib, sys, tempfile
from svc_tools.cli import main
here = pathlib.Path(tempfile.mkdtemp())
(here / "orders.xlsx").touch()
sys.argv[1:] = ["enrich", str(here / "orders.xlsx"), "-o", str(here / "out.csv"), "--embedded"]
main()
"""

CLEAN_UP = """
import sys
from svc_tools import nexus
register = nexus.read_register([{"state": "OR", "nexus_type": "economic"}])
plan = nexus.make_plan(register).tick(("OR", "economic"))
assert nexus.read_register(register.write("own.csv")) == register
assert nexus.read_plan(plan.write("plan.csv")).ticked == plan.ticked
assert nexus.preview(plan)[0].line == "DELETE /v1/portability/nexus/OR?nexus_type=economic"
assert "OR economic" in str(plan) and "<table" in plan._repr_html_()
assert not {"pandas", "openpyxl", "filelock"} & set(sys.modules)
"""

IN_A_SPREADSHEET = """
import sys
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import FunctionCall, evaluate
assert evaluate(Desk(cache=False), [FunctionCall("SVC_SUM", ([[0.1], [0.2]],))]) == [0.3]
import svc_tools.excel.com.udfs, svc_tools.excel.com.nexus, svc_tools.excel.officejs.serving
from svc_tools.cli import main
for command, name in (("workbook", "own.xlsm"), ("calc-addin", "own.oxt")):
    sys.argv[1:] = ["excel", command, name]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code
"""

CELL = """
import sys
from svc_tools.excel.desk import Desk
from svc_tools.excel.functions import FunctionCall, evaluate
(result,) = evaluate(Desk(cache=False), [FunctionCall("SVC_RATE", ("CA", "94105", "2026-02-01"))])
if isinstance(result, Exception):
    print(result.text, file=sys.stderr)
    sys.exit(2)
"""

MANY = """
import svc_tools
from svc_sdk import Svc
client = Svc("no-key-at-all-123", base_url="http://127.0.0.1:9", max_retries=0)
print(*svc_tools.lookup_many([("TX", "78701")], client=client, cache=False))
"""


PUBLIC = {
    *("AsyncSvc", "ConfigurationError", "LookupFailedError", "Svc", "SvcError", "__version__"),
    *("aconnect", "alookup_many", "connect", "frames", "lookup_many", "nexus", "panel", "svc"),
}


def lists(*left_out):
    """Code that lists the public names that can be used, and loads no pandas for it."""
    return f"""
import sys, svc_tools
assert dir(svc_tools) == {sorted(PUBLIC - set(left_out))}, dir(svc_tools)
assert not {{"pandas", "polars", "fastapi", "dask"}} & set(sys.modules)
"""


FUNCTIONS = """
import sys
import svc_tools.excel.registry
assert not {"pandas", "aiohttp", "fastapi", "typer", "xlwings"} & set(sys.modules)
"""

IMPORTS = f"""
import svc_sdk
from svc_tools import {", ".join(sorted(PUBLIC))}
assert Svc is svc_sdk.Svc
"""

ACCESSORS = """
import pkgutil
assert len(pkgutil.get_data("pandas", "__init__.py")) > 0  # the loader offers what its own does
import dask.dataframe as dd, pandas as pd
assert pd.DataFrame.svc.__name__ == "SvcAccessor"
assert pd.__spec__.loader.__class__.__name__ == "SourceFileLoader"
"""

COMPLETED = f"""
import rlcompleter, svc_tools
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.user_ns["svc_tools"] = svc_tools
shell.Completer.use_jedi = False
for found in (
    shell.complete("svc_tools.")[1],
    rlcompleter.Completer({{"svc_tools": svc_tools}}).attr_matches("svc_tools."),
):
    names = {{one.removeprefix("svc_tools").strip(".()") for one in found}}
    assert names == {PUBLIC - {"__version__"}}, names
"""

COMPLETED_WITHOUT_EXTRAS = """
import rlcompleter, svc_tools
found = rlcompleter.Completer({"svc_tools": svc_tools}).attr_matches("svc_tools.")
assert "svc_tools.lookup_many(" in found
"""

ONE_AFTER_THE_OTHER = """
import contextlib, io, json, traceback
for code in {codes!r}:
    errors, status = io.StringIO(), 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            exec(code, {{"__name__": "__main__"}})
        except SystemExit as ended:
            status = ended.code
        except BaseException as error:
            status = type(error).__name__
            if isinstance(error, ImportError):
                status = ["ImportError", getattr(error, "extra", None)]
            traceback.print_exc()
    print(json.dumps([status, errors.getvalue()]))
"""


def run(code, *, installed=frozenset(EXTRAS), lacking=frozenset()):
    """Run code in a process that has only some of the extras, perhaps not all of each."""
    there = set().union(*(EXTRAS[extra] for extra in installed)) - lacking
    blocked = {name.replace("-", "_") for name in set().union(*EXTRAS.values()) - there}
    return subprocess.run(
        [sys.executable, "-c", BLOCK.format(blocked=blocked) + code],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_under_an_older_pandas_df_svc_is_an_error_and_the_rest_works():
    done = run(
        """
import pandas, sys
pandas.__version__ = "2.2.3"
import svc_tools
assert pandas.DataFrame({"zip": ["94105"]}).shape == (1, 1)
assert len(list(svc_tools.lookup_many([("TX", "78701")], client=svc_tools.Svc(
    "no-key-at-all-123", base_url="http://127.0.0.1:9", max_retries=0), cache=False))) == 1
pandas.DataFrame({"zip": ["94105"]}).svc.lookup()
"""
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "pandas 2.3" in last
    assert "2.2.3" in last
    assert "pip install" in last


def test_the_table_of_extras_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        extra: {
            re.match(r"[\w-]+", requirement)[0]
            for requirement in requirements
            if not requirement.startswith("svc-tax-tools")
        }
        for extra, requirements in project["optional-dependencies"].items()
        if extra in EXTRAS
    }
    bounds = {"numpy", "pydantic", "starlette"}  # there with others, and named for their versions
    assert {extra: names - bounds for extra, names in declared.items()} == EXTRAS
    assert {r.partition(">=")[0] for r in project["dependencies"]} == {"httpx", "pydantic"}


REGISTER = "from svc_tools import nexus; one = nexus.read_register([]);"
PLAN = f"{REGISTER} plan = nexus.make_plan(one);"
RESTORED = "import os; os.environ.pop('SVC_RECEIPTS', None);"
CARD = """
from svc_sdk import TaxResponse
from svc_tools.show.display import card
card(TaxResponse.model_validate({"rate": {}}))
"""
TEXT = """
from svc_sdk import TaxResponse
from svc_tools._register import _card
assert _card(TaxResponse.model_validate({"rate": {}})) is None
"""
IN_POLARS = """
import sys, svc_tools, polars
assert "pandas" not in sys.modules
polars.DataFrame({"zip": ["94105"]}).svc
"""
DOORS = [  # without any extra
    ("import svc_tools; svc_tools.svc", "pandas"),
    ("from svc_tools import LookupFailedError", "pandas"),
    ("import svc_tools.frames", "pandas"),
    ("from svc_tools.frames import enrich_file", "pandas"),
    ("from svc_tools.frames import exposure_of_file", "pandas"),
    ("import svc_tools; svc_tools.panel()", "notebook"),
    ("from svc_tools.page import serve_page; serve_page()", "page"),
    ("from svc_tools.page import serve_page; serve_page(embedded=True)", "service"),
    ("from svc_tools.demo import run_demo", "report"),
    ("from svc_tools import nexus; nexus.exposure", "pandas"),
    ("from svc_tools import nexus; nexus.read_thresholds().frame()", "pandas"),
    (f"{REGISTER} one.frame()", "pandas"),
    (f"{REGISTER} nexus.differences(one, one)", "pandas"),
    (f"{REGISTER} str(one)", "bulk"),
    (f"{PLAN} plan.frame()", "pandas"),
    (f"{PLAN} plan._repr_html_()", "bulk"),
    (f"{RESTORED} {PLAN} nexus.receipt_folder()", None),
    ("from svc_tools import nexus; nexus.receipts('.')", "pandas"),
    ("open('own.xlsx', 'w'); import svc_tools.nexus as n; n.read_register('own.xlsx')", "report"),
    (CARD, "bulk"),
    (TEXT, None),
    ("import svc_tools; svc_tools.connect('embedded').base_url", "service"),
    ("import svc_tools; svc_tools.aconnect('embedded').base_url", "service"),
    ("from svc_tools.excel import settings; settings.keyring_name()", "excel"),
    ("import svc_tools.excel.com.udfs", "excel"),
    ("import svc_tools.excel.com.macros", "excel"),
    ("import svc_tools.excel.com.nexus", "excel"),
    ("import svc_tools.excel.officejs.serving", "excel"),
    ("import svc_tools.excel.workbook as w; w.write_workbook('own.xlsm')", "excel"),
]
COMMANDS = {  # with the command line's own extra only
    "serve": "service",
    "keys list": "service",
    "book check rates.csv": "service",
    "lookup TX --zip 78701 --embedded": None,
    "lookup WA --location Seattle --embedded": None,
    "lookup CO --lat 39.74 --lng -104.99 --embedded": "service",
    "nexus list --embedded": "service",
    "cache info": None,
    "enrich orders.csv -o out.csv --embedded": "pandas",
    "panel": "page",
    "demo": "report",
    "nexus receipts": "pandas",
    "excel install": "excel",
    "excel check": "excel",
    "excel workbook own.xlsm": "excel",
    "excel serve": "excel",
    "excel calc-addin own.oxt": "excel",
}

CASES = [
    (
        "",
        [
            (lists("LookupFailedError", "frames", "panel", "svc"), None),
            (FUNCTIONS, None),
            ("import svc_sdk, svc_tools.lookup, svc_tools.tables.places; svc_tools.connect", None),
            *DOORS,
            (command(), "cli"),
            (MANY, "bulk"),
            (CELL, None),
        ],
    ),
    ("bulk", [(MANY, None), (CLEAN_UP, None)]),
    (
        "bulk pandas",
        [
            (lists("panel"), None),
            (COMPLETED_WITHOUT_EXTRAS, None),
            ("import pandas, svc_tools; pandas.DataFrame().svc.lookup", None),
            ("import svc_tools; svc_tools.panel()", "notebook"),
            ("import svc_tools.frames.dask", "dask"),
            ("import svc_tools.frames.polars", "polars"),
            (f"{ENRICHED}\nsvc(enriched(row())).report('report.xlsx')", "report"),
            (f"{ENRICHED}\nsvc(enriched(row())).plot.rates()", "report"),
            (f"{ENRICHED}\nsvc(enriched(row(), taxed=True)).plot.tax_map()", "report"),
        ],
    ),
    (
        "cli",
        [
            ("import svc_tools.cli.app", None),
            *((command(*line.split()), extra) for line, extra in COMMANDS.items()),
        ],
    ),
    (
        "service",
        [
            ("import svc_tools; print(svc_tools.connect('embedded').health())", None),
            ("import svc_tools.service.ratebook.accuracy", "pandas"),
        ],
    ),
    (
        "bulk pandas report",
        [("import svc_tools.frames.charting.rate_chart, svc_tools.frames.reports.report", None)],
    ),
    (
        "bulk pandas dask",
        [("import svc_tools, dask.dataframe; dask.dataframe.DataFrame.svc", None)],
    ),
    ("bulk pandas polars", [(IN_POLARS, None)]),
    ("bulk polars", [(IN_POLARS, "polars")]),
    ("bulk pandas report nexus notebook", [("import svc_tools; svc_tools.panel()", None)]),
    ("bulk pandas nexus cli excel", [(IN_A_SPREADSHEET, None), (CELL, None)]),
    ("bulk pandas nexus cli", [(command("excel", "workbook", "own.xlsm"), "excel")]),
    ("bulk pandas cli service", [(ENRICH_A_WORKBOOK, "report")]),
    ("bulk cli service", [(ENRICH_A_WORKBOOK, "pandas")]),
    (
        "cli service",
        [
            (command("panel"), "page"),
            (command("serve", "--port", "0", "--db", "postgresql://user@host/db"), "postgres"),
        ],
    ),
    (
        "bulk pandas report nexus notebook cli page",
        [(command("panel", "--embedded", "--no-browser"), "service")],
    ),
    (
        " ".join(EXTRAS),
        [(lists(), None), (FUNCTIONS, None), (ACCESSORS, None), (IMPORTS, None), (COMPLETED, None)],
    ),
]


@pytest.mark.parametrize(("installed", "cases"), CASES, ids=[name or "core" for name, _ in CASES])
def test_each_part_works_with_its_own_extra_or_gives_the_install_command(
    installed, cases, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    codes = [code for code, _ in cases]
    done = run(ONE_AFTER_THE_OTHER.format(codes=codes), installed=installed.split())
    assert (done.returncode, done.stderr) == (0, "")
    results = map(json.loads, done.stdout.splitlines())
    for (code, missing), (status, errors) in zip(cases, results, strict=True):
        if missing is None:
            assert (status or 0, errors) == (0, ""), code
        else:
            assert status in (["ImportError", missing], 2), code
            said = errors.strip().splitlines()[-1]
            assert f"needs the extra {missing!r}" in said, code
            assert f'pip install -e "{ROOT}[{missing}]"' in said, code


@pytest.mark.parametrize(
    ("code", "not_loaded"),
    [
        (command("--help"), {"httpx", "pydantic", "pandas", "fastapi"}),
        (command("enrich", "--help"), {"pandas", "numpy", "pyarrow"}),
        (command("nexus", "plan", "--help"), {"pandas", "numpy", "pyarrow"}),
        ("import svc_tools; dir(svc_tools)", {"httpx", "pydantic", "pandas", "typer"}),
    ],
)
def test_a_start_loads_no_library_that_it_does_not_use(code, not_loaded):
    last = f"import atexit, sys; atexit.register(lambda: print({not_loaded} & {{*sys.modules}}))\n"
    done = run(last + code)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "set()"), done.stderr


def test_the_help_of_all_commands_is_that_of_each():
    from svc_tools.cli.app import app  # noqa: PLC0415 - the other tests load it in processes

    commands = typer.main.get_command(app).commands
    assert len(commands) == 12
    for name, later in commands.items():
        command = later.load()
        assert command.name == name
        assert " ".join(command.help.split()).startswith(later.help)


@pytest.mark.parametrize("library", sorted(EXTRAS["service"]))
def test_what_serves_every_request_starts_with_its_whole_extra_only(library, monkeypatch):
    find = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == library else find(name))
    with pytest.raises(extras.MissingExtraError) as error:
        svc_tools.config.require_embedded()
    assert (error.value.extra, error.value.name) == ("service", library)


MIXED = """
import svc_tools
rows = [
    {"state": "TX", "zip": "78701"},
    {"state": "TX", "zip": "78701", "city": "Austin", "address": "600 Congress Ave"},
    {"state": "TX", "address": "600 Congress Ave, Austin, TX 78701"},
    {"state": "CO", "lat": 39.74, "lng": -104.99},
    {"state": "WA", "location": "Seattle"},
] * 3
def sort(pairs):
    for item, outcome in pairs:
        needy = "address" in item or "lat" in item
        assert outcome.status == ("failed" if needy else "ok"), outcome
        assert outcome.error_code == ("EXTRA_MISSING" if needy else None)
        assert not needy or "[service]" in outcome.error
        yield needy
with svc_tools.connect("embedded") as client:
    found = [*sort(svc_tools.lookup_many(rows, client=client, cache=False))]
    assert (len(found), sum(found)) == (15, 9), found
"""
IN_FRAME = f"""{MIXED}
import warnings
import pandas as pd
warnings.simplefilter("ignore", UserWarning)
with svc_tools.connect("embedded") as client:
    frame = pd.DataFrame(rows).svc.lookup(
        location="location", client=client, cache=False, progress=False
    )
expected = ["ok", "failed", "failed", "failed", "ok"] * 3
assert frame["lookup_status"].tolist() == expected
assert frame["lookup_error"].str.contains("[service]", regex=False).tolist() == [
    status == "failed" for status in expected
]
assert frame["combined_rate"].notna().tolist() == [status == "ok" for status in expected]
"""
OVER_HTTP = """
import httpx, svc_tools
with svc_tools.connect("embedded") as client:
    headers = {"X-API-Key": client._service.api_key.get_secret_value()}
    with httpx.Client(base_url=client.base_url, headers=headers, trust_env=False) as http:
        assert http.get("/v1/tax/TX", params={"zip": "78701"}).status_code == 200
        for given in (
            {"address": "600 Congress Ave, Austin, TX 78701"},
            {"street": "600 Congress Ave", "city": "Austin"},
            {"lat": "30.27", "lng": "-97.74"},
        ):
            response = http.get("/v1/tax/TX", params=given)
            error = response.json()["error"]
            assert (response.status_code, error["code"]) == (424, "EXTRA_MISSING"), error
            assert error["detail"] == {"extra": "service"}
            assert "pip install" in error["message"]
"""


@pytest.mark.parametrize(
    ("code", "installed", "lacking"),
    [
        (MIXED, [], set()),
        (IN_FRAME, ["bulk", "pandas"], set()),
        (IN_FRAME, ["bulk", "pandas", "service"], {"usaddress", "bokeh_sampledata"}),
        (OVER_HTTP, ["service"], {"usaddress", "shapely"}),
    ],
)
def test_what_an_address_or_a_point_lacks_fails_these_alone(code, installed, lacking):
    done = run(code, installed=installed, lacking=lacking)
    assert (done.returncode, done.stderr) == (0, "")


def test_under_a_pydantic_for_the_client_library_alone_the_embedded_service_says_so():
    done = run(
        "import pydantic, svc_tools\npydantic.VERSION = '2.5.3'\n"
        "svc_tools.Svc('no-key-at-all-123', base_url='http://127.0.0.1:9').close()\n"
        "svc_tools.connect('embedded')"
    )
    last = done.stderr.strip().splitlines()[-1]
    assert (done.returncode, "MissingExtraError" in last) == (1, True)
    for said in ("pydantic 2.7", "pydantic 2.5.3", "[service]"):
        assert said in last


def test_pandas_without_the_rest_of_its_extra_says_what_is_missing():
    code = (
        "import sys, svc_tools\n"
        "sys.modules['svc_tools.frames.accessor'] = None\n"
        "import pandas\n"
        "pandas.DataFrame().svc"
    )
    done = run(code)
    assert "df.svc needs the extra 'pandas'" in done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, 'pip install "svc-tax-tools[bulk]"'),
        (
            {"url": "file:///clone", "dir_info": {}},
            'pip install "svc-tax-tools[bulk] @ file:///clone"',
        ),
        (
            {"url": "https://host/one.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            'pip install "svc-tax-tools[bulk] @ git+https://host/one.git@abc"',
        ),
    ],
    ids=["index", "folder", "repository"],
)
def test_the_command_installs_from_where_the_package_came(origin, expected, tmp_path, monkeypatch):
    module = tmp_path / "svc_tools" / "base" / "extras.py"
    module.parent.mkdir(parents=True)
    module.write_text((ROOT / "svc_tools" / "base" / "extras.py").read_text())
    info = tmp_path / "svc_tax_tools-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: svc-tax-tools\nVersion: 1.0\n")
    if origin:
        (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    assert runpy.run_path(str(module))["install_command"]("bulk") == expected


BROKEN = """
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "svc_tools.frames.{part}":
            raise RuntimeError("this part is broken")
sys.meta_path.insert(0, Broken())
import svc_tools
import pandas as pd
import dask.dataframe as dd
frame = pd.DataFrame({{"a": [1]}})
for one in (frame, dd.from_pandas(frame)):
    try:
        print(type(one.svc).__name__)
    except ImportError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (
            "lookup.columns",
            ["df.svc cannot be used: loading it failed (RuntimeError: this part is broken)"],
        ),
        ("dask", ["SvcAccessor", "ddf.svc cannot be used: loading it failed (RuntimeError"]),
    ],
)
def test_a_part_that_is_broken_breaks_no_import_of_pandas_or_dask(part, said):
    done = run(BROKEN.format(part=part))
    assert done.returncode == 0, done.stderr
    for line, expected in zip(done.stdout.splitlines(), said, strict=False):
        assert line.startswith(expected)
    assert len(done.stdout.splitlines()) == 2


def test_the_accessor_is_there_where_pandas_came_first():
    code = "import pandas as pd, svc_tools\nprint(pd.DataFrame.svc.__name__)"
    assert run(code).stdout.strip() == "SvcAccessor"


def test_the_parts_of_xlwings_under_another_licence_are_not_used():
    other = re.compile(r"xlwings(\.|\s+import\s.*\b)(pro|server)\b")
    files = [
        path
        for folder in ("svc_tools", "excel", "scripts")
        for path in ROOT.glob(f"{folder}/**/*.py")
    ]
    assert len(files) > 100
    assert [path.name for path in files if other.search(path.read_text())] == []


def test_nothing_tells_anyone_to_install_somebody_elses_package():
    wrong = re.compile(r"pip install[^\n]*\bsvc-tools\b")
    files = [*ROOT.glob("*.md"), ROOT / "Makefile", *ROOT.glob("svc_*/**/*.py")]
    assert [path.name for path in files if wrong.search(path.read_text())] == []
