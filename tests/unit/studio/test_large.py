"""Large images: what is seen comes first, and block by block it becomes what the library computes."""

import threading

import numpy as np
import pytest

from subband import data
from subband.engines import get_engine
from subband.enhance import Blur, Denoise, Enhancer, Sharpen, Shrink
from subband.studio import large, preview
from subband.studio.large import Crop, LargeImage, Original, View
from subband.studio.reduction import reduce_enhancer, reduce_mean, reduce_pixels

IMAGE = np.ascontiguousarray(np.tile(data.photograph(), (2, 2, 1))[:900, :1000])
CPU = get_engine("cpu")


@pytest.fixture
def small_limit(monkeypatch):
    """Let an image of the tests be large, and blocks small."""
    monkeypatch.setattr(preview, "LARGE", 2**17)
    monkeypatch.setattr(large, "_BLOCK", 256)


def compare(found, expected):
    difference = np.abs(found.astype(int) - expected)
    assert found.shape == expected.shape
    assert difference.max() <= 1
    assert (difference > 0).mean() < 1e-3


@pytest.mark.parametrize("stage", [Denoise(level=3), Shrink(level=3, threshold=20.0), Denoise("bayes", level=3)])
def test_a_sketch_is_near_the_result_and_blocks_are_the_result(stage, small_limit):
    noisy = np.clip(IMAGE + np.random.default_rng(0).normal(0, 20, IMAGE.shape), 0, 255).astype(np.uint8)
    enhancer = Enhancer(stage)
    expected = enhancer.apply(noisy)
    image, crop = LargeImage(Original(noisy), enhancer, CPU), View(500, 450).crop(noisy.shape)
    assert crop.steps == 1
    sketch, is_exact = image.show(crop)
    assert not is_exact
    reduced, before = (reduce_mean(each, 1) for each in (expected, noisy))
    assert np.abs(sketch - reduced).mean() < 0.5 * np.abs(before - reduced).mean()
    seen = [image.advance(crop)]
    # what is exact already stays so, since it does not come again
    part = crop.intersect(seen[0])
    column, row = crop.locate(part)
    exact = part.cut(image.result)
    again, _ = image.show(crop)
    np.testing.assert_array_equal(again[row : row + exact.shape[0], column : column + exact.shape[1]], exact)
    while image.left:
        seen.append(image.advance(crop))
    # all coefficients of a band have a say in what the last of these does to each
    assert len(seen) == (1 if stage == Denoise("bayes", level=3) else 16)
    compare(image.result, expected)
    final, is_exact = image.show(crop)
    assert is_exact
    np.testing.assert_array_equal(final, reduce_pixels(image.result, 1))


def test_what_is_seen_pixel_by_pixel_is_exact_at_once(small_limit):
    enhancer = Enhancer(Denoise(level=3))
    image = LargeImage(Original(IMAGE), enhancer, CPU)
    crop = View(200, 100, (300.0, 400.0, 500.0, 500.0)).crop(IMAGE.shape)
    found, is_exact = image.show(crop)
    assert is_exact
    compare(found, enhancer.apply(IMAGE)[400:500, 300:500])
    # the block nearest to what is seen comes first
    block = image.advance(crop)
    assert block.intersect(crop) is not None


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (Blur(4.0), Blur(2.0)),
        (Sharpen(0.8), Sharpen(0.2)),
        (Shrink(level=2, threshold=8.0, gains=[2.0, 3.0]), Shrink(level=1, threshold=4.0, gains=[3.0])),
        (
            Denoise("best", level=3, level_weights=(1, 0.5)),
            Denoise("bivariate", level=2, level_weights=(0.5,), form="spun"),
        ),
    ],
)
def test_stages_of_half_the_size(stage, expected):
    (found,) = reduce_enhancer(Enhancer(stage), 1).stages
    assert found == expected


def test_stages_that_have_nothing_to_do_there_are_left_out():
    assert reduce_enhancer(Enhancer([Shrink(level=2, threshold=8.0), Blur(0.3)]), 2).stages == ()


