import io
import json
from itertools import pairwise

import numpy as np
import pytest

from subband.codecs.jpeg2000.inspection import inspect
from subband.errors import CodecError

Image = pytest.importorskip("PIL.Image")


def write(**options):
    file = io.BytesIO()
    Image.fromarray(np.arange(64 * 80 * 3).reshape(64, 80, 3).astype(np.uint8)).save(file, "JPEG2000", **options)
    return file.getvalue()


DATA = write(tile_size=(64, 40), plt=True, comment="hello", num_resolutions=3)


def test_boxes_and_markers_in_their_order():
    tree = inspect(DATA)
    assert [box.name for box in tree.children] == ["jP  ", "ftyp", "jp2h", "jp2c"]
    stream = tree.find("jp2c")[0].children[0]
    assert [element.name for element in stream.children] == ["SOC", "SIZ", "COD", "QCD", "COM", *["SOT"] * 4, "EOC"]
    assert [element.name for element in stream.children[5].children] == ["PLT", "SOD"]


def test_elements_lie_one_behind_the_other():
    for _, element in inspect(DATA).walk():
        assert DATA[element.offset :][: element.length] != b""
        places = [(child.offset, child.offset + child.length) for child in element.children]
        assert all(before[1] == after[0] for before, after in pairwise(places))
        assert not places or places[-1][1] == element.offset + element.length


def test_fields_are_told():
    tree = inspect(DATA)
    assert tree.find("ihdr")[0].fields["width"] == 80
    assert tree.find("COD")[0].fields["style"]["levels"] == 2
    assert tree.find("COM")[0].fields["content"] == "hello"
    assert tree.find("SOT")[3].fields["tile"] == 3
    assert tree.find("colr")[0].fields["colour_space"] == "sRGB"
    assert "SIZ at" in str(tree)


def test_tree_goes_through_json():
    tree = inspect(DATA)
    assert json.loads(json.dumps(tree.as_dict()))["children"][2]["children"][0]["name"] == "ihdr"


def test_file_and_bytes_are_the_same(tmp_path):
    path = tmp_path / "picture.jp2"
    path.write_bytes(DATA)
    assert str(inspect(path)) == str(inspect(DATA))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7, 0.999])
def test_damage_is_shown(share):
    tree = inspect(DATA[: int(share * len(DATA))])
    assert [element for _, element in tree.walk() if element.kind == "damage"]


def test_bare_codestream():
    tree = inspect(write(no_jp2=True))
    assert tree.children[0].name == "codestream"
    assert tree.find("EOC")


def test_other_files():
    with pytest.raises(CodecError, match="neither"):
        inspect(b"GIF89a")
