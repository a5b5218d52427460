"""Compiled code kept on disk between runs: in $HEXAPOD_DYNAMICS_CACHE, else $XDG_CACHE_HOME/hexapod_dynamics.

Entries are keyed by the content of what they were made from and the versions of what made them, so an upgrade finds
nothing old; files appear by atomic renaming, so two processes may start at once; each carries a digest, so a damaged
one is made again instead of being executed. Where nothing can be written, everything works and is compiled each time.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import re
import shutil
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

DIGEST_SIZE = 32
IMPORT = re.compile(r"^\s*from (hexapod_dynamics[\w.]*) import (\([^)]*\)|[^(\n]+)", re.MULTILINE)


def cache_directory() -> Path:
    """Directory of compiled code; it need not exist."""
    chosen = os.environ.get("HEXAPOD_DYNAMICS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "hexapod_dynamics"


@cache
def toolchain() -> str:
    """What besides the source decides what compiled code looks like."""
    return " ".join(
        (
            f"python-{platform.python_version()}",
            f"numba-{numba.__version__}",
            f"llvmlite-{llvmlite.__version__}",
            f"numpy-{np.__version__}",
            platform.machine(),
        )
    )


@cache
def source_digest(module: str) -> str:
    """Digest of a module's source and of every module of this package that it imports, directly or not.

    Compiled code has its callees and its globals' values inside, and numba's own cache does not see them change.
    """
    digest = hashlib.sha256(toolchain().encode())
    for path in sorted(_imported_files(module)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:24]


def _imported_files(module: str) -> set[Path]:
    package = Path(__file__).resolve().parents[1]
    root = package.parent
    files: set[Path] = set()
    pending = [module]
    while pending:
        name = pending.pop()
        base = root.joinpath(*name.split("."))
        path = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
        if path in files or not path.is_file():
            continue
        files.add(path)
        for source, names in IMPORT.findall(path.read_text(encoding="utf-8")):
            parts = [f"{source}.{name.split()[0]}" for name in names.strip("()").split(",") if name.strip()]
            submodules = [part for part in parts if root.joinpath(*part.split(".")).with_suffix(".py").is_file()]
            pending.extend(submodules)
            if len(submodules) < len(parts):
                pending.append(source)
    return files


def entry_directory(module: str) -> Path:
    """Directory of what was compiled from a module, in its present state."""
    return cache_directory() / f"{module.rpartition('.')[2]}-{source_digest(module)}"


_announced = False


def announce() -> None:
    """Say once, on stderr, that this start takes longer and why."""
    global _announced
    if not _announced:
        _announced = True
        print(
            "hexapod_dynamics: compiling the model for this machine, once, which can take half a minute; kept in "
            f"{cache_directory()}",
            file=sys.stderr,
            flush=True,
        )


def read_entry(path: Path) -> bytes | None:
    """Content of a cache file, None where it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, data = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    return data if hashlib.sha256(data).digest() == digest else None


def write_entry(path: Path, data: bytes) -> None:
    """Write a cache file so that a reader sees all of it or nothing; a cache that cannot be written is done without."""
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            _discard_old(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        _warn_unwritable(str(error))


def _discard_old(directory: Path) -> None:
    """Remove what earlier versions of the same module left and nobody has written to for a month."""
    family = directory.name.rpartition("-")[0]
    for sibling in directory.parent.glob(f"{family}-*"):
        if sibling != directory and time.time() - sibling.stat().st_mtime > 30 * 24 * 3600:
            shutil.rmtree(sibling, ignore_errors=True)


@cache
def _warn_unwritable(reason: str) -> None:
    print(
        f"hexapod_dynamics: compiled code cannot be kept ({reason}); it is compiled at every start. "
        "Set HEXAPOD_DYNAMICS_CACHE to a writable directory.",
        file=sys.stderr,
    )


# ---- numba functions -----------------------------------------------------------------------------------------------


class _Locator(_CacheLocator):
    """Names a function for numba's cache machinery; the files themselves are _FunctionFiles' business."""

    def __init__(self, py_func):
        self._py_file = py_func.__code__.co_filename
        self._module = py_func.__module__
        self._name = str(py_func.__code__.co_firstlineno)

    def get_cache_path(self):
        return str(cache_directory())  # the rest is decided when the function is first compiled: see _FunctionFiles

    def get_source_stamp(self):
        return None

    def get_disambiguator(self):
        return self._name

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)

    def ensure_cache_path(self):
        """Nothing: write_entry makes it, and can do without."""


class _FunctionFiles:
    """One file for each compiled signature of a function, instead of numba's index and numbered files."""

    def __init__(self, module: str, name: str):
        self._module, self._name = module, name

    def _path(self, key) -> Path:
        return entry_directory(self._module) / f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def load(self, key):
        data = read_entry(self._path(key))
        if data is None:
            announce()
            return None
        return pickle.loads(data)

    def save(self, key, data):
        write_entry(self._path(key), dumps(data))

    def flush(self):
        """Nothing is held back."""


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _KernelCache(FunctionCache):
    _impl_class = _CacheImpl

    def __init__(self, py_func):
        super().__init__(py_func)
        self._cache_file = _FunctionFiles(py_func.__module__, self._impl.filename_base)


def kernel(function):
    """Compile a function with numba on first use and keep its code in this package's cache.

    For functions at the top level of modules in this package; they may call each other. Other Python threads run
    meanwhile, so each must have its own memory to work on.
    """
    return _cached(numba.njit(function, nogil=True, **OPTIONS))


def entry(function):
    """A `kernel` to be called from Python on memory that its callers share: it keeps the interpreter's lock."""
    return _cached(numba.njit(function, **OPTIONS))


OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}}


def _cached(dispatcher):
    dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher


# ---- object code ---------------------------------------------------------------------------------------------------


def cached_object(module: str, key: str, make) -> bytes:
    """Object code made by `make()` of a module, for a key that says all it depends on but the sources."""
    path = entry_directory(module) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"
    code = read_entry(path)
    if code is None:
        announce()
        code = make()
        write_entry(path, code)
    return code
