"""A file format in a file of its own is found by everyone, without another edit."""

import io
import json
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from typer.testing import CliRunner
from websockets.sync.client import connect

from subband import data
from subband.cli import app
from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError, ArgumentTypeError
from subband.media import (
    Frame,
    SourceInfo,
    Still,
    formats,
    open_sink,
    open_source,
    open_volume,
    read_still,
    write_still,
)
from subband.media.formats import Format, find_format, list_endings, lookup, make_table, register_format
from subband.pipeline import enhance_file
from subband.studio.serving import run_studio

PICTURE = data.camera()[:64, :96]
VOLUME = np.random.default_rng(0).normal(100, 10, (12, 24, 20)).astype(np.float32)
CHAIN = Enhancer(Denoise("bivariate", level=2), sigma=10.0)


@pytest.fixture
def toy(monkeypatch):
    """Put the file of the format into the folder of formats, for one test."""
    find_format("image.png")
    monkeypatch.setattr(lookup, "_FORMATS", dict(lookup._FORMATS))
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(Path(__file__).with_name("toys"))])
    monkeypatch.delitem(sys.modules, "subband.media.formats.toy", raising=False)
    lookup._load_folder.cache_clear()


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def save_volume(path):
    info = SourceInfo("volume", VOLUME.shape[1:], VOLUME.dtype, "grey", bits=32, count=len(VOLUME))
    with open_sink(path, info) as sink:
        for number, pixels in enumerate(VOLUME):
            sink.write(Frame(pixels, number))
    return path


def test_stills(toy, tmp_path):
    for picture in (PICTURE, PICTURE.astype(np.uint16) * 257, np.dstack([PICTURE] * 3), PICTURE.astype(np.float32)):
        write_still(tmp_path / "a.toy", Still(picture), overwrite=True)
        (tmp_path / "unnamed").write_bytes((tmp_path / "a.toy").read_bytes())
        for name in ("a.toy", "unnamed"):
            np.testing.assert_array_equal(read_still(tmp_path / name).pixels, picture)
    with open_source(tmp_path / "a.toy") as source:
        assert (source.info.kind, source.info.shape) == ("still", PICTURE.shape)
    with pytest.raises(ArgumentError, match="hold uint8, uint16 or float32"):
        write_still(tmp_path / "a.toy", Still(PICTURE.astype(np.int32)))


def test_series(toy, tmp_path):
    info = SourceInfo("sequence", PICTURE.shape, PICTURE.dtype, "grey", count=3)
    with open_sink(tmp_path / "frame%02d.toy", info) as sink:
        for number in range(3):
            sink.write(Frame(PICTURE + np.uint8(number), number))
    with open_source(tmp_path / "frame%02d.toy") as source:
        assert [int(frame.pixels[0, 0]) - int(PICTURE[0, 0]) for frame in source] == [0, 1, 2]


def test_volumes(toy, tmp_path):
    path = save_volume(tmp_path / "a.toy")
    with open_source(path) as source:
        assert source.info.kind == "volume"
        np.testing.assert_array_equal(np.stack([frame.pixels for frame in source]), VOLUME)
    with open_volume(path) as source:
        np.testing.assert_array_equal(source.read_block(slice(2, 5)), VOLUME[2:5])
    enhance_file(path, tmp_path / "b.toy", CHAIN)
    enhance_file(save_volume(tmp_path / "a.npy"), tmp_path / "b.npy", CHAIN)
    with open_volume(tmp_path / "b.toy") as source:
        np.testing.assert_array_equal(source.read_block(slice(None)), np.load(tmp_path / "b.npy"))


def test_command_line(toy, tmp_path):
    write_still(tmp_path / "in.toy", Still(PICTURE))
    write_still(tmp_path / "in.png", Still(PICTURE))
    for ending in ("toy", "png"):
        result = run("denoise", tmp_path / f"in.{ending}", tmp_path / f"out.{ending}", "--sigma", 10)
        assert result.exit_code == 0, result.output
    made = read_still(tmp_path / "out.toy").pixels
    np.testing.assert_array_equal(made, read_still(tmp_path / "out.png").pixels)
    assert (made != PICTURE).any()


