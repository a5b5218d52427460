"""The names of a Node: its own, and those that remap rules make of others."""

from __future__ import annotations

from typing import Any

from pocket_ros2 import arguments as ros_arguments
from pocket_ros2 import names
from pocket_ros2.parameter_files import ParameterFileError, overrides_for

from .context import Context
from .exceptions import RCLError
from .parameter import Parameter
from .validate_full_topic_name import validate_full_topic_name
from .validate_namespace import validate_namespace
from .validate_node_name import validate_node_name
from .validate_topic_name import validate_topic_name


class NamesMixin:
    """Reads a node's arguments and resolves names; needs `_context`."""

    _context: Context

    def _read_arguments(self, name: str, namespace: str | None, cli_args: list[str] | None, use_global: bool) -> None:
        """Find the node's name, namespace and remap rules."""
        self._argument_sources = []
        if cli_args is not None:
            local = list(cli_args) if "--ros-args" in cli_args else ["--ros-args", *cli_args]
            try:
                self._argument_sources.append(ros_arguments.parse(local))
            except (ros_arguments.ArgumentError, ParameterFileError) as error:
                raise RCLError(f"failed to parse arguments of node {name}: {error}") from error
        if use_global:
            self._argument_sources.append(self._context._arguments)
        self._rules = [rule for source in self._argument_sources for rule in source.rules]
        validate_node_name(name)
        namespace = namespace or "/"
        if not namespace.startswith("/"):
            namespace = f"/{namespace}"
        validate_namespace(namespace)
        given = name
        for rule in self._rules:
            if rule.match == "__node" and rule.node in ("", given):
                name = rule.replacement
                break
        for rule in self._rules:
            if rule.match == "__ns" and rule.node in ("", given):
                namespace = rule.replacement
                break
        self._name, self._namespace = name, namespace

    def _read_overrides(self, given: list[Parameter] | None) -> dict[str, Parameter]:
        """Return the values that arguments, files and the constructor's caller have for this node's parameters."""
        values: dict[str, Any] = {}
        for source in reversed(self._argument_sources):
            values.update(overrides_for(self.get_fully_qualified_name(), source.parameters))
        overrides = {name: Parameter(name, value=value) for name, value in values.items()}
        overrides.update({parameter.name: parameter for parameter in given or ()})
        return overrides

    def get_name(self) -> str:
        """Return the node's name."""
        return self._name

    def get_namespace(self) -> str:
        """Return the node's namespace."""
        return self._namespace

    def get_fully_qualified_name(self) -> str:
        """Return namespace and name."""
        return f"{self._namespace.rstrip('/')}/{self._name}"

    def _resolve(self, name: str, *, is_service: bool, only_expand: bool = False) -> str:
        validate_topic_name(name, is_service=is_service)
        full = names.expand(name, self._name, self._namespace)
        validate_full_topic_name(full, is_service=is_service)
        if only_expand:
            return full
        kind = "service" if is_service else "topic"
        return names.remap(full, self._rules, self._name, self._namespace, kind)

    def resolve_topic_name(self, topic: str, *, only_expand: bool = False) -> str:
        """Return a topic's fully qualified name, remapped unless `only_expand`."""
        return self._resolve(topic, is_service=False, only_expand=only_expand)

    def resolve_service_name(self, service: str, *, only_expand: bool = False) -> str:
        """Return a service's fully qualified name, remapped unless `only_expand`."""
        return self._resolve(service, is_service=True, only_expand=only_expand)
