"""What a lookup of a frame costs beside a bare merge of the same columns, and its memory."""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from benchmarks.measure import (
    Finding,
    in_a_process,
    medians,
    most_held,
    resident,
    scaled,
    size_of,
    timed,
)
from svc_sdk import Svc
from svc_tools.config import cache_path, connect, source_of
from svc_tools.frames import SvcAccessor
from svc_tools.frames.lookup.columns import find_inputs
from svc_tools.frames.lookup.survey import Survey
from svc_tools.lookup import Found, Outcome
from svc_tools.lookup.cache import Cache
from svc_tools.lookup.columns import LOOKUP_COLUMNS, RATE_COLUMNS
from svc_tools.tables.places import Place
from svc_tools.tables.states import STATES, states_of_zip
from svc_tools.tables.text_dtype import text_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Service = Callable[
        [int], contextlib.AbstractContextManager[tuple[Svc, Cache, list[tuple[str, str]]]]
    ]

ROWS = scaled(1_000_000)
PLACES = scaled(10_000)
KEYS = ["state", "zip"]
TWELVE = [
    *RATE_COLUMNS,
    "freight_taxable",
    "confidence",
    "warnings",
    "resolved_via",
    "effective_date",
    "effective_date_basis",
    "lookup_status",
]
"""The fields of an answer (SPEC 2.2 and 2.3) that a rate is judged by, and the row's status."""
DATED_ROWS = scaled(400_000)
YEAR_ROWS, YEAR_PLACES = scaled(200_000), scaled(5_000)
DAYS = 365
FIRST_DAY = "2025-11-01"
DATED_RATES = 8
"""Rows of a place in a table of dated rates."""


def places(count: int) -> list[tuple[str, str]]:
    """As many states and ZIPs, each ZIP in its state."""
    found = []
    for number in range(100_000):
        zip5 = f"{number:05d}"
        (state, *others) = [*states_of_zip(zip5), ""]
        if state in STATES and others == [""]:
            found.append((state, zip5))
    step = len(found) // count
    return found[: step * count : step]


def found_for(number: int, state: str, zip5: str) -> Found:
    """An answer as the service gives them: one in five with several rates, a few conflicts."""
    combined = 4_000 + number % 5_000
    doubtful = number % 5 == 0
    return Found(
        combined=combined,
        state=4_000,
        county=combined - 4_000,
        city=0,
        districts=0,
        freight_taxable=number % 2 == 0,
        confidence="medium" if doubtful else "high",
        warnings=("zip_spans_jurisdictions",) if doubtful else (),
        resolved_via="zip5",
        effective_date=f"20{20 + number % 6}-0{1 + number % 9}-01",
        effective_date_basis="publisher_effective_date",
        resolved_state=state,
        resolved_zip=zip5,
        resolved_city=f"Town {number % 3_000}",
        resolved_county=f"Some County {number % 900}",
        source=f"Local sales and use tax rates of {STATES[state]}, quarterly",
        edition="2026Q4",
        low=combined - 100 if doubtful else None,
        high=combined if doubtful else None,
    )


@contextlib.contextmanager
def warm(count: int) -> Iterator[tuple[Svc, Cache, list[tuple[str, str]]]]:
    """A client that must never be asked, and a cache that knows as many places."""
    asked = places(count)
    now = datetime.now(UTC)
    with (
        tempfile.TemporaryDirectory() as folder,
        Svc("benchmark-key-0123", base_url="http://127.0.0.1:9", max_retries=0) as client,
    ):
        cache = Cache(Path(folder, "results.db"))
        answered = [
            (
                Place(state, "zip", zip=zip5),
                Outcome("ok", None, found_for(number, state, zip5), looked_up_at=now),
            )
            for number, (state, zip5) in enumerate(asked)
        ]
        cache.store(source_of(client), answered, detail=False)
        yield client, cache, asked


def known_places(count: int) -> list[tuple[str, str]]:
    """As many states and ZIPs that the rate book knows, all states among them."""
    from benchmarks.service import known_zips  # noqa: PLC0415 - needs what Windows lacks
    from svc_tools.service.ratebook import load_book  # noqa: PLC0415 - big; only here

    return known_zips(load_book())[:count]