def test_folders(toy, tmp_path):
    (tmp_path / "in").mkdir()
    write_still(tmp_path / "in" / "a.toy", Still(PICTURE))
    write_still(tmp_path / "in" / "b.png", Still(PICTURE))
    (tmp_path / "in" / "notes.txt").write_text("not of these")
    result = run("denoise", tmp_path / "in", tmp_path / "out", "--sigma", 10, "--ending", "toy")
    assert result.exit_code == 0, result.output
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"a.toy", "b.toy"}


def test_pipe(toy, tmp_path):
    write_still(tmp_path / "in.toy", Still(PICTURE))
    words = ["denoise", "-", "-", "--format", "toy", "--strength", "0", "--level", "1"]
    result = CliRunner().invoke(app, words, input=(tmp_path / "in.toy").read_bytes())
    assert result.exit_code == 0, result.stderr
    (tmp_path / "out.toy").write_bytes(result.stdout_bytes)
    assert read_still(tmp_path / "out.toy").pixels.shape == PICTURE.shape


def test_studio(toy, tmp_path):
    write_still(tmp_path / "in.toy", Still(PICTURE))
    with run_studio(with_token=False) as serving:
        host = f"{serving.address.host}:{serving.address.port}"
        with (
            connect(f"ws://{host}/live", origin=f"http://{host}", max_size=None) as socket,
            httpx.Client(base_url=f"http://{host}", headers={"Origin": f"http://{host}"}, timeout=300) as http,
        ):
            page = receive(socket, "hello")["page"]
            upload = http.post("/upload?name=in.toy", content=(tmp_path / "in.toy").read_bytes()).json()
            assert ".toy" in upload["info"]["endings"]
            source, settings = {"kind": "upload", "id": upload["id"]}, {"filter": "none"}
            body = {"page": page, "source": source, "settings": settings, "ending": ".toy"}
            number = http.post("/export", json=body).json()["id"]
            while (found := receive(socket, "export"))["state"] in ("waiting", "running"):
                pass
            assert (found["state"], found["name"]) == ("done", "in-enhanced.toy"), found
            (tmp_path / "out.toy").write_bytes(http.get(f"/exports/{number}").content)
            np.testing.assert_array_equal(read_still(tmp_path / "out.toy").pixels, PICTURE)
            # a volume is known as one
            volume = http.post("/upload?name=in.toy", content=save_volume(tmp_path / "volume.toy").read_bytes())
            assert volume.json()["info"]["kind"] == "volume"


def receive(socket, kind):
    while True:
        message = socket.recv(timeout=300)
        if isinstance(message, str) and (found := json.loads(message))["type"] == kind:
            return found


def test_dask(toy, tmp_path):
    zarr = pytest.importorskip("zarr", reason="Zarr is not installed: pip install 'subband[dask]'")
    from subband.integrations.dask import denoise_store

    for ending in ("toy", "npy"):
        denoise_store(save_volume(tmp_path / f"in.{ending}"), tmp_path / f"{ending}.zarr", CHAIN, chunks=(6, 24, 20))
    found = [np.asarray(zarr.open_array(tmp_path / f"{ending}.zarr", mode="r")) for ending in ("toy", "npy")]
    np.testing.assert_array_equal(*found)
    assert (found[0] != VOLUME).any()


def test_reference_tables(toy):
    assert "| Toy | `.toy` | 8, 16, float | yes |  | for tests |" in make_table("still")
    assert "| Toy | `.toy` | yes |  | for tests |" in make_table("volume")
    assert not any("Toy" in row for row in make_table("video"))
    assert ".toy" in list_endings("still")


def test_nobody_knows_it_without_its_file(tmp_path):
    assert find_format("in.toy") is None
    with pytest.raises(ArgumentError, match="does not end like"):
        write_still(tmp_path / "in.toy", Still(PICTURE))
    (tmp_path / "in.toy").write_bytes(b"TOY\0{}\n")
    assert run("denoise", tmp_path / "in.toy", tmp_path / "out.toy").exit_code != 0
    assert "holds no image" in run("denoise", tmp_path, tmp_path / "out").stderr


def test_what_cannot_be_registered(toy):
    with pytest.raises(ArgumentError, match=r"\.toy is an ending of Toy already"):
        register_format(Format("Other", (".toy",), ("still",)))
    with pytest.raises(ArgumentTypeError, match="Format"):
        register_format(io.BytesIO())
