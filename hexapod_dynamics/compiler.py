"""numba, as this package uses it: its dispatchers with our own cache. Nothing imports this before code is compiled."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from hexapod_dynamics import code_cache
from hexapod_dynamics.compile_notice import announce

BUILTIN = types.int64(types.int64, types.int64, types.int64)  # of what Python calls: (bound object, arguments, count)


class _Locator(_CacheLocator):
    """Names a function for numba's cache machinery; _FunctionFiles writes the files."""

    def __init__(self, py_func: Any) -> None:
        self._py_file = py_func.__code__.co_filename
        self._module = py_func.__module__
        self._name = str(py_func.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        # the rest is decided when the function is first compiled: see _FunctionFiles
        return str(code_cache.cache_directory())

    def get_source_stamp(self) -> None:
        return None

    def get_disambiguator(self) -> str:
        return self._name

    @classmethod
    def from_function(cls, py_func: Any, py_file: Any) -> _Locator:
        return cls(py_func)

    def ensure_cache_path(self) -> None:
        """Do nothing: write_entry creates the directory."""


class _FunctionFiles:
    """One file for each compiled signature of a function, instead of numba's index and numbered files."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def _path(self, key: Any) -> Path:
        name = f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        return code_cache.entry_directory(self._module) / name

    def load(self, key: Any) -> Any:
        data = code_cache.read_entry(self._path(key))
        if data is None:
            announce(code_cache.cache_directory())
            return None
        try:
            return pickle.loads(data)
        except Exception as error:  # of whatever is in it
            code_cache.warn_damaged(self._path(key), f"{type(error).__name__}: {error}")
            return None

    def save(self, key: Any, data: Any) -> None:
        code_cache.write_entry(self._path(key), dumps(data))

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _KernelCache(FunctionCache):
    _impl_class = _CacheImpl

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = _FunctionFiles(py_func.__module__, self._impl.filename_base)


def dispatcher(function: Callable[..., Any], kept: bool, options: dict[str, Any]) -> Any:
    """Numba's dispatcher of a function; kept: its code is, in this package's cache."""
    made = numba.njit(function, **options)
    if kept:
        made._cache = _KernelCache(function)
    return made


def type_of(value: Any) -> Any:
    """The numba type of what compiled code names: a dispatcher or an intrinsic."""
    cpu_target.typing_context.refresh()  # an intrinsic may be new, made while something else is compiled
    return cpu_target.typing_context.resolve_value_type(value)


def signature_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The numba types of arguments."""
    return tuple(numba.typeof(argument) for argument in arguments)


def builtin_code(made: Any) -> int:
    """Address of the compiled code of a dispatcher of (runtime, arguments, count)."""
    if not made.signatures:
        made.compile(BUILTIN)
        made.disable_compile()
    (result,) = made.overloads.values()
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name))
