"""Surfaces from and to files."""

import json

import numpy as np
import pytest

from subband.edit.surfaces import Surface, evaluate, read_surface, shapes, write_surface
from subband.errors import ArgumentError, ArgumentTypeError, FormatError, ShapeError

GENERATOR = np.random.default_rng(0)
GRIDS = {
    "open": Surface(GENERATOR.normal(size=(5, 7, 3))),
    "tube": Surface(GENERATOR.normal(size=(5, 7, 3)), (False, True)),
    "ring": shapes.ring((9, 8)),
    "terrain": shapes.terrain((16, 11)),
    "single": Surface(GENERATOR.normal(size=(4, 6, 3)).astype(np.float32)),
    "strip": Surface(GENERATOR.normal(size=(9, 2, 3))),
    "square": Surface(GENERATOR.normal(size=(2, 2, 3))),
}

#: Of a square, all but its face.
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n"
)


@pytest.mark.parametrize("ending", [".obj", ".ply", ".json"])
@pytest.mark.parametrize("name", GRIDS)
def test_there_and_back(tmp_path, name, ending):
    surface = GRIDS[name]
    path = tmp_path / f"surface{ending}"
    write_surface(path, surface)
    back = read_surface(path)
    np.testing.assert_array_equal(back.points.astype(surface.points.dtype), surface.points)
    assert back.closed == surface.closed
    assert back.is_heights == surface.is_heights
    assert back.degrees is None
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".obj", ".ply"])
def test_a_net_becomes_points(tmp_path, ending):
    head = shapes.head((32, 40))
    write_surface(tmp_path / f"head{ending}", head, points=(20, 24))
    back = read_surface(tmp_path / f"head{ending}")
    assert back.shape == (20, 24)
    assert back.closed == (False, True)
    assert back.poles == (True, False)
    np.testing.assert_allclose(back.points, evaluate(head, (20, 24)))


def test_a_net_stays_one_in_json(tmp_path):
    head = shapes.head((32, 40))
    write_surface(tmp_path / "head.json", head)
    back = read_surface(tmp_path / "head.json")
    assert back.degrees == (3, 3)
    assert back.closed == (False, True)
    assert back.poles == (True, False)
    np.testing.assert_array_equal(back.points, head.points)
    weighted = Surface(GENERATOR.normal(size=(5, 6, 3)), degrees=(2, 2), weights=GENERATOR.uniform(1, 2, (5, 6)))
    write_surface(tmp_path / "weighted.json", weighted)
    np.testing.assert_array_equal(read_surface(tmp_path / "weighted.json").weights, weighted.weights)


def test_geomdl_reads_our_json_and_we_read_its(tmp_path):
    exchange = pytest.importorskip("geomdl.exchange")
    net = Surface(GENERATOR.normal(size=(6, 7, 3)), degrees=(3, 2))
    write_surface(tmp_path / "net.json", net)
    (theirs,) = exchange.import_json(str(tmp_path / "net.json"))
    np.testing.assert_allclose(theirs.evaluate_single((0.3, 0.6)), evaluate_at(net, 0.3, 0.6), atol=1e-12)
    exchange.export_json(theirs, str(tmp_path / "theirs.json"))
    np.testing.assert_allclose(read_surface(tmp_path / "theirs.json").points, net.points, atol=1e-12)


def evaluate_at(net, u, v):
    from scipy.interpolate import BSpline

    from subband.edit.surfaces.nurbs import make_knots

    down = BSpline(make_knots(net.shape[0], net.degrees[0]), net.points, net.degrees[0])(u)
    return BSpline(make_knots(net.shape[1], net.degrees[1]), down, net.degrees[1])(v)


def test_plain_json(tmp_path):
    path = tmp_path / "net.json"
    points = GENERATOR.normal(size=(5, 6, 3))
    path.write_text(json.dumps({"points": points.tolist(), "degrees": [3, 3], "closed": [False, True]}))
    surface = read_surface(path)
    assert surface.degrees == (3, 3)
    assert surface.closed == (False, True)
    path.write_text(json.dumps(points.tolist()))
    assert read_surface(path).degrees is None
    path.write_text('{"points": [[[0, 0, 0], [1, 0, 0]], [[0, 1, 0]]]}')
    with pytest.raises(ShapeError, match="row 1 has 1 points, and row 0 has 2"):
        read_surface(path)


