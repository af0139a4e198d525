"""The kernels of code-blocks and of colours compile for two generations of NVIDIA's GPUs, with no GPU.

What they compute is compared with the host on an OpenCL device, in `tests/codecs/test_device.py`.
"""

from __future__ import annotations

import pytest

from subband.kernels.components import ComponentSpec, render_joining, render_splitting
from subband.kernels.dialects import CUDA, DIALECTS
from subband.kernels.ht_blocks import BlockSpec
from subband.kernels.ht_decoding import render_decoding
from subband.kernels.ht_encoding import render_encoding, render_gathering, render_placing


def list_texts(dialect):
    """Return all kernels, for few bands and many, in integers and in numbers."""
    texts = [render_placing(dialect), render_gathering(dialect)]
    for is_reversible in (False, True):
        for bands, width, lanes in ((1, 1024, 8), (16, 64, 4), (1, 64, 32)):
            spec = BlockSpec(bands, width, lanes, is_reversible)
            texts += [render_encoding(spec, dialect), render_decoding(spec, dialect)]
        for storage, channels in (("uint8", 3), ("uint16", 1)):
            spec = ComponentSpec(storage, channels, is_reversible, channels > 2)
            texts += [render_splitting(spec, dialect), render_joining(spec, dialect)]
    return texts


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_cuda_text_compiles(architecture):
    core = pytest.importorskip("cuda.core", reason="NVRTC is not installed: pip install 'subband[kernels]'")
    for source in list_texts(CUDA):
        options = core.ProgramOptions(std="c++17", arch=architecture)
        assert core.Program(source, "c++", options).compile("cubin").code


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_lanes_read_from_different_banks(dialect):
    for width in (4, 5, 64, 1024):
        spec = BlockSpec(1, width, 4, False)
        assert spec.pitch % 2
        # a quad before each row, and two behind
        assert spec.pitch >= (width + 1) // 2 + 3
        assert f"#define PITCH {spec.pitch}\n" in render_decoding(spec, dialect)
