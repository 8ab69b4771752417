"""Points by the limits of cities: which side of a limit, how near, and what that makes of it."""

from __future__ import annotations

from datetime import date
from importlib import resources

import numpy as np
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st
from support.cases import cases, codes
from support.examples import examples

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.book import compiled_book
from svc_tools.service.ratebook.by_point import locate_point, survey
from svc_tools.service.ratebook.city_limits import REST
from svc_tools.service.ratebook.schema import LIMITS_FOLDER, TABLES

DATA = resources.files("svc_tools.service.ratebook").joinpath("data")
DAY = date(2026, 8, 1)
METERS = 111_195
GROTON = 45.46368, -98.09243  # on the limit of Groton SD: 6.2% there, 4.2% around it
BLOOMINGTON = 44.82709, -93.23148  # Bloomington MN (9.025%) and Burnsville (8.125%)


def near(answer):
    """The warning of a limit near a point; `None` where there is none."""
    found = [w for w in answer.advisories if w["code"] == "address_near_boundary"]
    assert len(found) <= 1
    return found[0] if found else None


def aside(point, north=0.0, east=0.0):
    """A point some meters away."""
    narrow = np.cos(np.radians(point[0]))
    return point[0] + north / METERS, point[1] + east / METERS / narrow


@pytest.fixture(scope="module")
def at(ask):
    """The answer for a point on the day that this module is written for."""
    return lambda state, point, day=DAY: ask(state, lat=point[0], lng=point[1], as_of=day)


@pytest.mark.parametrize(
    ("state", "point", "expected"),
    cases("""
    KS  37.6889 -97.3361 = Wichita 0.07500 high
    OK  35.4690 -97.5200 = Oklahoma City 0.08625 high
    UT  40.7598 -111.8869 = Salt Lake City 0.08450 high
    MN  44.9773 -93.2655 = Minneapolis 0.09025 high
    SD  43.5446 -96.7311 = Sioux Falls 0.06200 high
    WA  47.6062 -122.3321 = Seattle 0.10550 high
    GA  33.7710 -84.2960 = Decatur 0.08000 high
    TX  30.2649 -97.7472 = Austin 0.08250 medium
    """),
)
def test_the_middle_of_a_city_has_its_rate_and_nothing_to_warn_of(at, state, point, expected):
    lat, lng = map(float, point.split())
    answer = at(state, (lat, lng))
    rate = answer.simple()["rate"]
    assert f"{rate['city']} {rate['combined_rate']} {answer.confidence}" == expected
    assert near(answer) is None
    assert len(answer.rated) == 1
    assert rate["zip"] is None  # the nearest ZIP is not known to be the point's


@pytest.mark.parametrize(
    ("meters", "units", "confidence", "distance"),
    [
        (-300, 6200, "high", None),
        (-60, 6200, "medium", 52),
        (-12, 6200, "low", 10),
        (12, 4200, "low", 10),
        (60, 4200, "medium", 52),
        (300, 4200, "medium", 259),
        (600, 4200, "medium", None),  # outside of a city that may have grown
        (1500, 4200, "high", None),
    ],
)
def test_a_point_at_a_city_s_limit(at, meters, units, confidence, distance):
    answer = at("SD", aside(GROTON, north=meters * 0.7, east=meters * 0.7))
    assert (answer.chosen.combined, answer.confidence) == (units, confidence)
    warning = near(answer)
    assert (warning and warning["distance_m"]) == distance
    if warning is None:
        assert len(answer.rated) == 1
        return
    assert f"{distance} m" in warning["message"]
    ends = warning["lowest_combined_rate"], warning["highest_combined_rate"]
    assert ends == ("0.04200", "0.06200")
    assert sorted(rated.combined for rated, _ in answer.rated) == [4200, 6200]


