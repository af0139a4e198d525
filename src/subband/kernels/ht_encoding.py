"""Kernel text of the encoder of high-throughput code-blocks (ISO/IEC 15444-15): the cleanup pass, a lane a block.

The lane quantises what it loads, and writes three streams as bytes: the samples, forwards from the start of the room of
its block; the run-length code, forwards from where the last `SUFFIX` bytes of that room begin; and codewords, backwards
from its end. Two small kernels then lay the blocks one behind the other.
"""

from __future__ import annotations

from subband.kernels.dialects import Dialect
from subband.kernels.ht_blocks import BlockSpec, begin_blocks, list_bands, pick_band

__all__ = ["SIZE_COLUMNS", "SUFFIX", "render_encoding", "render_gathering", "render_placing"]

#: Bytes of the room of a block for the run-length code and the codewords: more than the standard allows.
SUFFIX = 4096

#: What the encoder tells of a block: bytes of its samples, of its run-length code, of its codewords, and bits of its
#: largest magnitude.
SIZE_COLUMNS = ("samples", "runs", "words", "bits")

#: Magnitudes above have more bits than can be coded.
_LARGEST = 0x1FFFFFFF

_WRITERS = """
// plain bits on their way to bytes: `at` is how many there are, `mark` what the last of them leaves for the next
typedef struct { wide_t pending; int count, at, mark; } writer_t;

// the byte behind 0xFF has seven bits
DEVICE void flush_samples(writer_t *w, GLOBAL uchar *out, int most)
{
    while (w->count >= 8) {
        const int byte = (int)w->pending & w->mark, used = w->mark == 255 ? 8 : 7;
        if (w->at < most) out[w->at] = (uchar)byte;
        ++w->at;
        w->pending >>= used;
        w->count -= used;
        w->mark = byte == 255 ? 127 : 255;
    }
}

DEVICE void put_sample(writer_t *w, int bits, int count, GLOBAL uchar *out, int most)
{
    w->pending |= (wide_t)(bits & ((1 << count) - 1)) << w->count;
    w->count += count;
    if (w->count > 31) flush_samples(w, out, most);
}

// a last byte of ones is left out: a decoder goes on with ones by itself
DEVICE int finish_samples(writer_t *w, GLOBAL uchar *out, int most)
{
    flush_samples(w, out, most);
    while (w->count > 0) {
        const int wide = w->mark == 255 ? 8 : 7, there = min(wide, w->count);
        const int known = (1 << there) - 1;
        const int byte = ((int)w->pending & known) | (((1 << wide) - 1) & ~known);
        if (w->at < most) out[w->at] = (uchar)byte;
        ++w->at;
        w->pending >>= there;
        w->count -= there;
        w->mark = byte == 255 ? 127 : 255;
    }
    return w->mark == 127 ? w->at - 1 : w->at;
}

// seven ones behind a byte above 0x8F have a byte of their own
DEVICE void flush_words(writer_t *w, GLOBAL uchar *last)
{
    while (w->count >= 8) {
        int byte = (int)w->pending & 255, used = 8;
        if (w->mark && (byte & 127) == 127) {
            byte = 127;
            used = 7;
        }
        last[-w->at] = (uchar)byte;
        ++w->at;
        w->pending >>= used;
        w->count -= used;
        w->mark = byte > 0x8F;
    }
}

DEVICE void put_word(writer_t *w, int bits, int count)
{
    w->pending |= (wide_t)bits << w->count;
    w->count += count;
}

// the adaptive run-length code: its step, zeros so far, and the byte that is being filled
typedef struct { int step, run, byte, free, at; } runs_t;

DEVICE void put_run_bits(runs_t *r, int code, int length, GLOBAL uchar *out)
{
    for (int bit = length - 1; bit >= 0; --bit) {
        r->byte = r->byte << 1 | (code >> bit & 1);
        if (--r->free == 0) {
            out[r->at++] = (uchar)r->byte;
            r->free = r->byte == 255 ? 7 : 8;
            r->byte = 0;
        }
    }
}

DEVICE void put_event(runs_t *r, int is_one, GLOBAL const int *exponents, GLOBAL uchar *out)
{
    const int exponent = exponents[r->step];
    if (is_one) {
        put_run_bits(r, r->run, exponent + 1, out);
        r->run = 0;
        r->step = max(r->step - 1, 0);
    } else if (++r->run == 1 << exponent) {
        put_run_bits(r, 1, 1, out);
        r->run = 0;
        r->step = min(r->step + 1, 12);
    }
}

// what is written for an offset: prefix (3 bits), its length (2), suffix (5) and its length (3)
DEVICE void put_prefix(writer_t *w, int code) { put_word(w, code & 7, code >> 3 & 3); }
DEVICE void put_suffix(writer_t *w, int code) { put_word(w, code >> 5 & 31, code >> 10); }
"""


