"""The macros in which CUDA and OpenCL differ: qualifiers, shuffles, barriers, asynchronous copies.

Kernels are written in C with the words defined here. A *group* is 32 lanes that walk together: a warp in CUDA, in
OpenCL a work-group or, for volumes, a part of one. Lanes hand numbers to each other with PUBLISH, MEET and FETCH: on
NVIDIA's GPUs the registers are read directly and the first two do nothing; elsewhere the numbers go through local
memory, in two halves taken in turn, so that one barrier for each exchange is enough. Rows on their way wait in STAGES:
on NVIDIA's GPUs in local memory, where copies arrive without a register waiting for them; elsewhere in registers, one
pair at a time. IF_ALL_AGREE skips work that no lane needs, where that is allowed around an exchange; what must not
happen still needs a condition of its own. SELDOM marks a function that stays out of the way of those who do not call
it. LOCAL memory belongs to a block, and BARRIER waits for all lanes of it: groups that meet there walk alike.

Where several groups work on one thing, the text begins with the number of their lanes, THREADS, and of the blocks that
have to find room on a multiprocessor, RESIDENT, and has the words of `Dialect.blocks` too: THREAD is a lane's number in
its block, SUM_ALL replaces a number by the sum over the block, in slots that SUMMING has declared; SUM_EACH does so
with a few numbers at once, in slots of SUMMING_EACH, where a block has a power of two of groups; and LOAD4 reads four
numbers of local memory that begin at a multiple of 16 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CUDA", "DIALECTS", "LANES", "OPENCL", "OPENCL_NVIDIA", "Dialect"]

#: Lanes of a group.
LANES = 32

_CUDA = """\
#define KERNEL extern "C" __global__
#define GLOBAL
#define DEVICE __device__ __forceinline__
#define SELDOM static __device__ __noinline__
#define IF_ALL_AGREE(condition) if (condition)
#define RESTRICT __restrict__
#define ALIGN(bytes) __align__(bytes)
#define UNROLL _Pragma("unroll")
#define UNROLL_FEW _Pragma("unroll 4")
#define LANE ((int)(threadIdx.x & 31))
#define GROUP_X ((int)(blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5)))
#define GROUP_Y ((int)blockIdx.y)
#define GROUP_Z ((int)blockIdx.z)
#define GROUPS_Y ((int)gridDim.y)
#define GROUPS_Z ((int)gridDim.z)
#define ITEM_X ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define ITEMS_X ((size_t)gridDim.x * blockDim.x)
#define LOCAL __shared__
#define BARRIER __syncthreads()
#define ATOMIC_ADD(address, value) atomicAdd(address, value)
#define ATOMIC_MAX(address, value) atomicMax(address, value)
#define ADD_WIDE(address, value) atomicAdd((unsigned long long *)(address), (unsigned long long)(value))
#define HELD held_t
#define STAGES(slots) \\
    __shared__ ALIGN(16) held_t staged[BLOCK * (slots) * 2 * 32 * V]; \\
    held_t *const stage = staged + (threadIdx.x >> 5) * (slots) * 2 * 32 * V + (threadIdx.x & 31) * V;
