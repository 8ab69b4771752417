"""A column of the user's that has a name of ours survives every second run, of any release."""

from __future__ import annotations

import json
import shutil

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.command import svc_tools as svc_tools_command
from support.frames import rated

import svc_tools
from svc_tools.frames.files.enriching import enrich_file
from svc_tools.lookup.columns import (
    ADDED_COLUMNS,
    LOOKUP_COLUMNS,
    SALE_COLUMNS,
    SHORT_COLUMNS,
    TAX_COLUMNS,
)
from svc_tools.tables.roles import ColumnTaken

ROWS = {"state": ["CA", "TX"], "zip": ["94105", "78701"], "amount": ["10.00", "20.00"]}
TERMS = {"amount": "amount", "shipping": "1.00", "channel": "direct"}
OURS = [name for name in ADDED_COLUMNS if name not in SALE_COLUMNS]
"""All that a lookup with details and a tax with every option add to these rows."""
FIRST, LAST = ADDED_COLUMNS[0], ADDED_COLUMNS[-1]
LATER = [name for name in OURS if name not in {FIRST, LAST, "lookup_status"}]
"""The names that a release before could have lacked."""
FEWEST = [FIRST, "tax", "lookup_status", "lookup_error", "confidence", "warnings", LAST]
KINDS = ["csv", "xlsx", "parquet", "recorded"]
"""The last is a Parquet file with the record of what its run added."""


def ending(kind):
    return "parquet" if kind == "recorded" else kind


def write(frame, path, kind, record=None):
    """A file of text, as another program or an earlier release leaves it."""
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "xlsx":
        book = openpyxl.Workbook()
        for row in [list(frame.columns), *frame.itertuples(index=False, name=None)]:
            book.active.append([None if pd.isna(one) else one for one in row])
        book.save(path)
    else:
        attrs = {"svc_columns": {"": dict.fromkeys(record, "object")}} if record else {}
        columns = [pa.array(frame.iloc[:, at].astype(object)) for at in range(frame.shape[1])]
        schema = pa.schema(
            [pa.field(name, one.type) for name, one in zip(frame.columns, columns, strict=True)],
            {b"PANDAS_ATTRS": json.dumps(attrs).encode()},
        )
        parquet.write_table(pa.Table.from_arrays(columns, schema=schema), path)
    return path


def read(path):
    kinds = {".csv": pd.read_csv, ".xlsx": pd.read_excel, ".parquet": pd.read_parquet}
    options = {} if path.suffix == ".parquet" else {"dtype": "str"}
    return kinds[path.suffix](path, **options)


@pytest.fixture(scope="module")
def service(_own_home):
    with svc_tools.connect("embedded") as client:
        yield client


@pytest.fixture(scope="module")
def run(service):
    def enriched(source, output, **options):
        given = {"tax": TERMS, "detail": True, "client": service, "cache": False}
        return enrich_file(source, output, **(given | options))

    return enriched


@pytest.fixture(scope="module")
def once(run, tmp_path_factory):
    """The rows with all that we add to them, as text."""
    folder = tmp_path_factory.mktemp("once")
    pd.DataFrame(ROWS).to_csv(folder / "in.csv", index=False)
    run(folder / "in.csv", folder / "out.csv")
    made = pd.read_csv(folder / "out.csv", dtype="str")
    assert list(made.columns) == [*ROWS, *OURS]
    return made


