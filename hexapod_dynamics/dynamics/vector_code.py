"""A traced program as machine code: every operation on a vector of lanes, one leg in each lane.

The kernel's signature is `void(double *block, double *shared)`. "lane" sections of `block` hold one row of `lanes`
numbers each; "shared" numbers are the same for all lanes; a "sum" output adds the lanes' results up in `shared`.
LLVM (llvmlite, which numba stands on) makes the code; the operations are already minimal, so no pass runs but the code
generator, which contracts products and sums into fused ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir

from hexapod_dynamics.dynamics.tracing import Trace

DOUBLE, INT32, INT64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
FUSE = ("contract",)

# Reduction by multiples of pi/2 in three parts of 33 bits (Cody and Waite), as in fdlibm's rem_pio2, and the minimax
# polynomials of fdlibm's k_sin and k_cos on [-pi/4, pi/4].
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
ROUND = 1.5 * 2.0**52  # adding it leaves the nearest whole number in the low bits


def target_machine(optimise: int, shared: bool = False) -> llvm.TargetMachine:
    """Code generator for this machine's processor; optimise 0 (quick to make) to 3 (quick to run).

    shared: for a shared library, otherwise for this process alone.
    """
    if llvm.llvm_version_info[0] < 20:  # later ones do it by themselves and refuse the call
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    model = {"codemodel": "small", "reloc": "pic"} if shared else {"codemodel": "jitdefault", "jit": True}
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=host_features(), opt=optimise, **model)


@lru_cache(maxsize=1)
def host_features() -> str:
    """Features of the processor, as LLVM writes them."""
    try:
        return llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # not known for this processor: its name has to do
        return ""


def machine() -> str:
    """Processor and its features: code made for one need not run on another."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {host_features()}"


def native_lanes() -> int:
    """Doubles that one of this machine's vector registers holds."""
    features = host_features().split(",")
    if "+avx512f" in features:
        return 8
    return 4 if "+avx" in features else 2


