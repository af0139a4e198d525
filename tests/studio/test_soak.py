"""Pages in a real browser come and go, hide, lose their link and meet engines that fail; one page plays on meanwhile.

The server runs in the process of the test, so that its threads and its memory can be looked at.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import socket
import struct
import threading
import time

import psutil
import pytest

from subband import release_memory

expect = pytest.importorskip("playwright.sync_api").expect

pytestmark = pytest.mark.browser

#: Bytes that the process may have more at the end: frames that are under way, and what the browser's driver keeps.
TOLERANCE = 64 * 2**20
#: Closes a socket with a reset, without a word.
ABRUPT = struct.pack("ii", 1, 0)

HIDE = """hidden => {
    Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


@pytest.fixture(scope="module")
def serving():
    pytest.importorskip("uvicorn", reason="the server of the studio is not installed: pip install 'subband[studio]'")
    from subband.studio.serving import run_studio

    with run_studio(with_token=False) as running:
        yield running


@pytest.fixture(scope="module")
def server(serving):
    """Take the place of the server that the other tests have."""
    return serving.address.url


@pytest.fixture
def playing(studio):
    """Return a page that plays a film."""
    studio.open("sample:clip", format="jpeg")
    studio.wait_for("() => window.studio.stats().frames > 5")
    return studio


def list_threads():
    """Return the names of all threads; those that the server lends for moments stay a while."""
    return sorted(thread.name for thread in threading.enumerate() if "AnyIO" not in thread.name)


class Blocks(ctypes.Structure):
    """What the C library says about its memory."""

    _names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
    _fields_ = [(name, ctypes.c_size_t) for name in _names]


def measure_memory():
    """Return the bytes that this process uses.

    Pages that it has are more: what was freed stays until it is used again, and a huge page stays for one sample in it.
    """
    gc.collect()
    release_memory()
    measure = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if measure is None:
        return psutil.Process().memory_info().rss
    measure.restype = Blocks
    blocks = measure()
    return blocks.uordblks + blocks.hblkhd


def wait_until(condition, seconds=180.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)


@contextlib.contextmanager
def nothing_left(serving, playing):
    """Look at the server before and after a block, and whether the page that plays goes on."""
    threads, memory = list_threads(), measure_memory()
    yield
    goes_on(playing)
    wait_until(lambda: serving.studio.count_sessions() == 1)
    wait_until(lambda: list_threads() == threads)
    wait_until(lambda: measure_memory() < memory + TOLERANCE)
    assert not playing.errors


def goes_on(page):
    page.wait_for("frames => window.studio.stats().frames > frames + 3", page.stats()["frames"])


def test_twenty_pages_come_and_go(serving, playing, open_page):
    # small, for it is the browser that takes most of the time
    visitors = open_page(width=400, height=300)

    def visit(count):
        pages = [visitors.page.context.new_page() for _ in range(count)]
        for page in pages:
            page.goto(f"{visitors.address}#source=sample:clip&format=jpeg", wait_until="commit")
        for page in pages:
            page.wait_for_function("() => window.studio && window.studio.stats().frames > 1")
        assert serving.studio.count_sessions() == 1 + count
        for page in pages:
            page.close()

    # the first five fill what stays: pools of threads, compiled kernels
    visit(5)
    wait_until(lambda: serving.studio.count_sessions() == 1)
    with nothing_left(serving, playing):
        for _ in range(3):
            visit(5)


def test_a_page_in_the_background_costs_nothing(serving, playing, open_page, monkeypatch):
    from subband.studio.rendering import Renderer

    rendered, render = [], Renderer.render

    def note(self, job):
        rendered.append(job.frame.number)
        return render(self, job)

    # the page that plays already has a renderer, and is not counted
    monkeypatch.setattr(Renderer, "render", note)
    page = open_page()
    with nothing_left(serving, playing):
        page.open("sample:clip", pace="fast")
        page.page.evaluate(HIDE, True)
        frames, computed = page.rest(), len(rendered)
        assert computed
        page.page.wait_for_timeout(2000)
        assert page.stats()["frames"] == frames
        assert len(rendered) == computed
        page.page.evaluate(HIDE, False)
        goes_on(page)
        page.page.goto("about:blank")


class Wire:
    """A proxy for one server, whose connections can be cut in the middle of what they carry."""

    def __init__(self, address):
        self._target = (address.host, address.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs = []
        self._rest = None
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/"

    def cut(self, after):
        """Reset whichever connection carries so many further bytes to the page first."""
        self._rest = after

    @property
    def is_cut(self):
        return self._rest is None

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for pair in self._pairs:
            self._end(*pair)
        for thread in self._threads:
            thread.join(5)

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(self._target)
            self._pairs.append((near, far))
            for one, other, is_down in ((near, far, False), (far, near, True)):
                thread = threading.Thread(target=self._carry, args=(one, other, is_down), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _carry(self, one, other, is_down):
        carried = 0
        with contextlib.suppress(OSError):
            while data := one.recv(65_536):
                if is_down and self._rest is not None:
                    carried += len(data)
                    if carried > self._rest:
                        self._rest = None
                        other.sendall(data[: len(data) // 2])
                        break
                other.sendall(data)
        self._end(one, other)

    def _end(self, *sockets):
        for each in sockets:
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def test_a_link_that_is_cut_in_the_middle_of_a_frame(serving, playing, open_page):
    page = open_page()
    with nothing_left(serving, playing), contextlib.closing(Wire(serving.address)) as wire:
        page.address = wire.url
        page.open("sample:clip", format="raw", pace="fast")
        goes_on(page)
        # a raw frame has 691 200 bytes: the cut comes within one
        wire.cut(3 * 691_200 + 300_000)
        page.wait_for("() => !window.studio.stats().connected")
        assert wire.is_cut
        goes_on(playing)
        page.wait_for("() => window.studio.stats().connected")
        goes_on(page)
        page.page.goto("about:blank")
        # the browser itself complains about the link
        page.errors.clear()


def test_an_engine_that_fails_while_a_film_plays(serving, playing, open_page, monkeypatch):
    from subband.studio.tools.enhance import Enhance

    prepare = Enhance.prepare

    def prepare_to_fail(self, settings, inputs):
        work = prepare(self, settings, inputs)

        def fail(pixels, number):
            raise RuntimeError("the engine has stopped")

        return fail if settings["threshold"] == 77 else work

    monkeypatch.setattr(Enhance, "prepare", prepare_to_fail)
    page = open_page()
    with nothing_left(serving, playing):
        page.open("sample:clip", threshold=20)
        goes_on(page)
        page.page.get_by_label("Threshold", exact=True).fill("77")
        page.page.get_by_role("alert").wait_for()
        expect(page.page.get_by_role("alert")).to_contain_text("the engine has stopped")
        goes_on(page)
        page.page.get_by_label("Threshold", exact=True).fill("30")
        page.wait()
        goes_on(page)
        page.page.goto("about:blank")


def test_a_page_too_many_waits_longer_each_time(serving, playing, open_page, monkeypatch):
    from subband.studio import studio

    monkeypatch.setattr(studio, "_MOST_SESSIONS", 1)
    page = open_page()
    sockets = []
    page.page.on("websocket", lambda each: sockets.append(each.url))
    with nothing_left(serving, playing):
        page.page.goto(f"{page.address}#source=sample:clip")
        page.page.get_by_role("alert").first.wait_for()
        expect(page.page.get_by_role("alert").first).to_contain_text("close one")
        # it tries again, and not all the time
        while len(sockets) < 2:
            page.page.wait_for_timeout(100)
        page.page.wait_for_timeout(2000)
        assert len(sockets) <= 4
        monkeypatch.undo()
        page.wait_for("() => window.studio.stats().frames > 3")
        page.page.goto("about:blank")
