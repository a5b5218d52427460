"""Decorators of compiled functions. Their code comes from a library that was linked before, else from numba.

`ros2 run hexapod_dynamics compile` links what the nodes call into one shared library (kernel_library.py). A process
that finds it, made from the present sources, loads no compiler: less memory, a quicker start, cheaper calls. Where
there is none, and for arguments that the library does not know, numba compiles, and keeps the code (compiler.py).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from hexapod_dynamics import code_cache, kernel_library
from hexapod_dynamics.compile_notice import announce
from hexapod_dynamics.python_builtin import kernel_builtin

# Without numba's runtime: kernels count no references to the arrays of their callers, which takes longer than a small
# kernel does (two atomic operations for each array at each call). They cannot allocate, nor return arrays.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba on first use and keep its code in this package's cache.

    For functions at the top level of modules in this package; they may call each other. It releases the interpreter
    lock, so each thread must work on its own memory.
    """
    return _compiled(function, nogil=True, **OPTIONS)


def plain_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A `kernel` without fused multiply-add: its numbers are those of the same lines compiled by Cython."""
    return _compiled(function, nogil=True, **(OPTIONS | {"fastmath": False}))


def inline_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A `kernel` that machine code has inside its compiled callers: a Workspace is a hundred numbers to hand over."""
    return _compiled(function, nogil=True, forceinline=True, **OPTIONS)


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A `kernel` that is called from Python on shared memory: it keeps the interpreter lock."""
    return _compiled(function, **OPTIONS)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is written into the kernels that call it, and may return an array."""
    return _compiled(function, kept=False, inline="always", **OPTIONS)


class Late:
    """Something of the compiler's that is made when it is first needed."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @functools.cached_property
    def made(self) -> Any:
        """The thing itself: numba's dispatcher or intrinsic."""
        return self._make()

    def __call__(self, *arguments: Any) -> Any:
        """Call it, compiled."""
        return self.made(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes this for, where a function that it compiles names it."""
        from hexapod_dynamics import compiler

        return compiler.type_of(self.made)

    @property
    def targetoptions(self) -> Any:
        """As numba's dispatchers have it: whether the function is to be inlined."""
        return self.made.targetoptions

    @property
    def py_func(self) -> Any:
        """As numba's dispatchers have it: the function of Python."""
        return self.made.py_func


class LateKernel(Late):
    """A function that numba compiles when it is called with what no library knows, or from another one.

    function: of Python. signatures: arguments' types that Python has called it with, while that is recorded.
    """

    def __init__(self, function: Callable[..., Any], make: Callable[[], Any], recording: bool = False) -> None:
        super().__init__(make)
        functools.update_wrapper(self, function)
        self.function, self.recording = function, recording
        self.signatures: dict[tuple[Any, ...], None] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call it, compiled; note the types of the arguments if that is wanted."""
        if self.recording:
            from hexapod_dynamics import compiler

            self.signatures[compiler.signature_of(arguments)] = None
        return self.made(*arguments)


class LoadedKernel(functools.partial):
    """A kernel of the library as a builtin; what its signatures do not fit goes to numba."""

    late: LateKernel

    @property
    def _numba_type_(self) -> Any:
        return self.late._numba_type_

    @property
    def targetoptions(self) -> Any:
        """See `Late`."""
        return self.late.targetoptions

    @property
    def py_func(self) -> Any:
        """See `Late`."""
        return self.late.py_func

    def __reduce__(self) -> Any:
        return self.late.function.__qualname__  # copies and pickles name the module's function


_recorded: list[LateKernel] | None = None


def record() -> list[LateKernel]:
    """From now on note how Python calls the functions of modules imported later; return where they are noted."""
    global _recorded
    _recorded = []
    return _recorded


def _compiled(function: Callable[..., Any], kept: bool = True, **options: Any) -> Any:
    def make() -> Any:
        from hexapod_dynamics import compiler

        return compiler.dispatcher(function, kept, options)

    if _recorded is not None:
        late = LateKernel(function, make, recording=True)
        _recorded.append(late)
        return late
    if not kernel_library.covers(function.__module__):
        return make()
    late = LateKernel(function, make)
    if "nogil" not in options:  # an entry, or inlined: see `builtin_address`
        return late
    address = kernel_library.address(function.__module__, function.__qualname__)
    if address is None:
        return late
    loaded = LoadedKernel(kernel_builtin(function.__name__, address, late))
    loaded.late = late
    functools.update_wrapper(loaded, function)
    return loaded


def builtin_address(function: Any) -> int:
    """Address of the machine code of an `entry` of (runtime, arguments, count), compiled on the first call."""
    if isinstance(function, LateKernel):
        source = function.function
        address = kernel_library.address(source.__module__, source.__qualname__) if not function.recording else None
        if address is not None:
            return address
    from hexapod_dynamics import compiler

    if isinstance(function, LateKernel):
        if function.recording:
            function.signatures[compiler.BUILTIN.args] = None
        function = function.made
    return compiler.builtin_code(function)


def cached_object(module: str, key: str, make: Callable[[], bytes]) -> bytes:
    """Object code made by `make()` of a module, for a key that contains everything it depends on except the sources."""
    path = code_cache.entry_directory(module) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"
    code = code_cache.read_entry(path)
    if code is None:
        announce(code_cache.cache_directory())
        code = make()
        code_cache.write_entry(path, code)
    return code
