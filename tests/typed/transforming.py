"""Transform arrays with PyWavelets' names and with pyramids, with checked types."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import subband
from subband import Pyramid, Wavelet

Floats = np.ndarray[Any, np.dtype[Any]]
signal: NDArray[np.float64] = np.zeros(64)
image: NDArray[np.float32] = np.zeros((64, 96), np.float32)

low, high = subband.dwt(signal, "db4", engine="reference")
assert_type(low, Floats)
assert_type(subband.idwt(low, None, "db4", mode="periodization"), Floats)
assert_type(subband.dwt([1, 2, 3, 4], Wavelet("haar")), tuple[Floats, Floats])
approximation, (horizontal, vertical, diagonal) = subband.dwt2(image, ("db2", "haar"))
assert_type(diagonal, Floats)
assert_type(subband.dwtn(image, "haar"), dict[str, Floats])
assert_type(subband.wavedec(signal, "sym8", level=3), list[Floats])

pyramid = subband.decompose(image, "cdf97", level=2)
assert_type(pyramid, Pyramid)
pyramid[1, "dd"] = 0
assert_type((2 * pyramid - pyramid / 3) + pyramid, Pyramid)
assert_type(pyramid.threshold(3.0, "hard").keep(0.1), Pyramid)
assert_type(pyramid.copy(), Pyramid)
assert_type(subband.psnr(image, image, data_range=1), float)
assert_type(subband.jpeg2000.encode(image), bytes)
assert_type(subband.reconstruct(pyramid, engine="cpu"), Floats)
assert_type(subband.waverec2(pyramid), Floats)
assert_type(subband.waverec2(subband.wavedec2(image, "db2"), "db2"), Floats)
assert_type(Pyramid.from_pywavelets(subband.wavedec2(image, "db2"), "db2"), Pyramid)

subband.dwt(signal)  # wrong: a wavelet is needed
subband.dwt(signal, 4)  # wrong: a wavelet has a name
subband.dwt2(image, "haar", engines="cpu")  # wrong: the argument is called engine
subband.decompose(image, level=2.5)  # wrong: levels are counted
pyramid + 1  # wrong: only pyramids are added
pyramid["dd"] = 0  # wrong: a band has a level, too
