"""Shared by the rate book's tests: the shipped book, and small source folders to compile."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from compile_book.facts import TIERS

from svc_tools.service.ratebook import NotResolved, Query, ResolvedRate, load_book, resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TODAY = date(2026, 11, 21)
HISTORY = (
    "state,level,county_fips,county_name,place_fips,place_name,place_type,effective_from,"
    "effective_to,combined_rate,state_rate,from_kind,basis,use,source_id,principal,note,certainty"
)
LEAST = {
    "place_counties.csv": "state,place_fips,place_name,place_type,county_fips,all_county_fips,"
    "also_known_as\nWI,53000,Milwaukee,city,55079,55079,",
    "zip_county_zcta2020.csv": "zip5,state,county_fips3\n53202,WI,079",
    "zip_housing.csv": "state,zip,place,county,housing_units,population\n",
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
    "local_history_ca_2023.csv": HISTORY,
    "local_history_listed_cities.csv": HISTORY,
    "tx_city_changes.csv": "state,effective_from,kind,place_fips,place_name,county_name,city_rate,"
    "combined_rate,source_id",
    "nm_grt_2022H1_part.csv": "state,location_code,place_name,level,county_name,place_fips,"
    "effective_from,effective_to,combined_rate,state_rate,local_rate,comparison,source_id",
    "la_parish_local_rates_part.csv": "state,level,county_fips,county_name,place_fips,place_name,"
    "effective_from,effective_to,local_rate,table_seen_through,comparison_2026_02,source_id,note,use",
    "ak_arsstc_members_part.csv": "state,member,place_fips,borough_tax_also_applies,own_rate,"
    "remote_collection_from,rate_in_present_book,comparison,source_id",
    "ak_no_general_tax.csv": "state,level,county_fips,county_name,except_place_fips,effective_from,"
    "effective_to,combined_rate,certainty,evidence,source_id",
    "id_cities_over_10000.csv": "state,place_fips,place_name,county_name,population_2010,"
    "population_acs2021,combined_rate,effective_from,effective_to,source_id",
    "local_rates_x.csv": "state,level,county_fips,county_name,place_fips,place_name,place_type,"
    "effective_from,effective_to,combined_rate,state_rate,from_kind,basis,use,source_id,principal,note",
    "sources.csv": "source_id,what,authority,edition,trust,good_until"
    "\nlist,A list,a department,2026Q4,official,2026-12-31"
    "\nsst-oh-2026q4,Another,a department,2026Q4,official,2026-12-31",
}
"""Every source but the states' rates, with as few rows as a book can be compiled from."""
LAW = (
    "state,category,treatment,effective_from,effective_to,certainty,law,source,source_url,"
    "checked_on,notes"
)
FOLLOWS = "follows_goods,,"
RULES = {"MI": "exempt_if_separate,,", "LA": "follows_goods,2025-01-01,"}
"""Treatment, first and last day of the rule of delivery; two states have had another before."""
RATES = {"CA": "0.07250", "MN": "0.06875", "WA": "0.06500"}


@pytest.fixture(scope="session")
def book():
    return load_book()


@pytest.fixture(scope="session")
def ask(book) -> Callable[..., ResolvedRate]:
    """One lookup in the shipped book, on the day the tests are written for."""

    def ask(state: str, today: date = TODAY, **fields: Any) -> ResolvedRate:
        return resolve(book, Query(state=state, **fields), today=today)

    return ask


@pytest.fixture(scope="session")
def refused(ask) -> Callable[..., NotResolved]:
    """One lookup that must come to nothing, and why."""

    def refused(state: str, **fields: Any) -> NotResolved:
        with pytest.raises(NotResolved) as caught:
            ask(state, **fields)
        return caught.value

    return refused


@pytest.fixture
def source_dir(tmp_path) -> Path:
    """The least a book is compiled from: state rates, 5% but for three, and one ZIP."""
    folder = tmp_path / "sources"
    folder.mkdir()
    states = " ".join(TIERS.values()).split()
    history = [f"{code},{RATES.get(code, '0.05000')},2015-01-01,,certain,law" for code in states]
    law = [
        f"{code},shipping,{RULES.get(code, FOLLOWS)},one source,,,,2026-11-23," for code in states
    ]
    (folder / "taxability.csv").write_text("\n".join([LAW, *law]) + "\n")
    head = "state,rate,effective_from,effective_to,certainty,from_kind"
    for name, text in {**LEAST, "state_rate_history.csv": "\n".join([head, *history])}.items():
        (folder / name).write_text(f"{text}\n")
    return folder


@pytest.fixture
def book_dir(tmp_path) -> Path:
    return tmp_path / "book"