@pytest.mark.parametrize(
    ("meters", "city", "units", "confidence"),
    [
        (-300, "Bloomington", 9025, "high"),
        (-60, "Bloomington", 9025, "medium"),
        (-12, "Bloomington", 9025, "low"),
        (12, "Burnsville", 8125, "low"),
        (60, "Burnsville", 8125, "medium"),
        (300, "Burnsville", 8125, "high"),
    ],
)
def test_a_limit_between_two_cities(at, meters, city, units, confidence):
    answer = at("MN", aside(BLOOMINGTON, north=-meters * 0.7, east=meters * 0.7))
    assert (answer.location.city, answer.chosen.combined) == (city, units)
    assert answer.confidence == confidence
    flagged = confidence != "high"
    beyond = {9025: 8125, 8125: 9025}[units]
    rates = [rated.combined for rated, _ in answer.rated]
    assert rates == ([units, beyond] if flagged else [units])
    assert (near(answer) is not None) is flagged


@pytest.mark.parametrize("point", [(40.46129, -96.51115), (40.46208, -96.51114)])
def test_a_limit_matters_from_the_day_on_which_the_rate_beyond_is_another(at, point):
    """Adams NE levies a tax from 2024-10-01 on; both points are 44 m from its limit."""
    before, after = (at("NE", point, day) for day in (date(2024, 9, 30), date(2024, 10, 1)))
    assert (before.confidence, near(before)) == ("high", None)
    assert (after.confidence, near(after)["distance_m"]) == ("medium", 44)


def test_the_limit_of_a_city_that_grew_is_less_sure(at):
    """The land of Aurora SD grew by a tenth since its limits were drawn."""
    inside, outside = at("SD", (44.28884, -96.67745)), at("SD", (44.28992, -96.67744))
    assert (inside.chosen.combined, outside.chosen.combined) == (6200, 4200)
    assert near(inside)["distance_m"] == near(outside)["distance_m"] == 60
    assert (inside.confidence, outside.confidence) == ("medium", "low")


def copied(tmp_path, *, limits=True):
    """The shipped book in a folder, which tests may change."""
    folder = tmp_path / "book"
    folder.mkdir()
    for name in TABLES:
        (folder / name).write_bytes(DATA.joinpath(name).read_bytes())
    if limits:
        (folder / LIMITS_FOLDER).mkdir()
        for file in DATA.joinpath(LIMITS_FOLDER).iterdir():
            (folder / LIMITS_FOLDER / file.name).write_bytes(file.read_bytes())
    return folder


def look_up(book, state, point, day=DAY, **given):
    return resolve(book, Query(state, lat=point[0], lng=point[1], **given), today=day)


def test_a_new_place_with_another_rate_makes_points_around_it_unsure(tmp_path):
    folder = copied(tmp_path)
    outside = aside(GROTON, north=1400, east=1400)
    changed = folder / "changed_places.csv"  # as if Groton were a new city
    row = f"SD,26340,new,{GROTON[0]},{GROTON[1]},1500"
    changed.write_text(changed.read_text().replace("\nSD,", f"\n{row}\nSD,", 1))
    book = load_book(folder)
    answer = look_up(book, "SD", outside)
    assert (answer.chosen.combined, answer.confidence) == (4200, "low")
    assert near(answer)["distance_m"] == 480  # from a circle as large as its land
    assert look_up(book, "SD", aside(GROTON, north=2200, east=2200)).confidence == "high"
    inside = look_up(book, "SD", aside(GROTON, north=-400, east=-400))
    assert (inside.chosen.combined, near(inside)) == (6200, None)  # a city holds it already


@pytest.mark.parametrize(
    ("state", "point", "level"),
    [
        ("GA", (33.813, -84.577), "low"),  # Mableton, of which no list has a rate
        ("GA", (33.95, -84.577), "high"),  # Marietta, beyond twice its radius
        ("CA", (37.7797, -121.537), "high"),  # Mountain House has the rate of its county
    ],
)
def test_a_new_place_of_no_known_rate_is_unsure(book, state, point, level):
    answer = look_up(book, state, point)
    assert answer.confidence == level
    assert ("address_near_boundary" in codes(answer)) == (level == "low")
    if level == "low":
        assert "lowest_combined_rate" not in near(answer)


