"""Actions that know ROS: a node, and what holds for all nodes that follow in the same scope (a GroupAction ends it)."""

import pathlib
import re
from collections.abc import Mapping
from typing import Any

import yaml
from launch.actions import ExecuteProcess
from launch.entities import Action, Text, action
from launch.logging import get_logger
from launch.substitutions import SubstitutionFailure
from launch.utilities import perform_substitutions

from ros2_tools.errors import not_covered

from .parameter_descriptions import ParameterFile, evaluate_parameters_dict, temporary_file
from .substitutions import ExecutableInPackage


def absolute_namespace(base_ns, ns):
    """Return `ns`, below `base_ns` unless it is absolute, from the root; None if both are; ValueError if it is none."""
    if ns is None and base_ns is None:
        return None
    parts = [part for part in (base_ns or "", ns or "") if part] if not (ns or "").startswith("/") else [ns]
    namespace = f"/{'/'.join(part.strip('/') for part in parts if part.strip('/'))}"
    if namespace != "/" and not re.fullmatch(r"(/[A-Za-z_][A-Za-z0-9_]*)+", namespace):
        raise ValueError(
            f"Invalid namespace '{namespace}': it must be / or names of letters, digits and underscores, none "
            "beginning with a digit, each after a /"
        )
    return namespace


def performed_remapping(context, rule):
    """Return (from, to) as texts; TypeError unless the rule is a pair."""
    if not isinstance(rule, (tuple, list)) or len(rule) != 2:
        raise TypeError(f"Expected a remapping as (from, to), got {rule!r}")
    return tuple(perform_substitutions(context, name) for name in rule)


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
        self._names = (name, namespace)
        self._parameters = [
            each if isinstance(each, (Mapping, ParameterFile)) else ParameterFile(each) for each in parameters or []
        ]
        self._remappings = remappings or []
        self._temporary_files = []

    def execute(self, context):
        """Run it; whatever is wrong with its names, parameters or remappings is raised."""
        known = context.launch_configurations
        try:
            name, namespace = self._performed_names(context)
        except Exception:
            get_logger(__name__).error(
                f"Error while expanding or validating node name or namespace for '{self._about}':"
            )
            raise
        full_name = None if name is None or namespace is None else absolute_namespace(namespace, name)
        self.cmd += ["-r", f"__node:={name}"] if name is not None else []
        self.cmd += ["-r", f"__ns:={namespace}"] if namespace is not None else []
        for parameter, value in known.get("global_params", []):  # lists as Humble writes them
            self.cmd += ["-p", f"{parameter}:={tuple(value) if isinstance(value, list) else value}"]
        for path in [self._parameter_file(context, each, full_name) for each in self._parameters]:
            if pathlib.Path(path).is_file():
                self.cmd += ["--params-file", path]
            else:
                get_logger("launch_ros.actions.node").warning(f"Parameter file path is not a file: {path}")
        own = [performed_remapping(context, rule) for rule in self._remappings]
        for src, dst in [*known.get("ros_remaps", []), *own]:
            self.cmd += ["-r", f"{src}:={dst}"]
        super().execute(context)
        self._completed.add_done_callback(lambda _: self._clean_up())
        context.node_names[full_name] += full_name is not None
        if context.node_names[full_name] > 1:
            get_logger(self.name).warning(
                f"there are now at least {context.node_names[full_name]} nodes with the name "
                f"{full_name} created within this launch context"
            )

    def _performed_names(self, context):
        """Return name and full namespace, None where there is none."""
        name, namespace = (None if each is None else perform_substitutions(context, each) for each in self._names)
        if name is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ValueError(
                f"Invalid node name '{name}': it must be of letters, digits and underscores, not beginning with a digit"
            )
        return name, absolute_namespace(context.launch_configurations.get("ros_namespace"), namespace)

    def _parameter_file(self, context, parameters, full_name):
        """Return the path of a parameter file; of a new one for a dict."""
        if isinstance(parameters, ParameterFile):
            return parameters.evaluate(context)
        sections = {full_name or "/**": {"ros__parameters": evaluate_parameters_dict(context, parameters)}}
        self._temporary_files.append(temporary_file(yaml.safe_dump(sections, default_flow_style=False)))
        return self._temporary_files[-1]

    def _clean_up(self):
        for path in self._temporary_files:
            pathlib.Path(path).unlink(missing_ok=True)
        for item in self._parameters:
            if isinstance(item, ParameterFile):
                item.cleanup()


def _append(context, name, items):
    # A new list each time, so that the end of a scope brings the old one back.
    context.launch_configurations[name] = [*context.launch_configurations.get(name, []), *items]


@action
class PushRosNamespace(Action):
    """Puts a namespace before those of the nodes that follow."""

    namespace: Text

    def execute(self, context):
        """Set it; SubstitutionFailure where the result is no namespace."""
        before = context.launch_configurations.get("ros_namespace")
        pushed = perform_substitutions(context, self.namespace)
        try:
            context.launch_configurations["ros_namespace"] = absolute_namespace(before, pushed)
        except ValueError as error:
            raise SubstitutionFailure(
                f"The resulting namespace is invalid: [previous_namespace='{before}', "
                f"pushed_namespace='{pushed}'], {error}"
            ) from error


@action
class SetParameter(Action):
    """Sets a parameter of the nodes that follow; their own parameters go before."""

    name: Text
    value: Any

    def execute(self, context):
        """Set it."""
        name = perform_substitutions(context, self.name)
        _append(context, "global_params", evaluate_parameters_dict(context, {name: self.value}).items())


@action
class SetRemap(Action):
    """Remaps a name in the nodes that follow."""

    src: Text
    dst: Text

    def execute(self, context):
        """Set it."""
        _append(context, "ros_remaps", [performed_remapping(context, (self.src, self.dst))])


__getattr__ = not_covered(__name__)
