"""Call what people use, with the kinds of arrays that they have: what this needs is compiled in advance.

``python tests/unit/compiled/exercise.py`` writes the list of it, ``subband/compiled/signatures.txt``, anew.
"""

from __future__ import annotations

import os
import sys

import numpy as np

import subband
from subband.codecs import jpeg2000, vc2
from subband.codecs.jpeg2000.geometry import lay_out_tile
from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize, ImageSize
from subband.codecs.jpeg2000.single_layer import SingleLayerPacker
from subband.codecs.vc2.pixels import join_planes, split_pixels
from subband.codecs.vc2.wavelets import WAVELETS
from subband.data import camera, photograph
from subband.edit import find_edges, fuse, relight, stylise
from subband.engines import get_engine
from subband.enhance import Blur, Denoise, Enhancer, Sharpen, Shrink
from subband.enhance.methods import list_methods
from subband.pipeline import process_frames
from subband.plan import LevelPlan

__all__ = ["exercise"]


def exercise() -> None:
    """Call everything once for each kind of array."""
    parts = (_transform, _transform_odd, _transform_integers, _denoise, _follow, _edit, _code, _pack, _code_video)
    for part in parts:
        part()


def _transform() -> None:
    rng = np.random.default_rng(0)
    for dtype in ("float32", "float64"):
        for length in (64, 600_000):
            x = rng.normal(size=length).astype(dtype)
            subband.waverec(subband.wavedec(x, "db4", level=3), "db4")
        image = rng.normal(size=(600, 700)).astype(dtype)
        for wavelet in ("bior4.4", "db4"):
            subband.waverec2(subband.wavedec2(image, wavelet, level=2), wavelet)
        subband.waverec2(subband.wavedec2(image[:60, :60], "bior4.4", level=2), "bior4.4")
        for wavelet in ("haar", "db2", "db3", "db4", "sym4", "bior2.2", "bior4.4"):
            for mode in ("symmetric", "periodization"):
                small = image[:60, :60]
                subband.idwt2(subband.dwt2(small, wavelet, mode), wavelet, mode)
                for axis in (0, 1):
                    subband.idwt(*subband.dwt(small, wavelet, mode, axis), wavelet, mode, axis)
        for part in (image[:64, :64], image[:512, :512]):
            subband.iswt2(subband.swt2(part, "db2", level=1), "db2")
        volume = rng.normal(size=(40, 48, 160)).astype(dtype)
        subband.waverecn(subband.wavedecn(volume, "bior2.2", level=1), "bior2.2")
        subband.threshold(image, 0.5)
        subband.imra(subband.mra(image[0, :64], "db2", level=2))


def _transform_odd() -> None:
    """Take dtypes that few have: they are computed as others."""
    image = camera()[:128, :128]
    for dtype in ("complex64", "complex128", "float16", "longdouble", "bool", "int8", "uint64", ">f4", ">i2"):
        x = image.astype(dtype)
        subband.waverec(subband.wavedec(x[0], "db4"), "db4")
        subband.waverec2(subband.wavedec2(x, "bior4.4", level=1), "bior4.4")
        subband.iswt2(subband.swt2(x, "db2", level=1), "db2")
        if x.dtype.kind != "c":
            subband.denoise(x)


def _transform_integers() -> None:
    for dtype in ("uint8", "int16", "int32", "uint32", "int64"):
        for size in (64, 700):
            x = np.arange(size * size).reshape(size, size).astype(dtype)
            subband.reconstruct(subband.decompose(x, "cdf53", level=2, reversible=True))