def test_the_ends_of_the_table_stay_what_they_are():
    """In a file, what stands before the first or behind the last is the user's.

    So whoever adds a name puts it between others.
    """
    assert (FIRST, LAST) == ("combined_rate", "support_reference")
    assert (SHORT_COLUMNS[0], SHORT_COLUMNS[-1]) == (FIRST, "combined_district_rate")


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_of_ours_may_be_the_users_beside_a_prefix(run, tmp_path, kind):
    own = pd.DataFrame(ROWS | {name: [f"my {name}", None] for name in reversed(ADDED_COLUMNS)})
    source = write(own, tmp_path / f"in.{ending(kind)}", kind)
    outputs = [tmp_path / f"{number}.{ending(kind)}" for number in (1, 2, 3)]
    for output in outputs:
        place = {"state": "state", "zip": "zip", "as_of": "today"}
        run(source, output, prefix="svc_", lookup=place)
        made = read(output)
        assert list(made.columns) == [*own.columns, *(f"svc_{name}" for name in OURS)]
        for name in ADDED_COLUMNS:
            assert made[name].iloc[0] == f"my {name}"
            assert pd.isna(made[name].iloc[1])
        source = output


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LATER)
def test_a_column_whose_name_a_later_release_adds_is_not_overwritten(
    once, run, tmp_path, kind, name
):
    before = once.drop(columns=name)
    before.insert(0, name, ["mine", None])
    record = [one for one in OURS if one != name] if kind == "recorded" else None
    source = write(before, tmp_path / f"in.{ending(kind)}", kind, record)
    content = source.read_bytes()
    output = tmp_path / f"out.{ending(kind)}"
    with pytest.raises(ColumnTaken) as caught:
        run(source, output)
    assert caught.value.columns == (name,)
    assert not output.exists()
    assert source.read_bytes() == content


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_the_command_refuses_it_and_takes_a_prefix(once, tmp_path, kind):
    before = once.drop(columns="as_of_status").assign(as_of_status="mine")[["as_of_status", *ROWS]]
    before = pd.concat([before, once[[one for one in OURS if one != "as_of_status"]]], axis=1)
    source = write(before, tmp_path / f"in.{kind}", kind)
    output = tmp_path / f"out.{kind}"
    command = ("enrich", source, "-o", output, "--force", "--no-tax", "--embedded")
    refused = svc_tools_command(*command)
    assert refused.returncode == 2
    assert "as_of_status" in refused.stderr
    assert not output.exists()
    for _ in range(2):  # the second time, of its own output
        done = svc_tools_command(*command, "--prefix", "svc_", SVC_CACHE="off")
        assert done.returncode == 0, done.stderr
        made = read(output)
        assert made["as_of_status"].tolist() == ["mine", "mine"]
        assert list(made.columns).count("svc_as_of_status") == 1
        shutil.copy(output, source)


@pytest.mark.parametrize("kind", ["csv", "recorded"])
@pytest.mark.parametrize("name", LATER)
def test_nor_in_a_frame(once, service, tmp_path, kind, name):
    before = once.drop(columns=name)
    before.insert(0, name, ["mine", None])
    record = [one for one in OURS if one != name] if kind == "recorded" else None
    frame = read(write(before, tmp_path / f"in.{ending(kind)}", kind, record))
    given = {"client": service, "cache": False, "progress": False}
    if name in LOOKUP_COLUMNS or name == "lookup_jurisdictions":
        with pytest.raises(ColumnTaken) as caught:
            frame.svc.lookup(**given, detail=True)
    else:
        with pytest.raises(ColumnTaken) as caught:
            frame.svc.tax(**TERMS, progress=False)
        again = frame.svc.lookup(**given, detail=True)  # which takes the former tax away
        assert again[name].iloc[0] == "mine"
    assert caught.value.columns == (name,)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_release_with_fewer_columns_wrote_is_replaced(once, run, tmp_path, kind):
    before = once[["zip", "state", "amount", *FEWEST]]
    source = write(before, tmp_path / f"in.{ending(kind)}", kind, FEWEST)
    output = tmp_path / "out.csv"
    done = run(source, output)
    assert list(read(output).columns) == ["zip", "state", "amount", *OURS]
    assert any(f"replaced: {len(FEWEST)}" in note for note in done.notes)