def test_a_part_of_a_city_in_a_county_without_its_rate_is_low_with_the_citys_as_a_candidate(book):
    answer = look_up(book, "UT", (40.60796, -111.49448))  # Park City, in Wasatch County
    assert answer.confidence == "low"
    assert {rated.area.name for rated, _ in answer.rated} == {"Wasatch County", "Park City"}
    assert "zip_spans_jurisdictions" in codes(answer)


def test_a_hole_in_a_city_is_outside_of_it(book, at):
    limits = book.city_limits("OK")
    held = 0
    for shape in limits._shapes.geometries:
        for polygon in shapely.get_parts(shape):
            for hole in polygon.interiors:
                inner = shapely.Polygon(hole).representative_point()
                if limits.around(*np.array([[inner.y], [inner.x]]), inside=0, outside=0)[0].place:
                    continue  # of another city, or an island in it
                answer = at("OK", (inner.y, inner.x))
                assert answer.location.place == ""
                assert answer.chosen.area.kind == "county"
                held += near(answer) is not None
    assert held > 20


def test_a_place_in_one_county_settles_the_county(at):
    """Lenexa KS and its county, whatever the simplified map has near its line."""
    for point in [(38.9536, -94.7336), (38.9731, -94.7784)]:
        answer = at("KS", point)
        assert answer.simple()["rate"]["county"] == "Johnson County"


def test_a_city_settles_the_state_but_at_its_edge(at, refused):
    leawood, at_its_edge = (38.9804, -94.61507), (38.9804, -94.60850)  # Kansas, near Missouri
    assert at("KS", leawood).advisories == ()
    assert "near_state_line" in {w["code"] for w in at("KS", at_its_edge).advisories}
    moorhead = 46.8194, -96.79755  # Minnesota, and in North Dakota by the simplified map
    assert at("MN", moorhead).simple()["rate"]["city"] == "Moorhead"
    fargo = 46.88274, -96.7686  # North Dakota, and in Minnesota by the map
    assert at("ND", fargo).simple()["rate"]["city"] == "Fargo"
    for state, point, says in [
        ("ND", moorhead, "it lies in Clay County, MN"),
        ("MN", fargo, "it lies in Cass County, ND"),
    ]:
        assert says in refused(state, lat=point[0], lng=point[1]).message


def test_towns_that_no_limits_have_are_found_as_before(at):
    answer = at("VT", (44.4759, -73.2121))
    assert answer.location.decided == "nearest"


def test_a_book_without_limits_takes_the_nearest_zip(tmp_path):
    folder = copied(tmp_path, limits=False)
    (folder / "changed_places.csv").unlink()  # as an earlier release compiled it
    book = load_book(folder)
    answer = look_up(book, "KS", (37.6889, -97.3361))
    assert (answer.location.decided, answer.chosen.combined) == ("nearest", 7500)
    assert book.digest != load_book().digest


def test_limits_are_part_of_the_digest(tmp_path):
    folder = copied(tmp_path)
    before = load_book(folder).digest
    (folder / LIMITS_FOLDER / "WY.npz").unlink()
    compiled_book.cache_clear()
    assert load_book(folder).digest != before


def test_a_damaged_file_of_limits_is_named(tmp_path):
    folder = copied(tmp_path)
    (folder / LIMITS_FOLDER / "KS.npz").write_bytes(b"PK\3\4 and no more")
    book = load_book(folder)
    with pytest.raises(ValueError, match=r"limits/KS\.npz of the rate book is damaged"):
        look_up(book, "KS", (37.6889, -97.3361))
    assert look_up(book, "UT", (40.7598, -111.8869)).confidence == "high"


