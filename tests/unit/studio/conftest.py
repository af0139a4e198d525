"""A studio in a thread, and a client that speaks as a page does."""

import contextlib
import json
import socket
import time
from collections import deque

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from subband.studio.protocol import pack, unpack
from subband.studio.serving import run_studio


class Frame:
    """A frame as it arrived."""

    def __init__(self, message):
        self.header, payload = unpack(message)
        self.parts = {}
        for part in self.header["parts"]:
            data, payload = payload[: part["length"]], payload[part["length"] :]
            self.parts[part["role"]] = (part, bytes(data))
        assert not len(payload)

    def pixels(self, role="result"):
        """Return the pixels of a raw part."""
        part, data = self.parts[role]
        shape = (part["height"], part["width"])
        if part["format"] == "grey":
            return np.frombuffer(data, np.uint8).reshape(shape)
        assert part["format"] == "rgb"
        return np.frombuffer(data, np.uint8).reshape(*shape, 3)

    @property
    def settings(self):
        return self.header["settings"]

    @property
    def position(self):
        return self.header["position"]


class Page:
    """What a browser's page does, without a browser."""

    def __init__(self, address, host=None, key=None, **options):
        if host is not None:
            # as a proxy or a foreign name would lead here
            options["sock"] = socket.create_connection((address.host, address.port))
        host = host or f"{address.host}:{address.port}"
        options = {"origin": f"http://{host}", "max_size": None, "compression": None, **options}
        self.socket = connect(f"ws://{host}/live{'' if key is None else f'?page={key}'}", **options).__enter__()
        self.errors = []
        self.waiting = deque()
        self.number = 0
        self.answers = True
        self.hello = self.wait("hello")

    def send(self, kind, **content):
        self.socket.send(json.dumps({"type": kind, **content}))

    def send_settings(self, **settings):
        """Send settings, and return the number that they have."""
        self.number += 1
        self.send("settings", number=self.number, time=1.5, settings={"format": "raw", **settings})
        return self.number

    def open(self, kind="sample", name="photograph"):
        self.send("open", source={"kind": kind, "id" if kind == "upload" else "name": name})

    def answer(self, frame):
        self.send("ack", frame=frame.header["frame"], received=1.0, drawn=2.0)

    def receive(self, timeout=300.0):
        message = self.socket.recv(timeout=timeout)
        if isinstance(message, str):
            found = json.loads(message)
            if found["type"] == "error":
                self.errors.append(found)
            return found
        (length,) = np.frombuffer(message[:4], "<u4")
        if json.loads(message[4 : 4 + int(length)])["type"] != "frame":
            return message
        frame = Frame(message)
        if self.answers:
            self.answer(frame)
        return frame

    def wait(self, kind, timeout=300.0, accept=lambda message: True):
        """Return the next message of a type; what else comes is left out."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = self.receive(max(end - time.monotonic(), 0.01))
            if isinstance(found, dict) and found["type"] == kind and accept(found):
                return found
        raise TimeoutError(kind)

    def wait_frame(self, timeout=300.0, accept=lambda frame: True):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            found = self.receive(max(end - time.monotonic(), 0.01))
            if isinstance(found, Frame) and accept(found):
                return found
        raise TimeoutError("no such frame")

    def show(self, **settings):
        """Send settings, and return the frame that is made under them."""
        number = self.send_settings(**settings)
        return self.wait_frame(accept=lambda frame: frame.settings == number)

    def collect(self, seconds):
        """Return all that comes within some seconds."""
        found, end = [], time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                found.append(self.receive(left))
            except TimeoutError:
                break
        return found

    def send_camera(self, data, **header):
        self.socket.send(pack({"type": "camera", "number": 1, "format": "jpeg", **header}, data))

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ConnectionClosed):
            self.close()


@pytest.fixture(scope="module")
def serving():
    with run_studio(with_token=False) as running:
        yield running


@pytest.fixture
def page(serving):
    with Page(serving.address) as opened:
        yield opened


@pytest.fixture
def page_at():
    """Return what opens a page of any studio, for a block."""
    return Page


@pytest.fixture
def open_page(serving):
    """Return what opens further pages, which are closed at the end."""
    pages = []

    def start(**options):
        pages.append(Page(serving.address, **options))
        return pages[-1]

    yield start
    for each in pages:
        each.close()


@pytest.fixture
def http(serving):
    """Return a client that speaks HTTP from the page's own origin."""
    import httpx

    base = f"http://{serving.address.host}:{serving.address.port}"
    with httpx.Client(base_url=base, headers={"Origin": base}, timeout=300) as client:
        yield client
