"""Kernel text that finds the motion of each block of a frame, from that at a coarser scale.

A group of lanes takes a block, and all its lanes decide alike. Where the loops of the CPU look at margins, kernels hold
positions within the frame, which is the same, as margins repeat the outermost samples.
`subband.engines.temporal.motion_loops` has the same steps, with reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subband.kernels.dialects import LANES, Dialect
from subband.kernels.filters import begin_filter
from subband.kernels.motion import HOLD_WITHIN, POSITION
from subband.tracking import ALIKE, BLOCK, CLOSE, ENOUGH, HOLD, MARGIN, OWN_WORTH, SAME, TAPS, WINDOW, WORTH

__all__ = ["SearchSpec", "render_search"]


@dataclass(frozen=True)
class SearchSpec:
    """The parameters that determine the text of a kernel of the search.

    Attributes
    ----------
    task : {"track", "prefer"}
        Find motion, or take the common one where it is hardly worse.
    radius, steps : int
        Of ``track``: samples around the best candidate, taken to whole ones, that are all looked at, and steps to the
        best neighbour of four from there.
    """

    task: Literal["track", "prefer"]
    radius: int = 0
    steps: int = 0


def render_search(spec: SearchSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``; a group takes a block.

    ``track``
        Takes both frames at a scale, one behind the other; motion at the next coarser one; where motion and costs go;
        the noise of the frame and what `subband.kernels.averages` has for a summary; a table of rows and columns of
        the scale, of its blocks and of those of the coarser one; and the gain of noise.
    ``prefer``
        Takes both frames, the common motion, motion and costs, noise, summary, and table and gain as ``track``.
    """
    return _render_track(spec, dialect) if spec.task == "track" else _render_prefer(dialect)


#: What compares windows; a lane has a column of half a window, of which the new frame's samples stay in registers.
#: Windows near the border hold every position within the frame, others need not.
_COMPARE = f"""\
#define HALF {WINDOW * WINDOW // LANES}
#define IS_INSIDE(y, x) (r + (y) >= {TAPS - MARGIN} && c + (x) >= {TAPS - MARGIN} \\
                         && r + (y) + {WINDOW + TAPS - MARGIN} < rows && c + (x) + {WINDOW + TAPS - MARGIN} < columns)
#define SUM_GROUP(value) \\
    UNROLL for (int far = 16; far; far >>= 1) {{ \\
        PUBLISH(0, value); \\
        MEET; \\
        value += FETCH(0, value, far); \\
    }}
// noise of the old frame that interpolation leaves must not look like a better match; means of windows do not count
#define SHARE(y, x) share_squares((y) - floor(y), (x) - floor(x))
#define COMPARE(goal, y, x) \\
    {{ \\
        const int top_ = r + (int)floor(y), left_ = c + (int)floor(x); \\
        const float down_ = (y) - floor(y), right_ = (x) - floor(x); \\
        float shade_ = 0; \\
        if (top_ >= 0 && left_ >= 0 && top_ + {WINDOW} < rows && left_ + {WINDOW} < columns) \\
            goal = compare(old + (top_ + first) * columns + left_ + column, own, columns, down_, right_, &shade_); \\
        else goal = compare_held(old, own, rows, columns, top_ + first, left_ + column, down_, right_, &shade_); \\
        SUM_GROUP(goal) \\
        SUM_GROUP(shade_) \\
        goal -= shade_ * shade_ * {1 / WINDOW**2}f; \\
        goal = scale * (goal - {WINDOW * WINDOW}.0f * share * SHARE(y, x)); \\
    }}

DEVICE float share_squares(float a, float b)
{{
    return ((1 - a) * (1 - a) + a * a) * ((1 - b) * (1 - b) + b * b);
}}

DEVICE float compare(GLOBAL const float *old, const float *own, int columns, float a, float b,
                     float *shade)
{{
    float total = 0;
    if (a == 0 && b == 0) {{
        UNROLL for (int k = 0; k < HALF; ++k) {{
            const float d = own[k] - old[k * columns];
            *shade += d;
            total += d * d;
        }}
        return total;
    }}
    float above = (1 - b) * old[0] + b * old[1];
    UNROLL for (int k = 0; k < HALF; ++k) {{
        GLOBAL const float *const line = old + (k + 1) * columns;
        const float below = (1 - b) * line[0] + b * line[1];
        const float d = own[k] - ((1 - a) * above + a * below);
        *shade += d;
        total += d * d;
        above = below;
    }}
    return total;
}}

DEVICE float compare_held(GLOBAL const float *old, const float *own, int rows, int columns, int i, int j, float a,
                          float b, float *shade)
{{
    const int left = WITHIN(j, columns), right = WITHIN(j + 1, columns);
    GLOBAL const float *line = old + WITHIN(i, rows) * columns;
    float above = (1 - b) * line[left] + b * line[right], total = 0;
    UNROLL for (int k = 0; k < HALF; ++k) {{
        line = old + WITHIN(i + k + 1, rows) * columns;
        const float below = (1 - b) * line[left] + b * line[right];
        const float d = own[k] - ((1 - a) * above + a * below);
        *shade += d;
        total += d * d;
        above = below;
    }}
    return total;
}}
"""

