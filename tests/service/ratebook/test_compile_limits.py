"""Limits of cities are compiled from the Census Bureau's shapefile, or from arrays made of it."""

from __future__ import annotations

import struct
import zipfile

import numpy as np
import pytest
from compile_book import RowError, compile_book
from compile_book.limits import file_of, polygons_of
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.service.ratebook.city_limits import REST, CityLimits
from svc_tools.service.ratebook.schema import LIMITS_FOLDER

KS_RATES = """\
20,45,20,0.065,0.065,0.065,0.065,20220101,99991231
20,00,173,0.01,0.01,0.01,0.01,20220101,99991231
"""
SQUARE = [(-97.4, 37.6), (-97.4, 37.8), (-97.2, 37.8), (-97.2, 37.6), (-97.4, 37.6)]  # clockwise
HOLE = [(-97.35, 37.65), (-97.3, 37.65), (-97.3, 37.7), (-97.35, 37.7), (-97.35, 37.65)]
ISLAND = [(-97.33, 37.67), (-97.33, 37.68), (-97.32, 37.68), (-97.32, 37.67), (-97.33, 37.67)]
BESIDE = [(-97.2, 37.6), (-97.2, 37.8), (-97.1, 37.8), (-97.1, 37.6), (-97.2, 37.6)]