class VectorEmitter:
    """Writes one kernel's instructions."""

    def __init__(self, module: ir.Module, name: str, lanes: int) -> None:
        self.lanes = lanes
        self.vector = ir.VectorType(DOUBLE, lanes) if lanes > 1 else DOUBLE
        self.whole = ir.VectorType(INT64, lanes) if lanes > 1 else INT64
        signature = ir.FunctionType(ir.VoidType(), [DOUBLE.as_pointer(), DOUBLE.as_pointer()])
        function = ir.Function(module, signature, name)
        self.block, self.shared = function.args
        for argument in function.args:
            argument.add_attribute("noalias")
        self.builder = ir.IRBuilder(function.append_basic_block())
        self.sincos: dict[int, tuple] = {}

    def emit(self, trace: Trace) -> None:
        """All instructions of a trace, and its results' stores."""
        values: dict[int, ir.Value] = {}
        for node in trace.program():
            values[node.index] = self.operation(node, [values[argument.index] for argument in node.arguments])
        for section, row, node in trace.outputs:
            self.store(section, row, values[node.index])
        self.builder.ret_void()

    def operation(self, node: Any, arguments: Any) -> Any:
        """One operation of the trace."""
        builder = self.builder
        if node.operation == "constant":
            return self.splat(node.value)
        if node.operation == "read":
            return self.load(*node.value)
        if node.operation in ("sin", "cos"):
            source = node.arguments[0].index
            if source not in self.sincos:
                self.sincos[source] = self.sine_cosine(arguments[0])
            return self.sincos[source][0 if node.operation == "sin" else 1]
        if node.operation == "neg":
            return builder.fneg(arguments[0])
        make = {"add": builder.fadd, "sub": builder.fsub, "mul": builder.fmul, "div": builder.fdiv}[node.operation]
        return make(*arguments, flags=FUSE)

    def splat(self, value: float) -> Any:
        """A constant in every lane."""
        return ir.Constant(self.vector, [value] * self.lanes if self.lanes > 1 else value)

    def splat_whole(self, value: int) -> Any:
        """An integer constant in every lane."""
        return ir.Constant(self.whole, [value] * self.lanes if self.lanes > 1 else value)

    def load(self, section: str, row: int) -> Any:
        """A row of lanes, or a shared number in every lane."""
        builder = self.builder
        if section == "lane":
            address = builder.gep(self.block, [INT64(row * self.lanes)])
            if self.lanes > 1:
                address = builder.bitcast(address, self.vector.as_pointer())
            return self._aligned_load(address)
        number = self._aligned_load(builder.gep(self.shared, [INT64(row)]))
        return self.broadcast(number)

    def _aligned_load(self, address: Any) -> Any:
        return self.builder.load(address, align=8)  # numpy promises no more than a double's alignment

    def broadcast(self, number: Any) -> Any:
        """One number in every lane."""
        if self.lanes == 1:
            return number
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(undefined, number, INT32(0))
        mask = ir.Constant(ir.VectorType(INT32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, undefined, mask)

    def store(self, section: str, row: int, value: Any) -> None:
        """A result's store."""
        builder = self.builder
        if section == "lane":
            address = builder.gep(self.block, [INT64(row * self.lanes)])
            if self.lanes > 1:
                address = builder.bitcast(address, self.vector.as_pointer())
            builder.store(value, address, align=8)
            return
        address = builder.gep(self.shared, [INT64(row)])
        if section == "sum":
            value = builder.fadd(builder.load(address, align=8), self.lane_sum(value), flags=FUSE)
        builder.store(value, address, align=8)

    def lane_sum(self, value: Any) -> Any:
        """Sum over the lanes, in halves."""
        width = self.lanes
        while width > 1:
            half = width // 2
            undefined = ir.Constant(value.type, ir.Undefined)
            kind = ir.VectorType(INT32, half)
            low = self.builder.shuffle_vector(value, undefined, ir.Constant(kind, list(range(half))))
            high = self.builder.shuffle_vector(value, undefined, ir.Constant(kind, list(range(half, width))))
            value = self.builder.fadd(low, high)
            width = half
        return self.builder.extract_element(value, INT32(0)) if self.lanes > 1 else value

    def sine_cosine(self, angle: float) -> tuple[Any, ...]:
        """Sine and cosine to about one unit in the last place of the angle's own rounding."""
        b = self.builder
        # the rounding trick must not be fused with what follows, so no flags on these three
        rounded = b.fadd(b.fmul(angle, self.splat(2.0 / math.pi)), self.splat(ROUND))
        quadrant = b.bitcast(rounded, self.whole)
        turns = b.fsub(rounded, self.splat(ROUND))
        r = angle
        for part in HALF_PI:
            r = b.fsub(r, b.fmul(turns, self.splat(part), flags=FUSE), flags=FUSE)
        r2 = b.fmul(r, r, flags=FUSE)
        sine = b.fadd(r, b.fmul(b.fmul(r, r2, flags=FUSE), self.polynomial(SINE, r2), flags=FUSE), flags=FUSE)
        tail = b.fmul(b.fmul(r2, r2, flags=FUSE), self.polynomial(COSINE, r2), flags=FUSE)
        cosine = b.fadd(b.fsub(self.splat(1.0), b.fmul(self.splat(0.5), r2, flags=FUSE), flags=FUSE), tail, flags=FUSE)
        one = self.splat_whole(1)
        odd = b.icmp_unsigned("!=", b.and_(quadrant, one), self.splat_whole(0))
        sign_bit = self.splat_whole(-(2**63))
        shift = self.splat_whole(62)
        sine_sign = b.and_(b.shl(quadrant, shift), sign_bit)
        cosine_sign = b.and_(b.shl(b.add(quadrant, one), shift), sign_bit)
        results = []
        for value, sign in (
            (b.select(odd, cosine, sine), sine_sign),
            (b.select(odd, sine, cosine), cosine_sign),
        ):
            results.append(b.bitcast(b.xor(b.bitcast(value, self.whole), sign), self.vector))
        return tuple(results)

    def polynomial(self, coefficients: Any, x: Any) -> Any:
        """Horner's scheme, lowest coefficient first."""
        value = self.splat(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = self.builder.fadd(self.builder.fmul(value, x, flags=FUSE), self.splat(coefficient), flags=FUSE)
        return value


def emit_object(
    kernels: dict[str, tuple[Trace, int]],
    optimise: int = 3,
    emitter: Callable[[ir.Module, str, int], VectorEmitter] = VectorEmitter,
    more: Callable[[ir.Module], None] | None = None,
    shared: bool = False,
) -> bytes:
    """Object code of kernels given as {name: (trace, lanes)}, written by emitter(module, name, lanes).

    more(module) writes further functions.
    """
    module = ir.Module(name="hexapod_dynamics_kernels")
    module.triple = llvm.get_process_triple()
    for name, (trace, lanes) in kernels.items():
        emitter(module, name, lanes).emit(trace)
    if more is not None:
        more(module)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    return bytes(target_machine(optimise, shared).emit_object(parsed))


class LoadedObject:
    """Object code in memory; keep it as long as its functions may be called."""

    def __init__(self, code: bytes) -> None:
        module = llvm.parse_assembly("")
        module.triple = llvm.get_process_triple()
        self._engine = llvm.create_mcjit_compiler(module, target_machine(3))  # which takes it over
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Address of a kernel."""
        address = self._engine.get_function_address(name)
        if not address:
            raise RuntimeError(f"kernel {name} is not in the object file")
        return address
