"""Every option is on every road, or the table says why not; the roads are looked at by their doors.

What the roads do with an option is tested with the frames, the commands and the panel.
"""

from __future__ import annotations

import inspect
import re
import threading
from contextlib import nullcontext
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import get_args
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
import typer
from support.command import svc_tools
from support.faults import KEY, echoing
from typer.testing import CliRunner

from scripts.site_sections import commands
from scripts.write_code_tables import written
from svc_tools.cli.answers import in_python, optional_columns, parameters
from svc_tools.cli.app import app
from svc_tools.cli.common import grouped
from svc_tools.frames import SvcAccessor, enrich_file, exposure_of_file
from svc_tools.frames import options as door
from svc_tools.frames.analysis.breakdowns import BREAKDOWNS
from svc_tools.frames.dask import DaskSvcAccessor
from svc_tools.frames.files import enriching, job, rates
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.frames.files.job import FileJob
from svc_tools.frames.files.rates import Terms
from svc_tools.frames.lookup import sources
from svc_tools.frames.polars import PolarsSvcAccessor
from svc_tools.lookup.options import (
    GROUPS,
    PLACES,
    ROLES,
    RUN,
    AmountOptions,
    ExposureOptions,
    Fact,
    FileOptions,
    LookupOptions,
    TaxOptions,
    flag_of,
    names_where,
    option,
    option_rows,
)
from svc_tools.show.meters import Meter
from svc_tools.tables.tabular import open_table
from svc_tools.widgets import file_input
from svc_tools.widgets.file_tab import FileTab
from svc_tools.widgets.nexus_tab import NexusTab
from svc_tools.widgets.session import Session

DOCS = Path(__file__).parents[1] / "docs"
COMMANDS = {LookupOptions: "enrich", TaxOptions: "enrich", FileOptions: "enrich"}
COMMANDS[ExposureOptions] = "nexus plan"
METHODS = {
    "frame": {
        LookupOptions: [SvcAccessor.lookup, SvcAccessor.plan],
        TaxOptions: [SvcAccessor.tax],
        ExposureOptions: [SvcAccessor.exposure],
        AmountOptions: [
            *(SvcAccessor.reconcile, SvcAccessor.filing, SvcAccessor.review),
            *(SvcAccessor.split, SvcAccessor.report),
            *(getattr(SvcAccessor, name) for name in BREAKDOWNS),
        ],
    },
    "file": {
        LookupOptions: [enrich_file],
        FileOptions: [enrich_file],
        ExposureOptions: [exposure_of_file],
    },
    "dask": {
        LookupOptions: [DaskSvcAccessor.lookup, DaskSvcAccessor.plan],
        TaxOptions: [DaskSvcAccessor.tax],
    },
    "polars": {
        LookupOptions: [PolarsSvcAccessor.lookup, PolarsSvcAccessor.plan],
        TaxOptions: [PolarsSvcAccessor.tax],
    },
}
"""The methods and functions that take the options of a class, by road."""


def missing(kind, road, there):
    """The options that are not `there`, nor excused; and those that are there in spite of that."""
    rows = option_rows(kind)
    absent = {name for name, row in rows.items() if name not in there and road not in row.not_on}
    return absent, {name for name, row in rows.items() if name in there and road in row.not_on}


@pytest.mark.parametrize(
    ("road", "kind", "method"),
    [
        pytest.param(road, kind, method, id=f"{road}-{method.__qualname__}-{kind.__name__}")
        for road, kinds in METHODS.items()
        for kind, methods in kinds.items()
        for method in methods
    ],
)
def test_every_option_is_an_argument_of_every_method_with_its_default(road, kind, method):
    shown = inspect.signature(method).parameters
    there = {*shown} | ({*ROLES} if method is enrich_file else set())  # in `lookup`, see below
    own = {*option_rows(FileOptions)} - {"layout"} if method is enrich_file else set()
    absent, excused = missing(kind, road, there)
    assert absent == set()
    assert excused - (own if kind is LookupOptions else set()) <= {"layout"}
    defaults = {one.name: one.default for one in fields(kind)}
    named = [
        name for name in defaults if name in shown and road not in option_rows(kind)[name].not_on
    ]
    assert {name: shown[name].default for name in named} == {name: defaults[name] for name in named}


