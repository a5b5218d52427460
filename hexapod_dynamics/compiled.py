"""Compiled code kept on disk between runs: in $HEXAPOD_DYNAMICS_CACHE, else $XDG_CACHE_HOME/hexapod_dynamics.

The key of an entry is a digest of its sources and of the versions of the compilers, so an upgrade uses no old entry.
Files are created by atomic renaming, so several processes may start at once; each contains a digest, so a corrupted
file is compiled again instead of executed. Entries that another user could have written are not read, because their
content is executed. If the directory cannot be written or trusted, the code is compiled at every start.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import pickle
import platform
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.serialize import dumps

from hexapod_dynamics.compile_notice import announce
from hexapod_dynamics.runtime_directory import WRITABLE_BY_OTHERS, reason_for_distrust

DIGEST_SIZE = 32
PACKAGE = Path(__file__).resolve().parent


def cache_directory() -> Path:
    """Directory of compiled code; it need not exist."""
    chosen = os.environ.get("HEXAPOD_DYNAMICS_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "hexapod_dynamics"


@cache
def toolchain() -> str:
    """Versions and machine that determine the compiled code, besides the sources."""
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

    Compiled code contains its callees and the values of globals, whose changes numba's own cache does not detect.
    Modules imported by importlib.import_module are not found.
    """
    digest = hashlib.sha256(toolchain().encode())
    for path, content in sorted(_sources(module).items()):
        digest.update(path.encode() + content)
    return digest.hexdigest()[:24]


def _sources(module: str) -> dict[str, bytes]:
    """Digests of the files that determine the code of `module`, by their paths in the package.

    Parsing 170 kB of sources takes more than 0.2 s, so the imports of each file are stored with its digest.
    """
    index = _entry("imports", hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:24]) / "index.json"
    known = json.loads(read_entry(index) or b"{}")
    found: dict[str, bytes] = {}
    pending, changed = [module], False
    while pending:
        file = _file_of(pending.pop())
        if file is None:
            continue
        path = file.relative_to(PACKAGE).as_posix()
        if path in found:
            continue
        text = file.read_bytes()
        found[path] = hashlib.sha256(text).digest()
        record = known.get(path)
        if record is None or record[0] != found[path].hex():
            record = known[path] = [found[path].hex(), sorted(imported_modules(text, _package_of(file)))]
            changed = True
        pending.extend(record[1])
    if changed:
        write_entry(index, json.dumps(known).encode())
    return found


def _file_of(module: str) -> Path | None:
    base = PACKAGE.parent.joinpath(*module.split("."))
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)


def _package_of(file: Path) -> str:
    return ".".join(file.parent.relative_to(PACKAGE.parent).parts)


def imported_modules(source: bytes | str, package: str) -> set[str]:
    """Names of this package's modules that the source of a module in `package` imports, in whatever form.

    `from x import y` gives x.y where that is a module, else x, whose value y then is.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                submodule = f"{origin}.{alias.name}"
                names.add(submodule if _file_of(submodule) else origin)
    return {name for name in names if name.partition(".")[0] == PACKAGE.name}


def entry_directory(module: str) -> Path:
    """Directory of the code compiled from the present sources of a module."""
    return _entry(module.rpartition(".")[2], source_digest(module))


def _entry(family: str, key: str) -> Path:
    return cache_directory() / f"{family}-{key}"


def read_entry(path: Path) -> bytes | None:
    """Content of a cache file, None where it is missing, damaged or could be another user's."""
    try:
        # The opened file itself is checked; a path could be changed to a link in between.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            reason = reason_for_distrust(os.fstat(file.fileno()))
            content = file.read()
        refused = f"{path}: {reason}" if reason else _distrusted(path.parent)
    except OSError:
        return None
    if refused:
        _warn_unusable(refused)
        return None
    digest, data = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    return data if hashlib.sha256(data).digest() == digest else None


def write_entry(path: Path, data: bytes) -> None:
    """Write a cache file atomically; if that fails, the program continues without the cache."""
    try:
        if not path.parent.is_dir():
            _make_directory(path.parent)
            _discard_old(path.parent)
        refused = _distrusted(path.parent)
        if refused:
            _warn_unusable(refused)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        _warn_unusable(str(error))


