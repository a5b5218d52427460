"""Golden record: what the package computes and offers, written at one commit and compared at another.

    python golden/record.py write DIRECTORY [PART ...]      in the checkout whose behaviour is to be kept
    python golden/record.py compare DIRECTORY [PART ...]    in the checkout that is being changed

A part is a module beside this file with a function `record()`, which returns arrays or texts by name, and a number
`TOLERANCE`: the largest difference, relative to the largest entry, that is not a change. Both calls run under
`./with_ros2`. The record serves the move to the new layout and leaves with it.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "test")]


def parts(names):
    """Modules of the named parts, of all parts without names."""
    found = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "record")
    unknown = set(names) - set(found)
    if unknown:
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are {', '.join(found)}")
    return [importlib.import_module(name) for name in names or found]


def difference(new, old):
    """Largest difference relative to the largest entry; infinite if shapes, texts or NaN differ."""
    new, old = np.asarray(new), np.asarray(old)
    if new.shape != old.shape or new.dtype.kind != old.dtype.kind:
        return np.inf
    if old.dtype.kind not in "fiub":
        return 0.0 if np.array_equal(new, old) else np.inf
    if not np.array_equal(np.isnan(new.astype(float)), np.isnan(old.astype(float))):
        return np.inf
    largest = np.nanmax(np.abs(old.astype(float)), initial=1e-300)
    return float(np.nanmax(np.abs(new.astype(float) - old), initial=0.0) / largest)


def main():
    """Write or compare the parts that the command line names."""
    if len(sys.argv) < 3 or sys.argv[1] not in ("write", "compare"):
        sys.exit(__doc__)
    directory, failed = Path(sys.argv[2]), False
    directory.mkdir(parents=True, exist_ok=True)
    for part in parts(sys.argv[3:]):
        file, values = directory / f"{part.__name__}.npz", part.record()
        if sys.argv[1] == "write":
            np.savez_compressed(file, **values)
            print(f"{part.__name__}: {len(values)} entries written to {file}")
            continue
        old = np.load(file)
        errors = {name: difference(values[name], old[name]) if name in values else np.inf for name in old.files}
        wrong = {name: error for name, error in errors.items() if not error <= part.TOLERANCE}
        more = sorted(set(values) - set(old.files))
        print(
            f"{part.__name__}: {len(errors)} entries, {len(wrong)} differ, by {max(errors.values()):.1e} at most",
            *more,
        )
        for name, error in sorted(wrong.items(), key=lambda each: -each[1])[:20]:
            print(f"  {name}: {error:.1e}")
            if np.asarray(old[name]).dtype.kind == "U":
                before, now = set(old[name].tolist()), set(np.asarray(values.get(name, [])).tolist())
                print(*(f"    - {line}" for line in sorted(before - now)), sep="\n")
                print(*(f"    + {line}" for line in sorted(now - before)), sep="\n")
        failed |= bool(wrong)
    sys.exit(failed)


if __name__ == "__main__":
    main()
