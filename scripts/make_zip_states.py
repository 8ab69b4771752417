"""Make `svc_tools/tables/zip_states.csv`: in which states a ZIP lies.

    python scripts/make_zip_states.py zip_county_zcta2020.csv > svc_tools/tables/zip_states.csv

The argument is the Census relationship file of ZCTAs and counties, reduced to the columns zip5,
state, county_fips3 (public domain); the package `zipcodes` (MIT) adds the ZIPs that have no area.
A row is a three-digit prefix with the one state of its ZIPs, or a whole ZIP that differs.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from pathlib import Path

import zipcodes


def main() -> None:
    """Read both sources and print the table."""
    states: dict[str, set[str]] = defaultdict(set)
    for entry in zipcodes.list_all():
        states[entry["zip_code"]].add(entry["state"])
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            states[row["zip5"]].add(row["state"])
    by_prefix: dict[str, Counter[str]] = defaultdict(Counter)
    for zip5, found in states.items():
        by_prefix[zip5[:3]].update(found)
    usual = {prefix: max(sorted(found), key=found.get) for prefix, found in by_prefix.items()}
    rows = list(usual.items())
    rows += [(z, " ".join(sorted(s))) for z, s in states.items() if s != {usual[z[:3]]}]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("zip", "states"))
    writer.writerows(sorted(rows))


main()
