"""Which column of a table is the country of the place, by its name and by what it holds.

A name says whose country it is: that of the place shipped to, of a party, or of something else,
such as the origin of the goods or the card. Values alone never make a column the country: 26 codes
of states are codes of countries, too. They may show that a column is none, or that it is doubtful.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from svc_tools.tables.cells import text_of
from svc_tools.tables.places import Cells, Refusal, where
from svc_tools.tables.questions import Question
from svc_tools.tables.roles import ColumnAmbiguous, plain_name, question_of_columns
from svc_tools.tables.states import normal_zip, state_code, states_of_zip, us_state
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

Party: TypeAlias = Literal["shipping", "plain", "customer", "billing"]
"""Whose country a column is by its name: "plain" where it says no more than country."""
_PARTIES: tuple[Party, ...] = ("shipping", "plain", "customer", "billing")
"""The parties in the order in which their country is that of the place."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class CountryName:
    """What the name of a column of countries says.

    Attributes:
        party: whose country it is.
        sure: whether the name says "country"; a destination, and words of other languages, need
            values that agree.
        stem: the name without what only says how a country is written, such as "code".
        coded: whether it says that the cells are codes.
    """

    party: Party
    sure: bool
    stem: str
    coded: bool


_CODED = _words("2 3 code codes cd iso iso2 iso3 iso31661 iso3166 alpha2 alpha3 a2 a3 kurzel")
_FORMS = _CODED | _words(
    "1 3166 alpha name names abbr abbrev abbreviation num numeric number letter digit full short"
    " long region territory or and english en"
)
"""Words behind "country" that only say how it is written."""
_SHIPPING = _words(
    "ship shipping shipment shipped shipto deliver delivery delivered deliverto destination dest"
    " recipient receiver consignee livraison envio entrega spedizione consegna destinatario"
    " destinataire destino destinazione lieferung lieferanschrift lieferadresse versand empfaenger"
    " empfanger dostawy wysylki verzending bezorging levering"
)
_BILLING = _words(
    "bill billing billto billed invoice invoiced payer payor facturation facturacion fatturazione"
    " rechnung rechnungsanschrift rechnungsadresse"
)
_CUSTOMER = _words(
    "customer customers cust client buyer purchaser sold soldto kunde kunden acheteur cliente"
    " comprador acquirente klient user member guest subscriber"
)
_LINKS = _words("of for to the sale address location place de du del di la le der")
_WORDS = _words(
    "land pays pais paese kraj nation nazione nacion drzava orszag zeme tara maa riik valsts salis"
    " negara ulke landet lieferland zielland bestimmungsland versandland empfaengerland"
    " empfangerland kundenland rechnungsland"
)
"""Words for a country in other languages, without accents."""
_COMPOUNDS: Mapping[str, Party] = {
    **dict.fromkeys(
        _words("lieferland zielland bestimmungsland versandland empfaengerland empfangerland"),
        "shipping",
    ),
    "kundenland": "customer",
    "rechnungsland": "billing",
}
_SHORT = re.compile("cn?try")
"""Short forms of "country": "Ship Ctry", "CntryCode"."""
_IN_OTHER_SCRIPTS = _words(
    "страна країна държава земља χωρα 国 国家 國家 国名 국가 ประเทศ دولة البلد מדינה"
)
_NOT_OF_THE_PLACE = _words(
    "origin orig original source manufacture manufactured manufacturer manufacturing made mfg mfr"
    " production produced producer product products item items goods sku article material part"
    " card cc issuer issuing issue issued bank banking iban bin ip ipaddress geo geoip tax taxes"
    " taxation vat warehouse wh stock seller vendor supplier merchant store from shipper sender"
    " export exporter registration registered citizenship birth phone telephone tel dial dialing"
    " calling mobile currency marketplace return returns payment pay paid genre music song track"
    " artist album browser visitor session device login employer employee parent company legal"
    " entity brand branch office headquarters hq incorporation passport nationality fulfillment per"
    " count non not excluded language locale herkunft ursprung herstellung origine origen"
    " fabrication provenance herkunfts ursprungs steuer"
)
"""Words of goods, of payment and of the seller: a country with one of them is not the place's."""
_BEFORE_GLUED = (
    ("shipping", r"ship(?:ping|ment|ped)?(?:to)?|deliver(?:y|to)?|dest(?:ination)?|recipient"),
    ("billing", r"bill(?:ing|to)?|invoice"),
    ("customer", r"customer|cust|client|buyer"),
)
"""What stands before "country" where a name is written in one word: shiptocountrycode."""


