"""Enhancement on an OpenCL device: the same chains, the same pictures."""

import numpy as np
import pytest

from subband import data
from subband.engines import get_engine
from subband.enhance import Blur, Denoise, Enhancer, Sharpen, Shrink, Speckle
from subband.enhance.methods import list_methods
from subband.errors import MissingExtraError, NoDeviceError, SubbandError

METHODS = [method.name for method in list_methods()]

pytestmark = pytest.mark.opencl

try:
    ENGINE = get_engine("opencl")
except (MissingExtraError, NoDeviceError) as missing:
    pytest.skip(f"{missing}", allow_module_level=True)

PICTURE = data.photograph()[100:148, 60:121]
NOISY = np.clip(PICTURE + np.random.default_rng(0).normal(0, 20, PICTURE.shape), 0, 255).astype(np.uint8)

CHAINS = {
    **{method: Enhancer(Denoise(method, level=2)) for method in METHODS},
    "undecimated": Enhancer(Denoise("bayes", "db2", 2, form="undecimated")),
    "undecimated neigh": Enhancer(Denoise("neigh", "db2", 2, form="undecimated")),
    "chain": Enhancer(
        [Blur(0.7), Shrink(level=2, threshold=10.0, filters=(Sharpen(0.1, at="between"),)), Sharpen(0.2)]
    ),
    "soft": Enhancer(Shrink(threshold=12.0), colour="ycbcr"),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_device_does_what_the_reference_does(name):
    result = CHAINS[name].apply(NOISY, engine=ENGINE)
    expected = CHAINS[name].apply(NOISY, engine="reference").astype(int)
    difference = np.abs(result.astype(int) - expected)
    # risks that are nearly the same may choose the next candidate
    assert difference.max() <= (3 if name in ("sure", "neigh", "undecimated neigh") else 1)
    assert difference.mean() < 0.05


def test_arrays_of_the_device_come_back_as_such():
    there = ENGINE.device.upload(NOISY)
    result = Enhancer(Denoise(level=1)).apply(there)
    assert type(result) is type(there)
    np.testing.assert_array_equal(result.get(), Enhancer(Denoise(level=1)).apply(NOISY, engine=ENGINE))


def test_pixels_that_are_not_finite_are_named():
    picture = NOISY.astype(np.float32)
    there = ENGINE.device.upload(picture)
    np.testing.assert_allclose(Enhancer(sigma=5.0).apply(there).get(), Enhancer(sigma=5.0).apply(picture), atol=0.01)
    picture[2, 3, 0] = np.inf
    with pytest.raises(SubbandError, match=r"the first at \(2, 3\)"):
        Enhancer().apply(ENGINE.device.upload(picture))


def test_noise_models_that_compute_on_the_host_say_so():
    with pytest.raises(SubbandError, match="a noise model does not take arrays of PyOpenCL"):
        Enhancer(noise=Speckle()).apply(NOISY, engine=ENGINE)
