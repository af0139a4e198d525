"""The controls of the tool that enhances."""

from __future__ import annotations

from functools import cache

from subband.enhance import Blur, Denoise, Enhancer, LogSpeckle, Sharpen, Shrink
from subband.enhance.methods import list_methods
from subband.settings import list_settings
from subband.studio.chains import SHRINKERS, SPECKLE, list_denoisers, name_setting
from subband.studio.controls import (
    Control,
    choose,
    give_bands,
    give_thresholds,
    give_window,
    make_control,
    make_controls,
    slide,
    switch,
)
from subband.studio.guidance import explain_filters, explain_wavelets
from subband.studio.hardware import list_engines
from subband.studio.levels import COLOUR_MAPS

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
    ("removed", "Removed"),
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
    from_image = [name for name in denoisers if name != SPECKLE]
    # a page starts with what can be seen
    return (
        choose("view", "View", "synthesis", VIEWS, group="View"),
        choose("filter", "Filter", "soft", filters, group="Filter", more={"lines": explain_filters()}),
        *make_controls(Shrink, "threshold", {"threshold": 12}, group="Filter", shown={"filter": SHRINKERS}),
        slide(
            "falloff", "Falls per level to", 0.6, 0, 1, 0.05, group="Filter", shown={"filter": ("shrinkage",)},
            help="What the threshold is multiplied by from one level to the next coarser one.",
        ),
        *make_controls(Blur, "sigma", {"sigma": 1.5}, group="Filter", shown={"filter": ("gaussian",)}),
        *make_controls(Sharpen, "amount", group="Filter", shown={"filter": ("sharpen",)}),
        *make_controls(Denoise, "strength", group="Filter", shown={"filter": denoisers}),
        *(
            make_control(about, name=name_setting(method, name), group="Filter", shown={"filter": (method.name,)})
            for method in list_methods()
            for name, about in list_settings(method).items()
        ),
        *make_controls(
            Enhancer, "sigma", {"sigma": 20}, name="noise_level", group="Filter", shown={"filter": from_image},
            help="Standard deviation of the noise; measured in each frame if automatic.",
        ),
        *make_controls(Enhancer, "temporal", group="Filter", shown={"filter": denoisers}),
        switch(
            "volumetric", "In three dimensions", group="Filter", shown={"filter": (*SHRINKERS, *denoisers)},
            help="On the block of slices around the one that is shown, as files of volumes are filtered.",
            more={"only": "volume"},
        ),
        *make_controls(LogSpeckle, "dynamic_range", group="Filter", shown={"filter": (SPECKLE,)}),
        list_wavelet_control(),
        *make_controls(Shrink, "level", {"level": 4}, group="Transform"),
        *make_controls(Denoise, "boundary form", group="Transform"),
        *make_controls(Enhancer, "colour", group="Transform"),
        give_bands(
            "bands", "Gains of bands", group="Bands",
            help="Drag a number up for more of a band, down for less; the line in its bar is the threshold.",
            more={"thresholds": "thresholds"},
        ),
        give_thresholds("thresholds", "Thresholds of bands", shown={"filter": (*SHRINKERS, *denoisers)}),
        choose(
            "added_noise", "Added noise", "none",
            (("none", "None"), ("gaussian", "Gaussian"), ("speckle", "Speckle")), group="Noise",
            help="Added before the filter, to judge it.",
        ),
        slide(
            "added_sigma", "Its deviation", 20, 0, 100, 0.5, unit="of 255", group="Noise",
            shown={"added_noise": ("gaussian", "speckle")},
        ),
        *list_working_controls(),
        *make_controls(Enhancer, "precision", group="Computing"),
    )  # fmt: skip


@cache
def list_working_controls() -> tuple[Control, ...]:
    """Return the controls that every tool has: display, engine, pace of video, and how frames are sent."""
    return (
        give_window("display_window", "Black and white", group="Display"),
        slide(
            "display_gamma", "Gamma", 1, 0.2, 5, 0.05, group="Display",
            help="Above 1, what is between black and white becomes brighter.",
        ),
        choose(
            "display_colours", "Colours", "grey", tuple((name, title) for name, (title, _) in COLOUR_MAPS.items()),
            group="Display", help="Of images of one channel.",
        ),
        list_engine_control(),
        choose(
            "pace", "Pace of video", "film", (("film", "As it was filmed"), ("fast", "As fast as possible")),
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
    return make_control(list_settings(Denoise)["wavelet"], group="Transform", more={"lines": explain_wavelets()})


@cache
def list_engine_control() -> Control:
    """Return the choice of the engine."""
    engines = tuple((engine.name, engine.title) for engine in list_engines())
    return choose("engine", "Engine", "cpu", engines, group="Computing")