def country_in_name(label: Hashable) -> CountryName | None:
    """What a column's name says of a country; `None` where it is none, or not a place's."""
    text = str(label)
    bare = unicodedata.normalize("NFKD", text)
    bare = "".join(one for one in bare if not unicodedata.combining(one))
    if bare.strip().casefold() in _IN_OTHER_SCRIPTS:
        return CountryName("plain", sure=False, stem="country", coded=False)
    return _read_name(plain_name(bare))


@lru_cache(maxsize=4096)
def _read_name(plain: str) -> CountryName | None:
    whole = _SHORT.sub("country", plain)
    apart = re.sub(r"(?<=[a-z])(?=countr(?:y|ies))|(?<=country)(?=[a-z0-9])", "_", whole)
    words = [word for word in apart.split("_") if word]
    end = len(words)
    while end and words[end - 1] in _FORMS:
        end -= 1
    coded = not _CODED.isdisjoint(words[end:])
    at = next((at for at in reversed(range(len(words))) if words[at] == "country"), None)
    sure = at is not None
    if at is None and end:
        if words[end - 1] == "destination" or words[end - 1] in _WORDS:
            at = end - 1
        elif words[0] in _WORDS:
            at = 0
    if at is None:
        return None
    after = [word for word in words[at + 1 :] if word not in _FORMS]
    coded = coded or not _CODED.isdisjoint(words[at + 1 :])
    if not {*after} <= _SHIPPING | _BILLING | _CUSTOMER | _LINKS:
        return None
    about = [*words[:at], *after]
    if not _NOT_OF_THE_PLACE.isdisjoint(about):
        return None
    party = _party_of(about, words[at])
    stem = "_".join(word for word in [*words[: at + 1], *after] if word not in _FORMS)
    return CountryName(party, sure=sure, stem=stem, coded=coded)


def _party_of(about: Sequence[str], core: str) -> Party:
    if core in _COMPOUNDS:
        return _COMPOUNDS[core]
    if not _BILLING.isdisjoint(about):
        return "billing"
    if core == "destination" or not _SHIPPING.isdisjoint(about):
        return "shipping"
    if not _CUSTOMER.isdisjoint(about):
        return "customer"
    for party, words in _BEFORE_GLUED:
        if any(re.fullmatch(rf"(?:{words})(?:address|addr)?", word) for word in about):
            return party  # type: ignore[return-value]  # the first of each pair
    return "plain"


@dataclass(frozen=True, slots=True)
class Country:
    """Which column is the country of the place.

    Attributes:
        column: the column; `None` where there is none, or where it is asked.
        problem: what has to be asked; `None` for nothing.
        notes: which columns look like countries and are not used, in sentences.
    """

    column: Hashable | None = None
    problem: ColumnAmbiguous | None = None
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> dict[str, Hashable]:
        """The column by its role."""
        return {} if self.column is None else {"country": self.column}


RowReader: TypeAlias = "Callable[[Sequence[Hashable]], Iterable[Sequence[object]]]"
"""Gives cells of some rows of the named columns, row by row."""


def find_country(
    free: Sequence[Hashable],
    columns: Mapping[str, Hashable],
    sample: Callable[[Hashable], Sequence[str | None]],
    rows: RowReader | None = None,
    *,
    delivered: bool = False,
) -> Country:
    """The column of the country among these.

    Args:
        free: the labels to choose from.
        columns: the columns of the place, by role.
        sample: some values of a column as text.
        rows: some rows of columns, which may show that a country is not that of the place.
        delivered: whether the columns of the place are those of a delivery.
    """
    left = [label for label in free if label not in columns.values()]
    named = {label: name for label in left if (name := country_in_name(label)) is not None}
    fitting = {
        label: name
        for label, name in named.items()
        if not (delivered and name.party == "billing") and _may_be(name, sample(label))
    }
    best: list[Hashable] = []
    for party in _PARTIES:
        best = [label for label, name in fitting.items() if name.party == party]
        if best:
            break
    best = _one_of_each(best, fitting)
    agreeing: list[Hashable] = []
    if len(best) > 1 and rows is not None and _agree(rows(best)):
        best, agreeing = best[:1], best[1:]
    if len(best) > 1:
        return Country(problem=_several(best))
    stem = named[best[0]].stem if best else None
    others = [one for one in left if one not in named or named[one].stem != stem]
    notes = _unused_note([one for one in others if one not in agreeing], sample)
    if best and rows is not None:
        asked = doubt(best[0], columns, rows)
        if asked is not None:
            return Country(problem=ColumnAmbiguous.of([asked]), notes=notes)
    return Country(best[0] if best else None, notes=notes)


def _several(labels: Sequence[Hashable]) -> ColumnAmbiguous:
    question = question_of_columns("country", labels)
    either = "say which one with country='…', or country=False for none of them"
    return ColumnAmbiguous("country", labels, either, [question])


