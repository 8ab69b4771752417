"""Every command and code block of the README and the documentation runs."""

from __future__ import annotations

import ast
import io
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from pydantic import SecretStr
from support.command import svc_tools
from support.faults import KEY
from support.pages import served_page
from support.spreadsheets import excel_serve
from support.systems import posix

from scripts import site_sections, write_state_table
from svc_sdk import Svc
from svc_tools.demo import orders
from svc_tools.excel import settings
from svc_tools.tables.states import STATES

ROOT = Path(__file__).parents[2]
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "excel/README.md", *sorted(ROOT.glob("docs/**/*.md")))
}
README = TEXTS["README.md"]
BOOK = ROOT / "svc_tools/service/ratebook/data"

ORDERS = """\
state,zip,order_date,amount
CA,94105,2026-02-01,120.00
Washington,98101,2024-06-01,4.00
WA,98101,2026-05-04,40.00
ma,02134,2026-10-05,19.99
"""
"""What stands for a reader's own file: every row has a whole rate."""

FILES = {
    "orders.csv": ORDERS,
    "register.csv": "state,nexus_type\nWA,economic\n",
    "other.csv": "State,Dest Code,booked,Net amount\nCA,94105,2026-02-01,120.00\n",
    "taxjar.csv": """\
provider,order_id,transaction_type,transaction_reference_id,completed_at,customer_name,\
shiptostreet,shiptocity,shiptostate,shiptozip,shiptocountrycode,from_state,from_zip,\
shipping_amount,handling_amount,discount_amount,total_sale,sales_tax
shop,1,Order,,2026-02-01,A,,San Francisco,CA,94105,US,CA,94105,5.00,,,125.00,10.35
shop,2,Refund,1,2026-02-05,A,,San Francisco,CA,94105,US,CA,94105,,,,-20.00,-1.73
shop,3,Order,,2026-05-04,B,,Seattle,WA,98101,US,CA,94105,5.00,,,45.00,4.14
""",
    "august.csv": """\
Ship Zip,Sold On,Goods,Discount,Handling Fee,Sales Tax,Total
98101,2026-08-14,40.00,0.00,1.00,4.22,45.22
98101,2026-08-15,60.00,0.00,2.00,6.33,68.33
98101,2026-08-16,25.00,0.00,1.50,2.64,29.14
98101,2026-08-17,90.00,0.00,3.00,9.50,102.50
""",
    "september.csv": """\
Ship Zip,Sold On,Goods,Discount,Handling Fee,Sales Tax,Total
98101,2026-09-02,12.00,0.00,0.50,1.27,13.77
""",
    "avalara.csv": """\
ProcessCode,DocCode,DocType,DocDate,CompanyCode,CustomerCode,LineNo,TaxCode,TaxDate,ItemCode,\
Description,Qty,Amount,DestAddress,DestCity,DestRegion,DestPostalCode,DestCountry,TotalTax
3,I1,1,2026-02-01,C,X,1,P0000000,,chair,Chair,1,120.00,,San Francisco,CA,94105,US,10.35
3,I1,1,2026-02-01,C,X,2,FR020100,,ship,Delivery,1,5.00,,San Francisco,CA,94105,US,0.00
3,I2,1,2026-05-04,C,Y,1,P0000000,,lamp,Lamp,1,40.00,,Seattle,WA,98101,US,4.14
3,I3,1,2026-05-04,C,Z,1,P0000000,,lamp,Lamp,1,40.00,,Seattle,WA,,US,4.22
3,I4,1,2026-05-04,C,Z,1,P0000000,,lamp,Lamp,1,40.00,,,TX,43215,US,
""",
}
"""What stands for the reader's own files."""


def blocks(language, page):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXTS[page], re.DOTALL | re.MULTILINE)


def pages_with(pattern):
    return [page for page, text in TEXTS.items() if re.search(pattern, text, re.MULTILINE)]


