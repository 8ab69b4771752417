"""Whose country a column is by its name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.tables.countries import country_in_name, find_country

PARTIES = {
    "plain": [
        *("Country", "Country/Region", "Country / Region", "Region/Country", "Country ISO"),
        *("Country (ISO)", "Country ISO2", "CountryISO3", "country_code_2", "Country Name"),
        *("ISO Country Code", "Order Country", "Country Code", "Country of sale", "COUNTRYCODE"),
        *("Ctry", "Cntry", "Ctry Code", "CNTRY_CD", "CtryCode"),
        *("Land", "Pays", "País", "PAÍS", "Paese", "Kraj", "Nation", "Страна", "国家"),
    ],
    "shipping": [
        *("Ship Country Code", "Ship-to Country/Region", "ShipCountryCode", "shiptocountrycode"),
        *("Delivery country", "Country Code (Shipping)", "Country of destination", "Destination"),
        *("Final Destination", "Recipient Country", "Lieferland", "Pays de livraison"),
        *("Ship Ctry", "ShipCntry", "ship_to_ctry"),
    ],
    "customer": ["Buyer Country", "Customer Country", "customercountry", "Client Country ISO"],
    "billing": ["Billing Country", "Bill-to Country", "billtocountry", "Country Code (Billing)"],
}
NOT_OF_THE_PLACE = [
    *("Country of Origin", "Origin Country", "Country of Manufacture", "Manufacturer Country"),
    *("Item Country", "Product Country", "Card Issue Country", "Issuer Country Code", "IP Country"),
    *("Tax Country", "Bank Country", "Warehouse Country", "Seller Country", "Ship From Country"),
    *("From Country", "Customer Registration Country", "Phone Country Code", "Genre: Country"),
    *("Country Manager", "Country Tax", "Country Club", "Destination City", "Island", "Bundesland"),
    *("Rhode Island", "País de origen", "Ursprungsland", "State", "Countrywide", "Zip", ""),
]


@pytest.mark.parametrize(("party", "name"), [(p, n) for p, some in PARTIES.items() for n in some])
def test_a_name_that_ends_in_country_is_a_country(party, name):
    found = country_in_name(name)
    assert found is not None
    assert found.party == party


@pytest.mark.parametrize("name", NOT_OF_THE_PLACE)
def test_a_country_of_goods_of_payment_or_of_the_seller_is_not_that_of_the_place(name):
    assert country_in_name(name) is None


_WORDS = st.sampled_from(
    [
        (("Ship", "Country"), "shipping"),
        (("Delivery", "Country", "Code"), "shipping"),
        (("Country", "Region"), "plain"),
        (("Country", "ISO"), "plain"),
        (("Billing", "Country", "Name"), "billing"),
        (("Country", "Of", "Origin"), None),
        (("Item", "Country"), None),
    ]
)


@given(_WORDS, st.sampled_from([*" _-./", " - ", " / ", "__"]), st.sampled_from("lut"))
def test_case_and_separators_do_not_count(named, separator, case):
    words, party = named
    text = separator.join(words)
    found = country_in_name({"l": text.lower(), "u": text.upper(), "t": text}[case])
    assert (None if found is None else found.party) == party


@given(_WORDS)
def test_words_may_be_joined_in_capitals(named):
    words, party = named
    found = country_in_name("".join(words))
    assert (None if found is None else found.party) == party


def test_name_and_code_of_one_address_have_one_stem():
    names = ["Shipping Country", "Shipping Country Code", "shipping_country_iso2"]
    found = [country_in_name(name) for name in names]
    assert {one.stem for one in found} == {"shipping_country"}
    assert [one.coded for one in found] == [False, True, True]


@pytest.mark.parametrize("name", ["Market", "Region"])
@pytest.mark.parametrize(
    ("texts", "is_named"),
    [
        (["US", "DE"], True),
        (["United States", "Germany"], True),
        (["WA", "DE"], False),  # Delaware
        (["US"], False),
    ],
)
def test_a_column_of_countries_that_is_not_used_is_named_in_a_file_of_few_rows(
    name, texts, is_named
):
    notes = find_country([name], {"zip": "Zip"}, lambda _: texts).notes
    assert notes == (
        (f"columns that look like countries and are not used: {name!r}",) if is_named else ()
    )
