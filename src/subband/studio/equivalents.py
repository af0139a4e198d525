"""The same without the studio: command lines, Python and TOML for an enhancer."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import PurePath
from shlex import quote
from typing import Any

import numpy as np

from subband.enhance import Blur, Denoise, Enhancer, LogSpeckle, Sharpen, Shrink
from subband.enhance.methods import find_method
from subband.enhance.models import Gaussian
from subband.enhance.stages import Stage
from subband.studio.tools.base import Equivalent

__all__ = ["name_result", "spell_enhancer"]

_WHITE = 255.0


def name_result(name: str, what: str = "enhanced") -> str:
    """Return what a result may be called.

    Examples
    --------
    >>> name_result("film.mp4")
    'film-enhanced.mp4'
    """
    path = PurePath(name)
    return f"{path.stem}-{what}{path.suffix or '.png'}"


def spell_enhancer(enhancer: Enhancer, name: str, view: str = "synthesis", engine: str = "cpu") -> Equivalent:
    """Return how a file of some name is carried through an enhancer without the studio.

    Examples
    --------
    >>> print(spell_enhancer(Enhancer(Denoise("bayes", level=3)), "in.png").command)
    subband denoise in.png in-enhanced.png --method bayes --wavelet cdf97 --level 3
    >>> print(spell_enhancer(Enhancer(Blur(1.5), colour="ycbcr"), "in.png").python)
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
    own = _spell_denoise(enhancer) or _spell_filter(enhancer)
    if own is not None:
        command, options = own
        text = f"subband {command} {files}{options}{more}"
    else:
        text = f"subband filter {files}{more} --chain /dev/stdin <<'END'\n{toml}END"
    return Equivalent(text, _spell_python(enhancer, name, target, view, engine), toml)


def _spell_denoise(enhancer: Enhancer) -> tuple[str, str] | None:
    """Return the options of ``subband denoise``, if it can do that."""
    if len(enhancer.stages) != 1:
        return None
    stage = enhancer.stages[0]
    if not isinstance(stage, Denoise) or stage.filters:
        return None
    options = f" --method {stage.method} --wavelet {stage.wavelet}"
    if stage.level is not None:
        options += f" --level {stage.level}"
    if stage.strength != 1:
        options += f" --strength {stage.strength:g}"
    if stage.form != find_method(stage.method).form:
        options += f" --form {stage.form}"
    if stage.mode != "soft":
        options += f" --mode {stage.mode}"
    if stage.boundary is not None:
        options += f" --boundary {stage.boundary}"
    if stage.level_weights is not None:
        options += f" --level-weights {_join(stage.level_weights)}"
    model = enhancer.model
    if isinstance(model, LogSpeckle):
        options += " --noise log-speckle"
        options += "" if model == LogSpeckle() else f":dynamic_range={model.dynamic_range:g}"
    elif not isinstance(model, Gaussian):
        return None
    if enhancer.sigma is not None:
        options += f" --sigma {np.atleast_1d(np.asarray(enhancer.sigma, float))[0]:g}"
    if enhancer.colour != "opponents":
        options += f" --colour {enhancer.colour}"
    if enhancer.precision != "float32":
        options += f" --precision {enhancer.precision}"
    return "denoise", options


def _spell_filter(enhancer: Enhancer) -> tuple[str, str] | None:
    """Return the options of ``subband filter``, if it can do that without a file."""
    if enhancer.precision != "float32" or not isinstance(enhancer.model, Gaussian) or enhancer.sigma is not None:
        return None
    options = ""
    for stage in enhancer.stages:
        if isinstance(stage, Denoise):
            return None
        spelt = _spell_stage(stage)
        if spelt is None:
            return None
        options += spelt
    transforms = [stage for stage in enhancer.stages if isinstance(stage, Shrink)]
    if transforms:
        options += f" --wavelet {transforms[0].wavelet} --level {transforms[0].level}"
    if enhancer.colour != "ycbcr":
        options += f" --colour {enhancer.colour}"
    return "filter", options


def _spell_stage(stage: Blur | Sharpen | Shrink) -> str | None:
    if isinstance(stage, Blur):
        return f" --blur {stage.sigma:g}"
    if isinstance(stage, Sharpen):
        return f" --sharpen {stage.amount:g}"
    if stage.boundary is not None or stage.form != "decimated" or stage.filters or stage.mode == "firm":
        return None
    if np.ndim(stage.threshold) or np.ndim(stage.gains) > 1:
        return None
    text = f" --{stage.mode} {float(np.asarray(stage.threshold)) / _WHITE:.8g}"
    if stage.level_weights is not None:
        text += f" --level-weights {_join(stage.level_weights)}"
    gains = np.atleast_1d(np.asarray(stage.gains, float)).tolist()
    return text if gains == [1.0] else f"{text} --gains {_join(gains)}"


def _join(numbers: Any) -> str:
    return ",".join(f"{number:g}" for number in numbers)


def _spell_python(enhancer: Enhancer, name: str, target: str, view: str, engine: str) -> str:
    kinds = {type(stage).__name__ for stage in enhancer.stages} | {"Enhancer"}
    arguments = [f"[{', '.join(_spell_call(stage) for stage in enhancer.stages)}]"]
    if not isinstance(enhancer.model, Gaussian):
        kinds.add(type(enhancer.model).__name__)
        arguments.append(f"noise={_spell_call(enhancer.model)}")
    if enhancer.sigma is not None:
        arguments.append(f"sigma={enhancer.sigma!r}")
    arguments += [
        f"{key}={getattr(enhancer, key)!r}"
        for key, usual in (("colour", "opponents"), ("precision", "float32"))
        if getattr(enhancer, key) != usual
    ]
    more = ("" if view == "synthesis" else f", view={view!r}") + ("" if engine == "cpu" else f", engine={engine!r}")
    return (
        f"from subband.enhance import {', '.join(sorted(kinds))}\n"
        "from subband.pipeline import enhance_file\n\n"
        f"enhancer = Enhancer({', '.join(arguments)})\n"
        f"enhance_file({name!r}, {target!r}, enhancer{more})"
    )


def _spell_call(thing: Stage | Any) -> str:
    """Return the call that makes a stage or a model, without what is as usual."""
    own = []
    for each in fields(thing):
        value = getattr(thing, each.name)
        usual = each.default_factory() if each.default_factory is not MISSING else each.default
        if isinstance(thing, Denoise) and each.name == "form" and value == find_method(thing.method).form:
            continue
        if value != usual:
            own.append(f"{each.name}={value!r}")
    return f"{type(thing).__name__}({', '.join(own)})"
