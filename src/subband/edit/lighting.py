"""Relighting: an image separated into its texture and the light that fell on it.

The light on a photographed surface changes slowly across it, and its texture quickly. So the light is what
the coarsest band alone gives back, and the image divided by it is a *decal*: the surface evenly lit, ready for
texture mapping. Decal times light is the image again, and times another light the image under that.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any, NamedTuple

import numpy as np

from subband.edit.images import Image, edit_image, fit_pixels, take_image
from subband.edit.scales import plan_scales
from subband.edit.settings import LEVEL, check_level, check_number, check_white, make_settings
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.engines.filters import find_filters
from subband.enhance.colour import TO_YCBCR
from subband.enhance.stages import WAVELET
from subband.errors import ArgumentError, ShapeError
from subband.plan import TransformPlan
from subband.settings import check_settings, setting
from subband.transforms.modes import check_boundary
from subband.typing import Bands
from subband.wavelets import as_wavelet

__all__ = ["Decoupled", "Lighting", "Relighter", "decouple", "recombine", "relight"]

#: Coefficients that the shorter side of an image keeps for its light if no number of levels is given.
_COARSE = 12

_WEIGHTS = tuple(TO_YCBCR[0].tolist())


class Decoupled(NamedTuple):
    """An image as two factors of its shape, in floating point.

    Attributes
    ----------
    decal : array
        The surface, 1 where it is as bright as its surroundings.
    light : array
        The light, in the units of the image.
    """

    decal: Any
    light: Any


@dataclass(frozen=True)
class Lighting:
    """How the light of an image is found and taken away.

    Parameters
    ----------
    level : int, optional
        Number of levels whose details are texture. The more, the larger what still counts as texture; if left out, so
        many that the shorter side keeps about 12 coefficients.
    strength : float
        How much of the light is taken away: with 0 nothing, and the decal looks like the image.
    wavelet : str
        The default is the CDF 9/7 of JPEG 2000.
    colour : {"ycbcr", "rgb"}
        Whether light is grey, that of the brightness Y', so that the decal keeps its colours; or a light of its own for
        each channel, which also takes away a tint that changes across the image.
    gamma : float
        The power between numbers and light: 1 takes the mean of numbers as they are, 2.2 that of linear light, as it
        reached the camera. In both cases decal and light are numbers as the image has them, and their product is the
        image.
    floor : float
        The least light, as a part of white, so that nothing is divided by zero.
    exposure : float
        What is as bright as its surroundings is so bright in a decal of integers, as a part of white.
    output : {"decal", "light"}
        What `Relighter.apply` returns.
    boundary : str, optional
        How images go on outside their borders; the wavelet's own choice if left out.
    white : float, optional
        What white is in images of other than 8 or 16 bits; if left out, 1 for floating point and the largest
        number of integers; those of 64 bits cannot do without.

    Raises
    ------
    ArgumentError
        If something of that is not known.

    Examples
    --------
    >>> from subband.edit import Lighting
    >>> Lighting(level=5, gamma=2.2).gamma
    2.2
    """

    level: int | None = setting(None, **LEVEL)
    strength: float = setting(
        1.0,
        "How much of the light is taken away, 0 to 1.",
        least=0,
        most=1,
        slider=(0, 1, 0.05),
        advice="use 0 for none of the light and 1 for all of it",
    )
    wavelet: str = setting("cdf97", **WAVELET)
    colour: str = setting(
        "ycbcr",
        "ycbcr for light in grey, rgb for one in colour.",
        label="Light is",
        choices={"ycbcr": "Grey", "rgb": "Of each channel"},
    )
    gamma: float = setting(
        1.0,
        "1 for the mean of numbers as they are, 2.2 for linear light.",
        least=0.1,
        most=10,
        slider=(0.5, 3, 0.1),
        advice="use 1 for numbers as they are, or 2.2 for linear light",
    )
    floor: float = setting(
        0.02,
        "The least light, as a part of white.",
        least=1e-6,
        most=1,
        advice="nothing can be divided by zero light: use such as 0.02 of white",
    )
    exposure: float = setting(
        0.5,
        "How bright the decal is on the whole, as a part of white.",
        least=1e-3,
        most=1,
        slider=(0.05, 1, 0.05),
        advice="use a part of white, such as 0.5",
    )
    output: str = setting("decal", "What is returned.", choices={"decal": "Without its light", "light": "Its light"})
    boundary: str | None = None
    white: float | None = None

    def __post_init__(self) -> None:
        as_wavelet(self.wavelet)
        check_level(self.level)
        check_boundary(self.boundary)
        check_settings(self)
        check_white(self.white)

    def plan(self, shape: tuple[int, ...]) -> TransformPlan:
        """Return the plan of planes."""
        most = max(1, round(log2(max(min(shape[1:]) / _COARSE, 1)))) if self.level is None else None
        return plan_scales(shape, self.wavelet, self.level, self.boundary, most)


class Relighter:
    """Takes the light away from one image after the other.

    Parameters
    ----------
    lighting : Lighting, optional
        How.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    settings
        What is to be other than in `lighting`.

    Examples
    --------
    >>> from subband import data
    >>> from subband.edit import Relighter
    >>> frame = data.photograph()[:90, :120]
    >>> Relighter(level=4).apply(frame).dtype
    dtype('uint8')
    >>> bool((Relighter(strength=0).apply(frame) == frame).all())
    True
    """

    def __init__(
        self, lighting: Lighting | None = None, *, engine: str | Engine | None = None, **settings: Any
    ) -> None:
        self.lighting = make_settings(Lighting, lighting, settings)
        self.engine = engine

    def adjust(self, **settings: Any) -> Relighter:
        """Return one with other settings."""
        return Relighter(self.lighting, engine=self.engine, **settings)

    def apply(self, picture: Any) -> Any:
        """Return the decal of an image, or its light, of the same kind, shape and dtype.

        Something as bright as its surroundings becomes as bright as `Lighting.exposure` says. Integers are rounded and
        clipped; for the two exact factors see `decouple`. The alpha channel stays as it was.
        """
        return edit_image(self._run, picture, "picture", self.lighting.white, self.engine)

    def decouple(self, picture: Any) -> Decoupled:
        """Return decal and light, see `decouple`."""
        factors: Decoupled = Decoupled(*call_natively(self._decouple, {0: "picture"}, (picture,), {}, "cpu"))
        return factors

    def relight(self, picture: Any, light: Any) -> Any:
        """Return an image under another light, see `relight`."""
        names = {0: "picture", 1: "light"}
        result: Any = call_natively(self._relight, names, (picture, light), {}, "cpu")
        return result

    def _decouple(self, picture: Any) -> list[Any]:
        taken = take_image(picture, "picture", self.lighting.white)
        factors = call_natively(self._split, {0: "picture"}, (taken.pixels, taken.white), {}, self.engine)
        return [factor.reshape(taken.size) if taken.is_flat else factor for factor in factors]

    def _relight(self, picture: Any, light: Any) -> Any:
        taken = take_image(picture, "picture", self.lighting.white)
        falling = _take_light(light, taken, self.lighting.white)
        fitted = fit_pixels(falling.pixels, taken.size, "stretch", "light")
        scale = taken.white / falling.white
        names = {0: "picture", 2: "light"}
        result = call_natively(self._replace, names, (taken.pixels, taken.white, fitted, scale), {}, self.engine)
        return taken.put_back(result)

    def _run(self, pixels: Any, white: float) -> Any:
        engine = engine_for(pixels, self.engine)
        filters = find_filters(engine)
        planes, light = self._find_light(engine, pixels, white)
        if self.lighting.output == "light":
            planes = light if _count_planes(light) == pixels.shape[2] else filters.spread(light, int(pixels.shape[2]))
        else:
            planes = filters.divide(planes, light, self.lighting.exposure * white)
        return filters.write_pixels(planes, None, pixels.dtype)

    def _split(self, pixels: Any, white: float) -> list[Any]:
        engine = engine_for(pixels, self.engine)
        filters = find_filters(engine)
        planes, light = self._find_light(engine, pixels, white)
        planes = filters.divide(planes, light, 1.0)
        if _count_planes(light) < _count_planes(planes):
            light = filters.spread(light, _count_planes(planes))
        return [filters.write_pixels(each, None, _float_like(pixels)) for each in (planes, light)]

    def _replace(self, pixels: Any, white: float, falling: Any, scale: float) -> Any:
        engine = engine_for(pixels, self.engine)
        filters = find_filters(engine)
        planes, light = self._find_light(engine, pixels, white)
        fitted = filters.read_pixels(falling, None, _float_like(pixels))
        planes = filters.multiply(filters.divide(planes, light, 1.0), fitted, scale)
        return filters.write_pixels(planes, None, pixels.dtype)

    def _find_light(self, engine: Engine, pixels: Any, white: float) -> tuple[Any, Any]:
        """Return the planes of an image, and the light that they are to be divided by."""
        lighting = self.lighting
        filters = find_filters(engine)
        planes = filters.read_pixels(pixels, None, _float_like(pixels))
        if lighting.colour == "rgb" or _count_planes(planes) == 1:
            base = filters.raise_to(planes, lighting.gamma, white)
        else:
            base = filters.measure_brightness(planes, _WEIGHTS, lighting.gamma, white)
        plan = lighting.plan(tuple(base.shape))
        approximation, _ = engine.forward_all(plan, base)
        nothing: list[Bands] = [{} for _ in plan.levels]
        light = engine.inverse_all(plan, approximation, nothing)
        even = lighting.exposure * white
        power, floor = 1 / lighting.gamma, lighting.floor * white
        return planes, filters.temper(light, power, white, floor, even, lighting.strength)


def decouple(
    picture: Any, lighting: Lighting | None = None, *, engine: str | Engine | None = None, **settings: Any
) -> Decoupled:
    """Separate an image into its texture and the light on it.

    Parameters
    ----------
    picture : array
        Rows × columns, with 3 channels or 3 and an alpha channel as its last axis. Of any real dtype, of NumPy, CuPy,
        Torch, JAX or PyOpenCL.
    lighting : Lighting, optional
        How.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    settings
        What is to be other than in `lighting`, such as ``level=5`` or ``gamma=2.2``.

    Returns
    -------
    decal, light : array
        Of the kind of the image, float64 for float64 and float32 otherwise, without its alpha channel: ``decal *
        light`` is the image. `Relighter.apply` makes a decal that is an image itself.

    Raises
    ------
    ShapeError
        If it is no image.
    ArgumentError, LevelError
        If a setting is not known, or there are more levels than make sense.

    Notes
    -----
    Light is taken to change slowly. The edge of a hard shadow is quick, and stays in the decal; large patches of dark
    paint are slow, and go with the light.

    References
    ----------
    T.-T. Wong, C.-S. Leung, P.-A. Heng and J. Wang, Discrete wavelet transform on consumer-level graphics hardware,
    IEEE Transactions on Multimedia 9, 2007, doi:10.1109/TMM.2006.887994.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data
    >>> from subband.edit import decouple
    >>> photo = data.photograph()[:128, :160]
    >>> decal, light = decouple(photo, level=4)
    >>> float(np.abs(decal * light - photo).max()) < 1e-3
    True
    """
    return Relighter(lighting, engine=engine, **settings).decouple(picture)


def recombine(decal: Any, light: Any, *, exposure: float | None = None, engine: str | Engine | None = None) -> Any:
    """Multiply a decal by a light.

    Parameters
    ----------
    decal : array
        From `decouple`, or an image of integers as `Relighter.apply` makes it.
    light : array
        In the units of the result: grey or in colour, of any size, for it is stretched. Of the kind of `decal`.
    exposure : float, optional
        The number of the decal that stands for 1, as a part of white; if left out, 1 for a decal of floating point, and
        0.5 for one of integers, as `Lighting` has it.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.

    Returns
    -------
    array
        Of the kind of `decal`: float32 or float64 for a decal of floating point, else of its dtype, rounded and
        clipped, with its alpha channel.

    Raises
    ------
    ShapeError
        If one of them is no image, or a light in colour falls on a decal in grey.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data
    >>> from subband.edit import decouple, recombine
    >>> photo = data.photograph()[:64, :96]
    >>> decal, light = decouple(photo, level=3)
    >>> np.abs(recombine(decal, light) - photo).max() < 1e-3
    np.True_
    >>> dusk = np.linspace(40, 160, 96, dtype=np.float32)[np.newaxis].repeat(64, axis=0)
    >>> recombine(decal, dusk).shape
    (64, 96, 3)
    """
    return call_natively(_recombine, {0: "decal", 1: "light"}, (decal, light, exposure, engine), {}, "cpu")


def relight(
    picture: Any,
    light: Any,
    lighting: Lighting | None = None,
    *,
    engine: str | Engine | None = None,
    **settings: Any,
) -> Any:
    """Show an image under another light.

    Parameters
    ----------
    picture : array
        As in `decouple`.
    light : array
        In the units of the image, of any size: grey or in colour. Of the kind of `picture`.
    lighting, engine, settings
        As in `decouple`.

    Returns
    -------
    array
        Of the kind, shape and dtype of the image, with its alpha channel; integers are rounded and clipped.

    Raises
    ------
    ShapeError
        If one of them is no image, or a light in colour falls on an image in grey.

    Examples
    --------
    >>> import numpy as np
    >>> from subband import data
    >>> from subband.edit import relight
    >>> photo = data.photograph()[:64, :96]
    >>> evening = np.linspace(20, 220, 96).astype(np.uint8)[np.newaxis]
    >>> relight(photo, evening, level=3).shape
    (64, 96, 3)
    """
    return Relighter(lighting, engine=engine, **settings).relight(picture, light)


def _count_planes(planes: Any) -> int:
    """Return how many planes there are; arrays of PyOpenCL have no length."""
    return int(planes.shape[0])


def _float_like(pixels: Any) -> np.dtype[Any]:
    """Return the dtype that pixels are computed in."""
    return np.dtype(np.float64 if pixels.dtype == np.float64 else np.float32)


def _take_light(light: Any, image: Image, white: float | None = None) -> Image:
    """Check that an array is a light that can fall on an image."""
    falling = take_image(light, "light", white)
    if falling.channels > image.channels:
        raise ShapeError("light is in colour and the image in grey; give a light in grey, or an image in colour")
    if falling.is_whole != image.is_whole:
        raise ArgumentError(
            f"light holds {falling.pixels.dtype} and the image {image.pixels.dtype}; give both as integers, or "
            "both as floating point in the same units"
        )
    return falling


def _recombine(decal: Any, light: Any, exposure: float | None, engine: str | Engine | None) -> Any:
    taken = take_image(decal, "decal")
    falling = _take_light(light, taken)
    if exposure is None:
        exposure = 0.5 if taken.is_whole else 1.0
    check_number("exposure", exposure, 1e-6, 1e6, "use a part of white, such as 0.5")
    # of two images of integers each counts from its white, and so does the result
    scale = 1 / (exposure * falling.white)
    fitted = fit_pixels(falling.pixels, taken.size, "stretch", "light")
    names = {0: "decal", 1: "light"}
    return taken.put_back(call_natively(_multiply, names, (taken.pixels, fitted, scale, engine), {}, engine))


def _multiply(pixels: Any, light: Any, scale: float, named: str | Engine | None) -> Any:
    engine = engine_for(pixels, named)
    filters = find_filters(engine)
    planes = filters.read_pixels(pixels, None, _float_like(pixels))
    fitted = filters.read_pixels(light, None, _float_like(pixels))
    return filters.write_pixels(filters.multiply(planes, fitted, scale), None, pixels.dtype)
