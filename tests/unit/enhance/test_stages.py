"""Stages are data that can be compared and printed, and refuse what makes no sense."""

import numpy as np
import pytest

from subband.edit import Lighting, Style
from subband.enhance import Blur, Denoise, Sharpen, Shrink
from subband.enhance.methods import list_methods
from subband.enhance.per_band import weigh_levels
from subband.errors import SubbandError

METHODS = [method.name for method in list_methods()]

STAGES = [
    Blur(),
    Blur(2.5, "details", (1, 2)),
    Sharpen(0.25, "diagonal"),
    Shrink(threshold=[4, 2, 1], level_weights=(1, 0.5)),
    Shrink("db2", 2, "firm", 3.0, 6.0, [[1.0], [2.0]], "periodization"),
    Denoise(),
    Denoise("BayesShrink", "db2", 3, "hard", 1.2, "symmetric", (1, 0.7), "spun", (Blur(1.0, "between"),)),
    Denoise(level=np.int64(3), strength=np.float32(0.5)),
]


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: type(stage).__name__)
def test_repr_can_be_evaluated(stage):
    assert eval(repr(stage)) == stage
    assert hash(eval(repr(stage))) == hash(stage)


def test_methods_have_the_form_that_suits_them():
    assert {Denoise(method).form for method in METHODS} == {"spun", "decimated"}
    assert Denoise("bayes", form="spun").form == "spun"


def test_names_of_scikit_image_are_known():
    assert Denoise("VisuShrink") == Denoise("visu")


def test_a_blur_keeps_the_mean():
    for sigma in (0.3, 1.0, 4.0):
        taps = Blur(sigma).taps
        assert sum(taps) == pytest.approx(1)
        assert len(taps) % 2 == 1
        assert taps == taps[::-1]


def test_the_blur_of_one_pixel_has_five_taps():
    assert len(Blur(1.0).taps) == 5


def test_level_weights_multiply_thresholds():
    low, _, _ = Shrink(threshold=8.0, level=3, level_weights=(1, 0.5, 0.25)).spread(1)
    assert low[:, 0, 0].tolist() == [8, 4, 2]


def test_no_weight_is_no_threshold():
    low, _, _ = Shrink(threshold=np.inf, level=2, level_weights=np.array([1, 0])).spread(1)
    assert low[:, 0, 0].tolist() == [np.inf, 0]


def test_the_last_weight_goes_on():
    assert weigh_levels(Denoise(level_weights=(1, 0.5)).level_weights, 3).tolist() == [1, 0.5, 0.5]
    assert weigh_levels(None, 2).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Blur(0), "sigma=0 is not positive"),
        (lambda: Blur("wide"), "sigma='wide' is not a number"),
        (lambda: Blur(np.nan), "sigma=nan is not finite"),
        (lambda: Blur(1, "somewhere"), "at='somewhere' is not known; use one of picture, between"),
        (lambda: Blur(1, "picture", (1,)), r"levels=\(1,\) belong to at='details'"),
        (lambda: Blur(1, "details", (0,)), r"levels=\(0,\) are not levels; the finest is 1"),
        (lambda: Sharpen(np.inf), "amount=inf is not finite"),
        (lambda: Sharpen(1, "diagonals"), "kernel='diagonals' is not known.*'diagonal'"),
        (lambda: Denoise("finest"), "method='finest' is not a method.*use one of bivariate"),
        (lambda: Denoise("byes"), "method='byes' is not a method; did you mean 'bayes'"),
        (lambda: Denoise(mode="firm"), "mode='firm' is not a threshold that noise can choose"),
        (lambda: Denoise(strength=-1), "strength=-1.0 is negative"),
        (lambda: Denoise(level=-1), "level=-1 is not a number of levels"),
        (lambda: Denoise(level=2.5), "level=2.5 is not a number of levels"),
        (lambda: Denoise(form="spin"), "form='spin' is not known"),
        (lambda: Denoise(wavelet="nosuch"), "nosuch"),
        (lambda: Denoise(level_weights=(1, -1)), "level_weights=.* negative"),
        (lambda: Denoise(level_weights="heavy"), "level_weights='heavy' are not numbers"),
        (lambda: Denoise(filters=(Blur(),)), "works on the image; between the transforms use"),
        (lambda: Denoise(filters=(Denoise(),)), "filters hold a Denoise; use Blur or Sharpen"),
        (lambda: Denoise(boundary="mirror"), "boundary='mirror' is not a boundary mode"),
        (lambda: Shrink(boundary=99), "boundary=99 is not the number of a boundary mode"),
        (lambda: Lighting(boundary="mirror"), "boundary='mirror' is not a boundary mode"),
        (lambda: Style(boundary=2.5), "boundary=2.5 is neither a name nor a number"),
        (lambda: Shrink(mode="softly"), "mode='softly' is not a threshold.*'soft'"),
        (lambda: Shrink(threshold=-1), "threshold=-1.0 is negative"),
        (lambda: Shrink(mode="firm"), "needs an upper threshold"),
        (lambda: Shrink(form="whole"), "form='whole' is not known"),
        (lambda: Shrink(level=0, filters=(Blur(1, "details"),)), "filters stand between the levels, and level is 0"),
        (lambda: Denoise(filters=None), "filters=None is no list"),
        (lambda: Denoise("bayes", form="undecimated", boundary="periodic"), "an undecimated one always mirrors"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(SubbandError, match=message):
        make()
