import numpy as np
import pytest

from subband.codecs.jpeg2000.geometry import Rectangle
from subband.codecs.jpeg2000.transform import analyse, find_band_window, find_scale, find_windows, synthesise

# ISO/IEC 15444-1, table F.4
ALPHA, BETA, GAMMA, DELTA = -1.586134342059924, -0.052980118572961, 0.882911075530934, 0.443506852043971
K = 1.230174104914001


def extend(x, start, count=8):
    """Return the samples mirrored about their ends, and which of them lie at odd places."""
    places = np.arange(-count, len(x) + count)
    period = max(2 * (len(x) - 1), 1)
    inside = np.abs(places) % period
    return x[np.where(inside >= len(x), period - inside, inside)], (places + start) % 2 == 1


def lift(y, mine, step):
    z = y.copy()
    for n in np.flatnonzero(mine[1:-1]) + 1:
        z[n] = y[n] + step(y[n - 1] + y[n + 1])
    return z


def transform_line(x, start, is_reversible):
    """Return low and high coefficients of a line, by the formulas of annex F."""
    if len(x) == 1:
        return (x, x[:0]) if start % 2 == 0 else (x[:0], 2 * x)
    y, odd = extend(x, start)
    if is_reversible:
        y = lift(y, odd, lambda s: -(s >> 1))
        y = lift(y, ~odd, lambda s: (s + 2) >> 2)
    else:
        for mine, weight in ((odd, ALPHA), (~odd, BETA), (odd, GAMMA), (~odd, DELTA)):
            y = lift(y, mine, lambda s, weight=weight: weight * s)
        y = np.where(odd, K * y, y / K)
    y, odd = y[8:-8], odd[8:-8]
    return y[~odd], y[odd]


def transform_plane(x, area, is_reversible):
    columns = [transform_line(x[:, n], area.y0, is_reversible) for n in range(x.shape[1])]
    bands = {}
    for vertical, half in zip("LH", (0, 1), strict=True):
        lines = np.stack([column[half] for column in columns], axis=1)
        rows = [transform_line(line, area.x0, is_reversible) for line in lines]
        for horizontal, other in zip("LH", (0, 1), strict=True):
            width = find_band_window(area, horizontal + vertical).width if horizontal + vertical != "LL" else None
            width = area.divide(2, 2).width if width is None else width
            bands[horizontal + vertical] = np.stack([row[other] for row in rows]) if rows else np.zeros((0, width))
    return bands


AREAS = [
    Rectangle(x0, y0, x0 + width, y0 + height)
    for x0, y0 in ((0, 0), (1, 0), (2, 3), (5, 7))
    for width, height in ((1, 1), (1, 6), (2, 1), (3, 2), (7, 5), (13, 12))
]


@pytest.mark.parametrize("is_reversible", [True, False])
@pytest.mark.parametrize("area", AREAS, ids=str)
def test_bands_are_those_of_the_standard(area, is_reversible):
    x = np.random.default_rng(3).integers(-200, 200, (area.height, area.width))
    x = x.astype(np.int32 if is_reversible else np.float32)
    wanted = transform_plane(x if is_reversible else x.astype(float), area, is_reversible)
    for level in analyse(x, area, 1, is_reversible):
        for kind, band in level.items():
            assert band.shape == wanted[kind].shape
            np.testing.assert_allclose(band * find_scale(kind, 1, is_reversible), wanted[kind], atol=1e-3)


@pytest.mark.parametrize("levels", [0, 1, 3, 6])
@pytest.mark.parametrize("is_reversible", [True, False])
@pytest.mark.parametrize("area", AREAS, ids=str)
def test_samples_come_back(area, is_reversible, levels):
    x = np.random.default_rng(4).integers(-200, 200, (2, area.height, area.width))
    x = x.astype(np.int32 if is_reversible else np.float32)
    areas = [area.divide(1 << number, 1 << number) for number in range(levels, -1, -1)]
    y = synthesise(analyse(x, area, levels, is_reversible), find_windows(area, areas, is_reversible), is_reversible)
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, x, atol=0 if is_reversible else 1e-3)


@pytest.mark.parametrize("engine", [None, "reference"])
@pytest.mark.parametrize("is_reversible", [True, False])
@pytest.mark.parametrize("origin", [(0, 0), (3, 5), (8, 1)])
@pytest.mark.parametrize("window", [(20, 30, 21, 31), (0, 0, 50, 9), (33, 11, 101, 77), (0, 0, 101, 77)])
def test_windows_need_no_more_than_they_say(window, origin, is_reversible, engine):
    x0, y0 = origin
    area = Rectangle(x0, y0, x0 + 101, y0 + 77)
    part = Rectangle(x0 + window[0], y0 + window[1], x0 + window[2], y0 + window[3])
    x = np.random.default_rng(5).integers(-200, 200, (77, 101)).astype(np.int32 if is_reversible else np.float32)
    areas = [area.divide(1 << number, 1 << number) for number in range(3, -1, -1)]
    windows = find_windows(part, areas, is_reversible)
    cut = []
    for whole, merged, level in zip(areas, windows.merged, analyse(x, area, 3, is_reversible), strict=True):
        bands = {}
        for kind, band in level.items():
            full, need = find_band_window(whole, kind), find_band_window(merged, kind)
            bands[kind] = band[need.y0 - full.y0 : need.y1 - full.y0, need.x0 - full.x0 : need.x1 - full.x0]
        cut.append(bands)
    y = synthesise(cut, windows, is_reversible, engine)
    wanted = x[window[1] : window[3], window[0] : window[2]]
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, wanted, atol=0 if is_reversible else 1e-3)
