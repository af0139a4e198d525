"""Steps of the quantiser."""

import numpy as np
import pytest

from subband.codecs.jpeg2000.components import Component
from subband.codecs.jpeg2000.geometry import lay_out_tile
from subband.codecs.jpeg2000.parameters import CodingStyle, ComponentSize, ImageSize
from subband.codecs.jpeg2000.quantisation import choose_step, measure_norm, quantise
from subband.codecs.jpeg2000.steps import Quantiser
from subband.codecs.jpeg2000.transform import analyse, find_scale, find_windows, synthesise
from subband.errors import ArgumentError


@pytest.mark.parametrize("size", [0.001, 0.37, 1.0, 1.999, 5.5, 200.0])
@pytest.mark.parametrize("bits", [9, 12])
def test_chosen_step_is_near(size, bits):
    step = choose_step(size, bits)
    assert 0 <= step.exponent <= 31
    assert 0 <= step.mantissa < 2048
    assert step.measure(bits) == pytest.approx(size, rel=2**-11)


def test_steps_that_a_file_cannot_hold():
    with pytest.raises(ArgumentError, match="too coarse"):
        choose_step(1000.0, 8)
    with pytest.raises(ArgumentError, match="positive"):
        choose_step(0.0, 8)
    assert choose_step(1e-12, 8).exponent == 31


@pytest.mark.parametrize("is_reversible", [True, False])
@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("kind", ["HL", "LH", "HH"])
def test_norm_is_that_of_a_basis_image(is_reversible, level, kind):
    levels = 3
    size = ImageSize(128, 128, 0, 0, 128, 128, 0, 0, (ComponentSize(8),))
    layout = lay_out_tile(size, [CodingStyle(levels=levels)], 0)
    area = layout.components[0]
    # integers round, so that one large coefficient stands for many
    peak = 2**12 if is_reversible else 1.0
    bands = analyse(np.zeros((128, 128), np.int32 if is_reversible else np.float32), area, levels, is_reversible)
    band = bands[levels - level + 1][kind]
    band[band.shape[0] // 2, band.shape[1] // 2] = peak / find_scale(kind, level, is_reversible)
    windows = find_windows(area, [each.rectangle for each in layout.resolutions[0]], is_reversible)
    image = synthesise(bands, windows, is_reversible).astype(float)
    assert np.linalg.norm(image) / peak == pytest.approx(measure_norm(is_reversible, level, kind), rel=2e-3)


def test_quantising_rounds_towards_zero_and_never_overflows():
    out = np.empty(5, np.int32)
    quantise(np.array([[-1e30, -1.99, 0.5, 1.0, 1e30]], np.float32), 1.0, out)
    assert out[1:4].tolist() == [-1, 0, 1]
    assert out[0] < -(2**30)
    assert out[4] > 2**30


def test_segments_of_components_that_differ():
    components = [Component(np.zeros((4, 4), np.uint8), 8), Component(np.zeros((4, 4), np.uint16), 12)]
    # integers need as many bits as samples have; steps are a part of the range, whatever that is
    assert Quantiser(components, 1, True, False).write(2).count(b"\xff\x5d") == 1
    lossy = Quantiser(components, 1, False, False)
    assert lossy.steps[0] == lossy.steps[1]
    assert lossy.write(2).count(b"\xff\x5d") == 0
    assert lossy.write(2)[:2] == b"\xff\x5c"
