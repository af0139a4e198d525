"""Launch parameters of a sweep: pairs in a lane, length of strips, rows loaded ahead, groups in a block."""

from __future__ import annotations

from dataclasses import dataclass, replace

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.planes import count_local
from subband.schedule.axis import AxisProgram

__all__ = [
    "LARGE",
    "LOCAL_MEMORY",
    "WIDE",
    "Launch",
    "VolumeLaunch",
    "choose_cascade_launch",
    "choose_launch",
    "choose_volume_launch",
    "suits_one_level",
]

#: Bytes of local memory that a block has on every GPU without being asked for.
LOCAL_MEMORY = 48 << 10

#: Pairs of columns that a lane of a volume sweep holds where rows mirror themselves: it hands its neighbours as many
#: numbers as if it held one.
WIDE = 2


@dataclass(frozen=True)
class Launch:
    """The parameters of a launch.

    Attributes
    ----------
    pairs : int
        Pairs of columns that a lane holds.
    ahead : int
        Pairs of rows that are loaded before they are needed.
    chunk : int
        Pairs of rows that a group walks, at most.
    block : int
        Groups in one block.
    is_split : bool
        Whether strips inside the image have a walk of their own: faster on a GPU, and twice the text to compile.
    resident : int
        Blocks that a multiprocessor runs at the same time, at most, of a kernel that is handed local memory: what they
        leave of that serves as a cache, where a group finds rows that its neighbours have read. 0 if as many as fit.
    """

    pairs: int
    ahead: int
    chunk: int
    block: int
    is_split: bool
    resident: int = 0

    def fit(self, size: int) -> Launch:
        """Return the same with blocks small enough for the rows that wait for them, of pixels of `size` bytes.

        Examples
        --------
        >>> Launch(4, 2, 24, 8, True).fit(12)
        Launch(pairs=4, ahead=2, chunk=24, block=2, is_split=True, resident=0)
        """
        block = self.block
        while block > 1 and block * (self.ahead + 1) * 4 * LANES * self.pairs * size > LOCAL_MEMORY:
            block //= 2
        return replace(self, block=block)

    def choose_chunks(self, steps: int, strips: int, resident: int) -> tuple[int, int, int]:
        """Return how many pairs of rows a group walks, how many groups one below the other do, and what the rest walk.

        Parameters
        ----------
        steps : int
            Pairs of rows of the image.
        strips : int
            How many strips there are, side by side and in all images.
        resident : int
            Groups that the device runs at the same time.

        Examples
        --------
        >>> Launch(2, 4, 8, 4, True).choose_chunks(4096, 74, 3168)
        (8, 490, 4)
        >>> Launch(2, 4, 8, 4, True).choose_chunks(540, 18, 3168)
        (4, 135, 4)
        """
        return _cut_walk(steps, self.chunk, strips, resident)


