"""What the kernels of high-throughput code-blocks share: a lane a block, and the arrays in which its coefficients lie.

A block is coded bit by bit, so that one lane has to do all of it; a frame has thousands of blocks. Lanes of a group do
not walk alike: where few of them are busy, the device has more groups to choose from, and less waits for others.
"""

from __future__ import annotations

from dataclasses import dataclass

from subband.kernels.dialects import Dialect

__all__ = ["BLOCK_COLUMNS", "BlockSpec", "begin_blocks", "list_bands", "pick_band"]

#: Columns of the table of blocks: the array of its band, where in it the block begins, samples to its next row, rows
#: and columns.
BLOCK_COLUMNS = ("band", "offset", "stride", "height", "width")

#: How many bits a number has, in each language.
_MEASURES = {"cuda": "(32 - __clz((int)(x)))", "opencl": "(32 - (int)clz((uint)(x)))"}

_CONTEXT = """
// which neighbours are significant, which bits 4 to 7 tell of each: upper and lower left, upper and lower right sample
DEVICE int find_context(int is_first, int corner, int above, int next_above, int before)
{
    if (is_first) return ((before >> 4 | before >> 5) & 1) | (before >> 5 & 6);
    return ((corner >> 7 | above >> 5) & 1) | ((before >> 5 | before >> 6) & 2) | ((above >> 5 | next_above >> 3) & 4);
}

// the exponent that the samples above predict: their bits are at 8 (lower left) and 16 (lower right)
DEVICE int predict(int corner, int above, int next_above)
{
    const int left = max(corner >> 16, above >> 16), right = max(above >> 8 & 255, next_above >> 8 & 255);
    return max(max(left, right) - 1, 1);
}
"""


@dataclass(frozen=True)
class BlockSpec:
    """The parameters that determine the text of a kernel that codes blocks.

    Attributes
    ----------
    bands : int
        Arrays in which coefficients lie.
    width : int
        Columns of the widest block.
    lanes : int
        Lanes of a group that code a block each.
    is_reversible : bool
        Whether coefficients are int32, which stay as they are, or float32, which are quantised.
    """

    bands: int
    width: int
    lanes: int
    is_reversible: bool

    @property
    def pitch(self) -> int:
        """Quads of a row of the widest block, and those around it; odd, so that lanes read from different banks."""
        return ((self.width + 1) // 2 + 3) | 1

    @property
    def local_bytes(self) -> int:
        """Local memory of a group."""
        return 4 * self.lanes * self.pitch


def begin_blocks(spec: BlockSpec, dialect: Dialect) -> str:
    """Return what stands before the kernel."""
    return f"""{dialect.begin()}
typedef {"int" if spec.is_reversible else "float"} T;
#define BUSY {spec.lanes}
#define PITCH {spec.pitch}
#define QUAD(column) kept[lane * PITCH + (column)]
#define MEASURE(x) {_MEASURES[dialect.name]}
{_CONTEXT}"""


def list_bands(spec: BlockSpec, qualifier: str) -> str:
    """Return the arguments of a kernel that are arrays of bands."""
    return ", ".join(f"GLOBAL {qualifier}T *RESTRICT band_{k}" for k in range(spec.bands))


def pick_band(spec: BlockSpec, qualifier: str) -> str:
    """Return the lines that choose the array of a band: no table can hold addresses in OpenCL."""
    cases = " ".join(f"case {k}: band = band_{k}; break;" for k in range(1, spec.bands))
    return f"GLOBAL {qualifier}T *band = band_0;\n    switch (row[0]) {{ {cases} default: break; }}"
