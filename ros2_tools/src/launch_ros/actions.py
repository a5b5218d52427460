"""Actions that know ROS: a node, and what holds for all nodes that follow in the same scope (a GroupAction ends it)."""

import pathlib
import re
import tempfile
from collections import Counter

import yaml
from launch.actions import ExecuteProcess
from launch.entities import Action
from launch.logging import get_logger
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from ros2_tools.errors import not_covered

from .parameter_descriptions import (
    ParameterFile,
    evaluate_parameters,
    evaluate_parameters_dict,
    normalize_parameters,
    normalize_parameters_dict,
)
from .substitutions import ExecutableInPackage


def prefix_namespace(base_ns, ns):
    """Return `ns`, below `base_ns` unless it is absolute; either may be None, and so may be the result."""
    if ns is None:
        combined = base_ns
    elif not base_ns or ns.startswith("/"):
        combined = ns
    else:
        combined = f"{'' if base_ns == '/' else base_ns}/{ns}"
    return combined if combined is None or combined == "/" else combined.rstrip("/")


def absolute_namespace(base_ns, ns):
    """Return `prefix_namespace` beginning at the root, None if both are; ValueError if it breaks the rules of names."""
    namespace = prefix_namespace(base_ns, ns)
    if namespace is None:
        return None
    namespace = namespace if namespace.startswith("/") else f"/{namespace}"
    if namespace != "/" and not re.fullmatch(r"(/[A-Za-z_][A-Za-z0-9_]*)+", namespace):
        raise ValueError(
            f"Invalid namespace '{namespace}': it must be / or names of letters, digits and underscores, none "
            "beginning with a digit, each after a /"
        )
    return namespace


