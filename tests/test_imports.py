"""What is loaded when, and what a missing extra says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
    "bulk": {"aiohttp", "jinja2", "platformdirs", "rich"},
    "pandas": {"pandas", "pyarrow", "tqdm"},
    "cli": {"typer", "rich"},
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
        "platformdirs",
        "usaddress",
        "zipcodes",
        "shapely",
        "bokeh_sampledata",
    },
    "postgres": {"pg8000"},
    "excel": {"xlwings", "xlsxwriter", "fastapi", "uvicorn", "keyring"},
}


SERVE_ON_POSTGRESQL = """
import sys
from svc_tools.cli import main
sys.argv[1:] = ["serve", "--port", "0", "--db", "postgresql://user@host/database"]
main()
"""

PANEL_WITHOUT_SERVICE = """
import sys
from svc_tools.cli import main
sys.argv[1:] = ["panel", "--embedded", "--no-browser"]
main()
"""


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
from svc_tools.excel.functions import run
assert run(Desk(cache=False), "SVC_SUM", [[0.1], [0.2]]) == 0.3
import svc_tools.excel.com.udfs, svc_tools.excel.com.macros, svc_tools.excel.officejs.serving
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
from svc_tools.excel.functions import run
try:
    run(Desk(cache=False), "SVC_RATE", "CA", "94105", "2026-02-01")
except Exception as error:
    sys.exit(error.text)
"""

WORKBOOK = """
import sys
from svc_tools.cli import main
sys.argv[1:] = ["excel", "workbook", "own.xlsm"]
main()
"""

MANY = """
import svc_tools
from svc_sdk import Svc
client = Svc("no-key-at-all-123", base_url="http://127.0.0.1:9", max_retries=0)
print(*svc_tools.lookup_many([("TX", "78701")], client=client, cache=False))
"""