@pytest.fixture
def own_files(tmp_path, service, monkeypatch):
    """The folder of a reader with the samples of the project, own files, and an account."""
    shutil.copytree(ROOT / "tests/data/exports", tmp_path / "tests/data/exports")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    frame = pd.read_csv(io.StringIO(ORDERS), dtype="str")
    frame.to_parquet(tmp_path / "orders", partition_cols=None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SVC_BASE_URL", service)
    monkeypatch.setenv("SVC_API_KEY", KEY)
    monkeypatch.setenv("SVC_DATABASE_URL", str(tmp_path / "service.db"))  # of connect("embedded")
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    return frame


def located(text, service):
    """The block with a running service in place of the reader's own."""
    return text.replace("https://rates.example", service).replace("your-key", KEY)


def run(command, *, folder=None, **environment):
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        cwd=folder,
        env=os.environ | environment,
    )


def run_line(line, folder):
    """What a command of a page prints."""
    words = shlex.split(line)
    assert words[0] == "svc-tools", line
    done = svc_tools(*words[1:], folder=folder)
    assert done.returncode == 0, done.stderr
    # what a command decided by itself is on standard error
    assert all(note.startswith("svc: ") for note in done.stderr.splitlines())
    assert done.stdout
    return done.stdout


def lines_of(page):
    return re.findall(r"^\$ (.+)$", TEXTS[page], re.MULTILINE)


@pytest.mark.parametrize("page", pages_with("^```python$"))
def test_the_python_blocks_run_in_order(page, service, own_files, tmp_path, capsys):
    names = {"orders": own_files}
    cluster = 'Client(processes=False, n_workers=1, dashboard_address=":0")'
    for block in blocks("python", page):
        code = located(block, service).replace('Client("tcp://scheduler:8786")', cluster)
        exec(compile(code, page, "exec"), names)  # noqa: S102 - the project's own pages
    shown = capsys.readouterr().out
    for block in blocks("text", page):
        assert block in shown
    CHECKS.get(page, lambda *_: None)(names, tmp_path, shown)
    if "distributed" in str(names.get("Client")):
        names["cluster"].close()


def _readme(names, *_):
    assert list(names["taxed"]["lookup_status"]) == ["ok", "ok", "partial"]
    assert list(names["taxed"]["tax"])[:2] == [Decimal("10.35"), Decimal("0.41")]


def _shows(page, frame):
    """Check that the table below the first code of a page is its result."""
    columns = re.findall(r"taxed\[(\[.+\])\]\n```\n\n(.+)", TEXTS[page])[0]
    assert columns[1] == f"| | {' | '.join(ast.literal_eval(columns[0]))} |"
    rows = re.findall(r"^\| (\d+ \| .+) \|$", TEXTS[page], re.MULTILINE)
    shown = frame[ast.literal_eval(columns[0])].reset_index().astype("str").fillna("*missing*")
    assert rows == [" | ".join(row) for row in shown.to_numpy().tolist()]


def _start(names, *_):
    _shows("docs/index.md", names["taxed"])


def _notebook(names, folder, _shown):
    taxed = names["taxed"]
    _shows("docs/NOTEBOOK.md", taxed)
    assert (folder / "orders-report.xlsx").stat().st_size > 5_000
    done = pd.read_csv(folder / "orders-with-tax.csv")
    assert list(done["tax"].dropna()) == [10.35, 0.41, 1.25]
    pd.testing.assert_series_equal(names["again"]["tax"], taxed["tax"])
    assert (folder / "orders.html").stat().st_size > 5_000
    assert (folder / "tax_map.png").stat().st_size > 5_000


def _client(names, _folder, shown):
    assert "0.08625" in shown
    assert [answer.rate.state for answer in names["results"]] == ["CA"] * 3


