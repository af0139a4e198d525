"""Transformers of scikit-learn: features of wavelet bands, and denoising, as steps of a pipeline.

A row of ``X`` is a signal, or an image, a volume or several of them that were flattened: `shape` says how. Rows have
nothing to do with each other, so that nothing is learnt from data: `fit` checks the settings and the number of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import prod
from typing import Any, Final, Self

import numpy as np

from subband.enhance import Denoise, Enhancer
from subband.errors import ArgumentError, MissingExtraError, ShapeError
from subband.pyramid import Pyramid
from subband.settings import check_choice
from subband.transforms.decomposition import decompose
from subband.typing import Array
from subband.wavelets import WaveletLike

if find_spec("sklearn") is None:
    raise MissingExtraError("subband.integrations.sklearn", "sklearn")

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

__all__ = ["STATISTICS", "WaveletDenoiser", "WaveletFeatures"]

#: What rows may hold without being converted.
_DTYPES: Final = ("float64", "float32")


def _measure_entropy(bands: Array) -> Array:
    """Return how evenly the energy of each row is spread, in bits: 0 if one coefficient has all of it."""
    energies = np.square(bands)
    total = energies.sum(axis=1, keepdims=True)
    shares = np.divide(energies, total, out=np.zeros_like(energies), where=total > 0)
    logarithms = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    # no negative zero
    return np.asarray(np.abs((shares * logarithms).sum(axis=1)))


#: What is measured in the coefficients of a band, rows × coefficients, by name.
STATISTICS: Final[dict[str, Callable[[Array], Array]]] = {
    "energy": lambda bands: np.square(bands).mean(axis=1),
    "entropy": _measure_entropy,
    "max": lambda bands: np.abs(bands).max(axis=1),
    "mean": lambda bands: bands.mean(axis=1),
    "std": lambda bands: bands.std(axis=1),
}


class _Rows(TransformerMixin, BaseEstimator):
    """What both transformers share: rows that are signals or flattened images."""

    shape: Sequence[int] | None

    def _unfold(self, X: Any, *, reset: bool) -> Array:
        """Return checked rows as rows × the shape of one."""
        rows = validate_data(self, X, dtype=[np.dtype(each) for each in _DTYPES], reset=reset)
        shape = (rows.shape[1],) if self.shape is None else tuple(self.shape)
        if prod(shape) != rows.shape[1]:
            raise ShapeError(f"shape={shape} has {prod(shape)} samples, and X has {rows.shape[1]} columns")
        unfolded: Array = rows.reshape(len(rows), *shape)
        return unfolded

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = list(_DTYPES)
        return tags


class WaveletFeatures(_Rows):
    """Measure the bands of a wavelet transform: a few numbers for each row, whatever its length.

    Parameters
    ----------
    wavelet : str or Wavelet
        The wavelet.
    level : int, optional
        Number of levels; as many as are useful if left out.
    mode : str, optional
        How rows go on outside their ends; the wavelet's own choice if left out.
    statistics : sequence of str
        What is measured in each band: ``"energy"`` (mean square), ``"entropy"`` (of the shares of the energy, in bits),
        ``"max"`` (of the magnitudes), ``"mean"``, ``"std"``.
    shape : sequence of int, optional
        Of what a row holds, such as ``(8, 8)`` for flattened images; a signal if left out.

    Attributes
    ----------
    bands_ : list of (int, str)
        Level, 1 being the finest, and key of each band, the approximation first.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if they are texts.

    Raises
    ------
    ArgumentError, LevelError, ModeError, ShapeError, UnknownWaveletError
        By `fit`, if a setting cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.integrations.sklearn import WaveletFeatures
    >>> signals = np.sin(np.outer([0.1, 2.5], np.arange(64)))
    >>> features = WaveletFeatures("db2", level=2, statistics=["energy"]).fit(signals)
    >>> print(*features.get_feature_names_out())
    a2_energy d2_energy d1_energy
    >>> features.transform(signals).argmax(axis=1)
    array([0, 2])
    """

    def __init__(
        self,
        wavelet: WaveletLike = "db4",
        level: int | None = None,
        mode: str | None = None,
        *,
        statistics: Sequence[str] = ("energy", "mean", "std"),
        shape: Sequence[int] | None = None,
    ) -> None:
        self.wavelet = wavelet
        self.level = level
        self.mode = mode
        self.statistics = statistics
        self.shape = shape

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - names of scikit-learn
        """Check the settings, and note which bands there are.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Signals, or flattened images.
        y : ignored
            Not used.
        """
        if not self.statistics or isinstance(self.statistics, str):
            raise ArgumentError(f"statistics={self.statistics!r} is no list of names such as {[*STATISTICS]}")
        for name in self.statistics:
            check_choice("statistics", name, tuple(STATISTICS))
        unfolded = self._unfold(X, reset=True)
        self.bands_ = [(level, key) for level, key, _ in self._decompose(unfolded[:1]).bands()]
        return self

    def transform(self, X: Any) -> Array:
        """Return the features of each row.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Signals, or flattened images.

        Returns
        -------
        ndarray of shape (rows, bands × statistics)
            In the order of `get_feature_names_out`; float32 if `X` is, else float64.
        """
        check_is_fitted(self)
        unfolded = self._unfold(X, reset=False)
        bands = [band.reshape(len(band), -1) for _, _, band in self._decompose(unfolded).bands()]
        return np.stack([STATISTICS[name](band) for band in bands for name in self.statistics], axis=1)

    def _decompose(self, unfolded: Array) -> Pyramid:
        return decompose(unfolded, self.wavelet, self.level, self.mode, tuple(range(1, unfolded.ndim)))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the features, such as ``"d1_energy"`` or, of images, ``"ad2_std"``.

        Parameters
        ----------
        input_features : sequence of str, optional
            Compared with the names of the columns, as scikit-learn does.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        names = [f"{key}{level}_{name}" for level, key in self.bands_ for name in self.statistics]
        return np.array(names, object)


class WaveletDenoiser(OneToOneFeatureMixin, _Rows):
    """Denoise each row by itself, as `subband.denoise` does.

    Parameters
    ----------
    sigma : float, optional
        Standard deviation of the noise; measured in each row if left out.
    method, wavelet, level, mode, strength, boundary, form
        See `subband.enhance.Denoise`.
    noise : str or NoiseModel
        What the noise is; see `subband.denoise`.
    shape : sequence of int, optional
        Of what a row holds, such as ``(8, 8)`` for flattened images; a signal if left out.

    Attributes
    ----------
    enhancer_ : Enhancer
        What rows are carried through.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if they are texts.

    Raises
    ------
    ArgumentError, LevelError, ModeError, ShapeError, UnknownWaveletError
        By `fit`, if a setting cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from subband.integrations.sklearn import WaveletDenoiser
    >>> clean = np.tile(np.sin(np.arange(256) / 20), (4, 1))
    >>> noisy = clean + np.random.default_rng(0).normal(0, 0.3, clean.shape)
    >>> better = WaveletDenoiser().fit_transform(noisy)
    >>> np.square(better - clean).mean() < np.square(noisy - clean).mean() / 4
    np.True_
    """

    def __init__(
        self,
        sigma: float | None = None,
        *,
        method: str = Denoise.method,  # type: ignore[assignment]  # which may also be a method itself
        wavelet: WaveletLike = Denoise.wavelet,
        level: int | None = Denoise.level,
        mode: str = Denoise.mode,
        strength: float = Denoise.strength,
        boundary: str | None = Denoise.boundary,
        form: str | None = Denoise.form,
        noise: Any = Enhancer.noise,
        shape: Sequence[int] | None = None,
    ) -> None:
        self.sigma = sigma
        self.method = method
        self.wavelet = wavelet
        self.level = level
        self.mode = mode
        self.strength = strength
        self.boundary = boundary
        self.form = form
        self.noise = noise
        self.shape = shape

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - names of scikit-learn
        """Check the settings.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Signals, or flattened images.
        y : ignored
            Not used.
        """
        self._unfold(X, reset=True)
        names = ("method", "wavelet", "level", "mode", "strength", "boundary", "form")
        stage = Denoise(**{name: getattr(self, name) for name in names})
        self.enhancer_ = Enhancer(stage, noise=self.noise, sigma=self.sigma)
        return self

    def transform(self, X: Any) -> Array:
        """Return the rows with less noise.

        Parameters
        ----------
        X : array of shape (rows, columns)
            Signals, or flattened images.

        Returns
        -------
        ndarray of the same shape
            float32 if `X` is, else float64.
        """
        check_is_fitted(self)
        unfolded = self._unfold(X, reset=False)
        axes = tuple(range(1, unfolded.ndim))
        cleaned = self.enhancer_.apply(unfolded, axes=axes, channel_axis=None)
        return cleaned.reshape(len(unfolded), -1)
