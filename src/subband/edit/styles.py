"""Texture transfer: the details of one image carried onto another.

What makes a surface look bumpy lies in the fine bands of its brightness, and what makes it light or dark in the
coarsest. So the details of a texture are combined with those of an image, coefficient by coefficient, and the coarsest
band of the texture is left out: its relief comes along, and its colours and its shading stay behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from subband.arrays import device_of, find_kind, map_arrays
from subband.edit.images import edit_image, fit_pixels, match_channels, take_image
from subband.edit.scales import invert_details, plan_scales, read_orientations
from subband.edit.settings import LEVEL, check_level, check_levels, check_white, make_settings
from subband.engines import Engine
from subband.engines.device_engine import DeviceEngine
from subband.engines.dispatch import engine_for
from subband.engines.filters import find_filters
from subband.enhance.colour import FROM_OPPONENTS, FROM_YCBCR, TO_OPPONENTS, TO_YCBCR
from subband.enhance.stages import WAVELET
from subband.errors import ArgumentError, ArgumentTypeError
from subband.plan import TransformPlan
from subband.settings import check_settings, setting
from subband.transforms.modes import check_boundary
from subband.typing import Array, Bands
from subband.wavelets import as_wavelet

__all__ = ["Style", "Stylist", "stylise"]

#: What the channels of colour become, and back: those but `rgb` have brightness in their first plane.
_COLOURS: dict[str, tuple[Array, Array] | None] = {
    "ycbcr": (TO_YCBCR, FROM_YCBCR),
    "opponents": (TO_OPPONENTS, FROM_OPPONENTS),
    "rgb": None,
}

#: Levels if nothing is said: bumps as large as 32 pixels.
_MOST_LEVELS = 5

#: Textures that a stylist keeps ready, for images of as many sizes.
_MOST_READY = 4


@dataclass(frozen=True)
class Style:
    """How a texture is carried onto an image.

    Parameters
    ----------
    rule : {"max", "add", "mix"}
        How two coefficients become one: the one of larger magnitude, which keeps the details of both; their sum; or
        some of each.
    strength : float
        What the coefficients of the texture are multiplied by; for ``'mix'``, their share. 0 leaves the image as it
        is.
    wavelet : str
        The default is the CDF 9/7 of JPEG 2000.
    level : int, optional
        Number of levels; as many as are useful if left out, but at most 5.
    levels : tuple of int, optional
        Which levels take part, the finest is 1; all if left out.
    orientations : str
        Which details take part: letters of ``'hvd'`` for horizontal, vertical and diagonal ones.
    colour : {"ycbcr", "opponents", "rgb"}
        Where images in colour are combined: in their brightness, Y' or the mean of the channels, so that no colour
        comes along; or channel by channel.
    fit : {"tile", "mirror", "stretch", "crop"}
        What is done with a texture of another size: repeat it, repeat it in turns mirrored, stretch it, or take its
        middle.
    boundary : str, optional
        How images go on outside their borders; the wavelet's own choice if left out.
    white : float, optional
        What white is in images of other than 8 or 16 bits; if left out, 1 for floating point and the largest
        number of integers; those of 64 bits cannot do without.

    Raises
    ------
    ArgumentError, LevelError
        If something of that is not known.

    Examples
    --------
    >>> from subband.edit import Style
    >>> Style(rule="mix", strength=0.5, levels=(1, 2)) == Style(rule="mix", strength=0.5, levels=[2, 1])
    True
    """

    rule: str = setting(
        "max",
        "How two coefficients become one: max, the larger; add, their sum; mix, some of each.",
        choices={"max": "The larger coefficient", "add": "Their sum", "mix": "Some of each"},
    )
    strength: float = setting(
        1.0,
        "How much of the texture; 0 for nothing.",
        least=0,
        most=1e6,
        slider=(0, 3, 0.05),
        advice="use 0 for none of the texture and 1 for all of it",
    )
    wavelet: str = setting("cdf97", **WAVELET)
    level: int | None = setting(None, **LEVEL)
    levels: tuple[int, ...] | None = setting(None, "Levels that take part, the finest is 1; as in 1,2 or 1-3.")
    orientations: str = setting("hvd", "Details that take part: h, v and d for horizontal, vertical, diagonal.")
    colour: str = setting(
        "ycbcr",
        "ycbcr or opponents for brightness alone, rgb for each channel.",
        label="Where",
        choices={"ycbcr": "Brightness Y'", "opponents": "Mean of the channels", "rgb": "Each channel"},
    )
    fit: str = setting(
        "tile",
        "What is done with a texture of another size.",
        label="Texture of another size",
        choices={"tile": "Repeat", "mirror": "Repeat mirrored", "stretch": "Stretch", "crop": "Take its middle"},
    )
    boundary: str | None = None
    white: float | None = None

    def __post_init__(self) -> None:
        as_wavelet(self.wavelet)
        check_level(self.level)
        check_boundary(self.boundary)
        check_settings(self)
        read_orientations(self.orientations)
        object.__setattr__(self, "levels", check_levels(self.levels))
        if self.level is not None and self.levels is not None and self.levels[-1] > self.level:
            raise ArgumentError(f"levels={self.levels} go beyond level={self.level}; use more levels, or none of those")
        check_white(self.white)

    def plan(self, shape: tuple[int, ...]) -> TransformPlan:
        """Return the plan of planes, with no more levels than take part."""
        level = self.level
        if self.levels is not None:
            level = self.levels[-1]
        return plan_scales(shape, self.wavelet, level, self.boundary, _MOST_LEVELS)


class Stylist:
    """A texture made ready to be carried onto one image after the other.

    Parameters
    ----------
    texture : array
        The image whose bumps are carried over; as in `stylise`.
    style : Style, optional
        How.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    settings
        What is to be other than in `style`.

    Notes
    -----
    The transform of the texture is kept for the last few sizes of images. A stylist may be used from several threads.

    Examples
    --------
    >>> from subband import data
    >>> from subband.edit import Stylist
    >>> stylist = Stylist(data.ascent(), strength=0.5)
    >>> frame = data.photograph()[:90, :120]
    >>> stylist.apply(frame).shape
    (90, 120, 3)
    >>> bool((stylist.adjust(strength=0).apply(frame) == frame).all())
    True
    """

    def __init__(
        self, texture: Any, style: Style | None = None, *, engine: str | Engine | None = None, **settings: Any
    ) -> None:
        self.style = make_settings(Style, style, settings)
        self.engine = engine
        # a copy, so that the texture stays as it is now for every size
        self._texture = _as_native(texture).copy()
        self._ready: dict[Any, list[Bands]] = {}
        self._lock = Lock()
        # what cannot be a texture is refused now
        take_image(self._texture, "texture", self.style.white)

    def adjust(self, **settings: Any) -> Stylist:
        """Return a stylist with other settings and the same texture, which stays ready where it can."""
        other = object.__new__(Stylist)
        other.__dict__.update(self.__dict__, style=make_settings(Style, self.style, settings))
        return other

    def apply(self, picture: Any) -> Any:
        """Return an image with the bumps of the texture: of the same kind, shape and dtype.

        Raises
        ------
        ShapeError
            If it is no image, or the texture cannot be made to fit.
        ArgumentTypeError
            If image and texture are on different devices.
        """
        return edit_image(self._run, picture, "picture", self.style.white, self.engine)

    def _run(self, pixels: Any, white: float) -> Any:
        engine = engine_for(pixels, self.engine)
        filters = find_filters(engine)
        there, back = (_COLOURS[self.style.colour] if pixels.shape[2] == 3 else None) or (None, None)
        dtype = np.dtype(np.float64 if pixels.dtype == np.float64 else np.float32)
        planes = filters.read_pixels(pixels, there, dtype)
        own = planes if there is None else planes[:1]
        plan = self.style.plan(tuple(own.shape))
        if self.style.strength > 0 and plan.levels:
            texture = self._prepare(engine, pixels, white, plan, dtype)
            keys = read_orientations(self.style.orientations)
            details: list[Bands] = [{}] * plan.level
            if self.style.rule != "add":
                _, details = engine.forward_all(plan, own)
            differences: list[Bands] = []
            for number, mine, theirs in zip(range(plan.level, 0, -1), details, texture, strict=True):
                takes_part = self.style.levels is None or number in self.style.levels
                differences.append(
                    {
                        key: filters.differ(
                            mine.get(key, theirs[key]), theirs[key], self.style.rule, self.style.strength
                        )
                        for key in (keys if takes_part else ())
                        if theirs[key].size
                    }
                )
            planes = filters.add_part(planes, invert_details(engine, plan, differences, own), (0, 0), 1.0)
        return filters.write_pixels(planes, back, pixels.dtype)

    def _prepare(
        self, engine: Engine, pixels: Any, white: float, plan: TransformPlan, dtype: np.dtype[Any]
    ) -> list[Bands]:
        """Return the details of the texture for images like this one, coarse to fine."""
        size, channels = (int(pixels.shape[0]), int(pixels.shape[1])), int(pixels.shape[2])
        key = (engine, size, channels, white, plan, dtype, self.style.colour, self.style.fit, self.style.white)
        with self._lock:
            details = self._ready.get(key)
            if details is None:
                details = self._transform_texture(engine, size, channels, white, plan, dtype)
                if len(self._ready) >= _MOST_READY:
                    self._ready.pop(next(iter(self._ready)))
                self._ready[key] = details
        return details

    def _transform_texture(
        self, engine: Engine, size: tuple[int, int], channels: int, white: float, plan: TransformPlan, dtype: Any
    ) -> list[Bands]:
        taken = take_image(self._texture, "texture", self.style.white)
        pixels = fit_pixels(match_channels(taken.pixels, channels, "texture"), size, self.style.fit, "texture")
        if isinstance(engine, DeviceEngine):
            if isinstance(pixels, np.ndarray):
                pixels = engine.device.upload(pixels)
        elif not isinstance(pixels, np.ndarray):
            raise ArgumentTypeError(f"texture is on {device_of(pixels)} and the image on cpu; move both to one device")
        pair = _COLOURS[self.style.colour]
        if channels == 1 and pixels.shape[2] == 3:
            pair = _COLOURS["ycbcr"]
        there = pair[0] if pair is not None and pixels.shape[2] == 3 else None
        filters = find_filters(engine)
        planes = filters.read_pixels(pixels, there, dtype)
        if there is not None:
            planes = planes[:1]
        if white != taken.white:
            planes = filters.take_part(planes, (0, 0), size, white / taken.white)
        return engine.forward_all(plan, planes)[1]


def stylise(
    picture: Any, texture: Any, style: Style | None = None, *, engine: str | Engine | None = None, **settings: Any
) -> Any:
    """Transfer the texture of one image to another.

    Parameters
    ----------
    picture : array
        Rows × columns, with 3 channels or 3 and an alpha channel as its last axis. Of any real dtype, of NumPy, CuPy,
        Torch, JAX or PyOpenCL.
    texture : array
        The image whose bumps are carried over; of any size and depth.
    style : Style, optional
        How.
    engine : str, optional
        The engine that computes; see `subband.set_engine`.
    settings
        What is to be other than in `style`, such as ``rule="add"`` or ``strength=0.5``.

    Returns
    -------
    array
        Of the kind, shape and dtype of `picture`; integers are rounded and clipped. The alpha channel stays as it was.

    Raises
    ------
    ShapeError
        If one of them is no image, or the texture cannot be made to fit.
    ArgumentError, LevelError
        If a setting is not known.

    Notes
    -----
    For video, make a `Stylist`, which transforms the texture once.

    References
    ----------
    T.-T. Wong, C.-S. Leung, P.-A. Heng and J. Wang, Discrete wavelet transform on consumer-level graphics hardware,
    IEEE Transactions on Multimedia 9, 2007, doi:10.1109/TMM.2006.887994.

    Examples
    --------
    >>> from subband import data
    >>> from subband.edit import stylise
    >>> photo, texture = data.photograph()[:128, :160], data.camera()
    >>> bumpy = stylise(photo, texture, rule="max", strength=0.8, levels=(1, 2, 3))
    >>> bumpy.shape, bumpy.dtype
    ((128, 160, 3), dtype('uint8'))
    >>> bool((stylise(photo, texture, strength=0) == photo).all())
    True
    """
    return Stylist(texture, style, engine=engine, **settings).apply(picture)


def _as_native(texture: Any) -> Any:
    """Return an image of any kind as a native array, which is kept."""

    def take(x: Any) -> Any:
        kind = find_kind(x)
        assert kind is not None
        with kind.enter(x):
            return kind.to_native(x, "texture")

    return np.asarray(texture) if find_kind(texture) is None else map_arrays(texture, take)