def _one_of_each(
    labels: Sequence[Hashable], names: Mapping[Hashable, CountryName]
) -> list[Hashable]:
    """Of several columns of one address the codes, else the shortest name."""
    by_stem: dict[str, list[Hashable]] = {}
    for label in labels:
        by_stem.setdefault(names[label].stem, []).append(label)
    return [
        label
        for same in by_stem.values()
        for label in (
            same if len({*same}) < len(same) else [min(same, key=lambda one: _rank(one, names))]
        )
    ]


def _rank(label: Hashable, names: Mapping[Hashable, CountryName]) -> tuple[bool, int]:
    return not names[label].coded, len(str(label))


def _may_be(name: CountryName, texts: Sequence[str | None]) -> bool:
    """Whether a column's values may be countries; what is not called a country has to show it."""
    there = [text for text in texts if text]
    if there and all(map(_is_flag, there)) and {*map(str.lower, there)} - {"no", "n"}:
        return False
    if 2 * sum(map(_is_no_country, there)) > len(there):
        return False
    if name.sure:
        return True
    if any(state_code(text) in _ONLY_STATES for text in there):
        return False
    if "destination" not in name.stem:
        return bool(there)
    known = sum(map(_is_country, there))
    return bool(there) and 2 * known >= len(there)


_FLAGS = _words("0 1 true false yes no y n t f x 0.0 1.0")


def _is_flag(text: str) -> bool:
    return text.lower() in _FLAGS


_NUMBER = re.compile(r"[0-9]{1,3}(?:\.0+)?")


def _is_no_country(text: str) -> bool:
    """Whether a text is a number that no country has, a code of phones or an address."""
    digits = sum(one.isdigit() for one in text)
    return text[0] == "+" or "@" in text or (digits > 0 and not _NUMBER.fullmatch(text))


def _is_country(text: str) -> bool:
    """Whether a text is the code or the name of a country; a short code in capital letters."""
    plain = plain_name(text)
    if len(text) in {2, 3}:
        return text.isupper() and plain in _CODES
    return plain in _NAMES


@lru_cache(maxsize=4096)
def is_abroad(text: str) -> bool:
    """Whether the cell of a column of countries is another country than the United States."""
    found = where(Cells(country=text))
    return isinstance(found, Refusal) and Status.of(found.status).abroad


def _agree(rows: Iterable[Sequence[object]]) -> bool:
    """Whether several columns of countries say the same of each row."""
    for row in rows:
        texts = [text for cell in row if (text := text_of(cell)) is not None]
        if len({is_abroad(text) for text in texts}) > 1 or (texts and len(texts) < len(row)):
            return False
    return True


def doubt(label: Hashable, columns: Mapping[str, Hashable], rows: RowReader) -> Question | None:
    """The question whether a column is the country of the place, where most rows contradict it.

    A country abroad contradicts a US state with a ZIP Code of that state; and where there is no
    column of states, a ZIP Code of the state that the country's code is the code of, too. Without a
    column of ZIP Codes, the state alone contradicts it, which leaves open what is right.
    """
    roles = [role for role in ("state", "zip") if role in columns]
    if not roles:
        return None
    filled, found = 0, []
    for country, *place in rows([label, *(columns[role] for role in roles)]):
        text = text_of(country)
        if text is None:
            continue
        filled += 1
        if is_abroad(text) and (
            beside := _contradicting(text, dict(zip(roles, place, strict=True)))
        ):
            found.append((text, beside))
    if 2 * len(found) <= filled:
        return None
    text, beside = found[0]
    with_zip = "zip" in roles
    seen = (
        "a US state and a ZIP Code of that state" if "state" in roles else "a ZIP Code of a state"
    )
    why = (
        f"column {label!r} has another country beside {seen if with_zip else 'a US state'} in"
        f" {len(found):,} of {filled:,} rows, such as {text[:40]!r} beside {beside!r}"
    )
    because = "it may be the country of the customer, or of the origin" if with_zip else ""
    likely = False if with_zip else None
    return Question("country", (label,), (label, False), likely, why, "country", because)


def _contradicting(country: str, place: Mapping[str, object]) -> str:
    """The state and the ZIP Code of a row that contradict its country; empty where none do."""
    given = text_of(place.get("state"))
    code = us_state(country if given is None and "state" not in place else given or "")
    if code is None:
        return ""
    if "zip" not in place:
        return "" if given is None or given.upper() == country.upper() else given
    try:
        found = normal_zip(place["zip"], code)
    except ValueError:
        return ""
    if not isinstance(found, str) or code not in states_of_zip(found):
        return ""
    return f"{code} {found}" if "state" in place else found