def shapes_file(records):
    """A `.shp` as the format's description has it: big-endian numbers and lengths of records."""
    data = b""
    for number, rings in enumerate(records, 1):
        content = struct.pack("<i", 0)
        if rings:
            points = [point for ring in rings for point in ring]
            begins = np.cumsum([0, *(len(ring) for ring in rings[:-1])])
            box = (*np.min(points, axis=0), *np.max(points, axis=0))
            content = struct.pack("<i4dii", 5, *box, len(rings), len(points))
            content += struct.pack(f"<{len(begins)}i", *begins)
            content += b"".join(struct.pack("<2d", *point) for point in points)
        data += struct.pack(">ii", number, len(content) // 2) + content
    head = struct.pack(">7i", 9994, 0, 0, 0, 0, 0, (100 + len(data)) // 2)
    return head + struct.pack("<2i8d", 1000, 5, *[0.0] * 8) + data


def table_file(rows):
    """A `.dbf` with text fields of 20 characters."""
    names = list(rows[0])
    head = struct.pack(
        "<4BIHH20x", 3, 123, 1, 1, len(rows), 33 + 32 * len(names), 1 + 20 * len(names)
    )
    for name in names:
        head += struct.pack("<11sc4xB15x", name.encode(), b"C", 20)
    body = b"".join(
        b" " + b"".join(str(row[name]).encode().ljust(20)[:20] for name in names) for row in rows
    )
    return head + b"\r" + body + b"\x1a"


def place(code, lsad="25", state="20"):
    return {"STATEFP": state, "PLACEFP": code, "NAME": "Añasco", "LSAD": lsad}


def archive(folder, rows, shapes):
    with zipfile.ZipFile(folder / "cb_2023_us_place_500k.zip", "w") as file:
        file.writestr("cb_2023_us_place_500k.shp", shapes_file(shapes))
        file.writestr("cb_2023_us_place_500k.dbf", table_file(rows))
        file.writestr("cb_2023_us_place_500k.prj", "GEOGCS[]")


def limits(folder, state="KS"):
    path = folder / LIMITS_FOLDER / f"{state}.npz"
    return CityLimits.read(path.read_bytes(), path.name)


def held(found, *points):
    lats, lngs = np.array(points).T
    return [around.place for around in found.around(lats, lngs, inside=0, outside=0)]


def test_a_shapefile_is_read_with_holes_islands_and_neighbors(source_dir, book_dir):
    archive(
        source_dir,
        [place("79000"), place("00100"), place("00200"), place("00300", "57"), place("00400")],
        [[SQUARE, HOLE, ISLAND], [BESIDE], [], [BESIDE], [BESIDE]],
    )
    compile_book(source_dir, book_dir)
    found = limits(book_dir)
    assert found.places == ("00100", "00400", "79000")  # neither one without a shape, nor a CDP
    points = [(37.62, -97.39), (37.66, -97.31), (37.675, -97.325), (37.7, -97.15), (37.5, -97.3)]
    assert held(found, *points) == ["79000", REST, "79000", "00100", REST]
    (across,) = found.around(np.array([37.7]), np.array([-97.2001]), inside=100, outside=0)
    assert dict(across.limits)["00100"] == pytest.approx(8.8, abs=0.1)


def test_places_of_states_without_places_that_decide_are_left_out(source_dir, book_dir):
    archive(source_dir, [place("79000"), place("53000", state="55")], [[SQUARE], [SQUARE]])
    compile_book(source_dir, book_dir)
    assert [path.name for path in (book_dir / LIMITS_FOLDER).iterdir()] == ["KS.npz"]


def test_coordinates_are_rounded_to_a_meter(source_dir, book_dir):
    ring = [(x + 0.0000049, y - 0.0000049) for x, y in SQUARE]
    archive(source_dir, [place("79000")], [[ring]])
    compile_book(source_dir, book_dir)
    with np.load(book_dir / LIMITS_FOLDER / "KS.npz") as file:
        xy = np.cumsum(np.stack([file["x"], file["y"]], axis=1), axis=0, dtype=np.int64)
    assert xy.tolist() == [[round(x * 1e5), round(y * 1e5)] for x, y in SQUARE]


def test_arrays_that_were_made_of_it_are_taken_as_they_are(source_dir, book_dir):
    archive(source_dir, [place("79000")], [[SQUARE]])
    compile_book(source_dir, book_dir)
    data = (book_dir / LIMITS_FOLDER / "KS.npz").read_bytes()
    (source_dir / "cb_2023_us_place_500k.zip").unlink()
    (source_dir / "polygons").mkdir()
    (source_dir / "polygons" / "KS.npz").write_bytes(data)
    compile_book(source_dir, book_dir)
    assert (book_dir / LIMITS_FOLDER / "KS.npz").read_bytes() == data
    (source_dir / "polygons" / "KS.npz").unlink()
    report = compile_book(source_dir, book_dir)
    assert not list((book_dir / LIMITS_FOLDER).iterdir())  # none of an earlier compilation
    assert any(found.source == "polygons" for found in report.of_kind("missing"))


def test_the_places_that_changed_are_a_small_table(source_dir, book_dir):
    (source_dir / "place_changes.csv").write_text(
        "state,place,name,change,land_2022,land_2025,growth,lat,lng\n"
        "KS,00100,One,grown,1,1.05,0.05,37.1,-97.1\n"
        "KS,00200,Two,grown,1,1.04,0.04,37.1,-97.1\n"
        "KS,00300,Three,incorporated,1,2,1.0,37.1,-97.1\n"
        "KS,00400,Four,shrunk,2,1,-0.5,37.1,-97.1\n"
        "KS,00500,Five,new,,3.14159265,,37.5,-97.5\n"
        "MN,67130,Village of Minnetonka Beach city,new,,0.467,,44.9,-93.5\n"
        "PR,00600,Six,new,,1,,18.1,-66.1\n"
    )
    compile_book(source_dir, book_dir)
    assert (book_dir / "changed_places.csv").read_text() == (
        "state,fips,change,lat,lng,meters\n"
        "KS,00100,grown,,,\nKS,00300,grown,,,\nKS,00500,new,37.5,-97.5,1609\n"
    )


@pytest.mark.parametrize(
    ("rows", "shapes", "says"),
    [([place("79000")], [[SQUARE], [SQUARE]], "2 shapes, but 1 rows")],
)
def test_a_shapefile_that_does_not_fit_its_table_is_refused(
    source_dir, book_dir, rows, shapes, says
):
    archive(source_dir, rows, shapes)
    with pytest.raises(RowError, match=says):
        compile_book(source_dir, book_dir)


def test_an_archive_without_a_shapefile_is_refused(source_dir, book_dir):
    with zipfile.ZipFile(source_dir / "cb_2023_us_place_500k.zip", "w") as file:
        file.writestr("readme.txt", "none")
    with pytest.raises(RowError, match="no shapefile in it"):
        compile_book(source_dir, book_dir)


def test_a_shapefile_of_something_else_is_refused(source_dir, book_dir):
    archive(source_dir, [place("79000")], [[SQUARE]])
    data = bytearray(shapes_file([[SQUARE]]))
    data[108:112] = struct.pack("<i", 1)  # a point
    with zipfile.ZipFile(source_dir / "cb_2023_us_place_500k.zip", "w") as file:
        file.writestr("a.shp", bytes(data))
        file.writestr("a.dbf", table_file([place("79000")]))
    with pytest.raises(RowError, match=r"a shape of type 1; expected polygons \(5\)"):
        compile_book(source_dir, book_dir)


@examples(30, of=300)
@given(
    st.lists(
        st.tuples(st.integers(-60, 60), st.integers(-60, 60)), min_size=1, max_size=12, unique=True
    )
)
def test_what_is_written_is_read_again(corners):
    """Squares of 5 by 5 on a grid of 5: some adjoin, none overlap."""
    places = {}
    for number, (x, y) in enumerate(corners):
        x0, y0 = -9_700_000 + 5_000 * x, 3_700_000 + 5_000 * y
        ring = [(x0, y0), (x0, y0 + 5_000), (x0 + 5_000, y0 + 5_000), (x0 + 5_000, y0), (x0, y0)]
        places[f"{number:05}"] = polygons_of([ring])
    found = CityLimits.read(file_of(places), "XX.npz")
    middles = [(37 + (y + 0.5) * 0.05, -97 + (x + 0.5) * 0.05) for x, y in corners]
    assert held(found, *middles) == list(places)
    reach = 2_700  # from the middle of a square to its sides, north and south: 2,780 m
    for (x, y), point in zip(corners, middles, strict=True):
        lats, lngs = np.array([point]).T
        (around,) = found.around(lats, lngs, inside=reach, outside=reach)
        beside = {(x - 1, y), (x + 1, y)}
        codes = {f"{corners.index(one):05}" for one in beside if one in corners}
        rest = {REST} if any(one not in corners for one in beside) else set()
        assert {code for code, _ in around.limits} == codes | rest
        narrow = np.cos(np.radians(point[0])) / np.cos(np.radians(37))
        expected = [2_219 * narrow] * len(codes | rest)
        assert [meters for _, meters in around.limits] == pytest.approx(expected, rel=0.01)
