"""The door of a compiled kernel: a function of CPython in LLVM's words, without Numba at run time.

Numba's own wrapper needs Numba to be loaded, and asks it to take each array apart. This one reads an array where NumPy
keeps it, in a few instructions, checks that it is what the kernel was compiled for, and otherwise does nothing and
returns ``NotImplemented``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as numba_types

__all__ = ["write_entry", "write_pointer"]

#: Numba's types, whose module tells type checkers nothing of them.
types: Any = numba_types

_BYTE = ir.IntType(8)
_INT = ir.IntType(32)
_WORD = ir.IntType(64)
_ADDRESS = _BYTE.as_pointer()

#: Where CPython keeps the type of an object, and the items of a tuple.
_TYPE, _TUPLE_SIZE, _TUPLE_ITEMS = 8, 16, 24

#: Where NumPy keeps what an array is: address, axes, lengths, strides, kind of number and flags.
_DATA, _AXES, _LENGTHS, _STRIDES, _KIND, _FLAGS = 16, 24, 32, 40, 56, 64

#: And within the kind: the order of bytes, and its number.
_ORDER, _NUMBER = 26, 28

_C_CONTIGUOUS, _F_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x2, 0x100, 0x400

#: NumPy's numbers of the kinds that Numba knows by these names.
_NUMBERS = {
    "bool": 0, "int8": 1, "uint8": 2, "int16": 3, "uint16": 4, "int32": 5, "uint32": 6, "int64": 7, "uint64": 8,
    "float16": 23, "float32": 11, "float64": 12, "complex64": 14, "complex128": 15,
}  # fmt: skip


def write_entry(context: Any, module: ir.Module, name: str, kernel: Any, *, is_gathering: bool = False) -> None:
    """Write a function ``name(ndarray, arguments, count)`` that calls a kernel, for ``METH_FASTCALL``.

    Its first argument is the type of arrays, which is not known by any name that a linker could find.

    Parameters
    ----------
    context : CPUContext
        Numba's, of the compiled kernel.
    module : ir.Module
        Where it is written to.
    name : str
        The name by which it is found.
    kernel : CompileResult
        The kernel.
    is_gathering : bool
        Whether its last argument holds the addresses of all arrays that the entry is called with from there on.
    """
    _Entry(context, module, name).write(kernel.fndesc, kernel.signature, is_gathering)


def write_pointer(context: Any, module: ir.Module, name: str, kernel: Any) -> None:
    """Write a function of C that calls a kernel whose arguments are all addresses, and which cannot fail."""
    builder = ir.IRBuilder()
    signature = kernel.signature
    kinds = [context.get_value_type(kind) for kind in signature.args]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    builder.position_at_end(function.append_basic_block("entry"))
    target = context.declare_function(module, kernel.fndesc)
    context.call_conv.call_function(builder, target, signature.return_type, signature.args, function.args)
    builder.ret_void()


class _Entry:
    def __init__(self, context: Any, module: ir.Module, name: str) -> None:
        self._context = context
        self._module = module
        kind = ir.FunctionType(_ADDRESS, [_ADDRESS, _ADDRESS.as_pointer(), _WORD])
        self._function = ir.Function(module, kind, name)
        self._builder = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._mismatch = self._function.append_basic_block("mismatch")
        self._failure = self._function.append_basic_block("failure")

    def write(self, description: Any, signature: Any, is_gathering: bool) -> None:
        builder = self._builder
        array_type, items, count = self._function.args
        self._array_type = array_type
        kinds = signature.args[:-1] if is_gathering else signature.args
        self._demand(builder.icmp_signed(">=" if is_gathering else "==", count, _WORD(len(kinds))))
        values = [self._unpack(kind, self._load_item(items, _WORD(k))) for k, kind in enumerate(kinds)]
        if is_gathering:
            values.append(self._gather(signature.args[-1], items, count, len(kinds)))
        state = self._call("PyEval_SaveThread", _ADDRESS)
        target = self._context.declare_function(self._module, description)
        status, result = self._context.call_conv.call_function(
            builder, target, signature.return_type, signature.args, values
        )
        self._call("PyEval_RestoreThread", ir.VoidType(), state)
        with builder.if_then(status.is_error, likely=False):
            error = builder.load(self._find_global("PyExc_MemoryError"), typ=_ADDRESS)
            text = self._context.insert_const_string(self._module, "a compiled kernel could not get its scratch memory")
            self._call("PyErr_SetString", ir.VoidType(), error, builder.bitcast(text, _ADDRESS))
            builder.branch(self._failure)
        builder.ret(self._pack(signature.return_type, result))
        builder.position_at_end(self._mismatch)
        builder.ret(self._return_constant("_Py_NotImplementedStruct"))
        builder.position_at_end(self._failure)
        builder.ret(_ADDRESS(None))

    # --- What comes in. ---

    def _unpack(self, kind: Any, item: Any) -> Any:
        builder = self._builder
        if isinstance(kind, types.Array):
            return self._unpack_array(kind, item)
        if isinstance(kind, types.BaseTuple):
            self._demand_type(item, self._find_global("PyTuple_Type"))
            self._demand(builder.icmp_signed("==", self._read(item, _TUPLE_SIZE, _WORD), _WORD(len(kind))))
            parts = [
                self._unpack(part, self._read(item, _TUPLE_ITEMS + 8 * k, _ADDRESS)) for k, part in enumerate(kind)
            ]
            return self._context.make_tuple(builder, kind, parts)
        if isinstance(kind, types.Boolean):
            answer = self._call("PyObject_IsTrue", _INT, item)
            self._check(builder.icmp_signed("<", answer, _INT(0)))
            return builder.icmp_signed("!=", answer, _INT(0))
        if isinstance(kind, types.Integer):
            number = self._call("PyLong_AsLongLong", _WORD, item)
            self._check_error(builder.icmp_signed("==", number, _WORD(-1)))
            return self._context.cast(builder, number, types.int64, kind)
        if isinstance(kind, types.Float):
            number = self._call("PyFloat_AsDouble", ir.DoubleType(), item)
            self._check_error(builder.fcmp_ordered("==", number, ir.DoubleType()(-1.0)))
            return self._context.cast(builder, number, types.float64, kind)
        raise TypeError(f"an argument of type {kind} cannot be handed to a kernel that was compiled in advance")

    def _load_item(self, items: Any, k: Any) -> Any:
        return self._builder.load(self._builder.gep(items, [k]), typ=_ADDRESS)

    def _gather(self, kind: Any, items: Any, count: Any, start: int) -> Any:
        """Return an array, on the stack, of the addresses of all arrays from an item on."""
        builder = self._builder
        total = builder.sub(count, _WORD(start))
        addresses = builder.alloca(_WORD, size=total)
        with cgutils.for_range(builder, total) as loop:
            item = self._load_item(items, builder.add(loop.index, _WORD(start)))
            self._demand_type(item, self._array_type)
            flags = builder.and_(self._read(item, _FLAGS, _INT), _INT(_C_CONTIGUOUS | _ALIGNED))
            self._demand(builder.icmp_signed("==", flags, _INT(_C_CONTIGUOUS | _ALIGNED)))
            builder.store(self._read(item, _DATA, _WORD), builder.gep(addresses, [loop.index]))
        return self._make_array(kind, addresses, [total], [_WORD(8)])

    def _unpack_array(self, kind: Any, item: Any) -> Any:
        builder = self._builder
        self._demand_type(item, self._array_type)
        number = self._read(item, _KIND, _ADDRESS)
        self._demand(builder.icmp_signed("==", self._read(number, _NUMBER, _INT), _INT(_NUMBERS[str(kind.dtype)])))
        order = self._read(number, _ORDER, _BYTE)
        self._demand(builder.icmp_signed("!=", order, _BYTE(ord(">"))))
        self._demand(builder.icmp_signed("==", self._read(item, _AXES, _INT), _INT(kind.ndim)))
        wanted = _ALIGNED | {"C": _C_CONTIGUOUS, "F": _F_CONTIGUOUS, "A": 0}[kind.layout]
        wanted |= _WRITEABLE if kind.mutable else 0
        flags = builder.and_(self._read(item, _FLAGS, _INT), _INT(wanted))
        self._demand(builder.icmp_signed("==", flags, _INT(wanted)))
        lengths, strides = self._read(item, _LENGTHS, _ADDRESS), self._read(item, _STRIDES, _ADDRESS)
        shape, steps = ([self._read(table, 8 * k, _WORD) for k in range(kind.ndim)] for table in (lengths, strides))
        return self._make_array(kind, self._read(item, _DATA, _ADDRESS), shape, steps)

    def _make_array(self, kind: Any, address: Any, shape: list[Any], strides: list[Any]) -> Any:
        """Return an array as Numba sees it, which owns nothing."""
        builder = self._builder
        array = self._context.make_array(kind)(self._context, builder)
        items = _WORD(1)
        for length in shape:
            items = builder.mul(items, length)
        array.data = builder.bitcast(address, array.data.type)
        array.nitems = items
        array.itemsize = _WORD(self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype)))
        array.shape = cgutils.pack_array(builder, shape, ty=_WORD)
        array.strides = cgutils.pack_array(builder, strides, ty=_WORD)
        array.meminfo = array.meminfo.type(None)
        array.parent = array.parent.type(None)
        return array._getvalue()

    def _demand(self, condition: Any) -> None:
        """Go on only if it holds; otherwise the arguments are not for this kernel."""
        self._go_on(condition, self._mismatch)

    def _demand_type(self, item: Any, kind: Any) -> None:
        found = self._read(item, _TYPE, _ADDRESS)
        self._demand(self._builder.icmp_unsigned("==", found, self._builder.bitcast(kind, _ADDRESS)))

    def _check(self, is_wrong: Any) -> None:
        self._go_on(self._builder.not_(is_wrong), self._failure)

    def _check_error(self, is_suspicious: Any) -> None:
        """End with the error that was raised, if there is one; only looked for where the number may mean that."""
        with self._builder.if_then(is_suspicious, likely=False):
            error = self._call("PyErr_Occurred", _ADDRESS)
            self._check(self._builder.icmp_unsigned("!=", error, _ADDRESS(None)))

    def _go_on(self, condition: Any, otherwise: Any) -> None:
        then = self._function.append_basic_block()
        self._builder.cbranch(condition, then, otherwise)
        self._builder.position_at_end(then)

    # --- What goes out. ---

    def _pack(self, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.NoneType):
            return self._return_constant("_Py_NoneStruct")
        if isinstance(kind, types.Boolean):
            number = self._builder.zext(value, _WORD)
            return self._call("PyBool_FromLong", _ADDRESS, number)
        if isinstance(kind, types.Integer):
            number = self._context.cast(self._builder, value, kind, types.int64)
            return self._call("PyLong_FromLongLong", _ADDRESS, number)
        if isinstance(kind, types.Float):
            number = self._context.cast(self._builder, value, kind, types.float64)
            return self._call("PyFloat_FromDouble", _ADDRESS, number)
        if isinstance(kind, types.BaseTuple):
            return self._pack_tuple(
                [self._pack(part, self._builder.extract_value(value, k)) for k, part in enumerate(kind)]
            )
        if isinstance(kind, types.Array):
            return self._pack_array(kind, value)
        raise TypeError(f"a result of type {kind} cannot be had from a kernel that was compiled in advance")

    def _pack_array(self, kind: Any, value: Any) -> Any:
        """Return a copy of the numbers and the lengths, as a tuple, and give up the array itself."""
        if kind.layout != "C":
            raise TypeError(f"a result of type {kind} cannot be copied as it is; return it whole, and cut it in Python")
        array = self._context.make_array(kind)(self._context, self._builder, value)
        size = self._builder.mul(array.nitems, array.itemsize)
        data = self._builder.bitcast(array.data, _ADDRESS)
        lengths = cgutils.unpack_tuple(self._builder, array.shape, kind.ndim)
        parts = [self._call("PyByteArray_FromStringAndSize", _ADDRESS, data, size)]
        parts += [self._call("PyLong_FromLongLong", _ADDRESS, length) for length in lengths]
        self._call("subband_release", ir.VoidType(), self._builder.bitcast(array.meminfo, _ADDRESS))
        return self._pack_tuple(parts)

    def _pack_tuple(self, parts: list[Any]) -> Any:
        result = self._call("PyTuple_New", _ADDRESS, _WORD(len(parts)))
        for k, part in enumerate(parts):
            field = self._builder.gep(result, [_WORD(_TUPLE_ITEMS + 8 * k)], source_etype=_BYTE)
            self._builder.store(part, self._builder.bitcast(field, _ADDRESS.as_pointer()))
        return result

    def _return_constant(self, name: str) -> Any:
        constant = self._find_global(name)
        self._call("Py_IncRef", ir.VoidType(), constant)
        return constant

    # --- The words of LLVM. ---

    def _read(self, address: Any, offset: int, kind: Any) -> Any:
        field = self._builder.gep(address, [_WORD(offset)], source_etype=_BYTE)
        return self._builder.load(self._builder.bitcast(field, kind.as_pointer()), typ=kind)

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        return self._builder.call(cgutils.get_or_insert_function(self._module, kind, name), arguments)

    def _find_global(self, name: str) -> Any:
        found = self._module.globals.get(name)
        if found is None:
            found = ir.GlobalVariable(self._module, _ADDRESS, name)
        return self._builder.bitcast(found, _ADDRESS)
