"""A book compiled from small files: what it answers, and what its report says."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from svc_tools.service.ratebook import Answer, Query, load_book, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from compile_book import CompileReport

    from svc_tools.service.ratebook.rating import Rated

__all__ = ["LEAST", "LISTED", "answer", "messages", "rate"]

TODAY = date(2026, 5, 1)
LISTED = (
    "state,level,county_fips,county_name,place_fips,place_name,place_type,effective_from,"
    "effective_to,combined_rate,state_rate,from_kind,basis,use,source_id,principal,note"
)
LEAST = {
    "place_counties.csv": "state,place_fips,place_name,place_type,county_fips,all_county_fips,"
    "also_known_as\nWI,53000,Milwaukee,city,55079,55079,",
    "zip_county_zcta2020.csv": "zip5,state,county_fips3\n53202,WI,079",
    "zip_places.csv": "zip5,state,place_fips,land_sqmi_in_zip,share_of_zip_land"
    "\n53202,WI,53000,1.0,1.000",
    "wa_dor_quarterly_2025.csv": "effective,expiration,location_code,location,state_rate,"
    "local_rate,rta,total_rate\n20251001,20251231,1700,KING COUNTY RTA,0.065,0.038,0.014,0.103",
    "ca_cdtfa_2026-01-01.csv": "Location,Rate,Rate_Percent,County,Type,Notes",
    "county_rates_nc_oh_nv.csv": "state,level,name",
    "local_tables_2026.csv": "state,table,name,parents,rate_pct,zips",
    "district_members.csv": "state,district,locality,note",
    "doubtful_rows.csv": "state,table,name,advice",
    "corrections_2026.csv": "state,table,name,was_pct,should_be_pct,source",
    "local_rates_x.csv": LISTED,
    "sources.csv": "source_id,what,authority,edition,trust,good_until"
    "\nlist,A list,a department,2026Q4,official,2026-12-31"
    "\nsst-oh-2026q4,Another,a department,2026Q4,official,2026-12-31",
}
"""Every source but the states' rates, with as few rows as a book can be compiled from."""


def answer(folder: Path, state: str, **fields: Any) -> Answer:
    """The answer of the book in a folder."""
    return resolve(load_book(folder), Query(state=state, **fields), today=TODAY)


def rate(folder: Path, state: str, **fields: Any) -> Rated:
    """The rates of that answer."""
    return answer(folder, state, **fields).chosen


def messages(report: CompileReport, kind: str) -> list[str]:
    """The findings of one kind, each with its subject."""
    return [f"{found.subject}: {found.message}" for found in report.of_kind(kind)]
