"""`denoise`: an `Enhancer` with one stage, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from subband.arrays import as_numbers, find_kind, is_opencl
from subband.engines import Engine
from subband.engines.dispatch import call_natively
from subband.enhance.blind import NoiseReport
from subband.enhance.enhancer import Enhancer
from subband.enhance.layout import round_to
from subband.enhance.methods import Method
from subband.enhance.models import NoiseModel, NoiseName, find_model
from subband.enhance.stages import Denoise
from subband.errors import ArgumentError, ArgumentTypeError, DtypeError
from subband.typing import Array, ArrayT
from subband.wavelets import WaveletLike

__all__ = ["Denoised", "denoise", "denoise_with_report"]


@overload
def denoise(
    image: ArrayT,
    sigma: float | Sequence[float] | None = ...,
    wavelet: WaveletLike = ...,
    level: int | None = ...,
    mode: Literal["soft", "hard", "garrote"] | str = ...,
    *,
    method: str | Method = ...,
    noise: NoiseName | str | NoiseModel = ...,
    strength: float = ...,
    form: Literal["decimated", "spun", "undecimated", "dual-tree"] | str | None = ...,
    boundary: str | None = ...,
    colour: Literal["opponents", "ycbcr", "rgb"] | str = ...,
    wavelet_levels: int | None = ...,
    convert2ycbcr: bool | None = ...,
    axes: Sequence[int] | None = ...,
    channel_axis: int | Literal["auto"] | None = ...,
    mask: Any = ...,
    nonfinite: Literal["refuse", "mask"] | str = ...,
    engine: str | Engine | None = ...,
    out_dtype: None = None,
) -> ArrayT: ...
@overload
def denoise(
    image: Array,
    sigma: float | Sequence[float] | None = ...,
    wavelet: WaveletLike = ...,
    level: int | None = ...,
    mode: Literal["soft", "hard", "garrote"] | str = ...,
    *,
    method: str | Method = ...,
    noise: NoiseName | str | NoiseModel = ...,
    strength: float = ...,
    form: Literal["decimated", "spun", "undecimated", "dual-tree"] | str | None = ...,
    boundary: str | None = ...,
    colour: Literal["opponents", "ycbcr", "rgb"] | str = ...,
    wavelet_levels: int | None = ...,
    convert2ycbcr: bool | None = ...,
    axes: Sequence[int] | None = ...,
    channel_axis: int | Literal["auto"] | None = ...,
    mask: Any = ...,
    nonfinite: Literal["refuse", "mask"] | str = ...,
    engine: str | Engine | None = ...,
    out_dtype: Any,
) -> Array: ...
@overload
def denoise(
    image: Any,
    sigma: float | Sequence[float] | None = ...,
    wavelet: WaveletLike = ...,
    level: int | None = ...,
    mode: Literal["soft", "hard", "garrote"] | str = ...,
    *,
    method: str | Method = ...,
    noise: NoiseName | str | NoiseModel = ...,
    strength: float = ...,
    form: Literal["decimated", "spun", "undecimated", "dual-tree"] | str | None = ...,
    boundary: str | None = ...,
    colour: Literal["opponents", "ycbcr", "rgb"] | str = ...,
    wavelet_levels: int | None = ...,
    convert2ycbcr: bool | None = ...,
    axes: Sequence[int] | None = ...,
    channel_axis: int | Literal["auto"] | None = ...,
    mask: Any = ...,
    nonfinite: Literal["refuse", "mask"] | str = ...,
    engine: str | Engine | None = ...,
    out_dtype: Any = ...,
) -> Any: ...
def denoise(
    image: Any,
    sigma: float | Sequence[float] | None = None,
    wavelet: WaveletLike = Denoise.wavelet,
    level: int | None = Denoise.level,
    mode: Literal["soft", "hard", "garrote"] | str = Denoise.mode,
    *,
    method: str | Method = Denoise.method,
    noise: NoiseName | str | NoiseModel = Enhancer.noise,
    strength: float = Denoise.strength,
    form: Literal["decimated", "spun", "undecimated", "dual-tree"] | str | None = Denoise.form,
    boundary: str | None = Denoise.boundary,
    colour: Literal["opponents", "ycbcr", "rgb"] | str = Enhancer.colour,
    wavelet_levels: int | None = None,
    convert2ycbcr: bool | None = None,
    axes: Sequence[int] | None = None,
    channel_axis: int | Literal["auto"] | None = "auto",
    mask: Any = None,
    nonfinite: Literal["refuse", "mask"] | str = "refuse",
    engine: str | Engine | None = None,
    out_dtype: Any = None,
) -> Any:
    """Denoise an image, a signal, a volume, or a stack of them, by shrinking wavelet coefficients.

    Parameters
    ----------
    image : array
        Rows × columns, with 3 channels or 3 and an alpha channel as its last axis; a signal; a volume. Of any range,
        size and real dtype, of NumPy, CuPy, Torch, JAX or PyOpenCL.
    sigma : float or sequence of float, optional
        Standard deviation of the noise, in the units of the image, one for all channels or one for each; measured in
        the image if left out.
    wavelet : str or Wavelet
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if left out, but at least 1 and at most 5. With 0 the image stays
        as it is.
    mode : {"soft", "hard", "garrote"}
        How coefficients shrink, with the methods that have one threshold for each band.
    method : str or Method
        See `Denoise`. ``'best'`` is the best, and takes seconds for a million pixels; ``'bivariate'`` is the fastest of
        the good ones, and ``'wiener'`` is between them. Settings of the method itself come behind a colon,
        ``'name:setting=2'``.
    noise : str or NoiseModel
        ``'gaussian'``, ``'poisson'``, ``'correlated'``, ``'speckle'``, ``'log-speckle'``, ``'salt-pepper'``,
        ``'stripes'``, or a model with its parameters. ``'auto'`` takes what `find_noise` finds in the image;
        `denoise_with_report` also says what that is.
    strength : float
        1 removes the estimated noise; above 1 more, with faint structure; below 1 less.
    form : {"decimated", "spun", "undecimated", "dual-tree"}, optional
        What suits the method best if left out.
    boundary : str, optional
        How images go on outside their borders; the wavelet's own choice if left out.
    colour : {"opponents", "ycbcr", "rgb"}
        What red, green and blue are turned into.
    wavelet_levels, convert2ycbcr
        What scikit-image calls `level`, and ``colour='ycbcr'`` or ``'rgb'``.
    axes, channel_axis, mask, nonfinite
        See `Enhancer.apply`.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    out_dtype : dtype, optional
        Of the result. ``np.float32`` keeps fractions, and values beyond the range of an integer image.

    Returns
    -------
    array
        Of the same kind, shape and dtype, or of `out_dtype`; integers are rounded and clipped. Left out, integers of 64
        bits come back as float64, and bool as float32.

    Raises
    ------
    ShapeError
        If the array is not an image, or the mask does not fit.
    DtypeError
        If it holds no real numbers, or `out_dtype` would not.
    ArgumentError
        If `sigma` is negative or not finite, or pixels are not finite.
    ArgumentTypeError
        If `sigma` is not a number, or `out_dtype` is no dtype.
    LevelError
        If there are more levels than make sense.

    Notes
    -----
    The default looks at the energy of each coefficient and of its parent, at the same position one level coarser, and
    at the energies around both; it uses cycle spinning: the mean over two shifts of the image, four of its second level
    and eight of the others. Colour is treated as brightness and two differences of colours. A single row or column is
    transformed along its length alone, and a single pixel not at all.

    References
    ----------
    L. Şendur and I. W. Selesnick, Bivariate shrinkage with local variance estimation, IEEE Signal Processing Letters
    9, 2002, doi:10.1109/LSP.2002.806054.

    S. G. Chang, B. Yu and M. Vetterli, Adaptive wavelet thresholding for image denoising and compression, IEEE
    Transactions on Image Processing 9, 2000, doi:10.1109/83.862633.

    Examples
    --------
    >>> import numpy as np
    >>> import subband
    >>> clean = subband.data.camera()
    >>> noisy = clean + np.random.default_rng(0).normal(0, 20, clean.shape)
    >>> subband.psnr(subband.denoise(noisy), clean) > subband.psnr(noisy, clean) + 7
    True
    >>> subband.denoise(clean).dtype, subband.denoise(clean, out_dtype=np.float32).dtype
    (dtype('uint8'), dtype('float32'))
    """
    if wavelet_levels is not None:
        if level is not None:
            raise ArgumentError(f"level={level} and wavelet_levels={wavelet_levels} are the same; give one of them")
        level = wavelet_levels
    if convert2ycbcr is not None:
        colour = "ycbcr" if convert2ycbcr else "rgb"
    settings = (method, wavelet, level, mode, strength, boundary, form, noise, sigma, colour)
    try:
        hash(settings)
    except TypeError:
        # a list, which nothing can be looked up by
        enhancer = _make_enhancer.__wrapped__(*settings)
    else:
        enhancer = _make_enhancer(*settings)
    if out_dtype is not None:
        out_dtype = _read_dtype(out_dtype)
        # integers are rounded once, at the end; float32 tells those of 16 bits apart
        is_wide = out_dtype.itemsize > (2 if out_dtype.kind in "iu" else 4)
        working = np.float64 if is_wide else np.float32
        image = call_natively(_convert, {0: "image"}, (image, np.dtype(working)), {}, "cpu")
    result: Any = enhancer.apply(
        image, axes=axes, channel_axis=channel_axis, mask=mask, nonfinite=nonfinite, engine=engine
    )
    if out_dtype is not None:
        result = call_natively(_convert, {0: "image"}, (result, out_dtype), {}, "cpu")
    return result


class Denoised(NamedTuple):
    """A denoised image, and what was found about its noise.

    Attributes
    ----------
    image : array
        As `denoise` returns it.
    report : NoiseReport
        Which model of noise was chosen, how strong the noise is, and how sure that is.
    """

    image: Any
    report: NoiseReport


def denoise_with_report(
    image: Any,
    *,
    noise: NoiseName | str | NoiseModel = "auto",
    axes: Sequence[int] | None = None,
    channel_axis: int | Literal["auto"] | None = "auto",
    mask: Any = None,
    nonfinite: Literal["refuse", "mask"] | str = "refuse",
    **settings: Any,
) -> Denoised:
    """Denoise an image by the model of noise that it has, and say which that is and how sure.

    Parameters
    ----------
    image, axes, channel_axis, mask, nonfinite
        As in `denoise`.
    noise : str or NoiseModel
        With ``'auto'``, white, signal-dependent or correlated noise is chosen by tests on the image. Any other model
        is taken as it is; the report still says what the image seems to have.
    **settings
        As in `denoise`.

    Returns
    -------
    Denoised
        ``image`` and ``report``.

    Examples
    --------
    >>> import numpy as np
    >>> import subband
    >>> from subband.enhance import PoissonGaussian, denoise_with_report
    >>> clean = subband.data.camera().astype(float)
    >>> result = denoise_with_report(PoissonGaussian(gain=2.0, sigma=3.0).add(clean, seed=0))
    >>> result.report.kind, result.report.confidence > 0.99
    ('signal-dependent', True)
    >>> subband.psnr(result.image, clean, 255) > 30
    True
    """
    where: dict[str, Any] = {"axes": axes, "channel_axis": channel_axis, "mask": mask, "nonfinite": nonfinite}
    chain, report = Enhancer(noise=find_model(noise)).find_noise(image, **where)
    return Denoised(denoise(image, noise=chain.model, **where, **settings), report)


@lru_cache(maxsize=64, typed=True)
def _make_enhancer(
    method: Any, wavelet: Any, level: Any, mode: Any, strength: Any, boundary: Any, form: Any, *more: Any
) -> Enhancer:
    """Return the chain of one stage, whose settings are checked once for many calls; `more` are those of the chain."""
    return Enhancer((Denoise(method, wavelet, level, mode, strength, boundary, form=form),), *more)


def _read_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype that a result is to have, which has to hold pixels."""
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise ArgumentTypeError(f"out_dtype={dtype!r} is not a dtype of NumPy; use one such as np.float32") from None
    if wanted.kind not in "iuf":
        raise DtypeError(f"out_dtype={wanted} holds no pixels; use one of integers or of floating point")
    return wanted


def _convert(image: Any, dtype: np.dtype[Any]) -> Any:
    """Return a native image of another dtype, rounded and clipped where that is one of integers."""
    pixels = as_numbers(image, "image") if isinstance(image, np.ndarray) or find_kind(image) is None else image
    if dtype.kind in "iu" and pixels.dtype.kind == "f" and not is_opencl(pixels):
        return round_to(pixels, dtype)
    return pixels if pixels.dtype.kind == "c" else pixels.astype(dtype)