@contextlib.contextmanager
def embedded(count: int) -> Iterator[tuple[Svc, Cache, list[tuple[str, str]]]]:
    """The embedded service, a cache that knows nothing, and places of the rate book."""
    asked = known_places(count)
    with tempfile.TemporaryDirectory() as folder, connect("embedded") as client:
        yield client, Cache(Path(folder, "results.db")), asked


def orders(asked: list[tuple[str, str]], rows: int) -> pd.DataFrame:
    """Order lines as a shop exports them, with the demo's columns."""
    random = np.random.default_rng(7)
    where = random.integers(0, len(asked), rows)
    cents = random.integers(100, 100_000, rows)
    number = np.arange(rows)

    def text(values: object) -> pd.api.extensions.ExtensionArray:
        return pd.array(np.asarray(values, object), dtype="str")

    def pick(choices: list[str]) -> pd.api.extensions.ExtensionArray:
        return text(choices).take(random.integers(0, len(choices), rows))

    return pd.DataFrame(
        {
            "order_id": text([f"S{1_000_000 + one}" for one in number.tolist()]),
            "order_date": pick([f"2024-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(365)]),
            "sku": pick([f"SKU-{n:03d}" for n in range(400)]),
            "description": pick([f"Kitchen thing number {n}" for n in range(400)]),
            "ship_to_address": pick([f"{n} Main Street" for n in range(100, 9_000)]),
            "ship_to_city": text([f"Town {n % 3_000}" for n in range(len(asked))]).take(where),
            "state": text([state for state, _ in asked]).take(where),
            "zip": text([zip5 for _, zip5 in asked]).take(where),
            "quantity": random.integers(1, 9, rows),
            "unit_price": cents / 100,
            "amount": cents / 100,
        }
    )


def speed(
    columns: list[str] | None,
    name: str,
    target: str,
    aim: str,
    *,
    what: str = "warm lookup",
    service: Service = warm,
) -> Finding:
    with service(PLACES) as (client, cache, asked):
        frame = orders(asked, ROWS)[["order_id", *KEYS, "amount"]]
        chosen = {"client": client, "cache": cache, "as_of": "today", "progress": False}

        def lookup() -> pd.DataFrame:
            return SvcAccessor(frame).lookup(columns=columns, **chosen)

        one_each = pd.DataFrame(asked, columns=KEYS, dtype="str")
        table = SvcAccessor(one_each).lookup(columns=columns, **chosen)
        added = [one for one in LOOKUP_COLUMNS if one in (columns or LOOKUP_COLUMNS)]
        table = table[[*KEYS, *added]]

        def merge() -> pd.DataFrame:
            return frame.merge(table, on=KEYS, how="left")

        as_text = texts_of(table)

        def merge_of_text() -> pd.DataFrame:
            return frame.merge(as_text, on=KEYS, how="left")

        looked, merged = lookup(), merge()
        assert looked["lookup_status"].isin(["ok", "partial"]).all()
        pd.testing.assert_frame_equal(looked[added], merged[added])
        sides = (lookup, merge_of_text, merge)
        ours, text, bare = medians(*(lambda side=side: timed(side) for side in sides))
    return Finding(
        f"{what} of {ROWS:,} rows, {PLACES:,} places, {name}, against a bare merge of them",
        f"{ours / text:.2f} x",
        target,
        f"{ours * 1000:.0f} ms against {text * 1000:.0f} ms of a merge whose right side has its"
        f" texts as str and its decimals as decimal128; {ours / bare:.2f} x of one whose repeated"
        f" texts are categories already ({bare * 1000:.0f} ms)",
        aim,
    )


def texts_of(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its repeated texts as str, as a user's own table has them."""
    return table.astype(dict.fromkeys(table.select_dtypes("category"), "str"))


def dated_orders(asked: list[tuple[str, str]], rows: int = DATED_ROWS) -> pd.DataFrame:
    """A year of order lines: nearly every one asks about a place and a day of its own."""
    days = pd.date_range(FIRST_DAY, periods=DAYS)
    frame = orders(asked, rows)[["order_id", *KEYS, "amount"]]
    frame["order_date"] = days.take(np.random.default_rng(3).integers(0, DAYS, rows))
    return frame


def dated_rates(rates: pd.DataFrame) -> pd.DataFrame:
    """The rates of each place from several days on, by day, as `merge_asof` needs them."""
    days = pd.date_range("2025-01-01", periods=DATED_RATES, freq="91D", name="order_date")
    return rates.merge(days.to_frame(index=False), how="cross").sort_values("order_date")


def measured_first(asked: list[tuple[str, str]], rows: int) -> dict[str, float]:
    """CPU seconds of a first lookup and of `merge_asof`; bytes at the most, and of the cache."""
    frame = dated_orders([(state, zip5) for state, zip5 in asked[1:]], rows)
    with connect("embedded") as client:
        chosen = {"client": client, "columns": TWELVE, "progress": False}
        one = dated_orders([(state, zip5) for state, zip5 in asked[:1]], 1)
        SvcAccessor(one).lookup(**chosen)  # what is loaded at first use, and the book is opened
        results: list[pd.DataFrame] = []
        made = {"lookup": timed(lambda: results.append(SvcAccessor(frame).lookup(**chosen)))}
    made["peak"] = most_held()
    cache = cache_path()
    made["cache"] = size_of(cache.parent) if cache else 0
    assert results[0]["lookup_status"].isin(["ok", "partial"]).all()
    rates = dated_rates(texts_of(results[0].drop_duplicates(KEYS)[[*KEYS, *TWELVE]]))

    def merge() -> pd.DataFrame:
        return pd.merge_asof(frame.sort_values("order_date"), rates, on="order_date", by=KEYS)

    def merge_in_order() -> pd.DataFrame:
        left = frame.reset_index().sort_values("order_date")
        merged = pd.merge_asof(left, rates, on="order_date", by=KEYS)
        return merged.set_index("index").sort_index()

    assert len(merge_in_order()) == len(frame)
    sides = (merge, merge_in_order)
    took = medians(*(lambda side=side: timed(side) for side in sides))
    return made | dict(zip(("merge", "merge_in_order"), took, strict=True))


def first() -> Finding:
    """A year of orders that nothing is known of, each time in a process of its own."""
    asked = known_places(YEAR_PLACES + 1)
    runs: list[dict[str, float]] = []

    def run() -> float:
        runs.append(in_a_process(measured_first, asked, YEAR_ROWS))
        return runs[-1]["lookup"] / runs[-1]["merge_in_order"]

    (times,) = medians(run, rounds=3)
    lookup, merge, in_order = (
        statistics.median(one[name] for one in runs)
        for name in ("lookup", "merge", "merge_in_order")
    )
    peak, cache = (max(one[name] for one in runs) for name in ("peak", "cache"))
    return Finding(
        f"first lookup of {YEAR_ROWS:,} orders of {YEAR_PLACES:,} ZIPs and {DAYS} days, embedded,"
        f" {len(TWELVE)} columns, against a merge_asof of the same rows",
        f"{times:.1f} x, {lookup:.2f} s of CPU",
        "<= 15 x",
        f"{in_order * 1000:.0f} ms with {YEAR_PLACES * DATED_RATES:,} dated rates, the rows sorted"
        f" by date and put back in their order ({lookup / merge:.1f} x the {merge * 1000:.0f} ms"
        f" without the last step); {peak / 2**20:,.0f} MB at the most, {cache / 1e6:,.1f} MB in the"
        " folder of the cache; a process of its own, imports and the opening of the book apart; the"
        " tables of the states are read within it",
    )


def keep_all(cache: Cache, client: Svc, frame: pd.DataFrame) -> int:
    """Let the cache know what each row asks; how many questions these are."""
    number_of = {zip5: number for number, zip5 in enumerate(frame["zip"].unique())}
    queries = Survey.of(frame, find_inputs(frame, {})).queries
    now = datetime.now(UTC)
    answered = [
        (
            place,
            Outcome(
                "ok",
                None,
                found_for(number_of[str(place.zip)], place.state, str(place.zip)),
                looked_up_at=now,
            ),
        )
        for place in queries.wanted("day").dated()
    ]
    for start in range(0, len(answered), 20_000):
        cache.store(source_of(client), answered[start : start + 20_000], detail=False)
    return len(answered)


def measured_dates() -> dict[str, float]:
    """Seconds of CPU and bytes: the real case, where dates make most rows their own question."""
    with warm(PLACES) as (client, cache, asked):
        frame = dated_orders(asked)
        chosen = {"client": client, "cache": cache}
        SvcAccessor(frame[:1_000]).plan(**chosen)  # what is loaded at first use is not the plan's
        made: dict[str, float] = {"plan": timed(lambda: SvcAccessor(frame).plan(**chosen))}
        made["questions"] = keep_all(cache, client, frame)
        made["plan_warm"] = timed(lambda: SvcAccessor(frame).plan(**chosen))
        before = resident()
        results: list[pd.DataFrame] = []

        def look_up() -> None:
            results.append(SvcAccessor(frame).lookup(progress=False, **chosen))

        made["lookup"] = timed(look_up)
        made["bytes"] = resident() - before
        assert (results[0]["lookup_status"] == "ok").all()
        made["tax"] = timed(lambda: SvcAccessor(results[0]).tax("amount"))
        return made


def dates() -> Iterator[Finding]:
    found = in_a_process(measured_dates)
    case = f"{DATED_ROWS:,} rows of {PLACES:,} places and {DAYS} days"
    questions = int(found["questions"])
    yield Finding(
        f"plan of {case}, with the requests of every grain",
        f"{found['plan']:.1f} s of CPU",
        "< 3 s",
        f"{questions:,} distinct questions; {found['plan_warm']:.1f} s where the cache knows all,"
        " so that they are counted in its file",
    )
    yield Finding(
        f"warm lookup of {case}, all {len(LOOKUP_COLUMNS)} columns, from the cache's file",
        f"{found['lookup']:.1f} s of CPU, {found['bytes'] / questions:.0f} bytes a question",
        "< 10 s, <= 1,000 bytes",
        f"{found['bytes'] / 1e6:.0f} MB for the columns and the answers, which the frame remembers;"
        f" its tax {found['tax']:.2f} s",
    )


def measured_memory(form: str = "str") -> dict[str, float]:
    """Bytes: the frame, the result as pandas counts it, and the process before, after, at most.

    The texts of the frame are of the dtype `form`: "str" or "object".
    """
    with warm(PLACES) as (client, cache, asked):
        small = orders(asked, 1_000)
        chosen = {"client": client, "cache": cache, "as_of": "today", "progress": False}
        chosen |= {"zip": "zip", "state": "state", "address": False, "city": "ship_to_city"}
        SvcAccessor(small).lookup(**chosen)  # what is loaded at first use is not the frame's
        frame = orders(asked, ROWS)
        texts = [name for name in frame if pd.api.types.is_string_dtype(frame[name])]
        frame = frame.astype(dict.fromkeys(texts, text_dtype() if form == "str" else form))
        before = resident()
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text(
                "5", encoding="utf-8"
            )  # the peak is counted from here
        result = SvcAccessor(frame).lookup(**chosen)
        peak = most_held()
        return {
            "frame": int(frame.memory_usage(deep=True).sum()),
            "result": int(result.memory_usage(deep=True).sum()),
            "before": before,
            "after": resident(),
            "peak": peak,
        }


def memory(form: str) -> Finding:
    found = in_a_process(measured_memory, form)
    own = found["frame"]
    peak = own + found["peak"] - found["before"]
    return Finding(
        f"memory of {ROWS:,} rows enriched with all columns, against the frame itself,"
        f" texts as {form}",
        f"{peak / own:.2f} x at the peak",
        "<= 3 x",
        f"frame {own / 1e6:.0f} MB, with all columns {found['result'] / 1e6:.0f} MB"
        f" ({found['result'] / own:.2f} x); the process grew by"
        f" {(found['after'] - found['before']) / 1e6:.0f} MB,"
        f" at most by {(found['peak'] - found['before']) / 1e6:.0f} MB",
    )


def findings() -> Iterator[Finding]:
    yield speed(["combined_rate"], "the rate only", "<= 1.0 x", "<= 0.5 x")
    yield speed(TWELVE, f"{len(TWELVE)} columns", "<= 0.5 x", "<= 0.3 x")
    yield speed(
        TWELVE,
        f"{len(TWELVE)} columns",
        "<= 0.5 x",
        "<= 0.3 x",
        what="second lookup on the embedded service",
        service=embedded,
    )
    yield speed(None, f"all {len(LOOKUP_COLUMNS)} columns", "reported", "")
    yield memory("str")
    yield memory("object")
    yield from dates()
    yield first()