def moved(frame, name, at):
    names = [one for one in frame.columns if one != name]
    return frame[[*names[:at], name, *names[at:]]]


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize(
    ("change", "taken"),
    [
        (lambda frame: moved(frame, "warnings", 0), {"warnings"}),
        (lambda frame: moved(frame, "resolved_city", frame.shape[1] - 1), {"resolved_city"}),
        (lambda frame: moved(frame, "support_reference", 1), {"support_reference"}),
        # out of order: which of the two is not ours cannot be known
        (lambda frame: moved(frame, "looked_up_at", frame.shape[1] - 1), {"looked_up_at"}),
        (lambda frame: frame[[*ROWS, *reversed(OURS)]], {*LOOKUP_COLUMNS}),
        (lambda frame: frame.assign(note="x")[[*ROWS, *OURS[:8], "note", *OURS[8:]]], {FIRST}),
        (lambda frame: frame.assign(**{"": ""})[[*ROWS, *OURS[:40], "", *OURS[40:]]], {LAST}),
    ],
)
def test_a_name_elsewhere_or_out_of_order_is_the_users(once, run, tmp_path, kind, *, change, taken):
    source = write(change(once), tmp_path / f"in.{kind}", kind)
    with pytest.raises(ColumnTaken) as caught:
        run(source, tmp_path / "out.csv")
    assert taken <= {*caught.value.columns}


@pytest.mark.parametrize("name", ["tax_low", "rate_low", "warnings", "support_reference"])
@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_behind_a_short_lookup_stands_what_is_the_users(once, run, tmp_path, kind, name):
    short = once[[*ROWS, *(one for one in OURS if one in SHORT_COLUMNS)]]
    source = write(short.assign(**{name: "mine"}), tmp_path / f"in.{kind}", kind)
    with pytest.raises(ColumnTaken) as caught:
        run(source, tmp_path / "out.csv")
    assert caught.value.columns == (name,)
    output = tmp_path / "again.csv"
    run(write(short, tmp_path / f"own.{kind}", kind), output)
    assert list(read(output).columns) == [*ROWS, *OURS]


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_few_columns_of_ours_are_replaced_where_no_other_could_be_among_them(
    once, run, tmp_path, kind
):
    few = once[[*ROWS, FIRST, "tax", "lookup_status", "lookup_error"]]
    output = tmp_path / "again.csv"
    run(write(few, tmp_path / f"in.{kind}", kind), output)
    assert list(read(output).columns) == [*ROWS, *OURS]
    own = write(few.assign(state_tax="mine"), tmp_path / f"own.{kind}", kind)
    with pytest.raises(ColumnTaken) as caught:
        run(own, tmp_path / "no.csv")
    assert {FIRST, "lookup_status", "lookup_error"} <= {*caught.value.columns}


@pytest.mark.parametrize("columns", [["lookup_status"], ["lookup_status", "lookup_error"]])
@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_status_of_another_program_is_refused_as_ever(run, tmp_path, kind, columns):
    own = pd.DataFrame(ROWS | dict.fromkeys(columns, "done"))
    source = write(own, tmp_path / f"in.{kind}", kind)
    with pytest.raises(ColumnTaken) as caught:
        run(source, tmp_path / "out.csv")
    assert caught.value.columns == tuple(columns)


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_two_prefixes_of_ours_in_one_file_are_told_apart(once, run, tmp_path, kind):
    both = pd.concat([once, once[OURS].add_prefix("a_")], axis=1)
    both.insert(3, "a_warnings_of_mine", "mine")
    for prefix, other in (("", "a_"), ("a_", "")):
        source = write(both, tmp_path / f"in.{kind}", kind)
        output = tmp_path / f"out{prefix}.csv"
        run(source, output, prefix=prefix)
        made = read(output)
        assert sorted(made.columns) == sorted(both.columns)
        assert made[f"{other}looked_up_at"].tolist() == both[f"{other}looked_up_at"].tolist()
        assert made[f"{prefix}looked_up_at"].tolist() != both[f"{prefix}looked_up_at"].tolist()
        assert made["a_warnings_of_mine"].tolist() == ["mine", "mine"]


def test_a_column_of_yours_with_the_very_name_of_one_of_ours_is_refused(once, run, tmp_path):
    source = tmp_path / "in.csv"
    once.to_csv(source, index=False)
    names, *rows = source.read_text().splitlines()
    source.write_text("\n".join([f"warnings,{names}", *(f"mine,{row}" for row in rows)]) + "\n")
    with pytest.raises(ColumnTaken) as caught:
        run(source, tmp_path / "out.csv")
    assert caught.value.columns == ("warnings",)


