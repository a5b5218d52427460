"""Messages and services are loaded one by one, when they are first used: a command needs few of them.

The package of interfaces `sensor_msgs.msg` loads all its messages, and each message the generators of code (lark, em)
for one function: two fifths of the processor time of `ros2 topic echo --once`.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys

_LINE = re.compile(r"from (\S+) import (\w+)  # noqa: F401")


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a package of interfaces whose `__init__` only imports; another one as always."""

    def exec_module(self, module):
        """Let the module import a name when it is asked for it."""
        lines = [_LINE.fullmatch(line) for line in self.get_source(self.name).splitlines()]
        if not all(lines):
            return super().exec_module(module)
        homes = {line[2]: line[1] for line in lines}

        def __getattr__(name):
            if name not in homes:
                raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
            found = getattr(importlib.import_module(homes[name]), name)
            setattr(module, name, found)
            return found

        module.__getattr__ = __getattr__
        return None


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the packages `NAME.msg`, `NAME.srv` and `NAME.action`."""

    def find_spec(self, name, path, target=None):
        """Return the spec of such a package, None for everything else."""
        if path is None or name.partition(".")[2] not in ("msg", "srv", "action"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and (spec.origin or "").endswith("__init__.py"):
            spec.loader = _Loader(name, spec.origin)
        return spec


def load_interfaces_when_used():
    """Load interfaces one by one from now on, without the generators of code."""
    name = "rosidl_generator_py"
    spec = importlib.util.find_spec(name)
    if spec is None or name in sys.modules:
        return
    sys.meta_path.insert(0, _Finder())
    package = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        package.import_type_support = importlib.import_module(f"{name}.import_type_support_impl").import_type_support
    except (ImportError, AttributeError):  # another release: its package as it is
        del sys.modules[name]
