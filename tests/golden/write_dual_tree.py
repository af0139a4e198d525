"""Write dual_tree.npz, the values that test_dual_tree.py compares with, by the packages dtcwt and pytorch_wavelets.

Both need older libraries than the tests have, so this runs in an environment of its own::

    python3 -m venv reference
    reference/bin/pip install "numpy<2" "setuptools<81" torch dtcwt==0.14.0 pytorch_wavelets==1.3.0
    reference/bin/python tests/golden/write_dual_tree.py

Images come from pytorch_wavelets, in float64; signals and volumes, which it does not have, from dtcwt.
"""

from pathlib import Path

import numpy as np

IMAGES = {
    "near_sym_a qshift_a": (13, 18),
    "near_sym_b qshift_b": (20, 14),
    "antonini qshift_c": (16, 8),
    "legall qshift_d": (9, 11),
    "legall qshift_06": (12, 12),
}
OTHERS = {"near_sym_b qshift_d": (44,), "antonini qshift_a": (30,), "near_sym_a qshift_b": (8, 6, 10)}
LEVELS = 3


def main() -> None:
    """Write the file beside this script."""
    import dtcwt
    import torch
    from pytorch_wavelets import DTCWTForward

    torch.set_default_dtype(torch.float64)
    rng = np.random.default_rng(2001)
    arrays = {}
    for filters, shape in (IMAGES | OTHERS).items():
        x = rng.normal(size=shape).round(3)
        biort, qshift = filters.split()
        if len(shape) == 2:
            low, high = DTCWTForward(biort=biort, qshift=qshift, J=LEVELS)(torch.tensor(x)[None, None])
            lowpass = low[0, 0].numpy()
            highpasses = [np.moveaxis(torch.view_as_complex(band[0, 0].contiguous()).numpy(), 0, -1) for band in high]
        else:
            transform = dtcwt.Transform1d if len(shape) == 1 else dtcwt.Transform3d
            pyramid = transform(biort, qshift).forward(x, nlevels=LEVELS)
            lowpass = pyramid.lowpass.reshape(pyramid.lowpass.shape[: len(shape)])
            highpasses = list(pyramid.highpasses)
        arrays[f"{filters} x"], arrays[f"{filters} lowpass"] = x, lowpass
        arrays |= {f"{filters} {level}": band for level, band in enumerate(highpasses, 1)}
    np.savez_compressed(Path(__file__).with_name("dual_tree.npz"), **arrays)


if __name__ == "__main__":
    main()
