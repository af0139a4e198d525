"""The table of file formats is whole and consistent, and nothing else in the package knows endings."""

import ast
import tomllib
from pathlib import Path

import pytest
from PIL import Image

import subband
from subband.codecs.jpeg2000.files import ENDINGS, STREAM_ENDINGS
from subband.media.formats import find_format, list_formats, recognise_format, split_dataset, split_ending

SOURCE = Path(subband.__file__).parent
FORMATS = {form.name: form for form in list_formats()}

#: Where endings are named for another reason than to tell formats apart.
ELSEWHERE = {
    "cli/coefficients.py": {".npz"},  # coefficients are kept in archives of their own
    "cli/decode.py": {".npy"},  # components of any number and depth
    "codecs/jpeg2000/files.py": {*ENDINGS},  # lies below the table, and is compared with it here
    "integrations/dask/volumes.py": {".zarr"},  # taken off the name of an image
    "media/animations.py": {".png"},  # moves only if its source did
    "media/video_sound.py": {".avi", ".mkv"},  # in an advice
    "pyramid_files.py": {".h5", ".hdf5"},  # coefficients, again
}


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_record_is_consistent(form):
    assert form.endings
    assert all(ending == ending.lower() and ending.startswith(".") for ending in form.endings)
    assert set(form.only_read) | set(form.dataset_endings) <= set(form.endings)
    assert form.is_store or form.is_read
    assert ("still" in form.kinds) == (form.read is not None)
    assert ("volume" in form.kinds) == (form.open_volume is not None or form.is_store)
    assert form.write is None or form.read is not None
    for ending in form.endings:
        assert find_format(f"folder.d/A{ending.upper()}") is form
        assert form.writes(f"a{ending}") == (ending in form.written)


def test_extras_can_be_installed():
    project = tomllib.loads((SOURCE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert {form.extra for form in FORMATS.values()} - {""} <= project["project"]["optional-dependencies"].keys()


def test_all_that_pillow_knows_is_known():
    for ending, name in Image.registered_extensions().items():
        form = find_format(f"image{ending}")
        assert form is not None
        if form.name not in FORMATS:
            assert (form.read is not None, form.write is not None) == (name in Image.OPEN, name in Image.SAVE)


def test_jpeg2000_is_what_the_codec_says():
    bare = set(find_format("image.j2k").endings)
    assert bare == set(STREAM_ENDINGS)
    assert bare | set(find_format("image.jp2").endings) == set(ENDINGS)


def test_names():
    assert split_ending("a.b.nii.gz") == ("a.b", ".nii.gz")
    assert split_ending("archive.tar.gz") == ("archive.tar", ".gz")
    assert split_ending(".png") == (".png", "")
    assert find_format(".png") is None
    assert find_format("noending") is None
    assert split_dataset("a.H5:b:c") == (Path("a.H5"), "b:c")
    assert split_dataset("a.nii:b") is None


def test_content_is_known_whatever_the_name(tmp_path):
    starts = {"TIFF": b"II*\0", "OpenEXR": b"\x76\x2f\x31\x01", "DICOM": bytes(128) + b"DICM", "PAM": b"P7\n"}
    for name, start in starts.items():
        (tmp_path / "a.bin").write_bytes(start + bytes(100))
        assert recognise_format(tmp_path / "a.bin").name == name
    (tmp_path / "a.bin").write_bytes(b"nothing")
    assert recognise_format(tmp_path / "a.bin") is None
    assert recognise_format(tmp_path / "not there") is None


def find_endings(path, known):
    """Return the endings that a module names; those of names that it makes up are parts of longer texts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in made)
    return {node.value for node in constants if isinstance(node.value, str) and node.value in known}


def test_endings_are_named_in_the_table_only():
    known = {ending for form in FORMATS.values() for ending in form.endings}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(("media/formats/", "bench/")):
            named = find_endings(path, known) - ELSEWHERE.get(name, set())
            assert not named, f"{name} names {named}; ask subband.media.formats"
