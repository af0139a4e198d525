"""Modules of the page by themselves, in the browser that runs them."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def run(studio):
    """Return what runs a script with the exports of a module."""
    studio.page.goto(studio.address, wait_until="domcontentloaded")
    load = "async () => {{ const m = await import('/static/{}.js'); {} }}"
    return lambda module, script: studio.page.evaluate(load.format(module, script))


def test_raw_pixels_are_spread_to_words(run):
    script = """return [0, 1].flatMap(shift => [1, 2, 3, 4, 5, 8, 11].map(count => {
        const bytes = new Uint8Array(shift + 3 * count).map((_, i) => (i * 37) % 256).subarray(shift);
        const words = new Uint32Array(count);
        m.spreadPixels('rgb', bytes, words);
        return [[...bytes], [...new Uint8Array(words.buffer)]];
    }));"""
    for colours, spread in run("frames", script):
        pixels = zip(colours[::3], colours[1::3], colours[2::3], strict=True)
        assert spread == [value for pixel in pixels for value in (*pixel, 255)]
    script = """const words = new Uint32Array(3);
        m.spreadPixels('grey', new Uint8Array([0, 7, 255]), words);
        return [...new Uint8Array(words.buffer)];"""
    assert run("frames", script) == [0, 0, 0, 255, 7, 7, 7, 255, 255, 255, 255, 255]


def test_gains_are_read_formatted_and_shaded(run):
    script = "return ['2:dd=0.5;1:ad=1.5,da=1, dd=0', 'x;9:zz=1', ''].map(text => m.formatGains(m.readGains(text), 3));"
    assert run("bands", script) == ["1:ad=1.5,dd=0;2:dd=0.5", "", ""]
    none, half, one, two, most = run("bands", "return [0, 0.5, 1, 2, 4].map(gain => m.shadeOf(gain, 4));")
    # grey is 1, darker is more, lighter is less
    assert none > half > one > two > most
    assert one == 128


def test_messages_are_read_as_they_are_written(run):
    script = """const buffer = m.writeMessage({type: 'camera', name: 'é'}, new Uint8Array([1, 2, 3]).buffer);
        const {header, offset} = m.readMessage(buffer);
        return [header, [...new Uint8Array(buffer, offset)]];"""
    assert run("socket", script) == [{"type": "camera", "name": "é"}, [1, 2, 3]]


def test_grid_is_joined_to_triangles(run):
    assert run("surface", "return [...m.joinGrid(2, 2, [false, false])];") == [0, 2, 1, 1, 2, 3]
    closed = run("surface", "return [...m.joinGrid(2, 3, [false, true])];")
    assert len(closed) == 18
    assert closed[12:] == [2, 5, 0, 0, 5, 3]


def test_the_viewer_looks_at_the_middle_of_a_mesh(run):
    sphere = run("mesh", "return m.boundingSphere(new Float32Array([1, 2, 3, 5, 2, 3, 3, 2, 3]));")
    assert sphere == [3, 2, 3, 2]
    assert run("mesh", "return m.boundingSphere(new Float32Array([1, 1, 1]));") == [1, 1, 1, 1]
    view = np.array(run("mesh", "return m.lookAtOrigin([3, 2, 6]);")).reshape(4, 4).T
    np.testing.assert_allclose(view @ [3, 2, 6, 1], [0, 0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(view @ [0, 0, 0, 1], [0, 0, -7, 1], atol=1e-12)
    np.testing.assert_allclose(view[:3, :3] @ view[:3, :3].T, np.eye(3), atol=1e-12)
    # what is above the middle is above it on the screen
    assert (view @ [0, 1, 0, 0])[1] > 0


def test_values_of_any_origin_are_read_or_refused(run):
    script = """const range = {kind: 'range', min: 0, max: 10, auto: true};
        const choice = {kind: 'choice', options: [[3, 'three'], ['x', 'X']]};
        const given = [[range, ['4.5', 99, 'auto', '', 'x']], [{kind: 'flag'}, ['true', 0]], [choice, ['3', 'y']]];
        return given.flatMap(([control, values]) => values.map(value => m.readValue(control, value) ?? 'refused'));"""
    expected = [4.5, 10, "auto", "refused", "refused", True, "refused", 3, "refused"]
    assert run("settings", script) == expected


def test_controls_that_have_gone_hear_no_more_of_sources(run):
    script = """const sources = new m.Sources({opened: () => {}, failed: () => {}});
        const element = document.createElement('div');
        let calls = 0;
        sources.watch(() => { calls += 1; }, element);
        document.body.append(element);
        sources.offer({});
        element.remove();
        sources.offer({});
        return [calls, sources.watchers.size];"""
    assert run("sources", script) == [1, 1]
