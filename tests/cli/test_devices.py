"""``subband devices``."""

import json
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from subband.cli import app
from subband.engines.measuring import devices
from subband.engines.measuring.devices import DeviceRecord
from subband.errors import NoDeviceError


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr(devices, "_measure_copy", lambda record: 12.34e9)
    return lambda *arguments: CliRunner().invoke(app, ["devices", *arguments])


@pytest.fixture
def without_gpus(monkeypatch):
    def find_nothing():
        raise NoDeviceError("nothing here; install a driver")

    monkeypatch.setattr(devices, "_find_cuda", find_nothing)
    monkeypatch.setattr(devices, "_find_opencl", find_nothing)


def test_table_names_what_there_is(run, without_gpus):
    result = run()
    assert result.exit_code == 0
    for text in ("cpu (default)", "reference", "Numba", "GiB", "complex128", "cuda: nothing here; install a driver"):
        assert text in result.output
    assert "GB/s" not in result.output


def test_copy_is_measured_on_request(run, without_gpus):
    assert "12.3 GB/s" in run("--measure").output


def test_json(run, without_gpus):
    record = json.loads(run("--json", "--measure").output)
    assert [entry["engine"] for entry in record["engines"]] == ["cpu", "reference", "cuda", "opencl"]
    assert [entry["is_default"] for entry in record["engines"]] == [True, False, False, False]
    assert record["engines"][0]["copy_bytes_per_second"] == 12.34e9
    assert record["engines"][2]["missing"] == "nothing here; install a driver"
    assert record["machine"]["processor"]


@pytest.mark.usefixtures("own_engines")
def test_missing_library_comes_with_the_command_that_installs_it(run, monkeypatch):
    from subband.engines import registry

    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    output = run().output
    assert "cuda: engine='cuda' needs an optional library; install it with: pip install 'subband[cuda]'" in output
    assert "pip install 'subband[opencl]'" in output


@pytest.mark.parametrize("error", [OSError("libcuda.so.1 is broken"), RuntimeError("driver\nis too old")])
def test_broken_driver_does_not_stop_the_list(run, monkeypatch, error):
    def fail():
        raise error

    monkeypatch.setattr(devices, "_find_cuda", fail)
    result = run()
    assert result.exit_code == 0
    assert f"{type(error).__name__}: {' '.join(str(error).split())}" in result.output


def test_cuda_devices_are_described(monkeypatch):
    runtime = SimpleNamespace(
        getDeviceCount=lambda: 2,
        runtimeGetVersion=lambda: 13000,
        getDeviceProperties=lambda number: {"name": f"Card {number}".encode(), "totalGlobalMem": 2**37},
    )
    monkeypatch.setitem(
        sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), __version__="14.2.0")
    )
    monkeypatch.setattr(devices, "get_engine", lambda name: None)
    monkeypatch.setattr(devices, "_read_driver", lambda: "580.95")
    found = list(devices._find_cuda())
    assert [record.engine for record in found] == ["cuda:0", "cuda:1"]
    assert found[1].device == "Card 1"
    assert found[0].versions == {"driver": "580.95", "CUDA": "13.0", "CuPy": "14.2.0"}
    assert "float16" in found[0].dtypes


def test_failing_copy_is_told(monkeypatch):
    def fail(name, **options):
        raise RuntimeError("no memory left")

    monkeypatch.setattr(devices, "open_harness", fail)
    record = devices.measure_record(DeviceRecord("cuda:0", "Card"))
    assert record.copy is None
    assert record.missing == "copying fails: no memory left"


@pytest.mark.opencl
def test_opencl_devices_are_listed_and_measured(monkeypatch):
    pytest.importorskip("pyopencl")
    monkeypatch.setattr(devices, "_COPY_SIZE", 2**20)
    record = next(record for record in devices.list_records() if record.engine == "opencl:0")
    assert record.device
    assert record.memory > 2**20
    assert {"float16", "float32"} <= set(record.dtypes)
    assert devices.measure_record(record).copy > 1e6