def run(code, *, installed=frozenset(EXTRAS)):
    """Run code in a process that has only some of the extras."""
    there = set().union(*(EXTRAS[extra] for extra in installed))
    blocked = {name.replace("-", "_") for name in set().union(*EXTRAS.values()) - there}
    return subprocess.run(
        [sys.executable, "-c", BLOCK.format(blocked=blocked) + code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_table_of_extras_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        extra: {
            requirement.partition(">=")[0].partition("[")[0]
            for requirement in requirements
            if not requirement.startswith("svc-tax-tools")
        }
        for extra, requirements in project["optional-dependencies"].items()
        if extra in EXTRAS
    }
    assert declared == EXTRAS
    assert {r.partition(">=")[0] for r in project["dependencies"]} == {"httpx", "pydantic"}


@pytest.mark.parametrize(
    ("installed", "code"),
    [
        ((), "import svc_sdk, svc_tools, svc_tools.lookup, svc_tools.places; svc_tools.connect"),
        (("bulk",), MANY),
        (("bulk", "pandas"), "import pandas, svc_tools; pandas.DataFrame().svc.lookup"),
        (("cli",), "import svc_tools.cli.app"),
        (("bulk",), CLEAN_UP),
        (("service",), "import svc_tools; print(svc_tools.connect('embedded').health())"),
        (
            ("bulk", "pandas", "report"),
            "import svc_tools.frames.charting.rate_chart, svc_tools.frames.reports.report",
        ),
        (
            ("bulk", "pandas", "dask"),
            "import svc_tools, dask.dataframe; dask.dataframe.DataFrame.svc",
        ),
        (
            ("bulk", "pandas", "report", "nexus", "notebook"),
            "import svc_tools; svc_tools.panel()",
        ),
        (("bulk", "pandas", "nexus", "cli", "excel"), IN_A_SPREADSHEET),
    ],
    ids=[
        "core",
        "bulk",
        "pandas",
        "cli",
        "nexus",
        "service",
        "report",
        "dask",
        "notebook",
        "excel",
    ],
)
def test_each_part_works_with_only_its_own_extra(installed, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(code, installed=installed)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("installed", "code", "said"),
    [
        ((), "import svc_tools; svc_tools.connect('embedded')", "svc-tax-tools[service]"),
        ((), "from svc_tools.cli import main; main()", "svc-tax-tools[cli]"),
        ((), MANY, "svc-tax-tools[bulk]"),
        (("bulk", "pandas"), "import svc_tools; svc_tools.panel()", "svc-tax-tools[notebook]"),
        (("bulk", "pandas"), "import svc_tools.frames.dask", "svc-tax-tools[dask]"),
        (
            ("bulk", "pandas"),
            f"{ENRICHED}\nsvc(enriched(row())).report('report.xlsx')",
            "svc-tax-tools[report]",
        ),
        (("bulk", "pandas"), f"{ENRICHED}\nsvc(enriched(row())).plot.rates()", "[report]"),
        (("bulk", "pandas", "cli", "service"), ENRICH_A_WORKBOOK, "svc-tax-tools[report]"),
        (("bulk", "cli", "service"), ENRICH_A_WORKBOOK, "svc-tax-tools[all]"),
        (
            ("cli",),
            "from svc_tools.cli import main; import sys; sys.argv[1:] = ['serve']; main()",
            "svc-tax-tools[all]",
        ),
        (
            ("cli", "service"),
            "from svc_tools.cli import main; import sys; sys.argv[1:] = ['panel']; main()",
            "svc-tax-tools[page]",
        ),
        (
            ("bulk", "pandas", "report", "nexus", "notebook", "cli", "page"),
            PANEL_WITHOUT_SERVICE,
            "svc-tax-tools[service]",
        ),
        (
            ("cli", "service"),
            SERVE_ON_POSTGRESQL,
            "svc-tax-tools[postgres]",
        ),
        (("bulk", "pandas", "nexus", "cli"), WORKBOOK, "svc-tax-tools[excel]"),
        (("bulk", "pandas", "nexus", "cli", "excel"), CELL, "svc-tax-tools[service]"),
        ((), CELL, "svc-tax-tools[excel]"),
    ],
)
def test_a_missing_extra_is_one_sentence_with_the_install_command(installed, code, said):
    done = run(code, installed=installed)
    assert done.returncode != 0
    assert said in done.stderr.strip().splitlines()[-1]


def test_pandas_without_the_rest_of_its_extra_says_what_is_missing():
    code = (
        "import sys, svc_tools\n"
        "sys.modules['svc_tools.frames.accessor'] = None\n"
        "import pandas\n"
        "pandas.DataFrame().svc"
    )
    done = run(code)
    assert "svc-tax-tools[pandas]" in done.stderr.strip().splitlines()[-1]


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
            "columns",
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


@pytest.mark.parametrize(
    "first", ["import svc_tools, pandas as pd", "import pandas as pd, svc_tools"]
)
def test_the_accessor_is_there_in_either_order_of_imports(first):
    code = f"{first}\nprint(pd.DataFrame.svc.__name__, pd.__spec__.loader.__class__.__name__)"
    assert run(code).stdout.strip() == "SvcAccessor SourceFileLoader"


def test_the_toolkit_alone_loads_no_pandas():
    code = "import svc_tools, sys; print(sorted({'pandas', 'fastapi', 'rich'} & set(sys.modules)))"
    assert "pandas" not in run(code).stdout


PUBLIC = {
    *("AsyncSvc", "ConfigurationError", "LookupFailedError", "Svc", "SvcError", "__version__"),
    *("aconnect", "alookup_many", "connect", "frames", "lookup_many", "nexus", "panel", "svc"),
}

COMPLETED = """
import rlcompleter, svc_tools
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.user_ns["svc_tools"] = svc_tools
shell.Completer.use_jedi = False
print(*shell.complete("svc_tools.")[1])
print(*rlcompleter.Completer({"svc_tools": svc_tools}).attr_matches("svc_tools."))
"""


@pytest.mark.parametrize(
    ("installed", "left_out"),
    [
        (EXTRAS, set()),
        (("bulk", "pandas"), {"panel"}),
        ((), {"LookupFailedError", "frames", "panel", "svc"}),
    ],
    ids=["all", "pandas", "core"],
)
def test_the_public_names_that_can_be_used_are_listed_and_nothing_else(installed, left_out):
    code = "import svc_tools, sys; print(*dir(svc_tools)); print('pandas' in sys.modules)"
    assert run(code, installed=installed).stdout.splitlines() == [
        " ".join(sorted(PUBLIC - left_out)),
        "False",
    ]


def test_tab_completes_the_public_names_and_nothing_else():
    done = run(COMPLETED)
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        found = {one.removeprefix("svc_tools").strip(".()") for one in line.split()}
        assert found == PUBLIC - {"__version__"}


def test_tab_completes_without_the_extras():
    code = "import rlcompleter, svc_tools\n" + COMPLETED.splitlines()[-1]
    done = run(code, installed=("bulk", "pandas"))
    assert "svc_tools.lookup_many(" in done.stdout.split()


def test_every_public_name_can_be_imported_from_the_package():
    names = ", ".join(sorted(PUBLIC))
    done = run(f"import svc_sdk\nfrom svc_tools import {names}\nassert Svc is svc_sdk.Svc")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_list_of_the_spreadsheets_functions_needs_no_extra():
    code = (
        "import svc_tools.excel.registry, sys\n"
        "print({'pandas', 'aiohttp', 'fastapi', 'typer', 'xlwings'} & set(sys.modules))"
    )
    assert run(code, installed=()).stdout == run(code).stdout == "set()\n"


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


@pytest.mark.parametrize("library", ["pandas as pd", "dask.dataframe as dd, pandas as pd"])
def test_a_question_for_the_names_takes_no_accessor_away(library):
    code = f"import svc_tools\ndir(svc_tools)\nimport {library}\nprint(pd.DataFrame.svc.__name__)"
    assert run(code).stdout.strip() == "SvcAccessor"


def test_the_loader_of_a_library_offers_what_its_own_does():
    code = "import pkgutil, svc_tools; print(len(pkgutil.get_data('pandas', '__init__.py')) > 0)"
    assert run(code).stdout.strip() == "True"