def _make_directory(directory: Path) -> None:
    """Make a directory of entries and the cache itself, writable for this user only, whatever the umask."""
    top = directory.parent
    top.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.stat(top)
    if status.st_uid == os.geteuid() and status.st_mode & WRITABLE_BY_OTHERS and not status.st_mode & stat.S_ISVTX:
        os.chmod(top, status.st_mode & ~WRITABLE_BY_OTHERS & 0o7777)  # an earlier version made it, with a free umask
    directory.mkdir(mode=0o700, exist_ok=True)


def _distrusted(directory: Path) -> str:
    """Return the directory of an entry that another user could have changed, and why; empty if none.

    The files belong to this user, but somebody with write access to the directory could exchange them.
    """
    for place, status in ((directory, os.lstat(directory)), (directory.parent, os.stat(directory.parent))):
        reason = reason_for_distrust(status) if stat.S_ISDIR(status.st_mode) else "it is no directory"
        if reason:
            return f"{place}: {reason}"
    return ""


def _discard_old(directory: Path) -> None:
    """Remove entries of earlier versions of the module that were not written to for a month."""
    family = directory.name.rpartition("-")[0]
    for sibling in directory.parent.glob(f"{family}-*"):
        if sibling != directory and time.time() - sibling.stat().st_mtime > 30 * 24 * 3600:
            shutil.rmtree(sibling, ignore_errors=True)


@cache
def _warn_unusable(reason: str) -> None:
    print(
        f"hexapod_dynamics: compiled code cannot be kept ({reason}); it is compiled at every start. "
        "Set HEXAPOD_DYNAMICS_CACHE to a directory of your own.",
        file=sys.stderr,
    )


# ---- numba functions -----------------------------------------------------------------------------------------------


class _Locator(_CacheLocator):
    """Names a function for numba's cache machinery; _FunctionFiles writes the files."""

    def __init__(self, py_func: Any) -> None:
        self._py_file = py_func.__code__.co_filename
        self._module = py_func.__module__
        self._name = str(py_func.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        return str(cache_directory())  # the rest is decided when the function is first compiled: see _FunctionFiles

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
        return entry_directory(self._module) / f"{self._name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def load(self, key: Any) -> Any:
        data = read_entry(self._path(key))
        if data is None:
            announce(cache_directory())
            return None
        return pickle.loads(data)

    def save(self, key: Any, data: Any) -> None:
        write_entry(self._path(key), dumps(data))

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]


class _KernelCache(FunctionCache):
    _impl_class = _CacheImpl

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = _FunctionFiles(py_func.__module__, self._impl.filename_base)


# Without numba's runtime: kernels count no references to the arrays of their callers, which takes longer than a small
# kernel does (two atomic operations for each array at each call). They cannot allocate, nor return arrays.
OPTIONS = {"error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba on first use and keep its code in this package's cache.

    For functions at the top level of modules in this package; they may call each other. It releases the interpreter
    lock, so each thread must work on its own memory.
    """
    return _cached(numba.njit(function, nogil=True, **OPTIONS))


def inline_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A `kernel` that machine code has inside its compiled callers: a Workspace is a hundred numbers to hand over."""
    return _cached(numba.njit(function, nogil=True, forceinline=True, **OPTIONS))


def allocating_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A `kernel` that may allocate."""
    return _cached(numba.njit(function, nogil=True, **(OPTIONS | {"_nrt": True})))


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """A `kernel` that is called from Python on shared memory: it keeps the interpreter lock."""
    return _cached(numba.njit(function, **OPTIONS))


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is written into the kernels that call it, and may return an array."""
    return numba.njit(function, inline="always", **OPTIONS)


def _cached(dispatcher: Any) -> Any:
    dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher


# ---- object code ---------------------------------------------------------------------------------------------------


def cached_object(module: str, key: str, make: Callable[[], bytes]) -> bytes:
    """Object code made by `make()` of a module, for a key that contains everything it depends on except the sources."""
    path = entry_directory(module) / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.o"
    code = read_entry(path)
    if code is None:
        announce(cache_directory())
        code = make()
        write_entry(path, code)
    return code
