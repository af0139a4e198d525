"""Kernels compiled in advance: the same results as Numba's, and Numba's own wherever they cannot be used."""

from __future__ import annotations

import logging
import os
import shutil

import numpy as np
import pytest

from subband.compiled import Kernels, building, kernel, library
from subband.compiled.container import Container, Contents, Item, write_container
from subband.compiled.kinds import format_kinds, parse_kinds
from subband.engines.filters.launch import TaskKernels, cut_tasks

HULLS = "subband.codecs.jpeg2000.loops.hulls"
QUANTISING = "subband.codecs.jpeg2000.loops.quantising"
EDGES = "subband.edit.edge_loops"
STATISTICS = "subband.engines.filters.loops.statistics"

#: Results that are arrays, a number of single precision, tuples of arrays with strides, and addresses.
CHOSEN = {
    (HULLS, "list_segments"),
    (QUANTISING, "quantise_rows"),
    (EDGES, "combine_bands"),
    (STATISTICS, "sum_squares"),
}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A file with a few kernels, for this processor."""
    items, objects = [], []
    for number, (module, function, kinds) in enumerate(building.read_signatures()):
        if (module, function) in CHOSEN:
            code, returns = building._compile(module, function, kinds, f"entry_{number}")
            items.append(Item(module, function, kinds, returns, f"entry_{number}"))
            objects.append(code)
    assert {(item.module, item.function) for item in items} == CHOSEN
    sources = {module: library.digest_sources(building.list_sources(module)) for module, _ in CHOSEN}
    path = tmp_path_factory.mktemp("objects") / "some.kernels"
    processor = os.environ.get(library.PROCESSOR, "host")
    write_container(path, Contents(processor, [], library.describe_interface(), sources, items), objects)
    return path


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A folder of its own with that file, which the library is taken from."""
    shutil.copy(made, tmp_path)
    monkeypatch.delenv("SUBBAND_KERNELS", raising=False)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    monkeypatch.setattr(kernel, "_kernels", {})
    library.find_library.cache_clear()
    yield tmp_path
    library.find_library.cache_clear()


def rewrite(folder, **changes):
    """Write the file again with another table of contents."""
    path = folder / "some.kernels"
    container = Container(path)
    objects = [container.read(item) for item in container.contents.items]
    write_container(path, Contents(**{**vars(container.contents), **changes}), objects)


def quantise():
    """Call a kernel, and return whether Numba compiled it, what it made and what it should have made."""
    loops = Kernels(QUANTISING)
    values = np.linspace(-9, 9, 24, dtype=np.float32).reshape(4, 6)
    out, wanted = np.empty(values.shape, np.int32), np.empty(values.shape, np.int32)
    loops.quantise_rows(values, np.float32(1.5), out)
    loops.quantise_rows.dispatcher(values, np.float32(1.5), wanted)
    own = loops.quantise_rows
    return all(entry is own.dispatcher for entry in own._entries), out, wanted


def test_kernels_are_taken_from_the_file(folder):
    is_compiled, out, wanted = quantise()
    assert not is_compiled
    np.testing.assert_array_equal(out, wanted)
    assert np.any(out)


def test_results_that_are_arrays(folder):
    passes = np.array([3, 2], np.int32)
    ends = np.array([[10, 20, 30], [5, 9, 0]], np.int32)
    gains = np.array([[100.0, 110.0, 160.0], [7.0, 9.0, 0.0]])
    loops = Kernels(HULLS)
    made = loops.list_segments(passes, ends, gains, np.ones(2))
    wanted = loops.list_segments.dispatcher(passes, ends, gains, np.ones(2))
    assert loops.list_segments.dispatcher not in loops.list_segments._entries
    count = wanted[-1]
    assert made[-1] == count > 0
    for own, other in zip(made[:-1], wanted[:-1], strict=True):
        assert own.dtype == other.dtype
        np.testing.assert_array_equal(own[:, :count], other[:, :count])
        own[0, 0] = 1  # it can be written to


def test_arrays_with_strides_in_tuples(folder):
    rng = np.random.default_rng(0)
    parts = tuple(rng.normal(size=(1, 8, 12)).astype(np.float32)[:, :, ::2] for _ in range(2))
    made, wanted = [(np.zeros((2, 1, 8, 6), np.float32), np.zeros((1, 8, 6), np.float32)) for _ in range(2)]
    loops = Kernels(EDGES)
    loops.combine_bands(parts, np.float32(0.5), *made, True, 0, 8)
    loops.combine_bands.dispatcher(parts, np.float32(0.5), *wanted, True, 0, 8)
    assert loops.combine_bands.dispatcher not in loops.combine_bands._entries
    assert np.any(made[1])
    for own, other in zip(made, wanted, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-6)