def _denoise() -> None:
    grey = camera()
    colours = photograph()[:256, :256]
    for image in (grey, colours, colours.astype(np.uint16) * 257, colours / np.float32(255), colours / 255):
        for method in list_methods():
            subband.denoise(image, method=method.name)
        Enhancer([Denoise(method="visu"), Blur(1.0), Sharpen(0.5)]).apply(image)
    for mode in ("soft", "hard", "garrote", "firm"):
        for image in (grey, colours, colours.astype(np.float32)):
            Enhancer([Shrink(threshold=10, upper=20 if mode == "firm" else None, mode=mode)]).apply(image)
    volume = np.stack([grey[:64, :64]] * 16)
    for kind in ("uint8", "float32"):
        subband.denoise(volume.astype(kind), channel_axis=None)
    for kind in ("float32", "float64"):
        subband.denoise(grey[0].astype(kind))


def _follow() -> None:
    colours = photograph()[:256, :256]
    for image in (colours[..., 1], colours, colours.astype(np.uint16) * 257):
        for method in list_methods():
            # light fades too
            list(process_frames([image, image, image - image // 4], Enhancer(Denoise(method.name), temporal=True)))


def _edit() -> None:
    grey, colours = camera(), photograph()[:256, :256]
    for image in (grey, colours):
        find_edges(image)
    fuse([colours, colours // 2])
    relight(colours, colours[::-1])
    stylise(colours, colours[::-1])


def _code() -> None:
    grey, colours = camera(), photograph()[:256, :256]
    for image in (grey, colours, grey.astype(np.uint16) * 257, colours.astype(np.uint16) * 257):
        for settings in (
            {"lossless": True},
            {"rate": 1.0},
            {"rate": [0.5, 2.0]},
            {"ht": True},
            {"ht": True, "rate": 1.0},
        ):
            jpeg2000.decode(jpeg2000.encode(image, **settings))


def _pack() -> None:
    """Write the packets of a frame whose blocks a device has coded."""
    size = ImageSize(64, 64, 0, 0, 64, 64, 0, 0, (ComponentSize(8),))
    layout = lay_out_tile(size, [CodingStyle(levels=1)], 0)
    count = len(layout.blocks)
    sizes, starts = np.full((count, 1), 2, np.int32), 2 * np.arange(count, dtype=np.int64)
    packer = SingleLayerPacker.from_layouts(
        [layout], np.zeros(count, np.int32), sizes, np.zeros(2 * count, np.uint8), starts, 64, sop=False, eph=False
    )
    packer.measure(np.ones((1, count), np.int32))


def _code_video() -> None:
    for bits, settings in (
        (8, {}),
        (10, {"rate": 1e6}),
        (16, {"wavelet": "daub97"}),
        (8, {"wavelet": "daub97", "depth": 5}),
        (8, {"depth": 0, "depth_ho": 1}),
        (10, {"depth": 0, "depth_ho": 1}),
        (16, {"wavelet": "daub97", "depth": 0, "depth_ho": 1}),
        (8, {"wavelet": "daub97", "depth": 0, "depth_ho": 5}),
    ):
        video = vc2.VideoFormat(64, 48, "4:2:0", vc2.VideoFormat.make_signal(bits))
        planes = [np.zeros(shape, np.uint8 if bits == 8 else np.uint16) for shape in video.plane_shapes]
        list(vc2.decode(vc2.encode([planes], video, vc2.Settings(**settings))))
        split_pixels(join_planes(planes, video, planes[0].dtype), video)
    cpu, wavelet = get_engine("cpu"), WAVELETS[0]
    plan = LevelPlan((8, 8), (1, 0), (wavelet.plan_axis(8, is_row=True), wavelet.plan_axis(8, is_row=False)))
    for kind in (np.int32, np.int64):
        cpu.inverse(plan, cpu.forward(plan, np.zeros((8, 8), kind)))


if __name__ == "__main__":
    os.environ["SUBBAND_KERNELS"] = "0"
    exercise()
    from subband.compiled.building import SIGNATURES, write_signatures
    from subband.compiled.kernel import list_compiled

    write_signatures(list_compiled())
    sys.stdout.write(f"{SIGNATURES.name}: {len(list_compiled())} lines\n")