def test_a_file_says_what_its_run_added(run, tmp_path):
    """So its columns may be moved, and a column of the user's among them stays."""
    frame = pd.DataFrame(ROWS)
    frame.to_parquet(tmp_path / "in.parquet")
    few = {"columns": ["combined_rate", "confidence"], "tax": None, "detail": False}
    run(tmp_path / "in.parquet", tmp_path / "once.parquet", **few)
    made = pd.read_parquet(tmp_path / "once.parquet")
    record = made.attrs["svc"]["columns"]
    ours = ["combined_rate", "lookup_status", "lookup_error", "confidence"]
    assert {prefix: [*forms] for prefix, forms in record.items()} == {"": ours}
    mixed = made.assign(tax_low="mine")[[*ours[::-1], "tax_low", *ROWS]]
    mixed.to_parquet(tmp_path / "mixed.parquet")
    run(tmp_path / "mixed.parquet", tmp_path / "again.parquet", prefix="a_", tax=None)
    again = pd.read_parquet(tmp_path / "again.parquet")
    assert {*again.attrs["svc"]["columns"]} == {"", "a_"}  # that of the other prefix stays
    run(tmp_path / "again.parquet", tmp_path / "few.parquet", **few)
    last = pd.read_parquet(tmp_path / "few.parquet")
    assert list(last.columns)[:4] == ["tax_low", *ROWS]
    assert list(last.columns)[-4:] == ours
    assert last["tax_low"].tolist() == ["mine", "mine"]
    with pytest.raises(ColumnTaken) as caught:
        run(tmp_path / "mixed.parquet", tmp_path / "no.parquet")
    assert caught.value.columns == ("tax_low",)


OTHER_VALUES = [
    ("confidence", [0.5, 0.9]),
    ("needs_review", ["yes", "no"]),
    ("combined_rate", ["8.25 percent", "8 percent"]),
    ("lookup_as_of", [1, 2]),
    ("warnings", [[1], [2]]),
    ("tax", ["a", "b"]),
    ("tax_due", [True, False]),
]


@pytest.mark.parametrize("column", OTHER_VALUES, ids=lambda column: column[0])
@pytest.mark.parametrize("where", ["in place", "at the end"])
@pytest.mark.parametrize("through", ["memory", "parquet"])
def test_values_of_yours_in_the_place_of_ours_stay(service, tmp_path, column, where, through):
    name, values = column
    given = {"client": service, "cache": False, "progress": False}
    made = pd.DataFrame(ROWS).svc.lookup(**given).svc.tax(**TERMS, progress=False)
    if where == "at the end":
        made = made[[one for one in made.columns if one != name]]
    own = made.assign(**{name: values})
    if through == "parquet":
        own.to_parquet(tmp_path / "own.parquet")
        own = pd.read_parquet(tmp_path / "own.parquet")
    if name in LOOKUP_COLUMNS:
        with pytest.raises(ColumnTaken) as caught:
            own.svc.lookup(**given)
        assert caught.value.columns == (name,)
    else:
        assert list(own.svc.lookup(**given)[name]) == values
        with pytest.raises(ColumnTaken) as caught:
            own.svc.tax(**TERMS, progress=False)
        assert caught.value.columns == (name,)


@pytest.mark.parametrize("name", LOOKUP_COLUMNS)
def test_a_name_of_a_former_run_that_was_dropped_is_yours_again(service, name):
    given = {"client": service, "cache": False, "progress": False}
    made = pd.DataFrame(ROWS).svc.lookup(**given).svc.tax(**TERMS, progress=False)
    own = made[[*ROWS]].assign(**{name: made[name].array})  # of the very type of ours
    with pytest.raises(ColumnTaken) as caught:
        own.svc.lookup(**given)
    assert caught.value.columns == (name,)


