"""What kind of money a column holds, by the words of its name.

A name says the kind of a part, and with it the sign that the part has in a total. It never says
what an amount contains: "Subtotal", "Net" and "Order Amount" are amounts and nothing more.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from svc_tools.tables.roles import plain_name

if TYPE_CHECKING:
    from collections.abc import Hashable

ColumnKind: TypeAlias = Literal[
    "tax",
    "delivery",
    "delivery_discount",
    "discount",
    "tip",
    "fee",
    "wrap",
    "gift_cards_sold",
    "refund",
    "payment",
    "price",
    "quantity",
    "amount",
    "other",
    "unknown",
]
"""The kinds of columns; "price" is that of one piece, "wrap" is gift wrap."""

SIGNS: dict[ColumnKind, tuple[int, ...]] = {
    "tax": (1,),
    "delivery": (1,),
    "delivery_discount": (-1,),
    "discount": (-1,),
    "tip": (1,),
    "fee": (1, -1),
    "wrap": (1,),
    "gift_cards_sold": (1,),
    "refund": (-1,),
    "other": (1,),
    "unknown": (1,),
}
"""With which sign a part of a kind can stand in a total; other kinds are never parts."""

NO_GOODS = frozenset({"tax", "delivery", "tip", "gift_cards_sold", "fee", "other", "unknown"})
"""The kinds of parts that are no price of goods: an amount that they are in is a total."""


@lru_cache(maxsize=4096)
def kind_of(label: Hashable) -> ColumnKind:
    """The kind of a column by the words of its name."""
    words = words_of(label)
    text = words if _TAX_INSIDE.fullmatch(words) else _without_asides(words)
    for kind, pattern in _PATTERNS:
        if pattern.search(text):
            return kind
    return "unknown"


@lru_cache(maxsize=4096)
def may_be_money(label: Hashable) -> bool:
    """Whether a column of this name may hold money: no number, date, percentage, weight or cost."""
    if _MARKED.search(str(label)):
        return False
    text = words_of(label)
    if kind_of(label) == "quantity" or _ENDS_OTHERWISE.search(text):
        return False
    if _RATE.search(text):
        return _DELIVERED.search(text) is not None  # a shipping rate is what is charged
    return not (_NEVER.search(text) or (_RARELY.search(text) and not _MONEY.search(text)))


@lru_cache(maxsize=4096)
def often_contains_tax(label: Hashable) -> bool:
    """Whether amounts of this name often contain the tax, so that its name settles nothing."""
    text = words_of(label)  # whole, as "Subtotal" is no total
    return _OFTEN_WITH_TAX.search(text) is not None


def is_a_total(label: Hashable) -> bool:
    """Whether a name says that discounts are taken off already: "Total", but not "Item Total"."""
    text = words_of(label)
    return re.search(r"\btotal\b", text) is not None and not _NOT_WHOLE.search(text)


def is_before_parts(label: Hashable) -> bool:
    """Whether amounts of this name hardly ever contain tips and fees."""
    return _NOT_WHOLE.search(words_of(label)) is not None


def is_kept_by_others(label: Hashable) -> bool:
    """Whether a fee is what a processor or marketplace keeps, so that no buyer pays it."""
    return _KEPT.search(words_of(label)) is not None


@lru_cache(maxsize=4096)
def names_money(label: Hashable) -> bool:
    """Whether a name has a word that says that it is money, so that it counts when it is empty."""
    return _MONEY.search(words_of(label)) is not None


def names_a_cost(label: Hashable) -> bool:
    """Whether a price may be what the seller pays for the piece."""
    return re.search(r"\bcosts?\b", words_of(label)) is not None


def are_one_part(label: Hashable, other: Hashable) -> bool:
    """Whether two names differ in what they say of tax alone: "Shipping (inc tax)", "(ex tax)"."""
    first, second = words_of(label), words_of(other)
    return first != second and _without_asides(first) == _without_asides(second)


def is_paid_by_seller(label: Hashable) -> bool:
    """Whether a tax or a delivery is what the seller pays: "Shipping Cost", "Tax Withheld"."""
    return (
        re.search(r"\b(?:costs?|withheld|withholding|market ?place)\b", words_of(label)) is not None
    )


def is_with_tax(label: Hashable, other: Hashable) -> bool:
    """Whether a name is that of another column with tax in it: "Total (inc tax)", "paid_wt"."""
    text = words_of(label)
    if not _WITH_TAX.search(text) or _WITH_TAX.search(words_of(other)):
        return False
    return _without_asides(_WITH_TAX.sub(" ", text)) == _without_asides(words_of(other))


def words_of(label: Hashable) -> str:
    """A label as its words in small letters, without accents: "lineItem_price", "Envío"."""
    plain = unicodedata.normalize("NFKD", str(label).replace("ß", "ss"))
    text = "".join(letter for letter in plain if not unicodedata.combining(letter))
    text = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    plain = re.sub(r"([0-9]+)", r" \1 ", plain_name(text)).replace("_", " ")
    return " ".join(_parted(word) for word in plain.split())


def _parted(word: str) -> str:
    """A word written in one, as its words: "salestax" is "sales tax"."""
    return " ".join(_GLUED.findall(word)) if _ONLY_GLUED.fullmatch(word) else word


def _without_asides(text: str) -> str:
    return " ".join(_ASIDES.sub(" ", text).split())


_WORDS_IN_ONE = (
    "shipping|shipment|delivery|freight|discount|subtotal|quantity|product|invoice|payment|amount"
    "|charge|refund|taxes|total|sales|order|price|grand|goods|gross|item|line|unit|ship|cost|gift"
    "|card|sale|paid|due|tax|net|fee|sub|tip"
)
_GLUED = re.compile(_WORDS_IN_ONE)
_ONLY_GLUED = re.compile(rf"(?:{_WORDS_IN_ONE}){{2,}}")

_TAX_ABROAD = (
    r"\w*steuer(?:n|betrag)?|mw ?st|u ?st|iva|tva|impuestos?|taxe|imposta|imposte|impostos?"
)
"""Tax in German, Spanish, French, Italian and Portuguese."""
_OF_TAX = rf"(?:sales )?(?:tax|taxes|vat|gst|{_TAX_ABROAD})"
_OFF = r"(?:discounts?|coupons?|promotions?|refunds?|rebates?|markdowns?)"
_ASIDES = re.compile(
    rf"\b(?:inc|incl|including|includes|included|inclusive|ex|excl|excluding|exclusive|exc|before"
    rf"|without|with|wo|w o|pre|after|less|not|net of|plus) (?:of )?(?:all |any )?{_OF_TAX}\b"
    rf"|\b{_OF_TAX} (?:included|excluded|inclusive|exclusive|incl|excl|inc|ex|exempt|base|basis)\b"
    rf"|\b(?:non ?)?taxable\b|\b(?:non ?|un)taxed\b|\bnon ?tax\b"
    rf"|\b(?:inkl|inklusive|zzgl|exkl|ohne|mit|con|sin|senza|hors|avec|sans|com|sem) {_OF_TAX}\b"
    rf"|\b{_OF_TAX} (?:inclu\w+|inkl|exkl|excl\w+|compris\w*|inbegriffen|esclus\w)\b"
    r"|\b(?:ht|ttc)\b"
    rf"|\b(?:before|after|less|net of|excl|excluding|incl|including|without) (?:of )?"
    rf"(?:all |any |seller |platform |store )?{_OFF}\b"
)
"""What a name says about other parts: it is taken out before the kind is read."""

_TAX_INSIDE = re.compile(rf"{_OF_TAX} (?:included|incl)|included {_OF_TAX}")
"""Names of a tax that is in an amount: they say nothing about another column."""

_WITH_TAX = re.compile(
    r"\b(?:inc|incl|including|includes|inclusive|with|after|plus|inkl|con|avec) (?:of )?"
    rf"{_OF_TAX}\b"
    rf"|\b{_OF_TAX} (?:included|inclusive|incl|inc|incluid\w|compris\w*)\b|\b(?:wt|ttc)\b"
)
_DELIVERY = (
    r"ship|shipping|shipment|delivery|deliveries|freight|postage|handling|courier"
    r"|versand(?:kosten|gebuhr|gebuhren|betrag|preis)?|liefer(?:kosten|gebuhr|gebuhren)|porto"
    r"|envios?|livraison|frais de (?:port|livraison|transport|expedition)|spedizione|frete"
)
_KINDS: tuple[tuple[ColumnKind, str], ...] = (
    (
        "quantity",
        (
            r"qty|qtys|quantity|quantities|units|pieces|pcs|number of (?:items|units|pieces)"
            r"|(?:total|items) shipped"
            r"|menge|anzahl|stuckzahl|cantidad|quantite|quantita|quantidade|qte"
        ),
    ),
    ("fee", r"tax(?:es)? (?:on|of|for) .*fees?|fees? tax(?:es)?|withheld|withholding"),
    ("refund", r"refund\w*|returns?|returned|chargebacks?|reversals?|reversed|disputed"),
    ("refund", r"\w*erstattung\w*|reembolsos?|remboursements?|rimborsi|rimborso|devolucion(?:es)?"),
    (
        "tip",
        r"tips?|gratuity|gratuities|trinkgeld\w*|propinas?|pourboires?|mancia|mance|gorjetas?",
    ),
    ("gift_cards_sold", r"gift cards? (?:sales?|sold)|donations?"),
    ("fee", r"(?:merchant|card|processing|processor) discounts?(?: fees?)?|discount fees?"),
    (
        "delivery_discount",
        (
            rf"(?:{_DELIVERY})\b.*\b(?:discounts?|promo\w*|rebates?|coupons?)"
            rf"|(?:discounts?|promo\w*)\b.*\b(?:{_DELIVERY})"
        ),
    ),
    (
        "discount",
        (
            r"discounts?|discounted amount|coupons?|promo\w*|rebates?|markdowns?|savings|vouchers?"
            r"|\w*rabatte?|nachlass|skonto|gutscheine?|descuentos?|remises?|sconto|sconti"
            r"|descontos?"
        ),
    ),
    ("fee", r"(?:gift|store)? ?(?:cards?|credit|payments?|paypal|stripe) .*(?:fees?|charges?)"),
    ("payment", r"gift cards?|gift certificates?|store credits?"),
    ("tax", rf"tax|taxes|vat|gst|hst|pst|tcs|{_TAX_ABROAD}"),
    ("fee", r"retail delivery fees?|(?:bottle|container|recycling) (?:deposits?|fees?)"),
    ("delivery", _DELIVERY),
    ("amount", r"(?:total|amount|order|customer|grand) charged?|charge (?:amount|total)"),
    ("fee", r"fees?|commissions?|charges?|surcharges?|royalt\w+"),
    ("fee", r"\w*gebuhr(?:en)?|provision(?:en)?|comision(?:es)?|commissioni?|comiss\w+|frais"),
    (
        "payment",
        (
            r"credits? (?:used|redeemed|applied)|cash|cards?|tender\w*|paid|payments?|balance"
            r"|outstanding|due|deposits?|deposited|owed|owing"
        ),
    ),
    ("wrap", r"\w*wrap\w*"),
    ("other", r"insurance|duties|duty|customs|adjustments?|rounding"),
    (
        "amount",
        (
            r"(?:total|order|line total|item total|extended|ext) (?:price|cost)"
            r"|(?:line|item|extended) total(?: price)?|price (?:total|extended)"
            r"|gesamt\w*|(?:precio|prix|prezzo|preco|importe|valor) totale?"
        ),
    ),
    ("price", r"prices?|costs?|unit amount|unit value|unit"),
    ("price", r"\w*preise?|precios?|prix|prezzo|prezzi|precos?|(?:valor|importe) unitario"),
    (
        "amount",
        (
            r"sub ?totals?|totals?|amounts?|amt|gross|net|sales?|values?|goods|merchandise|revenue"
            r"|sum|sold for|proceeds|earnings|payouts?|income|turnover"
            r"|\w*betrag|\w*summe|\w*umsatz|importes?|montants?|importo|importi|monto|valor|valore"
            r"|totale|netto|brutto|bruto|neto|somme|bedrag|belopp|kwota"
        ),
    ),
)
"""The kinds with their words; the first that fits counts."""
_PATTERNS = tuple((kind, re.compile(rf"\b(?:{words})\b")) for kind, words in _KINDS)

_OFTEN_WITH_TAX = re.compile(
    r"\b(?:order|orders|invoice|net|gross|(?:grand )?total|gesamt\w*|\w*betrag|summe|netto|brutto"
    r"|neto|bruto|importes?|montants?|importo|importi|monto|valor|valore|totale"
    r"|somme|bedrag|belopp|kwota)\b"
)
_NOT_WHOLE = re.compile(r"\b(?:sub ?total|net|before|items?|lines?|goods|merchandise|products?)\b")
_KEPT = re.compile(
    r"\b(?:process\w+|merchant|cards?|payments?|paypal|stripe|transactions?|market ?place|platform"
    r"|commissions?|referral|sell\w+|withheld|withholding|payout|etsy|ebay|amazon|fba|royalt\w+"
    r"|listing|discount|tax|taxes|comision(?:es)?|commissioni?|comiss\w+|provision(?:en)?)\b"
)
_MARKED = re.compile(r"%|#")
_RATE = re.compile(r"\brates?\b")
_DELIVERED = re.compile(rf"\b(?:{_DELIVERY})\b")
_ENDS_OTHERWISE = re.compile(
    r"\b(?:ids?|number|numbers|no|num|code|codes|names?|type|types|status|date|dates|day|time|at"
    r"|on|zip|zipcode|phone|tel|email|class|category|method|details?|description|reference|ref"
    r"|url|percent\w*|pct|weight|count|rank|flag|currency|currencies|sku|asin|barcode|account"
    r"|reason|notes?|message|year|month|week|quarter|state|city|county|country|province|region"
    r"|street|town|address|company|title|option|designation|fingerprint|network|brand|last|exp"
    r"|impact|location|service|carrier|provider|tracking)(?: [0-9]+)*$"
)
"""Words that say, at the end of a name, that it is no money: "Tax ID", "Coupon Code"."""
_NEVER = re.compile(
    r"\b(?:percent\w*|pct|cost of goods(?: sold)?|cogs|your cost|profit|margin|weight|latitude"
    r"|longitude|exchange|points|name|first name|last name|address|company|method|street|cvc|avs"
    r"|fingerprint|tracking|plz|postleitzahl|adresse|strasse|ort|land|datum|nummer|nr|\w+nummer"
    r"|steuer(?:satz|klasse|id)|direccion|ciudad|codigo|pais|cp|fecha|metodo|numero|ville|pays"
    r"|indirizzo|citta|cap|paese|cep|cidade|endereco|partita iva|p iva|taux|aliquota)\b"
)
_RARELY = re.compile(
    r"\b(?:zip|zipcode|postal|postcode|phone|telephone|mobile|fax|id|ids|number|no|num|record|count"
    r"|kg|lbs?|oz|date|time|year|month|code|suffix|age|account|version|index|label)\b"
)
_MONEY = re.compile(
    r"\b(?:amounts?|totals?|sub ?totals?|prices?|values?|sales|tax|taxes|fees?|discounts?)\b"
)
