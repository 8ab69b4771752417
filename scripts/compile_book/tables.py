from __future__ import annotations

import csv
from collections import defaultdict
from types import SimpleNamespace


def read_tables(table, corrections, members, doubtful, report):
    m = defaultdict(list)
    for r in csv.DictReader(open(members)):
        m[r["state"], r["district"]].append(r["locality"])
    rows = list(csv.DictReader(open(table)))
    return SimpleNamespace(members=m, raw=rows)


def district_units(tables, state, name):
    return {
        r["name"]: round(float(r["rate_pct"]) * 1000)
        for r in tables.raw
        if (r["state"], r["table"]) == (state, name)
    }


def add_listed_cities(*a):
    pass


Tables = object