@pytest.mark.parametrize("through", ["memory", "parquet", "pickle"])
def test_ours_are_replaced_wherever_they_stand_and_whatever_form_they_have(
    service, tmp_path, through
):
    given = {"client": service, "cache": False, "progress": False}
    made = pd.DataFrame(ROWS).svc.lookup(**given).svc.tax(**TERMS, progress=False)
    ours = [name for name in made.columns if name not in ROWS]
    for change in (
        lambda frame: frame,
        lambda frame: frame[sorted(frame.columns)],
        lambda frame: frame.drop(columns=["tax", "warnings", "confidence", LAST, FIRST]),
        lambda frame: frame.assign(note="x")[[*ours[:9], "note", *ours[9:], *ROWS]],
        lambda frame: frame.assign(combined_rate=frame["combined_rate"].astype("float64")),
        lambda frame: frame.svc.plain(),
    ):
        changed = change(made)
        if through == "parquet":
            changed.to_parquet(tmp_path / "own.parquet")
            changed = pd.read_parquet(tmp_path / "own.parquet")
        elif through == "pickle":
            changed.to_pickle(tmp_path / "own.pickle")
            changed = pd.read_pickle(tmp_path / "own.pickle")
        again = changed.svc.lookup(**given)
        own = [name for name in changed.columns if name in {*ROWS, "note"}]
        assert list(again.columns) == [*own, *LOOKUP_COLUMNS]


def test_a_frame_of_a_release_that_recorded_its_lookup_only_is_known(service):
    given = {"client": service, "cache": False, "progress": False}
    made = pd.DataFrame(ROWS).svc.lookup(**given).svc.tax(**TERMS, progress=False)
    record = made.attrs["svc"]["columns"][""]
    for name in {*TAX_COLUMNS, "tax_due", "tax_due_reason", "shipping_tax"}:
        del record[name]
    assert list(made.svc.lookup(**given).columns) == [*ROWS, *LOOKUP_COLUMNS]
    assert list(made.svc.tax(**TERMS, progress=False).columns) == list(made.columns)
    own = moved(made, "at_stake", 0).assign(at_stake="mine")
    assert own.svc.lookup(**given)["at_stake"].tolist() == ["mine", "mine"]


def test_a_file_that_is_looked_up_in_one_frame_and_taxed_in_another_has_one_record(once, service):
    given = {"client": service, "cache": False, "progress": False}
    bare = once[[*ROWS, *LOOKUP_COLUMNS]].copy()
    taxed = bare.svc.tax(**TERMS, progress=False)
    assert {*taxed.attrs["svc"]["columns"][""]} == {*taxed.columns} - {*ROWS}
    assert list(taxed.svc.lookup(**given).columns) == [*ROWS, *LOOKUP_COLUMNS]


def test_a_column_of_yours_does_not_draw_a_tax_away_from_its_rate(service):
    frame = pd.DataFrame({"confidence": ["mine"] * 2, **ROWS})
    given = {"client": service, "cache": False, "progress": False}
    taxed = frame.svc.lookup(**given, columns=["combined_rate"]).svc.tax(progress=False)
    assert list(taxed.columns)[:5] == [*frame.columns, FIRST]


def test_a_tax_beside_few_columns_of_a_lookup_is_replaced_and_stays_what_it_was():
    taxed = rated(amount=["10.00"], freight_taxable=True).svc.tax(**TERMS, progress=False)
    pd.testing.assert_frame_equal(taxed.svc.tax(**TERMS, progress=False), taxed)
    with pytest.raises(ColumnTaken) as caught:
        taxed.assign(shipping_tax="mine").svc.tax(**TERMS, progress=False)
    assert caught.value.columns == ("shipping_tax",)


@pytest.mark.parametrize("name", ["tax_due", "tax_due_reason", "shipping_tax"])
@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_an_optional_column_of_yours_is_not_written_twice(run, tmp_path, kind, name):
    source = write(pd.DataFrame(ROWS | {name: "mine"}), tmp_path / f"in.{kind}", kind)
    with pytest.raises(ColumnTaken) as caught:
        run(source, tmp_path / "out.csv")
    assert caught.value.columns == (name,)
    run(source, tmp_path / "out.csv", tax={"amount": "amount"})
    assert read(tmp_path / "out.csv")[name].tolist() == ["mine", "mine"]


