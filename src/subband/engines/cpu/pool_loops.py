"""The compiled half of the thread pool: threads share the tasks of a loop, wake and sleep without Python's lock.

A thread that computes may lose its core to another program at any moment. If it held Python's lock then, everybody
would wait until it runs again. So helpers live in `serve`, which they leave for work in Python only.

All that they share is a *board* of integers. Whoever has tasks to share opens a *slot* of it, and takes tasks himself
until none is left. A helper enters an open slot, takes tasks too, and leaves. So the caller waits for those helpers
only who are inside, in the middle of their last task. Waiting is turning for a moment, then sleep: on a lock of
CPython's, which takes no more than its address.
"""

from __future__ import annotations

import numba as nb
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from subband.compiled.compiling import stored
from subband.engines.board import (
    ARGUMENT,
    ASLEEP,
    AWAKE,
    CALLERS,
    CALLS,
    COUNT,
    ERRANDS,
    FIRST,
    FREE,
    FUNCTION,
    HELPER,
    HELPER_LOCK,
    HELPERS,
    INSIDE,
    LOCK,
    LOOKS,
    OPEN,
    OWNED,
    POSTS,
    SLEEPER,
    SLOT,
    SLOTS,
    STATE,
    TAKEN,
    THREADS,
)
from subband.engines.cpu.loops import data, shift

__all__ = ["address_of", "look_often", "pointer_to", "post_errand", "serve", "share"]

_WORD = ir.IntType(64)
_BYTE = ir.IntType(8).as_pointer()


# --- The words of LLVM and CPython. ---


@intrinsic
def address_of(typingctx, pointer):
    """Return an address as a number."""

    def codegen(context, builder, signature, args):
        return builder.ptrtoint(args[0], _WORD)

    return nb.types.int64(pointer), codegen


@intrinsic
def pointer_to(typingctx, address):
    """Return the address of integers that a number stands for."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], _WORD.as_pointer())

    return nb.types.CPointer(nb.types.int64)(address), codegen


@intrinsic
def _add(typingctx, word, number):
    """Add to the word at an address, atomically, and return what it was."""

    def codegen(context, builder, signature, args):
        return builder.atomic_rmw("add", args[0], args[1], "seq_cst")

    return nb.types.int64(word, nb.types.int64), codegen


@intrinsic
def _look(typingctx, word):
    """Return the word at an address, and with it all that was written before it."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(args[0], "seq_cst", 8)

    return nb.types.int64(word), codegen


@intrinsic
def _pause(typingctx):
    """Let a moment pass, in which the core works for others; how long that is depends on the processor."""

    def codegen(context, builder, signature, args):
        triple, number = builder.module.triple, ir.IntType(32)
        if triple.startswith(("x86_64", "i686")):
            builder.call(_declare(builder, "llvm.x86.sse2.pause", ir.VoidType()), [])
        elif triple.startswith(("aarch64", "arm64")):
            builder.call(_declare(builder, "llvm.aarch64.hint", ir.VoidType(), number), [number(1)])
        return context.get_dummy_value()

    return nb.types.none(), codegen


