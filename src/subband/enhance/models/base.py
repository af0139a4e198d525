"""The base class of noise models, and Gaussian noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from subband.arrays import as_numbers, cast, find_owner, namespace, to_host
from subband.errors import ArgumentError, DtypeError
from subband.settings import check_settings, setting
from subband.typing import Array

if TYPE_CHECKING:
    from subband.enhance.stages import Denoise

__all__ = ["Gaussian", "NoiseModel", "compute"]

Seed: TypeAlias = "int | np.random.Generator | None"


class NoiseModel(ABC):
    """How noise depends on the image.

    Arrays may be of NumPy, CuPy or Torch, and stay where they are. Results are float64 for float64 and float32
    otherwise.

    Attributes
    ----------
    name : str
        What `find_model` and the command line call it.
    is_additive : bool
        Whether noise is added to the image, whatever that is: nothing has to be stabilised, and colours may be mixed.
    is_pointwise : bool
        Whether `stabilise` looks at each pixel by itself; what looks at its neighbours takes whole images or slices,
        rows × columns.
    """

    name: ClassVar[str]
    is_additive: ClassVar[bool] = False
    is_pointwise: ClassVar[bool] = True

    @property
    def needs_image(self) -> bool:
        """Whether its parameters are still to be found in the image, by `subband.enhance.find_noise`."""
        return False

    @property
    @abstractmethod
    def stabilised_sigma(self) -> float | None:
        """Standard deviation of the noise after `stabilise`; None if it has to be measured in the image."""

    @property
    def refined_sigma(self) -> float | None:
        """Standard deviation of the noise after `refine`."""
        return self.stabilised_sigma

    def weigh(self, stage: Denoise) -> Denoise:
        """Return a stage that knows how strong this noise is in each band, beside white noise."""
        return stage

    def stabilise(self, picture: Any) -> Any:
        """Apply the variance-stabilising transform: noise becomes additive and of equal strength everywhere."""
        return compute(self._stabilise, picture, "picture")

    def restore(self, values: Any) -> Any:
        """Apply the unbiased inverse of `stabilise` to denoised values."""
        return compute(self._restore, values, "values")

    def refine(self, values: Any, guess: Any) -> Any:
        """Return stabilised values with weaker noise, given a first guess of the denoised values.

        Parameters
        ----------
        values : array
            From `stabilise`.
        guess : array
            The same, denoised once.

        Returns
        -------
        array
            To be denoised again, with `refined_sigma`. For models whose noise is about normal, `values` as they are.
        """
        return compute(self._refine, values, "values", guess)

    def add(self, picture: Any, seed: Seed = None) -> Any:
        """Add noise of this kind to an image that has none.

        Parameters
        ----------
        picture : array
            In the units of the model.
        seed : int or numpy.random.Generator, optional
            The same number gives the same noise, on every device.

        Returns
        -------
        array
            Of float32 or float64, neither rounded nor clipped.
        """
        generator = np.random.default_rng(seed)

        def work(x: Any, xp: Any) -> Any:
            host = to_host(x)
            noisy = self._add(host.astype(np.float64), generator).astype(host.dtype)
            return noisy if xp is np else xp.asarray(noisy)

        return compute(work, picture, "picture")

    def _stabilise(self, x: Any, _xp: Any) -> Any:
        return x.copy()

    def _restore(self, x: Any, _xp: Any) -> Any:
        return x.copy()

    def _refine(self, x: Any, _guess: Any, _xp: Any) -> Any:
        return x.copy()

    @abstractmethod
    def _add(self, x: Array, generator: np.random.Generator) -> Array: ...


@dataclass(frozen=True)
class Gaussian(NoiseModel):
    """White noise, added, of the same strength everywhere: nothing has to be stabilised.

    Parameters
    ----------
    sigma : float, optional
        Standard deviation in the units of the image; None if it is to be estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.enhance import Gaussian
    >>> round(float(Gaussian(20.0).add(np.zeros((512, 512)), seed=0).std()))
    20
    """

    sigma: float | None = setting(None, "Standard deviation; measured by default.", unit="of 255", least=0)
    name: ClassVar[str] = "gaussian"
    is_additive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def stabilised_sigma(self) -> float | None:
        """`sigma`."""
        return self.sigma

    def _add(self, x: Array, generator: np.random.Generator) -> Array:
        if self.sigma is None:
            raise ArgumentError("sigma=None says that the noise is unknown; to add noise use Gaussian(sigma=20)")
        return x + self.sigma * generator.standard_normal(x.shape)


def compute(work: Callable[..., Any], x: Any, name: str, *others: Any) -> Any:
    """Compute with an array of any library as with one of NumPy or CuPy, in float64 if it is that and else float32."""
    owner = find_owner([(name, x), *((f"guess of {name}", other) for other in others)])
    if owner is None or owner.is_native:
        return _compute_native(work, x, *others, name=name)
    with owner.enter():
        native = (owner.take(value, name) for value in (x, *others))
        return owner.give_back(_compute_native(work, *native, name=name))


def _compute_native(work: Callable[..., Any], x: Any, *others: Any, name: str) -> Any:
    arrays = []
    for value in (x, *others):
        numbers = as_numbers(value, name)
        if numbers.dtype.kind == "c":
            raise DtypeError(f"{name} has dtype {numbers.dtype}; noise models take real numbers: give abs({name})")
        arrays.append(cast(numbers, np.float64 if numbers.dtype == np.float64 else np.float32))
    return cast(work(*arrays, namespace(arrays[0], "a noise model")), arrays[0].dtype)