def check_node_name(node_name):
    """Raise ValueError unless this is a node's name."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", node_name):
        raise ValueError(
            f"Invalid node name '{node_name}': it must be of letters, digits and underscores, not beginning with a "
            "digit"
        )


def normalize_remap_rule(remapping):
    """Return (from, to) as lists of substitutions; TypeError unless the rule is a pair."""
    if not isinstance(remapping, (tuple, list)) or len(remapping) != 2:
        raise TypeError(f"Expected a remapping as (from, to), got {remapping!r}")
    return tuple(normalize_to_list_of_substitutions(name) for name in remapping)


class Node(ExecuteProcess):
    """Runs a program of a package as a node; further keyword arguments are those of ExecuteProcess."""

    def __init__(
        self,
        *,
        executable,
        package=None,
        name=None,
        namespace=None,
        exec_name=None,
        parameters=None,
        remappings=None,
        ros_arguments=None,
        arguments=None,
        **kwargs,
    ):
        """Describe the node.

        :param executable: the program's name in the package, or its path without a package
        :param name: the node's name; by default the one that the program gives
        :param namespace: its namespace, below those of PushRosNamespace unless it begins with /
        :param exec_name: the name in the launch's output; by default the program's
        :param parameters: a list of paths of parameter files, ParameterFile, and dicts {name: value} whose values are
            scalars, lists, dicts, substitutions (read by YAML's rules) and ParameterValue; the last counts
        :param remappings: pairs (from, to)
        :param ros_arguments: a list of arguments after --ros-args
        :param arguments: a list of arguments of the program
        """
        program = executable if package is None else ExecutableInPackage(package=package, executable=executable)
        cmd = [program, *(arguments or [])]
        if ros_arguments is not None:
            cmd += ["--ros-args", *ros_arguments]
        if parameters is not None and not isinstance(parameters, list):
            raise TypeError(f"Node expected 'parameters' to be a list, but got '{parameters}'")
        super().__init__(cmd=[*cmd, "--ros-args"], name=exec_name, **kwargs)
        self._about = f"package={package}, executable={executable}, name={name}, namespace={namespace}"
        self._name = None if name is None else normalize_to_list_of_substitutions(name)
        self._namespace = None if namespace is None else normalize_to_list_of_substitutions(namespace)
        self._parameters = normalize_parameters(parameters or [])
        self._remappings = [normalize_remap_rule(rule) for rule in remappings or []]
        self._full_name = None  # with both name and namespace given
        self._temporary_files = []

    def execute(self, context):
        """Run it; whatever is wrong with its names, parameters or remappings is raised."""
        self._add(self._names(context))
        self._add(self._global_parameters(context))
        self._add(self._own_parameters(context))
        self._add(self._remaps(context))
        below = super().execute(context)
        if self.get_asyncio_future() is not None:
            self.get_asyncio_future().add_done_callback(lambda _: self._clean_up())
        if self._full_name is not None:
            self._warn_if_taken(context)
        return below

    def _add(self, arguments):
        self._parts.extend(normalize_to_list_of_substitutions(each) for each in arguments)

    def _names(self, context):
        arguments, name = [], None
        try:
            if self._name is not None:
                name = perform_substitutions(context, self._name)
                check_node_name(name)
                arguments += ["-r", f"__node:={name}"]
            namespace = None if self._namespace is None else perform_substitutions(context, self._namespace)
            namespace = absolute_namespace(context.launch_configurations.get("ros_namespace"), namespace)
            if namespace is not None:
                arguments += ["-r", f"__ns:={namespace}"]
        except Exception:
            get_logger(__name__).error(
                f"Error while expanding or validating node name or namespace for '{self._about}':"
            )
            raise
        if name is not None and namespace is not None:
            self._full_name = prefix_namespace(namespace, name)
        return arguments

    def _global_parameters(self, context):
        for name, value in context.launch_configurations.get("global_params", []):
            yield from ("-p", f"{name}:={tuple(value) if isinstance(value, list) else value}")  # as Humble writes it

    def _own_parameters(self, context):
        for item in evaluate_parameters(context, self._parameters):
            path = self._written(item) if isinstance(item, dict) else str(item)
            if pathlib.Path(path).is_file():
                yield from ("--params-file", path)
            else:
                get_logger("launch_ros.actions.node").warning(f"Parameter file path is not a file: {path}")

    def _written(self, parameters):
        with tempfile.NamedTemporaryFile("w", prefix="launch_params_", delete=False, encoding="utf-8") as file:
            yaml.safe_dump({self._full_name or "/**": {"ros__parameters": parameters}}, file, default_flow_style=False)
        self._temporary_files.append(file.name)
        return file.name

    def _clean_up(self):
        for path in self._temporary_files:
            pathlib.Path(path).unlink(missing_ok=True)
        for item in self._parameters:
            if isinstance(item, ParameterFile):
                item.cleanup()

    def _remaps(self, context):
        own = [tuple(perform_substitutions(context, name) for name in rule) for rule in self._remappings]
        for src, dst in [*context.launch_configurations.get("ros_remaps", []), *own]:
            yield from ("-r", f"{src}:={dst}")

    def _warn_if_taken(self, context):
        names = context.get_locals_as_dict().get("unique_ros_node_names")
        if names is None:
            names = Counter()
            context.extend_globals({"unique_ros_node_names": names})
        names[self._full_name] += 1
        if names[self._full_name] > 1:
            get_logger(self.name).warning(
                f"there are now at least {names[self._full_name]} nodes with the name "
                f"{self._full_name} created within this launch context"
            )


def _append(context, name, items):
    # A new list each time, so that the end of a scope brings the old one back.
    context.launch_configurations[name] = [*context.launch_configurations.get(name, []), *items]


class PushRosNamespace(Action):
    """Puts a namespace before those of the nodes that follow."""

    def __init__(self, namespace, **kwargs):
        super().__init__(**kwargs)
        self._namespace = normalize_to_list_of_substitutions(namespace)

    def execute(self, context):
        """Set it; SubstitutionFailure where the result is no namespace."""
        before = context.launch_configurations.get("ros_namespace")
        pushed = perform_substitutions(context, self._namespace)
        try:
            context.launch_configurations["ros_namespace"] = absolute_namespace(before, pushed)
        except ValueError as error:
            raise SubstitutionFailure(
                f"The resulting namespace is invalid: [previous_namespace='{before}', "
                f"pushed_namespace='{pushed}'], {error}"
            ) from error


class SetParameter(Action):
    """Sets a parameter of the nodes that follow; their own parameters go before."""

    def __init__(self, name, value, **kwargs):
        super().__init__(**kwargs)
        self._parameters = normalize_parameters_dict({tuple(normalize_to_list_of_substitutions(name)): value})

    def execute(self, context):
        """Set it."""
        _append(context, "global_params", evaluate_parameters_dict(context, self._parameters).items())


class SetRemap(Action):
    """Remaps a name in the nodes that follow."""

    def __init__(self, src, dst, **kwargs):
        super().__init__(**kwargs)
        self._rule = normalize_remap_rule((src, dst))

    def execute(self, context):
        """Set it."""
        _append(context, "ros_remaps", [tuple(perform_substitutions(context, name) for name in self._rule)])


__getattr__ = not_covered(__name__, ["Node", "PushRosNamespace", "SetParameter", "SetRemap"])
