"""Renderer and session know each other by jobs and messages alone: each works without the other."""

import ast
import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import subband.studio.hardware
from subband import data
from subband.enhance import Blur, Enhancer
from subband.errors import DeviceMemoryError, LevelError
from subband.studio.jobs import Job, Message
from subband.studio.library import Library
from subband.studio.player import DisplayFrame
from subband.studio.protocol import unpack
from subband.studio.rendering import Renderer
from subband.studio.session import Session
from subband.studio.settings import resolve_settings
from subband.studio.tools.enhance import Enhance

ROOM = Path(subband.studio.__file__).parent
PHOTOGRAPH = data.photograph()
LIBRARY = Library([])


def make_job(engine="cpu", pixels=PHOTOGRAPH, **settings):
    frame = None if pixels is None else DisplayFrame(pixels, 7, 0.25)
    return Job(resolve_settings(settings), engine, frame, lambda pixels: "raw", echo={"settings": 3})


def render(job):
    return Renderer(LIBRARY.load).render(job)


# the renderer without a session


def test_a_frame_is_rendered_without_a_session():
    message = render(make_job(filter="gaussian", sigma=2, view="split"))
    assert message.header["type"] == "frame"
    assert (message.header["position"], message.header["settings"]) == (7, 3)
    assert [part["role"] for part in message.header["parts"]] == ["result", "before"]
    expected = Enhancer(Blur(2.0)).apply(PHOTOGRAPH)
    assert [len(part) for part in message.payload] == [PHOTOGRAPH.size] * 2
    np.testing.assert_array_equal(np.frombuffer(message.payload[0], np.uint8).reshape(PHOTOGRAPH.shape), expected)
    assert (message.format, message.pixels) == ("raw", 2 * 512 * 512)
    assert message.seconds["decode"] == 0.25
    assert {"filter", "encode"} <= set(message.seconds)
    assert not message.error


def test_the_format_is_chosen_for_the_pixels_that_are_sent():
    asked = []
    job = make_job(filter="none", view="split")
    job = Job(job.resolved, job.engine, job.frame, lambda pixels: asked.append(pixels) or "png")
    assert render(job).format == "png"
    assert asked == [2 * 512 * 512]


def test_a_histogram_is_measured_without_a_session():
    job = make_job(filter="soft", threshold=16)
    message = render(Job(job.resolved, job.engine, job.frame, job.choose_format, band="dd1"))
    assert message.header["type"] == "histogram"
    assert (message.header["band"], message.header["threshold"]) == ("dd1", 16)
    assert message.payload == ()


def test_a_surface_is_rendered_without_frames():
    message = render(make_job(pixels=None, tool="surface", shape="ring"))
    assert (message.header["type"], message.header["settings"]) == ("surface", 3)
    assert len(message.payload) == 2


@pytest.fixture
def broken(monkeypatch):
    """Let the tool fail with an error that is given, and count how often."""
    failures = []

    def start(error):
        def prepare(self, settings, inputs):
            failures.append(inputs.shape)
            raise error

        monkeypatch.setattr(Enhance, "prepare", prepare)
        return failures

    return start


def test_a_device_that_fails_gives_an_error_and_no_frame(broken, monkeypatch):
    from subband.studio import rendering

    monkeypatch.setattr(rendering, "get_engine", lambda name: name)
    broken(DeviceMemoryError("the memory of the device is full"))
    message = render(make_job(engine="cuda"))
    assert message.header is None
    assert (message.error, message.about) == ("the memory of the device is full", "engine")


@pytest.mark.parametrize(
    ("error", "about"), [(LevelError("too many levels"), "settings"), (ValueError("too odd"), "engine")]
)
def test_what_the_cpu_cannot_do_is_told_once_and_the_frame_comes_unfiltered(broken, error, about):
    failures = broken(error)
    renderer = Renderer(LIBRARY.load)
    messages = [renderer.render(make_job()) for _ in range(3)]
    assert [message.about for message in messages] == [about, "", ""]
    assert str(error) in messages[0].error
    assert len(failures) == 1
    for message in messages:
        assert message.payload == (PHOTOGRAPH.tobytes(),)


