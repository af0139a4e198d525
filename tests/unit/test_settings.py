"""What a setting is, and that options, controls and functions have its default and no other."""

import inspect
from dataclasses import dataclass, fields

import numpy as np
import pytest

import subband
from subband.cli.group import walk_commands
from subband.edit import EdgeFinder, Fusion, Lighting, Style
from subband.enhance import Blur, Denoise, Enhancer, LogSpeckle, PoissonGaussian, Sharpen, Shrink, Speckle
from subband.enhance.models import find_model
from subband.errors import ArgumentError, ArgumentTypeError
from subband.settings import (
    check_settings,
    format_call,
    format_name,
    format_options,
    list_changes,
    list_settings,
    make_settings_table,
    read_call,
    setting,
)
from subband.studio.controls import make_control
from subband.studio.settings import resolve_settings
from subband.studio.tools.lookup import TOOLS

CLASSES = [
    Blur, Denoise, EdgeFinder, Enhancer, Fusion, Lighting, LogSpeckle, PoissonGaussian, Sharpen, Shrink, Speckle, Style,
]  # fmt: skip

#: Where a page starts so that something is seen, and a camera so that it keeps up.
STARTS = {"enhance": {"threshold", "sigma", "level"}}
LIVE = {"level", "form"}


@dataclass(frozen=True)
class Brush:
    """Settings of a brush."""

    width: float = setting(1.0, "How wide it is.", least=0, is_open=True, unit="pixels")
    opacity: float = setting(1.0, "How much it covers.", least=0, most=1)
    shape: str = setting("round", "Of its tip.", choices={"round": "Round", "flat": "Flat"})
    bristles: int | None = setting(None, "How many.", least=1)
    is_wet: bool = setting(False, "Whether it drips.")
    colours: tuple[float, ...] | None = setting(None, "Which.")
    name: str = "brush"

    def __post_init__(self):
        check_settings(self)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"width": 0}, ArgumentError, "width=0 is not positive; use a number above 0"),
        ({"width": "wide"}, ArgumentTypeError, "width='wide' is not a number"),
        ({"width": True}, ArgumentTypeError, "width=True is not a number"),
        ({"width": np.ones(2)}, ArgumentTypeError, "is not a number"),
        ({"width": np.inf}, ArgumentError, "width=inf is not finite"),
        ({"opacity": 1.5}, ArgumentError, r"opacity=1\.5 is out of range; use a number from 0 to 1"),
        ({"shape": "rund"}, ArgumentError, "shape='rund' is not known; did you mean 'round'.*use one of round, flat"),
        ({"bristles": 0}, ArgumentError, "bristles=0"),
    ],
)
def test_values_that_are_refused(values, error, message):
    with pytest.raises(error, match=message):
        Brush(**values)


def test_numbers_become_floats():
    assert repr(Brush(width=np.float32(2), bristles=3).width) == "2.0"


@pytest.mark.parametrize(
    "brush", [Brush(), Brush(width=1 / 3, shape="flat"), Brush(bristles=4, is_wet=True), Brush(colours=(1.0,))]
)
def test_texts_are_read_as_the_same(brush):
    assert read_call(format_name(brush), lambda _: Brush(), "brush") == brush
    assert eval(format_call(brush)) == brush


def test_changes():
    brush = Brush(width=2.5, shape="flat", name="mine")
    assert list_changes(brush) == {"width": 2.5, "shape": "flat", "name": "mine"}
    assert format_options(brush) == " --width 2.5 --shape flat"
    assert format_options(brush, without=("shape",)) == " --width 2.5"


def test_what_fields_say():
    known = list_settings(Brush)
    assert [about.kind for about in known.values()] == [float, float, str, int, bool, tuple]
    assert known["is_wet"].label == "Is wet"
    assert make_settings_table(Brush)[2:5] == [
        "| `width` | 1.0 | a number above 0 (pixels) | How wide it is. |",
        "| `opacity` | 1.0 | a number from 0 to 1 | How much it covers. |",
        "| `shape` | `round` | `round`, `flat` | Of its tip. |",
    ]


def test_controls():
    controls = {name: make_control(about) for name, about in list_settings(Brush).items() if name != "colours"}
    assert {name: control.kind for name, control in controls.items()} == {
        "width": "range", "opacity": "range", "shape": "choice", "bristles": "range", "is_wet": "flag",
    }  # fmt: skip
    assert controls["bristles"].default == "auto"
    assert (controls["opacity"].least, controls["opacity"].most) == (0, 1)
    assert controls["shape"].options == (("round", "Round"), ("flat", "Flat"))


@pytest.mark.parametrize("kind", CLASSES)
def test_every_class_says_all_about_its_settings(kind):
    for name, about in list_settings(kind).items():
        assert about.help.endswith("."), name
        assert "\n" not in about.help
        assert about.check(about.default) == about.default


def test_options_start_from_the_defaults_of_the_classes():
    commands = {
        "denoise": (Denoise, Enhancer), "camera": (Denoise, Enhancer), "edges": (EdgeFinder,), "stylise": (Style,),
        "relight": (Lighting,), "fuse": (Fusion,), "noise": (Enhancer,),
    }  # fmt: skip
    checked = set()
    for name, kinds in commands.items():
        known = {key: about for kind in kinds for key, about in list_settings(kind).items()}
        for option in walk_commands()[name].params:
            if option.name in known and option.default is not None and not (name == "camera" and option.name in LIVE):
                assert option.default == known[option.name].default, (name, option.name)
                checked.add((name, option.name))
    assert len(checked) > 25


def test_controls_start_from_the_defaults_of_the_classes():
    known = {
        "enhance": (Blur, Sharpen, Shrink, Denoise, Enhancer), "edges": (EdgeFinder,), "stylise": (Style,),
        "relight": (Lighting,), "fuse": (Fusion,),
    }  # fmt: skip
    for tool, kinds in known.items():
        found = {control.name: control for control in TOOLS[tool].controls}
        for kind in kinds:
            for name, about in list_settings(kind).items():
                if name in found and name not in STARTS.get(tool, ()) and kind is not Shrink:
                    expected = "auto" if about.default is None else about.default
                    assert found[name].default == expected, (tool, name)


def test_there_is_one_colour_space():
    assert resolve_settings({}).settings["colour"] == Enhancer().colour
    assert inspect.signature(subband.denoise).parameters["colour"].default == Enhancer().colour


def test_defaults_of_denoise():
    parameters = inspect.signature(subband.denoise).parameters
    for kind in (Denoise, Enhancer):
        for each in fields(kind):
            if each.name in parameters:
                assert parameters[each.name].default == each.default, each.name


def test_models_by_name():
    assert find_model("speckle:looks=4,kind=gamma") == Speckle(4.0, "gamma")
    assert Enhancer(noise="poisson:gain=2") == Enhancer(noise=PoissonGaussian(2.0))
    with pytest.raises(ArgumentError, match="'look=4' is no setting of the noise 'speckle'; did you mean 'looks'"):
        find_model("speckle:look=4")
