"""Kernel text of the decoder of high-throughput code-blocks (ISO/IEC 15444-15): the cleanup pass, a lane a block.

Whatever the bytes are, a lane makes a bounded number of decisions, reads between the first and the last byte of its
block, and writes the coefficients of its block alone; one whose bytes make no sense becomes zero.
"""

from __future__ import annotations

from subband.kernels.dialects import Dialect
from subband.kernels.ht_blocks import BlockSpec, begin_blocks, list_bands, pick_band

__all__ = ["SPAN_COLUMNS", "render_decoding"]

#: What the decoder is told of a block: its first byte, how many there are, and the plane of its cleanup pass.
SPAN_COLUMNS = ("start", "length", "plane")

#: The most bits of a sample with its sign and the half below its lowest plane, and the most bytes beside the samples.
_MOST_BITS, _MOST_SUFFIX = 30, 4079

_READERS = """
// bytes on their way to plain bits: `mark` is what the last of them leaves for the next, `extra` are bits made up
// behind the end
typedef struct { wide_t pending; int count, at, end, mark, extra; } reader_t;

// the byte behind 0xFF has seven bits; behind the last one come ones
DEVICE void fill_samples(reader_t *r, GLOBAL const uchar *data)
{
    while (r->count < 32) {
        int byte = 255, wide = 8;
        if (r->at < r->end) {
            byte = data[r->at++];
            wide = r->mark ? 7 : 8;
            r->mark = byte == 255;
            byte &= (1 << wide) - 1;
        } else {
            r->extra += 8;
        }
        r->pending |= (wide_t)byte << r->count;
        r->count += wide;
    }
}

DEVICE int read_sample(reader_t *r, int count, int ones, GLOBAL const uchar *data)
{
    fill_samples(r, data);
    const int value = ((int)r->pending & ((1 << count) - 1)) | ones << count;
    r->pending >>= count;
    r->count -= count;
    return value;
}

// seven ones behind a byte above 0x8F have a byte of their own; bytes come from the last to the first, then zeros
DEVICE void fill_words(reader_t *r, GLOBAL const uchar *data)
{
    while (r->count < 32) {
        int byte = 0, wide = 8;
        if (r->at >= r->end) {
            byte = data[r->at--];
            wide = r->mark > 0x8F && (byte & 127) == 127 ? 7 : 8;
            r->mark = byte;
            byte &= (1 << wide) - 1;
        } else {
            r->extra += 8;
        }
        r->pending |= (wide_t)byte << r->count;
        r->count += wide;
    }
}

DEVICE void skip(reader_t *r, int count)
{
    r->pending >>= count;
    r->count -= count;
}

// the adaptive run-length code; `run` is twice the zeros to come, less two, or and one if a one follows them
typedef struct { int step, run, pending, count, at, end, is_full; } runs_t;

DEVICE void read_run(runs_t *r, GLOBAL const uchar *data, GLOBAL const int *exponents)
{
    while (r->count < 6) {
        int byte = 255;
        if (r->at < r->end - 1) byte = data[r->at] | (r->at == r->end - 2 ? 15 : 0);
        const int wide = r->is_full ? 7 : 8;
        r->pending = r->pending << wide | (byte & ((1 << wide) - 1));
        r->count += wide;
        r->is_full = byte == 255;
        ++r->at;
    }
    const int exponent = exponents[r->step];
    --r->count;
    if (r->pending >> r->count & 1) {
        r->run = (1 << (exponent + 1)) - 2;
        r->step = min(r->step + 1, 12);
    } else {
        r->count -= exponent;
        r->run = (r->pending >> r->count & ((1 << exponent) - 1)) << 1 | 1;
        r->step = max(r->step - 1, 0);
    }
    r->pending &= 0xFFFF;
}

DEVICE int read_event(runs_t *r, GLOBAL const uchar *data, GLOBAL const int *exponents)
{
    r->run -= 2;
    const int is_one = r->run == -1;
    if (r->run < 0) read_run(r, data, exponents);
    return is_one;
}
"""


