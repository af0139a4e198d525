"""From the settings of the page to an `Enhancer`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from subband.enhance import Blur, Denoise, Enhancer, LogSpeckle, Sharpen, Shrink
from subband.enhance.methods import Method, find_method, list_methods
from subband.enhance.per_band import LevelWeights
from subband.enhance.stages import Stage
from subband.errors import ArgumentError, SubbandError
from subband.plan import transform_plan
from subband.settings import list_settings
from subband.studio.bands import read_gains
from subband.studio.controls import Scalar, Settings, lower_level
from subband.transforms.decomposition import choose_level, choose_modes
from subband.wavelets import as_wavelet

__all__ = [
    "SHRINKERS",
    "SPECKLE",
    "correct_settings",
    "list_denoisers",
    "make_enhancer",
    "make_view_enhancer",
    "name_setting",
]

#: Filters that shrink by a given threshold.
SHRINKERS = ("soft", "hard", "garrote", "shrinkage")

#: The filter for ultrasound: the default method with a model of the noise.
SPECKLE = "speckle"


def list_denoisers() -> tuple[str, ...]:
    """Return the filters that find out by themselves how much to remove."""
    return (*(method.name for method in list_methods()), SPECKLE)


def make_enhancer(settings: Settings) -> Enhancer:
    """Return what a filter of the page does.

    Parameters
    ----------
    settings : mapping
        Complete and resolved, with numbers where white is 255.

    Examples
    --------
    >>> from subband.studio.settings import resolve_settings
    >>> settings = resolve_settings({"tool": "enhance", "filter": "bayes", "level": 2, "bands": "1:dd=2"}).settings
    >>> print(make_enhancer(settings))
    Enhancer: denoise by bayes with cdf97, 2 levels; shrink by a soft threshold with cdf97, 2 levels
    """
    chosen = str(settings["filter"])
    level = int(settings["level"])
    gains = read_gains(str(settings["bands"]), level)
    model: Any = "gaussian"
    sigma = None
    stages: list[Stage] = []
    if chosen in SHRINKERS:
        mode = "soft" if chosen == "shrinkage" else chosen
        falloff = float(settings["falloff"]) if chosen == "shrinkage" else 1.0
        weights = _read_weights(settings, [round(falloff**step, 6) for step in range(level)])
        stages.append(
            _make_shrink(
                settings, mode=mode, threshold=float(settings["threshold"]), level_weights=weights, gains=gains
            )
        )
        gains = None
    elif chosen in list_denoisers():
        stages.append(
            Denoise(
                _read_method(list_methods()[0].name if chosen == SPECKLE else chosen, settings),
                str(settings["wavelet"]),
                level,
                strength=float(settings["strength"]),
                boundary=_read_boundary(settings),
                level_weights=_read_weights(settings, [1.0] * level),
                form=None if settings["form"] == "auto" else str(settings["form"]),
            )
        )
        if chosen == SPECKLE:
            model = LogSpeckle(dynamic_range=float(settings["dynamic_range"]))
        elif settings["noise_level"] != "auto":
            sigma = float(settings["noise_level"])
    elif chosen == "gaussian":
        stages.append(Blur(float(settings["sigma"])))
    elif chosen == "sharpen":
        stages.append(Sharpen(float(settings["amount"])))
    if gains is not None:
        stages.append(_make_shrink(settings, gains=gains))
    over_time = chosen in list_denoisers() and bool(settings["temporal"])
    return Enhancer(tuple(stages), model, sigma, str(settings["colour"]), str(settings["precision"]), over_time)


def make_view_enhancer(settings: Settings) -> Enhancer:
    """Return the enhancer whose bands a view shows: before the filter those of the frame, after it those of its result.

    A filter that does not transform is followed by a transform that changes nothing.
    """
    enhancer = make_enhancer(settings)
    plain = _make_shrink(settings)
    if settings["view"] == "analysis":
        return replace(enhancer, stages=(plain,), noise="gaussian", sigma=None)
    if enhancer.stages and isinstance(enhancer.stages[-1], Shrink | Denoise):
        return enhancer
    return replace(enhancer, stages=(*enhancer.stages, plain))


def correct_settings(settings: dict[str, Scalar], shape: tuple[int, ...] | None) -> Iterator[str]:
    """Change settings that do not go together, and say why; see `Tool.correct`."""
    wavelet = as_wavelet(str(settings["wavelet"]))
    if settings["form"] == "dual-tree" and not wavelet.is_whole_sample_symmetric:
        settings["form"] = "auto"
        yield f"The dual tree takes symmetric wavelets such as cdf97, not {wavelet.name}; the form is chosen by itself."
    always_mirrors = {"undecimated": "An undecimated", "dual-tree": "A dual-tree"}.get(str(settings["form"]))
    if always_mirrors and settings["boundary"] != "auto" and settings["filter"] != "none":
        settings["boundary"] = "auto"
        yield f"{always_mirrors} transform always mirrors; the boundary is chosen by itself."
    try:
        modes = choose_modes(_read_boundary(settings), (wavelet,) * 2, (0, 1))
        # not every wavelet can take every mode, which a plan finds out
        transform_plan((256, 256), (0, 1), (wavelet,) * 2, modes, 1)
    except SubbandError as error:
        settings["boundary"] = "auto"
        modes = choose_modes(None, (wavelet,) * 2, (0, 1))
        yield f"{error}; the boundary is chosen by itself."
    for name, what in (("bands", "gains"), ("thresholds", "weights")):
        try:
            read_gains(str(settings[name]), int(settings["level"]), name)
        except ArgumentError as error:
            settings[name] = ""
            yield f"{error}; all {what} are 1."
    if shape is not None:
        level = _fit_level(int(settings["level"]), shape[:2], settings, modes)
        if level != settings["level"]:
            yield f"{shape[1]} × {shape[0]} pixels have {level} levels at most with {settings['wavelet']}."
            settings["level"] = level
    if settings["precision"] == "float16" and settings["engine"] == "cpu":
        yield "The CPU computes in 32 bits; 16 bits are for devices."


def _fit_level(level: int, space: tuple[int, ...], settings: Settings, modes: tuple[str, ...]) -> int:
    """Return the largest number of levels up to `level` that an image has."""
    wavelets = (as_wavelet(str(settings["wavelet"])),) * 2
    is_stationary = settings["form"] == "undecimated"
    return lower_level(level, lambda each: choose_level(each, space, (0, 1), wavelets, modes, is_stationary), 0)


def _make_shrink(settings: Settings, *, gains: tuple[tuple[float, ...], ...] | None = None, **more: Any) -> Shrink:
    if gains is not None:
        is_even = all(gain == row[0] for row in gains for gain in row)
        more["gains"] = tuple(row[0] for row in gains) if is_even else tuple(tuple((g,) for g in row) for row in gains)
    form = str(settings["form"])
    return Shrink(
        str(settings["wavelet"]),
        int(settings["level"]),
        boundary=_read_boundary(settings),
        form="decimated" if form == "auto" else form,
        **more,
    )


def _read_weights(settings: Settings, of_levels: list[float]) -> LevelWeights | None:
    """Return what the thresholds of levels and directions are multiplied by; None if by nothing."""
    rows = read_gains(str(settings["thresholds"]), len(of_levels), "thresholds")
    if rows is None:
        return tuple(of_levels) if set(of_levels) - {1.0} else None
    weights = [tuple(round(weight * each, 6) for each in row) for weight, row in zip(of_levels, rows, strict=True)]
    return tuple(row[0] if len(set(row)) == 1 else row for row in weights)


def name_setting(method: Method, name: str) -> str:
    """Return what the page calls a setting of a method."""
    return f"{method.name}_{name}"


def _read_method(name: str, settings: Settings) -> Method:
    """Return a method with its own settings."""
    method = find_method(name)
    own: dict[str, Any] = {each: settings[name_setting(method, each)] for each in list_settings(method)}
    return replace(method, **{each: None if value == "auto" else value for each, value in own.items()})


def _read_boundary(settings: Settings) -> str | None:
    return None if settings["boundary"] == "auto" else str(settings["boundary"])
