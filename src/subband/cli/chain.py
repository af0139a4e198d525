"""Enhancers from what stands on the command line, in the order in which it stands there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from typer.core import TyperCommand

from subband.cli.editing import read_levels
from subband.cli.spelling import rename_arguments
from subband.errors import ArgumentError

if TYPE_CHECKING:
    from subband.enhance import Enhancer
    from subband.enhance.models import NoiseModel
    from subband.enhance.stages import Stage

__all__ = [
    "CHAIN_KEY",
    "STAGE_OPTIONS",
    "ChainCommand",
    "build_stages",
    "find_part_of_white",
    "make_enhancer",
    "read_noise",
    "read_numbers",
]

#: Where the options of a chain are kept, in order, while a command is parsed.
CHAIN_KEY = "subband.chain"

#: Options that make a stage, and those that say more about the stage before them.
STAGE_OPTIONS = ("--soft", "--hard", "--garrote", "--firm", "--gains", "--blur", "--sharpen", "--denoise")
_PARTS = ("--soft", "--hard", "--garrote", "--firm")

# What says more about the stage before it: the field, and which stages have it.
_MORE = {
    "--level-weights": ("level_weights", ("shrink", "denoise")),
    "--strength": ("strength", ("denoise",)),
    "--mode": ("mode", ("denoise",)),
    "--at": ("at", ("blur", "sharpen")),
    "--levels": ("levels", ("blur", "sharpen")),
    "--kernel": ("kernel", ("sharpen",)),
}
# How messages call the stages.
_TITLES = {"shrink": "threshold", "denoise": "--denoise", "blur": "--blur", "sharpen": "--sharpen"}

# Arguments of stages that are set by the option that makes them.
_ARGUMENTS: dict[str, dict[str, tuple[str, str | None]]] = {
    "Blur": {"sigma": ("--blur", None)},
    "Sharpen": {"amount": ("--sharpen", None)},
    "Denoise": {"method": ("--denoise", None)},
}

# Thresholds on the command line are parts of white; in descriptions white is 255.
_WHITE = 255.0


class ChainCommand(TyperCommand):
    """A command that remembers in which order the options of a chain were given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note the options of the chain, and parse all as usual."""
        entries: list[tuple[str, str]] = []
        for place, word in enumerate(args):
            if word == "--":
                break
            name, equals, value = word.partition("=")
            if name in (*STAGE_OPTIONS, *_MORE):
                entries.append((name, value if equals else args[place + 1] if place + 1 < len(args) else ""))
        ctx.meta[CHAIN_KEY] = entries
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def build_stages(
    entries: Sequence[tuple[str, str]],
    wavelet: str,
    level: int | None,
    boundary: str | None = None,
    form: str | None = None,
) -> tuple[Stage, ...]:
    """Make the stages of a chain.

    Parameters
    ----------
    entries : sequence of (str, str)
        Options and their values, in order. ``--level-weights``, ``--strength``, ``--mode``, ``--at``, ``--levels`` and
        ``--kernel`` say more about the stage before them, and so does ``--gains`` after a threshold. A blur or a
        sharpening ``--at`` the coefficients belongs to the transform before it.
    wavelet, level, boundary, form
        Of all stages that transform.

    Raises
    ------
    ArgumentError
        If a value makes no sense, or nothing stands before an option that needs it.

    Examples
    --------
    >>> build_stages([("--sharpen", "0.3"), ("--blur", "1.5")], "cdf97", None)
    (Sharpen(amount=0.3, kernel='cross', at='picture', levels=None), Blur(sigma=1.5, at='picture', levels=None))
    >>> (stage,) = build_stages([("--soft", "0.1"), ("--level-weights", "1,0.5")], "haar", 2)
    >>> stage.wavelet, stage.threshold, stage.level_weights
    ('haar', 25.5, (1.0, 0.5))
    >>> (stage,) = build_stages([("--soft", "0.1"), ("--blur", "1.5"), ("--at", "approximation")], "haar", 2)
    >>> stage.filters
    (Blur(sigma=1.5, at='approximation', levels=None),)
    """
    from subband.enhance.stages import Blur, Denoise, Sharpen, Shrink

    kinds: dict[str, Any] = {"denoise": Denoise, "shrink": Shrink, "blur": Blur, "sharpen": Sharpen}
    drafts: list[tuple[str, dict[str, Any]]] = []
    for name, text in entries:
        kind, own = drafts[-1] if drafts else ("", {})
        if name in _MORE:
            field, takers = _MORE[name]
            if kind not in takers:
                places = " and no ".join(_TITLES[taker] for taker in takers)
                raise ArgumentError(f"{name} {text} stands behind no {places}; put it there")
            own[field] = _read_more(name, text)
        elif name == "--gains" and kind == "shrink" and "gains" not in own:
            own["gains"] = read_numbers(name, text)
        else:
            drafts.append(_draft_stage(name, text))
    given = {"wavelet": wavelet, "level": level, "boundary": boundary, "form": form}
    common = {name: value for name, value in given.items() if value is not None}
    return tuple(_make_stage(kinds[kind], own, common) for kind, own in _nest_filters(drafts, kinds))


def find_part_of_white(entries: Sequence[tuple[str, str]]) -> str | None:
    """Return the first option whose threshold is a part of white, which means nothing where there is no white.

    Examples
    --------
    >>> find_part_of_white([("--blur", "1"), ("--soft", "0"), ("--hard", "0.1")])
    '--hard 0.1'
    """
    found = (f"{name} {text}" for name, text in entries if name in _PARTS and any(read_numbers(name, text)))
    return next(found, None)


def make_enhancer(
    stages: Sequence[Stage],
    *,
    noise: str | None = None,
    sigma: float | None = None,
    colour: str | None = None,
    precision: str | None = None,
    base: Enhancer | None = None,
) -> Enhancer:
    """Make an enhancer of stages, after those of another one if there is one; what is not said stays as it is there."""
    from dataclasses import replace

    from subband.enhance import Enhancer

    made = replace(base, stages=(*base.stages, *stages)) if base is not None else Enhancer(tuple(stages))
    model = None if noise is None else read_noise(noise)
    given: dict[str, Any] = {"noise": model, "sigma": sigma, "colour": colour, "precision": precision}
    return replace(made, **{name: value for name, value in given.items() if value is not None})


def read_noise(text: str) -> NoiseModel:
    """Read a model of noise with its settings.

    Raises
    ------
    ArgumentError
        If there is no such model, or it has no such setting.

    Examples
    --------
    >>> read_noise("speckle:looks=4,kind=gamma")
    Speckle(looks=4.0, kind='gamma', floor=None)
    """
    from dataclasses import fields

    from subband.enhance.models import MODELS, find_model
    from subband.errors import suggest_names

    name, colon, rest = text.partition(":")
    model = find_model(name)
    if not colon:
        return model
    # every model is a dataclass, which their common base cannot say
    known = [field.name for field in fields(cast(Any, model))]
    settings: dict[str, Any] = {}
    for entry in rest.split(","):
        key, _, value = entry.partition("=")
        if key not in known or not value:
            raise ArgumentError(
                f"{entry!r} is no setting of the noise {name!r}{suggest_names(key, known)}; it has {', '.join(known)}: "
                f"write {name}:{known[0]}=1"
            )
        settings[key] = value if key == "kind" else _read_number(f"--noise {name}:{key}", value)
    return MODELS[name](**settings)


def _draft_stage(name: str, text: str) -> tuple[str, dict[str, Any]]:
    """Return which stage an option makes, and what it says about it."""
    mode = name.removeprefix("--")
    if name == "--denoise":
        return "denoise", {"method": text}
    if name == "--blur":
        return "blur", {"sigma": _read_number(name, text)}
    if name == "--sharpen":
        return "sharpen", {"amount": _read_number(name, text)}
    if name == "--gains":
        return "shrink", {"gains": read_numbers(name, text)}
    if name == "--firm":
        numbers = read_numbers(name, text)
        if len(numbers) != 2:
            raise ArgumentError(f"--firm {text} needs two thresholds, such as 0.05,0.15")
        low, high = (_check_part(name, number) * _WHITE for number in numbers)
        if high < low:
            raise ArgumentError(
                f"--firm {text} has the smaller threshold last; write --firm {numbers[1]:g},{numbers[0]:g}"
            )
        return "shrink", {"mode": mode, "threshold": low, "upper": high}
    return "shrink", {"mode": mode, "threshold": _check_part(name, _read_number(name, text)) * _WHITE}


def _read_more(name: str, text: str) -> Any:
    """Read what an option says about the stage before it."""
    if name == "--level-weights":
        return tuple(read_numbers(name, text))
    if name == "--levels":
        return read_levels(text)
    return _read_number(name, text) if name == "--strength" else text


def _nest_filters(
    drafts: Sequence[tuple[str, dict[str, Any]]], kinds: dict[str, Any]
) -> list[tuple[str, dict[str, Any]]]:
    """Put filters of coefficients into the transform before them."""
    nested: list[tuple[str, dict[str, Any]]] = []
    for kind, own in drafts:
        if kind in ("shrink", "denoise") or own.get("at", "picture") == "picture":
            nested.append((kind, own))
            continue
        transform = next((fields for other, fields in reversed(nested) if other in ("shrink", "denoise")), None)
        if transform is None:
            raise ArgumentError(
                f"--{kind} --at {own['at']} works on coefficients, and no transform stands before it; put it behind a "
                "threshold, --gains or --denoise"
            )
        transform["filters"] = (*transform.get("filters", ()), kinds[kind](**own))
    return nested


def _make_stage(kind: type[Any], own: dict[str, Any], common: dict[str, Any]) -> Stage:
    gains = own.get("gains")
    if gains is not None and len(gains) == 1:
        own["gains"] = gains[0]
    if "mode" in own or "method" in own or "gains" in own:
        if gains is not None and len(gains) > 1:
            # one gain for each level says how many there are
            own["level"] = len(gains)
        own.update(common)
    try:
        made: Stage = kind(**own)
    except ArgumentError as error:
        # what a stage calls sigma is not what --sigma sets
        raise ArgumentError(rename_arguments(str(error), _ARGUMENTS.get(kind.__name__, {}))) from error
    return made


def _check_part(name: str, number: float) -> float:
    if not 0 <= number <= 1:
        raise ArgumentError(f"{name} {number:g} is not a part of white; use a number from 0 to 1, such as 0.1")
    return number


def _read_number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"{name} {text} is not a number") from None


def read_numbers(name: str, text: str) -> list[float]:
    """Read a list such as 1,0.7,0.4.

    Examples
    --------
    >>> read_numbers("--gains", "1,0.7")
    [1.0, 0.7]
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentError(f"{name} {text} are not numbers with commas between them, such as 1,0.7,0.4") from None
