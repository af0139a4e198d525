"""Transform and quantiser on a device, compared with the loops of the CPU band by band."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from subband.codecs.vc2 import Decoder, DeviceImage, Encoder, Settings, VideoFormat
from subband.codecs.vc2.coding import tabulate_quantisers
from subband.codecs.vc2.parameters import lay_out
from subband.codecs.vc2.stream import find_units
from subband.codecs.vc2.transform import analyse, choose_dtype, synthesise
from subband.errors import ArgumentError

# 4:2:2, with rows and columns that levels have to fill up
SHAPES = (70, 100), (70, 50), (70, 50)


def list_bands(values, layout):
    """Return each band of each component."""
    return [
        as_strided(values[begin:], (rows, columns), (stride * values.itemsize, values.itemsize))
        for _, begin, stride, rows, columns, _ in layout.bands.tolist()
    ]


def restore(steps, quantiser):
    """Return the coefficients of steps, by the formula of the standard."""
    _, factors, offsets = tabulate_quantisers()
    size = np.abs(steps.astype(np.int64))
    middle = np.where(size == 0, 0, size * factors[quantiser] + offsets[quantiser] + 2 >> 2)
    return np.sign(steps) * middle


def draw(bits, shapes=SHAPES):
    rng = np.random.default_rng(bits)
    kind = np.uint8 if bits <= 8 else np.uint16
    return [rng.integers(0, 1 << bits, shape).astype(kind) for shape in shapes]


def compare(settings, bits, shapes=SHAPES, engine="opencl"):
    """Run all four stages on a device, and compare each with the CPU."""
    parameters = settings.make_parameters(shapes)
    planes, depths = draw(bits, shapes), (bits,) * 3
    layout = lay_out(shapes, parameters)
    expected = np.zeros(layout.size, choose_dtype(parameters, depths))
    analyse(planes, [1 << bits - 1] * 3, layout, parameters, expected)
    image = DeviceImage(shapes, depths, parameters, engine)
    image.write(planes)
    image.analyse()
    found = image.read_coefficients()
    assert found.dtype == expected.dtype
    for mine, theirs in zip(list_bands(found, image.layout), list_bands(expected, layout), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    image.synthesise()
    for mine, theirs in zip(image.read(), planes, strict=True):
        np.testing.assert_array_equal(mine, theirs)

    down, across = parameters.slices
    quantisers = np.random.default_rng(1).integers(0, 40, down * across)
    image.write_quantisers(quantisers)
    image.quantise()
    image.restore()
    inverses, *_ = tabulate_quantisers()
    restored = np.zeros_like(expected)
    given = zip(
        layout.bands.tolist(),
        list_bands(expected, layout),
        list_bands(image.read_steps(), image.layout),
        list_bands(image.read_coefficients(), image.layout),
        list_bands(restored, layout),
        strict=True,
    )
    for (*_, entry), coefficients, steps, back, goal in given:
        rows, columns = coefficients.shape
        edges = [count * np.arange(n + 1) // n for count, n in ((rows, down), (columns, across))]
        of_row, of_column = (np.repeat(np.arange(len(e) - 1), np.diff(e)) for e in edges)
        own = np.maximum(quantisers.reshape(down, across)[np.ix_(of_row, of_column)] - entry, 0)
        wanted = (coefficients.astype(np.float32) * inverses[own]).astype(np.int32)
        np.testing.assert_array_equal(steps, wanted)
        goal[...] = restore(wanted, own)
        np.testing.assert_array_equal(back, goal)
    image.synthesise()
    kind = planes[0].dtype
    decoded = [np.zeros(shape, kind) for shape in shapes]
    synthesise(restored, layout, parameters, depths, decoded)
    for mine, theirs in zip(image.read(), decoded, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.opencl
@pytest.mark.parametrize(
    ("settings", "bits"),
    [
        (Settings(wavelet="dd137", depth=2, slice_size=(16, 32)), 10),
        (Settings(wavelet="legall53", wavelet_ho="haar1", depth=1, depth_ho=1, slice_size=(10, 30)), 8),
    ],
    ids=["dd137", "legall53 and haar1 of 8 bits"],
)
def test_all_stages_on_a_device_are_those_of_the_cpu(settings, bits):
    compare(settings, bits)


@pytest.mark.opencl
def test_streams_and_frames_are_those_of_the_cpu():
    video = VideoFormat(100, 70, "4:2:2", VideoFormat.make_signal(10))
    settings = Settings(wavelet="dd137", depth=2, slice_size=(16, 32), rate=8e6)
    streams, frames = [], []
    for engine in ("cpu", "opencl"):
        encoder = Encoder(video, settings, engine=engine)
        streams.append(b"".join([encoder.encode(draw(10)), encoder.encode(draw(10)), encoder.finish()]))
        decoder = Decoder(engine=engine)
        frames.append([frame for unit in find_units(streams[0]) for frame in decoder.feed(unit)])
    assert streams[0] == streams[1]
    for one, other in zip(*frames, strict=True):
        for mine, theirs in zip(one.planes, other.planes, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_the_cpu_is_no_device():
    with pytest.raises(ArgumentError, match="is not a device"):
        DeviceImage(SHAPES, (10,) * 3, Settings().make_parameters(SHAPES), "cpu")
    with pytest.raises(ArgumentError, match="does not transform VC-2"):
        DeviceImage(SHAPES, (10,) * 3, Settings().make_parameters(SHAPES), "reference")
