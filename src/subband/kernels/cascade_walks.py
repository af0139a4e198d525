"""Kernel text of the walks of `subband.kernels.cascade`: what is loaded, the steps of both levels, what is stored."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from subband.kernels.dialects import LANES
from subband.kernels.numbers import STORAGES, format_number, format_step
from subband.schedule.axis import AxisStep

if TYPE_CHECKING:
    from subband.kernels.cascade import CascadeSpec

__all__ = ["ROWS", "render_forward", "render_inverse"]

#: Rows of samples, or as many coefficients, that come in together.
ROWS = 4


def render_forward(spec: CascadeSpec) -> str:
    """Return the walk from samples to bands."""
    number, last = STORAGES[spec.bands].number, spec.vertical.schedule.last
    is_double = spec.levels == 2
    bring = f"""\
UNROLL for (int r = 0; r < 4; ++r) {{
    const uint at = (uint)mirror(4 * newest + r + ({2 * last}), height) * width * C + first_lane * V;
    GLOBAL const sample_t *row = AT(const sample_t, image_at, at);
    BRING_ROW(slot, r, row);
}}"""
    down, across = spec.vertical.factors, spec.horizontal.factors
    between = """\
    UNROLL for (int k = 0; k < P; ++k) {
        if (h == 0) coarse[0][0][k] = p[LOW(k)];
        else coarse[1][0][k] = p[LOW(k)];
    }"""
    low_band = _store("aa", "P", "pairs_t", "p[LOW(k)]", down[0] * across[0], number)
    fine = f"""\
