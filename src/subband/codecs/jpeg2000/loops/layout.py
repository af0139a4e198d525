"""Cutting the bands of a tile into precincts and code-blocks: the tables that packets are read and written by."""

from __future__ import annotations

import numpy as np

from subband.compiled.compiling import stored

__all__ = ["tabulate_blocks"]


@stored(nogil=True, error_model="numpy")
def _clip(value, low, high):
    return min(max(value, low), high)


@stored(nogil=True, error_model="numpy")
def _count_blocks(first, number, exponent, low, high, block):
    """Return how many blocks all precincts along one direction of a band have together."""
    total = 0
    for precinct in range(first, first + number):
        lower, upper = _clip(precinct << exponent, low, high), _clip((precinct + 1) << exponent, low, high)
        if upper > lower:
            total += -((-upper) >> block) - (lower >> block)
    return total


@stored(nogil=True, error_model="numpy")
def _count_nodes(wide, high):
    """Return how many nodes a tag tree has."""
    total = wide * high
    while wide > 1 or high > 1:
        wide, high = (wide + 1) >> 1, (high + 1) >> 1
        total += wide * high
    return total


@stored(nogil=True, error_model="numpy")
def tabulate_blocks(resolutions, bands, most):
    """Return first cells of precincts, cells, blocks, and the number of nodes.

    A row of `resolutions` is: first band, number of bands, first precinct across and down, precincts across and down,
    and the exponents of their width and height within a band. A row of `bands` is: x0, y0, x1, y1, and the exponents of
    width and height of a block. If there are more than `most` blocks, all tables are
    empty, and their number replaces that of the nodes.
    """
    precinct_count, cell_count, block_count = 0, 0, 0
    for row in range(len(resolutions)):
        first_band, band_count, x, y, wide, high, width, height = resolutions[row]
        precinct_count += wide * high
        cell_count += wide * high * band_count
        for number in range(first_band, first_band + band_count):
            x0, y0, x1, y1, block_width, block_height = bands[number]
            if x1 > x0 and y1 > y0:
                across = _count_blocks(x, wide, width, x0, x1, block_width)
                block_count += across * _count_blocks(y, high, height, y0, y1, block_height)
        if block_count > most:
            nothing = np.zeros((0, 5), np.int64)
            return np.zeros(1, np.int64), nothing, nothing, block_count
    precinct_cells = np.zeros(precinct_count + 1, np.int64)
    cells = np.zeros((cell_count, 5), np.int64)
    blocks = np.zeros((block_count, 5), np.int64)
    precinct, cell, block, node = 0, 0, 0, 0
    for row in range(len(resolutions)):
        first_band, band_count, first_x, first_y, wide, high, width, height = resolutions[row]
        for index in range(wide * high):
            y, x = first_y + index // wide, first_x + index % wide
            precinct_cells[precinct] = cell
            precinct += 1
            for number in range(first_band, first_band + band_count):
                x0, y0, x1, y1, block_width, block_height = bands[number]
                left, right = _clip(x << width, x0, x1), _clip((x + 1) << width, x0, x1)
                top, bottom = _clip(y << height, y0, y1), _clip((y + 1) << height, y0, y1)
                cells[cell, 0] = number
                cells[cell, 3] = block
                cells[cell, 4] = node
                if right > left and bottom > top:
                    block_x, block_y = left >> block_width, top >> block_height
                    columns = -((-right) >> block_width) - block_x
                    rows = -((-bottom) >> block_height) - block_y
                    cells[cell, 1], cells[cell, 2] = columns, rows
                    node += _count_nodes(columns, rows)
                    for j in range(block_y, block_y + rows):
                        for i in range(block_x, block_x + columns):
                            blocks[block, 0] = max(i << block_width, left)
                            blocks[block, 1] = max(j << block_height, top)
                            blocks[block, 2] = min((i + 1) << block_width, right)
                            blocks[block, 3] = min((j + 1) << block_height, bottom)
                            blocks[block, 4] = number
                            block += 1
                cell += 1
    precinct_cells[precinct] = cell
    return precinct_cells, cells, blocks, node