def _moving(names, folder, _shown):
    # California taxes no delivery that is charged separately, Washington does
    assert list(names["compared"].lines["expected_tax"]) == [
        Decimal("10.35"),
        Decimal("-1.73"),
        Decimal("4.75"),
    ]
    taxed = names["taxed"]
    assert list(taxed["tax"].dropna()) == [
        Decimal(one) for one in ("10.35", "0.00", "4.22", "4.22")
    ]
    # the state is read: the place without a ZIP Code has it, and a ZIP Code elsewhere no rate
    assert list(taxed["lookup_status"]) == ["ok", "ok", "ok", "ok", "unresolved"]
    for line in lines_of("docs/MOVING.md"):
        run_line(line, folder)
    in_python = {"taxjar": names["compared"].lines["expected_tax"], "avalara": taxed["tax"]}
    for file, expected in in_python.items():
        done = pd.read_csv(folder / f"{file}-with-tax.csv", dtype="str")["tax"]
        assert done.dropna().map(Decimal).to_dict() == expected.dropna().to_dict()


def _filing(_names, folder, _shown):
    assert (folder / "2026-q2.xlsx").stat().st_size > 5_000


CHECKS = {
    "README.md": _readme,
    "docs/index.md": _start,
    "docs/NOTEBOOK.md": _notebook,
    "docs/REAL_SERVICE.md": _client,
    "docs/MOVING.md": _moving,
    "docs/FILING.md": _filing,
}

IN_ORDER = {"docs/SERVICE.md", "docs/OFFICIAL_FILES.md", "docs/MOVING.md"}
"""Pages whose commands rest on one another, or on the page's Python: `test_service_guide.py` runs
them, and `_moving` above.
"""


@pytest.mark.parametrize(
    ("page", "line"),
    [(page, line) for page in TEXTS if page not in IN_ORDER for line in lines_of(page)],
)
@pytest.mark.usefixtures("own_files")
def test_each_command_line_runs(page, line, tmp_path):
    printed = run_line(line, tmp_path)
    shown = re.search(rf"^\$ {re.escape(line)}\n((?:[^$`\n].*\n)+)```$", TEXTS[page], re.MULTILINE)
    assert shown is None or shown[1] == printed


@pytest.mark.parametrize("page", pages_with("svc-tools "))
def test_each_command_that_a_page_names_exists_with_its_options(page):
    commands = dict(site_sections.commands())
    for line in re.findall(
        r"(?:^(?:\$ |    )?|`|\\)(svc-tools [a-z][^`\n#]*)", TEXTS[page], re.MULTILINE
    ):
        words = line.split()
        name = " ".join(words[:3] if " ".join(words[:3]) in commands else words[:2])
        assert name in commands, line
        known = {flag for one in commands[name].params for flag in (*one.opts, *one.secondary_opts)}
        given = {
            word.partition("=")[0].strip("[]…,;")
            for word in words
            if word.strip("[").startswith("--")
        }
        assert given <= known | {"--help", "--"}, line