def test_a_seam_is_closed(tmp_path):
    head = evaluate(shapes.head((32, 32)))
    seamed = Surface(np.concatenate([head, head[:, :1]], axis=1))
    write_surface(tmp_path / "seamed.obj", seamed)
    back = read_surface(tmp_path / "seamed.obj")
    assert back.closed == (False, True)
    assert back.poles == (True, False)
    np.testing.assert_array_equal(back.points, head)


def test_triangles_and_slashes_and_negative_numbers(tmp_path):
    path = tmp_path / "mesh.obj"
    vertices = "".join(f"v {x} {y} {x * y}\n" for y in range(3) for x in range(4))
    faces = ""
    for y in range(2):
        for x in range(3):
            a = y * 4 + x + 1
            faces += f"f {a}/{a} {a + 1}/{a} {a + 5}//{a}\nf {a - 13} {a + 5 - 13} {a + 4 - 13}\n"
    path.write_text("# made by somebody\no thing\nvt 0 0\n" + vertices + "s off\n" + faces)
    surface = read_surface(path)
    assert surface.shape == (3, 4)
    assert surface.is_heights
    np.testing.assert_array_equal(surface.points[2, 3], [3, 2, 6])


@pytest.mark.parametrize("form", ["ascii", "binary_big_endian"])
def test_other_forms_of_ply(tmp_path, form):
    points = GENERATOR.normal(size=(3, 4, 3)).astype(np.float32)
    header = (
        f"ply\nformat {form} 1.0\ncomment somebody's\nelement vertex 12\nproperty uchar red\nproperty float x\n"
        "property float y\nproperty float z\nelement face 6\nproperty list uchar uint vertex_index\nend_header\n"
    )
    quads = [[y * 4 + x, y * 4 + x + 1, y * 4 + x + 5, y * 4 + x + 4] for y in range(2) for x in range(3)]
    path = tmp_path / "mesh.ply"
    if form == "ascii":
        body = "".join("7 {:.9g} {:.9g} {:.9g}\n".format(*point) for point in points.reshape(-1, 3))
        path.write_text(header + body + "".join("4 {} {} {} {}\n".format(*quad) for quad in quads))
    else:
        rows = np.zeros(12, [("red", "u1"), ("point", ">f4", 3)])
        rows["point"] = points.reshape(-1, 3)
        faces = np.zeros(6, [("count", "u1"), ("quad", ">u4", 4)])
        faces["count"], faces["quad"] = 4, quads
        path.write_bytes(header.encode() + rows.tobytes() + faces.tobytes())
    np.testing.assert_array_equal(read_surface(path).points.astype(np.float32), points)


def test_points_without_faces(tmp_path):
    path = tmp_path / "points.obj"
    points = GENERATOR.normal(size=(12, 3))
    path.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in points.tolist()))
    assert read_surface(path, rows=3).shape == (3, 4)
    with pytest.raises(ArgumentError, match="rows=5 does not divide the 12 vertices"):
        read_surface(path, rows=5)
    with pytest.raises(FormatError, match="say how many rows"):
        read_surface(path)
    path.write_text("".join(f"v {x} {y} {x + y}\n" for y in range(3) for x in range(4)))
    assert read_surface(path).shape == (3, 4)


