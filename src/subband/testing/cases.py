"""What the tests of an engine share: the engine, plans for it, and what its results have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from subband.engines import Engine, get_engine
from subband.plan import LevelPlan
from subband.stationary import StationaryPlan
from subband.testing.samples import all_wavelets, draw_samples
from subband.typing import COMPUTED, Array, Bands
from subband.wavelets import Wavelet

__all__ = ["FRAMES", "KINDS", "LARGE", "EngineCase", "draw_bands"]

#: Shapes with their transformed axes: other axes before, between and behind, and the order turned round.
FRAMES = (
    ((13,), (0,)),
    ((4, 13), (0,)),
    ((3, 2, 14), (1,)),
    ((2, 9, 3), (1,)),
    ((9, 14), (0, 1)),
    ((9, 14), (1, 0)),
    ((3, 9, 14), (1, 2)),
    ((9, 3, 14), (0, 2)),
    ((9, 14, 3), (0, 1)),
    ((9, 14, 2, 2), (1, 0)),
    ((5, 6, 7), (0, 1, 2)),
    ((5, 6, 7), (2, 0, 1)),
    ((5, 2, 6, 3, 7), (4, 0, 2)),
    ((1, 1, 1), (0, 1, 2)),
    ((3, 4, 5, 6), (3, 2, 1, 0)),
)

#: One wavelet and mode after another for the axes of a frame: short and long, with and without lifting steps.
KINDS = (("db2", "symmetric"), ("cdf97", "whole"), ("coif8", "periodization"), ("bior3.3", "antireflect"))

#: Large enough for several threads and for rows that do not fit a cache; with what they are transformed by.
LARGE = (
    ((3, 700, 900), (1, 2), "cdf97", "whole"),
    ((3, 700, 900), (0, 1, 2), "db2", "symmetric"),
    ((701, 1, 899), (0, 2), "bior2.2", "periodization"),
    ((130, 3001), (0, 1), "coif8", "reflect"),
    ((300_000,), (0,), "db4", "smooth"),
    ((300_001,), (0,), "cdf53", "whole"),
    ((70_000, 3), (0,), "db25", "periodic"),
    ((5, 40_001), (1,), "sym8", "antisymmetric"),
    ((41, 43, 97), (2, 0, 1), "haar", "zero"),
)


class EngineCase:
    """What the tests of an engine share: the engine, and what it takes.

    Attributes
    ----------
    engine : Engine or str
        The engine, or its name.
    dtypes : sequence of str
        What it computes in.
    keeps_dtype : bool
        Whether results have the dtype of the input, or the widest one of its kind.
    is_contiguous : bool
        Whether results are C-contiguous.
    survives_fork : bool
        Whether a child process can go on using it.
    alternates_dtypes : bool
        Whether a wavelet is taken in one precision, and in the other one with more axes or fewer: half the kernels for
        engines that compile one for each wavelet and dtype.
    wavelets : sequence of str
        Which wavelets are taken in every mode: all, unless an engine compiles each for minutes.
    lengths : sequence of int
        Lengths of axes, for every wavelet in every mode: below, at and above those of filters, odd and even.
    """

    engine: ClassVar[Engine | str]
    dtypes: ClassVar[tuple[str, ...]] = COMPUTED
    keeps_dtype: ClassVar[bool] = True
    is_contiguous: ClassVar[bool] = True
    survives_fork: ClassVar[bool] = True
    alternates_dtypes: ClassVar[bool] = False
    wavelets: ClassVar[tuple[str, ...]] = tuple(wavelet.name for wavelet in all_wavelets())
    lengths: ClassVar[tuple[int, ...]] = (1, 2, 3, 8, 17, 64, 131)

    def upload(self, x: Array) -> Any:
        """Turn a NumPy array into one that the engine takes."""
        return x

    def download(self, x: Any) -> Array:
        """Turn an array of the engine into one of NumPy."""
        assert isinstance(x, np.ndarray), f"{type(x)} is not an array"
        return x

    def split(self, task: str, plan: LevelPlan | StationaryPlan, x: Array) -> Bands:
        """Run ``forward`` or ``inverse_adjoint`` of a plan, or its undecimated form; check what bands there are."""
        found = _find_method(self.engine, task, plan)(plan, self.upload(x))
        bands = {key: self.download(band) for key, band in found.items()}
        assert {key: band.shape for key, band in bands.items()} == plan.band_shapes, plan
        assert list(bands) == list(plan.band_shapes), "bands come in the order of the plan"
        return bands

    def merge(self, task: str, plan: LevelPlan | StationaryPlan, bands: Mapping[str, Array]) -> Array:
        """Run ``inverse`` or ``forward_adjoint`` of a plan, or its undecimated form; check the shape."""
        given = {key: self.upload(band) for key, band in bands.items()}
        x = self.download(_find_method(self.engine, task, plan)(plan, given))
        assert x.shape == plan.shape, plan
        return x

    @property
    def real_dtypes(self) -> list[str]:
        """The dtypes of real numbers."""
        return [dtype for dtype in self.dtypes if dtype.startswith("float")]

    def choose_dtypes(self, wavelets: Sequence[Wavelet], dtypes: Sequence[str]) -> Sequence[str]:
        """Return the dtypes in which a plan is checked: one of them if the engine alternates."""
        if not self.alternates_dtypes:
            return dtypes
        turn = (wavelets[0].dec_len // 2 + len(wavelets)) % len(dtypes)
        return dtypes[turn : turn + 1]

    def check_array(self, array: Array, dtype: str) -> None:
        """Check what every result has in common."""
        if self.keeps_dtype:
            assert array.dtype == dtype
        else:
            assert array.dtype.kind == np.dtype(dtype).kind
        assert array.flags.c_contiguous or not self.is_contiguous
        assert array.flags.writeable


def _find_method(engine: Engine | str, task: str, plan: LevelPlan | StationaryPlan) -> Any:
    """Return the method of an engine that does a task for plans of this kind."""
    return getattr(get_engine(engine), task if isinstance(plan, LevelPlan) else f"stationary_{task}")


def draw_bands(plan: LevelPlan | StationaryPlan, dtype: np.dtype[Any]) -> Bands:
    """Draw coefficients that belong to no samples in particular."""
    shapes = enumerate(plan.band_shapes.items())
    return {key: draw_samples(shape, dtype, 7 + number) for number, (key, shape) in shapes}
