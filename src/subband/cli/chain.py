"""Enhancers from the options of a command line, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any

from typer.core import TyperCommand

from subband.cli.editing import read_levels
from subband.cli.option_names import rename_arguments
from subband.cli.settings import Command, add_options, make_option
from subband.enhance import Enhancer
from subband.enhance.description import STAGES
from subband.enhance.per_band import DETAILS
from subband.enhance.stages import Stage
from subband.errors import ArgumentError
from subband.settings import Setting, list_settings, name_option, read_directions, read_numbers

__all__ = [
    "CHAIN_KEY",
    "STAGE_OPTIONS",
    "ChainCommand",
    "build_stages",
    "find_part_of_white",
    "make_enhancer",
    "take_chain",
]

#: Where the options of a chain are kept, in order, while a command is parsed.
CHAIN_KEY = "subband.chain"

_THRESHOLD = "threshold as a part of white, from 0 to 1"

#: Options that make a stage, with what stands for their value and what they do.
STAGE_OPTIONS = {
    "--soft": ("T", f"Shrink by a soft {_THRESHOLD}."),
    "--hard": ("T", f"Shrink by a hard {_THRESHOLD}."),
    "--garrote": ("T", f"Shrink by a garrote {_THRESHOLD}."),
    "--firm": ("LOW,HIGH", "Shrink between two thresholds."),
    "--gains": ("G,G,...", list_settings(STAGES["shrink"])["gains"].help),
    "--blur": ("S", "Blur by a Gaussian with this standard deviation in pixels."),
    "--sharpen": ("A", "Sharpen by subtracting this multiple of the Laplacian."),
    "--denoise": ("METHOD", "As `subband denoise --method`."),
}
_PARTS = ("--soft", "--hard", "--garrote", "--firm")

# Settings of stages that are said by what makes them, or once for all.
_SAID = {
    "shrink": ("mode", "threshold", "upper", "gains"),
    "denoise": ("method",),
    "blur": ("sigma",),
    "sharpen": ("amount",),
}
_COMMON = ("wavelet", "level", "boundary", "form")

# How messages call the stages.
_TITLES = {"shrink": "threshold", "denoise": "--denoise", "blur": "--blur", "sharpen": "--sharpen"}


def _list_more() -> dict[str, tuple[Setting, tuple[str, ...]]]:
    """Return the options that say more about the stage before them: the setting, and which stages have it."""
    found: dict[str, tuple[Setting, tuple[str, ...]]] = {}
    for kind, said in _SAID.items():
        for name, about in list_settings(STAGES[kind]).items():
            if name not in (*said, *_COMMON):
                first, takers = found.get(name_option(name), (about, ()))
                found[name_option(name)] = (first, (*takers, kind))
    return found


_MORE = _list_more()

# Arguments of stages that are set by the option that makes them.
_ARGUMENTS: dict[str, dict[str, tuple[str, str | None]]] = {
    "Blur": {"sigma": ("--blur", None)},
    "Sharpen": {"amount": ("--sharpen", None)},
    "Denoise": {"method": ("--denoise", None)},
}


def take_chain(function: Command) -> Command:
    """Give a command the options of a chain, whose values a `ChainCommand` keeps in their order."""
    texts, numbers = list[str] | None, list[float] | None
    options = [
        make_option(Setting(text, name.removeprefix("--")), None, kind=texts, metavar=metavar)
        for name, (metavar, text) in STAGE_OPTIONS.items()
    ]
    for about, takers in _MORE.values():
        prefix = f"For the {' or '.join(_TITLES[kind] for kind in takers)} before: "
        options.append(make_option(about, None, kind=numbers if about.kind is float else texts, prefix=prefix))
    names = {option.name for option in options}

    @wraps(function)
    def command(**given: Any) -> None:
        function(**{name: value for name, value in given.items() if name not in names})

    return add_options(command, options, signature(function, eval_str=True))


class ChainCommand(TyperCommand):
    """A command that remembers in which order the options of a chain were given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note the options of the chain, and parse all of them."""
        entries: list[tuple[str, str]] = []
        for index, word in enumerate(args):
            if word == "--":
                break
            name, equals, value = word.partition("=")
            if name in (*STAGE_OPTIONS, *_MORE):
                entries.append((name, value if equals else args[index + 1] if index + 1 < len(args) else ""))
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
    drafts: list[tuple[str, dict[str, Any]]] = []
    for name, text in entries:
        kind, own = drafts[-1] if drafts else ("", {})
        if name in _MORE:
            about, takers = _MORE[name]
            if kind not in takers:
                titles = " and no ".join(_TITLES[taker] for taker in takers)
                raise ArgumentError(f"{name} {text} stands behind no {titles}; put it there")
            own[about.name] = _read_more(name, about, text)
        elif name == "--gains" and kind == "shrink" and "gains" not in own:
            own["gains"] = read_directions(name, text)
        else:
            drafts.append(_draft_stage(name, text))
    given = {"wavelet": wavelet, "level": level, "boundary": boundary, "form": form}
    common = {name: value for name, value in given.items() if value is not None}
    return tuple(_make_stage(STAGES[kind], own, common) for kind, own in _nest_filters(drafts))


def find_part_of_white(entries: Sequence[tuple[str, str]]) -> str | None:
    """Return the first option whose threshold is a part of white, which applies to images and video only.

    Examples
    --------
    >>> find_part_of_white([("--blur", "1"), ("--soft", "0"), ("--hard", "0.1")])
    '--hard 0.1'
    """
    found = (f"{name} {text}" for name, text in entries if name in _PARTS and any(read_numbers(name, text)))
    return next(found, None)


def make_enhancer(base: Enhancer, given: Mapping[str, Any], stages: Sequence[Stage] = ()) -> Enhancer:
    """Return an enhancer with further stages, and with those settings that are given."""
    changes = {name: value for name, value in given.items() if value is not None}
    return replace(base, stages=(*base.stages, *stages), **changes)


def _draft_stage(name: str, text: str) -> tuple[str, dict[str, Any]]:
    """Return which stage an option makes, and what it says about it."""
    from subband.pipeline.units import WHITE

    mode = name.removeprefix("--")
    if name == "--denoise":
        return "denoise", {"method": text}
    if name == "--blur":
        return "blur", {"sigma": _read_number(name, text)}
    if name == "--sharpen":
        return "sharpen", {"amount": _read_number(name, text)}
    if name == "--gains":
        return "shrink", {"gains": read_directions(name, text)}
    if name == "--firm":
        numbers = read_numbers(name, text)
        if len(numbers) != 2:
            raise ArgumentError(f"--firm {text} needs two thresholds, such as 0.05,0.15")
        low, high = (_check_part(name, number) * WHITE for number in numbers)
        if high < low:
            raise ArgumentError(
                f"--firm {text} has the smaller threshold last; write --firm {numbers[1]:g},{numbers[0]:g}"
            )
        return "shrink", {"mode": mode, "threshold": low, "upper": high}
    return "shrink", {"mode": mode, "threshold": _check_part(name, _read_number(name, text)) * WHITE}


def _read_more(name: str, about: Setting, text: str) -> Any:
    """Read what an option says about the stage before it."""
    return read_levels(text) if about.item is int else replace(about, name=name).read(text)


def _nest_filters(drafts: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
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
        transform["filters"] = (*transform.get("filters", ()), STAGES[kind](**own))
    return nested


def _make_stage(kind: type[Any], own: dict[str, Any], common: dict[str, Any]) -> Stage:
    gains = own.get("gains")
    if gains is not None and any(isinstance(gain, tuple) for gain in gains):
        # levels × bands × channels
        rows = [gain if isinstance(gain, tuple) else (gain,) * len(DETAILS) for gain in gains]
        own["gains"] = [[(gain,) for gain in row] for row in rows]
    elif gains is not None and len(gains) == 1:
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
