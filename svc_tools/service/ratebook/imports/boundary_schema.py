"""The tables of boundary files in the user's own book.

Days are whole numbers such as 20260401, `99991231` where a record has no end. A `4` record that
reaches over several ZIPs is kept in up to three rows: its first and its last ZIP in
`boundary_plus4`, the whole ZIPs between them as one row of kind `4` in `boundary_zips`.
"""

from __future__ import annotations

__all__ = ["DDL"]

_EDITION = "edition_id INTEGER NOT NULL REFERENCES editions (id) ON DELETE CASCADE"
_SPAN = "begins INTEGER NOT NULL, ends INTEGER NOT NULL, composite INTEGER NOT NULL"

DDL: tuple[str, ...] = (
    f"""CREATE TABLE boundary_composites (
        id INTEGER PRIMARY KEY,
        {_EDITION},
        indicator TEXT NOT NULL,
        county TEXT NOT NULL,
        place TEXT NOT NULL,
        specials TEXT NOT NULL,
        UNIQUE (edition_id, indicator, county, place, specials)
    )""",
    f"""CREATE TABLE boundary_zips (
        {_EDITION},
        kind TEXT NOT NULL CHECK (kind IN ('Z', '4')),
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, low, high, kind, begins, ends, composite)
    ) WITHOUT ROWID""",
    f"""CREATE TABLE boundary_plus4 (
        {_EDITION},
        zip INTEGER NOT NULL,
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, zip, low, high, begins, ends, composite)
    ) WITHOUT ROWID""",
    f"""CREATE TABLE boundary_addresses (
        {_EDITION},
        zip INTEGER NOT NULL,
        street TEXT NOT NULL,
        pre TEXT NOT NULL,
        suffix TEXT NOT NULL,
        post TEXT NOT NULL,
        letters TEXT NOT NULL,
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        parity TEXT NOT NULL,
        unit TEXT NOT NULL,
        unit_low TEXT NOT NULL,
        unit_high TEXT NOT NULL,
        unit_parity TEXT NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, zip, street, low, high, pre, suffix, post, letters, parity,
            unit, unit_low, unit_high, unit_parity, begins, ends, composite)
    ) WITHOUT ROWID""",
    # what `4` and `A` records say of a ZIP altogether
    f"""CREATE TABLE boundary_zip_composites (
        {_EDITION},
        zip INTEGER NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, zip, composite, begins, ends)
    ) WITHOUT ROWID""",
)
"""Statements that make the tables, executed once where a book is made."""
