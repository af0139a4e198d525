"""One object that describes a whole chain of enhancement, and carries any image through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from subband.arrays import is_functional, to_host
from subband.engines import Engine
from subband.engines.dispatch import call_natively, engine_for
from subband.enhance.blind import NoiseReport, find_noise
from subband.enhance.description import describe, read_description, read_toml, write_toml
from subband.enhance.gaps import fill_gaps
from subband.enhance.layout import arrange, as_dtype, check_mask, check_pixels, find_layout, find_stack, map_stack
from subband.enhance.models import MODELS, Gaussian, NoiseModel, NoiseName, find_model
from subband.enhance.program import prepare_program
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink, Stage
from subband.enhance.views import VIEWS, draw_mosaic
from subband.errors import ArgumentError, ArgumentTypeError, suggest_names
from subband.settings import check_settings, setting
from subband.typing import Array, ArrayT

__all__ = ["Enhancer"]


@dataclass(frozen=True)
class Enhancer:
    """A chain of enhancement stages, such as denoising and sharpening: described once, run on any image.

    Parameters
    ----------
    stages : sequence of Denoise, Shrink, Blur or Sharpen
        In the order in which they work. A single stage may stand by itself.
    noise : str or NoiseModel
        What noise does to the image: ``'gaussian'``, ``'poisson'``, ``'correlated'``, ``'speckle'``,
        ``'log-speckle'``, ``'salt-pepper'``, ``'stripes'``, or a model with its parameters from `subband.enhance`. The
        image is stabilised before the first stage and restored after the last. ``'auto'`` takes what `find_noise` finds
        in each image.
    sigma : float or sequence of float, optional
        Standard deviation of the noise, one for each channel or one for all, in the units of the image; for other
        models than the Gaussian, of the stabilised image. If left out, what the model says, else it is measured in
        the image.
    colour : {"opponents", "ycbcr", "rgb"}
        What red, green and blue are turned into, so that each channel has noise of its own and few edges in common
        with the others. The opponents denoise best.
    precision : {"float32", "float16"}
        How samples and coefficients of uint8 and float16 images are stored on devices; arithmetic is float32. Other
        images could leave the range of half precision, and are stored as float32. Images of float64 are computed
        in float64.
    temporal : bool
        Whether frames of video are averaged along their motion before the first stage; see `subband.enhance.temporal`.
        Pipelines do that, where one frame follows the other; an image by itself is not changed by it.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If something of that is not known.

    Examples
    --------
    >>> from subband import Enhancer
    >>> from subband.enhance import Denoise, Sharpen
    >>> enhancer = Enhancer([Denoise("bayes", level=3), Sharpen(0.3)])
    >>> print(enhancer)
    Enhancer: denoise by bayes with cdf97, 3 levels; sharpen 0.3
    >>> from subband import data
    >>> enhancer.apply(data.photograph()[:64, :96]).dtype
    dtype('uint8')
    >>> Enhancer.from_toml(enhancer.to_toml()) == enhancer
    True
    """

    stages: tuple[Stage, ...] = (Denoise(),)
    noise: str | NoiseModel = setting(
        "gaussian",
        "Noise model; with settings as in speckle:looks=4,kind=gamma.",
        choices=lambda: {name: name for name in MODELS},
    )
    sigma: float | Sequence[float] | None = setting(
        None,
        "Standard deviation of the noise in red, green and blue, or in each plane of Y'CbCr video, where samples go to "
        "255, whatever the depth; for volumes in their own units. Measured in each plane if left out.",
        label="Noise",
        unit="of 255",
        slider=(0, 100, 0.5),
    )
    colour: str = setting(
        "opponents",
        "Colour space in which red, green and blue are filtered.",
        label="Colours",
        choices={"opponents": "Opponents", "ycbcr": "Y'CbCr", "rgb": "Red, green, blue"},
    )
    precision: str = setting(
        "float32",
        "How devices store coefficients: in half precision with half the memory traffic, where a device has it.",
        choices={"float32": "32 bits", "float16": "16 bits"},
    )
    temporal: bool = setting(
        False,
        "Average frames of video along their motion first; where nothing matches, each frame counts by itself.",
        label="Over time",
    )

    if TYPE_CHECKING:
        # what is given is read and stored in one form by `__post_init__`, which checkers cannot see
        def __init__(
            self,
            stages: Stage | Sequence[Stage] = ...,
            noise: NoiseName | str | NoiseModel = ...,
            sigma: float | Sequence[float] | None = ...,
            colour: Literal["opponents", "ycbcr", "rgb"] | str = ...,
            precision: Literal["float32", "float16"] | str = ...,
            temporal: bool = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.stages is None:
            raise ArgumentTypeError("stages=None is no list of stages; use [] for none")
        stages = (self.stages,) if isinstance(self.stages, Stage) else tuple(self.stages)
        for index, stage in enumerate(stages):
            if not isinstance(stage, Stage):
                raise ArgumentTypeError(
                    f"stages[{index}] is a {type(stage).__name__}; use Denoise, Shrink, Blur or Sharpen"
                )
            if isinstance(stage, Blur | Sharpen) and stage.at != "picture":
                raise ArgumentError(
                    f"stages[{index}] works at={stage.at!r}, inside a transform; put it into the filters of Denoise or "
                    "Shrink, or use at='picture'"
                )
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "noise", find_model(self.noise))
        object.__setattr__(self, "sigma", _as_sigma(self.sigma))
        check_settings(self)

    @property
    def resolved(self) -> dict[str, Any]:
        """What settings become that are left out."""
        return {"noise": Gaussian()}

    def apply(
        self,
        image: ArrayT,
        *,
        axes: Sequence[int] | None = None,
        channel_axis: int | Literal["auto"] | None = "auto",
        mask: Any = None,
        nonfinite: Literal["refuse", "mask"] | str = "refuse",
        engine: str | Engine | None = None,
    ) -> ArrayT:
        """Carry an image, a volume or a stack of them through the chain.

        Parameters
        ----------
        image : array
            Rows × columns, with 3 channels, or 3 and an alpha channel, as its last axis; a signal; a volume. Of any
            real dtype, of NumPy, CuPy, Torch, JAX or PyOpenCL.
        axes : sequence of int, optional
            The one to three axes of space; others hold images that have nothing to do with each other. If left out,
            all but the channels.
        channel_axis : int, optional
            Where the channels are; None if there are none. If left out, the last of three axes if it has 3 or 4
            entries.
        mask : array of bool, optional
            Which pixels are known, of the shape of space. The others are filled from their neighbours for the work, and
            come back as they were.
        nonfinite : {"refuse", "mask"}
            What is done with NaN and infinite pixels: an error, or as with those outside `mask`.
        engine : str, optional
            The engine that computes; see `subband.set_engine`.

        Returns
        -------
        array
            Of the same kind, on the same device, of the same shape and dtype; integers are rounded and clipped, but
            those of 64 bits come back as float64, and bool as float32. The alpha channel comes back as it was.

        Raises
        ------
        ShapeError
            If the array is no image, or the mask does not fit.
        DtypeError
            If it holds no real numbers.
        ArgumentError
            If pixels are not finite, and `nonfinite` does not say what to do with them.
        LevelError
            If a stage has more levels than make sense.
        """
        options = (axes, channel_axis, mask, nonfinite, engine)
        # arranged where it is, whatever engine computes then
        result: ArrayT = call_natively(self._apply, {0: "image"}, (image, *options), {}, "cpu")
        return result

    __call__ = apply

    @property
    def model(self) -> NoiseModel:
        """The noise model."""
        assert isinstance(self.noise, NoiseModel)
        return self.noise

    @property
    def weighed_stages(self) -> tuple[Stage, ...]:
        """The stages, with weights of bands where the noise model has them."""
        return tuple(self.model.weigh(stage) if isinstance(stage, Denoise) else stage for stage in self.stages)

    def find_noise(
        self,
        image: Any,
        *,
        axes: Sequence[int] | None = None,
        channel_axis: int | Literal["auto"] | None = "auto",
        mask: Any = None,
        nonfinite: Literal["refuse", "mask"] | str = "refuse",
    ) -> tuple[Enhancer, NoiseReport]:
        """Return the chain with all that its noise model finds in an image, and the report on what was found.

        Parameters
        ----------
        image, axes, channel_axis, mask, nonfinite
            As in `apply`; what is not known is filled smoothly before.

        Returns
        -------
        Enhancer, NoiseReport
            With noise ``'auto'`` the model is that of the report, with ``'correlated'`` its bands; any other model
            stays.

        Examples
        --------
        >>> import numpy as np
        >>> from subband import Enhancer, data
        >>> noisy = data.camera() + np.random.default_rng(0).normal(0, 20, (512, 512))
        >>> chain, report = Enhancer(noise="auto").find_noise(noisy)
        >>> report.kind, report.confidence > 0.9, chain.model == report.model
        ('white', True, True)
        """
        pixels = check_pixels(to_host(image), "image")
        layout = find_layout(pixels.shape, axes, channel_axis)
        if (known := check_mask(pixels, layout, mask, nonfinite)) is not None:
            arranged = arrange(pixels, layout)
            pixels = arranged.put_back(fill_gaps(arranged.pixels, known))
        report = find_noise(pixels, axes=axes, channel_axis=channel_axis)
        return replace(self, noise=report.choose(self.model)), report

    def _apply(
        self,
        image: Any,
        axes: Sequence[int] | None,
        channel_axis: int | Literal["auto"] | None,
        mask: Any,
        nonfinite: str,
        engine: str | Engine | None,
    ) -> Any:
        pixels = check_pixels(image, "image")
        layout = find_layout(tuple(pixels.shape), axes, channel_axis)
        known = check_mask(pixels, layout, mask, nonfinite)
        if (stacked := find_stack(tuple(pixels.shape), layout)) is not None and self.colour != "rgb":
            # images in colour have nothing to do with each other either
            return map_stack(
                pixels,
                stacked,
                layout,
                lambda one, space, channel: self._apply(one, space, channel, known, "mask", engine),
            )
        arranged = arrange(pixels, layout)
        whole = arranged.pixels
        if known is not None:
            whole = fill_gaps(whole, known)
        chain = self
        if self.model.needs_image:
            chain, _ = self.find_noise(whole, axes=range(whole.ndim - 1), channel_axis=whole.ndim - 1)
        result = call_natively(chain._run, {0: "image"}, (whole, arranged.is_colour, known, engine), {}, engine)
        if known is not None:
            # what was not known stays as it was
            if is_functional(result):
                result = np.where(known[..., np.newaxis], result, arranged.pixels)
            else:
                result[~known] = arranged.pixels[~known]
        return as_dtype(arranged.put_back(result), getattr(image, "dtype", None))

    def _run(self, pixels: Any, is_colour: bool, known: Array | None, engine: str | Engine | None) -> Any:
        space, channels = tuple(pixels.shape[:-1]), pixels.shape[-1]
        return prepare_program(self, space, channels, engine_for(pixels, engine), is_colour).run(pixels, mask=known)

    def view(
        self,
        image: Any,
        view: str = "synthesis",
        *,
        engine: str | Engine | None = None,
    ) -> Array:
        """Return an image of the result, or of the coefficients before or after the last stage that transforms.

        Parameters
        ----------
        image : array
            An image as in `apply`, of two axes of space.
        view : {"synthesis", "analysis", "filtered-analysis"}
            The result; all bands of the transform side by side, with their names; or the same, filtered.
        engine : str, optional
            The engine that computes.

        Returns
        -------
        ndarray of uint8
            Rows × columns, or rows × columns × 3. Of the size of the image where the mode of the transform is not
            expansive.
        """
        if view not in VIEWS:
            hint = suggest_names(view, VIEWS) if isinstance(view, str) else ""
            raise ArgumentError(f"view={view!r} is not known{hint}; use one of {', '.join(VIEWS)}")
        return draw_mosaic(self, image, view, engine)

    def to_dict(self) -> dict[str, Any]:
        """Return the description as what JSON and TOML can hold; defaults are left out."""
        description: dict[str, Any] = describe(self)
        return description

    @classmethod
    def from_dict(cls, description: dict[str, Any]) -> Enhancer:
        """Make an enhancer from its description.

        Raises
        ------
        FormatError
            If the description names something that is not known.
        """
        return read_description(cls, description)

    def to_toml(self) -> str:
        """Return the description as TOML."""
        return write_toml(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Enhancer:
        """Make an enhancer from TOML.

        Examples
        --------
        >>> from subband import Enhancer
        >>> Enhancer.from_toml('''
        ... noise = "speckle"
        ... [[stages]]
        ... kind = "denoise"
        ... method = "wiener"
        ... ''').stages[0].method
        'wiener'
        """
        return cls.from_dict(read_toml(text))

    def _repr_html_(self) -> str:
        # for notebooks alone
        from subband.display import format_paragraph, format_table

        rows = [(number, repr(stage)) for number, stage in enumerate(self.stages, start=1)]
        about = [("noise", repr(self.model)), ("sigma", self.sigma), ("colour", self.colour)]
        return f"{format_paragraph(str(self))}{format_table([*rows, *about])}"

    def __str__(self) -> str:
        parts = [_format_stage(stage) for stage in self.stages] or ["nothing"]
        about = [] if isinstance(self.model, Gaussian) else [f"{self.model.name} noise"]
        about += ["average over time"] if self.temporal else []
        return "Enhancer: " + "; ".join(about + parts)


def _format_stage(stage: Stage) -> str:
    """Say in a few words what a stage does."""
    if isinstance(stage, Blur):
        return f"blur {stage.sigma:g}"
    if isinstance(stage, Sharpen):
        return f"sharpen {stage.amount:g}"
    name = stage.wavelet if isinstance(stage.wavelet, str) else getattr(stage.wavelet, "name", "a wavelet")
    levels = "" if stage.level is None else f", {stage.level} level" + "s" * (stage.level != 1)
    if isinstance(stage, Shrink):
        return f"shrink by a {stage.mode} threshold with {name}{levels}"
    return f"denoise by {stage.method} with {name}{levels}"


def _as_sigma(sigma: Any) -> float | tuple[float, ...] | None:
    """Return a standard deviation, or one for each channel."""
    if sigma is None:
        return None
    advice = "use 0 or more, one for each channel or one for all, or None to measure it"
    try:
        numbers = np.asarray(sigma)
    except ValueError:
        raise ArgumentTypeError(f"sigma={sigma!r} is not a number; {advice}") from None
    if numbers.dtype.kind not in "iuf" or numbers.ndim > 1 or numbers.size == 0:
        raise ArgumentTypeError(f"sigma={sigma!r} is not a number; {advice}")
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise ArgumentError(f"sigma={sigma} is not a standard deviation; {advice}")
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.astype(float).tolist())