def test_a_file_takes_the_places_in_lookup_and_the_options_of_a_tax_in_tax(
    scripted, faults, tmp_path
):
    faults.will(echoing())
    source = tmp_path / "sales.csv"
    source.write_text("zip,state,sold,amount\n78701,TX,2026-05-01,10.00\n", encoding="utf-8")
    columns = {"zip": "zip", "state": "state", "as_of": "sold"}
    places = {name: columns.get(name) for name in ROLES}
    tax = {one.name: one.default for one in fields(TaxOptions)} | {"amount": "amount"}
    made = enrich_file(
        source, tmp_path / "out.csv", lookup=places, tax=tax, client=scripted, cache=False
    )
    assert (made.totals.rows, made.totals.taxed) == (1, 1)
    for wrong in ({"lookup": {"zipp": "zip"}}, {"tax": {"amounts": "amount"}}, {"zip": "zip"}):
        with pytest.raises(
            TypeError, match=next(iter(wrong.get("lookup", wrong.get("tax", wrong))))
        ):
            enrich_file(source, tmp_path / "not.csv", client=scripted, cache=False, **wrong)
    assert not (tmp_path / "not.csv").exists()


@pytest.mark.parametrize("kind", COMMANDS, ids=lambda kind: kind.__name__)
def test_every_option_is_one_of_the_command(kind):
    command = dict(commands())[f"svc-tools {COMMANDS[kind]}"]
    flags = {flag for one in command.params for flag in one.opts}
    rows = option_rows(kind)
    there = {name for name, row in rows.items() if flag_of(name, row) in flags}
    absent, excused = missing(kind, "command", there)
    assert absent == set()
    assert excused <= {"layout", "prefix"}  # of the file, and of the lookup


def labels_of(widget):
    """What is written above the fields of a view."""
    found = {getattr(widget, "description", "")}
    found |= {one["label"] for one in getattr(widget, "fields", ())}
    return found.union(*(labels_of(child) for child in getattr(widget, "children", ())))


@pytest.mark.parametrize(
    ("tab", "kinds"),
    [(FileTab, (LookupOptions, TaxOptions, FileOptions)), (NexusTab, (ExposureOptions,))],
)
def test_every_option_is_a_field_of_the_panel(scripted, tmp_path, tab, kinds):
    shown = tab(Session(scripted, folder=tmp_path / "panel"))
    if tab is FileTab:  # whose fields are shown when a file is open
        source = tmp_path / "sales.csv"
        source.write_text("zip,state,sold,amount\n78701,TX,2026-05-01,10.00\n", encoding="utf-8")
        shown.choice.path.submit(path=str(source))
        shown.session.background.settle()
    labels = labels_of(shown.view)
    for kind in kinds:
        there = {name for name, row in option_rows(kind).items() if row.panel in labels - {""}}
        assert missing(kind, "panel", there) == (set(), set())