def _unused_note(
    left: Iterable[Hashable], sample: Callable[[Hashable], Sequence[str | None]]
) -> tuple[str, ...]:
    """That some columns look like countries and are not used."""
    listed = ", ".join(repr(one) for one in left if _looks_like_countries(one, sample))
    return (f"columns that look like countries and are not used: {listed}",) if listed else ()


_MANY = 100
"""As many values tell a column of countries."""
_OTHER_CODES = _words("language lang locale currency state province status type size unit uom")


def _looks_like_countries(
    label: Hashable, sample: Callable[[Hashable], Sequence[str | None]]
) -> bool:
    """Whether at least half of the values are countries, and one of them is abroad for sure.

    "DE" is Delaware, too; beside "US", which is no state, it is Germany.
    """
    if not _OTHER_CODES.isdisjoint(plain_name(label).split("_")):
        return False
    there = [text for text in [*sample(label)][:_MANY] if text]
    known = [text for text in there if _is_country(text)]
    no_states = any(state_code(text) is None for text in known)
    return 2 * len(known) >= max(len(there), 1) and no_states and any(map(is_abroad, known))


_CODES = _words(
    "ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br"
    " bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz"
    " ec ee eg eh er es et fi fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw"
    " gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky"
    " kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv"
    " mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py"
    " qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg"
    " th tj tk tl tm tn to tr tt tv tw tz ua ug uk um us uy uz va vc ve vg vi vn vu wf ws ye yt za"
    " zm zw"
    " abw afg ago aia ala alb and are arg arm asm ata atg aus aut aze bdi bel ben bes bfa bgd bgr"
    " bhr bhs bih blm blr blz bmu bol bra brb brn btn bwa caf can che chl chn civ cmr cod cog cok"
    " col com cpv cri cub cuw cym cyp cze deu dji dma dnk dom dza ecu egy eri esp est eth fin fji"
    " flk fra fro fsm gab gbr geo ggy gha gib gin glp gmb gnb gnq grc grd grl gtm guf gum guy hkg"
    " hnd hrv hti hun idn imn ind irl irn irq isl isr ita jam jey jor jpn kaz ken kgz khm kir kna"
    " kor kwt lao lbn lbr lby lca lie lka lso ltu lux lva mac maf mar mco mda mdg mdv mex mhl mkd"
    " mli mlt mmr mne mng mnp moz mrt msr mtq mus mwi mys myt nam ncl ner nga nic niu nld nor npl"
    " nru nzl omn pak pan per phl plw png pol pri prk prt pry pse pyf qat reu rou rus rwa sau sdn"
    " sen sgp shn sle slv smr som spm srb ssd stp sur svk svn swe swz sxm syc syr tca tcd tgo tha"
    " tjk tkm tls ton tto tun tur tuv twn tza uga ukr ury usa uzb vat vct ven vgb vir vnm vut wlf"
    " wsm yem zaf zmb zwe"
)
"""The codes of ISO 3166, of two and of three letters."""
_NAMES = _words(
    "united_states united_states_of_america the_united_states"
    " albania algeria argentina armenia australia austria azerbaijan bahamas bahrain bangladesh"
    " barbados belarus belgium belize bermuda bolivia brazil bulgaria cambodia cameroon canada"
    " chile china colombia costa_rica croatia cuba cyprus czech_republic czechia denmark"
    " dominican_republic ecuador egypt el_salvador england estonia ethiopia finland france germany"
    " ghana great_britain greece guatemala haiti honduras hong_kong hungary iceland india indonesia"
    " iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya korea kuwait latvia"
    " lebanon liechtenstein lithuania luxembourg macau malaysia malta mauritius mexico moldova"
    " monaco mongolia montenegro morocco nepal netherlands the_netherlands new_zealand nicaragua"
    " nigeria north_macedonia norway oman pakistan panama paraguay peru philippines poland portugal"
    " puerto_rico qatar romania russia russian_federation saudi_arabia scotland senegal serbia"
    " singapore slovakia slovenia south_africa south_korea spain sri_lanka sweden switzerland"
    " taiwan tanzania thailand trinidad_and_tobago tunisia turkey turkiye uganda ukraine"
    " united_arab_emirates united_kingdom uruguay uzbekistan venezuela vietnam viet_nam wales yemen"
    " zambia zimbabwe deutschland osterreich schweiz suisse espana frankreich italia italien"
    " spanien mexique alemania allemagne espagne angleterre royaume_uni brasil"
)
"""Names of countries that sales files have most."""
_ONLY_STATES: Final = frozenset(
    {"AK", "CT", "DC", "FL", "HI", "IA", "KS", "MI", "ND", "NH", "NJ", "NM", "NV", "NY", "OH"}
    | {"OK", "OR", "RI", "TX", "UT", "VT", "WA", "WI", "WV", "WY"}
)
"""The states whose codes are no codes of countries."""