def render_decoding(spec: BlockSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the number of blocks, all bytes, the table of `BLOCK_COLUMNS`, that of `SPAN_COLUMNS`, what halves
    of a step are multiplied by, block by block; the codewords of quads, those of offsets with the exponents of the
    run-length code behind them; where it tells which blocks are damaged, and the arrays of the bands. A block without
    bytes is zero.
    """
    store = "const T number = (T)(size * scale);"
    if spec.is_reversible:
        store = "const T number = (size << plane) >> 1;"
    return f"""{begin_blocks(spec, dialect)}
{_READERS}
// a sample is twice its magnitude less two, and its sign
DEVICE T restore(int value, int is_significant, float scale, int plane)
{{
    const int size = (value | 1) + 2;
    {store}
    return is_significant ? (value & 1 ? -number : number) : (T)0;
}}

KERNEL void sweep(const int count, GLOBAL const uchar *RESTRICT data, GLOBAL const int *RESTRICT table,
                  GLOBAL const int *RESTRICT spans, GLOBAL const float *RESTRICT scales,
                  GLOBAL const ushort *RESTRICT codes, GLOBAL const int *RESTRICT offsets, GLOBAL int *RESTRICT damaged,
                  {list_bands(spec, "")})
{{
    LOCAL int kept[BUSY * PITCH];
    const int lane = LANE, block = GROUP_X * BUSY + lane;
    if (lane >= BUSY || block >= count) return;
    GLOBAL const int *const row = table + 5 * block;
    {pick_band(spec, "")}
    GLOBAL T *const goal = band + row[1];
    const int stride = row[2], height = row[3], width = row[4], wide = (width + 1) / 2;
    const int start = spans[3 * block], length = spans[3 * block + 1], plane = spans[3 * block + 2];
    const int end = start + length;
    const float scale = scales[block];
    GLOBAL const int *const exponents = offsets + 384;
    int suffix = 0, is_bad = length > 0;
    if (length > 1) {{
        suffix = data[end - 1] << 4 | (data[end - 2] & 15);
        is_bad = suffix < 2 || suffix > min(length, {_MOST_SUFFIX});
    }}
    if (length > 0 && !is_bad) {{
        const int middle = end - suffix, first_byte = data[end - 2] | 15, few = (first_byte >> 4 & 7) == 7 ? 3 : 4;
        reader_t samples = {{0, 0, start, middle, 0, 0}};
        reader_t words = {{(first_byte >> 4) & ((1 << few) - 1), few, end - 3, middle, first_byte, 0}};
        runs_t runs = {{0, 0, 0, 0, middle, end, 0}};
        int longest = 0;
        read_run(&runs, data, exponents);
        for (int k = 0; k < wide + 3; ++k) QUAD(k) = 0;
        for (int y = 0; y < height && !is_bad; y += 2) {{
            GLOBAL const ushort *const own_codes = codes + (y > 0 ? 1024 : 0);
            GLOBAL T *const upper = goal + (size_t)y * stride;
            GLOBAL T *const lower = upper + stride;
            const int has_lower = y + 1 < height;
            int corner = 0, above = QUAD(1), before = 0;
            for (int column = 0; column < wide && !is_bad; column += 2) {{
                const int next_above = QUAD(column + 2), last_above = QUAD(column + 3);
                const int has_second = column + 1 < wide;
                int first = 0, second = 0, first_offset = 0, second_offset = 0;
                fill_words(&words, data);
                int context = find_context(y == 0, corner, above, next_above, before);
                if (context || read_event(&runs, data, exponents)) {{
                    first = own_codes[context << 7 | ((int)words.pending & 127)];
                    skip(&words, first & 7);
                }}
                if (has_second) {{
                    context = find_context(y == 0, above, next_above, last_above, first);
                    if (context || read_event(&runs, data, exponents)) {{
                        second = own_codes[context << 7 | ((int)words.pending & 127)];
                        skip(&words, second & 7);
                    }}
                }}
                int kind = (first >> 3 & 1) | (second >> 2 & 2);
                if (kind) {{
                    if (kind == 3 && y == 0) kind = read_event(&runs, data, exponents) ? 5 : 4;
                    const int code = offsets[kind << 6 | ((int)words.pending & 63)];
                    skip(&words, code & 15);
                    const int own = code >> 8 & 15, other = (code >> 4 & 15) - own;
                    first_offset = (code >> 12 & 15) + ((int)words.pending & ((1 << own) - 1));
                    skip(&words, own);
                    second_offset = (code >> 16 & 15) + ((int)words.pending & ((1 << other) - 1));
                    skip(&words, other);
                }}
                UNROLL for (int k = 0; k < 2; ++k) {{
                    const int quad = k ? second : first, significant = quad >> 4 & 15;
                    int v0 = 0, v1 = 0, v2 = 0, v3 = 0;
                    if (significant && !is_bad) {{
                        int exponent = k ? second_offset : first_offset;
                        if (significant & (significant - 1))
                            exponent += k ? predict(above, next_above, last_above) : predict(corner, above, next_above);
                        else
                            exponent += 1;
                        longest = max(longest, exponent);
                        if (exponent > {_MOST_BITS}) {{
                            is_bad = 1;
                        }} else {{
                            if (significant & 1)
                                v0 = read_sample(&samples, exponent - (quad >> 12 & 1), quad >> 8 & 1, data);
                            if (significant & 2)
                                v1 = read_sample(&samples, exponent - (quad >> 13 & 1), quad >> 9 & 1, data);
                            if (significant & 4)
                                v2 = read_sample(&samples, exponent - (quad >> 14 & 1), quad >> 10 & 1, data);
                            if (significant & 8)
                                v3 = read_sample(&samples, exponent - (quad >> 15 & 1), quad >> 11 & 1, data);
                        }}
                    }}
                    if (k == 0 || has_second) {{
                        const int x = 2 * (column + k), low = significant & 2 ? MEASURE(v1 | 1) : 0;
                        const int high = significant & 8 ? MEASURE(v3 | 1) : 0;
                        QUAD(column + k + 1) = (quad & 0xF0) | low << 8 | high << 16;
                        upper[x] = restore(v0, significant & 1, scale, plane);
                        if (has_lower) lower[x] = restore(v1, significant & 2, scale, plane);
                        if (x + 1 < width) {{
                            upper[x + 1] = restore(v2, significant & 4, scale, plane);
                            if (has_lower) lower[x + 1] = restore(v3, significant & 8, scale, plane);
                        }}
                    }}
                }}
                corner = next_above;
                above = last_above;
                before = second;
            }}
            // the last byte of samples may be of ones that are left out
            if (words.count < words.extra || samples.extra - samples.count > 8) is_bad = 1;
        }}
        if (longest + plane > {_MOST_BITS}) is_bad = 1;
    }}
    if (length <= 0 || is_bad) {{
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) goal[(size_t)y * stride + x] = (T)0;
    }}
    damaged[block] = is_bad;
}}
"""
