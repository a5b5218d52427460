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
import platform
import shutil
import stat
import sys
import tempfile
import time
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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
            f"numba-{_version('numba')}",
            f"llvmlite-{_version('llvmlite')}",
            f"numpy-{_version('numpy')}",
            platform.machine(),
        )
    )


def _version(package: str) -> str:
    """Version of an installed package, which is not imported if that can be known without."""
    try:
        return version(package)
    except PackageNotFoundError:  # a distribution's own package without metadata
        return str(import_module(package).__version__)


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


def entry_directory_of(family: str, key: str) -> Path:
    """Directory of code for a key that tells everything it depends on."""
    return _entry(family, hashlib.sha256(key.encode()).hexdigest()[:24])


def installation_directory(family: str) -> Path:
    """Directory of what belongs to this installation and these versions, whatever its sources are."""
    return _entry(family, hashlib.sha256(f"{PACKAGE} {toolchain()}".encode()).hexdigest()[:24])


def _entry(family: str, key: str) -> Path:
    return cache_directory() / f"{family}-{key}"


def read_entry(path: Path) -> bytes | None:
    """Content of a cache file, None where it is missing, damaged or could be another user's."""
    content = _trusted(path)
    if content is None:
        return None
    digest, data = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    return data if hashlib.sha256(data).digest() == digest else None


def _trusted(path: Path) -> bytes | None:
    """All bytes of a file that no other user could have written, else None."""
    try:
        # The opened file itself is checked; a path could be changed to a link in between.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            reason = reason_for_distrust(os.fstat(file.fileno()))
            content = file.read()
        refused = f"{path}: {reason}" if reason else _distrusted(path.parent)
    except OSError:
        return None
    if refused:
        warn_unusable(refused)
        return None
    return content


def write_entry(path: Path, data: bytes) -> None:
    """Write a cache file atomically; if that fails, the program continues without the cache."""
    _write(path, hashlib.sha256(data).digest() + data)


def _write(path: Path, content: bytes) -> None:
    try:
        if not path.parent.is_dir():
            _make_directory(path.parent)
            _discard_old(path.parent)
        refused = _distrusted(path.parent)
        if refused:
            warn_unusable(refused)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        warn_unusable(str(error))


def write_library(path: Path, code: bytes) -> None:
    """Write a shared library atomically; its digest follows it, where no loader looks. Else as `write_entry`."""
    _write(path, code + hashlib.sha256(code).digest())


def library_to_open(path: Path) -> bool:
    """Whether a shared library is there, whole and of this user, so that it may be opened.

    Nobody else can exchange it afterwards: the directories are this user's, too.
    """
    content = _trusted(path)
    return content is not None and hashlib.sha256(content[:-DIGEST_SIZE]).digest() == content[-DIGEST_SIZE:]


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
def warn_unusable(reason: str) -> None:
    """Say once why compiled code cannot be kept or used."""
    print(
        f"hexapod_dynamics: compiled code cannot be kept ({reason}); it is compiled at every start. "
        "Set HEXAPOD_DYNAMICS_CACHE to a directory of your own.",
        file=sys.stderr,
    )