def _cut_walk(
    steps: int, most: int, beside: int, resident: int, *, least: int = 1, tapers: bool = True
) -> tuple[int, int, int]:
    """Return how many steps each walks, how many do so, and how many the last ones walk.

    `beside` go side by side, and `resident` at the same time. All walk at most `most`, but two where there are two, so
    that whole waves fill the device. The last ones walk less, so that the device does not stand half idle until the
    last of them has finished.
    """
    fewest = -(-steps // most)
    waves = -(-fewest * beside // resident)
    chunks = max(fewest, waves * resident // max(1, beside))
    # who walks a single step mostly walks what the neighbours walk too
    chunk = max(1, least, -(-steps // max(1, chunks)), min(2, steps))
    if waves <= 1 or chunk < 4 or not tapers:
        return chunk, -(-steps // chunk), chunk
    last = resident * chunk // (2 * beside)
    return chunk, max(0, steps - last) // chunk, chunk // 2


def choose_launch(
    dialect: Dialect,
    vertical: AxisProgram | None,
    horizontal: AxisProgram | None,
    size: int,
    *,
    is_gpu: bool,
    is_inverse: bool = False,
    channels: int = 1,
    is_interleaved: bool = False,
) -> Launch:
    """Return the parameters that serve for a sweep over elements of `size` bytes on most devices.

    Strips are short, so that the rows on which groups are at work fit into the cache of the device: where one strip
    begins it reads again what the one above it has just read.

    Examples
    --------
    >>> from subband.schedule.axis import axis_program
    >>> from subband.kernels.dialects import CUDA
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> program = axis_program(axis_plan(Wavelet("cdf97"), "whole", 512), "forward")
    >>> choose_launch(CUDA, program, program, 4, is_gpu=True)
    Launch(pairs=2, ahead=4, chunk=8, block=4, is_split=True, resident=0)
    """
    pairs = max(1, 8 // (size * channels))
    depth = 0 if vertical is None else vertical.schedule.depth
    # ahead and chunk: rows of small elements take less of the cache, and where many rows are kept, longer strips repeat
    # fewer of them
    if is_interleaved:
        # neighbours lie apart, so that there is nothing to load in one piece
        pairs, ahead, chunk, block = (1, 0, 16, 2) if is_inverse else (1, 2, 32, 8)
    elif channels > 1:
        ahead, chunk, block = 2, 16, 8 if channels < 4 else 2
    elif depth > 8:
        pairs, ahead, chunk, block = 1, 4, 24, 4
    elif depth > 5:
        pairs, ahead, chunk, block = min(pairs, 2), 4, 20, 2
    elif depth == 5 or size < 4:
        ahead, chunk, block = 4, 12, 4
    elif horizontal is None:
        ahead, chunk, block = 2, 8, 4
    elif depth == 1:
        ahead, chunk, block = 3, 12, 4
    else:
        ahead, chunk, block = 4, 10 if is_inverse else 8, 4
    if not dialect.is_staging:
        ahead, block = 0, 1
    reach = 0 if horizontal is None else max(-horizontal.schedule.first, horizontal.schedule.last)
    while reach > pairs * LANES // 4:
        pairs *= 2
    return Launch(pairs, ahead, chunk, block, is_gpu and not (is_interleaved and is_inverse))


#: Elements from which on lanes of two levels hold more columns, or groups walk longer ways.
LARGE = 1 << 25


def suits_one_level(dialect: Dialect, size: int, elements: int) -> bool:
    """Say whether the kernel of two levels does one level faster than a sweep, of so many elements of `size` bytes.

    A sweep of halves takes longer to compute than to read and write: this kernel takes fewer instructions, because it
    has no border to ask about. With numbers of four bytes it is ahead where local memory can be left to the cache.

    Examples
    --------
    >>> from subband.kernels.dialects import CUDA, OPENCL
    >>> suits_one_level(OPENCL, 2, 8192 * 8192), suits_one_level(OPENCL, 4, 8192 * 8192)
    (True, False)
    >>> suits_one_level(CUDA, 4, 8192 * 8192), suits_one_level(CUDA, 4, 1080 * 1920)
    (True, False)
    """
    return size < (8 if dialect.name == "cuda" else 4) and elements >= LARGE


#: Blocks of two levels that a multiprocessor runs at the same time, by the pixels up to which that is so.
_FEW = ((1 << 21, 1), (1 << 23, 2))


def choose_cascade_launch(
    dialect: Dialect, size: int, elements: int, *, is_inverse: bool, channels: int = 1, levels: int = 2
) -> Launch:
    """Return the parameters that serve for two levels in one kernel, or one, on most devices.

    Pairs count what a lane holds of the finest level, chunks what a group walks in fours of its rows.

    Parameters
    ----------
    dialect : Dialect
        The language of the kernel.
    size : int
        Bytes of an element.
    elements : int
        How many there are in all images.
    is_inverse : bool
        Whether the way is back.
    channels : int
        Channels of a pixel, which a lane holds whole.
    levels : int
        1 or 2.

    Examples
    --------
    >>> from subband.kernels.dialects import CUDA
    >>> choose_cascade_launch(CUDA, 4, 8192 * 8192, is_inverse=False)
    Launch(pairs=4, ahead=3, chunk=64, block=4, is_split=False, resident=0)
    >>> choose_cascade_launch(CUDA, 4, 1080 * 1920, is_inverse=False)
    Launch(pairs=2, ahead=2, chunk=24, block=4, is_split=False, resident=1)
    """
    pairs, ahead, chunk, block, resident = max(2, 8 // size), 3 if is_inverse else 2, 16, 4, 0
    if levels == 1 and size < 4:
        ahead, chunk = 2, 6
    elif levels == 1:
        ahead, chunk, resident = 3, 6 if is_inverse else 5, 4
    elif channels > 1:
        pairs, ahead = 2, 2 if is_inverse else 1
    elif elements >= LARGE and size < 4:
        pairs, ahead, chunk = 8, 2, 32
    elif elements >= LARGE:
        pairs, ahead, chunk = (2, 2, 64) if is_inverse else (max(2, 16 // size), 3, 64)
    if levels == 2 and elements < LARGE * channels and dialect.name == "cuda":
        # each walk begins with rows that the one above it has too: few and long ones, as many as fill all
        # multiprocessors alike
        chunk, resident = 24, next((few for most, few in _FEW if elements <= most * channels), 4)
    if not dialect.is_staging:
        ahead, block = 0, 1
    return Launch(pairs, ahead, chunk, block, False, resident)


@dataclass(frozen=True)
class VolumeLaunch:
    """The parameters of the launch of a volume sweep.

    Attributes
    ----------
    groups : int
        Groups of lanes in a block.
    rows, pairs : int
        Pairs of rows, and of columns, that a lane holds.
    ahead : int
        Pairs of planes that are loaded before they are needed.
    chunk : int
        Pairs of planes that a block walks, at most.
    is_whole_sectors : bool
        Whether tiles begin where a sector of memory does, at the price of narrower ones.
    resident : int
        Blocks that shall fit on a multiprocessor at the same time; 0 leaves it to the compiler.
    unroll : int
        Pairs of planes in one round of the walk.
    """

    groups: int
    rows: int
    pairs: int
    ahead: int = 1
    chunk: int = 12
    is_whole_sectors: bool = False
    resident: int = 0
    unroll: int = 1

    def choose_chunks(self, steps: int, tiles: int, resident: int, *, is_single: bool = True) -> tuple[int, int, int]:
        """Return how many pairs of planes a block walks, how many blocks do so, and what those behind them walk.

        Parameters
        ----------
        steps : int
            Pairs of planes of the volume.
        tiles : int
            How many tiles there are, side by side and in all volumes.
        resident : int
            Blocks that the device runs at the same time.
        is_single : bool
            Whether there is only one volume; of several, only the last would have to end early.

        Examples
        --------
        >>> VolumeLaunch(10, 2, 1, chunk=12).choose_chunks(256, 160, 264)
        (12, 20, 6)
        >>> VolumeLaunch(10, 2, 1, chunk=12).choose_chunks(32, 4, 264)
        (2, 16, 2)
        """
        # CUDA has room for 65,535 blocks in that direction; half of them leave it to the last ones to walk less
        least = max(1, -(-steps // 32_767))
        return _cut_walk(steps, max(self.chunk, least), tiles, resident, least=least, tapers=is_single)


def choose_volume_launch(
    dialect: Dialect,
    deep: AxisProgram,
    vertical: AxisProgram,
    size: int,
    down: int,
    *,
    is_inverse: bool,
    is_mirrored: bool = False,
    local_memory: int = LOCAL_MEMORY,
) -> VolumeLaunch:
    """Return the parameters that serve for a volume sweep over elements of `size` bytes on most devices.

    Blocks of narrow tiles walk short ways, so that what neighbours read too is still in the cache of the device.

    Parameters
    ----------
    dialect : Dialect
        The language of the kernel.
    deep, vertical : AxisProgram
        What happens from plane to plane, and down the columns.
    size : int
        Bytes of an element.
    down : int
        Pairs of rows of the volume: blocks are made so high that few of their rows lie below the last one.
    is_inverse : bool
        Whether the way is back: from samples to bands a block waits for memory longer, and loads farther ahead.
    is_mirrored : bool
        Whether rows that lanes hold `WIDE` pairs of mirror themselves, so that each lane loads and stores whole pieces.
    local_memory : int
        Bytes of local memory that a block may have.

    Examples
    --------
    >>> from subband.schedule.axis import axis_program
    >>> from subband.kernels.dialects import CUDA
    >>> from subband.plan import axis_plan
    >>> from subband.wavelets import Wavelet
    >>> program = axis_program(axis_plan(Wavelet("cdf97"), "whole", 512), "forward")
    >>> choose_volume_launch(CUDA, program, program, 4, 256, is_inverse=False)
    VolumeLaunch(groups=12, rows=1, pairs=1, ahead=2, chunk=12, is_whole_sectors=False, resident=2, unroll=2)
    >>> choose_volume_launch(CUDA, program, program, 4, 256, is_inverse=False, is_mirrored=True, local_memory=99 << 10)
    VolumeLaunch(groups=12, rows=2, pairs=2, ahead=1, chunk=128, is_whole_sectors=True, resident=1, unroll=2)
    """
    lost = vertical.schedule.last - vertical.schedule.first
    wide = _choose_wide(size)
    local = sum(count_local(vertical, wide.groups, wide.rows, wide.pairs, wide.ahead, size))
    if is_mirrored and deep.schedule.depth <= 4 and 2 * lost <= wide.groups * wide.rows and local <= local_memory:
        return wide
    groups, rows, pairs, ahead, chunk, resident, unroll = 8, 2, 1, 1, 12, 0, 1
    depth = deep.schedule.depth
    if depth > 4:
        # the more planes are kept, the more a block walks twice
        chunk = 28
    else:
        # what moves from plane to plane then only changes its name
        resident, unroll = 2, 2
        if is_inverse:
            groups = min((8, 10), key=lambda count: (-(-down // (count * rows - lost)) * count, -count))
            chunk = 24
        else:
            groups, rows, ahead = 12, 1, 2
    if not dialect.is_staging:
        groups, ahead = 8, 1
    while 2 * lost > groups * rows:
        rows *= 2
    while sum(count_local(vertical, groups, rows, pairs, ahead, size)) > LOCAL_MEMORY:
        groups -= 1
    return VolumeLaunch(groups, rows, pairs, ahead, chunk, False, resident, unroll)


def _choose_wide(size: int) -> VolumeLaunch:
    """Return the parameters of large tiles: a multiprocessor has room for the registers of one block of them.

    A sector that two tiles store a part of waits in the cache for the second, and costs more than the halo of narrower
    tiles; what is stored in whole sectors waits for nobody, so that blocks walk as far as keeps the device busy. Of
    small elements a sector has too many for that.
    """
    if size < 4:
        return VolumeLaunch(12, 2, WIDE, 2, 24, False, 1, 2)
    return VolumeLaunch(12, 2, WIDE, 1, 128, True, 1, 2)