@pytest.mark.parametrize(
    ("arguments", "kinds"),
    [
        (door.LookupArguments, [LookupOptions]),
        (door.TaxArguments, [TaxOptions]),
        (door.ExposureArguments, [ExposureOptions]),
        (door.AmountArguments, [AmountOptions]),
        (door.FileArguments, [LookupOptions, FileOptions]),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_editors_know_of_the_arguments_are_the_options_with_their_types(arguments, kinds):
    """A type that needs pandas or the registrations is `object` in the table."""
    table = {one.name: one.type for kind in kinds for one in fields(kind)}
    if arguments is door.FileArguments:
        own = option_rows(FileOptions)
        rows = option_rows(LookupOptions)
        left = [name for name in rows if "file" in rows[name].not_on and name not in own]
        table = {name: of for name, of in table.items() if name not in {*ROLES, *left}}
    written_ = {name: one.__forward_arg__ for name, one in arguments.__annotations__.items()}
    assert written_.keys() == table.keys() - {"amount"}
    others = {name: of for name, of in table.items() if of != "object" and name in written_}
    assert {name: written_[name] for name in others} == others
    opaque = {name for name, of in table.items() if of == "object"}
    assert opaque <= {"layout", "nexus", "register", "thresholds"}


HELP = {
    "Places and dates": (
        "state zip address city location lat lng country without as-of date-format tz as-of-grain"
    ),
    "Tax": (
        "tax no-tax shipping delivery exempt taxable invoice rounding partial nexus channel"
        " ship-from once contains-tax contains-shipping part refunds order currency decimal"
    ),
    "Files": (
        "prefix columns detail review-below sheet delimiter encoding report report-columns by-month"
        " layout save-layout force"
    ),
    "The run": "locked plan price resume geocode concurrency deadline yes json quiet strict",
}


def test_the_help_of_enrich_has_the_options_in_their_groups_and_order():
    command = dict(commands())["svc-tools enrich"]
    shown = {}
    for one in command.params:
        if one.rich_help_panel:
            shown.setdefault(one.rich_help_panel, []).append(one.opts[0].removeprefix("--"))
    assert {group: " ".join(names) for group, names in shown.items()} == HELP
    assert [*shown] == [one for one in GROUPS if one in shown]
    helps = {one.opts[0]: one.help for one in command.params if one.param_type_name == "option"}
    for kind in (LookupOptions, TaxOptions, FileOptions):
        for name, row in option_rows(kind).items():
            if row.group and "command" not in row.not_on:
                assert helps[flag_of(name, row)] == row.help
    done = svc_tools("enrich", "--help", COLUMNS="200")
    assert done.returncode == 0
    assert re.search(r"as-of-grain.*\[default: day\]", done.stdout)


@dataclass(frozen=True, kw_only=True)
class OneMore(LookupOptions):
    """The options of a lookup, and further ones."""

    only_states: tuple[str, ...] | None = option(
        None, "Look up these states only.", PLACES, "Only states", form="names", after="state"
    )
    most: int = option(3, "At most.", RUN, least=1)
    really: bool = option(False, "Really.", RUN, "Really")


def test_a_further_row_is_an_option_of_the_command_without_another_line():
    app = typer.Typer()

    @app.command()
    @partial(grouped, given=parameters(OneMore))
    def run(*, given: dict[str, object], loud: bool = False) -> None:
        typer.echo(repr((in_python(OneMore, given), loud)))

    def ran(*words):
        done = CliRunner().invoke(app, words)
        return done.exit_code, done.output

    code, text = ran("--only-states", 'TX, "a,b"', "--really", "--loud")
    assert code == 0
    assert text.startswith("({'only_states': ['TX', 'a,b'], 'as_of_grain': 'day', 'prefix': ''")
    assert "'most': 3, 'really': True}, True)" in text
    assert ran("--most", "0")[0] == 2
    assert ran("--no-really")[0] == 2
    assert [*parameters(OneMore)][:2] == ["state", "only_states"]


def test_a_further_row_with_a_label_is_a_field_of_the_panel(monkeypatch, tmp_path):
    source = tmp_path / "places.csv"
    source.write_text("zip,state\n78701,TX\n", encoding="utf-8")
    monkeypatch.setattr(file_input, "LookupOptions", OneMore)
    form = file_input.ColumnsForm(lambda: None, lambda: None)
    labels = {one.description for one in form.further.values()}
    assert {"Only states", "Really"} <= labels
    assert "At most." not in labels
    form.show(view_of_file(source))
    assert form.settings(OneMore) == {}
    form.further["only_states"].value, form.further["really"].value = ' TX, "a,b" ', True
    form.prefix.value = " svc_ "
    form.tz.value = "America/Chicago"  # which is for a column of dates, and there is none
    given = {"only_states": ["TX", "a,b"], "really": True, "prefix": "svc_"}
    assert form.settings(OneMore) == given
    assert form.settings(TaxOptions) == {}
    form.delivery.value = "only"
    assert form.settings(TaxOptions) == {"delivery": "only"}
    form.show(view_of_file(source))  # another file: what was said of the former one is not kept
    assert form.settings(OneMore) == {}


def test_a_further_row_is_an_argument_with_a_line_in_the_docstring():
    class Arguments(door.LookupArguments, total=False):
        only_states: tuple[str, ...] | None
        most: int

    Arguments.__annotations__ |= {"most": Arguments.__annotations__["only_states"]}

    @door.takes(Arguments, OneMore)
    def method(frame, **arguments):
        """Look up.

        Args:
            state: the states.

        Returns:
            Nothing.
        """

    assert [*inspect.signature(method).parameters][:2] == ["frame", "state"]
    assert inspect.signature(method).parameters["most"].default == 3
    lines = method.__doc__.splitlines()
    assert "    only_states: Look up these states only." in lines
    assert sum(line.startswith("    state:") for line in lines) == 1
    assert lines[-2:] == ["Returns:", "    Nothing."]


def test_the_documents_show_on_which_road_each_option_is():
    """After a change: `python -m scripts.write_code_tables`."""
    text = (DOCS / "ENRICH.md").read_text(encoding="utf-8")
    for kind in ("lookup", "tax", "file", "exposure"):
        assert f"<!-- options: {kind} -->" in text
    assert written(text) == text
    for kind in (LookupOptions, TaxOptions, ExposureOptions, FileOptions):
        assert all(f"| `{name}` |" in text for name in option_rows(kind))


COLUMN_OPTIONS = [
    one.name for one in fields(TaxOptions) if one.type == "Hashable | None" and one.name != "amount"
]
ODD = "Odd Heading"
"""A column that nothing but an option names."""
CELLS = {"exempt": "no", "taxable": "yes", "ship_from": "TX", "channel": "direct"}
CELLS |= {"currency": "USD", "order": "A1"}


@pytest.mark.parametrize("name", COLUMN_OPTIONS)
def test_an_option_of_a_tax_may_name_any_column_of_a_file(scripted, faults, tmp_path, name):
    """A file reads no other columns than those that are used, and keeps them in its layout."""
    faults.will(echoing(), echoing())
    source, kept = tmp_path / "sales.csv", tmp_path / "kept.toml"
    rows = [f"78701,TX,2026-05-01,10.00,{CELLS.get(name, cell)}" for cell in ("1.00", "2.00")]
    source.write_text("\n".join([f"zip,state,sold,amount,{ODD}", *rows, ""]), encoding="utf-8")
    given = {"amount": "amount", name: ODD}
    if name == "channel":
        given["nexus"] = [{"state": "TX", "nexus_type": "physical"}]
    made = enrich_file(
        *(source, tmp_path / "out.csv"), tax=given, client=scripted, cache=False, save_layout=kept
    )
    assert made.totals.taxed == 2
    assert ODD in kept.read_text(encoding="utf-8")
    terms = Terms.of("", {}, given, None)
    with FileJob(source, tmp_path / "not.csv", terms, FileOptions()) as opened:
        used = opened.rows.schema.names.index(ODD) in opened.layout.used
    # an order's number is not needed where each row is a sale
    assert used or "answer" in option_rows(TaxOptions)[name].says


class Reached(Exception):  # noqa: N818 - no error
    """The run came to where its options count."""


VALUES = {
    "tz": ZoneInfo("America/Chicago"),
    "date_format": "%Y-%m-%d",
    "as_of_grain": "month",
    "prefix": "svc_",
    "columns": LookupOptions(columns=["combined_rate"]).columns,
    "detail": True,
    "review_below": Decimal("0.9500"),
    "cache": "kept.db",
    "locked": "kept.svclock",
    "geocode": "census",
    "concurrency": 3,
    "deadline": 7.5,
    "sheet": "Sales",
    "delimiter": ";",
    "encoding": "cp1252",
    "report": "report.html",
    "report_columns": ["combined_rate"],
    **dict.fromkeys(BREAKDOWNS, True),
    "layout": "shop.toml",
    "save_layout": "kept.toml",
    "force": True,
    "resume": False,
    "progress": Meter(),
    "stop": threading.Event(),
}
"""Another value than the default for each option of a file, but the client."""


@pytest.mark.parametrize("name", door.FileArguments.__annotations__)
def test_every_option_of_a_file_arrives_where_it_counts(scripted, tmp_path, monkeypatch, name):
    """Those of the run at `look_up`, the others with the job; what opens something, at its door."""
    source, seen = tmp_path / "sales.csv", {}
    source.write_text("zip,state,sold\n78701,TX,2026-05-01\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    class Job(FileJob):
        def __init__(self, source, output, terms, files):
            seen.update({one.name: getattr(files, one.name) for one in fields(files)})
            there = {one.name: getattr(terms.lookup, one.name) for one in fields(LookupOptions)}
            rows = option_rows(LookupOptions)
            not_run = {one for one in there if rows[one].group != RUN and one not in seen}
            seen.update({one: there[one] for one in not_run})
            super().__init__(source, output, terms, files)

    def looked_up(client, places, *, refresh, cache, **options):
        assert cache is None
        seen.update(options, client=client, resume=not refresh)
        raise Reached

    def locked(path):
        seen["locked"] = path
        raise Reached

    def opened(path, **options):
        seen.update(options)
        return open_table(path)

    monkeypatch.setattr(enriching, "FileJob", Job)
    monkeypatch.setattr(sources, "look_up", looked_up)
    monkeypatch.setattr(sources, "geocoding_of", lambda one, **_: seen.update(geocode=one))
    monkeypatch.setattr(job, "open_table", opened)
    monkeypatch.setattr(rates, "as_layout", lambda given: seen.update(layout=given))
    monkeypatch.setattr(enriching, "read_lock", locked)
    monkeypatch.setattr(
        enriching, "opened_cache", lambda cache, **_: nullcontext(seen.update(cache=cache))
    )
    value = scripted if name == "client" else VALUES[name]
    given = {"client": scripted, "report": "report.html", name: value}
    with pytest.raises(Reached):
        enrich_file(source, tmp_path / "out.csv", **given)
    assert seen[name] == value


def test_an_option_that_the_panel_lacks_without_a_reason_is_told():
    absent, _ = missing(OneMore, "panel", {*option_rows(LookupOptions)})
    assert absent == {"only_states", "most", "really"}
    assert all(reason for row in option_rows(TaxOptions).values() for reason in row.not_on.values())


@pytest.mark.parametrize("kind", [LookupOptions, TaxOptions, ExposureOptions, AmountOptions])
def test_an_option_is_only_what_its_row_lists(kind):
    for name, row in option_rows(kind).items():
        for value in row.choices:
            assert getattr(kind(**{name: value}), name) == value
        if row.choices:
            with pytest.raises(ValueError, match=name):
                kind(**{name: "neither"})
    listed = {name for name, row in option_rows(kind).items() if row.choices}
    closed = {one.name for one in fields(kind) if one.type in CLOSED}
    assert listed == closed


CLOSED = {
    *("Grain", "RateForm", "Rounding", "bool | None", "RefundsAs | None", "DecimalMark | None"),
    *("DeliveryAs | None", "Literal['coerce', 'raise']", "Literal['use'] | None"),
}
"""The types of which every value is known."""


def test_a_client_beside_a_lock_file_is_not_asked(scripted, faults, tmp_path):
    faults.will(echoing())
    source, lock = tmp_path / "places.csv", tmp_path / "kept.svclock"
    source.write_text("zip,state,sold\n78701,TX,2026-05-01\n", encoding="utf-8")
    frame = pd.read_csv(source, dtype=str)
    frame.svc.lookup(client=scripted, cache=False, progress=False).svc.freeze(lock, cache=False)
    asked = len(faults.seen)
    made = enrich_file(source, tmp_path / "out.csv", client=scripted, locked=lock)
    assert (made.totals.rows, len(faults.seen)) == (1, asked)


def test_the_options_of_the_run_arrive_from_the_command(faults, tmp_path, monkeypatch):
    source, seen = tmp_path / "places.csv", {}
    source.write_text("zip,state,sold\n78701,TX,2026-05-01\n", encoding="utf-8")

    def looked_up(client, places, *, refresh, **options):
        seen.update(options, refresh=refresh)
        raise Reached

    monkeypatch.setattr(sources, "look_up", looked_up)
    words = ["enrich", str(source), "-o", str(tmp_path / "out.csv"), "--base-url", faults.base_url]
    words += ["--concurrency", "3", "--deadline", "7.5", "--no-resume", "--detail", "--yes"]
    done = CliRunner().invoke(app, words, env={"SVC_API_KEY": KEY})
    assert isinstance(done.exception, Reached), done.output
    given = {"concurrency": 3, "deadline": 7.5, "refresh": True, "detail": True}
    assert {name: seen[name] for name in given} == given


FACTS = {
    "column": "exempt taxable invoice channel ship_from",
    "answer": "once contains_tax contains_shipping parts refunds order currency decimal",
    "table": "once contains_tax contains_shipping parts order currency decimal",
    "figures": "amount shipping delivery exempt taxable invoice rounding partial",
    "optional": "shipping taxable channel once order currency",
    "breakdown": "",
}


def test_what_the_code_asks_of_an_option_is_in_its_row_and_in_the_order_of_the_help():
    """A summary of a file names its columns in this order, and a layout keeps them in it."""
    assert {one: " ".join(names_where(TaxOptions, one)) for one in get_args(Fact)} == FACTS
    table = "once contains_tax contains_shipping parts currency decimal"
    assert " ".join(names_where(ExposureOptions, "table")) == table
    left_out = [*optional_columns(TaxOptions), *optional_columns(ExposureOptions)]
    assert left_out[:6] == ["shipping", "channel", "taxable", "order", "currency", "once"]
    assert left_out[6:] == ["country", "order", "currency", "once"]
