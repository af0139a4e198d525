from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from subband.engines import ENGINES, Engine, get_engine, registry, set_engine
from subband.errors import ArgumentError, MissingExtraError, UnknownEngineError


@pytest.fixture(autouse=True)
def _restore_engine():
    yield
    set_engine(None)


def run_python(code, **environment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_names_are_those_of_the_classes(name):
    if name in registry._LIBRARIES:
        pytest.importorskip(registry._LIBRARIES[name][0])
    module, _, attribute = ENGINES[name].partition(":")
    kind = getattr(import_module(module), attribute)
    assert issubclass(kind, Engine)
    assert kind.name == name
    assert module.rpartition(".")[2] == name


def test_engines_are_made_once():
    assert get_engine("reference") is get_engine("reference")
    assert repr(get_engine("reference")) == "<engine 'reference'>"


def test_the_cpu_is_the_default():
    assert get_engine().name == get_engine("auto").name == get_engine(None).name == "cpu"


def test_choice_for_all_calls():
    set_engine("reference")
    assert get_engine().name == "reference"
    assert get_engine("auto").name == "reference"
    assert get_engine("cpu").name == "cpu"
    set_engine("auto")
    assert get_engine().name == "cpu"


def test_an_engine_stands_for_itself():
    engine = get_engine("reference")
    assert get_engine(engine) is engine


def test_unknown_engines():
    with pytest.raises(
        UnknownEngineError, match=r"engine='referense' .*did you mean 'reference'\?; engines: auto, cpu"
    ):
        get_engine("referense")
    with pytest.raises(UnknownEngineError, match="engine='abacus'"):
        set_engine("abacus")
    assert get_engine().name == "cpu", "a bad name leaves the choice as it was"


def test_devices_have_numbers():
    with pytest.raises(ArgumentError, match="engine='cpu:1' names a device, and 'cpu' has none; use 'cpu'"):
        get_engine("cpu:1")
    with pytest.raises(ArgumentError, match="engine='cuda:' names no device; use 'cuda:0', or 'cuda' for the first"):
        get_engine("cuda:")
    with pytest.raises(UnknownEngineError, match=r"engine='opencel:0' .*did you mean 'opencl'\?"):
        set_engine("opencel:0")


@pytest.mark.usefixtures("own_engines")
@pytest.mark.parametrize("name", ["cuda", "cuda:1", "opencl", "opencl:0:1"])
def test_the_device_is_handed_to_the_engine(name, monkeypatch):
    family, _, device = name.partition(":")
    given = []

    class Fake(Engine):
        name = family
        forward = inverse = stationary_forward = stationary_inverse = None

        def __init__(self, device=None):
            given.append(device)

    monkeypatch.setitem(registry._LIBRARIES, family, ("numpy", "none"))
    monkeypatch.setitem(ENGINES, family, "subband.engines.registry:Fake")
    monkeypatch.setattr(registry, "Fake", Fake, raising=False)
    assert isinstance(get_engine(name), Fake)
    assert given == [device or None]
    set_engine(name)
    assert registry.uses_device
    set_engine("auto")
    assert not registry.uses_device


@pytest.mark.usefixtures("own_engines")
@pytest.mark.parametrize(("name", "extra"), [("cuda", "cuda"), ("cuda:1", "cuda"), ("opencl:0", "opencl")])
def test_a_missing_library_comes_with_the_way_to_install_it(name, extra, monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda library: None)
    with pytest.raises(MissingExtraError, match=rf"engine='{name}' needs.*pip install 'subband\[{extra}\]'"):
        get_engine(name)
    with pytest.raises(MissingExtraError):
        set_engine(name)
    assert get_engine().name == "cpu"


def test_environment_variable():
    code = "from subband.engines import get_engine; print(get_engine().name)"
    assert run_python(code, SUBBAND_ENGINE="reference").stdout.strip() == "reference"
    assert run_python(code, SUBBAND_ENGINE="auto").stdout.strip() == "cpu"
    bad = run_python(code, SUBBAND_ENGINE="abacus")
    assert bad.returncode != 0
    assert "UnknownEngineError: engine='abacus'" in bad.stderr


def test_nothing_is_loaded_before_it_is_asked_for():
    code = (
        "import sys, subband; "
        "print(sorted({'numba', 'llvmlite', 'cupy', 'pyopencl', 'torch', 'hypothesis', 'pytest', 'scipy', 'PIL'}"
        " & set(sys.modules)))"
    )
    finished = run_python(code)
    assert finished.stdout.strip() == "[]", finished.stderr


def test_the_reference_engine_needs_no_compiler():
    code = (
        "import sys, subband; subband.set_engine('reference'); subband.dwt([1, 2, 3, 4], 'db2'); "
        "print('numba' in sys.modules)"
    )
    finished = run_python(code)
    assert finished.stdout.strip() == "False", finished.stderr


def test_the_choice_reaches_the_transforms():
    """A float32 transform by the reference engine is as good as one in double precision."""
    import subband

    x = np.linspace(0.0, 1.0, 16, dtype=np.float32)
    set_engine("reference")
    low, _ = subband.dwt(x, "db3")
    set_engine(None)
    expected, _ = subband.dwt(x.astype(np.float64), "db3")
    np.testing.assert_allclose(low, expected, atol=1e-6)