@pytest.mark.parametrize("damage", ["face", "twice", "diagonal", "shuffled", "count"])
def test_meshes_that_are_no_grid(tmp_path, damage):
    path = tmp_path / "mesh.obj"
    write_surface(path, Surface(GENERATOR.normal(size=(5, 6, 3))))
    lines = path.read_text().splitlines()
    faces = [number for number, line in enumerate(lines) if line.startswith("f")]
    if damage == "face":
        del lines[faces[7]]
    elif damage == "twice":
        lines[faces[3]] = lines[faces[4]]
    elif damage == "diagonal":
        lines[faces[3]] = "f 1 14 27 9"
    elif damage == "shuffled":
        numbers = np.random.default_rng(0).permutation(30)
        for place in faces:
            lines[place] = "f " + " ".join(str(numbers[int(word) - 1] + 1) for word in lines[place].split()[1:])
    else:
        lines.insert(1, "v 0 0 0")
    path.write_text("\n".join(lines))
    with pytest.raises(FormatError, match="no grid of rows and columns; only grids can be transformed"):
        read_surface(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.obj", "v 0 0\n", "line 1 cannot be read"),
        ("a.obj", "f 1 2 3\n", "holds no vertices"),
        ("a.obj", "v 0 0 0\nf 1 1 1 1 1\n", "5 corners in line 2"),
        ("a.obj", "v 0 0 0\nf 1 2 9\n", "vertex 8 of 1"),
        ("a.obj", "cstype bspline\n", "as JSON"),
        ("a.ply", "solid\n", "no PLY file"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nend_header\n0\n", "cut off|no vertices"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 9999\nproperty float x\nend_header\n0\n", "promises more"),
        ("a.ply", "ply\nformat odd 1.0\nend_header\n", "header line"),
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 99999999999999999999\n", "it is damaged"),
        ("a.ply", PLY + "4 0 1 3\n", "cut off"),
        ("a.ply", PLY + "99999999999 0 1 3\n", "cut off"),
        ("a.ply", PLY + "-1 0 1 3\n", "cut off"),
        ("a.ply", PLY + "4 0 1 3 1e400\n", "cannot be read"),
        ("a.ply", PLY.replace("list uchar int", "int") + "4\n", "no lists of vertices"),
        ("a.json", "{", "no JSON"),
        ("a.json", "[" * 100_000, "no JSON"),
        ("a.json", '{"points": [[[' + "9" * 5000 + "]]]}", "no JSON"),
        ("a.json", '{"points": [[[' + "9" * 400 + "]]]}", "no control net: OverflowError"),
        ("a.json", '{"points": [[[0, 0, 0]]], "degrees": [3]}', "no control net: IndexError"),
        ("a.json", '{"points": [[[0, 0, 0]]], "closed": true}', "no control net: TypeError"),
        ("a.json", "{}", "no control net"),
        ("a.json", '{"shape": {"type": "curve", "data": []}}', "give one surface"),
        ("a.json", '{"shape": {"type": "surface", "data": [{}]}}', "no control net"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(FormatError, match=message):
        read_surface(path)


def test_nets_that_are_none(tmp_path):
    path = tmp_path / "net.json"
    path.write_text("[]")
    with pytest.raises(ShapeError, match=r"\(0,\)"):
        read_surface(path)
    write_surface(path, Surface(np.zeros((3, 3, 3)), degrees=(1, 1)))
    content = json.loads(path.read_text())
    data = content["shape"]["data"][0]
    for key, value, message in (
        ("degree_u", 5, "degree 5 does not go with 3 rows"),
        ("knotvector_u", [0, 1], "knots along rows are 2"),
        ("knotvector_v", [0] * 5, "must span something"),
    ):
        path.write_text(json.dumps({"shape": {**content["shape"], "data": [{**data, key: value}]}}))
        with pytest.raises(ArgumentError, match=message):
            read_surface(path)


def test_a_cut_file_is_told(tmp_path):
    path = tmp_path / "ring.ply"
    write_surface(path, shapes.ring((16, 16)))
    content = path.read_bytes()
    for length in (30, 400, len(content) // 2, len(content) - 3):
        path.write_bytes(content[:length])
        with pytest.raises(FormatError):
            read_surface(path)


def test_endings_and_holes(tmp_path):
    with pytest.raises(ArgumentError, match=r"\.json, \.obj, \.ply"):
        read_surface(tmp_path / "head.stl")
    with pytest.raises(ArgumentError, match=r"\.json, \.obj, \.ply"):
        write_surface(tmp_path / "head.stl", shapes.ring((16, 16)))
    with pytest.raises(ArgumentError, match="make it first"):
        write_surface(tmp_path / "none" / "ring.obj", shapes.ring((16, 16)))
    with pytest.raises(ArgumentTypeError, match="make a Surface"):
        write_surface(tmp_path / "ring.json", np.zeros((3, 3, 3)))
    with pytest.raises(FileNotFoundError):
        read_surface(tmp_path / "none.obj")
    path = tmp_path / "hole.obj"
    path.write_text("".join(f"v {x} {y} {'nan' if x == y == 1 else 0}\n" for y in range(3) for x in range(3)))
    with pytest.raises(ArgumentError, match="row 1, column 1, z"):
        read_surface(path)
