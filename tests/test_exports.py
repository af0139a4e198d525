"""What `import subband` gives, and what it costs."""

import inspect
import json
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

import subband

#: The public names of PyWavelets 1.9.
NAMES = """
    BaseNode ContinuousWavelet DiscreteContinuousWavelet FswavedecnResult Modes Node Node2D NodeND Wavelet
    WaveletPacket WaveletPacket2D WaveletPacketND array_to_coeffs central_frequency centrfrq coeffs_to_array cwt data
    downcoef dwt dwt2 dwt_coeff_len dwt_max_level dwtn dwtn_max_level families frequency2scale fswavedecn fswaverecn
    idwt idwt2 idwtn imra imra2 imran integrate_wavelet intwave iswt iswt2 iswtn mra mra2 mran orthfilt
    orthogonal_filter_bank pad qmf ravel_coeffs scal2frq scale2frequency swt swt2 swt_max_level swtn threshold
    threshold_firm unravel_coeffs upcoef wavedec wavedec2 wavedecn wavedecn_shapes wavedecn_size wavelist waverec
    waverec2 waverecn
"""
PYWAVELETS = set(NAMES.split())

#: What a user of transforms does not wait for.
HEAVY = {"numba", "llvmlite", "scipy", "typer", "rich", "PIL", "matplotlib", "pywt", "cupy", "torch", "skimage"}

FUNCTIONS = sorted(name for name in PYWAVELETS if inspect.isfunction(getattr(subband, name, None)))


def run_fresh(program):
    """Run a program in a new process and return what it prints, as JSON."""
    process = subprocess.run(
        [sys.executable, "-c", f"import json, sys; sys.path[:0] = {sys.path!r}\n{program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(process.stdout)


def test_all_is_sorted_and_complete():
    assert subband.__all__ == sorted(set(subband.__all__))
    assert len(PYWAVELETS) == 67
    assert PYWAVELETS | {"__version__"} <= set(subband.__all__)


def test_all_names_exist_and_nothing_else_is_public():
    public = {
        name
        for name, value in vars(subband).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    }
    modules = {name for name in subband.__all__ if isinstance(getattr(subband, name), ModuleType)}
    # some are imported when they are asked for
    assert public | set(subband._LATER) == set(subband.__all__) - modules - {"__version__"}


@pytest.mark.parametrize("name", sorted(set(subband.__all__) - {"__version__"}))
def test_every_name_is_documented(name):
    assert len(inspect.getdoc(getattr(subband, name)) or "") > 20


def test_names_are_those_of_the_installed_pywavelets():
    pywt = pytest.importorskip("pywt")
    there = {name for name in dir(pywt) if not name.startswith("_")} - {"test", "tests", "version"}
    assert there - PYWAVELETS == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_those_of_pywavelets(name):
    pywt = pytest.importorskip("pywt")
    theirs = inspect.signature(getattr(pywt, name)).parameters
    ours = inspect.signature(getattr(subband, name)).parameters
    # Options beyond PyWavelets come after its own, so that calls by position mean the same.
    assert list(ours)[: len(theirs)] == list(theirs)
    for parameter, theirs_own in theirs.items():
        assert ours[parameter].default == theirs_own.default


def test_import_brings_nothing_heavy():
    loaded = set(run_fresh("import subband; print(json.dumps(sorted(m.partition('.')[0] for m in sys.modules)))"))
    assert loaded & HEAVY == set()


def test_import_is_light():
    """What takes time is counted, not the time: modules beside NumPy's, and whose they are."""
    program = "import numpy; before = set(sys.modules); import subband; print(json.dumps([*set(sys.modules) - before]))"
    loaded = run_fresh(program)
    own = [name for name in loaded if name.partition(".")[0] == "subband"]
    others = {name.partition(".")[0] for name in loaded} - {"subband", "numpy"}
    assert others <= sys.stdlib_module_names
    assert len(own) < 80
    assert len(loaded) - len(own) < 60


def test_pywavelets_is_not_needed():
    assert find_spec("subband") is not None
    program = "sys.modules['pywt'] = None; import subband; subband.set_engine('reference')\n"
    assert run_fresh(program + "print(len(subband.wavedec([1, 2, 3, 4], 'haar')))") == 3


def test_modules_are_found_without_importing_them():
    program = "import subband; found = [subband.enhance.Denoise, subband.media.read_still, subband.plot.mosaic]\n"
    assert run_fresh(program + "print(json.dumps([each.__module__.split('.')[1] for each in found]))") == [
        "enhance",
        "media",
        "plot",
    ]
    assert {"enhance", "jpeg2000", "media", "plot", "dwt", "torch"} <= set(dir(subband))
    with pytest.raises(AttributeError, match="nothing"):
        _ = subband.nothing


@pytest.mark.parametrize("name", ["sklearn", "torch", "xarray"])
def test_short_names_of_integrations_have_all_of_them(name):
    pytest.importorskip(name)
    short, long = getattr(subband, name), import_module(f"subband.integrations.{name}")
    assert short.__all__ == long.__all__
    assert all(getattr(short, each) is getattr(long, each) for each in long.__all__)


def test_short_names_of_codecs():
    assert subband.jpeg2000 is subband.codecs.jpeg2000
    assert subband.vc2 is subband.codecs.vc2


def test_asking_for_names_imports_nothing():
    assert run_fresh("import subband; dir(subband); print(json.dumps('subband.media' in sys.modules))") is False
