"""Published facts that no table at hand carries: dates, freight, the latest changes.

The dated rates of a state name the act or the page they are from. The whole was last read on
`FACTS_READ`. The compiled tables are checked against them; nothing here is an estimate.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

FACTS_READ = date(2026, 11, 21)
"""The day these facts were last read."""

TIERS = {
    "A": "CT DC DE IN KY MA MD ME MI MT NH NJ OR RI",
    "B": "FL HI MS NC NV OH PA VA WI",
    "C": "CA GA MN NY SC WA",
    "D": "AZ ID IL MO NM TX",
    "E": "AL AR CO IA KS LA ND NE OK SD TN UT VT WV WY",
    "none": "AK",
}
"""What the book covers: `A` state alone, `B` by county, `C` by city, `D` the main cities of a
transcribed table, `E` the state part only, `none` nothing but the towns of a table."""

LOCAL_RULE = {
    "A": "none",
    "B": "county",
    "C": "city",
    "D": "city",
    "E": "unknown",
    "none": "city",
}
"""What decides the local part in a tier, where its local source is at hand."""

NO_TAX = frozenset(("AK", "DE", "MT", "NH", "OR"))
"""States without a sales tax of their own: whether freight is taxed has no answer there."""

FREIGHT_TAXED = (
    "AR CT DC GA HI IN KY LA MI MN MS NE NJ NM NY NC ND OH PA RI SC SD TN TX VT WA WV WI"
)
"""States that tax separately stated delivery charges on taxable goods."""

FREIGHT_CONFLICTS = frozenset(("DC", "IN", "LA", "MI"))
"""States where sources disagree whether separately stated delivery charges are taxed."""

RENAMED = {
    "02158": "Kusilvak Census Area",
    "02195": "Petersburg Borough",
    "46102": "Oglala Lakota County",
}
"""Counties whose name changed since the boundary set was drawn, by five-digit code."""

ADDED = {
    "02063": "Chugach Census Area",
    "02066": "Copper River Census Area",
    "02230": "Skagway Municipality",
}
"""Counties made of parts of others since the boundary set was drawn, by five-digit code."""


class StateSpan(NamedTuple):
    """One span of a state's rate: `percent` from `begin` (`None`: open) to `end`.

    Attributes:
        percent: the rate.
        begin: the first day.
        end: the last day; `None`: open.
        effective: the day of law.
        note: the act or the page it is from.
        disputed: a source has another rate or date.
        conflict_percent: the other rate.
    """

    percent: str
    begin: date | None
    end: date | None
    effective: date | None
    note: str
    disputed: bool = False
    conflict_percent: str = ""


_OCT_2018 = date(2018, 10, 1)
_DC = (
    "The District's own page gives 6.0 % from 2018-10-01 and 7.0 % from 2026-10-01; a compiled"
    " table puts a step of 6.5 % at 2025-10-01 between them."
)

_LA = (
    "Act 11 of the 2024 Third Extraordinary Session: 5 % from 2025-01-01 to 2029-12-31, then 4.75 %"
)

_NM = "Taxation and Revenue Department: 4.875 % from 2023-07-01"
_SD = (
    "House Bill 1137 of 2023: 4.2 % from 2023-07-01, repealed on 2027-06-30; 4.5 % before and after"
)

STATE_HISTORY = {
    "DC": (
        StateSpan("6.0", _OCT_2018, date(2025, 9, 30), _OCT_2018, _DC, disputed=True),
        StateSpan(
            "6.0",
            date(2025, 10, 1),
            date(2026, 9, 30),
            _OCT_2018,
            _DC,
            disputed=True,
            conflict_percent="6.5",
        ),
        StateSpan("7.0", date(2026, 10, 1), None, date(2026, 10, 1), _DC, disputed=True),
    ),
    "LA": (
        StateSpan("5.0", date(2025, 1, 1), date(2029, 12, 31), date(2025, 1, 1), _LA),
        StateSpan("4.75", date(2030, 1, 1), None, date(2030, 1, 1), _LA),
    ),
    "NM": (StateSpan("4.875", date(2023, 7, 1), None, date(2023, 7, 1), _NM),),
    "SD": (
        StateSpan("4.5", None, date(2023, 6, 30), None, _SD),
        StateSpan("4.2", date(2023, 7, 1), date(2027, 6, 30), date(2023, 7, 1), _SD),
        StateSpan("4.5", date(2027, 7, 1), None, date(2027, 7, 1), _SD),
    ),
}
"""States whose dates are known; the newest span in force must agree with the state table."""

CA_CHANGED = date(2026, 4, 1)
CA_CHANGES = {
    "Santa Clara County": "9.75",
    "Campbell": "10.5",
    "Cupertino": "9.75",
    "Dunsmuir": "8.25",
    "Gilroy": "9.75",
    "Los Altos": "9.75",
    "Los Altos Hills": "9.75",
    "Los Gatos": "9.875",
    "McFarland": "9.25",
    "Milpitas": "10.0",
    "Monte Sereno": "9.75",
    "Morgan Hill": "9.75",
    "Mountain View": "9.75",
    "Palo Alto": "9.75",
    "San Jose": "10.0",
    "Santa Clara": "9.75",
    "Santa Fe Springs": "11.0",
    "Saratoga": "9.75",
    "Sunnyvale": "9.75",
}
"""Combined percent of the areas that changed on `CA_CHANGED`, by a compiled copy of that list."""
