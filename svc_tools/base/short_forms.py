"""Short forms of the words in place names, as people and the Postal Service write them.

Those of the Postal Service are in its Publication 28, Appendices B and C.
"""

from __future__ import annotations

from itertools import product

_SHORT_FORMS = """
    airforcebase afb, airport arpt, alley aly, annex anx, arcade arc, avenue ave av, bayou byu,
    beach bch, bend bnd, black blk, bluff blf, bluffs blfs, borough boro, bottom btm,
    boulevard blvd, branch br brnch, bridge brg brdg, brook brk, brooks brks, camp cp cmp,
    canyon cyn, cape cpe, center ctr cntr cnr centre, centers ctrs, circle cir, cliff clf,
    cliffs clfs, club clb, college coll clg, common cmn, corner cor crnr, corners cors,
    country cntry, county co cnty cty, court ct, cove cv, creek crk, crescent cres, crest crst,
    crossing xing, crossroad xrd, crossroads xrds, dale dl, dam dm, depot dpt, divide dv, drive dr,
    east e, estate est, estates ests, extension ext, falls fls, farm frm, farms frms, ferry fry,
    field fld, fields flds, flat flt, flats flts, ford frd, forest frst, forge frg, fork frk,
    forks frks, fort ft frt, garden gdn, gardens gdns, gateway gtwy, glen gln, glens glns,
    grand grnd, great gt, green grn, greens grns, grove grv, groves grvs, harbor hbr harbour,
    harbors hbrs, haven hvn, heights hts hgts ht hgt hghts, highway hwy, hill hl, hills hls,
    hollow holw hllw hlw, indian ind, inlet inlt, international intl, island is isl, islands iss,
    junction jct jctn, key ky, keys kys, knoll knl, knolls knls, lake lk, lakes lks, landing lndg,
    lane ln, light lgt, lights lgts, little ltl, loaf lf, lock lck, locks lcks, lodge ldg,
    lower lwr, manor mnr, manors mnrs, meadow mdw, meadows mdws, middle mdl, mill ml, mills mls,
    mission msn mssn, mount mt, mountain mtn, mountains mtns, national natl ntl nat, neck nck,
    north n, northeast ne, northwest nw, orchard orch, park pk prk, parkway pkwy, pine pne,
    pines pnes, place pl, plain pln, plains plns, plaza plz, pleasant plsnt, point pt pnt pointe,
    points pts, port prt, ports prts, prairie pr, ranch rnch, rancho rncho, rapid rpd, rapids rpds,
    rest rst, ridge rdg, ridges rdgs, river riv rvr, road rd, roads rds, saint st, sainte ste,
    saints sts, san sn, santa sta, shoal shl, shoals shls, shore shr, shores shrs, south s so,
    southeast se, southwest sw, spring spg spng sprg, springs spgs spngs sprgs sprngs, square sq,
    station stn, stream strm, summit smt, terrace ter terr, township twp twnshp townshp twsp tp,
    trace trce, trail trl, turnpike tpke, union un, university univ, upper upr uppr,
    valley vly vlly, valleys vlys, view vw, views vws, village vlg vill vllg, villages vlgs,
    ville vl, vista vis, well wl, wells wls, west w, white wht, woods wds
"""
WRITTEN_OUT = {
    short: word for word, *shorts in map(str.split, _SHORT_FORMS.split(",")) for short in shorts
}
"""The word that each short form stands for; of several meanings the most usual one."""
_OTHERWISE = {
    "br": ("bridge",), "colo": ("colorado",), "cor": ("corners",),
    "cty": ("city",), "cy": ("city",), "est": ("estates",), "is": ("isle", "islands"),
    "mnt": ("mountain",), "mt": ("mountain",), "no": ("north",),
    "pk": ("peak",), "pr": ("port",), "pt": ("port",), "rch": ("ranch", "rancho"),
    "rds": ("rapids",), "spg": ("springs",), "spr": ("springs",), "sta": ("station",),
    "vl": ("village",),
}  # fmt: skip
"""What a short form may mean too."""
_MOST_DOUBTS = 3
"""How many words of one name may be short forms with several meanings."""


def readings(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A name with its short forms written out, the most usual meaning first: "Mt View".

    Args:
        words: the words of the name in lowercase, without full stops.
    """
    usual = tuple(WRITTEN_OUT.get(word, word) for word in words)
    if not 0 < sum(word in _OTHERWISE for word in words) <= _MOST_DOUBTS:
        return [usual]
    pairs = zip(words, usual, strict=True)
    return list(product(*((word, *_OTHERWISE.get(short, ())) for short, word in pairs)))
