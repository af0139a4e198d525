"""The same without the studio: command lines, Python and TOML for an enhancer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from shlex import quote

import numpy as np

from subband.enhance import Blur, Denoise, Enhancer, Sharpen, Shrink
from subband.media.formats import split_ending
from subband.pipeline.units import WHITE
from subband.settings import format_call, format_name, format_number, format_options, format_value, list_changes
from subband.studio.tools.base import Equivalent

__all__ = ["format_enhancer", "name_result"]


def name_result(name: str, what: str = "enhanced") -> str:
    """Return what a result may be called.

    Examples
    --------
    >>> name_result("video.mp4"), name_result("scan.nii.gz")
    ('video-enhanced.mp4', 'scan-enhanced.nii.gz')
    """
    ending = split_ending(name)[1]
    # as it is written, for endings come in small letters
    ending = PurePath(name).name[-len(ending) :] if ending else ""
    return f"{PurePath(name).name.removesuffix(ending)}-{what}{ending or '.png'}"


def format_enhancer(enhancer: Enhancer, name: str, view: str = "synthesis", engine: str = "cpu") -> Equivalent:
    """Return the command line, Python and TOML that apply an enhancer to a file of some name.

    Examples
    --------
    >>> print(format_enhancer(Enhancer(Denoise("bayes", level=3)), "in.png").command)
    subband denoise in.png in-enhanced.png --method bayes --wavelet cdf97 --level 3
    >>> print(format_enhancer(Enhancer(Blur(1.5), colour="ycbcr"), "in.png").python)
    from subband.enhance import Blur, Enhancer
    from subband.pipeline import enhance_file
    <BLANKLINE>
    enhancer = Enhancer([Blur(sigma=1.5)], colour='ycbcr')
    enhance_file('in.png', 'in-enhanced.png', enhancer)
    """
    target = name_result(name)
    files = f"{quote(name)} {quote(target)}"
    more = ("" if view == "synthesis" else f" --view {view}") + ("" if engine == "cpu" else f" --engine {engine}")
    toml = enhancer.to_toml()
    own = _format_denoise(enhancer) or _format_filter(enhancer)
    if own is not None:
        command, options = own
        text = f"subband {command} {files}{options}{more}"
    else:
        text = f"subband filter {files}{more} --chain /dev/stdin <<'END'\n{toml}END"
    return Equivalent(text, _format_python(enhancer, name, target, view, engine), toml)


def _format_denoise(enhancer: Enhancer) -> tuple[str, str] | None:
    """Return the options of ``subband denoise``, if it can do that."""
    if len(enhancer.stages) != 1:
        return None
    stage, settings = enhancer.stages[0], _format_settings(enhancer)
    if not isinstance(stage, Denoise) or stage.filters or settings is None:
        return None
    words = f" --method {quote(str(stage.method))} --wavelet {stage.wavelet}"
    return "denoise", words + format_options(stage, ("method", "wavelet")) + settings


def _format_filter(enhancer: Enhancer) -> tuple[str, str] | None:
    """Return the options of ``subband filter``, if it can do that without a file."""
    words = [None if isinstance(stage, Denoise) else _format_stage(stage) for stage in enhancer.stages]
    words.append(_format_settings(enhancer))
    transforms = [stage for stage in enhancer.stages if isinstance(stage, Shrink)]
    if transforms:
        words.insert(-1, f" --wavelet {transforms[0].wavelet} --level {transforms[0].level}")
    options = "".join(word for word in words if word is not None)
    return None if None in words else ("filter", options)


def _format_settings(enhancer: Enhancer) -> str | None:
    """Return the options for all but the stages, if the command line can say it."""
    if isinstance(enhancer.sigma, Sequence):
        return None
    noise = "" if "noise" not in list_changes(enhancer) else f" --noise {quote(format_name(enhancer.model))}"
    return noise + format_options(enhancer, ("noise",))


def _format_stage(stage: Blur | Sharpen | Shrink) -> str | None:
    if isinstance(stage, Blur):
        return f" --blur {format_number(stage.sigma)}"
    if isinstance(stage, Sharpen):
        return f" --sharpen {format_number(stage.amount)}"
    if stage.boundary is not None or stage.form != "decimated" or stage.filters or stage.mode == "firm":
        return None
    gains = np.atleast_1d(np.asarray(stage.gains, float))
    if gains.ndim == 3 and gains.shape[2] == 1:
        gains = gains[..., 0]
    elif gains.ndim > 1:
        # of channels, which the command line has no word for
        return None
    if np.ndim(stage.threshold):
        return None
    part = _find_part(float(np.asarray(stage.threshold)))
    if part is None:
        return None
    text = f" --{stage.mode} {part}"
    if stage.level_weights is not None:
        text += f" --level-weights {format_value(stage.level_weights)}"
    return text if gains.tolist() == [1.0] else f"{text} --gains {format_value(gains.tolist())}"


def _find_part(threshold: float) -> str | None:
    """Return a threshold as a part of white that is read as exactly that threshold, if there is one.

    Examples
    --------
    >>> _find_part(25.5), float(_find_part(12.0)) * 255
    ('0.1', 12.0)
    """
    near = threshold / WHITE
    for part in (near, np.nextafter(near, 1), np.nextafter(near, 0)):
        if 0 <= part <= 1 and part * WHITE == threshold:
            return format_number(float(part))
    return None


def _format_python(enhancer: Enhancer, name: str, target: str, view: str, engine: str) -> str:
    kinds = {type(stage).__name__ for stage in enhancer.stages} | {"Enhancer"}
    arguments = [f"[{', '.join(format_call(stage) for stage in enhancer.stages)}]"]
    for key, value in list_changes(enhancer).items():
        if key != "stages":
            arguments.append(f"{key}={(format_name(enhancer.model) if key == 'noise' else value)!r}")
    more = ("" if view == "synthesis" else f", view={view!r}") + ("" if engine == "cpu" else f", engine={engine!r}")
    return (
        f"from subband.enhance import {', '.join(sorted(kinds))}\n"
        "from subband.pipeline import enhance_file\n\n"
        f"enhancer = Enhancer({', '.join(arguments)})\n"
        f"enhance_file({name!r}, {target!r}, enhancer{more})"
    )
