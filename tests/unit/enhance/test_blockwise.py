"""Statistics gathered in pieces lead to the results of the whole, and blocks with margins hold what has a say."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subband.engines import get_engine
from subband.engines.filters import find_filters
from subband.enhance import Denoise
from subband.enhance.blockwise import BandTally, Block, CellSearch, Findings, NoiseSearch, Reach, narrow, smooth, widen
from subband.enhance.methods import DecidingMethod, list_methods
from subband.enhance.noise import combine_gains
from subband.enhance.roundtrip import Roundtrip
from subband.enhance.shrinking import choose_coefficients, cut_finest, list_rules, measure_planes

ENGINE = get_engine("cpu")
FILTERS = find_filters(ENGINE)
RNG = np.random.default_rng(3)
PLANES = (RNG.normal(0, 5, (2, 3, 110, 94)) * np.array([1.0, 2.0, 4.0])[:, None, None]).astype(np.float32)
# noise of a third of them was clipped
PLANES[..., 70:, :] = np.maximum(PLANES[..., 70:, :], 0)
DECIDING = [method.name for method in list_methods() if isinstance(method, DecidingMethod)]


def transform(stage):
    flat = PLANES.reshape(-1, *PLANES.shape[2:])
    return Roundtrip(stage, flat.shape, ENGINE, FILTERS).forward(flat)


def cut_rows(length, edges, half):
    """Give blocks of rows with margins: where they begin and end, and where their part is."""
    for begin, end in zip((0, *edges), (*edges, length), strict=True):
        start, stop = widen(begin, end, length, Reach(half, half, 2))
        yield slice(start, stop), slice(begin - start, end - start)


@pytest.mark.parametrize("edges", [(), (20,), (1, 2, 30, 44)])
@pytest.mark.parametrize("is_exact", [False, True])
def test_median_of_pieces_is_that_of_the_whole(edges, is_exact):
    coefficients = transform(Denoise(level=1))
    band = coefficients.details[0]["dd"].reshape(2, 3, 55, 47)
    search = NoiseSearch((2, 3), 2, combine_gains(coefficients.wavelets, 1, "dd"))

    def look(aims):
        # each half of the planes by itself, and rows in pieces
        return search.merge(
            [
                search.look(Block(((number, number + 1), (0, 3))), band[number : number + 1, :, rows][:, :, part], aims)
                for number in (1, 0)
                for rows, part in cut_rows(55, edges, 0)
            ]
        )

    found = look(None)
    noise = search.pick(look(search.aim(found)), search.aim(found)) if is_exact else search.find(found)
    np.testing.assert_allclose(noise.ravel(), FILTERS.measure_noise(coefficients.details[0]["dd"], search.gain), 1e-6)


def make_cell_search(roundtrip, reach=0, step=1):
    """Return the search for noise in smooth cells, and the keys of the bands that it looks at."""
    keys = ["dd", "ad", "da"]
    gains = tuple(combine_gains(roundtrip.wavelets, 1, key) for key in keys)
    median = NoiseSearch((2, 3), 2, gains[0], (0, 1), reach, step)
    shape = roundtrip.forward(PLANES.reshape(6, 110, 94)).details[0]["dd"].shape[1:]
    return CellSearch(cut_finest(roundtrip, shape), gains, median), keys


def align(search):
    """Return samples from the first that bands begin with."""
    ahead = search.cells.ahead
    return np.pad(PLANES, [(0, 0), (0, 0), (ahead, 9), (ahead, 9)], mode="edge")


@pytest.mark.parametrize("edges", [(), (20,), (1, 2, 30, 44)])
@pytest.mark.parametrize("form", ["decimated", "undecimated"])
@pytest.mark.parametrize("few", [0, 1 << 14])
def test_noise_of_pieces_is_that_of_the_whole(edges, form, few, monkeypatch):
    monkeypatch.setattr(smooth, "FEW_CELLS", few)
    roundtrip = Roundtrip(Denoise(level=1, form=form), (6, 110, 94), ENGINE, FILTERS)
    coefficients = roundtrip.forward(PLANES.reshape(6, 110, 94))
    search, keys = make_cell_search(roundtrip)
    bands = [coefficients.details[0][key].reshape(2, 3, *coefficients.details[0][key].shape[1:]) for key in keys]
    length, width = bands[0].shape[2:]
    columns = [search.find_window(1, *run) for run in ((0, 11), (11, width))]
    wide = align(search)

    def look(aims):
        # each half of the planes by itself, and rows and columns in pieces that need not begin where cells do
        found = {}
        for number in (1, 0):
            for rows in (search.find_window(0, *run) for run in zip((0, *edges), (*edges, length), strict=True)):
                for own in columns:
                    block = Block(((number, number + 1), (0, 3)))
                    parts = [x[number : number + 1, :, slice(*rows), slice(*own)] for x in bands]
                    runs = search.find_samples(0, *rows), search.find_samples(1, *own)
                    parts.insert(0, wide[(slice(number, number + 1), slice(None), *(slice(*run) for run in runs))])
                    each = search.look(block, *parts) if aims is None else search.count(block, *parts, aims)
                    found = search.merge([each, found])
        return found

    expected = measure_planes(FILTERS, coefficients)
    found = look(None)
    # of so few cells, bins that begin elsewhere have a part of their own; thousands of cells agree
    np.testing.assert_allclose(search.find(found).ravel(), expected, rtol=0.1 if few == 0 else 1e-6)
    aims = search.aim(found)
    np.testing.assert_allclose(search.pick(look(aims), aims).ravel(), expected, rtol=1e-6)


@pytest.mark.parametrize("known", ["most", "few", "none"])
def test_noise_of_cells_is_that_of_known_samples(known):
    """Where too few cells are known it is the median of what is known, and where nothing is, all counts."""
    mask = np.ones((110, 94), bool)
    if known == "most":
        mask[40:, :30] = False
    else:
        mask[: 60 if known == "few" else 110] = False
        mask[:, : 40 if known == "few" else 94] = False
    roundtrip = Roundtrip(Denoise(level=1), (6, 110, 94), ENGINE, FILTERS)
    coefficients = roundtrip.forward(PLANES.reshape(6, 110, 94))
    reach = max(wavelet.dec_len for wavelet in coefficients.wavelets)
    search, keys = make_cell_search(roundtrip, reach, 2)
    bands = [coefficients.details[0][key].reshape(2, 3, *coefficients.details[0][key].shape[1:]) for key in keys]
    wide = np.pad(mask, reach, mode="reflect")
    runs = [search.find_window(axis, 0, length) for axis, length in enumerate((55, 47))]
    whole, around = (
        wide[tuple(slice(2 * begin, 2 * (end - 1) + 2 * reach + 1) for begin, end in own)]
        for own in ([(0, 55), (0, 47)], runs)
    )
    samples = align(search)[(..., *(slice(*search.find_samples(axis, *run)) for axis, run in enumerate(runs)))]
    parts = [samples, *(x[(..., *(slice(*run) for run in runs))] for x in bands)]
    block = Block(((0, 2), (0, 3)))
    found = search.look_at_known(block, bands[0], whole, around, *parts)
    noise = search.find(search.merge([found, search.merge([])]))
    np.testing.assert_allclose(noise.ravel(), measure_planes(FILTERS, coefficients, mask), rtol=1e-6)
    aims = search.aim(found)
    counted = search.count_known(block, bands[0], whole, around, *parts, aims)
    np.testing.assert_allclose(search.pick(counted, aims), noise, rtol=1e-6)
    changed = abs(noise.ravel() / measure_planes(FILTERS, coefficients) - 1).max()
    assert (changed > 1e-4) == (known != "none")


def test_median_is_that_of_known_samples():
    coefficients = transform(Denoise(level=1))
    band = coefficients.details[0]["dd"].reshape(2, 3, 55, 47)
    mask = np.ones((110, 94), bool)
    mask[40:, :30] = False
    reach = max(wavelet.dec_len for wavelet in coefficients.wavelets)
    search = NoiseSearch((2, 3), 2, combine_gains(coefficients.wavelets, 1, "dd"), (0, 1), reach, 2)
    around = np.pad(mask, reach, mode="reflect")[: 2 * 54 + 2 * reach + 1, : 2 * 46 + 2 * reach + 1]
    noise = search.find(search.look_at_known(Block(((0, 2), (0, 3))), band, around))
    chosen = choose_coefficients(around, reach, 2, (0, 1)).astype(np.uint8)
    band = coefficients.details[0]["dd"]
    np.testing.assert_allclose(noise.ravel(), FILTERS.measure_noise(band, search.gain, chosen), rtol=1e-6)
    assert abs(noise.ravel() / FILTERS.measure_noise(band, search.gain) - 1).max() > 1e-4


@pytest.mark.parametrize("method", DECIDING)
@pytest.mark.parametrize("edges", [(), (17,), (4, 20, 36)])
def test_decisions_by_pieces_are_those_of_the_whole(method, edges):
    stage = Denoise(method, level=2, strength=0.9)
    coefficients = transform(stage)
    noise = np.full((2, 3), 5.0) * [1.0, 2.0, 4.0]
    rule = list_rules(stage, coefficients.wavelets, 2, 0, 110 * 94, is_decimated=True)[0]
    whole = coefficients.details[0]["da"]
    band = whole.reshape(2, 3, *whole.shape[1:])
    tally = BandTally(rule, "da", 0, band[0, 0].size, (2, 3), 2)
    pieces = []
    for number in range(2):
        for rows, part in cut_rows(band.shape[2], edges, rule.window // 2):
            block = Block(((number, number + 1), (0, 3)), (rows.start, 0), (part, slice(None)))
            given = noise if rule.method.needs_noise else None
            pieces.append(tally.look(block, band[number : number + 1, :, rows], given, FILTERS))
    decisions = BandTally.decide(reduce(lambda a, b: BandTally.merge([a, b]), pieces), noise)
    everything = Block(((0, 2), (0, 3)))
    own = rule.make_band(whole.copy(), None, "da", FILTERS.upload(noise.ravel()))
    got = rule.method.follow(FILTERS, own, narrow(decisions[0, 1, "da"], everything))
    expected = rule.method.shrink(FILTERS, rule.make_band(whole.copy(), None, "da", FILTERS.upload(noise.ravel())))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    again = Findings.from_facts(Findings(noise, decisions).to_facts())
    np.testing.assert_array_equal(again.statistic[0, 1, "da"], decisions[0, 1, "da"])


@given(st.integers(1, 60), st.data())
def test_blocks_hold_their_part_and_what_has_a_say(length, data):
    begin = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(begin + 1, length))
    reach = Reach(data.draw(st.integers(0, 9)), data.draw(st.integers(0, 9)), data.draw(st.sampled_from([1, 2, 8])))
    fewest = data.draw(st.integers(1, 70))
    start, stop = widen(begin, end, length, reach, fewest)
    assert start % reach.step == 0
    assert 0 <= start <= max(begin - reach.before, 0)
    assert min(end + reach.behind, length) <= stop <= length
    assert stop - start >= min(fewest, length)


@given(st.integers(0, 3), st.integers(1, 2), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_coefficients_count_that_touch_only_known_samples(reach, step, count, seed):
    mask = np.random.default_rng(seed).random(step * (count - 1) + 2 * reach + 1) > 0.2
    expected = [bool(mask[step * k : step * k + 2 * reach + 1].all()) for k in range(count)]
    assert choose_coefficients(mask, reach, step, (0,)).tolist() == expected
