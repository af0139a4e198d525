"""Names of integrations, under their short names."""

from typing import assert_type

import subband.sklearn
from subband.sklearn import WaveletDenoiser, WaveletFeatures

assert_type(WaveletDenoiser(), WaveletDenoiser)
assert_type(subband.sklearn.WaveletFeatures(), WaveletFeatures)

subband.sklearn.WaveletFeature()  # wrong: there is no such name
