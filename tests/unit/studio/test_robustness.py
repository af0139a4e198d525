"""Pages come and go, sockets break and engines fail; the studio and the other pages go on."""

import asyncio
import gc
import socket
import threading
import time

import numpy as np
import psutil
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from subband import data
from subband.engines import get_engine
from subband.errors import DeviceMemoryError
from subband.studio import app, outbox, rendering
from subband.studio.hardware import EngineChoice
from subband.studio.tools.enhance import Enhance


def wait_until(condition, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


def count_threads(name="studio-page"):
    return sum(thread.name.startswith(name) for thread in threading.enumerate())


def list_threads():
    """Return the names of all threads; those that the server lends for moments stay a while."""
    return sorted(thread.name for thread in threading.enumerate() if "AnyIO" not in thread.name)


def test_twenty_pages_come_and_go(serving, page_at):
    def visit():
        with page_at(serving.address) as page:
            page.send_settings(filter="soft", threshold=20, format="jpeg", pace="fast")
            page.open(name="clip")
            for _ in range(5):
                page.wait_frame()

    visit()
    visit()
    wait_until(lambda: serving.studio.count_sessions() == 0)
    gc.collect()
    threads, memory = list_threads(), psutil.Process().memory_info().rss
    for _ in range(20):
        visit()
    wait_until(lambda: serving.studio.count_sessions() == 0 and count_threads() == 0)
    gc.collect()
    wait_until(lambda: list_threads() == threads)
    assert psutil.Process().memory_info().rss < memory + 80 * 2**20


def test_many_pages_at_once_share_the_engine(open_page):
    pages = [open_page() for _ in range(6)]
    for page in pages:
        page.send_settings(filter="soft", format="jpeg")
        page.open(name="clip")
    numbers = [[page.wait_frame().position for page in pages] for _ in range(5)]
    # a page that came last in every turn would never be served
    for shown in zip(*numbers, strict=True):
        assert len(set(shown)) > 1


@pytest.mark.parametrize("is_reset", [False, True])
def test_a_socket_that_is_cut_in_the_middle_of_a_frame(serving, open_page, is_reset):
    other = open_page()
    other.send_settings(filter="none")
    other.open(name="clip")
    other.wait_frame()
    page = open_page()
    page.send_settings(filter="soft", pace="fast")
    page.open(name="clip")
    page.wait_frame()
    raw = page.socket.socket
    if is_reset:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    raw.shutdown(socket.SHUT_RDWR)
    raw.close()
    wait_until(lambda: serving.studio.count_sessions() == 1)
    wait_until(lambda: count_threads() == 1)
    for _ in range(5):
        other.wait_frame()
    assert not other.errors


def test_a_page_that_reads_nothing_holds_nobody_up(serving, open_page):
    deaf, other = open_page(), open_page()
    deaf.send_settings(filter="none", pace="fast")
    deaf.open(name="clip")
    other.send_settings(filter="none")
    other.open(name="clip")
    for _ in range(40):
        other.wait_frame()
    deaf.close()
    wait_until(lambda: serving.studio.count_sessions() == 1)


class Fragile:
    """An engine that stands for a device which fails when it is told to."""

    name = "fragile"


@pytest.fixture
def fragile(monkeypatch):
    """Offer an engine that fails in the middle of a film; return how often it has failed."""
    failures = []
    usual = Enhance.prepare

    def prepare(self, settings, inputs):
        work = usual(self, settings, inputs)

        def break_down(pixels, number):
            if settings["engine"] == "fragile" and inputs.name == "fragile" and number > 3:
                failures.append(number)
                raise DeviceMemoryError("the memory of the device is full")
            return work(pixels, number)

        return break_down

    class Named(rendering.Inputs):
        name = ""

    def make_inputs(shape, engine, load, levels):
        inputs = Named(shape, get_engine("cpu") if engine.name == "fragile" else engine, load, levels)
        object.__setattr__(inputs, "name", engine.name)
        return inputs

    monkeypatch.setattr(Enhance, "prepare", prepare)
    monkeypatch.setattr(rendering, "Inputs", make_inputs)
    monkeypatch.setattr(rendering, "get_engine", lambda name: Fragile() if name == "fragile" else get_engine(name))
    control = next(each for each in Enhance().controls if each.name == "engine")
    options = (*control.options, ("fragile", EngineChoice("fragile", "Fragile").title))
    object.__setattr__(control, "options", options)
    yield failures
    object.__setattr__(control, "options", options[:-1])


def test_an_engine_that_fails_while_a_film_plays(page, fragile):
    page.send_settings(filter="none", engine="fragile")
    page.open(name="clip")
    error = page.wait("error")
    assert error["about"] == "engine"
    assert "memory of the device" in error["message"]
    note = page.wait("resolved", accept=lambda found: found["notes"])["notes"][-1]
    assert "CPU" in note
    last = page.wait_frame()
    for _ in range(10):
        last = page.wait_frame()
    assert last.position > 3
    assert len(fragile) == 1
    page.send_settings(filter="soft", engine="fragile")
    page.wait_frame(accept=lambda frame: frame.settings == page.number)
    assert len(fragile) == 1
    # whoever chooses another engine and comes back tries it again
    page.send_settings(filter="soft", engine="cpu")
    page.wait_frame(accept=lambda frame: frame.settings == page.number)
    page.send_settings(filter="soft", engine="fragile")
    page.wait("error")
    assert len(fragile) == 2


def test_what_the_cpu_cannot_do_is_told_and_the_frame_shown_as_it_is(page, monkeypatch):
    def prepare(self, settings, inputs):
        raise ValueError("this fails")

    page.open()
    page.show(filter="none")
    monkeypatch.setattr(Enhance, "prepare", prepare)
    frame = page.show(filter="soft", threshold=33)
    assert "this fails" in page.errors[0]["message"]
    assert len(page.errors) == 1
    np.testing.assert_array_equal(frame.pixels(), data.photograph())
    monkeypatch.undo()
    assert (page.show(filter="soft", threshold=34).pixels() != data.photograph()).any()


def test_engines_are_switched_live(page):
    names = [engine["name"] for engine in page.hello["engines"]]
    if "opencl" not in names:
        pytest.skip("there is no OpenCL device")
    page.open(name="camera")
    one = page.show(filter="soft", threshold=20, engine="cpu").pixels().astype(int)
    other = page.show(filter="soft", threshold=20, engine="opencl").pixels().astype(int)
    assert np.abs(one - other).max() <= 1
    one, other = (
        page.show(filter="soft", view="analysis", engine=name).pixels("analysis").astype(int)
        for name in ("cpu", "opencl")
    )
    assert np.abs(one - other).max() <= 1
    assert not page.errors
    assert page.show(filter="soft", threshold=21, engine="cpu").settings == page.number


def test_half_precision_on_the_cpu_is_noted(page):
    page.send_settings(filter="soft", precision="float16", engine="cpu")
    assert any("16 bits" in note for note in page.wait("resolved")["notes"])


def test_a_film_that_breaks_off_is_shown_as_far_as_it_goes(tmp_path, page_at):
    from subband.studio.serving import run_studio

    whole = data.clip_path().read_bytes()
    broken = tmp_path / "broken.mp4"
    damaged = bytearray(whole)
    middle = len(whole) // 2
    damaged[middle : middle + 4000] = bytes(4000)
    broken.write_bytes(bytes(damaged))
    with run_studio([broken], with_token=False) as serving, page_at(serving.address) as page:
        page.send_settings(filter="none", pace="fast")
        page.open("media", "broken.mp4")
        positions = [page.wait_frame().position for _ in range(80)]
        assert max(positions) > 20
        told = [error for error in page.errors if error["about"] == "damage"]
        assert len(told) == 1
        assert "broken.mp4" in told[0]["message"]
        assert "damaged" in told[0]["message"]


def test_a_file_that_has_gone_is_told(tmp_path, page_at):
    from PIL import Image

    from subband.studio.serving import run_studio

    path = tmp_path / "gone.png"
    Image.new("L", (64, 64)).save(path)
    with run_studio([path], with_token=False) as serving, page_at(serving.address) as page:
        path.unlink()
        page.open("media", "gone.png")
        error = page.wait("error")
        assert error["about"] == "source"
        page.open()
        page.wait("opened")


def test_threads_end_with_the_studio(page_at):
    from subband.studio.serving import run_studio

    before = set(threading.enumerate())
    with run_studio(with_token=False) as serving, page_at(serving.address) as page:
        page.send_settings(filter="none")
        page.open(name="clip")
        page.wait_frame()
        own = [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("studio-")]
        # the server, the page and the engine
        assert len(own) >= 3
    wait_until(lambda: not any(thread.is_alive() for thread in own))
    assert serving.studio.count_sessions() == 0
    folder = serving.studio.uploads.folder
    assert not folder.exists()


def test_a_page_that_reads_nothing_and_asks_on_is_cut_off(serving, open_page, monkeypatch):
    async def never(socket, waiting):
        await asyncio.sleep(60)

    def flood(deaf):
        for _ in range(500):
            deaf.send('{"type": "open", "source": {"kind": "sample", "name": "nothing"}}')
            time.sleep(0.005)

    other = open_page()
    monkeypatch.setattr(app, "_write", never)
    monkeypatch.setattr(outbox, "_MOST_WAITING", 20)
    host = f"{serving.address.host}:{serving.address.port}"
    with connect(f"ws://{host}/live", origin=f"http://{host}") as deaf:
        wait_until(lambda: serving.studio.count_sessions() == 2)
        with pytest.raises(ConnectionClosed):
            flood(deaf)
    wait_until(lambda: serving.studio.count_sessions() == 1)
    other.open()
    other.show(filter="none")


def test_a_slow_link_is_told_the_newest_only():
    async def take(waiting, count):
        return [await waiting.take() for _ in range(count)]

    waiting = outbox.Outbox()
    for number in range(1000):
        waiting.put(f"resolved {number}", "resolved")
        waiting.put(f"state {number}", "state")
    waiting.put(b"frame", "frame")
    assert not waiting.is_overfull
    assert asyncio.run(take(waiting, 3)) == ["resolved 999", "state 999", b"frame"]
    for number in range(501):
        waiting.put(str(number), "error")
    assert waiting.is_overfull
    assert asyncio.run(take(waiting, 501))[-1] == "500"


def test_a_frame_is_computed_in_the_thread_of_the_engine_that_was_chosen(open_page, fragile, monkeypatch):
    threads = []
    render = rendering.Renderer.render

    def note(self, job):
        threads.append((job.engine, threading.current_thread().name))
        return render(self, job)

    monkeypatch.setattr(rendering.Renderer, "render", note)
    page = open_page()
    page.open(name="clip")
    for number in range(30):
        page.send_settings(filter="none", engine=("cpu", "fragile")[number % 2], pace="fast", threshold=number)
        if number % 3 == 0:
            page.wait_frame()
    page.show(filter="none", engine="cpu")
    assert threads
    assert all(name == f"studio-{engine}" for engine, name in threads)