def test_partitions_are_told_apart_as_the_frame_is(service):
    dd = pytest.importorskip("dask.dataframe")
    given = {"client": service, "cache": False, "progress": False}
    frame = pd.DataFrame(ROWS).assign(warnings="mine")
    few = dd.from_pandas(frame, npartitions=2).svc.lookup(columns=["combined_rate"], **given)
    bare = few.map_partitions(lambda part: pd.DataFrame(part.to_dict("series")), meta=few._meta)
    again = bare.svc.lookup(columns=["confidence"], **given)
    made = again.compute()
    assert list(made.columns) == [*frame.columns, "lookup_status", "lookup_error", "confidence"]
    assert made["warnings"].tolist() == ["mine", "mine"]
    with pytest.raises(ColumnTaken):
        few.svc.lookup(**given)


def test_a_column_of_yours_in_polars_is_as_it_was(service):
    given = {"client": service, "cache": False, "progress": False}
    own = pl.Series("confidence", ["low", "high"], pl.Enum(["low", "high"]))
    frame = pl.DataFrame(ROWS).with_columns(own)
    few = frame.svc.lookup(columns=["combined_rate"], **given)
    for made in (few, few.svc.lookup(columns=["combined_rate"], **given)):
        assert made["confidence"].dtype == own.dtype
        assert made["confidence"].equals(own)
    with pytest.raises(ColumnTaken):
        few.svc.lookup(**given)


@pytest.mark.parametrize("name", ["combined_rate", "lookup_status", "warnings", "tax_error"])
def test_values_of_yours_never_come_back_over_new_ones(service, name):
    """A cell that cannot be read makes the column yours, and half a character is a text."""
    given = {"client": service, "cache": False, "progress": False, "rates": "string"}
    made = pd.DataFrame(ROWS).svc.lookup(**given).svc.tax(**TERMS, progress=False)
    mixed = made.assign(**{name: pd.Series([["see Bob"], "0.01000"], dtype=object)})
    text = made.assign(**{name: pd.Series(["half \ud800", "0.01000"], dtype=object)})

    def again(frame):
        frame = frame if name == "tax_error" else frame.svc.lookup(**given)
        return frame.svc.tax(**TERMS, progress=False)

    with pytest.raises(ColumnTaken) as caught:
        again(mixed)
    assert caught.value.columns == (name,)
    renewed = again(text)
    for column in (name, "combined_rate", "tax"):
        assert renewed[column].astype(object).equals(made[column].astype(object))


@pytest.mark.parametrize("backend", [None, "pyarrow", "numpy_nullable"])
def test_a_file_that_pandas_saved_once_is_enriched_again(run, service, tmp_path, backend):
    pd.DataFrame(ROWS).to_parquet(tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "once.parquet")
    kind = {} if backend is None else {"dtype_backend": backend}
    saved = pd.read_parquet(tmp_path / "once.parquet", **kind)
    saved.to_parquet(tmp_path / "saved.parquet")
    run(tmp_path / "saved.parquet", tmp_path / "again.parquet")
    again = pd.read_parquet(tmp_path / "again.parquet")
    assert list(again.columns) == [*ROWS, *OURS]
    made = saved.svc.lookup(client=service, cache=False, progress=False)
    assert list(made.columns) == [*ROWS, *LOOKUP_COLUMNS]


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
@pytest.mark.parametrize("own", [["Checked by"], ["Checked by", "Team"]])
def test_what_stands_among_ours_is_named(once, tmp_path, kind, own):
    before = once[["zip", "state", *OURS]]
    for name in own:
        before.insert(before.columns.get_loc("lookup_status") + 1, name, "Bob")
    source = write(before, tmp_path / f"in.{kind}", kind)
    command = ("enrich", source, "-o", tmp_path / f"out.{kind}", "--no-tax", "--embedded")
    refused = svc_tools_command(*command)
    assert refused.returncode == 2
    for name in own:
        assert repr(name) in refused.stderr
    assert "among the added columns; move" in refused.stderr
    assert "combined_rate" not in refused.stderr
    assert "prefix" not in refused.stderr
    write(before[[*own, "zip", "state", *OURS]], source, kind)
    done = svc_tools_command(*command, SVC_CACHE="off")
    assert done.returncode == 0, done.stderr
