from __future__ import annotations

import pytest

from subband.engines import get_engine
from subband.errors import MissingExtraError, NoDeviceError
from subband.testing import EngineTests

pytestmark = pytest.mark.opencl

try:
    ENGINE = get_engine("opencl")
except (MissingExtraError, NoDeviceError) as missing:
    pytest.skip(f"{missing}", allow_module_level=True)


class TestOpenCLEngine(EngineTests):
    engine = ENGINE
    # the drivers' threads stay behind in the parent
    survives_fork = False
    alternates_dtypes = True
    # short and long, with and without lifting steps, symmetric and not: each is a dozen kernels to compile; all others
    # are compared with the reference in `tests/parity`
    wavelets = ("haar", "cdf53", "cdf97", "db2", "db5", "sym8", "db38")
    lengths = (1, 2, 3, 17, 64, 131)
