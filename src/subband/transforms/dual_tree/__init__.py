"""The dual-tree complex wavelet transform, of one to three axes.

Two trees of real filters, half a sample apart, give the real and imaginary parts of complex coefficients. A signal is
extended by its mirror image, in which each tree continues as the other one, reversed. So the samples and their mirror
image are one periodic signal, and both trees one periodic transform of it, which engines compute like any other:

- `folding`: that periodic signal, made of samples or of the interleaved coefficients of both trees, and back;
- `orientations`: complex bands made of the corners of folded ones, and back;
- `plan`: the levels, and the shapes of all bands;
- `pyramid`: the result;
- `transform`: `dtcwt` and `idtcwt`.
"""

from __future__ import annotations

from subband.transforms.dual_tree.pyramid import DualTreePyramid
from subband.transforms.dual_tree.transform import dtcwt, idtcwt

__all__ = ["DualTreePyramid", "dtcwt", "idtcwt"]
