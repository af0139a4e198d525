"""The work of an `Enhancer` on pixels of one shape: convert to planes, filter, convert back, on one device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from subband.arrays import stack_last, to_host
from subband.engines import Engine, get_engine
from subband.engines.device import Device
from subband.engines.device_engine import DeviceEngine
from subband.engines.filters import find_filters
from subband.engines.frames import FrameWork, make_frame_program
from subband.engines.host_memory import host_memory_for
from subband.engines.memory import on_release
from subband.engines.replay import Replays
from subband.engines.temporal import Past, find_temporal_filters
from subband.engines.temporal.device_past import DeviceMotion, DevicePast
from subband.enhance.colour import FROM_OPPONENTS, FROM_YCBCR, TO_OPPONENTS, TO_YCBCR
from subband.enhance.noise_maps import NoiseMap
from subband.enhance.roundtrip import Coefficients, Roundtrip, apply_spatial
from subband.enhance.shrinking import Refine, make_denoiser, make_shrinker, measure_planes, shrink_by_noise
from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink, Stage
from subband.enhance.temporal import follow
from subband.errors import ArgumentError, ShapeError
from subband.typing import Array

if TYPE_CHECKING:
    from subband.enhance.enhancer import Enhancer

__all__ = ["COLOURS", "Program", "prepare_program"]

#: What three channels become, there and back; None leaves them.
COLOURS: dict[str, tuple[Array, Array] | None] = {
    "opponents": (TO_OPPONENTS, FROM_OPPONENTS),
    "ycbcr": (TO_YCBCR, FROM_YCBCR),
    "rgb": None,
}


class Program:
    """An enhancer made ready for pixels of one shape on one engine.

    Parameters
    ----------
    enhancer : Enhancer
        What is to be done.
    space : tuple of int
        The axes of space.
    channels : int
        How many channels a pixel has.
    engine : Engine
        The engine that computes.
    is_colour : bool
        Whether three channels are red, green and blue of the same image.
    noise : tuple of float, optional
        Its standard deviation in each plane, as `find_noise` has found it in the image that the pixels are a part of.
    """

    def __init__(
        self,
        enhancer: Enhancer,
        space: tuple[int, ...],
        channels: int,
        engine: Engine,
        is_colour: bool = True,
        noise: tuple[float, ...] | None = None,
    ) -> None:
        self.enhancer = enhancer
        self.engine = engine
        self.filters = find_filters(engine)
        self.space = space
        self.channels = channels
        self._model = enhancer.model
        if self._model.needs_image:
            raise ArgumentError(
                f"noise={self._model.name!r} is found in an image, and here is none yet; use Enhancer.find_noise first"
            )
        self.stages = enhancer.weighed_stages
        # noise that is not added is stabilised in the channels themselves, which must not be mixed before
        is_mixed = is_colour and channels == 3 and self._model.is_additive
        pair = COLOURS[enhancer.colour] if is_mixed else None
        self._there: Array | None = None if pair is None else pair[0]
        self._back: Array | None = None if pair is None else pair[1]
        self._sigma = self._find_sigma() if noise is None else np.asarray(noise, np.float64)
        self._noise = None if self._sigma is None else self.filters.upload(self._sigma)
        self._shrinkers = {
            stage: make_shrinker(stage, channels, len(space), self.filters)
            for stage in self.stages
            if isinstance(stage, Shrink)
        }
        # levels that are too many are refused before anything is computed
        self._roundtrips = {
            stage: Roundtrip(stage, (channels, *space), engine, self.filters)
            for stage in self.stages
            if isinstance(stage, Denoise | Shrink)
        }
        self._works = [self._prepare(stage) for stage in self.stages]
        self._frames = self._fuse(pair)
        # models that look at an image do so on the host
        self._follower = engine if isinstance(engine, DeviceEngine) and self._model.is_pointwise else get_engine("cpu")
        self._temporal = find_temporal_filters(self._follower)
        self._replays = Replays(engine)
        self._memory = host_memory_for(_find_device(engine))

    @property
    def _is_plain(self) -> bool:
        """Whether there is nothing to stabilise."""
        return self._model.is_additive and self._model.is_pointwise

    @property
    def joint(self) -> int:
        """How many planes are the colours of one image, the first its brightness."""
        return 1 if self._there is None else self.channels

    def run(self, pixels: Any, out: Any = None, mask: Array | None = None) -> Any:
        """Return the enhanced pixels.

        Parameters
        ----------
        pixels : array
            Space × channels, on the device of the engine, C-contiguous.
        out : array, optional
            Where they go.
        mask : ndarray of bool, optional
            Which pixels count when noise is measured.
        """
        if self._is_plain and mask is None:
            found = self._replays.find(pixels.dtype, lambda given: (self.compute(given),), (pixels,))
            if found is not None:
                return found((pixels,), None if out is None else (out,))[0]
        return self.compute(pixels, out, mask)

    def compute(self, pixels: Any, out: Any = None, mask: Array | None = None) -> Any:
        """Do what `run` does, one kernel after the other: for those who record it themselves."""
        if self._frames is not None and pixels.dtype.name in ("uint8", "uint16"):
            if out is None:
                out = self.filters.allocate_pixels(pixels.shape, pixels.dtype)
            self._frames(pixels, out)
            return out
        planes = self._enter(pixels)
        for work in self._works:
            planes = work(planes, mask, None)
        return self._leave(planes, pixels.dtype, out)

    def find_noise(self, pixels: Any) -> tuple[float, ...] | None:
        """Return the standard deviation of noise in each plane: what is known, or what the first stage measures.

        None if there is nothing that has to know it. Pixels are as in `run`.
        """
        stage = next((stage for stage in self.enhancer.stages if isinstance(stage, Denoise)), None)
        if stage is None:
            return None
        noise = self._noise
        if noise is None:
            planes = self._enter(pixels)
            for work in self._works[: self.enhancer.stages.index(stage)]:
                planes = work(planes, None, None)
            # the finest band is the same in all decimated forms, however many levels follow
            finest = Roundtrip(
                replace(stage, level=1, form="decimated", filters=()), planes.shape, self.engine, self.filters
            )
            noise = measure_planes(self.filters, finest.forward(planes))
        return tuple(np.asarray(to_host(noise), np.float64).tolist())

    def follow(self, pixels: Any, past: Past | None, motion: Any = None, steps: tuple[int, int] = (1, 1)) -> Past:
        """Average a frame of video with what is known from those before it.

        Parameters
        ----------
        pixels : array
            As in `run`; they may be on the host too, laid out in any way.
        past : Past or None
            What the frame before left; None if there is none.
        motion, steps
            As in `subband.enhance.temporal.follow`.
        """
        device = _find_device(self._follower)
        if device is not None:
            pixels = device.as_contiguous(pixels) if device.owns(pixels) else device.upload(pixels)
        if isinstance(past, DevicePast) and self._is_plain and past.shape == (self.channels, *self.space):
            known, moved = past.known, () if motion is None else motion.arrays
            arrays = pixels, *known, *moved

            def work(given: Any, *others: Any) -> Sequence[Any]:
                before = DevicePast.from_known(*others[: len(known)])
                lead = DeviceMotion(*others[len(known) :]) if moved else None
                after = self._average(given, before, lead, steps)
                assert isinstance(after, DevicePast)
                return after.arrays

            if (replay := self._replays.find(("follow", pixels.dtype, steps, len(moved)), work, arrays)) is not None:
                return DevicePast.from_arrays(replay(arrays))
        return self._average(pixels, past, motion, steps)

    def _average(self, pixels: Any, past: Past | None, motion: Any, steps: tuple[int, int]) -> Past:
        filters = find_filters(self._follower)
        planes = filters.read_pixels(self._stabilise(pixels), self._there, np.dtype(np.float32))
        sigma = self._sigma if _find_device(self._follower) is None else self._noise
        if sigma is None:
            # as `make_denoiser` finds it, whatever the stages are
            stage = Denoise(level=1, form="decimated")
            sigma = measure_planes(filters, Roundtrip(stage, planes.shape, self._follower, filters).forward(planes))
        return follow(self._temporal, past, planes, sigma, motion, steps)

    def finish(self, pixels: Any, past: Past) -> Any:
        """Return a frame after all stages, which remove what noise is left in its average.

        Nothing of it is needed for the next frame, so that it may be computed beside that.

        Parameters
        ----------
        pixels : array
            As in `follow`; the result is where they are.
        past : Past
            What `follow` returned for them. If that has nothing in common with the frames before, the result is what
            `run` returns.
        """
        device = _find_device(self.engine)
        if device is not None and not device.owns(pixels):
            there = self._finish(pixels, past)
            # memory that is not pinned would be filled at a third of the speed, while the device waits
            return device.download(there, self._memory.lend(tuple(there.shape), pixels.dtype))
        return self._finish(pixels, past)

    def _finish(self, pixels: Any, past: Past) -> Any:
        """Do what `finish` does, and leave the result where the engine computes."""
        device = _find_device(self.engine)
        if past.motion is None:
            whole = np.ascontiguousarray(pixels)
            return self.run(whole if device is None else device.upload(whole))
        if isinstance(past, DevicePast):
            arrays = past.planes, past.ratios, past.noise

            def work(averages: Any, ratios: Any, noise: Any) -> Sequence[Any]:
                return (self._enhance(averages, ratios, noise, pixels.dtype),)

            replay = self._replays.find(("finish", pixels.dtype), work, arrays) if self._is_plain else None
            return self._enhance(*arrays, pixels.dtype) if replay is None else replay(arrays)[0]
        averages = past.planes if device is None else device.upload(past.planes)
        return self._enhance(averages, past.ratios, self.filters.upload(past.noise), pixels.dtype)

    def _enhance(self, averages: Any, ratios: Any, noise: Any, dtype: Any) -> Any:
        """Return pixels from averages over time, whose noise differs from sample to sample."""
        strengths = NoiseMap(ratios, noise, self.filters, self._temporal)
        for work in self._works:
            averages = work(averages, None, strengths)
        return self._leave(averages, dtype, None)

    def analyse(self, pixels: Any, *, is_filtered: bool) -> tuple[Coefficients, Roundtrip, Any]:
        """Return the coefficients of the last stage that transforms, how they were made, and the matrix of colours."""
        indices = [i for i, stage in enumerate(self.stages) if isinstance(stage, Denoise | Shrink)]
        if not indices:
            raise ShapeError(f"{self.enhancer} does not transform; its coefficients cannot be looked at")
        planes = self._enter(pixels)
        for work in self._works[: indices[-1]]:
            planes = work(planes, None, None)
        stage = self.stages[indices[-1]]
        assert isinstance(stage, Denoise | Shrink)
        roundtrip = self._roundtrips[stage].as_decimated()
        coefficients = roundtrip.forward(planes)
        if is_filtered and roundtrip.level:
            if isinstance(stage, Shrink):
                self._shrinkers[stage](coefficients)
            else:
                noise = self._noise
                if noise is None:
                    noise = measure_planes(self.filters, coefficients)
                shrink_by_noise(stage, self.filters, coefficients, noise, int(np.prod(self.space)))
            roundtrip.apply_filters(coefficients)
        return coefficients, roundtrip, self._back

    def _fuse(self, pair: tuple[Array, Array] | None) -> FrameWork | None:
        """Return the work in one piece, if it is given thresholds and nothing else, and the engine has such a thing."""
        if len(self.stages) != 1 or not self._is_plain or self.channels not in (1, 3):
            return None
        stage = self.stages[0]
        if not isinstance(stage, Shrink) or stage.form != "decimated" or stage.filters:
            return None
        if len(self.space) != 2 or self.enhancer.precision != "float32":
            return None
        plan = self._roundtrips[stage].plan((self.channels, *self.space))
        return make_frame_program(self.engine, plan, pair, stage.spread(self.channels), stage.mode)

    def _find_sigma(self) -> Array | None:
        """Return the standard deviation of noise in each plane; None if it is to be measured."""
        sigma = self.enhancer.sigma
        if sigma is None:
            sigma = self._model.stabilised_sigma
        if sigma is None:
            return None
        numbers = np.broadcast_to(np.asarray(sigma, np.float64), _check_count(sigma, self.channels))
        if self._there is not None:
            # noise of the channels is independent, so that variances add up
            numbers = np.sqrt(np.square(self._there) @ np.square(numbers))
        return np.ascontiguousarray(numbers)

    def _enter(self, pixels: Any) -> Any:
        pixels = self._stabilise(pixels)
        return self.filters.read_pixels(pixels, self._there, self._choose_dtype(pixels.dtype))

    def _stabilise(self, pixels: Any) -> Any:
        """Return pixels whose noise is additive; a model that looks at neighbours sees one channel at a time."""
        if self._is_plain:
            return pixels
        if self._model.is_pointwise:
            return self._model.stabilise(pixels)
        return stack_last([self._model.stabilise(pixels[..., channel]) for channel in range(self.channels)])

    def _leave(self, planes: Any, dtype: Any, out: Any) -> Any:
        if self._model.is_additive:
            return self.filters.write_pixels(planes, self._back, dtype, out)
        values = self.filters.write_pixels(planes, None, planes.dtype)
        pixels = self._model.restore(values)
        if out is None and pixels.dtype == dtype:
            return pixels
        # once more through the filters, which round and clip
        return self.filters.write_pixels(self.filters.read_pixels(pixels, None, pixels.dtype), None, dtype, out)

    def _choose_dtype(self, dtype: Any) -> np.dtype[Any]:
        if np.dtype(dtype) == np.float64:
            return np.dtype(np.float64)
        # coefficients of larger numbers would be beyond the largest one
        is_small = np.dtype(dtype) in (np.uint8, np.float16)
        if self.enhancer.precision == "float16" and is_small and isinstance(self.engine, DeviceEngine):
            return np.dtype(np.float16)
        return np.dtype(np.float32)

    def _prepare(self, stage: Stage) -> Callable[[Any, Array | None, NoiseMap | None], Any]:
        """Return what a stage does to planes; a mask says where noise is measured, a map how strong it is where."""
        # none of these holds the program, whose memory of a device is free as soon as nobody has it
        if isinstance(stage, Blur | Sharpen):
            filters = self.filters
            return lambda planes, *_: apply_spatial(filters, stage, planes)
        if isinstance(stage, Shrink):
            roundtrip, shrinker = self._roundtrips[stage], self._shrinkers[stage]
            return lambda planes, *_: roundtrip.run(planes, shrinker)
        return make_denoiser(stage, self._roundtrips[stage], self._noise, self._find_refine(), self.joint)

    def _find_refine(self) -> Refine | None:
        """Return how the noise model makes noise weaker from a guess, if it can."""
        model = self._model
        before, after = model.stabilised_sigma, model.refined_sigma
        if self._model.is_additive or before is None or after is None or before == after:
            return None
        weaker = before / after
        return lambda planes, guess: (model.refine(planes, guess), weaker)


@lru_cache(maxsize=8)
def prepare_program(
    enhancer: Enhancer,
    space: tuple[int, ...],
    channels: int,
    engine: Engine,
    is_colour: bool = True,
    noise: tuple[float, ...] | None = None,
) -> Program:
    """Return a `Program`, the same one for the same images: it remembers what it has prepared."""
    return Program(enhancer, space, channels, engine, is_colour, noise)


# programs hold memory of devices
on_release(prepare_program.cache_clear)


def _find_device(engine: Engine) -> Device | None:
    """Return the device of an engine that has one."""
    return engine.device if isinstance(engine, DeviceEngine) else None


def _check_count(sigma: Any, channels: int) -> tuple[int]:
    count = np.size(sigma)
    if np.ndim(sigma) and count != channels:
        raise ShapeError(f"sigma has {count} entries, and the image has {channels} channels; give one for each")
    return (channels,)
