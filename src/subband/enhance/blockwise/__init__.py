"""What is larger than memory: how far stages reach, blocks with margins, and statistics gathered in pieces.

A result is that of the whole array if every block is read with as much around it as has a say in it (`Reach`), and if
what a stage has to know about the whole is known before the first block: the strength of noise (`CellSearch`, or
`NoiseSearch` where it is a median), and what a method decides about whole bands (`BandTally`). Statistics look at one
piece at a time, what they found is merged in any order, and the conclusion is that of the whole.
`subband.pipeline.volumes` goes through volumes that way slab by slab, `subband.integrations.dask` through arrays of
Dask chunk by chunk, and the studio through large images region by region (`Regions`).
"""

from __future__ import annotations

from subband.enhance.blockwise.gaps import GapFilling
from subband.enhance.blockwise.pixels import PixelForm
from subband.enhance.blockwise.reach import Reach, cut_blocks, find_obstacle, measure_reach, reach_of_spatial, widen
from subband.enhance.blockwise.regions import Noise, Regions, fit_to_part, run_planes
from subband.enhance.blockwise.slabs import COPIES, gather_blocks, measure_volume_noise
from subband.enhance.blockwise.smooth import CellSearch
from subband.enhance.blockwise.statistics import Aims, BandTally, Block, Findings, NoiseSearch, flatten, narrow
from subband.enhance.blockwise.works import BandShrink, BandTallyWork, GuideWork, SpatialWork, average

__all__ = [
    "COPIES",
    "Aims",
    "BandShrink",
    "BandTally",
    "BandTallyWork",
    "Block",
    "CellSearch",
    "Findings",
    "GapFilling",
    "GuideWork",
    "Noise",
    "NoiseSearch",
    "PixelForm",
    "Reach",
    "Regions",
    "SpatialWork",
    "average",
    "cut_blocks",
    "find_obstacle",
    "fit_to_part",
    "flatten",
    "gather_blocks",
    "measure_reach",
    "measure_volume_noise",
    "narrow",
    "reach_of_spatial",
    "run_planes",
    "widen",
]
