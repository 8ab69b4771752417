"""The official page of each state where the rate of an address is looked up. Pure.

One table for the advice, the links of reports, panel and workbook, and docs/ADDRESSES.md. A lookup
has its web address only where two independent sources, or the agency's own page, name it.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


_OWNER = re.compile(r".*?'s? ")


class OfficialPage(NamedTuple):
    """The page of one state.

    Attributes:
        lookup: the state's lookup of single addresses by its name, as it stands in a sentence;
            empty where there is none, such as where one rate holds statewide.
        url: the web address; empty where none is confirmed.
        other: what the address leads to where that is not the lookup: the agency's page of rates.
    """

    lookup: str = ""
    url: str = ""
    other: str = ""

    @property
    def label(self) -> str:
        """The words at the end of `name` that the address belongs to."""
        owner = _OWNER.match(self.lookup)
        if owner and self.other.startswith(owner[0]):
            return f"its {self.other.removeprefix(owner[0])}"
        return self.other or self.lookup

    @property
    def name(self) -> str:
        """The page in words; both where the address of the lookup is not confirmed."""
        return f"{self.lookup}, or {self.label}" if self.lookup and self.other else self.label

    @property
    def text(self) -> str:
        """The page in words, with the web address where one is confirmed."""
        return f"{self.name}: {self.url}" if self.url else self.name


GENERIC_PAGE = OfficialPage("the state revenue department's site")
"""The page of a state that is not known."""
OFFICIAL_PAGES = {
    "AK": OfficialPage(
        lookup="the borough's or city's own site",
        url="https://arsstc.org/business-sellers/tax-rates/",
        other="the Alaska Remote Seller Sales Tax Commission's page of its members' rates",
    ),
    "AL": OfficialPage(
        lookup="the Alabama Department of Revenue's local tax rate lookup by address",
        url="https://www.alabamainteractive.org/ador_taxrate_lookup/welcome.action",
    ),
    "AR": OfficialPage(
        lookup="the Arkansas DFA's Sales and Use Tax Lookup",
        url="https://www.dfa.arkansas.gov/office/taxes/excise-tax-administration/sales-use-tax/local-tax-lookup-tools/",
    ),
    "AZ": OfficialPage(
        lookup="the Arizona Department of Revenue's Arizona Tax Rate Look Up",
        url="https://azdor.gov/business/transaction-privilege-tax/tax-rate-table",
    ),
    "CA": OfficialPage(
        lookup="the CDTFA's Find a Sales and Use Tax Rate", url="https://maps.cdtfa.ca.gov/"
    ),
    "CO": OfficialPage(
        lookup="the Colorado Department of Revenue's Sales Tax Rate Lookup",
        url="https://tax.colorado.gov/how-to-look-up-sales-use-tax-rates",
    ),
    "CT": OfficialPage(
        url="https://portal.ct.gov/drs/sales-tax/tax-information",
        other="the Connecticut Department of Revenue Services' page of rates",
    ),
    "DC": OfficialPage(
        url="https://otr.cfo.dc.gov/page/dc-tax-rates",
        other="the District of Columbia Office of Tax and Revenue's page of rates",
    ),
    "FL": OfficialPage(
        lookup="the Florida Department of Revenue's PointMatch Address Lookup",
        url="https://pointmatch.floridarevenue.com/",
    ),
    "GA": OfficialPage(
        url="https://dor.georgia.gov/sales-tax-rates-general",
        other="the Georgia Department of Revenue's page of rates",
    ),
    "HI": OfficialPage(
        url="https://tax.hawaii.gov/geninfo/countysurcharge/",
        other="the Hawaii Department of Taxation's County Surcharge page",
    ),
    "IA": OfficialPage(lookup="the Iowa Department of Revenue's Sales Tax Rate Lookup"),
    "ID": OfficialPage(
        url="https://tax.idaho.gov/taxes/sales-use/sales-tax/local-sales-tax/city-sales-tax/",
        other="the Idaho State Tax Commission's City Sales Tax page",
    ),
    "IL": OfficialPage(
        lookup="MyTax Illinois' Tax Rate Finder", url="https://mytax.illinois.gov/_/"
    ),
    "IN": OfficialPage(
        url="https://www.in.gov/dor/business-tax/sales-tax/",
        other="the Indiana Department of Revenue's page of rates",
    ),
    "KS": OfficialPage(
        lookup="the Kansas Department of Revenue's Address Tax Rate Locator",
        url="https://www.ksrevenue.gov/atrladdress.html",
    ),
    "KY": OfficialPage(
        url="https://revenue.ky.gov/Business/Sales-Use-Tax/Pages/default.aspx",
        other="the Kentucky Department of Revenue's page of rates",
    ),
    "LA": OfficialPage(
        lookup="the Louisiana Uniform Local Sales Tax Board's lookup tool (Parish E-File)",
        url="https://parishe-file.revenue.louisiana.gov/lookup/lookup.aspx",
    ),
    "MA": OfficialPage(
        url="https://www.mass.gov/sales-and-use-tax",
        other="the Massachusetts Department of Revenue's page of rates",
    ),
    "MD": OfficialPage(
        url="https://services.marylandcomptroller.gov/taxes?id=kb_article_view&sysparm_article=KB0010107",
        other="the Comptroller of Maryland's page of rates",
    ),
    "ME": OfficialPage(
        url="https://www.maine.gov/revenue/taxes/sales-use-service-provider-tax/rates-due-dates",
        other="Maine Revenue Services' page of rates",
    ),
    "MI": OfficialPage(
        url="https://www.michigan.gov/taxes/business-taxes/sales-use-tax",
        other="the Michigan Department of Treasury's page of rates",
    ),
    "MN": OfficialPage(
        lookup="the Minnesota Department of Revenue's Sales Tax Rate Calculator",
        url="https://www.revenue.state.mn.us/sales-tax-rate-calculator",
    ),
    "MO": OfficialPage(
        lookup="the Missouri Department of Revenue's Sales and Use Tax Lookup",
        url="https://dor.mo.gov/taxation/business/tax-types/sales-use/rate-tables/",
        other="the Missouri Department of Revenue's page of rates",
    ),
    "MS": OfficialPage(
        url="https://www.dor.ms.gov/business/sales-tax-rates",
        other="the Mississippi Department of Revenue's page of rates",
    ),
    "NC": OfficialPage(
        url="https://www.ncdor.gov/taxes-forms/sales-and-use-tax/sales-and-use-tax-rates/current-sales-and-use-tax-rates",
        other="the North Carolina Department of Revenue's page of rates",
    ),
    "ND": OfficialPage(lookup="the North Dakota Tax Commissioner's local rate lookup"),
    "NE": OfficialPage(
        lookup="the Nebraska Department of Revenue's Sales Tax Rate Finder",
        url="https://revenue.nebraska.gov/businesses/sales-and-use-tax",
        other="the Nebraska Department of Revenue's sales tax page",
    ),
    "NJ": OfficialPage(other="the New Jersey Division of Taxation's page of rates"),
    "NM": OfficialPage(
        lookup="the New Mexico Taxation and Revenue Department's Gross Receipts Location Code and"
        " Tax Rate Map",
        url="https://www.tax.newmexico.gov/all-nm-taxes/current-historic-tax-rates-overview/gross-receipts-tax-rates/",
        other="the New Mexico Taxation and Revenue Department's page of rates",
    ),
    "NV": OfficialPage(other="the Nevada Department of Taxation's page of rates"),
    "NY": OfficialPage(
        lookup="New York's Jurisdiction/Rate Lookup by Address",
        url="https://www.tax.ny.gov/bus/st/rates.htm",
    ),
    "OH": OfficialPage(
        lookup="the Ohio Department of Taxation's The Finder", url="https://thefinder.tax.ohio.gov/"
    ),
    "OK": OfficialPage(
        lookup="the Oklahoma Tax Commission's Sales and Use Tax Rate Locator",
        url="https://taxproject.csa.ou.edu/Rate_Locator/address/",
    ),
    "PA": OfficialPage(
        url="https://www.pa.gov/agencies/revenue/resources/tax-types-and-information/sales-use-and-hotel-occupancy-tax",
        other="the Pennsylvania Department of Revenue's page of rates",
    ),
    "RI": OfficialPage(other="the Rhode Island Division of Taxation's page of rates"),
    "SC": OfficialPage(
        lookup="the South Carolina Department of Revenue's District Information search map",
        url="https://dor.sc.gov/sales-use-tax-index/local-sales-taxes",
        other="the South Carolina Department of Revenue's page of rates",
    ),
    "SD": OfficialPage(
        lookup="the South Dakota Department of Revenue's Tax Match",
        url="https://dor.sd.gov/businesses/taxes/sales-use-tax",
        other="the South Dakota Department of Revenue's sales tax page",
    ),
    "TN": OfficialPage(
        lookup="the Tennessee Department of Revenue's Local Tax Rate Look Up",
        url="https://tnmap.tn.gov/sst/sst.html",
    ),
    "TX": OfficialPage(
        lookup="the Comptroller's Sales Tax Rate Locator", url="https://gis.cpa.texas.gov/search/"
    ),
    "UT": OfficialPage(
        url="https://tax.utah.gov/business/sales-tax/sales/rates/",
        other="the Utah State Tax Commission's page of rates",
    ),
    "VA": OfficialPage(
        lookup="Virginia Tax's Sales Tax Rate and Locality Code Lookup",
        url="https://www.tax.virginia.gov/sales-tax-rate-and-locality-code-lookup",
    ),
    "VT": OfficialPage(
        lookup="the Vermont Department of Taxes' Local Option Tax Finder",
        url="https://tax.vermont.gov/business/lot/municipalities",
        other="the Vermont Department of Taxes' page of rates",
    ),
    "WA": OfficialPage(
        lookup="the Washington Department of Revenue's Tax Rate Lookup",
        url="https://webgis.dor.wa.gov/taxratelookup/SalesTax.aspx",
    ),
    "WI": OfficialPage(
        lookup="the Wisconsin Department of Revenue's Sales Tax Rate Lookup",
        url="https://www.revenue.wi.gov/Pages/FAQS/pcs-taxrates.aspx",
        other="the Wisconsin Department of Revenue's page of rates",
    ),
    "WV": OfficialPage(
        url="https://tax.wv.gov/Business/SalesAndUseTax/MunicipalSalesAndUseTax/Pages/MunicipalSalesAndUseTax.aspx",
        other="the West Virginia Tax Division's page of rates",
    ),
    "WY": OfficialPage(other="the Wyoming Department of Revenue's page of rates"),
}
"""By the code of the state; a state without a general sales tax has none."""


def linked_parts(text: str) -> Iterator[tuple[str, str]]:
    """A text in parts, each with the web address that its words lead to; empty for none.

    Only names of the table are linked, and an address behind one goes into the link: no address
    that comes from data becomes one.
    """
    at = 0
    for found in _names().finditer(text):
        name, behind = found.groups(default="")
        page = _pages()[name]
        yield text[at : found.end(1) - len(page.label)], ""
        yield page.label, page.url
        at = found.end() if behind == f": {page.url}" else found.end(1)
    yield text[at:], ""


@functools.cache
def _pages() -> dict[str, OfficialPage]:
    return {page.name: page for page in OFFICIAL_PAGES.values() if page.url}


@functools.cache
def _names() -> re.Pattern[str]:
    names = sorted(_pages(), key=len, reverse=True)
    return re.compile(rf"({'|'.join(map(re.escape, names))})(: https?://\S+)?")