const bool is_stored = is_useful && m >= start && m < stop;
UNROLL for (int h = 0; h < 2; ++h) {{
{_render_shift("fine", "V")}
    UNROLL for (int r = 0; r < 2; ++r) READ_ROW(fine[r][0], arrived, 2 * h + r);
{indent(_render_along(spec, "fine[0][0]", spec.pairs), "    ")}
{indent(_render_along(spec, "fine[1][0]", spec.pairs), "    ")}
{indent(_render_down(spec, "fine", "V", ""), "    ")}
{indent(_render_outputs(spec, "fine", "V"), "    ")}
{between if is_double else ""}
    if (is_stored) {{
        const uint at = (uint)(2 * m + h) * half_width * C + at_lane * P;
{indent("" if is_double else low_band, " " * 8)}
{indent(_store("ad", "P", "pairs_t", "p[HIGH(k)]", down[0] * across[1], number), " " * 8)}
{indent(_store("da", "P", "pairs_t", "q[LOW(k)]", down[1] * across[0], number), " " * 8)}
{indent(_store("dd", "P", "pairs_t", "q[HIGH(k)]", down[1] * across[1], number), " " * 8)}
    }}
}}"""
    # what the fine level needs before its first pair is complete
    first = spec.vertical.schedule.first
    early = -(-(last - first) // 2)
    if not is_double:
        return _render_loop(spec, f"start - {early}", "stop", bring, fine)
    # the approximation between the levels is scaled with what is made of it
    low = down[0] * across[0]
    coarse = f"""\
{_render_along(spec, "coarse[0][0]", spec.pairs // 2)}
{_render_along(spec, "coarse[1][0]", spec.pairs // 2)}
if (m >= low_height) {{
    UNROLL for (int c = 0; c < P; ++c) coarse[0][0][c] = coarse[0][1][c];
}}
{_render_down(spec, "coarse", "P", "m - {} >= low_height")}
const int n = m - ({last});
IF_ALL_AGREE(n >= start) {{
{indent(_render_outputs(spec, "coarse", "P"), "    ")}
    if (is_useful && n >= start) {{
        const uint at = (uint)n * low_width * C + at_lane * Q;
{indent(_store("aa2", "Q", "halves_t", "p[LOW(k)]", low * down[0] * across[0], number), " " * 8)}
{indent(_store("ad2", "Q", "halves_t", "p[HIGH(k)]", low * down[0] * across[1], number), " " * 8)}
{indent(_store("da2", "Q", "halves_t", "q[LOW(k)]", low * down[1] * across[0], number), " " * 8)}
{indent(_store("dd2", "Q", "halves_t", "q[HIGH(k)]", low * down[1] * across[1], number), " " * 8)}
    }}
}}"""
    begin, end = f"start + ({first - early})", f"stop + ({last})"
    body = f"{_render_shift('coarse', 'P')}\n{fine}\n{coarse}"
    return _render_loop(spec, begin, end, bring, body)


def render_inverse(spec: CascadeSpec) -> str:
    """Return the walk from bands to samples."""
    number, schedule = STORAGES[spec.bands].number, spec.vertical.schedule
    first, last = schedule.first, schedule.last
    down, across = spec.vertical.scales, spec.horizontal.scales
    is_double = spec.levels == 2
    pieces = []
    # the first quarter of a slot has the coarse bands, or the approximation
    for r, names in enumerate((("aa2", "ad2"), ("da2", "dd2")) if is_double else ()):
        mirror = ("mirror_low", "mirror_high")[r]
        pieces.append(f"{{ const uint at = (uint){mirror}(newest, low_height) * low_width * C + at_lane * Q;")
        for k, name in enumerate(names):
            goal = f"STAGED(slot, 0) + {r} * P + {k} * Q"
            pieces.append(f"  STAGE_PACK({goal}, AT(const band_t, image_{name}, at), halves_t);")
        pieces.append("}")
    pieces.append("UNROLL for (int h = 0; h < 2; ++h) {")
    pieces.append(f"    const int row = 2 * (newest - ({last if is_double else 0})) + h;")
    pieces.append("    const uint low_at = (uint)mirror_low(row, half_height) * half_width * C + at_lane * P;")
    pieces.append("    const uint high_at = (uint)mirror_high(row, half_height) * half_width * C + at_lane * P;")
    for r, (name, at) in enumerate((("aa", "low_at"), ("ad", "low_at"), ("da", "high_at"), ("dd", "high_at"))):
        if name != "aa" or not is_double:
            pieces.append(f"    STAGE_PACK(STAGED(slot, {r}) + h * P, AT(const band_t, image_{name}, {at}), pairs_t);")
    pieces.append("}")
    low = down[0] * across[0]

    def scaled(value: str, scale: float) -> str:
        return f"{_multiply(scale, number)}READ_BAND({value})"

    members = ("LOW(k)", "HIGH(k)")
    reads = "\n".join(
        f"    coarse[{r}][0][{members[h]}] = "
        + scaled(f"STAGED(arrived, 0)[{r} * P + {h} * Q + k]", low * down[r] * across[h])
        + ";"
        for r in (0, 1)
        for h in (0, 1)
    )
    stores = []
    for member, name in enumerate("pq"):
        stores.append(_render_along(spec, name, spec.pairs))
        for h in (0, 1):
            factor = spec.vertical.factors[member] * spec.horizontal.factors[h]
            value = f"{name}[{members[h]}]"
            if factor != 1:
                stores.append(f"UNROLL for (int k = 0; k < P; ++k) {value} *= {format_number(factor, number)};")
        stores.append(f"""\
{{
    const uint at = (uint)(2 * n + {member}) * width * C + at_lane * V;
    GLOBAL sample_t *row = AT(sample_t, image_at, at);
    const bool is_stored = n >= 2 * start && n < 2 * stop;
{indent(_render_store_row(spec, name), "    ")}
}}""")
    first_low = "between[h][k]" if is_double else scaled("STAGED(arrived, 0)[h * P + k]", low)
    # a mirror at the last row of what was made here is not where the fine level needs it
    repetition = """\
    if (at >= half_height) {
        UNROLL for (int c = 0; c < V; ++c) fine[0][0][c] = fine[0][1][c];
    }"""
    fine = f"""\
UNROLL for (int h = 0; h < 2; ++h) {{
{_render_shift("fine", "V")}
    UNROLL for (int k = 0; k < P; ++k) {{
        fine[0][0][LOW(k)] = {first_low};
        fine[0][0][HIGH(k)] = {scaled("STAGED(arrived, 1)[h * P + k]", down[0] * across[1])};
        fine[1][0][LOW(k)] = {scaled("STAGED(arrived, 2)[h * P + k]", down[1] * across[0])};
        fine[1][0][HIGH(k)] = {scaled("STAGED(arrived, 3)[h * P + k]", down[1] * across[1])};
    }}
    const int at = 2 * (m - ({last if is_double else 0})) + h, n = at - ({last});
{repetition if is_double else ""}
{indent(_render_down(spec, "fine", "V", "at - {} >= half_height" if is_double else ""), "    ")}
{indent(_render_outputs(spec, "fine", "V"), "    ")}
{indent(chr(10).join(stores), "    ")}
}}"""
    # what the fine level needs beyond the pairs of a chunk
    more = -(-last // 2)
    if not is_double:
        return _render_loop(spec, f"start - {-(first // 2)}", f"stop + {more}", "\n".join(pieces), fine)
    factors = [[v * h for h in spec.horizontal.factors] for v in spec.vertical.factors]
    between = "\n".join(
        f"        between[{r}][{at}] = {_multiply(factors[r][h], number)}{name}[{at}];"
        for r, name in enumerate("pq")
        for h, at in enumerate(members)
    )
    body = f"""\
{_render_shift("coarse", "P")}
UNROLL for (int k = 0; k < Q; ++k) {{
{reads}
}}
{_render_down(spec, "coarse", "P", "")}
T between[2][P];
{{
{indent(_render_outputs(spec, "coarse", "P"), "    ")}
{indent(_render_along(spec, "p", spec.pairs // 2), "    ")}
{indent(_render_along(spec, "q", spec.pairs // 2), "    ")}
    UNROLL for (int k = 0; k < Q; ++k) {{
{between}
    }}
}}
{fine}"""
    begin, end = f"start + ({first - more})", f"stop + ({last + more})"
    return _render_loop(spec, begin, end, "\n".join(pieces), body)


def _render_store_row(spec: CascadeSpec, name: str) -> str:
    """Return the lines that store a row of samples."""
    if not spec.is_split:
        return f"""\
if (is_useful && is_stored) {{
    STORE_PACK(samples_t, row, V, WRITE_SAMPLE({name}[k]));
}}"""
    # two lanes store what one of them has, then what the other one has, so that each time whole sectors are stored
    half = spec.elements // 2
    lines = ["const bool is_odd = lane & 1;", "const int own = is_odd ? at_lane - 1 : at_lane;"]
    lines += [f"PUBLISH({c}, is_odd ? {name}[{c}] : {name}[{half + c}]);" for c in range(half)]
    lines.append("MEET;")
    lines += ["piece_t first, second;"]
    for c in range(half):
        lines.append(f"const T f{c} = FETCH({c}, is_odd ? {name}[{c}] : {name}[{half + c}], is_odd ? -1 : 1);")
        lines.append(f"first.v[{c}] = WRITE_SAMPLE(is_odd ? f{c} : {name}[{c}]);")
        lines.append(f"second.v[{c}] = WRITE_SAMPLE(is_odd ? {name}[{half + c}] : f{c});")
    lines.append("GLOBAL sample_t *piece = row - (is_odd ? V - E : 0);")
    lines.append("if (is_stored && own >= first_useful && own < end_useful) STORE_PIECE(piece, first);")
    lines.append("if (is_stored && own + 1 >= first_useful && own + 1 < end_useful) STORE_PIECE(piece + V, second);")
    return "\n".join(lines)


def _render_loop(spec: CascadeSpec, begin: str, end: str, bring: str, body: str) -> str:
    """Return the walk of a group."""
    states = {"fine": "V", "coarse": "P"} if spec.levels == 2 else {"fine": "V"}
    declarations = "\n".join(
        f"T {rows}[2][DEPTH][{count}];\nUNROLL for (int k = 0; k < DEPTH; ++k)\n"
        f"    UNROLL for (int c = 0; c < {count}; ++c) {rows}[0][k][c] = {rows}[1][k][c] = 0;"
        for rows, count in states.items()
    )
    return f"""\
enum {{ DEPTH = {spec.vertical.schedule.depth}, AHEAD = {spec.ahead} }};
{declarations}
const int begin = {begin}, end = {end};
// other lanes may still read rows of the image before
SHARE;
for (int k = 0; k < AHEAD; ++k) {{
    const int slot = k, newest = begin + k;
    if (newest < end) {{
{indent(bring, " " * 8)}
    }}
    COMMIT;
}}
int slot = AHEAD, arrived = 0;
for (int m = begin; m < end; ++m) {{
    const int newest = m + AHEAD;
    AWAIT({max(0, spec.ahead - 1)});
    // what other lanes have loaded is there, and what they have read may be overwritten
    SHARE;
    if (newest < end) {{
{indent(bring, " " * 8)}
    }}
    COMMIT;
{indent(body, "    ")}
    slot = arrived;
    arrived = arrived == AHEAD ? 0 : arrived + 1;
}}"""


def _render_shift(rows: str, columns: str) -> str:
    """Return the lines that make every pair of rows of a level one older."""
    return f"""\
UNROLL for (int k = DEPTH - 1; k > 0; --k)
    UNROLL for (int c = 0; c < {columns}; ++c) {{
        {rows}[0][k][c] = {rows}[0][k - 1][c];
        {rows}[1][k][c] = {rows}[1][k - 1][c];
    }}"""


def _render_down(spec: CascadeSpec, rows: str, columns: str, beyond: str) -> str:
    """Return the steps down the columns; `beyond` says of which age rows lie below the last one and repeat it."""
    number, steps, lines = STORAGES[spec.bands].number, spec.vertical.steps, []
    for index, entry in enumerate(steps):
        step, lag = entry.step, entry.lag
        sources = [f"{rows}[{1 - step.target}][{lag - step.start - j}][c]" for j in range(len(step.taps))]
        target = f"{rows}[{step.target}][{lag}][c]"
        total = format_step(entry, sources, number)
        lines.append(f"UNROLL for (int c = 0; c < {columns}; ++c) {target} = {target} {total};")
        if beyond and step.target == 0 and index + 1 < len(steps):
            lines.append(f"if ({beyond.format(lag)}) {{")
            lines.append(f"    UNROLL for (int c = 0; c < {columns}; ++c) {target} = {rows}[0][{lag + 1}][c];")
            lines.append("}")
    return "\n".join(lines)


def _render_outputs(spec: CascadeSpec, rows: str, columns: str) -> str:
    """Return the lines that declare the rows ``p`` and ``q`` that are ready."""
    last = spec.vertical.schedule.last
    return "\n".join(
        f"T {name}[{columns}]; UNROLL for (int c = 0; c < {columns}; ++c) "
        f"{name}[c] = {rows}[{output.member}][{last - output.shift}][c];"
        for name, output in zip("pq", spec.vertical.outputs, strict=True)
    )


def _render_along(spec: CascadeSpec, row: str, pairs: int) -> str:
    """Return the steps along a row of which a lane holds so many pairs."""
    return "\n".join(
        _render_steps(spec, row, pairs, entry, channel)
        for entry in spec.horizontal.steps
        for channel in range(spec.channels)
    )


def _render_steps(spec: CascadeSpec, row: str, pairs: int, entry: AxisStep, channel: int) -> str:
    """Return a step along a channel of a row."""

    def locate(member: int, pair: int) -> int:
        return (2 * pair + member) * spec.channels + channel

    step, taps = entry.step, range(len(entry.step.taps))
    source, lines = 1 - step.target, []
    names: dict[int, str] = {}
    beyond = sorted({p for k in range(pairs) for j in taps if not 0 <= (p := k + step.start + j) < pairs})
    lines += [f"PUBLISH({slot}, {row}[{slot}]);" for slot in sorted({locate(source, p % pairs) for p in beyond})]
    if beyond:
        lines.append("MEET;")
    for count, pair in enumerate(beyond):
        slot = locate(source, pair % pairs)
        # a lane at an end sees in itself what lies beyond, which may be another number than its neighbour asks for
        edge, own = (0, -1 - pair) if pair < 0 else (LANES - 1, 2 * pairs - 1 - pair)
        lines.append(f"T f{count} = FETCH_INSIDE({slot}, {row}[{slot}], {pair // pairs});")
        if locate(source, own) != slot:
            lines.append(f"if (lane == {edge}) f{count} = {row}[{locate(source, own)}];")
        names[pair] = f"f{count}"
    for k in range(pairs):
        members = [names.get(p, f"{row}[{locate(source, p)}]") for p in (k + step.start + j for j in taps)]
        target = f"{row}[{locate(step.target, k)}]"
        lines.append(f"{target} = {target} {format_step(entry, members, STORAGES[spec.bands].number)};")
    return "{ " + "\n  ".join(lines) + " }"


def _multiply(factor: float, number: str) -> str:
    """Format a factor and the sign behind it; nothing if it is 1."""
    return "" if factor == 1 else f"{format_number(factor, number)} * "


def _store(band: str, count: str, packed: str, value: str, factor: float, number: str) -> str:
    value = f"WRITE_BAND({_multiply(factor, number)}{value})"
    return f"STORE_PACK({packed}, AT(band_t, image_{band}, at), {count}, {value});"
