"""Non-local ridge regression: bivariate shrinkage first, and then groups of similar patches, found in the result."""

from __future__ import annotations

from subband.engines.filters.groups import Groups
from subband.enhance.methods.bivariate import Bivariate

__all__ = ["METHOD", "Best"]

#: The passes over groups, by the number of axes. What the first guide has lost comes back with the energy of the noisy
#: patches; each guide has lost less than the one before. What only guides needs fewer reference patches, and the first
#: guide of a volume does with patches from nearer by.
_PASSES = {
    1: (Groups(16, 48, 4, 16, 0.85), Groups(16, 48, 4, 32)),
    2: (Groups(9, 18, 6, 48, 0.85), Groups(7, 18, 6, 64, 0.96), Groups(7, 18, 4, 64)),
    3: (Groups(4, 4, 4, 32, 0.9, True), Groups(4, 5, 4, 32, 1.0, True), Groups(4, 5, 3, 32, 1.0, True)),
}


class Best(Bivariate):
    """Bivariate shrinkage whose result guides passes over groups of similar patches.

    References
    ----------
    S. Herbreteau and C. Kervrann, Towards a unified view of unsupervised non-local methods for image denoising: the
    NL-Ridge approach, IEEE International Conference on Image Processing, 2022.
    """

    name = "best"
    title = "Non-local ridge regression"
    looks_at = "groups of patches that look alike, found in the result of `bivariate`"
    advice = "the best: as good as BM3D, a hundred times as slow as the default"
    rank = 2
    is_guide = True

    def list_passes(self, dimensions: int) -> tuple[Groups, ...]:
        """Return the passes over groups of similar patches, each guided by the one before."""
        return _PASSES[dimensions]


METHOD = Best()
