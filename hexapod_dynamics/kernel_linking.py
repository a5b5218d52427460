"""Links the compiled functions that Python calls into one shared library, which needs no compiler to be used.

A kernel's builtin tries the signatures that were recorded, one after the other; arguments that fit none of them go to
numba. It releases the interpreter's lock while a kernel computes, as numba's dispatcher does.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hexapod_dynamics import code_cache, kernel_library, shared_library
from hexapod_dynamics.compiled import OPTIONS, LateKernel
from hexapod_dynamics.compiler import BUILTIN
from hexapod_dynamics.kernel_bridge import BYTE, WORD, Bridge, returned, taken


def _builtin_of(kernel: LateKernel, signatures: list[tuple[Any, ...]]) -> Any:
    """Compiled function of (bound object, arguments, count) that tries the signatures."""
    callee = types.Dispatcher(kernel.made)

    @intrinsic
    def attempt(typing_context: Any, bound: Any, arguments: Any, count: Any) -> Any:
        resolved = [typing_context.resolve_function_type(callee, signature, {}) for signature in signatures]

        def generate(context: Any, builder: Any, _: Any, values: Any) -> Any:
            bound, items, count = values
            result, end = cgutils.alloca_once(builder, WORD), builder.append_basic_block("end")
            for signature in resolved:
                unfit = builder.append_basic_block("next")
                bridge = Bridge(context, builder, bound, unfit)
                bridge.require(builder.icmp_unsigned("==", count, WORD(len(signature.args))))
                given = [bridge.value(kind, bridge.load(items, 8 * i)) for i, kind in enumerate(signature.args)]
                function = context.get_function(callee, signature)
                context.add_linking_libs(getattr(function, "libs", ()))
                thread = bridge.call("PyEval_SaveThread", WORD)
                computed = function(builder, given)
                bridge.call("PyEval_RestoreThread", ir.VoidType(), thread)
                builder.store(bridge.boxed(signature.return_type, computed), result)
                builder.branch(end)
                builder.position_at_end(unfit)
            bridge = Bridge(context, builder, bound, None)
            builder.store(bridge.passed_on(items, count), result)
            builder.branch(end)
            builder.position_at_end(end)
            return builder.load(result)

        return BUILTIN, generate

    def builtin(bound, arguments, count):  # type: ignore[no-untyped-def]
        return attempt(bound, arguments, count)

    builtin.__name__ = builtin.__qualname__ = kernel.function.__name__
    return numba.njit(builtin, no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)


def _object_of(name: str, function: Any) -> bytes | None:
    """Position-independent object code of a compiled function as the C function `name`; None where it needs numba.

    Functions that allocate do.
    """
    function.compile(BUILTIN)
    (result,) = function.overloads.values()
    # what is in several objects is kept once
    text = result.library.get_llvm_str().replace("define linkonce_odr ", "define linkonce_odr hidden ")
    module = llvm.parse_assembly(text)
    module.link_in(llvm.parse_assembly(str(_c_function(name, result.fndesc))))
    module.verify()
    process = ctypes.CDLL(None)
    needed = [each.name for each in module.functions if each.is_declaration and not each.name.startswith("llvm.")]
    if not all(hasattr(process, symbol) or hasattr(ctypes.pythonapi, symbol) for symbol in needed):
        return None
    return bytes(_target_machine().emit_object(module))


def _c_function(name: str, described: Any) -> ir.Module:
    """Module with a C function around numba's own; where that one raises, which no kernel does, it is a SystemError."""
    convention = numba.core.registry.cpu_target.target_context.call_conv
    module = ir.Module()
    module.triple = llvm.get_process_triple()
    kind = convention.get_function_type(described.restype, described.argtypes)
    inner = ir.Function(module, kind, described.llvm_func_name)
    outer = ir.Function(module, ir.FunctionType(WORD, [WORD] * 3), name)
    builder = ir.IRBuilder(outer.append_basic_block())
    status, result = convention.call_function(builder, inner, described.restype, described.argtypes, outer.args)
    with builder.if_then(status.is_error, likely=False):
        text = ir.Constant(ir.ArrayType(BYTE, len(name) + 8), bytearray(f"{name} raised\0".encode()))
        message = ir.GlobalVariable(module, text.type, "message")
        message.initializer, message.linkage = text, "internal"
        error = ir.GlobalVariable(module, WORD, "PyExc_SystemError")
        raising = ir.Function(module, ir.FunctionType(ir.VoidType(), [WORD, WORD]), "PyErr_SetString")
        builder.call(raising, [builder.load(error), builder.ptrtoint(message, WORD)])
        builder.ret(WORD(0))
    builder.ret(result)
    return module


def _target_machine() -> Any:
    codegen = numba.core.registry.cpu_target.target_context.codegen()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=codegen._get_host_cpu_name(),
        features=codegen._get_host_cpu_features(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )


def link(recorded: Iterable[LateKernel]) -> int:
    """Link what was recorded into the library of this installation; how many functions, 0 where it was there already.

    Functions with types that no builtin takes stay numba's. Without a linker nothing is linked, which is 0 too.
    """
    called = {_name(kernel): kernel for kernel in recorded if kernel.signatures}
    kinds = json.dumps({name: sorted(map(repr, kernel.signatures)) for name, kernel in sorted(called.items())})
    content = {
        "modules": {
            kernel.function.__module__: code_cache.source_digest(kernel.function.__module__) for kernel in recorded
        },
        "signatures": hashlib.sha256(kinds.encode()).hexdigest(),
    }
    if kernel_library.made_from(content):
        return 0
    objects = {}
    for name, kernel in called.items():
        code = _object_of(name, _function_of(kernel)) if _fits(kernel) else None
        if code is None:
            print(f"{name} stays with numba", file=sys.stderr)
        else:
            objects[name] = code
    library = shared_library.linked(list(objects.values()))
    if library is None:
        return 0
    kernel_library.write(library, content | {"functions": list(objects)})
    return len(objects)


def _name(kernel: LateKernel) -> str:
    return f"{kernel.function.__module__}.{kernel.function.__qualname__}"


def _is_entry(kernel: LateKernel) -> bool:
    """Whether a function is of (runtime, arguments, count) itself."""
    return list(kernel.signatures) == [BUILTIN.args]


def _fits(kernel: LateKernel) -> bool:
    """Whether a builtin can be made of a kernel."""
    if _is_entry(kernel):
        return True
    for kinds in kernel.signatures:
        kernel.made.compile(kinds)  # it may have been another overload's code that was run
    results = [kernel.made.overloads[kinds].signature.return_type for kinds in kernel.signatures]
    return all(map(taken, [kind for kinds in kernel.signatures for kind in kinds])) and all(map(returned, results))


def _function_of(kernel: LateKernel) -> Any:
    """A kernel's function of (bound object, arguments, count): itself, if it is an entry."""
    if _is_entry(kernel):
        return numba.njit(kernel.function, no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)
    # more whole numbers first: where both fit, they are what numba would take
    wholes = lambda kinds: -sum(isinstance(kind, types.Integer) for kind in kinds)  # noqa: E731
    return _builtin_of(kernel, sorted(kernel.signatures, key=wholes))