# the session without a renderer


class Studio:
    """A session with a renderer that only takes notes, and a thread of the engine that runs when told to."""

    def __init__(self, **options):
        self.jobs, self.tasks, self.texts, self.frames = [], [], [], []
        self.answer = lambda job: Message({"type": "frame", "stats": {}, **job.echo}, (b"pixels",), "raw", 6)
        self.session = Session(self.emit, render=self.render, submit=self.submit, library=LIBRARY, **options)

    def emit(self, message, kind):
        if isinstance(message, str):
            self.texts.append(json.loads(message))
        else:
            self.frames.append(unpack(message)[0])

    def render(self, job):
        self.jobs.append(job)
        return self.answer(job)

    def submit(self, engine, task):
        self.tasks.append((engine, task))
        return True

    def send(self, kind, **content):
        self.session.receive({"type": kind, **content})

    def wait(self, condition):
        end = time.monotonic() + 300
        while not condition():
            assert time.monotonic() < end, "it did not come to pass"
            time.sleep(0.005)

    def wait_task(self):
        self.wait(lambda: self.tasks)

    def run(self):
        """Do what was handed to the engine, as its thread would."""
        self.wait_task()
        engine, task = self.tasks.pop(0)
        thread = threading.Thread(target=task)
        thread.start()
        thread.join()
        return engine

    def tell_settings(self, number, **settings):
        """Send settings, and wait until they were obeyed."""
        self.send("settings", number=number, time=0.5, settings=settings)
        self.wait(lambda: any(each["type"] == "resolved" and each["number"] == number for each in self.texts))

    def find(self, kind):
        return [each for each in self.texts if each["type"] == kind]


@pytest.fixture
def studio():
    made = Studio()
    yield made
    made.session.close()


def test_a_session_sends_what_any_renderer_makes(studio):
    studio.tell_settings(1, filter="soft", threshold=20)
    studio.send("open", source={"kind": "sample", "name": "camera"})
    assert studio.run() == "cpu"
    (job,) = studio.jobs
    np.testing.assert_array_equal(job.frame.pixels, data.camera())
    assert job.resolved.settings["threshold"] == 20
    assert job.choose_format(512 * 512) == "raw"
    (header,) = studio.frames
    assert (header["frame"], header["settings"], header["client_time"]) == (1, 1, 0.5)
    assert header["stats"]["dropped"] == 0


def test_a_job_that_has_not_begun_takes_the_newest_settings(studio):
    studio.send("open", source={"kind": "sample", "name": "camera"})
    studio.wait_task()
    for number in range(1, 6):
        studio.tell_settings(number, filter="soft", threshold=number)
    studio.run()
    assert [job.resolved.settings["threshold"] for job in studio.jobs] == [5]
    assert studio.frames[-1]["settings"] == 5
    # and is not computed again
    time.sleep(0.1)
    assert not studio.tasks


def test_a_job_that_has_not_begun_moves_to_another_engine(studio):
    studio.send("open", source={"kind": "sample", "name": "camera"})
    studio.wait_task()
    engines = [each.name for each in subband.studio.hardware.list_engines()]
    if len(engines) < 2:
        pytest.skip("there is one engine only")
    studio.tell_settings(1, engine=engines[1])
    assert studio.run() == "cpu"
    assert studio.jobs == []
    assert studio.run() == engines[1]
    assert [job.engine for job in studio.jobs] == [engines[1]]


def test_a_job_of_the_last_source_is_dropped(studio):
    studio.send("open", source={"kind": "sample", "name": "camera"})
    studio.wait_task()
    studio.send("open", source={"kind": "camera"})
    studio.wait(lambda: len(studio.find("opened")) == 2)
    studio.run()
    assert studio.jobs == []


