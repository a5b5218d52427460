"""Import paths of Humble below packages that are cut up differently here: `launch.actions.declare_launch_argument`.

Humble has one class a module and offers each in its package, too; here they are offered in the package only. A finder
makes the missing modules on import, with what the package has; what it has not is named as not covered.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, NoReturn

from .errors import NotCoveredImport

# Package: {module: what it defines}; a module that defines nothing is a package of which nothing is covered.
HUMBLE = {
    "launch.actions": {
        "append_environment_variable": "AppendEnvironmentVariable",
        "declare_launch_argument": "DeclareLaunchArgument",
        "emit_event": "EmitEvent",
        "group_action": "GroupAction",
        "include_launch_description": "IncludeLaunchDescription",
        "opaque_coroutine": "OpaqueCoroutine",
        "pop_environment": "PopEnvironment",
        "pop_launch_configurations": "PopLaunchConfigurations",
        "push_environment": "PushEnvironment",
        "push_launch_configurations": "PushLaunchConfigurations",
        "register_event_handler": "RegisterEventHandler",
        "reset_environment": "ResetEnvironment",
        "reset_launch_configurations": "ResetLaunchConfigurations",
        "set_environment_variable": "SetEnvironmentVariable",
        "set_launch_configuration": "SetLaunchConfiguration",
        "shutdown_action": "Shutdown",
        "timer_action": "TimerAction",
        "unregister_event_handler": "UnregisterEventHandler",
        "unset_environment_variable": "UnsetEnvironmentVariable",
        "unset_launch_configuration": "UnsetLaunchConfiguration",
    },
    "launch.conditions": {
        "evaluate_condition_expression_impl": "evaluate_condition_expression",
        "if_condition": "IfCondition",
        "invalid_condition_expression_error": "InvalidConditionExpressionError",
        "launch_configuration_equals": "LaunchConfigurationEquals",
        "launch_configuration_not_equals": "LaunchConfigurationNotEquals",
        "unless_condition": "UnlessCondition",
    },
    "launch.event_handlers": {
        "event_named": "event_named",
        "on_action_event_base": "OnActionEventBase",
        "on_execution_complete": "OnExecutionComplete",
        "on_include_launch_description": "OnIncludeLaunchDescription",
        "on_process_exit": "OnProcessExit",
        "on_process_io": "OnProcessIO",
        "on_process_start": "OnProcessStart",
        "on_shutdown": "OnShutdown",
    },
    "launch.events": {
        "execution_complete": "ExecutionComplete",
        "include_launch_description": "IncludeLaunchDescription",
        "matchers": "matches_action",
        "shutdown": "Shutdown",
        "timer_event": "TimerEvent",
    },
    "launch.events.process": {
        "process_exited": "ProcessExited",
        "process_io": "ProcessIO",
        "process_matchers": "matches_pid matches_name matches_executable",
        "process_started": "ProcessStarted",
        "process_stderr": "ProcessStderr",
        "process_stdin": "ProcessStdin",
        "process_stdout": "ProcessStdout",
        "process_targeted_event": "ProcessTargetedEvent",
        "running_process_event": "RunningProcessEvent",
        "shutdown_process": "ShutdownProcess",
        "signal_process": "SignalProcess",
    },
    "launch": {
        "frontend": "",
    },
    "launch.frontend": {
        "entity": "Entity",
        "expose": "instantiate_action instantiate_substitution expose_substitution expose_action",
        "parse_substitution": "ExtractSubstitution get_grammar_path parse_substitution parse_if_substitutions",
        "parser": "InvalidFrontendLaunchFileError Parser",
        "type_utils": "check_is_list_entity get_data_type_from_identifier",
    },
    "launch.launch_description_sources": {
        "any_launch_description_source": "AnyLaunchDescriptionSource",
        "any_launch_file_utilities": "get_launch_description_from_any_launch_file",
        "frontend_launch_description_source": "FrontendLaunchDescriptionSource",
        "frontend_launch_file_utilities": "get_launch_description_from_frontend_launch_file",
        "python_launch_description_source": "PythonLaunchDescriptionSource",
        "python_launch_file_utilities": "InvalidPythonLaunchFileError load_python_launch_file_as_module "
        "get_launch_description_from_python_launch_file",
    },
    "launch.logging": {
        "handlers": "with_per_logger_formatting",
    },
    "launch.substitutions": {
        "anon_name": "AnonName",
        "boolean_substitution": "NotSubstitution AndSubstitution OrSubstitution",
        "environment_variable": "EnvironmentVariable",
        "find_executable": "FindExecutable",
        "launch_configuration": "LaunchConfiguration",
        "local_substitution": "LocalSubstitution",
        "path_join_substitution": "PathJoinSubstitution",
        "python_expression": "PythonExpression",
        "substitution_failure": "SubstitutionFailure",
        "text_substitution": "TextSubstitution",
        "this_launch_file": "ThisLaunchFile",
        "this_launch_file_dir": "ThisLaunchFileDir",
    },
    "launch.utilities": {
        "class_tools_impl": "isclassinstance is_a is_a_subclass",
        "create_future_impl": "create_future",
        "ensure_argument_type_impl": "ensure_argument_type",
        "normalize_to_list_of_substitutions_impl": "normalize_to_list_of_substitutions",
        "perform_substitutions_impl": "perform_substitutions",
        "signal_management": "AsyncSafeSignalManager",
        "typing_file_path": "",
        "visit_all_entities_and_collect_futures_impl": "visit_all_entities_and_collect_futures",
    },
    "launch_ros.actions": {
        "composable_node_container": "ComposableNodeContainer",
        "lifecycle_node": "LifecycleNode",
        "load_composable_nodes": "LoadComposableNodes get_composable_node_load_request",
        "push_ros_namespace": "PushRosNamespace",
        "ros_timer": "RosTimer",
        "set_parameter": "SetParameter",
        "set_parameters_from_file": "SetParametersFromFile",
        "set_remap": "SetRemap",
        "set_use_sim_time": "SetUseSimTime",
    },
    "launch_ros.descriptions": {
        "composable_node": "ComposableNode",
    },
    "launch_ros": {
        "event_handlers": "",
        "events": "",
        "parameters_type": "",
        "remap_rule_type": "",
        "ros_adapters": "ROSAdapter get_ros_adapter get_ros_node",
    },
    "launch_ros.event_handlers": {
        "on_state_transition": "OnStateTransition",
    },
    "launch_ros.events": {
        "lifecycle": "",
        "matchers": "",
    },
    "launch_ros.events.lifecycle": {
        "change_state": "ChangeState",
        "lifecycle_node_matchers": "matches_node_name",
        "state_transition": "StateTransition",
    },
    "launch_ros.events.matchers": {
        "matches_node_name": "matches_node_name",
    },
    "launch_ros.substitutions": {
        "executable_in_package": "ExecutableInPackage",
        "find_package": "FindPackage FindPackagePrefix FindPackageShare",
        "parameter": "Parameter",
    },
    "launch_ros.utilities": {
        "evaluate_parameters": "evaluate_parameter_dict evaluate_parameters",
        "namespace_utils": "is_root_namespace is_namespace_absolute prefix_namespace make_namespace_absolute",
        "normalize_parameters": "normalize_parameter_dict normalize_parameters",
        "normalize_remap_rule": "normalize_remap_rule normalize_remap_rules",
        "plugin_support": "PluginException satisfies_version get_upper_bound_caret_version",
        "to_parameters_list": "to_parameters_list",
        "track_node_names": "add_node_name get_node_name_count",
    },
}


class _Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and makes the modules of HUMBLE, where no file is there for them."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return how a module of HUMBLE is made; None for any other."""
        package, _, name = fullname.rpartition(".")
        if name not in HUMBLE.get(package, ()):
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module with what its package has of it; NotCoveredImport where that is nothing."""
        package, _, name = module.__name__.rpartition(".")
        absent = []
        for each in HUMBLE[package][name].split():
            try:
                setattr(module, each, getattr(importlib.import_module(package), each))
            except (AttributeError, NotCoveredImport):
                absent.append(each)

        def missing(name: str) -> NoReturn:
            if name in absent:
                raise NotCoveredImport(module.__name__, f"{module.__name__}.{name}")
            raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")

        if len(absent) == len(HUMBLE[package][name].split()):
            raise NotCoveredImport(module.__name__, ", ".join(absent) or module.__name__)
        module.__dict__["__getattr__"] = missing


def install() -> None:
    """Let the modules of HUMBLE be imported."""
    if not any(isinstance(finder, _Modules) for finder in sys.meta_path):
        sys.meta_path.append(_Modules())
