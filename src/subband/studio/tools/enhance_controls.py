"""The controls of the tool that enhances."""

from __future__ import annotations

from functools import cache

from subband.boundary import MODES
from subband.enhance.methods import list_methods
from subband.studio.chains import SHRINKERS, SPECKLE, list_denoisers
from subband.studio.controls import Control, choose, give_bands, search, slide
from subband.studio.hardware import list_engines
from subband.wavelets import wavelist

__all__ = [
    "VIEWS",
    "list_controls",
    "list_engine_control",
    "list_filters",
    "list_wavelet_control",
    "list_working_controls",
]

#: Filters that are told what to do, and their titles, in the order of the page.
_TOLD = (
    ("none", "Pass through"),
    ("gaussian", "Gaussian blur"),
    ("sharpen", "Sharpen"),
    ("soft", "Soft threshold"),
    ("hard", "Hard threshold"),
    ("garrote", "Garrote threshold"),
    ("shrinkage", "Wavelet shrinkage"),
)

#: What is shown.
VIEWS = (
    ("synthesis", "Result"),
    ("split", "Before and after"),
    ("analysis", "Bands"),
    ("filtered-analysis", "Filtered bands"),
)

_FORMS = (
    ("auto", "Automatic"),
    ("decimated", "Decimated"),
    ("spun", "Spun: two positions"),
    ("undecimated", "Undecimated"),
)


def list_filters() -> tuple[tuple[str, str], ...]:
    """Return all filters and their titles, in the order of the page."""
    # the simplest first, and the default method as the best but one
    methods = tuple((method.name, method.title) for method in reversed(list_methods()))
    return (*_TOLD, *methods, (SPECKLE, "Speckle of ultrasound"))


def list_controls() -> tuple[Control, ...]:
    """Return all controls, in the order of the page."""
    return _list_controls(list_filters())


@cache
def _list_controls(filters: tuple[tuple[str, str], ...]) -> tuple[Control, ...]:
    denoisers = list_denoisers()
    from_picture = [name for name in denoisers if name != SPECKLE]
    return (
        choose("view", "View", "synthesis", VIEWS, group="View"),
        choose("filter", "Filter", "soft", filters, group="Filter"),
        slide(
            "threshold", "Threshold", 12, 0, 128, 0.5, unit="of 255", group="Filter", shown={"filter": SHRINKERS},
            help="Coefficients that are smaller count as noise.",
        ),
        slide(
            "falloff", "Falls per level to", 0.6, 0, 1, 0.05, group="Filter", shown={"filter": ("shrinkage",)},
            help="What the threshold is multiplied by from one level to the next coarser one.",
        ),
        slide("sigma", "Radius", 1.5, 0.3, 10, 0.1, unit="pixels", group="Filter", shown={"filter": ("gaussian",)}),
        slide("amount", "Amount", 0.5, 0, 3, 0.05, group="Filter", shown={"filter": ("sharpen",)}),
        slide(
            "strength", "Strength", 1, 0, 3, 0.05, group="Filter", shown={"filter": denoisers},
            help="1 removes the noise that there is; more also removes faint structure.",
        ),
        slide(
            "noise_level", "Noise", "auto", 0, 100, 0.5, unit="of 255", group="Filter", shown={"filter": from_picture},
            help="Standard deviation of the noise; measured in each frame if automatic.",
            more={"auto": True, "auto_value": 20},
        ),
        slide(
            "dynamic_range", "Dynamic range", 60, 20, 120, 1, unit="dB", group="Filter",
            shown={"filter": ("speckle",)}, help="Decibels between black and white of the scanner.",
        ),
        list_wavelet_control(),
        slide("level", "Levels", 4, 1, 8, 1, group="Transform"),
        choose(
            "boundary", "Boundary", "auto", (("auto", "Automatic"), *((mode, mode) for mode in MODES)),
            group="Transform", help="How the picture goes on outside its borders.",
        ),
        choose("form", "Form", "auto", _FORMS, group="Transform"),
        choose(
            "colour", "Colours", "opponents",
            (("opponents", "Opponents"), ("ycbcr", "Y'CbCr"), ("rgb", "Red, green, blue")), group="Transform",
            help="What red, green and blue are turned into before they are filtered.",
        ),
        give_bands("bands", "Gains of bands", group="Bands", help="What each band is multiplied by."),
        choose(
            "added_noise", "Added noise", "none",
            (("none", "None"), ("gaussian", "Gaussian"), ("speckle", "Speckle")), group="Noise",
            help="Added before the filter, to judge it.",
        ),
        slide(
            "added_sigma", "Its deviation", 20, 0, 100, 0.5, unit="of 255", group="Noise",
            shown={"added_noise": ("gaussian", "speckle")},
        ),
        choose(
            "precision", "Precision", "float32", (("float32", "32 bits"), ("float16", "16 bits")), group="Computing",
            help="How devices store coefficients.",
        ),
        *list_working_controls(),
    )  # fmt: skip


@cache
def list_working_controls() -> tuple[Control, ...]:
    """Return the controls that every tool has: who computes, how fast film goes, and how frames are sent."""
    return (
        list_engine_control(),
        choose(
            "pace", "Pace of film", "film", (("film", "As it was filmed"), ("fast", "As fast as possible")),
            group="Computing",
        ),
        choose(
            "format", "Sent as", "auto",
            (("auto", "Automatic"), ("raw", "Raw"), ("jpeg", "JPEG"), ("webp", "WebP"), ("png", "PNG")),
            group="Computing", help="Raw frames are exact; a slow link needs JPEG.",
        ),
    )  # fmt: skip


@cache
def list_wavelet_control() -> Control:
    """Return the choice of the wavelet."""
    return search("wavelet", "Wavelet", "cdf97", _list_wavelets(), group="Transform")


@cache
def list_engine_control() -> Control:
    """Return the choice of who computes."""
    engines = tuple((engine.name, engine.title) for engine in list_engines())
    return choose("engine", "Engine", "cpu", engines, group="Computing")


def _list_wavelets() -> tuple[tuple[str, str], ...]:
    """Return all wavelets, those of JPEG 2000 first."""
    names = dict.fromkeys([*wavelist("cdf")[::-1], "haar", *wavelist(kind="discrete")])
    titles = {"cdf97": "cdf97 (CDF 9/7, JPEG 2000)", "cdf53": "cdf53 (CDF 5/3, JPEG 2000)"}
    return tuple((name, titles.get(name, name)) for name in names)
