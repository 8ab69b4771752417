"""What points cost: how many a second are looked up, and the memory of the limits of all cities."""

from __future__ import annotations

import gc
import random
import statistics
import time
from datetime import date
from typing import TYPE_CHECKING

import pandas as pd

import svc_tools
from benchmarks.measure import Finding, in_a_process, resident, scaled, share
from svc_tools.lookup import look_up
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.county_map import counties_at
from svc_tools.tables.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

POINTS = scaled(50_000, least=200)
ROUNDS = 5
NEAR_DEGREES = 0.05
DAY = date(2026, 8, 1)
_SPREADS = (
    ("points a second, around 1,000 ZIPs of the country", 1_000, ">= 20,000"),
    ("points a second, around every ZIP", 50_000, "reported"),
)


def points(seed: int, zips: int) -> list[Place]:
    """Points within some kilometers of the middles of ZIPs, which are the same for each seed."""
    book = load_book()
    middles = [
        (state, float(row.lat), float(row.lng))
        for state in sorted(book.states)
        for row in book.zips.state(state).values()
        if row.kind == "STANDARD" and float(row.lat)
    ]
    middles = random.Random(0).sample(middles, min(zips, len(middles)))
    drawn = random.Random(seed)
    found = []
    for state, lat, lng in drawn.choices(middles, k=POINTS):
        north, east = drawn.uniform(-1, 1), drawn.uniform(-1, 1)
        at = round(lat + NEAR_DEGREES * north, 5), round(lng + NEAR_DEGREES * east, 5)
        found.append(Place(state, "coordinates", lat=at[0], lng=at[1], as_of=DAY))
    return found


def a_second(zips: int) -> dict[str, float]:
    """How many points of a list and of a frame are looked up in a second of CPU time."""
    with svc_tools.connect("embedded") as client:
        look_up(client, points(0, zips))  # reads what the first lookups read
        listed, framed = [], []
        for seed in range(1, 1 + (ROUNDS if share() == 1 else 1)):
            asked = points(seed, zips)
            frame = pd.DataFrame(
                {
                    "state": [place.state for place in asked],
                    "lat": [place.lat for place in asked],
                    "lng": [place.lng for place in asked],
                    "date": DAY,
                }
            )
            start = time.process_time()
            run = look_up(client, asked)
            listed.append(len(run.outcomes) / (time.process_time() - start))
            start = time.process_time()
            rated = frame.svc.lookup(client=client, progress=False)
            framed.append(len(rated) / (time.process_time() - start))
    return {"listed": statistics.median(listed), "framed": statistics.median(framed)}


def memory() -> dict[str, float]:
    """The memory of the limits of the cities of all states, in megabytes, and the time to read."""
    book = load_book()
    counties_at(37.69, -97.33)
    gc.collect()
    before, start = resident(), time.process_time()
    for state in book.states:
        book.city_limits(state)
    return {
        "megabytes": (resident() - before) / 1e6,
        "milliseconds": (time.process_time() - start) * 1000,
    }


def findings() -> Iterator[Finding]:
    for zips, target in ((1_000, ">= 20,000"), (50_000, "reported")):
        done = in_a_process(a_second, zips)
        yield Finding(
            f"points a second, around {zips:,} ZIPs"
            if target != "reported"
            else "around every ZIP",
            f"{done['listed']:,.0f}",
            target,
            f"{POINTS:,} new points in each round, CPU time; in a frame {done['framed']:,.0f}",
        )
    held = in_a_process(memory)
    yield Finding(
        "memory of the limits of all cities",
        f"{held['megabytes']:.0f} MB",
        "<= 60 MB",
        f"read in {held['milliseconds']:.0f} ms of CPU",
    )