@intrinsic
def _swap(typingctx, word, expected, number):
    """Write a word if it is what was expected, atomically, and return whether it was."""

    def codegen(context, builder, signature, args):
        found = builder.cmpxchg(args[0], args[1], args[2], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return nb.types.boolean(word, nb.types.int64, nb.types.int64), codegen


@intrinsic
def _call(typingctx, function, argument, number):
    """Call a function by its address, with that of what it is given and the number of a task."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(ir.VoidType(), [_BYTE, _WORD])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [builder.inttoptr(args[1], _BYTE), args[2]])
        return context.get_dummy_value()

    return nb.types.none(nb.types.int64, nb.types.int64, nb.types.int64), codegen


def _declare(builder, name, result, *arguments):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


@intrinsic
def _make_lock(typingctx):
    """Return the address of a new lock of CPython's, which needs none of CPython itself."""

    def codegen(context, builder, signature, args):
        return builder.ptrtoint(builder.call(_declare(builder, "PyThread_allocate_lock", _BYTE), []), _WORD)

    return nb.types.int64(), codegen


@intrinsic
def _acquire(typingctx, lock):
    """Take a lock, and sleep until it is free."""

    def codegen(context, builder, signature, args):
        number = ir.IntType(32)
        function = _declare(builder, "PyThread_acquire_lock", number, _BYTE, number)
        builder.call(function, [builder.inttoptr(args[0], _BYTE), number(1)])
        return context.get_dummy_value()

    return nb.types.none(nb.types.int64), codegen


@intrinsic
def _release(typingctx, lock):
    """Free a lock, and wake who sleeps on it."""

    def codegen(context, builder, signature, args):
        function = _declare(builder, "PyThread_release_lock", ir.VoidType(), _BYTE)
        builder.call(function, [builder.inttoptr(args[0], _BYTE)])
        return context.get_dummy_value()

    return nb.types.none(nb.types.int64), codegen


# --- Helpers. ---


@nb.njit(nogil=True)
def _wake(words, count):
    """Wake so many helpers of those that sleep."""
    for number in range(words[HELPERS]):
        if count <= 0:
            return
        helper = shift(words, FIRST + number * HELPER)
        if _look(helper) == ASLEEP and _swap(helper, ASLEEP, AWAKE):
            _release(helper[HELPER_LOCK])
            count -= 1


@nb.njit(nogil=True)
def _count_wanted(words, slot):
    """Return how many helpers a slot may have: every thread that computes for somebody else takes a core too."""
    return min(slot[THREADS] - _look(shift(words, CALLERS)), slot[COUNT] - 1)


@nb.njit(nogil=True)
def _enter(words, slot):
    """Return whether this helper is inside a slot now: if it is open, and there is anything left to do."""
    while True:
        state = _look(shift(slot, STATE))
        if not state & OPEN or state & INSIDE >= _count_wanted(words, slot):
            return False
        if _look(shift(slot, TAKEN)) >= slot[COUNT]:
            return False
        if _swap(shift(slot, STATE), state, state + 1):
            return True


@nb.njit(nogil=True)
def _is_too_many(words, slot):
    """Return whether this helper has left a slot, because others came who compute."""
    state = _look(shift(slot, STATE))
    # what is closed is left to its end, for somebody may sleep until then
    return state & OPEN and state & INSIDE > _count_wanted(words, slot) and _swap(shift(slot, STATE), state, state - 1)


@nb.njit(nogil=True)
def _help(words, slot):
    """Take the tasks of a slot that this helper is inside of, and leave it."""
    if _look(shift(slot, STATE)) & INSIDE < _count_wanted(words, slot):
        _wake(words, CALLS)
    while True:
        number = _add(shift(slot, TAKEN), 1)
        if number >= slot[COUNT]:
            break
        _call(slot[FUNCTION], slot[ARGUMENT], number)
        if _is_too_many(words, slot):
            return
    state = _add(shift(slot, STATE), -1) - 1
    if state & SLEEPER and not state & INSIDE:
        _release(slot[LOCK])


@nb.njit(nogil=True)
def _take_errand(words):
    """Return whether there was work in Python that nobody else had taken."""
    errands = shift(words, ERRANDS)
    while True:
        count = _look(errands)
        if count <= 0:
            return False
        if _swap(errands, count, count - 1):
            return True


@nb.njit(nogil=True)
def _has_news(words, posts):
    """Return whether anything was posted since, after a bounded wait."""
    for _ in range(words[LOOKS]):
        if _look(shift(words, POSTS)) != posts:
            return True
        _pause()
    return False


@stored(nogil=True)
def serve(board, number):
    """Be a helper: take tasks, and sleep between them. Returns when there is work for it in Python."""
    words = data(board)
    own = shift(words, FIRST + number * HELPER)
    if own[HELPER_LOCK] == 0:
        own[HELPER_LOCK] = _make_lock()
        _acquire(own[HELPER_LOCK])
    while True:
        posts = _look(shift(words, POSTS))
        for k in range(SLOTS):
            slot = shift(words, FREE + k * SLOT)
            if _enter(words, slot):
                _help(words, slot)
        if _take_errand(words):
            return
        if _has_news(words, posts):
            continue
        _swap(own, AWAKE, ASLEEP)
        # whoever posts afterwards finds it asleep; before, it finds that out here
        if _look(shift(words, POSTS)) != posts and _swap(own, ASLEEP, AWAKE):
            continue
        _acquire(own[HELPER_LOCK])


@stored(nogil=True)
def look_often(board, count):
    """Wait for news that there are not, so that it can be measured how long so many looks take."""
    words = data(board)
    posts = _look(shift(words, POSTS))
    found = 0
    for _ in range(count):
        found += _look(shift(words, POSTS)) != posts
        _pause()
    return found


# --- Callers. ---


@stored(nogil=True)
def post_errand(board):
    """Ask for a helper that leaves `serve`."""
    words = data(board)
    _add(shift(words, ERRANDS), 1)
    _add(shift(words, POSTS), 1)
    _wake(words, 1)


@nb.njit(nogil=True)
def _open_slot(words, function, argument, count, threads):
    """Return the number of a slot in which helpers find these tasks, or -1 if all are taken."""
    for k in range(SLOTS):
        slot = shift(words, FREE + k * SLOT)
        if _look(shift(slot, STATE)) == 0 and _swap(shift(slot, STATE), 0, OWNED):
            slot[FUNCTION], slot[ARGUMENT], slot[COUNT], slot[THREADS] = function, argument, count, threads
            _add(shift(slot, TAKEN), -_look(shift(slot, TAKEN)))
            _add(shift(slot, STATE), OPEN)
            _add(shift(words, POSTS), 1)
            return k
    return -1


@nb.njit(nogil=True)
def _close_slot(words, slot):
    """Let nobody in any more, and wait for who is inside."""
    word = shift(slot, STATE)
    _add(word, -OPEN)
    looks = words[LOOKS]
    while _look(word) & INSIDE and looks > 0:
        looks -= 1
        _pause()
    if _look(word) & INSIDE:
        _sleep(slot)
    _add(word, -_look(word))


@nb.njit(nogil=True)
def _sleep(slot):
    """Sleep until nobody is inside a slot that is closed."""
    if slot[LOCK] == 0:
        slot[LOCK] = _make_lock()
        _acquire(slot[LOCK])
    word = shift(slot, STATE)
    state = _look(word)
    while state & INSIDE:
        if _swap(word, state, state | SLEEPER):
            _acquire(slot[LOCK])
            return
        state = _look(word)


@nb.njit(nogil=True)
def share(board, function, argument, count, threads):
    """Call a function for the numbers of all tasks, in this thread and those helpers who come in time.

    Parameters
    ----------
    board : ndarray of int64
        Of the pool.
    function : int
        The address of a function that is given `argument` and a number.
    argument : pointer
        To whatever it needs.
    count : int
        How many tasks there are.
    threads : int
        How many threads there should be, this one and those of other callers included.
    """
    words = data(board)
    callers = _add(shift(words, CALLERS), 1) + 1
    wanted = min(threads - callers, count - 1)
    k = _open_slot(words, function, address_of(argument), count, threads) if wanted > 0 else -1
    if k < 0:
        for number in range(count):
            _call(function, address_of(argument), number)
    else:
        slot = shift(words, FREE + k * SLOT)
        _wake(words, min(wanted, CALLS))
        while True:
            number = _add(shift(slot, TAKEN), 1)
            if number >= count:
                break
            _call(function, address_of(argument), number)
        _close_slot(words, slot)
    _add(shift(words, CALLERS), -1)