#: A step along the slopes of the image, which is taken if it is better.
_REFINE = f"""\
#define REFINE(cost, y, x, slopes) \\
    {{ \\
        float sums[9]; \\
        slope(old, own, rows, columns, r + (int)floor(y) + first, c + (int)floor(x) + column, \\
              (y) - floor(y), (x) - floor(x), sums); \\
        UNROLL for (int k_ = 0; k_ < 9; ++k_) {{ SUM_GROUP(sums[k_]) }} \\
        sums[0] -= {1 / WINDOW**2}f * sums[6] * sums[6]; \\
        sums[1] -= {1 / WINDOW**2}f * sums[6] * sums[7]; \\
        sums[2] -= {1 / WINDOW**2}f * sums[7] * sums[7]; \\
        sums[3] -= {1 / WINDOW**2}f * sums[6] * sums[8]; \\
        sums[4] -= {1 / WINDOW**2}f * sums[7] * sums[8]; \\
        sums[5] -= {1 / WINDOW**2}f * sums[8] * sums[8]; \\
        const float leak = {WINDOW * WINDOW}.0f * share * SHARE(y, x), hold = noise * {ALIKE * HOLD}f; \\
        const float down_energy = fmax(sums[0] - 0.5f * leak, 0.0f), down_slope = down_energy + hold; \\
        const float right_energy = fmax(sums[2] - 0.5f * leak, 0.0f), right_slope = right_energy + hold; \\
        const float determinant = down_slope * right_slope - sums[1] * sums[1]; \\
        float by_y = 0, by_x = 0; \\
        if (determinant > 1e-3f * down_slope * right_slope) {{ \\
            by_y = fmin(fmax((right_slope * sums[3] - sums[1] * sums[4]) / determinant, -1.0f), 1.0f); \\
            by_x = fmin(fmax((down_slope * sums[4] - sums[1] * sums[3]) / determinant, -1.0f), 1.0f); \\
        }} \\
        cost = scale * (sums[5] - leak); \\
        slopes = down_energy + right_energy; \\
        if (IS_INSIDE(y + by_y, x + by_x)) {{ \\
            float other; \\
            COMPARE(other, y + by_y, x + by_x) \\
            other += {0.5 * HOLD}f * (by_y * by_y + by_x * by_x); \\
            if (other < cost) {{ \\
                cost = other; \\
                y += by_y; \\
                x += by_x; \\
            }} \\
        }} \\
    }}

// products of slopes and differences: down twice, down and right, right twice, both with differences, and these twice;
// then the sums of all three
DEVICE void slope(GLOBAL const float *old, const float *own, int rows, int columns, int i, int j, float a, float b,
                  float *sums)
{{
    const int c0 = WITHIN(j - 1, columns), c1 = WITHIN(j, columns);
    const int c2 = WITHIN(j + 1, columns), c3 = WITHIN(j + 2, columns);
    float values[HALF + 3], across[HALF + 1];
    UNROLL for (int k = 0; k < HALF + 3; ++k) {{
        GLOBAL const float *const line = old + WITHIN(i + k - 1, rows) * columns;
        const float left = line[c1], right = line[c2];
        values[k] = (1 - b) * left + b * right;
        if (k > 0 && k < HALF + 2) across[k - 1] = (1 - b) * (right - line[c0]) + b * (line[c3] - left);
    }}
    UNROLL for (int k = 0; k < 9; ++k) sums[k] = 0;
    UNROLL for (int k = 0; k < HALF; ++k) {{
        const float d = own[k] - ((1 - a) * values[k + 1] + a * values[k + 2]);
        const float dy = 0.5f * ((1 - a) * (values[k + 2] - values[k]) + a * (values[k + 3] - values[k + 1]));
        const float dx = 0.5f * ((1 - a) * across[k] + a * across[k + 1]);
        sums[0] += dy * dy;
        sums[1] += dy * dx;
        sums[2] += dx * dx;
        sums[3] += dy * d;
        sums[4] += dx * d;
        sums[5] += d * d;
        sums[6] += dy;
        sums[7] += dx;
        sums[8] += d;
    }}
}}
"""

#: Where the window of a block begins, which stays inside; its samples of the new frame; and what noise is there.
_LOCATE = f"""\
    EXCHANGE(1)
    const int lane = LANE, rows = table[0], columns = table[1], across = table[3];
    const int number = GROUP_X, row = number / across, beside = number % across;
    if (number >= table[2] * across) return;
    const int r = min(max(row * {BLOCK} - {(WINDOW - BLOCK) // 2}, 0), rows - {WINDOW});
    const int c = min(max(beside * {BLOCK} - {(WINDOW - BLOCK) // 2}, 0), columns - {WINDOW});
    const int first = lane / {WINDOW} * HALF, column = lane % {WINDOW};
    GLOBAL const float *const old = scales + (size_t)rows * columns;
    float own[HALF];
    UNROLL for (int k = 0; k < HALF; ++k) own[k] = scales[(size_t)(r + first + k) * columns + c + column];
    // without noise nothing is averaged, and nothing is divided by it either
    const float variance = fmax(sigma[0] * sigma[0] * values[0], 1e-20f);
    const float noise = variance * (1 + summary[0]), share = variance * summary[0];
    const float scale = 0.5f / (noise * {ALIKE}f);
"""


