"""Actions on all nodes that follow in the same scope (a GroupAction ends it)."""

from launch.action import Action
from launch.substitutions import SubstitutionFailure
from launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

from ..utilities import (
    InvalidNamespaceException,
    evaluate_parameters_dict,
    make_namespace_absolute,
    normalize_parameters_dict,
    prefix_namespace,
    validate_namespace,
)


def _appended(context, name, items):
    # A new list each time, so that the end of a scope brings the old one back.
    context.launch_configurations[name] = [*context.launch_configurations.get(name, []), *items]


class PushRosNamespace(Action):
    """Puts a namespace before those of the nodes that follow."""

    def __init__(self, namespace, **kwargs):
        super().__init__(**kwargs)
        self._namespace = normalize_to_list_of_substitutions(namespace)

    @property
    def namespace(self):
        """The substitutions that make the namespace."""
        return self._namespace

    def execute(self, context):
        """Set it; SubstitutionFailure where the result is no namespace."""
        before = context.launch_configurations.get("ros_namespace")
        pushed = perform_substitutions(context, self._namespace)
        namespace = make_namespace_absolute(prefix_namespace(before, pushed))
        try:
            validate_namespace(namespace)
        except InvalidNamespaceException as error:
            raise SubstitutionFailure(
                f"The resulting namespace is invalid: [previous_namespace='{before}', "
                f"pushed_namespace='{pushed}'], {error}"
            ) from error
        context.launch_configurations["ros_namespace"] = namespace


class SetParameter(Action):
    """Sets a parameter of the nodes that follow; their own parameters go before."""

    def __init__(self, name, value, **kwargs):
        super().__init__(**kwargs)
        self._parameters = normalize_parameters_dict({tuple(normalize_to_list_of_substitutions(name)): value})

    @property
    def name(self):
        """The substitutions that make the name."""
        return next(iter(self._parameters))

    @property
    def value(self):
        """The value, as a value or as substitutions."""
        return next(iter(self._parameters.values()))

    def execute(self, context):
        """Set it."""
        _appended(context, "global_params", evaluate_parameters_dict(context, self._parameters).items())


class SetParametersFromFile(Action):
    """Gives a parameter file to the nodes that follow; their own parameters go before."""

    def __init__(self, filename, **kwargs):
        super().__init__(**kwargs)
        self._filename = normalize_to_list_of_substitutions(filename)

    def execute(self, context):
        """Set it."""
        _appended(context, "global_params", [perform_substitutions(context, self._filename)])


class SetRemap(Action):
    """Remaps a name in the nodes that follow."""

    def __init__(self, src, dst, **kwargs):
        super().__init__(**kwargs)
        self._src = normalize_to_list_of_substitutions(src)
        self._dst = normalize_to_list_of_substitutions(dst)

    @property
    def src(self):
        """The substitutions that make the name to remap."""
        return self._src

    @property
    def dst(self):
        """The substitutions that make the new name."""
        return self._dst

    def execute(self, context):
        """Set it."""
        _appended(
            context,
            "ros_remaps",
            [(perform_substitutions(context, self._src), perform_substitutions(context, self._dst))],
        )
