"""Bivariate shrinkage first, then once more with the result as a guide."""

from __future__ import annotations

from subband.enhance.methods.bivariate import Bivariate

__all__ = ["METHOD", "Wiener"]


class Wiener(Bivariate):
    """Bivariate shrinkage whose result guides an empirical Wiener filter without decimation."""

    name = "wiener"
    title = "Bivariate and Wiener"
    looks_at = "the same, and then once more with the result as a guide, without decimation"
    advice = "better, several times as slow"
    rank = 1
    is_guide = True


METHOD = Wiener()