def test_no_more_than_two_frames_are_in_flight(studio):
    studio.send("open", source={"kind": "sample", "name": "camera"})
    for number in (1, 2):
        studio.run()
        studio.tell_settings(number, threshold=number)
    assert len(studio.frames) == 2
    time.sleep(0.1)
    assert not studio.tasks
    studio.send("ack", frame=1)
    studio.run()
    assert len(studio.frames) == 3


def test_an_engine_that_fails_is_replaced_by_the_cpu():
    studio = Studio(engine="opencl")
    studio.answer = lambda job: Message(error="the device is gone", about="engine")
    studio.send("open", source={"kind": "sample", "name": "camera"})
    assert studio.run() == "opencl"
    assert studio.find("error")[0] == {"type": "error", "message": "the device is gone", "about": "engine"}
    assert "CPU" in studio.find("resolved")[-1]["notes"][-1]
    assert studio.run() == "cpu"
    assert [job.engine for job in studio.jobs] == ["opencl", "cpu"]
    studio.session.close()


def test_a_histogram_is_asked_for_by_a_job_of_its_own(studio):
    studio.send("open", source={"kind": "sample", "name": "camera"})
    studio.run()
    studio.answer = lambda job: Message({"type": "histogram", "band": job.band})
    studio.send("histogram", band="da2")
    studio.run()
    assert [job.band for job in studio.jobs] == [None, "da2"]
    assert studio.find("histogram") == [{"type": "histogram", "band": "da2"}]
    assert len(studio.frames) == 1


def test_a_band_that_is_picked_while_another_is_measured_is_measured_too(studio):
    studio.send("open", source={"kind": "sample", "name": "camera"})
    studio.run()

    def answer(job):
        if job.band == "da2":
            studio.send("histogram", band="dd1")
            time.sleep(0.1)
        return Message({"type": "histogram", "band": job.band})

    studio.answer = answer
    studio.send("histogram", band="da2")
    studio.run()
    studio.run()
    assert [each["band"] for each in studio.find("histogram")] == ["da2", "dd1"]


def test_a_job_that_has_not_begun_when_the_page_goes_is_not_rendered(studio):
    studio.send("open", source={"kind": "sample", "name": "camera"})
    studio.wait_task()
    studio.session.close()
    studio.run()
    assert studio.jobs == []


# the room


def list_imports(module):
    tree = ast.parse((ROOM / f"{module}.py").read_text(encoding="utf-8"))
    return {node.module.rpartition(".")[2] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize(
    ("module", "foreign"),
    [
        ("rendering", {"session", "preview", "inbox", "inflight", "outbox", "workers", "studio", "app"}),
        ("dispatch", {"session", "rendering", "preview", "inflight", "workers", "studio"}),
        ("session", {"rendering", "tools", "workers", "outbox", "studio", "app", "exports"}),
        ("preview", {"session", "rendering", "jobs", "inflight", "workers", "studio"}),
        ("inflight", {"session", "rendering", "preview", "workers", "studio"}),
        ("jobs", {"session", "rendering", "preview", "inflight", "workers", "studio"}),
    ],
)
def test_modules_do_not_import_whom_they_serve(module, foreign):
    assert not list_imports(module) & foreign


@pytest.mark.parametrize("path", sorted(ROOM.rglob("*.py")), ids=lambda path: path.relative_to(ROOM).as_posix())
def test_nobody_reads_the_private_fields_of_another(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            assert owner in ("self", "cls"), f"{path.name}:{node.lineno} reads {ast.unparse(node)}"


@pytest.mark.parametrize(
    "module", ["session", "rendering", "dispatch", "inflight", "inbox", "jobs", "outbox", "workers", "meter"]
)
def test_nobody_sets_the_fields_of_another(module):
    for node in ast.walk(ast.parse((ROOM / f"{module}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            assert ast.unparse(node.value) == "self", f"{module}.py:{node.lineno} sets {ast.unparse(node)}"
