"""The action that runs a node."""

import os
import pathlib
import tempfile
from collections import Counter

import yaml
from launch.actions import ExecuteProcess
from launch.logging import get_logger
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from ..parameter_descriptions import Parameter, ParameterFile
from ..substitutions import ExecutableInPackage
from ..utilities import (
    evaluate_parameters,
    make_namespace_absolute,
    normalize_parameters,
    normalize_remap_rules,
    prefix_namespace,
    validate_namespace,
    validate_node_name,
)


class Node(ExecuteProcess):
    """Runs a program of a package as a node; further keyword arguments are those of ExecuteProcess."""

    UNSPECIFIED_NODE_NAME = "<node_name_unspecified>"
    UNSPECIFIED_NODE_NAMESPACE = "<node_namespace_unspecified>"

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
        :param parameters: a list of paths of parameter files, ParameterFile, Parameter, and dicts {name: value} whose
            values are scalars, lists, dicts, substitutions (read by YAML's rules) and ParameterValue; the last counts
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
        self._package = package
        self._executable = executable
        self._name = name
        self._namespace = namespace
        self._parameters = normalize_parameters(parameters or [])
        self._remappings = list(normalize_remap_rules(remappings or []))
        self._final_namespace = self.UNSPECIFIED_NODE_NAMESPACE
        self._final_name = None
        self._final_remappings = None
        self._temporary_files = []

    @property
    def node_package(self):
        """The package, as given."""
        return self._package

    @property
    def node_executable(self):
        """The program, as given."""
        return self._executable

    @property
    def node_name(self):
        """The node's name with its namespace; RuntimeError before the action is executed."""
        if self._final_name is None:
            raise RuntimeError("cannot access 'node_name' before executing action")
        return self._final_name

    @property
    def expanded_node_namespace(self):
        """The namespace."""
        return self._final_namespace

    @property
    def expanded_remapping_rules(self):
        """The remappings (from, to), or None before the action is executed."""
        return self._final_remappings

    def is_node_name_fully_specified(self):
        """Return whether both the name and the namespace were given."""
        return "<" not in self.node_name

    def execute(self, context):
        """Run it; whatever is wrong with its names, parameters or remappings is raised."""
        self._add(self._names(context))
        self._add(self._global_parameters(context))
        self._add(self._own_parameters(context))
        self._add(self._remaps(context))
        below = super().execute(context)
        if self.get_asyncio_future() is not None:
            self.get_asyncio_future().add_done_callback(lambda _: self._clean_up())
        if self.is_node_name_fully_specified():
            self._warn_if_taken(context)
        return below

    def _add(self, arguments):
        self.process_description.cmd.extend(normalize_to_list_of_substitutions(each) for each in arguments)

    def _names(self, context):
        arguments = []
        try:
            name = self.UNSPECIFIED_NODE_NAME
            if self._name is not None:
                name = perform_substitutions(context, normalize_to_list_of_substitutions(self._name))
                validate_node_name(name)
                arguments += ["-r", f"__node:={name}"]
            namespace = None
            if self._namespace is not None:
                namespace = perform_substitutions(context, normalize_to_list_of_substitutions(self._namespace))
            namespace = make_namespace_absolute(
                prefix_namespace(context.launch_configurations.get("ros_namespace"), namespace)
            )
            if namespace is not None:
                validate_namespace(namespace)
                self._final_namespace = namespace
                arguments += ["-r", f"__ns:={namespace}"]
        except Exception:
            get_logger(__name__).error(
                "Error while expanding or validating node name or namespace for 'package="
                f"{self._package}, executable={self._executable}, name={self._name}, namespace={self._namespace}':"
            )
            raise
        self._final_name = prefix_namespace(self._final_namespace, name)
        return arguments

    def _global_parameters(self, context):
        for item in context.launch_configurations.get("global_params", []):
            if isinstance(item, tuple):
                yield from ("-p", f"{item[0]}:={_yaml(item[1])}")
            else:
                yield from self._parameter_file(os.path.abspath(item))

    def _own_parameters(self, context):
        for item in evaluate_parameters(context, self._parameters):
            if isinstance(item, dict):
                yield from self._parameter_file(self._written(item))
            elif isinstance(item, pathlib.Path):
                yield from self._parameter_file(str(item))
            elif isinstance(item, Parameter):
                name, value = item.evaluate(context)
                yield from ("-p", f"{name}:={_yaml(value)}")

    def _parameter_file(self, path):
        if os.path.isfile(path):
            return ["--params-file", path]
        get_logger(__name__).warning(f"Parameter file path is not a file: {path}")
        return []

    def _written(self, parameters):
        node = self.node_name if self.is_node_name_fully_specified() else "/**"
        with tempfile.NamedTemporaryFile("w", prefix="launch_params_", delete=False, encoding="utf-8") as file:
            yaml.safe_dump({node: {"ros__parameters": parameters}}, file, default_flow_style=False)
        self._temporary_files.append(file.name)
        return file.name

    def _clean_up(self):
        for path in self._temporary_files:
            pathlib.Path(path).unlink(missing_ok=True)
        for item in self._parameters:
            if isinstance(item, ParameterFile):
                item.cleanup()

    def _remaps(self, context):
        self._final_remappings = [
            *context.launch_configurations.get("ros_remaps", []),
            *(
                (perform_substitutions(context, src), perform_substitutions(context, dst))
                for src, dst in self._remappings
            ),
        ]
        for src, dst in self._final_remappings:
            yield from ("-r", f"{src}:={dst}")

    def _warn_if_taken(self, context):
        names = context.get_locals_as_dict().get("unique_ros_node_names")
        if names is None:
            names = Counter()
            context.extend_globals({"unique_ros_node_names": names})
        names[self.node_name] += 1
        if names[self.node_name] > 1:
            get_logger(self.name).warning(
                f"there are now at least {names[self.node_name]} nodes with the name "
                f"{self.node_name} created within this launch context"
            )


def _yaml(value):
    """Return a value as one line of YAML."""
    return yaml.safe_dump(value, default_flow_style=True, width=float("inf")).removesuffix("...\n").strip()