def test_the_nexus_commands_run_in_order_and_remove_what_was_ticked(tmp_path):
    commands, *_ = blocks("sh", "docs/NEXUS.md")
    (tmp_path / "orders.csv").write_text(ORDERS)
    environment = {
        "SVC_DATABASE_URL": str(tmp_path / "service.db"),
        "SVC_RECEIPTS": str(tmp_path / "receipts"),
    }
    said = []
    for line in commands.strip().splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        done = svc_tools(*words[1:], folder=tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        if words[2] == "plan":
            first, _ = (tmp_path / "plan.csv").read_text().split("\n", 1)
            plan = pd.read_csv(tmp_path / "plan.csv", dtype="str", comment="#")
            assert plan["remove"].isna().all()  # nothing is ticked in advance
            table = plan.assign(remove="x").to_csv(index=False)
            (tmp_path / "plan.csv").write_text(f"{first}\n{table}")
    _, _, _, dry, sent, receipts = said
    assert "DELETE /v1/portability/nexus/OR?nexus_type=economic" in dry
    assert "1 removed" in " ".join(sent.split()), sent
    assert "1 removed" in " ".join(receipts.split()), receipts


def test_the_page_is_served_as_described(tmp_path):
    (command,) = blocks("sh", "docs/NOTEBOOK.md")
    _, panel, *options = shlex.split(command)
    assert panel == "panel"
    with served_page(*options, cwd=tmp_path) as page:
        assert any("embedded service" in line for line in page.said)


def test_the_server_of_the_spreadsheets_is_started_as_described(tmp_path, monkeypatch):
    commands = "".join(blocks("sh", "excel/README.md")).splitlines()
    (command,) = {
        line for line in commands if line.partition("#")[0].strip().endswith("excel serve")
    }
    _, excel, serve, *options = shlex.split(command, comments=True)
    assert (excel, serve) == ("excel", "serve")
    monkeypatch.setenv("SVC_EXCEL", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://localhost:{free.getsockname()[1]}"
    # its port is taken again
    settings.publish_server(address, SecretStr("a-token-of-the-last-run"))
    with excel_serve(*options, **os.environ) as (_, said):
        assert any(address in line for line in said), said


def test_a_real_service_is_reached_as_described(service):
    (block,) = blocks("bash", "docs/REAL_SERVICE.md")
    *exports, command = located(block, service).strip().splitlines()
    environment = dict(line.removeprefix("export ").split("=", 1) for line in exports)
    done = run(
        [sys.executable, "-m", *command.replace("svc-tools", "svc_tools").split()], **environment
    )
    assert done.returncode == 0
    assert service in done.stdout


def test_the_demo_has_as_many_lines_as_it_says():
    assert f"{len(orders()):,} messy order lines" in README


def test_the_demo_and_the_tests_stand_together_before_the_first_picture():
    lines = README.partition("![")[0].splitlines()
    commands = [line.split()[1] for line in lines if line.startswith("    make ")]
    assert commands == ["demo", "test"]
    first = next(at for at, line in enumerate(lines) if line.startswith("    make demo "))
    assert lines[first + 1].startswith("    make test ")
    assert first < 12  # of a screen of 25 lines, in which long ones are folded


def test_the_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {
        one
        for text in TEXTS.values()
        for one in re.findall(r"(?:`|^    )make ([a-z]+)", text, re.MULTILINE)
    }
    assert targets >= {"demo", "notebook", "test", "docs"}
    assert all(f"\n{target}: " in makefile for target in targets)


def test_the_windows_commands_do_what_make_does():
    (block,) = blocks("bat", "docs/INSTALL.md")
    makefile = (ROOT / "Makefile").read_text()
    for piece in (
        *re.findall(r"# on Windows: (.+)", README),
        ".[all]",
    ):
        assert piece in block
    for piece in (
        "-m venv",
        "-c constraints.txt",
        ".[all]",
        "svc-tools demo",
        "jupyter lab --Server",
    ):
        assert piece in block
        assert piece in makefile.replace("$(VENV)", ".venv").replace(" .venv", "")


def test_the_lists_of_states_are_what_the_service_says(service):
    with Svc(KEY, base_url=service) as client:
        said = {}
        for state in client.freshness().states:
            said.setdefault(state.model_extra["tier"], set()).add(state.state)
    listed = re.compile(r"<!-- (?:tier )?(?!end)(\w+) -->(.+?)<!-- end -->")
    by_code = {tier: set(codes.split()) for tier, codes in listed.findall(TEXTS["docs/RATES.md"])}
    assert by_code == said
    codes = {name: code for code, name in STATES.items()}
    by_name = {
        tier: {codes[name] for name in re.split(r", | and ", names)}
        for tier, names in listed.findall(TEXTS["docs/index.md"])
    }
    assert by_name == {tier: said[tier] for tier in ("D", "none")}


@pytest.mark.timeout(120)  # asks for the rates of every state
def test_the_table_of_the_states_is_what_the_service_gives():
    """After a change of rates: `python -m scripts.write_state_table`."""
    page = TEXTS["docs/RATES.md"]
    _, _, rest = page.partition("<!-- states: begin -->\n")
    assert rest.partition("<!-- states: end -->")[0] == write_state_table.table()


def test_the_pages_say_of_the_states_what_their_table_says():
    """The words of the start page, and of `docs/RATES.md` above the table."""
    rows = re.findall(r"^\| .+ \(([A-Z]{2})\) \| (.+) \|$", TEXTS["docs/RATES.md"], re.MULTILINE)
    cells = pd.DataFrame(
        [line.split(" | ") for _, line in rows],
        index=[state for state, _ in rows],
        columns=["whole", "review", "since", "until"],
    )
    share = cells["whole"].str.rstrip("%").astype("int64")
    review = cells["review"].replace({"none": "0%", "under 1%": "0%"})
    review = review.str.rstrip("%").astype("int64")
    assert len(cells) == 51
    listed = dict(re.findall(r"<!-- tier (\w) -->(.+?)<!-- end -->", TEXTS["docs/RATES.md"]))
    known = [*listed["A"].split(), *listed["B"].split(), *listed["C"].split()]
    assert len(known) == 41  # "40 states and DC"
    assert share[[state for state in known if state not in {"MN", "VT"}]].min() > 90  # "nearly"
    assert share[["MN", "VT"]].between(70, 80).all()  # "three of four"
    assert 70 < share["ID"] < 80  # "a quarter"
    assert 8 < share["MO"] < 12  # "nine in ten"
    assert share[listed["D"].split()].max() == share["ID"]
    assert share[listed["D"].split()].min() == share["MO"]
    assert share["AK"] < 50  # "most of Alaska has no rate"
    codes = {name: code for code, name in STATES.items()}
    said = {
        what: text if text.isdigit() else {codes[name] for name in re.split(r", | and ", text)}
        for what, text in re.findall(
            r"<!-- ((?:since|review) [^>]+) -->(.+?)<!-- end -->", TEXTS["docs/index.md"]
        )
    }
    since = cells["since"].where(cells["since"] != "always", "")
    later = since[since > "2022-01-01"]
    assert said == {
        "review over half": set(review[known].loc[lambda one: one > 50].index),
        "review at most 10%": str((review[known] <= 10).sum()),
        **{f"since {day}": set(one.index) for day, one in later.groupby(later)},
    }
    assert cells["until"]["CO"] == "2025-12-31"
    assert cells["until"].drop(["CO", "LA"]).min() == "2026-09-30"


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page):
    """Those within the site are checked with their sections when it is built."""
    for target in re.findall(r"\]\(<?(?!<?https?:)([^)#]+)(?:#[^)]*)?\)", TEXTS[page]):
        assert (ROOT / page).parent.joinpath(target).exists(), target


def test_the_names_to_install_import_and_type_stand_together():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names, _, _ = (
        README.partition("![")[0]
        .partition("<!-- names: begin -->")[2]
        .partition("<!-- names: end -->")
    )
    for name in (project["name"], "svc_tools", "svc_sdk", *project["scripts"]):
        assert f"`{name}`" in names
    assert "pip install" in names
    assert "names: begin" in TEXTS["docs/index.md"]


@posix
@pytest.mark.skipif(sys.platform == "win32", reason="the block is that of the other systems")
@pytest.mark.timeout(120)  # unpacks pip
def test_the_commands_of_the_installation_make_an_environment_and_enter_it(tmp_path):
    *made, install = blocks("sh", "README.md")[0].strip().splitlines()
    assert install == 'pip install ".[all]"'
    found = run(["bash", "-ec", "\n".join([*made, "which python pip"])], folder=tmp_path)
    assert found.stdout.split() == [str(tmp_path / ".venv/bin" / one) for one in ("python", "pip")]


def test_every_extra_is_in_the_page_of_the_installation():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = TEXTS["docs/INSTALL.md"]
    for extra in project["optional-dependencies"].keys() - {"dev", "docs"}:
        assert f"`{extra}`" in page, extra
