"""Places and special districts that SST files know by code only, and where they lie.

Names of places are those of the Census Bureau for the same codes (FIPS 55-3 place codes, public
domain, as the Open Civic Data division identifiers list them). Where a district applies was read
in what the states and counties publish; the file's rate and first day must be those published. A
code that no source names is left out and reported.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple


class Place(NamedTuple):
    """A place that levies a rate: its code, its name, the counties it lies in (main one first)."""

    code: str
    name: str
    counties: tuple[str, ...]
    label: str = ""


class Member(NamedTuple):
    """A city that belongs to a district and levies nothing of its own."""

    code: str
    name: str
    counties: tuple[str, ...]


class PlacedDistrict(NamedTuple):
    """A special district (type 63) and where it applies.

    Attributes:
        state: two-letter code.
        code: its code in the rate file.
        name: what it is called.
        units: the rate that its place was published with.
        begin: the first day of its code, which the publication names (St. Cloud's is older).
        counties: it applies in these whole counties.
        outside: but not in these places (codes) of them.
        members: it applies in these cities only.
        taxing: and in these places (codes) that levy a rate of their own.
    """

    state: str
    code: str
    name: str
    units: int
    begin: date
    counties: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    taxing: tuple[str, ...] = ()


class Unplaced(NamedTuple):
    """A district that no source places exactly, and the counties it is a part of.

    Without counties no published total of the state has it: answers do not speak of it.
    """

    state: str
    code: str
    name: str
    counties: tuple[str, ...] = ()


class RateFile(NamedTuple):
    """What is taken from a state's rate file.

    Attributes:
        by_city: whether cities decide, so that the file's cities become areas of their own.
        complete_from: from this day on the file also lists what has ended since: a jurisdiction
            without a row then had no rate. `None`: it brings its own rows of zero.
        zero_before: kinds of jurisdiction whose first row, if later, began from nothing.
    """

    by_city: bool
    complete_from: date | None = None
    zero_before: tuple[str, ...] = ()


RATE_FILES = {
    # the file has every change since 2011; a city's own row may follow a rate it shared before
    "GA": RateFile(by_city=True, complete_from=date(2011, 1, 1), zero_before=("63",)),
    # the first ended row of the file ended on 2021-09-30: taxes that ended before are not in it
    "MN": RateFile(by_city=True, complete_from=date(2021, 10, 1), zero_before=("00", "01", "63")),
    "WI": RateFile(by_city=False),
}
"""The rate files whose local rates are taken over; of others the state rate is."""

_METRO = ("Anoka", "Carver", "Dakota", "Hennepin", "Ramsey", "Scott", "Washington")

# code, name, county (more where it lies in several), without the word County
_MINNESOTA = """
00694 Albert Lea, Freeborn
02908 Austin, Mower
03070 Avon, Stearns
04042 Baxter, Crow Wing
05068 Bemidji, Beltrami
06256 Blackduck, Beltrami
06616 Bloomington, Hennepin
06688 Blue Earth, Faribault
07300 Brainerd, Crow Wing
09370 Cambridge, Isanti
10918 Chanhassen, Carver
11800 Clearwater, Wright
12160 Cloquet, Carlton
15832 Detroit Lakes, Becker
15976 Dilworth, Clay
17000 Duluth, St. Louis
17612 East Grand Forks, Polk
18188 Edina, Hennepin
18674 Elk River, Sherburne
20078 Excelsior, Hennepin
20330 Fairmont, Martin
20906 Fergus Falls, Otter Tail
24074 Glenwood, Pope
24308 Golden Valley, Hennepin
25118 Grand Rapids, Itasca
28394 Henderson, Sibley
28682 Hermantown, St. Louis
28790 Hibbing, St. Louis
30644 Hutchinson, McLeod
31040 International Falls, Koochiching
35450 Lanesboro, Fillmore
37448 Litchfield, Meeker
39878 Mankato, Blue Earth
40166 Maple Grove, Hennepin
40688 Marshall, Lyon
41426 Medford, Steele
43000 Minneapolis, Hennepin
43774 Monticello, Wright
43864 Moorhead, Clay
43954 Moose Lake, Carlton
45682 New London, Kandiyohi
46042 New Ulm, Brown
47068 North Mankato, Nicollet
47680 Oakdale, Washington
50470 Perham, Otter Tail
52630 Proctor, St. Louis
54214 Richfield, Hennepin
54880 Rochester, Olmsted
55186 Rogers, Hennepin
55852 Roseville, Ramsey
58000 St. Paul, Ramsey
58036 St. Peter, Nicollet
58648 Sauk Centre, Stearns
58936 Scanlon, Carlton
61690 Spicer, Kandiyohi
62446 Staples, Todd, Wadena
62824 Stillwater, Washington
65956 Two Harbors, Lake
67288 Virginia, St. Louis
67612 Waite Park, Stearns
67792 Walker, Cass
68170 Warren, Marshall
69700 West St. Paul, Dakota
70420 Willmar, Kandiyohi
71428 Woodbury, Washington
71734 Worthington, Nobles
"""


def _listed(text: str) -> tuple[Place, ...]:
    places = []
    for line in text.split("\n"):
        code, _, rest = line.partition(" ")
        name, *counties = rest.split(", ")
        if code:
            places.append(Place(code, name, tuple(f"{county} County" for county in counties)))
    return tuple(places)


PLACES = {
    "GA": (
        Place("04000", "Atlanta", ("Fulton County",)),
        Place("05000", "Atlanta", ("DeKalb County",), "Atlanta (DeKalb County)"),
        Place("17776", "College Park", ("Fulton County",)),
        Place("25720", "East Point", ("Fulton County",)),
        Place("36472", "Hapeville", ("Fulton County",)),
    ),
    "MN": _listed(_MINNESOTA),
    "WI": (Place("53000", "Milwaukee", ("Milwaukee County",)),),
}
"""The places of each state's rate file that have a name. 05000 is not a code of the Census: the
file gives Atlanta's part of DeKalb County a row of its own."""


def places_of(state: str) -> dict[str, Place]:
    """The named places of a state's rate file by their code."""
    return {place.code: place for place in PLACES.get(state, ())}


DISTRICTS = (
    PlacedDistrict(
        "GA",
        "00060",
        "Fulton County transportation tax (outside Atlanta)",
        750,
        date(2017, 4, 1),
        counties=("Fulton County",),
        # their rates hold it already
        outside=("04000", "17776", "25720", "36472"),
    ),
    PlacedDistrict(
        "GA",
        "00044",
        "DeKalb County special purpose tax (outside Atlanta)",
        1_000,
        date(2018, 4, 1),
        counties=("DeKalb County",),
        outside=("05000",),
    ),
    PlacedDistrict(
        "MN",
        "80001",
        "St. Cloud Area",
        500,
        date(2009, 1, 1),
        members=(
            Member("56724", "St. Augusta", ("Stearns County",)),
            Member("56896", "St. Cloud", ("Stearns County", "Benton County", "Sherburne County")),
            Member("57130", "St. Joseph", ("Stearns County",)),
            Member("58612", "Sartell", ("Stearns County", "Benton County")),
            Member("58684", "Sauk Rapids", ("Benton County",)),
        ),
        taxing=("67612",),
    ),
    PlacedDistrict(
        "MN",
        "80003",
        "Cook County Transit",
        500,
        date(2017, 1, 1),
        counties=("Cook County",),
    ),
    PlacedDistrict(
        "MN",
        "80004",
        "Hennepin County Transit",
        500,
        date(2017, 10, 1),
        counties=("Hennepin County",),
    ),
    PlacedDistrict(
        "MN",
        "80006",
        "Carlton County sales tax beside its transit tax",
        500,
        date(2023, 4, 1),
        counties=("Carlton County",),
    ),
    PlacedDistrict(
        "MN",
        "80008",
        "Metro Area Transportation",
        750,
        date(2023, 10, 1),
        counties=tuple(f"{name} County" for name in _METRO),
    ),
    PlacedDistrict(
        "MN",
        "80009",
        "Metro Area Housing",
        250,
        date(2023, 10, 1),
        counties=tuple(f"{name} County" for name in _METRO),
    ),
    PlacedDistrict(
        "MN",
        "80011",
        "Beltrami County sales tax beside its transit tax",
        625,
        date(2024, 7, 1),
        counties=("Beltrami County",),
    ),
    PlacedDistrict(
        "MN",
        "80012",
        "Stearns County sales tax beside its transit tax",
        375,
        date(2025, 4, 1),
        counties=("Stearns County",),
    ),
    PlacedDistrict(
        "MN",
        "80013",
        "Winona County sales tax beside its transit tax",
        250,
        date(2025, 4, 1),
        counties=("Winona County",),
    ),
    PlacedDistrict(
        "WI",
        "55501",
        "Baseball stadium district",
        100,
        date(1996, 1, 1),
        counties=tuple(
            f"{name} County"
            for name in ("Milwaukee", "Ozaukee", "Racine", "Washington", "Waukesha")
        ),
    ),
    PlacedDistrict(
        "WI",
        "55502",
        "Football stadium district",
        500,
        date(2000, 11, 1),
        counties=("Brown County",),
    ),
)
"""The districts whose place is published, each with the rate and day it was published with.

Fulton: the county's page on its transportation tax (0.75 % outside Atlanta, from 2017). DeKalb: the
county's page on its SPLOST (8 % in all outside Atlanta from 2018-04-01). Minnesota: the revenue
department's notices (metro area, Hennepin), the counties' pages and ordinances (Cook, Carlton,
Beltrami, Stearns, Winona), the boundary file's sample (Hennepin), and for the St. Cloud area the
department's list of 2017, where it is the one tax that is neither a city's nor a county's.
Wisconsin: the revenue department's page on its two stadium taxes, with counties, rates and days.
"""

UNPLACED = (
    # 0.5 % since 2022-10-01; lists of every county's and city's total since then are without it
    Unplaced("GA", "99999", "special district 99999"),
    Unplaced(
        "MN",
        "80005",
        "Garrison, Kathio, West Mille Lacs Lake Sanitary District",
        counties=("Crow Wing County", "Mille Lacs County"),
    ),
)
"""Districts that apply in a part of the state that no source at hand draws."""
