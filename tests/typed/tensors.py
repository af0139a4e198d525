"""Arrays of other libraries go in, and the same kind comes out."""

from typing import Any, assert_type

import subband
from subband.enhance import Enhancer


class Tensor:
    """What Torch's has, for checkers that do not see Torch."""

    shape: tuple[int, ...]
    dtype: object

    def __getitem__(self, key: Any, /) -> "Tensor":
        return self


tensor = Tensor()
assert_type(subband.dwt(tensor, "haar"), tuple[Tensor, Tensor])
assert_type(subband.idwt(tensor, tensor, "haar"), Tensor)
assert_type(subband.dwt2(tensor, "haar"), tuple[Tensor, tuple[Tensor, Tensor, Tensor]])
assert_type(subband.dwtn(tensor, "haar"), dict[str, Tensor])
assert_type(subband.wavedec(tensor, "haar"), list[Tensor])
assert_type(subband.denoise(tensor), Tensor)
assert_type(Enhancer().apply(tensor), Tensor)

subband.denoise(tensor).numpy()  # wrong: a Tensor of ours has no such method