#define STAGE(slot, m) (stage + ((slot) * 2 + (m)) * 32 * V)
#define STAGE_PACK(goal, source, type) stage_bytes<sizeof(type)>(goal, source)
#define STAGE_ONE(goal, source, is_there) stage_one(goal, source, is_there)
#define COPY "cp.async.ca.shared.global.L2::128B [%0], [%1], "
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define AWAIT(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")
#define EXCHANGE(slots)
#define PUBLISH(slot, value)
#define MEET
#define FETCH(slot, value, distance) __shfl_sync(0xffffffffu, value, (lane + (distance)) & 31)
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef long long wide_t;
template <int bytes> DEVICE void stage_bytes(void *goal, const void *source)
{
    const uint to = (uint)__cvta_generic_to_shared(goal);
    // through the first-level cache: the next strip wants the last columns too
    if (bytes % 16 == 0) {
        UNROLL for (int k = 0; k < bytes; k += 16)
            asm volatile(COPY "16;" ::"r"(to + k), "l"((const char *)source + k));
    } else if (bytes % 8 == 0) {
        UNROLL for (int k = 0; k < bytes; k += 8)
            asm volatile(COPY "8;" ::"r"(to + k), "l"((const char *)source + k));
    } else {
        UNROLL for (int k = 0; k < bytes; k += 4)
            asm volatile(COPY "4;" ::"r"(to + k), "l"((const char *)source + k));
    }
}
template <typename S> DEVICE void stage_one(S *goal, const S *source, bool is_there)
{
    if (sizeof(S) == 4) {
        asm volatile(COPY "4, %2;" ::"r"((uint)__cvta_generic_to_shared(goal)),
                     "l"(source), "r"(is_there ? 4 : 0));
    } else if (sizeof(S) == 8) {
        asm volatile(COPY "8, %2;" ::"r"((uint)__cvta_generic_to_shared(goal)),
                     "l"(source), "r"(is_there ? 8 : 0));
    } else {
        *goal = is_there ? *source : (S)0;
    }
}
DEVICE float half_to_float(ushort h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
DEVICE ushort float_to_half(float f) { ushort h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
DEVICE uint float_bits(float f) { return __float_as_uint(f); }
DEVICE float bits_float(uint u) { return __uint_as_float(u); }
"""

_OPENCL = """\
#pragma OPENCL FP_CONTRACT ON
#define KERNEL __kernel __attribute__((reqd_work_group_size(32, 1, 1)))
#define GLOBAL __global
#define DEVICE static inline
#define SELDOM static
#define IF_ALL_AGREE(condition)
#define RESTRICT restrict
#define ALIGN(bytes) __attribute__((aligned(bytes)))
#define UNROLL __attribute__((opencl_unroll_hint))
#define UNROLL_FEW __attribute__((opencl_unroll_hint(4)))
#define LANE ((int)get_local_id(0))
#define GROUP_X ((int)get_group_id(0))
#define GROUP_Y ((int)get_group_id(1))
#define GROUP_Z ((int)get_group_id(2))
#define GROUPS_Y ((int)get_num_groups(1))
#define GROUPS_Z ((int)get_num_groups(2))
#define ITEM_X ((size_t)get_global_id(0))
#define ITEMS_X ((size_t)get_global_size(0))
#define LOCAL __local
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define ATOMIC_ADD(address, value) atomic_add(address, value)
#define ATOMIC_MAX(address, value) atomic_max(address, value)
#define ADD_WIDE(address, value) add_wide(address, value)
typedef long wide_t;
// in two words: devices need not have atomics of 64 bits
DEVICE void add_wide(__global uint *at, wide_t value)
{
    const uint low = (uint)value;
    uint high = (uint)(value >> 32);
    const uint before = atomic_add(at, low);
    if (before + low < before) ++high;
    if (high) atomic_add(at + 1, high);
}
DEVICE uint float_bits(float f) { return as_uint(f); }
DEVICE float bits_float(uint u) { return as_float(u); }
"""

_OPENCL_PLAIN = """\
// by hand: devices need not have numbers of half precision, not even to convert them
DEVICE float half_to_float(ushort h)
{
    const uint sign = (uint)(h & 0x8000) << 16, exponent = (h >> 10) & 31, mantissa = h & 1023;
    if (exponent == 0) return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
    return as_float(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}
DEVICE ushort float_to_half(float f)
{
    const uint bits = as_uint(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return (ushort)(sign | 0x7e00);
    if (size >= 0x477ff000u) return (ushort)(sign | 0x7c00);
    if (size < 0x38800000u) return (ushort)(sign | (uint)rint(as_float(size) * 0x1p24f));
    return (ushort)(sign | (size - 0x38000000u + 0xfff + (size >> 13 & 1)) >> 13);
}
#define HELD held_t
#define STAGES(slots) held_t staged[2][V];
#define STAGE(slot, m) staged[m]
#define STAGE_PACK(goal, source, type) *(type *)(goal) = *(GLOBAL const type *)(source)
#define STAGE_ONE(goal, source, is_there) *(goal) = (is_there) ? *(source) : 0
#define COMMIT
#define AWAIT(count)
#define EXCHANGE(slots) __local T exchange[2][slots][32]; int half_ = 0;
#define PUBLISH(slot, value) exchange[half_][slot][lane] = value
#define MEET half_ ^= 1; barrier(CLK_LOCAL_MEM_FENCE)
#define FETCH(slot, value, distance) exchange[half_ ^ 1][slot][(lane + (distance)) & 31]
"""

#: OpenCL as NVIDIA's compiler takes it: with the instructions of the GPU that CUDA uses.
_OPENCL_NVIDIA = """\
#define HELD __local held_t
#define STAGES(slots) \\
    __local held_t staged[(slots) * 2 * 32 * V] ALIGN(16); \\
    __local held_t *const stage = staged + LANE * V;
#define STAGE(slot, m) (stage + ((slot) * 2 + (m)) * 32 * V)
#define STAGE_PACK(goal, source, type) stage_bytes((__local char *)(goal), (GLOBAL const char *)(source), sizeof(type))
#define STAGE_ONE(goal, source, is_there) \\
    stage_one((__local char *)(goal), (GLOBAL const char *)(source), (is_there), sizeof(held_t))
#define COPY "cp.async.ca.shared.global.L2::128B [%0], [%1], "
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define AWAIT(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")
#define EXCHANGE(slots)
#define PUBLISH(slot, value)
#define MEET
#define FETCH(slot, value, distance) fetch(value, (lane + (distance)) & 31)
DEVICE void stage_bytes(__local char *goal, GLOBAL const char *source, int bytes)
{
    const uint to = (uint)(size_t)goal;
    if (bytes % 16 == 0) {
        UNROLL for (int k = 0; k < bytes; k += 16)
            asm volatile(COPY "16;" ::"r"(to + k), "l"(source + k) : "memory");
    } else if (bytes % 8 == 0) {
        UNROLL for (int k = 0; k < bytes; k += 8)
            asm volatile(COPY "8;" ::"r"(to + k), "l"(source + k) : "memory");
    } else {
        UNROLL for (int k = 0; k < bytes; k += 4)
            asm volatile(COPY "4;" ::"r"(to + k), "l"(source + k) : "memory");
    }
}
DEVICE void stage_one(__local char *goal, GLOBAL const char *source, bool is_there, int bytes)
{
    const uint to = (uint)(size_t)goal, count = is_there ? bytes : 0;
    if (bytes == 4) {
        asm volatile(COPY "4, %2;" ::"r"(to), "l"(source), "r"(count) : "memory");
    } else if (bytes == 8) {
        asm volatile(COPY "8, %2;" ::"r"(to), "l"(source), "r"(count) : "memory");
    } else if (bytes == 2) {
        *(__local ushort *)goal = is_there ? *(GLOBAL const ushort *)source : (ushort)0;
    } else {
        *(__local uchar *)goal = is_there ? *(GLOBAL const uchar *)source : (uchar)0;
    }
}
DEVICE float half_to_float(ushort h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
DEVICE ushort float_to_half(float f) { ushort h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
DEVICE uint fetch_bits(uint value, int from)
{
    uint got;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(got) : "r"(value), "r"(from));
    return got;
}
float __attribute__((overloadable)) fetch(float value, int from) { return as_float(fetch_bits(as_uint(value), from)); }
int __attribute__((overloadable)) fetch(int value, int from) { return as_int(fetch_bits(as_uint(value), from)); }
long __attribute__((overloadable)) fetch(long value, int from)
{
    const uint2 bits = as_uint2(value);
    return as_long((uint2)(fetch_bits(bits.x, from), fetch_bits(bits.y, from)));
}
double __attribute__((overloadable)) fetch(double value, int from)
{
    const uint2 bits = as_uint2(value);
    return as_double((uint2)(fetch_bits(bits.x, from), fetch_bits(bits.y, from)));
}
"""

_CUDA_BLOCKS = """\
#undef KERNEL
#define KERNEL extern "C" __global__ __launch_bounds__(THREADS, RESIDENT)
#define THREAD ((int)threadIdx.x)
#define BLOCK_X ((int)blockIdx.x)
#define SUMMING(type) __shared__ type slots[2][THREADS / 32]; int slot = 0
#define SUM_ALL(value) \\
    { \\
        UNROLL for (int far = 16; far; far >>= 1) value += __shfl_xor_sync(0xffffffffu, value, far); \\
        if (THREADS > 32) { \\
            if (LANE == 0) slots[slot][THREAD >> 5] = value; \\
            BARRIER; \\
            value = 0; \\
            UNROLL for (int k = 0; k < THREADS / 32; ++k) value += slots[slot][k]; \\
            slot ^= 1; \\
        } \\
    }
#define SUMMING_EACH(type, count) __shared__ type rooms[2][count][THREADS / 32]; int room_ = 0
#define SUM_EACH(values, count) \\
    { \\
        UNROLL for (int far = 16; far; far >>= 1) UNROLL for (int k_ = 0; k_ < (count); ++k_) \\
            values[k_] += __shfl_xor_sync(0xffffffffu, values[k_], far); \\
        if (LANE == 0) UNROLL for (int k_ = 0; k_ < (count); ++k_) rooms[room_][k_][THREAD >> 5] = values[k_]; \\
        BARRIER; \\
        UNROLL for (int k_ = 0; k_ < (count); ++k_) values[k_] = rooms[room_][k_][LANE & (THREADS / 32 - 1)]; \\
        UNROLL for (int far = THREADS / 64; far; far >>= 1) UNROLL for (int k_ = 0; k_ < (count); ++k_) \\
            values[k_] += __shfl_xor_sync(0xffffffffu, values[k_], far); \\
        room_ ^= 1; \\
    }
#define LOAD4(goal, address) \\
    { \\
        const quad_t quad = *(const quad_t *)(address); \\
        UNROLL for (int k = 0; k < 4; ++k) (goal)[k] = quad.v[k]; \\
    }
"""

_OPENCL_BLOCKS = """\
#undef KERNEL
#undef UNROLL
#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
#define UNROLL
#define THREAD ((int)get_local_id(0))
#define BLOCK_X ((int)get_group_id(0))
#define SUMMING(type) __local type slots[2][THREADS]; int slot = 0
#define SUM_ALL(value) \\
    { \\
        slots[slot][THREAD] = value; \\
        BARRIER; \\
        value = 0; \\
        for (int k = 0; k < THREADS; ++k) value += slots[slot][k]; \\
        slot ^= 1; \\
    }
#define SUMMING_EACH(type, count) __local type rooms[2][count][THREADS]; int room_ = 0
#define SUM_EACH(values, count) \\
    { \\
        for (int k_ = 0; k_ < (count); ++k_) rooms[room_][k_][THREAD] = values[k_]; \\
        BARRIER; \\
        for (int k_ = 0; k_ < (count); ++k_) { \\
            values[k_] = 0; \\
            for (int m_ = 0; m_ < THREADS; ++m_) values[k_] += rooms[room_][k_][m_]; \\
        } \\
        room_ ^= 1; \\
    }
#define LOAD4(goal, address) for (int k = 0; k < 4; ++k) (goal)[k] = (address)[k]
"""

_BOTH = """\
DEVICE float bfloat_to_float(ushort b) { return bits_float((uint)b << 16); }
DEVICE ushort float_to_bfloat(float f)
{
    uint u = float_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (ushort)((u >> 16) | 64);
    return (ushort)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
"""


@dataclass(frozen=True)
class Dialect:
    """A language of kernels: CUDA, OpenCL, or OpenCL with NVIDIA's instructions.

    Attributes
    ----------
    name : str
        ``"cuda"`` or ``"opencl"``.
    prelude : str
        The words of the kernels in this language.
    is_staging : bool
        Whether several pairs of rows can be on their way.
    blocks : str
        The words of kernels whose blocks are several groups that work on one thing.
    """

    name: str
    prelude: str
    is_staging: bool
    blocks: str

    def begin(self, *, uses_doubles: bool = False) -> str:
        """Return the prelude of a kernel: the macros of this dialect."""
        if uses_doubles and self.name == "opencl":
            return "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" + self.prelude
        return self.prelude


CUDA = Dialect("cuda", _CUDA + _BOTH, True, _CUDA_BLOCKS)
OPENCL = Dialect("opencl", _OPENCL + _OPENCL_PLAIN + _BOTH, False, _OPENCL_BLOCKS)
OPENCL_NVIDIA = Dialect("opencl", _OPENCL + _OPENCL_NVIDIA + _BOTH, True, _OPENCL_BLOCKS)

#: By name.
DIALECTS = {"cuda": CUDA, "opencl": OPENCL, "opencl on NVIDIA": OPENCL_NVIDIA}