@st.composite
def points_of(draw, state="KS", north=(38.7, 39.2), east=(-95.1, -94.55)):
    """Any point of a rectangle: that of Kansas City and the cities around it."""
    return state, (draw(st.floats(*north)), draw(st.floats(*east)))


@examples(40, of=400)
@given(points_of())
def test_a_point_is_in_the_shape_that_holds_it_and_as_far_from_the_others_as_they_are(book, drawn):
    state, (lat, lng) = drawn
    limits = book.city_limits(state)
    (around,) = limits.around(np.array([lat]), np.array([lng]), inside=1000, outside=1000)
    shapes = dict(zip(limits.places, limits._shapes.geometries, strict=True))
    narrow = np.cos(np.radians(lat))
    here = shapely.Point(0, 0)

    def flat(shape):
        return shapely.transform(shape, lambda xy: (xy - (lng, lat)) * (narrow, 1) * METERS)

    away = {
        code: flat(shape).distance(here)
        for code, shape in shapes.items()
        if shape.distance(shapely.Point(lng, lat)) < 0.05
    }
    assert {around.place} - {REST} == {code for code, meters in away.items() if meters == 0}
    expected = {code: meters for code, meters in away.items() if 0 < meters <= 1000}
    found = dict(around.limits)
    rest = found.pop(REST, None)
    assert found == pytest.approx(expected, abs=0.01)
    assert [*around.limits] == sorted(around.limits, key=lambda limit: limit[1])
    outside = shapely.union_all([flat(shapes[code]) for code in away])
    if around.place:
        to_rest = outside.buffer(0.01).boundary.distance(here)
        assert to_rest > 1000 if rest is None else rest == pytest.approx(to_rest, abs=1)
    else:
        assert rest is None


@examples(40, of=400)
@given(points_of())
def test_what_is_flagged_has_two_rates_and_what_is_not_has_one(book, drawn):
    state, point = drawn
    try:
        answer = look_up(book, state, point)
    except NotResolved:
        return
    warning = near(answer)
    rates = {rated.combined for rated, _ in answer.rated}
    assert (warning is not None) == (len(rates) > 1)
    if warning:
        assert warning["lowest_combined_rate"] < warning["highest_combined_rate"]
        assert warning["distance_m"] < 500
        assert answer.confidence in {"low", "medium"}


@examples(20, of=200)
@given(st.lists(points_of(), min_size=1, max_size=8), st.integers(0, 3))
def test_many_points_at_once_have_what_each_has_alone(book, drawn, extra):
    points = [point for _, point in drawn] + [GROTON] * extra
    together = survey(book, "KS", points)
    assert together == [survey(book, "KS", [point])[0] for point in points]
    for point, spot in zip(points, together, strict=True):
        try:
            alone = locate_point(book, "KS", point)
        except NotResolved:
            continue
        assert locate_point(book, "KS", point, spot) == alone


@examples(20, of=200)
@given(st.integers(0, 5000), st.floats(-40, 40))
def test_a_step_across_a_limit_changes_the_city(book, which, meters):
    limits = book.city_limits("UT")
    assume(abs(meters) > 1)
    shape = limits._shapes.geometries[which % len(limits.places)]
    xy = shapely.get_coordinates(shape)
    at = which % (len(xy) - 1)
    start, step = xy[at], xy[at + 1] - xy[at]
    narrow = np.cos(np.radians(start[1]))
    length = np.hypot(step[0] * narrow, step[1])
    assume(0.0005 < length < 0.1)
    aside_of = np.array([-step[1] / narrow, step[0] * narrow]) / length * 1 / METERS
    middle = start + step / 2
    assume(shape.boundary.distance(shapely.Point(middle)) < 1e-9)  # not from one ring to the next
    sides = np.array([middle + aside_of * 0.5, middle - aside_of * 0.5])
    one, other = limits.around(sides[:, 1], sides[:, 0], inside=25, outside=25)
    assert one.place != other.place
    assert other.place in dict(one.limits)
    assert one.place in dict(other.limits)