def test_functions_by_their_address(folder):
    sums, planes = np.zeros(1), np.array([[1.0, 7.0]], np.float32)
    TaskKernels(STATISTICS).sum_squares(cut_tasks(1, 1, 2), (sums, planes), (), (2,))
    np.testing.assert_allclose(sums, 50)
    assert Kernels(STATISTICS).sum_squares._addresses
    assert not Kernels(STATISTICS).sum_squares._kept  # nothing was compiled


ROWS = np.arange(24, dtype=np.float32).reshape(4, 6)
READ_ONLY = ROWS.copy()
READ_ONLY.flags.writeable = False
SWAPPED = ROWS.astype(">f4")
UNALIGNED = np.frombuffer(bytearray(97), np.uint8)[1:].view(np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    "values", [ROWS.astype(np.float64), ROWS[0], ROWS[:, ::2], SWAPPED, UNALIGNED, ROWS.tolist(), 3]
)
def test_an_entry_leaves_what_it_was_not_compiled_for_alone(folder, values):
    found = library.find_library()
    (item,) = found.list_items(QUANTISING, "quantise_rows")
    entry = found.load_entry(item)
    out = np.full((4, 6), 7, np.int32)
    assert entry(values, 1.0, out) is NotImplemented
    assert entry(ROWS, 1.0) is NotImplemented
    assert entry(ROWS, 1.0, READ_ONLY) is NotImplemented
    assert np.all(out == 7)
    with pytest.raises(TypeError):
        entry(ROWS, "one", out)


def test_unpickled_arrays_are_as_good_as_others(folder):
    import pickle

    found = library.find_library()
    entry = found.load_entry(found.list_items(QUANTISING, "quantise_rows")[0])
    assert entry(pickle.loads(pickle.dumps(ROWS)), 1.0, np.empty((4, 6), np.int32)) is None


def damage_table(folder):
    path = folder / "some.kernels"
    path.write_bytes(path.read_bytes()[:100])


def damage_objects(folder):
    path = folder / "some.kernels"
    data = bytearray(path.read_bytes())
    start = 16 + int.from_bytes(data[8:16], "little")
    data[start:] = bytes(len(data) - start)
    path.write_bytes(data)


def write_no_object(folder):
    path = folder / "some.kernels"
    contents = Container(path).contents
    write_container(path, contents, [b"no object code"] * len(contents.items))


def change_sources(folder):
    sources = Container(folder / "some.kernels").contents.sources
    rewrite(folder, sources={module: dict.fromkeys(files, "another") for module, files in sources.items()})


FAULTS = {
    "a processor that can do less": lambda folder: rewrite(folder, features=["avx", "teleportation"]),
    "a processor that was not asked for": lambda folder: rewrite(folder, processor="another"),
    "another Python or NumPy": lambda folder: rewrite(folder, interface="linux-x86_64-cpython32-numpy9"),
    "a damaged table": damage_table,
    "damaged objects": damage_objects,
    "objects of another kind": write_no_object,
    "other sources": change_sources,
    "no such file": lambda folder: (folder / "some.kernels").unlink(),
    "an empty file": lambda folder: (folder / "some.kernels").write_bytes(b""),
    "a folder in its place": lambda folder: ((folder / "some.kernels").unlink(), (folder / "some.kernels").mkdir()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_numba_compiles_what_cannot_be_loaded(folder, fault, caplog, monkeypatch):
    monkeypatch.setenv(library.PROCESSOR, os.environ.get(library.PROCESSOR, "host"))
    FAULTS[fault](folder)
    with caplog.at_level(logging.DEBUG, "subband.compiled"):
        is_compiled, out, wanted = quantise()
    assert is_compiled
    np.testing.assert_array_equal(out, wanted)
    assert any("quantise_rows is compiled" in line for line in caplog.messages)


def test_none_are_used_if_so_wished(folder, monkeypatch):
    monkeypatch.setenv("SUBBAND_KERNELS", "0")
    assert quantise()[0]


def test_other_dtypes_are_compiled_beside(folder):
    loops = Kernels(QUANTISING)
    out = np.empty((4, 6), np.int32)
    for values in (ROWS, ROWS.astype(np.float64), ROWS):
        loops.quantise_rows(values, np.float32(2), out)
        np.testing.assert_array_equal(out, ROWS * 2)


def test_kinds_there_and_back():
    texts = {kinds for *_, kinds in building.read_signatures()}
    assert len(texts) > 20
    for text in texts:
        assert format_kinds(parse_kinds(text)) == text


def test_sources_of_a_module_are_all_that_it_is_made_of():
    found = building.list_sources("subband.engines.cpu.kernels")
    assert {"engines/cpu/kernels.py", "engines/cpu/rows.py", "engines/cpu/loops.py", "engines/cpu/program.py"} <= set(
        found
    )
    assert len(found) < 40