def _render_track(spec: SearchSpec, dialect: Dialect) -> str:
    side = 2 * spec.radius + 1
    return f"""{begin_filter(dialect, "float32")}{HOLD_WITHIN}{_COMPARE}{_REFINE}
KERNEL void sweep(GLOBAL const T *RESTRICT scales, GLOBAL const T *RESTRICT coarse, GLOBAL T *RESTRICT motion,
                  GLOBAL T *RESTRICT costs, GLOBAL const T *RESTRICT sigma, GLOBAL const T *RESTRICT summary,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values)
{{
{_LOCATE}
    const float enough = scale * {WINDOW * WINDOW}.0f * (noise * {ENOUGH}f - share);
    const int high = table[4], wide = table[5];
    const int above = min(row / 2, high - 1), left = min(beside / 2, wide - 1);
    float down = 2 * coarse[2 * (above * wide + left)], right = 2 * coarse[2 * (above * wide + left) + 1];
    if (!IS_INSIDE(down, right)) down = right = 0;
    float best = 0, found, slopes, y0 = down, x0 = right;
    for (int turn = 0; turn < 2; ++turn) {{
        REFINE(found, y0, x0, slopes)
        if (turn > 0 && !(found + {WORTH}f < best)) break;
        best = found;
        down = y0;
        right = x0;
        if (turn > 0 || !(best > enough + scale * {CLOSE * CLOSE}f * slopes)) break;
        // the three blocks nearest at the coarser scale, and none at all; samples around; steps to the best neighbour
        const int near_row = WITHIN(above + (row % 2 ? 1 : -1), high);
        const int near_column = WITHIN(left + (beside % 2 ? 1 : -1), wide);
        float middle_y = 0, middle_x = 0;
        for (int k = 0; k < {4 + side * side + 4 * spec.steps}; ++k) {{
            float y = 0, x = 0;
            bool is_other = true;
            if (k < 4) {{
                const int at = 2 * ((k == 1 ? above : near_row) * wide + (k == 0 ? left : near_column));
                if (k < 3) {{
                    y = 2 * coarse[at];
                    x = 2 * coarse[at + 1];
                }}
                is_other = fabs(y - y0) + fabs(x - x0) >= {SAME}f;
            }} else if (k < {4 + side * side}) {{
                if (k == 4) {{
                    middle_y = floor(y0 + 0.5f);
                    middle_x = floor(x0 + 0.5f);
                }}
                y = middle_y + (k - 4) / {side} - {spec.radius};
                x = middle_x + (k - 4) % {side} - {spec.radius};
                is_other = !(y == y0 && x == x0);
            }} else {{
                const int way = (k - {4 + side * side}) % 4;
                if (way == 0) {{
                    if (k > {4 + side * side} && y0 == middle_y && x0 == middle_x) break;
                    middle_y = y0;
                    middle_x = x0;
                }}
                y = middle_y + (way % 2 == 0 ? way - 1 : 0);
                x = middle_x + (way % 2 ? way - 2 : 0);
            }}
            if (is_other && IS_INSIDE(y, x)) {{
                float cost;
                COMPARE(cost, y, x)
                if (cost < found) {{
                    found = cost;
                    y0 = y;
                    x0 = x;
                }}
            }}
        }}
        if (!(found < best)) break;
    }}
    if (lane == 0) {{
        motion[2 * number] = down;
        motion[2 * number + 1] = right;
        costs[number] = best;
    }}
}}
"""


def _render_prefer(dialect: Dialect) -> str:
    return f"""{begin_filter(dialect, "float32")}{HOLD_WITHIN}{POSITION}{_COMPARE}
KERNEL void sweep(GLOBAL const T *RESTRICT scales, GLOBAL const T *RESTRICT common, GLOBAL T *RESTRICT motion,
                  GLOBAL const T *RESTRICT costs, GLOBAL const T *RESTRICT sigma, GLOBAL const T *RESTRICT summary,
                  GLOBAL const wide_t *RESTRICT table, GLOBAL const T *RESTRICT values)
{{
{_LOCATE}
    const float p = POSITION(row, (int)table[2]), q = POSITION(beside, across);
    const float y = FOLLOW(common, 0, p, q), x = FOLLOW(common, 1, p, q);
    if (IS_INSIDE(y, x)) {{
        float cost;
        COMPARE(cost, y, x)
        if (lane == 0 && cost < costs[number] + {OWN_WORTH}f) {{
            motion[2 * number] = y;
            motion[2 * number + 1] = x;
        }}
    }}
}}
"""