def render_encoding(spec: BlockSpec, dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``.

    Its arguments are the number of blocks, bytes of the room of each, the table of `BLOCK_COLUMNS`, what coefficients
    are multiplied by, block by block; the codewords of quads, those of offsets with the exponents of the run-length
    code behind them; the rooms, `SIZE_COLUMNS` of each block, and the arrays of the bands.
    """
    load = "const int value = source[y * stride + x], size = abs(value);"
    if not spec.is_reversible:
        load = """const float value = source[y * stride + x];
    const int size = (int)fmin(fabs(value) * scale, 536870911.0f);"""
    return f"""{begin_blocks(spec, dialect)}
{_WRITERS}
// sign and magnitude of a sample; beyond the edges there are zeros
DEVICE uint load_sample(GLOBAL const T *source, int stride, int height, int width, float scale, int y, int x)
{{
    if (y >= height || x >= width) return 0;
    {load}
    return (uint)min(size, {_LARGEST}) | (value < 0 ? 0x80000000u : 0u);
}}

KERNEL void sweep(const int count, const int room, GLOBAL const int *RESTRICT table,
                  GLOBAL const float *RESTRICT scales, GLOBAL const ushort *RESTRICT codes,
                  GLOBAL const int *RESTRICT offsets, GLOBAL uchar *RESTRICT rooms, GLOBAL int *RESTRICT sizes,
                  {list_bands(spec, "const ")})
{{
    LOCAL int kept[BUSY * PITCH];
    const int lane = LANE, block = GROUP_X * BUSY + lane;
    if (lane >= BUSY || block >= count) return;
    GLOBAL const int *const row = table + 5 * block;
    {pick_band(spec, "const ")}
    GLOBAL const T *const source = band + row[1];
    const int stride = row[2], height = row[3], width = row[4], wide = (width + 1) / 2;
    const float scale = scales[block];
    GLOBAL uchar *const out = rooms + (size_t)block * room;
    const int most = room - {SUFFIX};
    GLOBAL uchar *const run_out = out + most;
    GLOBAL uchar *const last = out + room - 2;
    for (int k = 0; k < wide + 2; ++k) QUAD(k) = 0;
    writer_t samples = {{0, 0, 0, 255}}, words = {{15, 4, 0, 1}};
    runs_t runs = {{0, 0, 0, 8, 0}};
    uint all = 0;
    for (int y = 0; y < height; y += 2) {{
        GLOBAL const ushort *const own_codes = codes + (y > 0 ? 2048 : 0);
        int corner = 0, above = QUAD(1), before = 0, offset = 0;
        for (int column = 0; column < wide; ++column) {{
            const int next_above = QUAD(column + 2), x = 2 * column;
            const uint s0 = load_sample(source, stride, height, width, scale, y, x);
            const uint s1 = load_sample(source, stride, height, width, scale, y + 1, x);
            const uint s2 = load_sample(source, stride, height, width, scale, y, x + 1);
            const uint s3 = load_sample(source, stride, height, width, scale, y + 1, x + 1);
            const int m0 = s0 & 0x7fffffffu, m1 = s1 & 0x7fffffffu, m2 = s2 & 0x7fffffffu, m3 = s3 & 0x7fffffffu;
            const int is0 = m0 > 0, is1 = m1 > 0, is2 = m2 > 0, is3 = m3 > 0;
            const int ones0 = 2 * m0 - is0, ones1 = 2 * m1 - is1, ones2 = 2 * m2 - is2, ones3 = 2 * m3 - is3;
            const int significant = is0 | is1 << 1 | is2 << 2 | is3 << 3;
            const int context = find_context(y == 0, corner, above, next_above, before);
            int now = 0;
            all |= m0 | m1 | m2 | m3;
            if (context == 0) put_event(&runs, significant > 0, offsets + 33, run_out);
            if (significant) {{
                const int predicted = significant & (significant - 1) ? predict(corner, above, next_above) : 1;
                const int exponent = max((int)MEASURE(ones0 | ones1 | ones2 | ones3), predicted), top = exponent - 1;
                now = exponent - predicted;
                const int highest = now ? ones0 >> top | ones1 >> top << 1 | ones2 >> top << 2 | ones3 >> top << 3 : 0;
                const int code = own_codes[context << 8 | significant << 4 | highest];
                put_word(&words, code & 255, code >> 8 & 15);
                // twice the magnitude less two, and the sign as the lowest bit
                put_sample(&samples, ones0 - is0 | (int)(s0 >> 31), (is0 ? exponent : 0) - (code >> 12 & 1), out, most);
                put_sample(&samples, ones1 - is1 | (int)(s1 >> 31), (is1 ? exponent : 0) - (code >> 13 & 1), out, most);
                put_sample(&samples, ones2 - is2 | (int)(s2 >> 31), (is2 ? exponent : 0) - (code >> 14 & 1), out, most);
                put_sample(&samples, ones3 - is3 | (int)(s3 >> 31), (is3 ? exponent : 0) - (code >> 15 & 1), out, most);
            }} else if (context > 0) {{
                const int code = own_codes[context << 8];
                put_word(&words, code & 255, code >> 8 & 15);
            }}
            before = significant << 4;
            corner = above;
            above = next_above;
            QUAD(column + 1) = before | (int)MEASURE(ones1) << 8 | (int)MEASURE(ones3) << 16;
            if ((column & 1) || column == wide - 1) {{
                // offsets come two at a time; the second quad of the last pair may be missing
                int first = column & 1 ? offset : now, second = column & 1 ? now : 0;
                if (y == 0 && first > 0 && second > 0) {{
                    const int is_large = first > 2 && second > 2;
                    put_event(&runs, is_large, offsets + 33, run_out);
                    if (is_large) {{
                        first -= 2;
                        second -= 2;
                    }} else if (first > 2) {{
                        put_prefix(&words, offsets[first]);
                        put_word(&words, second - 1, 1);
                        put_suffix(&words, offsets[first]);
                        first = second = 0;
                    }}
                }}
                if (first | second) {{
                    const int code = offsets[first], other = offsets[second];
                    put_prefix(&words, code);
                    put_prefix(&words, other);
                    put_suffix(&words, code);
                    put_suffix(&words, other);
                }}
                flush_words(&words, last);
            }}
            offset = now;
        }}
    }}
    GLOBAL int *const told = sizes + 4 * block;
    told[3] = MEASURE(all);
    if (all == 0) {{
        told[0] = told[1] = told[2] = 0;
        return;
    }}
    told[0] = finish_samples(&samples, out, most);
    // what is left of a run is told as a whole one
    if (runs.run > 0) put_run_bits(&runs, 1, 1, run_out);
    if (words.mark && words.count == 7 && words.pending == 127) {{
        last[-words.at++] = 127;
        words.pending = words.count = 0;
    }}
    if (words.at == 0) {{
        last[-words.at++] = (uchar)words.pending;
        words.pending = words.count = 0;
    }}
    // the last bits of both codes share a byte if they do not contradict each other
    const int byte = runs.byte << runs.free, rest = (int)words.pending, joint = byte | rest;
    const int mask = 255 & ~((1 << runs.free) - 1), other_mask = (1 << words.count) - 1;
    if ((((joint ^ byte) & mask) | ((joint ^ rest) & other_mask)) == 0 && joint != 255) {{
        if (mask | other_mask) run_out[runs.at++] = (uchar)joint;
    }} else {{
        if (mask) run_out[runs.at++] = (uchar)byte;
        if (words.count) run_out[runs.at++] = (uchar)rest;
    }}
    const int suffix = runs.at + words.at + 1;
    last[1] = (uchar)(suffix >> 4);
    last[0] = (uchar)((last[0] & 0xF0) | (suffix & 15));
    told[1] = runs.at;
    told[2] = words.at + 1;
}}
"""


def render_placing(dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``, for one group: where each block begins, and the bytes of all.

    Its arguments are the number of blocks, their sizes, and where the results go, one more than there are blocks.
    """
    return f"""{dialect.begin()}
KERNEL void sweep(const int count, GLOBAL const int *RESTRICT sizes, GLOBAL int *RESTRICT starts)
{{
    LOCAL int sums[32];
    const int lane = LANE, each = (count + 31) / 32, first = min(lane * each, count), last = min(first + each, count);
    int total = 0;
    for (int k = first; k < last; ++k) total += sizes[4 * k] + sizes[4 * k + 1] + sizes[4 * k + 2];
    sums[lane] = total;
    BARRIER;
    int start = 0;
    for (int k = 0; k < lane; ++k) start += sums[k];
    for (int k = first; k < last; ++k) {{
        starts[k] = start;
        start += sizes[4 * k] + sizes[4 * k + 1] + sizes[4 * k + 2];
    }}
    if (lane == 31) starts[count] = start;
}}
"""


def render_gathering(dialect: Dialect) -> str:
    """Return the source of the kernel ``sweep``, a group for each block: bytes from the rooms to their offsets.

    Its arguments are the number of blocks, the bytes of a room, and those that the goal has; sizes, starts, the rooms,
    and the goal.
    """
    return f"""{dialect.begin()}
KERNEL void sweep(const int count, const int room, const int most, GLOBAL const int *RESTRICT sizes,
                  GLOBAL const int *RESTRICT starts, GLOBAL const uchar *RESTRICT rooms, GLOBAL uchar *RESTRICT goal)
{{
    const int block = GROUP_X;
    if (block >= count) return;
    GLOBAL const uchar *const own = rooms + (size_t)block * room;
    const int samples = sizes[4 * block], runs = sizes[4 * block + 1], words = sizes[4 * block + 2];
    const int start = starts[block];
    if (samples > room - {SUFFIX} || start + samples + runs + words > most) return;
    for (int k = LANE; k < samples; k += 32) goal[start + k] = own[k];
    for (int k = LANE; k < runs; k += 32) goal[start + samples + k] = own[room - {SUFFIX} + k];
    for (int k = LANE; k < words; k += 32) goal[start + samples + runs + k] = own[room - words + k];
}}
"""