def test_views_of_another_image_or_of_nothing():
    assert View(100, 100, (-50, 10, 0, 5)).crop((80, 60)) == Crop((10, 11), (0, 1), 0)
    assert View(100, 100, (1e9, 0, 2e9, 80)).crop((80, 60)) == Crop((0, 80), (59, 60), 0)


def read_all(page):
    """Draw all that comes of an image until it is complete; return canvas, first header and last."""
    first = page.wait_frame(accept=lambda frame: "extent" in frame.header)
    canvas, last = first.pixels().copy(), first.header
    while last["left"]:
        found = page.receive()
        last = found if isinstance(found, dict) else found.header
        if last["type"] == "frame":
            assert "extent" not in last
            column, row = last["at"]
            part = found.pixels()
            canvas[row : row + part.shape[0], column : column + part.shape[1]] = part
        else:
            assert last["type"] in ("progress", "resolved", "state", "opened")
            last = last if last["type"] == "progress" else {"left": 1}
    return canvas, first.header, last


def test_a_page_gets_what_it_sees_then_the_rest(page, small_limit):
    page.send("view", width=400, height=300)
    page.send_settings(filter="bivariate", level=3, view="split")
    page.open(name="photograph")
    canvas, first, _ = read_all(page)
    expected = Enhancer(Denoise(level=3)).apply(data.photograph())
    assert first["size"] == [512, 512]
    assert first["extent"] == [0, 0, 512, 512]
    compare(canvas, expected)
    page.send("view", width=100, height=100)
    canvas, first, _ = read_all(page)
    assert not first["is_sketch"]
    compare(canvas, reduce_pixels(expected, 2))
    page.send("probe", row=100, column=200)
    assert page.wait("pixel")["before"] == data.photograph()[100, 200].tolist()
    page.send("view", width=100, height=100, left=300, top=200, right=400, bottom=300)
    canvas, first, _ = read_all(page)
    assert first["extent"] == [300, 200, 400, 300]
    compare(canvas, expected[200:300, 300:400])
    assert not page.errors


@pytest.mark.parametrize("way", ["settings", "cancel", "view"])
def test_newer_wishes_end_what_is_computed_between_blocks(page, small_limit, monkeypatch, way):
    computed, begun, gate = [], threading.Event(), threading.Semaphore(0)
    advance = LargeImage.advance

    def watch(image, crop):
        begun.set()
        assert gate.acquire(timeout=60)
        computed.append(advance(image, crop))
        return computed[-1]

    monkeypatch.setattr(LargeImage, "advance", watch)
    monkeypatch.setattr(large, "_BLOCK", 128)
    page.send("view", width=100, height=100)
    page.send_settings(filter="soft", level=2)
    page.open(name="photograph")
    first = page.wait_frame(accept=lambda frame: "extent" in frame.header)
    assert first.header["is_sketch"]
    assert first.header["left"] == 16
    # a newer view that comes before it would be shown at once, and missed by who waits for something else
    assert begun.wait(60)
    if way == "settings":
        number = page.send_settings(filter="soft", level=2, threshold=40)
    elif way == "cancel":
        page.send("cancel", number=1, rest=True)
    else:
        page.send("view", width=100, height=100, left=400, top=400, right=500, bottom=500)
    # obeyed, and not only sent
    page.send("loop", on=False)
    page.wait("state", accept=lambda state: not state["loop"])
    # one block had begun, and the others are not computed for what nobody wants any more
    gate.release()
    if way == "cancel":
        gate.release(100)
        assert len([found for found in page.collect(0.5) if not isinstance(found, dict)]) <= 1
        assert len(computed) <= 1
        return
    second = page.wait_frame(accept=lambda frame: "extent" in frame.header)
    assert len(computed) <= 1
    if way == "settings":
        assert second.settings == number
    else:
        compare(second.pixels(), Enhancer(Shrink(level=2, threshold=12.0)).apply(data.photograph())[400:500, 400:500])
    gate.release(100)
