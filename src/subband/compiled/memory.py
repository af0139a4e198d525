"""What Numba's compiled code asks of its run time, in a few lines of LLVM: memory for scratch arrays, and its end."""

from __future__ import annotations

__all__ = ["ASSEMBLY"]

#: An array's memory begins with 48 bytes: how many refer to it, who ends it (nobody, here), its address and its size.
ASSEMBLY = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define weak_odr ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %align = zext i32 %alignment to i64
  %margin = add i64 %align, 48
  %total = add i64 %size, %margin
  %memory = call ptr @malloc(i64 %total)
  %is_null = icmp eq ptr %memory, null
  br i1 %is_null, label %none, label %some
none:
  ret ptr null
some:
  call void @llvm.memset.p0.i64(ptr %memory, i8 0, i64 48, i1 false)
  store i64 1, ptr %memory
  %start = ptrtoint ptr %memory to i64
  %end = add i64 %start, %margin
  %mask = sub i64 0, %align
  %data = and i64 %end, %mask
  %data_field = getelementptr i8, ptr %memory, i64 24
  store i64 %data, ptr %data_field
  %size_field = getelementptr i8, ptr %memory, i64 32
  store i64 %size, ptr %size_field
  ret ptr %memory
}

define weak_odr ptr @NRT_MemInfo_alloc(i64 %size) {
  %memory = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 16)
  ret ptr %memory
}

define weak_odr ptr @NRT_Allocate(i64 %size) {
  %memory = call ptr @malloc(i64 %size)
  ret ptr %memory
}

define weak_odr void @NRT_Free(ptr %memory) {
  call void @free(ptr %memory)
  ret void
}

define weak_odr void @subband_release(ptr %memory) {
  %is_null = icmp eq ptr %memory, null
  br i1 %is_null, label %done, label %count
count:
  %before = atomicrmw sub ptr %memory, i64 1 acq_rel
  %is_last = icmp eq i64 %before, 1
  br i1 %is_last, label %last, label %done
last:
  call void @free(ptr %memory)
  ret void
done:
  ret void
}

define weak_odr void @NRT_MemInfo_call_dtor(ptr %memory) {
  call void @free(ptr %memory)
  ret void
}
"""
